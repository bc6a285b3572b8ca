"""Standby masters copy what the leader remembers: the next one knows every framework and task at once."""

import os
import random
import re
import signal
import time

import harness
import zookeeper
from harness import wait_for
from scheduler import task


def log_of(master):
    with open(master.log, encoding="utf-8") as file:
        return file.read()


class FollowingCase(zookeeper.ElectionCase):
    def wait_copies(self, leader=None):
        """All the others have all that it knows."""
        address = "the leading master is master@%s:%d" % (leader or self.masters[0]).address

        def copied(master):
            text = log_of(master)
            words = [line for line in text[text.rfind(address):].splitlines() if "the copy of" in line]
            return address in text and words and words[-1].endswith(" is up to date")
        for master in self.masters:
            if master is not (leader or self.masters[0]):
                wait_for(lambda m=master: copied(m), "the copy of " + master.name, 30)

    def run_task(self, scheduler, name, command="exec sleep 1000"):
        offer = scheduler.offer(cpus=0.1)
        info = task(offer, command, cpus=0.1, mem=32, task_id=name)
        scheduler.launch(offer, [info])
        scheduler.wait_state(name, "TASK_RUNNING")

    @staticmethod
    def known(master):
        """Frameworks and their tasks, as the master tells before anybody came back."""
        state = master.state()
        return {f["name"]: {t["id"]: t["state"] for t in f["tasks"]} for f in state["frameworks"]}

    @staticmethod
    def ends(scheduler, name):
        """States of the task that are no part of its life."""
        return {status["state"] for status in scheduler.updates.get(name, ())} - {
            "TASK_STAGING", "TASK_STARTING", "TASK_RUNNING"}

    def check_a_new_leader(self, end=lambda leader: leader.kill()):
        self.wait_copies()
        scheduler = self.scheduler_at(self.masters[0], name="survivor", failover_timeout=600)
        for name in ("a", "b"):
            self.run_task(scheduler, name)
        # Nobody comes back: what is told is what the copy has.
        self.agent_daemon.signal(signal.SIGSTOP)
        self.addCleanup(self.agent_daemon.signal, signal.SIGCONT)
        end(self.masters[0])
        second = self.wait_leader(but=self.masters[:1])
        self.assertEqual(self.known(second),
                         {"survivor": {"a": "TASK_RUNNING", "b": "TASK_RUNNING"}})
        state = second.state()
        self.assertEqual([f["recovered"] for f in state["frameworks"]], [True])
        self.assertEqual(len(state["recovered_slaves"]), 1)
        self.assertRegex(log_of(second), r"going on with \d+ records of the master before")
        self.agent_daemon.signal(signal.SIGCONT)
        self.wait_agent(second)
        scheduler.address = second.address
        scheduler.subscribe()
        scheduler.kill("a")
        scheduler.wait_state("a", "TASK_KILLED")


