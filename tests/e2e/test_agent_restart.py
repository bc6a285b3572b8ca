"""kill -9 of an agent, of an executor; agents that go away for good."""

import os
import signal

import harness
from harness import wait_for
from scheduler import task
from test_tasks import data, executor_info


class AgentRestart(harness.TestCase):
    agent_flags = {"recovery_timeout": "1mins"}

    def start_task(self, scheduler, command="echo $$ > pid; exec sleep 1000"):
        task_id = scheduler.run(command)
        status = scheduler.wait_state(task_id, "TASK_RUNNING")
        return task_id, status["container_status"]["executor_pid"]

    def test_task_goes_on_and_can_be_killed(self):
        scheduler = self.subscribe()
        before = self.agent.id
        task_id, pid = self.start_task(scheduler)
        self.agent.kill()
        self.assertTrue(harness.processes.alive(pid))
        self.agent.start().wait_registered()
        self.assertEqual(self.agent.id, before)
        self.assertTrue(harness.processes.alive(pid))
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        self.assertNotIn("TASK_LOST", scheduler.states(task_id))

    def test_nothing_outlives_a_task(self):
        """A daemon that the task started, with nothing in its environment to find it by."""
        scheduler = self.subscribe()
        task_id, _ = self.start_task(
            scheduler, "(setsid env -i /bin/sh -c 'echo $$ > daemon; exec sleep 1000' &); "
                       "echo $$ > pid; exec sleep 1000")
        path = self.agent.sandbox(scheduler.id, task_id) + "/daemon"
        wait_for(lambda: os.path.exists(path) and open(path, encoding="ascii").read().strip(),
                 "the daemon says its pid", 20)
        with open(path, encoding="ascii") as file:
            daemon = int(file.read())
        self.agent.kill().start().wait_registered()
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        wait_for(lambda: not harness.processes.alive(daemon), "the daemon ends", 20)

    def test_an_identity_given_up_ends_what_ran(self):
        """Also an executor that never says anything, and would not hear of its end."""
        scheduler = self.subscribe()
        before = self.agent.id
        path = os.path.join(self.temporary(), "pid")
        os.chmod(os.path.dirname(path), 0o777)
        executor = executor_info()
        executor["command"] = {"value": "echo $$ > %s; exec sleep 1000" % path}
        offer = scheduler.offer(cpus=1)
        scheduler.launch(offer, [task(offer, None, executor=executor, data=data("wait"))])
        wait_for(lambda: os.path.exists(path) and open(path, encoding="ascii").read().strip(),
                 "the executor says its pid", 20)
        with open(path, encoding="ascii") as file:
            pid = int(file.read())
        self.agent.kill()
        self.assertTrue(harness.processes.alive(pid))
        os.unlink(self.agent.work_dir + "/meta/slaves/latest")
        self.agent.start().wait_registered()
        self.assertNotEqual(self.agent.id, before)
        wait_for(lambda: not harness.processes.alive(pid), "the executor ends", 20)

    def test_task_ends_while_the_agent_is_down(self):
        scheduler = self.subscribe()
        gate = os.path.join(self.temporary(), "gate")
        os.chmod(os.path.dirname(gate), 0o777)
        done = gate + ".done"
        task_id, _ = self.start_task(
            scheduler, "while [ ! -e %s ]; do sleep 0.02; done; touch %s" % (gate, done))
        self.agent.kill()
        with open(gate, "w", encoding="ascii"):
            pass
        wait_for(lambda: os.path.exists(done), "end of the task")
        self.agent.start().wait_registered()
        self.assertEqual(scheduler.wait_terminal(task_id, timeout=30)["state"], "TASK_FINISHED")

    def test_custom_executor_comes_back(self):
        scheduler = self.subscribe()
        executor = executor_info()
        offer = scheduler.offer(cpus=1)
        info = task(offer, None, executor=executor, data=data("wait"))
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.agent.kill()
        self.agent.start().wait_registered()
        offer = scheduler.offer(cpus=0.1)
        more = task(offer, None, executor=executor, data=data("finish"))
        scheduler.launch(offer, [more])
        status = scheduler.wait_terminal(more["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_FINISHED", status)
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")

    def test_killed_executor_fails_its_task(self):
        scheduler = self.subscribe()
        task_id, pid = self.start_task(scheduler)

        def read():
            with open(self.agent.sandbox(scheduler.id, task_id) + "/pid",
                      encoding="ascii") as file:
                return int(file.read())
        task_pid = wait_for(read, "pid of the task")
        os.kill(pid, signal.SIGKILL)
        status = scheduler.wait_terminal(task_id)
        self.assertEqual((status["state"], status["reason"]),
                         ("TASK_FAILED", "REASON_EXECUTOR_TERMINATED"))
        wait_for(lambda: not harness.processes.alive(task_pid), "end of the task's process")

    def test_executor_dead_at_recovery(self):
        scheduler = self.subscribe()
        task_id, pid = self.start_task(scheduler)
        self.agent.kill()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not harness.processes.alive(pid), "end of the executor")
        self.agent.start().wait_registered()
        self.assertEqual(scheduler.wait_terminal(task_id, timeout=30)["state"], "TASK_FAILED")


class AgentLoss(harness.TestCase):
    agents = 2
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 2}

    def test_lost_and_back(self):
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "PARTITION_AWARE"))
        task_id = scheduler.run("sleep 1000")
        status = scheduler.wait_state(task_id, "TASK_RUNNING")
        host = next(a for a in self.cluster.agents if a.id == status["agent_id"]["value"])
        host.signal(signal.SIGSTOP)
        status = scheduler.wait_state(task_id, "TASK_UNREACHABLE", timeout=30)
        self.assertEqual(status["reason"], "REASON_AGENT_REMOVED")
        scheduler.expect("FAILURE")
        self.assertEqual(self.master.state()["unreachable_slaves"], 1)
        before = len(scheduler.updates[task_id])
        host.signal(signal.SIGCONT)
        wait_for(lambda: len(scheduler.updates[task_id]) > before, "news of the task", 40)
        self.assertEqual(scheduler.updates[task_id][-1]["state"], "TASK_RUNNING")
        host.wait_registered()
