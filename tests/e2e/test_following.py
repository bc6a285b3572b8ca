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
        return set(scheduler.ends(name))

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
        self.assertIn("the copy of the registry is what ZooKeeper has", log_of(second))
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
