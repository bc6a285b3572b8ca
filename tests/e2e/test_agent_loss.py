"""Agents that are lost, leave, come back, or come back as somebody else: what their tasks are
told, and what becomes of what ran there."""

import os
import shutil
import signal

import harness
from harness import wait_for
from processes import alive
from scheduler import task
from test_tasks import data, executor_info

QUICK = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 2}
AWARE = ("MULTI_ROLE", "PARTITION_AWARE")


class Case(harness.TestCase):
    def started(self, scheduler, command="echo $$ > pid; exec sleep 1000", **options):
        """A running task and the pid of its command."""
        task_id = scheduler.run(command, **options)
        status = scheduler.wait_state(task_id, "TASK_RUNNING")
        path = self.agent.sandbox(scheduler.id, status["executor_id"]["value"]) + "/pid"

        def pid():
            with open(path, encoding="ascii") as file:
                return int(file.read())
        return task_id, wait_for(pid, "pid")

    def told(self, scheduler, task_id, state, timeout=15, **expected):
        status = scheduler.wait_state(task_id, state, timeout=timeout)
        for name, value in expected.items():
            self.assertEqual(status.get(name), value, status)
        return status

    def listed(self, scheduler, kind):
        """(id, state) of the framework's tasks of a kind in /state."""
        state = self.master.state()
        for framework in state["frameworks"] + state["completed_frameworks"]:
            if framework["id"] == scheduler.id:
                return [(t["id"], t["state"]) for t in framework[kind]]
        return None

    def gone(self, pid):
        wait_for(lambda: not alive(pid), "end of process %d" % pid)


class Unreachable(Case):
    master_flags = QUICK

    def lose(self, capabilities, state, checkpoint=True):
        scheduler = self.subscribe(capabilities=capabilities, checkpoint=checkpoint)
        task_id, pid = self.started(scheduler)
        self.agent.signal(signal.SIGSTOP)
        status = self.told(scheduler, task_id, state, reason="REASON_AGENT_REMOVED",
                           source="SOURCE_MASTER", message="health check timed out")
        self.assertNotIn("uuid", status)
        self.assertIn("nanoseconds", status["unreachable_time"])
        failure = scheduler.expect("FAILURE")["failure"]
        self.assertEqual(failure, {"agent_id": status["agent_id"]})
        self.assertEqual(self.listed(scheduler, "unreachable_tasks"), [(task_id, state)])
        self.assertEqual(self.master.state()["slaves"], [])
        self.assertEqual(self.master.metric("master/slaves_unreachable"), 1)
        scheduler.updates.clear()
        return scheduler, task_id, pid

    def back(self, scheduler, task_id, pid):
        self.agent.signal(signal.SIGCONT)
        self.told(scheduler, task_id, "TASK_RUNNING", timeout=30,
                  reason="REASON_AGENT_REREGISTERED", source="SOURCE_MASTER",
                  message="Unreachable agent re-reregistered")
        self.assertEqual(self.listed(scheduler, "unreachable_tasks"), [])
        self.assertEqual(self.listed(scheduler, "tasks"), [(task_id, "TASK_RUNNING")])
        self.assertTrue(alive(pid))
        scheduler.kill(task_id)
        self.told(scheduler, task_id, "TASK_KILLED")

    def test_partition_aware(self):
        self.back(*self.lose(AWARE, "TASK_UNREACHABLE"))

    def test_plain(self):
        self.back(*self.lose(("MULTI_ROLE",), "TASK_LOST"))

    def test_partition_aware_without_checkpoint(self):
        self.back(*self.lose(AWARE, "TASK_UNREACHABLE", checkpoint=False))

    def test_reconciliation_while_away(self):
        scheduler, task_id, _ = self.lose(AWARE, "TASK_UNREACHABLE")
        agent_id = next(iter(self.master.json("/state")["frameworks"]))[
            "unreachable_tasks"][0]["slave_id"]
        scheduler.call("RECONCILE", reconcile={"tasks": [
            {"task_id": {"value": task_id}, "agent_id": {"value": agent_id}},
            {"task_id": {"value": "other"}}]})
        self.told(scheduler, task_id, "TASK_UNREACHABLE", reason="REASON_RECONCILIATION",
                  message="Reconciliation: Task is unreachable")
        self.told(scheduler, "other", "TASK_UNKNOWN")

    def test_master_restarts_while_away(self):
        scheduler, task_id, pid = self.lose(AWARE, "TASK_UNREACHABLE")
        self.master.kill()
        self.master.start().wait_ready()
        scheduler.wait_closed()
        scheduler.subscribe()
        self.assertEqual(self.listed(scheduler, "unreachable_tasks"),
                         [(task_id, "TASK_UNREACHABLE")])
        self.back(scheduler, task_id, pid)

    def test_framework_leaves_while_away(self):
        scheduler, task_id, pid = self.lose(AWARE, "TASK_UNREACHABLE")
        scheduler.teardown()
        self.assertEqual(self.listed(scheduler, "completed_tasks"), [(task_id, "TASK_KILLED")])
        self.agent.signal(signal.SIGCONT)
        self.gone(pid)
        self.agent.wait_registered()


