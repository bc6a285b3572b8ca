"""Command tasks and custom executors from launch to end."""

import base64
import os
import tarfile

import harness
from harness import wait_for
from scheduler import amounts, scalar, task, unique

HERE = os.path.dirname(os.path.abspath(__file__))


def executor_info(executor_id=None):
    return {"type": "CUSTOM", "executor_id": {"value": executor_id or unique("executor")},
            "command": {"shell": True, "value": "exec /usr/bin/python3 %s" % os.path.join(
                HERE, "executor.py")},
            "resources": [scalar("cpus", 0.1), scalar("mem", 32)]}


def data(text):
    return base64.b64encode(text.encode()).decode()


class CommandTasks(harness.TestCase):
    def test_states_of_a_finished_task(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("echo out; echo err >&2")
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(scheduler.states(task_id),
                         ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"])
        self.assertEqual(status["message"], "Command exited with status 0")
        self.assertEqual(status["source"], "SOURCE_EXECUTOR")
        self.assertEqual(status["executor_id"]["value"], task_id)
        address = scheduler.updates[task_id][1]["container_status"]["network_infos"][0]
        self.assertEqual(address["ip_addresses"][0]["ip_address"], "127.0.0.1")
        sandbox = self.agent.sandbox(scheduler.id, task_id)
        with open(sandbox + "/stdout", encoding="utf-8") as file:
            self.assertIn("out\n", file.read())
        with open(sandbox + "/stderr", encoding="utf-8") as file:
            self.assertIn("err\n", file.read())

    def test_exit_codes_and_signals(self):
        scheduler = self.subscribe()
        for command, state, message in (
                ("exit 3", "TASK_FAILED", "Command exited with status 3"),
                ("kill -9 $$", "TASK_FAILED", "Command terminated with signal Killed"),
                ("no-such-program-here", "TASK_FAILED", "Command exited with status 127")):
            task_id = scheduler.run(command)
            status = scheduler.wait_terminal(task_id)
            self.assertEqual((status["state"], status["message"]), (state, message))

    def test_fetching_does_not_leave_the_sandbox(self):
        """A link that came with one URI leads no other one out of the sandbox."""
        outside, base = self.temporary(), self.temporary()
        with open(base + "/file", "w", encoding="ascii") as file:
            file.write("x")
        with tarfile.open(base + "/links.tar", "w") as archive:
            for name, target in (("out", outside), ("file", outside + "/through"),
                                 ("in", ".")):
                link = tarfile.TarInfo(name)
                link.type, link.linkname = tarfile.SYMTYPE, target
                archive.addfile(link)
        for output, state in (("out/file", "TASK_FAILED"), ("out/new/file", "TASK_FAILED"),
                              ("file", "TASK_FINISHED"), ("in/new/file", "TASK_FINISHED")):
            scheduler = self.subscribe()
            offer = scheduler.offer()
            info = task(offer, {"value": "cat %s" % output, "uris": [
                {"value": base + "/links.tar"},
                {"value": base + "/file", "output_file": output}]})
            scheduler.launch(offer, [info])
            status = scheduler.wait_terminal(info["task_id"]["value"])
            self.assertEqual(status["state"], state, output)
            self.assertEqual(os.listdir(outside), [])
            scheduler.teardown()

    def test_argv_form_and_environment(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        info = task(offer, {
            "shell": False, "value": "/bin/sh", "arguments": ["sh", "-c", 'echo "<$A>"'],
            "environment": {"variables": [{"name": "A", "value": "one two"}]}})
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stdout",
                  encoding="utf-8") as file:
            self.assertIn("<one two>\n", file.read())

    def test_kill(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        scheduler.kill(task_id)
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_KILLED")
        self.assertEqual(status["message"], "Command terminated with signal Terminated")

    def test_a_service_that_ends_well_when_it_is_killed(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("trap 'exit 0' TERM; touch ready; sleep 1000 & wait")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        sandbox = self.agent.sandbox(scheduler.id, task_id)
        harness.wait_for(lambda: os.path.exists(sandbox + "/ready"), "its handler")
        scheduler.kill(task_id)
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_KILLED")
        self.assertEqual(status["message"], "Command exited with status 0")

    def test_many_tasks_of_one_offer(self):
        scheduler = self.subscribe()
        offer = scheduler.offer(cpus=4)
        tasks = [task(offer, "exit 0", cpus=0.1, mem=16) for _ in range(30)]
        scheduler.launch(offer, tasks)
        for info in tasks:
            self.assertEqual(scheduler.wait_terminal(info["task_id"]["value"])["state"],
                             "TASK_FINISHED")

    def test_resources_come_back(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("exit 0", cpus=3)
        scheduler.wait_terminal(task_id)

        def whole():
            entry = self.agent.entry()
            return entry["used_resources"].get("cpus", 0) == 0
        wait_for(whole, "resources that are free again")

    def test_invalid_task_is_an_error(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        info = task(offer, "exit 0", cpus=1000)
        scheduler.launch(offer, [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_ERROR")
        self.assertEqual(status["reason"], "REASON_TASK_INVALID")
        self.assertEqual(status["source"], "SOURCE_MASTER")
        # What was not used is offered again.
        self.assertEqual(amounts(scheduler.offer(cpus=4)["resources"])["cpus"], 4)

    def test_file_uri_is_fetched(self):
        path = os.path.join(self.temporary(), "input.txt")
        os.chmod(os.path.dirname(path), 0o755)
        with open(path, "w", encoding="utf-8") as file:
            file.write("fetched\n")
        scheduler = self.subscribe()
        offer = scheduler.offer()
        info = task(offer, {"shell": True, "value": "cat input.txt",
                           "uris": [{"value": "file://" + path}]})
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stdout",
                  encoding="utf-8") as file:
            self.assertIn("fetched\n", file.read())

    def test_missing_uri_fails_the_task(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        info = task(offer, {"shell": True, "value": "true",
                           "uris": [{"value": "/no/such/file"}]})
        scheduler.launch(offer, [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_FAILED")
        self.assertEqual(status["reason"], "REASON_CONTAINER_LAUNCH_FAILED")

    def test_reconciliation(self):
        scheduler = self.subscribe()
        running = scheduler.run("sleep 1000")
        scheduler.wait_state(running, "TASK_RUNNING")
        count = len(scheduler.updates[running])
        scheduler.reconcile(running, "never-heard-of")
        status = scheduler.wait_state("never-heard-of", "TASK_LOST")
        self.assertEqual(status["reason"], "REASON_RECONCILIATION")
        wait_for(lambda: len(scheduler.updates[running]) > count, "answer about the task")
        self.assertEqual(scheduler.updates[running][-1]["reason"], "REASON_RECONCILIATION")
        self.assertEqual(scheduler.updates[running][-1]["state"], "TASK_RUNNING")

    def test_unacknowledged_update_is_sent_again(self):
        scheduler = self.subscribe(acknowledge=False)
        task_id = scheduler.run("exit 0")
        first = scheduler.wait_state(task_id, "TASK_STARTING")
        scheduler.expect("UPDATE")
        again = scheduler.expect("UPDATE", timeout=20)["update"]["status"]
        self.assertEqual(again["uuid"], first["uuid"])
        scheduler.acknowledge = True
        scheduler.ack(again)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")


class CustomExecutors(harness.TestCase):
    def launch(self, scheduler, executor, orders):
        offer = scheduler.offer(cpus=1)
        tasks = [task(offer, None, executor=executor, data=data(order)) for order in orders]
        scheduler.launch(offer, tasks)
        return [info["task_id"]["value"] for info in tasks], offer["agent_id"]

    def test_one_executor_runs_many_tasks(self):
        scheduler = self.subscribe()
        ids, _ = self.launch(scheduler, executor_info(), ["finish"] * 5)
        for task_id in ids:
            self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        framework = self.master.state()["frameworks"][0]
        self.assertEqual(len(framework["executors"]), 1)

    def test_messages_both_ways(self):
        scheduler = self.subscribe()
        executor = executor_info()
        (task_id,), agent_id = self.launch(scheduler, executor, ["echo"])
        message = scheduler.expect("MESSAGE")["message"]
        self.assertEqual(base64.b64decode(message["data"]).decode(), task_id)
        scheduler.call("MESSAGE", message={
            "agent_id": agent_id, "executor_id": executor["executor_id"],
            "data": data("ping")})
        message = scheduler.expect("MESSAGE")["message"]
        self.assertEqual(base64.b64decode(message["data"]), b"echo:ping")
        self.assertEqual(message["executor_id"], executor["executor_id"])

    def test_exit_fails_its_tasks(self):
        scheduler = self.subscribe()
        (waiting, exiting), agent_id = self.launch(scheduler, executor_info(),
                                                   ["wait", "exit 5"])
        for task_id in (waiting, exiting):
            status = scheduler.wait_terminal(task_id)
            self.assertEqual(status["state"], "TASK_FAILED")
            self.assertEqual(status["reason"], "REASON_EXECUTOR_TERMINATED")
        failure = scheduler.expect("FAILURE")["failure"]
        self.assertEqual(failure["status"], 5 << 8)
        self.assertEqual(failure["agent_id"], agent_id)

    def test_shutdown(self):
        scheduler = self.subscribe()
        executor = executor_info()
        (task_id,), agent_id = self.launch(scheduler, executor, ["wait"])
        scheduler.wait_state(task_id, "TASK_RUNNING")
        scheduler.call("SHUTDOWN", shutdown={"executor_id": executor["executor_id"],
                                             "agent_id": agent_id})
        scheduler.expect("FAILURE", timeout=20)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FAILED")

    def test_teardown_ends_the_processes(self):
        scheduler = self.subscribe()
        (task_id,), _ = self.launch(scheduler, executor_info(), ["wait"])
        pid = scheduler.wait_state(task_id, "TASK_RUNNING")["container_status"]["executor_pid"]
        self.assertTrue(harness.processes.alive(pid))
        scheduler.teardown()
        wait_for(lambda: not harness.processes.alive(pid), "end of the executor")
        self.assertEqual([f["id"] for f in self.master.state()["completed_frameworks"]],
                         [scheduler.id])
