"""Containers with a terminal of their own: anybody may attach to it, nobody needs to."""

import json
import os
import subprocess

import harness
import test_rooms
from at_terminal import AtTerminal
from harness import wait_for
from process_io import Client
from scheduler import task
from test_groups import default_executor


def terminal(rows=0, columns=0):
    info = {"window_size": {"rows": rows, "columns": columns}} if rows else {}
    return {"type": "MESOS", "tty_info": info}


class Base(Client, harness.TestCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(checkpoint=True, failover_timeout=1000,
                                        capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def started(self, command, **options):
        """(task id, container id)"""
        task_id = self.scheduler.run(command, **{"container": terminal(), **options})
        return task_id, self.running(task_id)

    def running(self, task_id):
        status = self.scheduler.wait_state(task_id, "TASK_RUNNING")
        return status["container_status"]["container_id"]

    def shown(self, task_id, path=None):
        path = path or self.agent.sandbox(self.scheduler.id, task_id) + "/stdout"
        with open(path, "rb") as file:
            return file.read()

    def wait_shown(self, task_id, text):
        wait_for(lambda: text in self.shown(task_id), "%r on the terminal" % text, 20)

    def files(self):
        """What is kept of terminals while they are there."""
        directory = os.path.join(self.agent.flags["runtime_dir"], "terminals")
        return os.listdir(directory) if os.path.isdir(directory) else []

    def try_one(self, task_id, container_id, path=None):
        """A shell, from its first line to its last; `path` of what it shows, if not its own."""
        output = self.listen(container_id)
        connection = self.attach(container_id)
        self.put_text(connection, b"stty size; tty > /dev/null && echo te''rminal\n")
        output.wait(b"terminal\r\n")
        self.resize(connection, 41, 99)
        self.put_text(connection, b"stty size; echo ra''n\n")
        output.wait(b"ran\r\n")
        self.assertIn(b"\r\n41 99\r\n", output.text["STDOUT"])
        self.put_text(connection, b"exit 3\n")
        output.wait_over()
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FAILED")
        self.assertIn(output.text["STDOUT"], self.shown(task_id, path))
        wait_for(lambda: not self.files(), "nothing of it is kept", 20)


class Terminals(Base):
    agent_flags = {"recovery_timeout": "1mins", "executor_shutdown_grace_period": "3secs"}

    def test_a_shell(self):
        task_id, container_id = self.started(
            "stty size; sh", container=terminal(24, 81))
        self.wait_shown(task_id, b"24 81\r\n")
        self.try_one(task_id, container_id)

    def test_in_a_group(self):
        offer = self.scheduler.offer(cpus=0.3)
        info = task(offer, "sh", container=terminal())
        self.scheduler.launch_group(offer, default_executor(), [info])
        task_id = info["task_id"]["value"]
        container_id = self.running(task_id)
        self.assertIn("parent", container_id)
        directory = os.path.join(self.agent.sandbox(
            self.scheduler.id, self.executor_of(task_id)), "tasks", task_id)
        self.try_one(task_id, container_id, os.path.join(directory, "stdout"))

    def executor_of(self, task_id):
        tasks = self.master.json("/tasks?task_id=" + task_id)["tasks"]
        return tasks[0]["executor_id"]

    def test_a_custom_executor(self):
        """Its own container has the terminal."""
        offer = self.scheduler.offer(cpus=0.3)
        executor = {"executor_id": {"value": "shell"}, "container": terminal(),
                    "command": {"value": "sh"}, "resources": []}
        info = task(offer, None, executor=executor)
        self.scheduler.launch(offer, [info])
        found = wait_for(self.agent_containers, "its container", 20)
        output = self.listen(found[0])
        connection = self.attach(found[0])
        self.put_text(connection, b"tty\n")
        output.wait(b"/dev/pts/")
        self.put_text(connection, b"exit\n")
        output.wait_over()

    def agent_containers(self):
        return [each["container_id"] if isinstance(each["container_id"], dict)
                else {"value": each["container_id"]} for each in self.agent.json("/containers")]

    def test_nobody_attaches(self):
        task_id, _ = self.started("echo alone; echo wrong >&2; head -c 300000 /dev/zero | tr '\\0' x")
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        self.assertIn(b"alone\r\nwrong\r\n" + 300000 * b"x", self.shown(task_id))

    def test_it_outlives_the_agent(self):
        task_id, container_id = self.started("sh")
        output = self.listen(container_id)
        connection = self.attach(container_id)
        self.put_text(connection, b"a=kept; echo rea''dy\n")
        output.wait(b"ready")
        self.agent.kill()
        output.wait_over()
        self.agent.start().wait_registered()
        output = self.listen(container_id)
        connection = self.attach(container_id)
        self.put_text(connection, b"echo is $a\n")
        output.wait(b"is kept\r\n")
        self.agent.kill()
        self.agent.start().wait_registered()
        self.try_one(task_id, container_id)

    def test_keys_that_signal(self):
        task_id, container_id = self.started(
            "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.1; done")
        self.wait_shown(task_id, b"ready")
        self.put_text(self.attach(container_id), b"\x03")
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        self.assertIn(b"caught", self.shown(task_id))

    def test_a_kill(self):
        """By SIGTERM, once; what does not heed it is killed, with all that it started."""
        task_id, _ = self.started("trap 'echo te''rm' TERM; setsid sleep 1000 & echo $!; "
                                  "while :; do sleep 0.1; done")
        wait_for(lambda: self.shown(task_id).count(b"\n"), "a line", 20)
        pid = int([word for word in self.shown(task_id).split() if word.isdigit()][-1])
        self.scheduler.kill(task_id)
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        self.assertEqual(self.shown(task_id).count(b"term\r\n"), 1)
        wait_for(lambda: not harness.processes.alive(pid), "the daemon in it ends", 20)
        wait_for(lambda: not self.files(), "nothing of it is kept", 20)

    def test_who_does_not_read_is_left_behind(self):
        """It holds the task up for a while, and no longer; others get all."""
        task_id, container_id = self.started("read x; head -c 40000000 /dev/zero | tr '\\0' x; "
                                             "echo end; read x")
        silent, answer = self.post(
            {"type": "ATTACH_CONTAINER_OUTPUT",
             "attach_container_output": {"container_id": container_id}},
            {"Accept": "application/json"})
        self.assertEqual(answer.status, 200)
        self.put_text(self.attach(container_id), b"\n")
        wait_for(lambda: b"end" in self.shown(task_id)[-20:], "all is shown in the sandbox", 60)
        silent.close()
        output = self.listen(container_id)
        self.put_text(self.attach(container_id), b"\n")
        output.wait_over()
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")

    def test_much_input(self):
        """More than a terminal takes at once, for a program that reads late."""
        task_id, container_id = self.started(
            "stty raw -echo; echo ready; until [ -e go ]; do sleep 0.02; done; "
            "head -c 3000000 | cksum")
        self.wait_shown(task_id, b"ready")
        connection = self.attach(container_id)
        piece = os.urandom(50000)
        for number in range(60):
            self.put_text(connection, piece)
            if number == 3:
                with open(self.agent.sandbox(self.scheduler.id, task_id) + "/go", "w",
                          encoding="ascii"):
                    pass
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        expected = subprocess.run(["cksum"], input=60 * piece, capture_output=True, check=True)
        self.assertIn(expected.stdout.strip(), self.shown(task_id))
        connection.close()

    def test_without_a_terminal(self):
        _, container_id = self.started("sleep 1000", container={"type": "MESOS"})
        status, _, _ = harness.request(
            self.agent.address, "POST", "/api/v1", json.dumps({
                "type": "ATTACH_CONTAINER_OUTPUT",
                "attach_container_output": {"container_id": container_id}}),
            {"Content-Type": "application/json", "Accept": "application/json"})
        self.assertEqual(status, 404)
        self.assertEqual(self.attach(container_id).getresponse().status, 404)


class InRooms(Base):
    agent_flags = {"isolation": "filesystem/linux,namespaces/pid,namespaces/ipc",
                   "executor_shutdown_grace_period": "3secs", "recovery_timeout": "1mins"}

    def setUp(self):
        why = test_rooms.usable()
        if why:
            self.skipTest("no namespaces: " + why)
        super().setUp()

    def test_a_shell(self):
        self.try_one(*self.started("sh"))

    def test_of_another_user(self):
        task_id, container_id = self.started(
            {"shell": True, "value": "id -un; : > /dev/tty && echo o''pen; sh", "user": "nobody"})
        self.wait_shown(task_id, b"nobody\r\nopen\r\n")
        self.try_one(task_id, container_id)

    def test_it_outlives_the_agent(self):
        task_id, container_id = self.started("sh")
        self.agent.kill()
        self.agent.start().wait_registered()
        self.try_one(task_id, container_id)


class FromTheCommandLine(Base):
    agent_flags = {"recovery_timeout": "1mins"}

    def argv(self, *arguments):
        return ["attach", "--master=%s:%d" % self.master.address] + list(arguments)

    def at_terminal(self, *arguments):
        return AtTerminal(self, [harness.MESITA] + self.argv(*arguments))

    def test_attach_detach_and_attach(self):
        task_id, _ = self.started("sh")
        terminal = self.at_terminal(task_id)
        terminal.type(b"stty size; a=1\n")
        terminal.wait(b"30 90\r\n")
        terminal.type(b"\x10")
        terminal.type(b"\x11")
        terminal.wait(b"which goes on")
        self.assertEqual(terminal.process.wait(20), 0)
        terminal = self.at_terminal(task_id)
        terminal.type(b"echo kept $a | od -c; echo '\x10' | od -c\n")
        terminal.wait(b"1  \\n")
        terminal.wait(b"020  \\n")
        terminal.type(b"exit 4\n")
        terminal.wait(b"TASK_FAILED")
        self.assertEqual(terminal.process.wait(20), 1)

    def test_run_and_attach(self):
        self.scheduler.teardown()  # it holds what there is
        address = "--master=%s:%d" % self.master.address
        run = harness.processes.spawn(
            [harness.MESITA, "run", address, "--tty", "--name=it", "sh", "-c",
             "tty; read x; echo got $x"],
            env=harness.clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(run.stdout.close)
        task_id = wait_for(lambda: [
            each["id"] for each in self.master.json("/tasks")["tasks"]
            if each["name"].startswith("it") and each["state"] == "TASK_RUNNING"], "it runs")[0]
        terminal = self.at_terminal(task_id)
        terminal.type(b"\n")
        terminal.wait(b"got")
        self.assertEqual(terminal.process.wait(20), 0)
        self.assertEqual(run.wait(20), 0)

    def test_piped(self):
        task_id, _ = self.started("read x; echo got $x; exit 1")
        status, output, errors = harness.run(self.argv(task_id), input="hello\n")
        self.assertEqual((status, "got hello" in output), (1, True))
        self.assertIn("TASK_FAILED", errors)
        task_id, _ = self.started("sleep 1000", container={"type": "MESOS"})
        status, _, errors = harness.run(self.argv(task_id))
        self.assertEqual(status, 125)
        self.assertIn("mesita run --tty", errors)
        self.assertEqual(harness.run(self.argv("nosuch"))[0], 125)
        self.assertEqual(harness.run(self.argv())[0], 125)