class BrokenLink(Case):
    """kill -9 of the agent; the master sees the connection end."""

    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 10}
    agent_flags = {"executor_shutdown_grace_period": "1secs"}

    def test_without_checkpoint(self):
        scheduler = self.subscribe(capabilities=AWARE, checkpoint=False)
        task_id, pid = self.started(scheduler)
        offer = scheduler.offer()
        self.agent.kill()
        self.told(scheduler, task_id, "TASK_LOST", reason="REASON_AGENT_DISCONNECTED",
                  source="SOURCE_MASTER", message="Agent localhost disconnected")
        self.assertEqual(scheduler.expect("RESCIND")["rescind"]["offer_id"], offer["id"])
        self.gone(pid)
        self.agent.start().wait_registered()
        whole = scheduler.offer(cpus=4)
        self.assertEqual(whole["agent_id"], offer["agent_id"])
        self.assertEqual(scheduler.states(task_id)[-1], "TASK_LOST")

    def test_custom_executor_without_checkpoint(self):
        scheduler = self.subscribe(checkpoint=False)
        offer = scheduler.offer(cpus=1)
        info = task(offer, None, executor=executor_info(), data=data("wait"))
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.agent.kill()
        self.told(scheduler, task_id, "TASK_LOST", reason="REASON_AGENT_DISCONNECTED")
        self.agent.start().wait_registered()
        scheduler.offer(cpus=4)
        self.assertEqual(self.master.state()["frameworks"][0]["executors"], [])

    def test_with_checkpoint(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        offer = scheduler.offer()
        self.agent.kill()
        self.assertEqual(scheduler.expect("RESCIND")["rescind"]["offer_id"], offer["id"])
        entry = self.agent.entry()
        self.assertFalse(entry["active"])
        self.agent.start().wait_registered()
        self.assertTrue(alive(pid))
        self.assertEqual(scheduler.states(task_id)[-1], "TASK_RUNNING")
        scheduler.offer(cpus=3.9)

    def test_kill_while_away(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        self.agent.kill()
        wait_for(lambda: not self.agent.entry()["active"], "inactive agent")
        scheduler.kill(task_id)
        self.agent.start().wait_registered()
        self.told(scheduler, task_id, "TASK_KILLED")
        self.gone(pid)

    def test_teardown_while_away(self):
        scheduler = self.subscribe()
        _, pid = self.started(scheduler)
        self.agent.kill()
        wait_for(lambda: not self.agent.entry()["active"], "inactive agent")
        scheduler.teardown()
        self.agent.start().wait_registered()
        self.gone(pid)
        wait_for(lambda: not self.agent.state()["frameworks"], "end of the framework")

    def test_executor_dies_while_the_agent_is_down(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        parent = harness.processes.stat_of(pid)[1]
        self.agent.kill()
        os.kill(parent, signal.SIGKILL)
        self.agent.start().wait_registered()
        self.told(scheduler, task_id, "TASK_FAILED", reason="REASON_EXECUTOR_TERMINATED",
                  source="SOURCE_AGENT")
        self.gone(pid)
        scheduler.offer(cpus=4)


class Leaving(Case):
    agent_flags = {"executor_shutdown_grace_period": "1secs"}

    def test_sigusr1(self):
        scheduler = self.subscribe(capabilities=AWARE)
        task_id, pid = self.started(scheduler)
        before = self.agent.id
        self.agent.signal(signal.SIGUSR1)
        self.told(scheduler, task_id, "TASK_LOST", reason="REASON_AGENT_REMOVED",
                  source="SOURCE_MASTER",
                  message="Agent localhost removed: the agent unregistered")
        self.assertEqual(scheduler.expect("FAILURE")["failure"]["agent_id"]["value"], before)
        self.assertEqual(self.agent.process.wait(20), 0)
        self.gone(pid)
        self.assertEqual(self.master.state()["slaves"], [])
        self.assertEqual(self.listed(scheduler, "completed_tasks"), [(task_id, "TASK_LOST")])
        self.agent.start().wait_registered()
        self.assertNotEqual(self.agent.id, before)

    def test_sigterm_leaves_checkpointed_tasks(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        before = self.agent.id
        self.agent.terminate()
        self.assertTrue(alive(pid))
        self.agent.start().wait_registered()
        self.assertEqual(self.agent.id, before)
        self.assertEqual(scheduler.states(task_id)[-1], "TASK_RUNNING")

    def test_recover_cleanup(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        self.agent.kill()
        self.agent.flags["recover"] = "cleanup"
        self.agent.start()
        self.assertEqual(self.agent.process.wait(20), 0)
        self.gone(pid)
        del self.agent.flags["recover"]
        self.agent.start().wait_registered()
        scheduler.wait_terminal(task_id)
        scheduler.offer(cpus=4)

    def test_new_agent_at_the_address(self):
        scheduler = self.subscribe(capabilities=AWARE)
        task_id, pid = self.started(scheduler)
        before = self.agent.id
        self.agent.kill()
        shutil.move(self.agent.work_dir, self.agent.work_dir + ".old")
        self.agent.start().wait_registered()
        self.told(
            scheduler, task_id, "TASK_LOST", reason="REASON_AGENT_REMOVED",
            message="Agent localhost removed: a new agent registered at the same address")
        self.assertEqual(scheduler.expect("FAILURE")["failure"]["agent_id"]["value"], before)
        self.assertNotEqual(self.agent.id, before)
        self.assertEqual(len(self.master.state()["slaves"]), 1)
        # Nobody knows the executor any more.
        self.gone(pid)


class Reconfigured(Case):
    """A restart with other flags."""

    MORE = "cpus:8;mem:4096;disk:4096;ports:[31000-31999]"
    LESS = "cpus:2;mem:4096;disk:4096;ports:[31000-31999]"

    def refused(self, *words):
        self.agent.start()
        self.assertEqual(self.agent.process.wait(20), 1)
        self.agent.process = None
        for word in words:
            self.assertIn(word, self.agent.log_tail())

    def test_equal_policy(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        self.agent.kill()
        before, fitting = self.agent.id, self.agent.flags["resources"]
        for flag, value in (("resources", self.MORE), ("resources", self.LESS),
                            ("attributes", "rack:2"), ("hostname", "elsewhere")):
            kept = self.agent.flags.get(flag)
            self.agent.flags[flag] = value
            self.refused("Failed to perform recovery", "Incompatible agent info detected",
                         "--reconfiguration_policy",
                         "rm -f %s/meta/slaves/latest" % self.agent.work_dir)
            self.agent.flags[flag] = kept
        self.assertTrue(alive(pid))
        self.agent.flags["resources"] = fitting
        self.agent.start().wait_registered()
        self.assertEqual(self.agent.id, before)
        self.assertEqual(scheduler.states(task_id)[-1], "TASK_RUNNING")

    def test_additive_policy(self):
        before = self.agent.id
        self.agent.flags["reconfiguration_policy"] = "additive"
        self.agent.kill()
        self.agent.flags.update(resources=self.MORE, attributes="rack:2")
        self.agent.start().wait_registered()
        self.assertEqual(self.agent.id, before)
        self.assertEqual(self.agent.entry()["resources"]["cpus"], 8)
        self.assertEqual(self.agent.entry()["attributes"], {"rack": 2})
        self.subscribe().offer(cpus=8)
        self.agent.kill()
        self.agent.flags["resources"] = self.LESS
        self.refused("Configuration change not permitted under `additive` policy")

    def test_new_resources_are_known_after_a_master_restart(self):
        self.agent.flags["reconfiguration_policy"] = "additive"
        self.agent.kill()
        self.agent.flags.update(resources=self.MORE)
        self.agent.start().wait_registered()
        self.master.kill()
        self.master.start().wait_ready()
        self.agent.wait_registered()
        self.assertEqual(self.agent.entry()["resources"]["cpus"], 8)

    def test_identity_given_up(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        before = self.agent.id
        latest = self.agent.work_dir + "/meta/slaves/latest"
        self.assertEqual(os.path.basename(os.readlink(latest)), before)
        self.agent.kill()
        os.unlink(latest)
        self.agent.flags["resources"] = self.MORE
        self.agent.start().wait_registered()
        self.assertNotEqual(self.agent.id, before)
        self.told(scheduler, task_id, "TASK_LOST", reason="REASON_AGENT_REMOVED")
        self.gone(pid)
        self.assertEqual(os.path.basename(os.readlink(latest)), self.agent.id)
        scheduler.offer(cpus=8)


class Failover(Case):
    """Frameworks whose scheduler does not come back."""

    agent_flags = {"executor_shutdown_grace_period": "1secs"}

    def expired(self, seconds):
        scheduler = self.subscribe(failover_timeout=seconds)
        task_id, pid = self.started(scheduler)
        scheduler.close()
        wait_for(lambda: self.master.state()["completed_frameworks"], "end of the framework")
        self.assertEqual(self.listed(scheduler, "completed_tasks"), [(task_id, "TASK_KILLED")])
        self.gone(pid)
        wait_for(lambda: not self.agent.entry()["used_resources"].get("cpus"), "idle agent")
        with self.assertRaises(AssertionError):
            scheduler.subscribe()
        self.assertIn("Framework has been removed", str(scheduler.events))

    def test_at_once(self):
        self.expired(0)

    def test_after_a_while(self):
        self.expired(0.5)

    def test_not_after_a_master_restart(self):
        scheduler = self.subscribe(failover_timeout=0.2)
        task_id, pid = self.started(scheduler)
        self.master.kill()
        scheduler.close()
        self.master.start().wait_ready()
        self.agent.wait_registered()
        self.assertEqual(self.listed(scheduler, "tasks"), [(task_id, "TASK_RUNNING")])
        scheduler.subscribe()
        self.assertTrue(alive(pid))
        scheduler.kill(task_id)
        self.told(scheduler, task_id, "TASK_KILLED")


class MasterRestart(Case):
    """The agent is not there when the master comes back."""

    master_flags = QUICK

    def test_agent_gone(self):
        scheduler = self.subscribe(capabilities=AWARE)
        task_id, pid = self.started(scheduler)
        agent_id = self.agent.id
        self.agent.kill()
        self.master.kill()
        self.master.start().wait_ready()
        state = self.master.state()
        self.assertEqual(state["slaves"], [])
        self.assertEqual([a["id"] for a in state["recovered_slaves"]], [agent_id])
        self.assertEqual(self.listed(scheduler, "tasks"), [(task_id, "TASK_RUNNING")])
        scheduler.wait_closed()
        scheduler.subscribe()
        scheduler.updates.clear()
        # Known tasks are told of, others not as long as the agent may still come.
        scheduler.reconcile("other", task_id)
        self.told(scheduler, task_id, "TASK_RUNNING", reason="REASON_RECONCILIATION")
        self.assertEqual(scheduler.states("other"), [])
        scheduler.kill(task_id)
        self.agent.start().wait_registered()
        self.told(scheduler, task_id, "TASK_KILLED")
        self.gone(pid)
        scheduler.reconcile("other")
        self.told(scheduler, "other", "TASK_UNKNOWN")

    def test_executor_died_meanwhile(self):
        scheduler = self.subscribe()
        task_id, pid = self.started(scheduler)
        parent = harness.processes.stat_of(pid)[1]
        self.master.kill()
        self.agent.kill()
        os.kill(parent, signal.SIGKILL)
        self.master.start().wait_ready()
        scheduler.wait_closed()
        scheduler.subscribe()
        self.agent.start().wait_registered()
        self.told(scheduler, task_id, "TASK_FAILED")
        self.gone(pid)
