"""Sessions: debug containers that a client of the operator API talks with."""

import json
import os
import uuid

import harness
from harness import wait_for
from process_io import JSON, RECORDS, Client, Output, record
from test_groups import sleepers


class Sessions(Client, harness.TestCase):
    agent_flags = {"recovery_timeout": "1mins"}

    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(checkpoint=True, failover_timeout=1000)
        self.task = self.scheduler.run("sleep 1000")
        status = self.scheduler.wait_state(self.task, "TASK_RUNNING")
        self.parent = status["container_status"]["container_id"]

    def begin(self, command, **fields):
        """(container id, connection, output)"""
        container_id = {"value": str(uuid.uuid4()), "parent": self.parent}
        connection, answer = self.post({
            "type": "LAUNCH_NESTED_CONTAINER_SESSION", "launch_nested_container_session": {
                "container_id": container_id, "command": {"value": command}, **fields}},
            {"Accept": RECORDS, "Message-Accept": JSON})
        self.assertEqual(answer.status, 200)
        self.assertEqual((answer.headers["Content-Type"], answer.headers["Message-Content-Type"]),
                         (RECORDS, JSON))
        return container_id, connection, Output(answer)

    def exit_status(self, container_id):
        status, body = self.call("WAIT_CONTAINER", container_id)
        self.assertEqual(status, 200, body)
        return json.loads(body)["wait_container"]["exit_status"]

    def test_output_and_end(self):
        container_id, _, output = self.begin(
            "pwd; echo $MESOS_TASK_ID$MESOS_EXECUTOR_ID; echo wrong >&2; exit 3")
        output.wait_over()
        lines = output.text["STDOUT"].decode().split()
        self.assertEqual(os.path.realpath(lines[0]),
                         os.path.realpath(self.agent.sandbox(self.scheduler.id, self.task)))
        self.assertEqual(lines[1], self.task)
        self.assertEqual(output.text["STDERR"], b"wrong\n")
        self.assertEqual(self.exit_status(container_id), 3 << 8)
        self.assertEqual(self.call("REMOVE_CONTAINER", container_id)[0], 200)
        self.assertTrue(os.path.isdir(self.agent.sandbox(self.scheduler.id, self.task)))
        self.assertEqual(self.call("WAIT_CONTAINER", container_id)[0], 404)

    def test_input(self):
        container_id, _, output = self.begin("echo ready; sort")
        output.wait(b"ready")
        connection = self.attach(container_id)
        self.put_text(connection, b"b\na")
        self.put_text(connection, b"\n")
        self.put_text(connection, b"")
        connection.send(b"0\r\n\r\n")
        self.assertEqual(connection.getresponse().status, 200)
        output.wait_over()
        self.assertEqual(output.text["STDOUT"], b"ready\na\nb\n")
        self.assertEqual(self.exit_status(container_id), 0)

    def test_much_both_ways(self):
        """More than any buffer holds, through a container that reads late."""
        container_id, _, output = self.begin(
            "echo ready; until [ -e go ]; do sleep 0.02; done; cat | cat")
        output.wait(b"ready\n")
        connection = self.attach(container_id)
        piece = os.urandom(49999)
        for number in range(100):
            self.put_text(connection, piece)
            if number == 4:  # more than its pipe holds
                with open(self.agent.sandbox(self.scheduler.id, self.task) + "/go", "w",
                          encoding="ascii"):
                    pass
        self.put_text(connection, b"")
        connection.send(b"0\r\n\r\n")
        self.assertEqual(connection.getresponse().status, 200)
        output.wait_over()
        self.assertEqual(output.text["STDOUT"], b"ready\n" + 100 * piece)

    def test_a_client_that_does_not_read_stops_the_container_alone(self):
        container_id = {"value": str(uuid.uuid4()), "parent": self.parent}
        connection, answer = self.post({
            "type": "LAUNCH_NESTED_CONTAINER_SESSION", "launch_nested_container_session": {
                "container_id": container_id,
                "command": {"value": "i=0; while :; do i=$((i + 1)); echo $i > count; "
                                     "head -c 100000 /dev/zero; done"}}},
            {"Accept": RECORDS, "Message-Accept": JSON})
        self.assertEqual(answer.status, 200)
        path = self.agent.sandbox(self.scheduler.id, self.task) + "/count"

        def count():
            with open(path, encoding="ascii") as file:
                return file.read()
        wait_for(lambda: os.path.exists(path) and count(), "it runs")
        seen = []

        def stands():
            seen.append(count())
            return len(seen) > 20 and len(set(seen[-20:])) == 1
        wait_for(stands, "it waits for the client", 20)
        self.assertLess(int(seen[-1]), 1000)
        self.assertEqual(harness.get(self.agent.address, "/health")[0], 200)
        connection.close()
        self.assertEqual(self.exit_status(container_id), 9)

    def test_the_client_leaves(self):
        container_id, connection, output = self.begin("echo $$; setsid sleep 1000; echo never")
        output.wait(b"\n")
        pid = int(output.text["STDOUT"])
        connection.sock.shutdown(2)
        self.assertEqual(self.exit_status(container_id), 9)
        wait_for(lambda: not harness.processes.alive(pid), "its process ends", 20)

    def test_the_agent_is_killed(self):
        _, _, output = self.begin("trap '' TERM; (setsid sleep 1000 & echo $!; exec sleep 1000)")
        output.wait(b"\n")
        pid = int(output.text["STDOUT"])
        self.agent.kill()
        wait_for(lambda: not harness.processes.alive(pid), "the daemon in it ends", 20)
        self.agent.start().wait_registered()
        self.assertEqual(self.scheduler.states(self.task)[-1], "TASK_RUNNING")

    def test_a_terminal(self):
        container_id, _, output = self.begin(
            "tty; stty size; read x; stty size; echo got $x; exec sleep 4714",
            container={"type": "MESOS", "tty_info": {"window_size": {"rows": 24, "columns": 81}}})
        output.wait(b"/dev/pts/")
        output.wait(b"24 81\r\n")
        connection = self.attach(container_id)
        self.resize(connection, 30, 100)
        self.put_text(connection, b"hello\n")
        output.wait(b"30 100\r\n")
        output.wait(b"got hello\r\n")
        # A shell that is about to start it takes the interrupt for itself, and goes on.
        wait_for(lambda: sleepers("4714", self.agent.work_dir), "what is interrupted runs", 20)
        self.put_text(connection, b"\x03")
        output.wait_over()
        self.assertEqual(self.exit_status(container_id), 2)

    def test_others_listen(self):
        container_id, _, output = self.begin("echo ready; read x; echo heard $x")
        output.wait(b"ready")
        other = self.listen(container_id)
        connection = self.attach(container_id)
        self.put_text(connection, b"it\n")
        for listener in [output, other]:
            listener.wait(b"heard it\n")
            listener.wait_over()
        # It is over: what still comes is answered.
        self.put_text(connection, b"more\n")
        connection.send(b"0\r\n\r\n")
        self.assertEqual(connection.getresponse().status, 200)

    def test_what_is_refused(self):
        nobody = {"value": "nobody", "parent": self.parent}
        self.assertEqual(self.call("ATTACH_CONTAINER_OUTPUT", nobody)[0], 404)
        self.assertEqual(self.call("ATTACH_CONTAINER_INPUT", nobody)[0], 415)
        connection = self.attach(nobody)
        self.assertEqual(connection.getresponse().status, 404)
        for body in [b"5\nhello", b"x", record({"type": "GET_HEALTH"}),
                     record({"type": "ATTACH_CONTAINER_INPUT"}),
                     record({"type": "ATTACH_CONTAINER_INPUT", "attach_container_input": {
                         "type": "PROCESS_IO"}})]:
            status, _, _ = harness.request(
                self.agent.address, "POST", "/api/v1", body,
                {"Content-Type": RECORDS, "Message-Content-Type": JSON})
            self.assertEqual(status, 400, body)
        for headers, expected in [({}, 400), ({"Message-Content-Type": "text/plain"}, 415)]:
            status, _, _ = harness.request(self.agent.address, "POST", "/api/v1", b"",
                                           {"Content-Type": RECORDS, **headers})
            self.assertEqual(status, expected)