class Following(FollowingCase):
    def test_a_new_leader_knows_frameworks_and_tasks_at_once(self):
        self.check_a_new_leader()

    def test_also_if_the_one_before_is_told_to_end(self):
        self.check_a_new_leader(lambda leader: leader.terminate())

    def test_also_if_the_one_before_hangs(self):
        """As one that is cut off: it may think that it leads, and ends when it goes on."""
        first = self.masters[0]
        self.check_a_new_leader(lambda leader: leader.signal(signal.SIGSTOP))
        first.signal(signal.SIGCONT)
        wait_for(lambda: first.process.poll() is not None, "it ends", 30)

    def test_leaders_that_follow_one_another(self):
        scheduler = self.scheduler_at(self.masters[0], name="survivor", failover_timeout=600)
        gone = self.masters[0]
        for turn in range(4):
            self.wait_copies(gone)
            name = "t%d" % turn
            self.run_task(scheduler, name)
            gone.kill()
            leader = self.wait_leader()
            self.assertEqual(self.known(leader)["survivor"],
                             {"t%d" % i: "TASK_RUNNING" for i in range(turn + 1)})
            self.wait_agent(leader)
            scheduler.address = leader.address
            scheduler.subscribe()
            gone.start()
            self.wait_follower(gone)
            gone = leader
        for i in range(4):
            self.assertEqual(self.ends(scheduler, "t%d" % i), set())

    def test_ends_that_were_acknowledged_do_not_come_back(self):
        """Neither as a task that runs nor as one that is lost."""
        self.wait_copies()
        first = self.masters[0]
        scheduler = self.scheduler_at(first, name="survivor", failover_timeout=600)
        self.run_task(scheduler, "stays")
        for i in range(20):
            offer = scheduler.offer(cpus=0.1)
            scheduler.launch(offer, [task(offer, "true", cpus=0.1, mem=32, task_id="e%d" % i)])
            self.assertEqual(scheduler.wait_terminal("e%d" % i)["state"], "TASK_FINISHED")
        wait_for(lambda: [t["id"] for f in first.state()["frameworks"] for t in f["tasks"]] ==
                 ["stays"], "all are acknowledged")
        first.kill()
        second = self.wait_leader()
        known = self.known(second)["survivor"]
        # The last acknowledgement may not have been copied yet. Then its agent has not got it,
        # either, and tells of the end once more.
        self.assertIn(known.pop("e19", None), (None, "TASK_FINISHED"))
        self.assertEqual(known, {"stays": "TASK_RUNNING"})
        scheduler.address = second.address
        scheduler.subscribe()
        self.wait_agent(second)
        self.run_task(scheduler, "next")
        wait_for(lambda: self.known(second)["survivor"].keys() == {"stays", "next"},
                 "all are acknowledged", 20)
        for i in range(20):
            self.assertEqual(self.ends(scheduler, "e%d" % i), {"TASK_FINISHED"})

    def test_one_that_was_stopped_holds_nobody_up_for_long(self):
        self.wait_copies()
        first, second, third = self.masters
        scheduler = self.scheduler_at(first, name="survivor", failover_timeout=600)
        second.signal(signal.SIGSTOP)
        self.addCleanup(second.signal, signal.SIGCONT)
        begin = time.monotonic()
        offer = scheduler.offer(cpus=0.1)
        scheduler.launch(offer, [task(offer, "true", cpus=0.1, mem=32, task_id="e")])
        self.assertEqual(scheduler.wait_terminal("e")["state"], "TASK_FINISHED")
        wait_for(lambda: "nothing is to wait for follower" in log_of(first), "it is counted no more", 20)
        self.assertLess(time.monotonic() - begin, 10 * zookeeper.SCALE)
        # What it has is too old: it may lead, and does not go on with that.
        self.run_task(scheduler, "later")
        third.kill()
        first.kill()
        second.signal(signal.SIGCONT)
        wait_for(lambda: "elected as the leading master" in log_of(second) or
                 second.process.poll() is not None, "it leads, or its session is over", 30)
        if second.process.poll() is None:
            self.assertNotIn("going on with", log_of(second))

    def test_who_may_not(self):
        status, _, _ = harness.request(self.masters[0].address, "POST", "/master/follow", b"")
        self.assertEqual(status, 403)
        status, _, _ = harness.request(self.masters[0].address, "POST", "/master/followed", b"x")
        self.assertEqual(status, 404)


class FollowingWithCredentials(FollowingCase):
    """The proof is made of what is in --zk."""
    credentials = "mesos:s3@cret@"      # without the last one

    def test_who_has_them_may(self):
        self.check_a_new_leader()

    def test_who_has_them_not_may_not(self):
        for headers in ({}, {"X-Mesita-Follow": ""}, {"X-Mesita-Follow": "x" * 64}):
            self.assertEqual(harness.request(self.masters[0].address, "POST", "/master/follow", b"",
                                             headers)[0], 403)


