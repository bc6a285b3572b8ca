"""Streams of containers by the agent's operator API: what its clients send and get."""

import base64
import json
import threading

import connections
import harness
from harness import wait_for
from processes import SCALE

RECORDS = "application/recordio"
JSON = "application/json"


def record(message):
    data = json.dumps(message).encode()
    return b"%d\n%s" % (len(data), data)


class Output(threading.Thread):
    """Reads the records of an answer; what came is in `text` by type."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer = answer
        self.text = {"STDOUT": b"", "STDERR": b""}
        self.over = False
        self.start()

    def run(self):
        try:
            while True:
                head = b""
                while not head.endswith(b"\n"):
                    byte = self.answer.read(1)
                    if not byte:
                        return
                    head += byte
                message = json.loads(self.answer.read(int(head)))
                if message["type"] == "DATA":
                    self.text[message["data"]["type"]] += base64.b64decode(message["data"]["data"])
        except (OSError, ValueError, connections.http.client.HTTPException):
            pass
        finally:
            self.over = True

    def wait(self, text, kind="STDOUT"):
        wait_for(lambda: text in self.text[kind], "%r in the output %r" % (text, self.text), 20)

    def wait_over(self):
        wait_for(lambda: self.over, "the output ends", 20)


class Client:
    """Of a test case with an agent; `open` is what is to be closed with it."""

    def setUp(self):
        super().setUp()
        self.open = []

    def tearDown(self):
        for connection in self.open:
            connection.close()
        super().tearDown()

    def post(self, call, headers):
        connection = connections.connect(self.agent.address, 30 * SCALE)
        self.open.append(connection)
        connection.request("POST", "/api/v1", json.dumps(call), {"Content-Type": JSON, **headers})
        return connection, connection.getresponse()

    def listen(self, container_id):
        """Its output from now on."""
        _, answer = self.post({"type": "ATTACH_CONTAINER_OUTPUT", "attach_container_output": {
            "container_id": container_id}}, {"Accept": RECORDS, "Message-Accept": JSON})
        self.assertEqual(answer.status, 200)
        return Output(answer)

    def attach(self, container_id):
        """A connection that takes input, its head and first record sent."""
        connection = connections.connect(self.agent.address, 30 * SCALE)
        self.open.append(connection)
        connection.putrequest("POST", "/api/v1")
        for header in [("Content-Type", RECORDS), ("Message-Content-Type", JSON),
                       ("Transfer-Encoding", "chunked")]:
            connection.putheader(*header)
        connection.endheaders()
        self.put(connection, {"type": "CONTAINER_ID", "container_id": container_id})
        return connection

    def put(self, connection, attach):
        data = record({"type": "ATTACH_CONTAINER_INPUT", "attach_container_input": attach})
        connection.send(b"%x\r\n%s\r\n" % (len(data), data))

    def put_text(self, connection, text):
        self.put(connection, {"type": "PROCESS_IO", "process_io": {"type": "DATA", "data": {
            "type": "STDIN", "data": base64.b64encode(text).decode()}}})

    def call(self, kind, container_id, **fields):
        status, _, body = harness.request(
            self.agent.address, "POST", "/api/v1",
            json.dumps({"type": kind, kind.lower(): {"container_id": container_id, **fields}}),
            {"Content-Type": JSON, "Accept": JSON})
        return status, body

    def resize(self, connection, rows, columns):
        self.put(connection, {"type": "PROCESS_IO", "process_io": {
            "type": "CONTROL", "control": {"type": "TTY_INFO", "tty_info": {
                "window_size": {"rows": rows, "columns": columns}}}}})
