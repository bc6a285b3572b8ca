"""The web page when its master goes: it says so, and shows what the next leader knows."""

import browser_page
import harness
import zookeeper

# Requests to a master that is not there, or does not lead, are errors to the browser. That a master
# may not be asked which the page did not know of is what its policy is for.
AWAY = r"ERR_(CONNECTION|EMPTY|INCOMPLETE|ABORTED)|status of 50[0-9]|Failed to load resource"


class OneMaster(browser_page.BrowserCase, harness.TestCase):
    expected = AWAY

    def test_it_comes_back(self):
        scheduler = self.subscribe(name="shop")
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        page = self.open("tasks")
        page.evaluate("window.before = true")
        self.until(lambda: len(self.rows("tasks")) == 1, "the task")
        for _ in range(2):
            self.master.kill()
            self.sees("No leading master: the master cannot be reached")
            # What was known stays.
            self.assertEqual(len(self.rows("tasks")), 1)
            self.master.start()
            page.get_by_text("live", exact=True).wait_for()
            self.until(lambda: len(self.rows("tasks")) == 1, "the task")
        self.assertTrue(page.evaluate("window.before"), "the page was not loaded anew")
        self.master.wait_ready()
        self.agent.wait_registered()
        scheduler.subscribe()
        scheduler.kill(task_id, None)
        self.until(lambda: "killed" in self.rows("tasks")[0], "what happens then")

    def test_a_master_that_is_told_to_end(self):
        self.open("agents")
        self.assertEqual(self.master.terminate(), 0)
        self.sees("No leading master")
        self.master.start()
        self.page.get_by_text("live", exact=True).wait_for()


class ThreeMasters(browser_page.BrowserCase, zookeeper.ElectionCase):
    expected = AWAY

    @property
    def master(self):
        return self.wait_leader()

    def address_of(self, master):
        return "http://localhost:%d/" % master.address[1]

    def test_the_next_leader_is_found(self):
        leader = self.master
        harness.wait_for(lambda: len(leader.json("/masters")["masters"]) == 3, "the others follow")
        scheduler = self.scheduler_at(leader, name="shop", failover_timeout=600)
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        page = self.open("tasks?search=" + task_id)
        self.until(lambda: len(self.rows("tasks")) == 1, "the task")
        for _ in range(2):
            leader.kill()
            self.sees("No leading master")
            leader, gone = self.wait_leader(but=[leader]), leader
            self.until(lambda: page.url.startswith(self.address_of(leader)), "the page of the next leader")
            self.assertTrue(page.url.endswith("#/tasks?search=" + task_id), page.url)
            self.until(lambda: len(self.rows("tasks")) == 1, "the same task")
            gone.start()
            self.wait_follower(gone)
            harness.wait_for(lambda: len(leader.json("/masters")["masters"]) == 3, "it follows")

    def test_others_lead_to_the_leader(self):
        leader = self.master
        other = next(master for master in self.masters if master is not leader)
        self.page.goto(self.address_of(other) + "#/agents")
        self.heading("Agents")
        self.assertEqual(self.page.url, self.address_of(leader) + "#/agents")
        status, headers, _ = harness.get(other.address, "/")
        self.assertEqual((status, headers["Location"]), (307, "//localhost:%d/" % leader.address[1]))
        policy = harness.get(leader.address, "/")[1]["Content-Security-Policy"]
        for master in self.masters:
            if master is not leader:
                self.assertIn(" http://localhost:%d" % master.address[1], policy)

    def test_nobody_leads(self):
        self.open("agents")
        self.zookeeper.kill()
        self.sees("No leading master")
        self.zookeeper.start().wait_serving()