class Faults(zookeeper.ElectionCase):
    """A scheduler keeps launching while masters and ZooKeeper's servers die and hang. SOAK_SECONDS says
    how long (15)."""

    kind = zookeeper.Ensemble
    turns = staticmethod(lambda: float(os.environ.get("SOAK_SECONDS", "15")))

    def setUp(self):
        super().setUp()
        self.random = random.Random(int(os.environ.get("SOAK_SEED", "1")))
        self.launched, self.led, self.subscribed_at = [], 0, None
        self.scheduler = self.scheduler_at(self.masters[0], name="soak", failover_timeout=3600,
                                           checkpoint=True)
        self.scheduler.run("exec sleep 100000", task_id="sentinel")

    def launch_some(self):
        """What its answer to an offer comes to may be lost with the master."""
        try:
            for _ in range(self.random.randrange(1, 4)):
                offer = self.scheduler.offer(cpus=0.1, timeout=1)
                names = ["s%d" % (len(self.launched) + i) for i in range(3)]
                self.launched += names
                self.scheduler.launch(offer, [
                    task(offer, self.random.choice(["true", "sleep 0.3", "exit 1"]), cpus=0.1,
                         mem=32, task_id=name) for name in names])
        except (OSError, ValueError, AssertionError,
                    harness.connections.http.client.HTTPException):
            pass

    def resubscribe(self):
        """At whoever leads; one that was stopped may look as if it did."""
        def subscribed():
            leader = self.wait_leader()
            self.scheduler.address = leader.address
            try:
                self.scheduler.subscribe()
            except (OSError, ValueError, AssertionError,
                    harness.connections.http.client.HTTPException):
                return None
            return leader
        leader = wait_for(subscribed, "a subscription", 30)
        self.led += "going on with" in log_of(leader).rpartition("elected as")[2]
        self.subscribed_at = leader.process

    def revive(self):
        """As a supervisor does."""
        for master in self.masters:
            if not self.alive(master):
                master.start()

    @staticmethod
    def waits_for(leader):
        """The followers that the leader's log says it waits for."""
        followers = set()
        for line in log_of(leader).rpartition("elected as")[2].splitlines():
            found = re.search(r"follower (\S+) (is up to date|any more)", line)
            if found and found[2] == "any more":
                followers.discard(found[1])
            elif found:
                followers.add(found[1])
        return followers

    def copied(self):
        """Both that follow have all; whoever leads."""
        self.revive()
        return len(self.waits_for(self.wait_leader())) == 2

    def settle(self):
        """Mostly those that follow have caught up before something happens."""
        if self.random.random() < 0.7:
            wait_for(self.copied, "copies of those that follow", 40)

    def harm_server(self):
        """Something happens to one of ZooKeeper's servers: the others go on."""
        server = self.random.choice(self.zookeeper.members)
        if self.random.random() < 0.5:
            server.process.send_signal(signal.SIGSTOP)
            self.launch_some()
            self.wait_leader()
            server.process.send_signal(signal.SIGCONT)
        else:
            server.kill()
            self.launch_some()
            self.wait_leader()
            server.start()
        server.wait_serving()
        self.revive()

    def harm_master(self):
        """Something happens to a master."""
        leader = self.wait_leader()
        victim = leader if self.random.random() < 0.6 else self.random.choice(self.masters)
        what = self.random.choice(["kill", "kill", "stop", "end"])
        if what == "stop":
            counted = victim is not leader and self.copied()
            victim.signal(signal.SIGSTOP)
            if victim is leader and self.random.random() < 0.6:
                self.wait_leader(but=[victim])
            elif counted:
                wait_for(lambda: len(self.waits_for(leader)) < 2 or not self.alive(leader),
                         "it is missed", 30)
            victim.signal(signal.SIGCONT)
        elif self.alive(victim):
            victim.signal(signal.SIGKILL if what == "kill" else signal.SIGTERM)
            victim.process.wait()
        self.launch_some()
        self.wait_leader()
        self.revive()

    def ended(self, name):
        return [s["state"] for s in self.scheduler.updates.get(name, ())
                if s["state"] not in ("TASK_STAGING", "TASK_STARTING", "TASK_RUNNING")]

    def all_ended(self):
        """Asks the leader of today for what has not ended. A session may be over, and its master with
        it, after the last harm, too."""
        self.revive()
        leader = self.wait_leader()
        if leader.process is not self.subscribed_at or self.scheduler.closed():
            self.wait_agent(leader)
            self.resubscribe()
            # Of what got lost on its way to a master that died, the next one has never heard.
            self.scheduler.reconcile(*[name for name in self.launched if not self.ended(name)])
        return all(map(self.ended, self.launched)) and leader

    def test_books_balance(self):
        end = time.monotonic() + self.turns() * zookeeper.SCALE
        turns = 0
        while time.monotonic() < end:
            self.launch_some()
            self.settle()
            if self.random.random() < 0.25:
                self.harm_server()
            else:
                self.harm_master()
            self.resubscribe()
            turns += 1
        self.subscribed_at = None
        leader = wait_for(self.all_ended, "the end of every task", 60)
        for name in self.launched:
            self.assertEqual(len(set(self.ended(name))), 1, (name, self.ended(name)))
        # What runs all the time has noticed nothing.
        self.assertEqual(self.ended("sentinel"), [])
        frameworks = leader.state()["frameworks"]
        self.assertEqual([t["id"] for f in frameworks for t in f["tasks"]
                          if t["state"] == "TASK_RUNNING"], ["sentinel"])
        self.assertEqual(len(frameworks), 1)
        print("%d turns, %d tasks, %d copies used" % (turns, len(self.launched), self.led))
        self.assertGreater(self.led, 0)
