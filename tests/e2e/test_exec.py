"""`mesita exec`: a program inside of a task, with our input, output and terminal."""

import http.server
import json
import os
import select
import signal
import subprocess
import termios
import threading
import unittest
import uuid

import connections
import harness
from at_terminal import AtTerminal
from harness import wait_for
from scheduler import task
from test_groups import default_executor


class Exec(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def started(self, command="sleep 1000", **options):
        task_id = self.scheduler.run(command, **options)
        self.scheduler.wait_state(task_id, "TASK_RUNNING")
        return task_id

    def argv(self, *arguments):
        return ["exec", "--master=%s:%d" % self.master.address] + list(arguments)

    def execute(self, *arguments, **options):
        """(exit status, output, errors)"""
        return harness.run(self.argv(*arguments), **options)

    def spawn(self, *arguments, **options):
        process = harness.processes.spawn([harness.MESITA] + self.argv(*arguments),
                                          env=harness.clean_environment(), **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def containers(self):
        """How many there are inside of executors' own."""
        connection = connections.connect(self.agent.address, 20)
        connection.request("POST", "/api/v1", json.dumps(
            {"type": "GET_CONTAINERS", "get_containers": {"show_nested": True}}),
            {"Content-Type": "application/json", "Accept": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return sum("parent" in c["container_id"]
                   for c in answer["get_containers"].get("containers", []))

    # -- what it does

    def test_output_and_status(self):
        task_id = self.started()
        sandbox = os.path.realpath(self.agent.sandbox(self.scheduler.id, task_id))
        self.assertEqual(self.execute(task_id, "pwd"), (0, sandbox + "\n", ""))
        self.assertEqual(self.execute(task_id, "sh", "-c", "echo out; echo err >&2; exit 7"),
                         (7, "out\n", "err\n"))
        self.assertEqual(self.execute(task_id, "printf", "%s|", "a b", "", "-c", "--x=1")[1],
                         "a b||-c|--x=1|")
        self.assertEqual(self.execute(task_id, "sh", "-c", "kill -9 $$")[0], 137)
        self.assertIn("nosuch", self.execute(task_id, "nosuch")[2])
        wait_for(lambda: not self.containers(), "nothing of them is kept", 20)

    def test_inside_of_a_groups_task(self):
        offer = self.scheduler.offer(cpus=0.3)
        info = task(offer, "echo here > mark; sleep 1000")
        self.scheduler.launch_group(offer, default_executor(), [info])
        self.scheduler.wait_state(info["task_id"]["value"], "TASK_RUNNING")
        wait_for(lambda: self.execute(info["task_id"]["value"], "cat", "mark")[1] == "here\n",
                 "the task's own directory", 20)

    def test_input(self):
        task_id = self.started()
        self.assertEqual(self.execute(task_id, "cat", input="not for it")[:2], (0, ""))
        self.assertEqual(self.execute("-i", task_id, "tr", "a-z", "A-Z", input="abc\n")[:2],
                         (0, "ABC\n"))
        data = os.urandom(3 << 20).hex()
        self.assertEqual(self.execute("--interactive", task_id, "cat", input=data)[:2], (0, data))
        path = os.path.join(self.temporary(), "data")
        with open(path, "w", encoding="ascii") as file:
            file.write(data)
        with open(path, encoding="ascii") as file:
            self.assertEqual(self.execute("-i", task_id, "cat", stdin=file)[:2], (0, data))
        # It need not read all of it.
        self.assertEqual(self.execute("-i", task_id, "head", "-c", "3", input=data)[:2],
                         (0, data[:3]))

    def test_what_is_not_read_is_not_taken(self):
        """Input for a program that does not read: neither we nor the agent hold more and more."""
        task_id = self.started()
        process = self.spawn("-i", task_id, "sh", "-c", "read line; sleep 1000",
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        taken = 0
        while select.select([], [process.stdin], [], 1)[1]:
            taken += os.write(process.stdin.fileno(), b"x\n" * 2048)
            self.assertLess(taken, 32 << 20)

    def test_terminal(self):
        task_id = self.started()
        terminal = AtTerminal(self, [harness.MESITA] + self.argv("-it", task_id, "sh"))
        terminal.type(b"echo size `stty size`; tty\n")
        terminal.wait(b"size 30 90\r\n/dev/pts/")
        terminal.resize(40, 132)
        terminal.process.send_signal(signal.SIGWINCH)
        wait_for(lambda: terminal.type(b"stty size\n") and terminal.saw(b"40 132"),
                 "its new size", 20)
        terminal.type(b"sh -c 'trap \"echo c\"\"aught; exit\" INT; echo rea\"\"dy; "
                      b"while :; do sleep 0.1; done'\n")
        terminal.wait(b"ready")
        terminal.type(b"\x03")
        terminal.wait(b"caught")
        terminal.type(b"exit 5\n")
        self.assertEqual(terminal.process.wait(20), 5)
        self.assertEqual(termios.tcgetattr(terminal.theirs), terminal.settings_before)

    def test_it_ends_with_us(self):
        task_id = self.started()
        path = os.path.join(self.temporary(), "pid")
        os.chmod(os.path.dirname(path), 0o777)
        process = self.spawn(task_id, "sh", "-c", "echo $$ > %s.new; mv %s.new %s; sleep 1000" % (
            path, path, path), stdout=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(path), "the program says its pid", 20)
        with open(path, encoding="ascii") as file:
            pid = int(file.read())
        process.terminate()
        process.wait(20)
        wait_for(lambda: not harness.processes.alive(pid), "the program ends", 20)

    # -- what it cannot do

    def test_no_task(self):
        task_id = self.started()
        self.assertEqual(self.execute(task_id)[0], 125)
        status, _, errors = self.execute("task-" + str(uuid.uuid4()), "true")
        self.assertEqual(status, 125)
        self.assertIn("the master knows no task", errors)
        self.scheduler.kill(task_id)
        self.scheduler.wait_terminal(task_id)
        status, _, errors = self.execute(task_id, "true")
        self.assertEqual(status, 125)
        self.assertIn("is over (TASK_KILLED)", errors)
        self.assertEqual(self.execute("--help")[0], 0)

    def test_the_agent_dies(self):
        task_id = self.started()
        process = self.spawn(task_id, "sh", "-c", "echo up; sleep 1000", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.agent.kill()
        self.assertEqual(process.wait(30), 125)
        self.assertIn(b"The agent does not know how the command ended", process.stderr.read())


class EndedAlready(http.server.BaseHTTPRequestHandler):
    """A master and its agent in one, whose commands end before their input is attached."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        container = {"container_status": {"container_id": {"value": "c"}}}
        self.say(200, json.dumps({
            "tasks": [{"slave_id": "S0", "state": "TASK_RUNNING", "statuses": [container]}],
            "slaves": [{"pid": "slave(1)@127.0.0.1:%d" % self.server.server_address[1]}],
        }).encode())

    def do_POST(self):
        if self.headers["Content-Type"] == "application/recordio":
            self.close_connection = True
            self.say(404, b"Container c.x cannot be found")
            self.server.refused.set()
            return
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Accept"] == "application/recordio":
            self.send_response(200)
            self.send_header("Content-Type", "application/recordio")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()
            self.server.refused.wait(20)
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.say(200, b"\x82\x01\x03\x08\x80\x0e")  # wait_container.exit_status: 7 << 8

    def say(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Races(unittest.TestCase):
    def test_it_ends_before_its_input_is_attached(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), EndedAlready)
        server.daemon_threads = True
        server.refused = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.assertEqual(harness.run(["exec", "--master=127.0.0.1:%d" % server.server_address[1],
                                      "task", "true"]), (7, "", ""))
