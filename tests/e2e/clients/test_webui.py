"""Every view of the web page against a cluster that works, and everything it can do."""

import calendar
import json
import os
import time

import browser_page
import harness
from test_authentication import CREDENTIALS, MASTER, basic, private_file

RESERVED = {"name": "disk", "type": "SCALAR", "scalar": {"value": 64},
            "reservations": [{"type": "DYNAMIC", "role": "web", "principal": "p"}]}
VOLUME = dict(RESERVED, disk={"persistence": {"id": "data", "principal": "p"},
                              "volume": {"container_path": "db", "mode": "RW"}})


class WebCase(browser_page.BrowserCase, harness.TestCase):
    agents = 2

    def operate(self, kind, **fields):
        status, _, body = harness.request(
            self.master.address, "POST", "/api/v1", json.dumps({"type": kind, kind.lower(): fields}),
            {"Content-Type": "application/json", **(self.master.headers or {})})
        self.assertEqual(status // 100, 2, body)
        return json.loads(body) if body else None

    def launch(self, scheduler, command, task_id, state="TASK_RUNNING"):
        offer = scheduler.offer()
        scheduler.launch(offer, [harness.task(offer, command, task_id)])
        scheduler.wait_state(task_id, state)


class Views(WebCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(name="shop", roles=["web"])
        self.launch(self.scheduler, "echo first; sleep 1000", "front")
        self.launch(self.scheduler, "echo oops >&2; exit 3", "broken", "TASK_FAILED")
        self.framework = self.scheduler.id

    def test_the_cluster_at_a_glance(self):
        page = self.open()
        self.sees("0.1 of 8 used")
        self.sees("2 active")
        card = page.get_by_role("region", name="Tasks", exact=True)
        self.assertIn("running", card.inner_text())
        self.assertIn("failed", card.inner_text())
        self.assertEqual(len(self.rows("active tasks")), 1)
        self.assertIn("front", self.rows("active tasks")[0])
        self.until(lambda: "1 running" in (page.locator(".plot svg").get_attribute("aria-label") or ""),
                   "the plot")
        # What is live comes by the stream.
        self.launch(self.scheduler, "sleep 1000", "second")
        self.until(lambda: len(self.rows("active tasks")) == 2, "the second task")
        for url in self.asked:
            self.assertNotRegex(url, r"/state|/slaves|/tasks|/frameworks", "no polling")

    def test_tasks(self):
        page = self.open("tasks")
        self.sees("2 tasks")
        page.get_by_role("searchbox").fill("brok")
        self.sees("1 task", exact=True)
        self.assertIn("Command exited with status 3", self.rows("tasks")[0])
        page.get_by_role("searchbox").fill("no such thing")
        self.sees("No tasks match.")
        page.get_by_role("searchbox").fill("")
        page.get_by_label("State").select_option("TASK_RUNNING")
        self.until(lambda: len(self.rows("tasks")) == 1, "those that run")
        # The address says all of that.
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        self.until(lambda: len(self.rows("tasks")) == 1, "the same again")
        page.get_by_label("State").select_option("")
        page.get_by_role("button", name="Task", exact=True).click()
        self.until(lambda: [row.split("\t")[0] for row in self.rows("tasks")] == ["broken", "front"], "up")
        page.get_by_role("button", name="Task", exact=True).click()
        self.until(lambda: [row.split("\t")[0] for row in self.rows("tasks")] == ["front", "broken"], "down")
        self.assertEqual(page.locator("th[aria-sort=descending]").inner_text(), "Task ▼")

    def test_a_task(self):
        page = self.open("task/%s/broken" % self.framework)
        self.heading("broken failed")
        self.sees("it ended with an error.")
        states = page.locator(".history li").all_inner_texts()
        self.assertEqual([text.split()[0] for text in states], ["failed", "running", "starting"])
        self.assertIn("Command exited with status 3", states[0])
        self.assertIn("said by its executor", states[0])
        self.go("task/%s/none" % self.framework)
        self.heading("Not here")
        self.scheduler.kill("front", None)
        self.go("task/%s/front" % self.framework)
        self.heading("front killed")

    def test_reasons_are_in_words(self):
        self.launch(self.scheduler, {"value": "true", "uris": [{"value": "/not/there"}]}, "lame", "TASK_FAILED")
        self.open("task/%s/lame" % self.framework)
        self.heading("lame failed")
        self.sees("Its container could not be started.")

    def test_sandboxes(self):
        page = self.open("task/%s/front/files" % self.framework)
        page.get_by_role("link", name="stdout").click()
        file = page.locator("pre.file")
        self.until(lambda: file.inner_text() == "first\n", "what is in it")
        path = os.path.join(self.sandbox("front"), "stdout")
        with open(path, "a", encoding="utf-8") as out:
            out.write("zweite Zeile: äöü <b>\n")
        self.until(lambda: file.inner_text() == "first\nzweite Zeile: äöü <b>\n", "what is new")
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download all").click()
        self.assertEqual(waiting.value.suggested_filename, "stdout")
        with open(waiting.value.path(), encoding="utf-8") as got, open(path, encoding="utf-8") as own:
            self.assertEqual(got.read(), own.read())
        page.get_by_role("link", name="sandbox").click()
        self.until(lambda: len(self.rows("files")) >= 2, "the folder")
        os.makedirs(os.path.join(self.sandbox("front"), "a b", "c#d"))
        with open(os.path.join(self.sandbox("front"), "a b", "c#d", "x?y"), "w", encoding="ascii") as out:
            out.write("deep")
        page.get_by_role("link", name="a b/").click()
        page.get_by_role("link", name="c#d/").click()
        page.get_by_role("link", name="x?y").click()
        self.until(lambda: file.inner_text() == "deep", "a file with a strange name")
        for url in self.asked:
            self.assertIn(":%d/" % self.master.address[1], url, "nothing but the master is asked")

    def sandbox(self, task_id):
        for agent in self.cluster.agents:
            try:
                return agent.sandbox(self.framework, task_id)
            except FileNotFoundError:
                pass
        raise FileNotFoundError(task_id)

    def test_a_file_that_is_long_and_written_anew(self):
        path = os.path.join(self.sandbox("front"), "log")
        with open(path, "w", encoding="ascii") as out:
            out.write("".join("line %d\n" % i for i in range(20000)))
        page = self.open("task/%s/front/files/log?file=1" % self.framework)
        file = page.locator("pre.file")
        self.until(lambda: file.inner_text().endswith("line 19999\n"), "its end")
        self.sees("shown from byte")
        with open(path, "w", encoding="ascii") as out:
            out.write("new\n")
        self.until(lambda: file.inner_text() == "new\n", "the new one")

    def test_frameworks(self):
        page = self.open("frameworks")
        self.until(lambda: len(self.rows("frameworks")) == 1, "the framework")
        page.get_by_role("link", name="shop").click()
        self.heading("shop active")
        for text in (self.framework, "web", "1 minute"):
            self.sees(text)
        self.until(lambda: len(self.rows("completed tasks")) == 1, "its completed task")
        self.scheduler.close()
        self.heading("shop disconnected")
        self.sees("Unless it comes back, it is removed with its tasks")

    def test_agents(self):
        page = self.open("agents")
        self.until(lambda: len(self.rows("agents")) == 2, "the agents")
        busy = next(a for a in self.cluster.agents if os.path.exists(os.path.join(
            a.work_dir, "slaves", a.id, "frameworks", self.framework, "executors", "front")))
        self.go("agent/" + busy.id)
        self.heading("localhost active")
        self.sees("127.0.0.1:%d" % busy.address[1])
        self.sees("31000–31999")
        self.until(lambda: any("CPUs\t4\t0.1" in row for row in self.rows("resources of the agent")), "what is used")
        self.until(lambda: len(self.rows("active tasks")) == 1, "its task")
        self.go("agent/none")
        self.heading("Not here")

    def test_roles(self):
        self.operate("UPDATE_WEIGHTS", weight_infos=[{"role": "web", "weight": 2}])
        other = self.subscribe(name="batch", roles=["batch"])
        offer = other.offer()
        other.launch(offer, [harness.task(offer, "sleep 1000", "wide", cpus=2)])
        other.wait_state("wide", "TASK_RUNNING")
        # What is offered counts, too: from now on nothing is.
        for scheduler in (self.scheduler, other):
            scheduler.call("SUPPRESS")
        for offer in self.master.json("/offers")["offers"]:
            owner = other if offer["framework_id"] == other.id else self.scheduler
            owner.decline({"id": {"value": offer["id"]}}, 1000)
        self.open("roles")
        # Who has the least by weight is the next.
        wanted = ["1. web 1.3 % (CPUs) 2 ", "2. batch 25 % (CPUs) 1 "]
        self.until(lambda: [" ".join(row.split())[:len(want)] for row, want in
                            zip(self.rows("roles"), wanted)] == wanted, "the roles in their order")
        self.go("role/batch")
        self.heading("Role batch")
        self.sees("25 % (CPUs)")
        self.until(lambda: len(self.rows("tasks")) == 1, "its task")

    def test_offers_operations_volumes(self):
        page = self.open("offers")
        self.until(lambda: len(self.rows("offers")) >= 1, "offers")
        self.assertIn("shop", self.rows("offers")[0])
        self.scheduler.close()
        harness.request(self.master.address, "POST", "/teardown", "frameworkId=" + self.framework,
                        {"Content-Type": "application/x-www-form-urlencoded"})
        self.sees("Nothing is offered now.")
        agent = {"agent_id": {"value": self.agent.id}}
        self.operate("RESERVE_RESOURCES", **agent, resources=[RESERVED])
        self.operate("CREATE_VOLUMES", **agent, volumes=[VOLUME])
        page.get_by_role("link", name="Volumes").click()
        self.until(lambda: [row.split("\t")[:4] for row in self.rows("volumes")] ==
                   [["data", "web", "64 MB", "db"]], "the volume")
        page.get_by_role("searchbox").fill("nothing")
        self.sees("0 volumes")
        page.reload()
        self.sees("0 volumes")
        self.assertEqual(page.get_by_role("searchbox").input_value(), "nothing")
        self.go("agent/" + self.agent.id)
        self.until(lambda: any(row.startswith("web") and "64 MB" in row for row in self.rows("reservations")),
                   "the reservation")
        page.get_by_role("link", name="Operations").click()
        self.heading("Operations")
        page.get_by_text("There are none.").or_(page.get_by_role("table", name="operations")).first.wait_for()

    def test_other_places(self):
        self.open("nowhere")
        self.heading("Not here")


class Acting(WebCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(name="shop", roles=["web"])
        self.launch(self.scheduler, "sleep 1000", "front")
        self.framework = self.scheduler.id

    def test_kill(self):
        page = self.open("task/%s/front" % self.framework)
        page.get_by_role("button", name="Kill", exact=True).click()
        dialog = page.get_by_role("dialog", name="Kill front?")
        self.assertIn("Its framework, shop, is told", dialog.inner_text())
        dialog.get_by_role("button", name="Cancel").click()
        dialog.wait_for(state="detached")
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Kill", exact=True).focus()
        page.keyboard.press("Enter")
        dialog.wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        self.assertEqual(self.master.json("/tasks")["tasks"][0]["state"], "TASK_RUNNING")
        self.confirm("Kill", "Kill the task")
        self.scheduler.wait_state("front", "TASK_KILLED")
        self.heading("front killed")

    def test_teardown(self):
        self.open("framework/" + self.framework)
        self.confirm("Tear down", "Tear it down")
        self.heading("shop completed")
        self.assertEqual(self.master.state()["frameworks"], [])

    def test_drain_and_reactivate(self):
        page = self.open("agent/" + self.agent.id)
        dialog = self.confirm("Drain", "Drain the agent", grace="5")
        dialog.wait_for(state="detached")
        self.heading("localhost drained")
        self.sees("This agent is drained: nothing runs on it.")
        self.go("maintenance")
        self.until(lambda: len(self.rows("drained agents")) == 1, "the agent")
        self.go("agent/" + self.agent.id)
        self.confirm("Reactivate", "Reactivate")
        self.heading("localhost active")
        self.confirm("Deactivate", "Deactivate")
        self.heading("localhost deactivated")
        self.assertTrue(self.agent.entry()["deactivated"])
        self.confirm("Reactivate", "Reactivate")
        self.heading("localhost active")
        page.get_by_role("button", name="Drain", exact=True).wait_for()

    def test_quota_and_weights(self):
        page = self.open("roles")
        dialog = self.confirm("Set quota", "Set the quota", role="web", guarantee_cpus="1", limit_cpus="0.5")
        dialog.get_by_role("alert").filter(has_text="is not contained within").wait_for()
        dialog.locator('[name="limit-cpus"]').fill("2")
        dialog.get_by_role("button", name="Set the quota").click()
        dialog.wait_for(state="detached")
        self.sees("1 guaranteed, 2 at most")
        dialog = self.confirm("Set weight", "Set the weight", role="web", weight="3")
        dialog.wait_for(state="detached")
        self.assertEqual(self.master.json("/weights"), [{"role": "web", "weight": 3}])
        self.go("role/web")
        self.heading("Role web")
        dialog = self.confirm("Set quota", "Set the quota", guarantee_cpus="", limit_cpus="")
        dialog.wait_for(state="detached")
        self.assertEqual(self.master.json("/quota").get("infos", []), [])
        page.locator("dd", has_text="none").first.wait_for()

    expected = r"status of (400|403|409)"

    def test_maintenance(self):
        page = self.open("maintenance")
        self.sees("No maintenance is planned.")
        begins = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 86400))
        dialog = self.confirm("Plan a window", "Plan it", machines="elsewhere, 10.0.0.1", start=begins, hours="2")
        dialog.wait_for(state="detached")
        self.until(lambda: any("elsewhere, 10.0.0.1" in row and "2 hours" in row for row in self.rows("maintenance windows")),
                   "the window")
        [window] = self.master.json("/maintenance/schedule")["windows"]
        self.assertEqual(window["machine_ids"], [{"hostname": "elsewhere"}, {"ip": "10.0.0.1"}])
        # What is typed is in the reader's zone, Berlin's, which is ahead of UTC.
        start = int(window["unavailability"]["start"]["nanoseconds"]) // 10**9
        self.assertEqual(start, page.evaluate("text => new Date(text).getTime() / 1000", begins))
        self.assertIn(calendar.timegm(time.strptime(begins, "%Y-%m-%dT%H:%M")) - start, (3600, 7200))
        dialog = self.confirm("Take down", "Take down")
        dialog.wait_for(state="detached")
        self.until(lambda: len(self.rows("machines")) == 2, "the machines are down")
        dialog = self.confirm("Bring up", "Bring up")
        dialog.wait_for(state="detached")
        self.sees("No maintenance is planned.")
        self.confirm("Plan a window", "Plan it", machines="m", start=begins).wait_for(state="detached")
        self.confirm("Cancel", "Cancel the window").wait_for(state="detached")
        self.sees("No maintenance is planned.")
        self.assertEqual(self.master.json("/maintenance/schedule").get("windows", []), [])


class SigningIn(WebCase):
    """Who may see and do what."""

    agents = None
    expected = r"status of (401|403)"

    def setUp(self):
        super().setUp()
        folder = self.temporary()
        nothing = {"principals": {"values": ["reader"]}}
        acls = {"view_frameworks": [dict(nothing, users={"type": "NONE"})],
                "access_sandboxes": [dict(nothing, users={"type": "NONE"})],
                "teardown_frameworks": [dict(nothing, framework_principals={"type": "NONE"})],
                "drain_agents": [dict(nothing, agents={"type": "NONE"})]}
        self.cluster = harness.Cluster(1, {
            **MASTER, "credentials": private_file(folder, "credentials", CREDENTIALS),
            "acls": "file://" + private_file(folder, "acls", acls)})
        self.master.headers = basic("ops", "open sesame")
        self.cluster.start()
        self.scheduler = self.subscribe(name="shop", headers=self.master.headers, principal="ops")
        self.launch(self.scheduler, "echo secret; sleep 1000", "front")

    def sign_in(self, principal, secret):
        self.heading("Sign in")
        self.page.get_by_label("Principal").fill(principal)
        self.page.get_by_label("Secret").fill(secret)
        self.page.get_by_role("button", name="Sign in").click()

    def test_by_principal_and_secret(self):
        page = self.open("task/%s/front/files" % self.scheduler.id)
        self.assertIn("mesos-master-readwrite", page.locator("main").inner_text())
        self.sign_in("ops", "wrong")
        self.sees("The master does not know this principal and secret.")
        self.sign_in("ops", "open sesame")
        page.get_by_role("link", name="stdout").click()
        self.until(lambda: page.locator("pre.file").inner_text() == "secret\n", "the file")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download all").click()
        with open(waiting.value.path(), encoding="ascii") as file:
            self.assertEqual(file.read(), "secret\n")
        page.reload()
        self.until(lambda: page.locator("pre.file").inner_text() == "secret\n", "still signed in")
        page.get_by_role("button", name="Sign out ops").click()
        self.heading("Sign in")

    def test_who_may_not(self):
        page = self.open("frameworks")
        self.sign_in("reader", "r")
        self.sees("No framework has subscribed.")
        self.go("task/%s/front/files" % self.scheduler.id)
        page.get_by_role("heading", name="Not here").or_(
            page.get_by_text("You may not do this.")).first.wait_for()
        self.assertNotIn("secret", page.content())
        self.go("agent/" + self.agent.id)
        dialog = self.confirm("Drain", "Drain the agent")
        dialog.get_by_role("alert").filter(has_text="You may not do this.").wait_for()
        self.assertNotIn("drain_info", self.agent.entry())
