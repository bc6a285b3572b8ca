"""Clients that mean harm or are broken: bounded memory, and everybody else is served."""

import json
import os
import socket
import threading

import harness
from harness import get, wait_for
from scheduler import PATH

MEGABYTE = 1 << 20
# A body may be 64 MB, and the buffer it grows in twice that.
BOUND = 150 * MEGABYTE


def resident(process):
    with open("/proc/%d/statm" % process.pid, encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Hostile(harness.TestCase):
    def connect(self, daemon, timeout=20):
        connection = socket.create_connection(daemon.address, timeout)
        self.addCleanup(connection.close)
        return connection

    def served(self):
        """A job runs through while the others misbehave."""
        scheduler = self.subscribe()
        status = scheduler.wait_terminal(scheduler.run("exit 0"))
        self.assertEqual(status["state"], "TASK_FINISHED")
        scheduler.teardown()

    def send_until_closed(self, connection, piece, limit):
        """Sends a piece again and again; true if the other side ended it before the limit."""
        sent = 0
        try:
            while sent < limit:
                connection.sendall(piece)
                sent += len(piece)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
            return not answer or b" 4" in answer.split(b"\r\n")[0][:20]
        except (BrokenPipeError, ConnectionResetError):
            return True

    def check(self, daemon, head, piece, limit=64 * MEGABYTE):
        before = resident(daemon.process)
        connection = self.connect(daemon)
        connection.sendall(head)
        self.assertTrue(self.send_until_closed(connection, piece, limit))
        self.assertLess(resident(daemon.process) - before, BOUND)
        self.assertEqual(get(daemon.address, "/health")[0], 200)

    def test_endless_header(self):
        for daemon in (self.master, self.agent):
            self.check(daemon, b"GET /state HTTP/1.1\r\n", b"X-Filler: " + b"x" * 990 + b"\r\n")
        self.served()

    def test_endless_header_line(self):
        for daemon in (self.master, self.agent):
            self.check(daemon, b"GET /state HTTP/1.1\r\nX-Filler: ", b"x" * 4096)
        self.served()

    def test_endless_path(self):
        for daemon in (self.master, self.agent):
            self.check(daemon, b"GET /", b"x" * 4096)
        self.served()

    def test_endless_body(self):
        head = (b"POST %s HTTP/1.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100000000000\r\n\r\n" % PATH.encode())
        self.check(self.master, head, b" " * 65536, 512 * MEGABYTE)
        self.served()

    def test_endless_chunks(self):
        head = (b"POST %s HTTP/1.1\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n" % PATH.encode())
        self.check(self.master, head, b"10000\r\n" + b" " * 65536 + b"\r\n", 512 * MEGABYTE)
        self.served()

    def test_no_http_at_all(self):
        for daemon in (self.master, self.agent):
            for rubbish in (b"\x00" * 100, b"\xff\xfe\r\n\r\n", b"SSH-2.0-OpenSSH\r\n",
                            b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000):
                connection = self.connect(daemon)
                connection.sendall(rubbish)
                connection.shutdown(socket.SHUT_WR)
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
            self.assertEqual(get(daemon.address, "/health")[0], 200)
        self.served()

    def test_one_byte_at_a_time(self):
        """Slow senders hold a connection, not the server."""
        request = (b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   b"Content-Length: 2\r\n\r\n{}" % PATH.encode())
        slow = [self.connect(self.master) for _ in range(20)]
        over = threading.Event()
        self.addCleanup(over.set)

        def drip():
            for byte in request[:-1]:
                for connection in slow:
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return
                if over.wait(0.01):
                    return
        threading.Thread(target=drip, daemon=True).start()
        self.served()
        over.set()

    def test_request_in_single_bytes_is_answered(self):
        connection = self.connect(self.master)
        for byte in b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n":
            connection.sendall(bytes([byte]))
        self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200"))

    def test_client_that_never_reads(self):
        """A big answer waits in bounded memory for somebody who does not take it."""
        before = resident(self.master.process)
        for _ in range(4):
            connection = self.connect(self.master)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(0.2)
            try:
                for _ in range(5000):
                    connection.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
            except (OSError, TimeoutError):
                pass
        self.served()
        self.assertLess(resident(self.master.process) - before, BOUND)

    def test_scheduler_that_never_reads(self):
        connection = self.connect(self.master)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps({"type": "SUBSCRIBE", "subscribe": {"framework_info": {
            "user": "root", "name": "deaf", "roles": ["deaf"],
            "capabilities": [{"type": "MULTI_ROLE"}]}}}).encode()
        connection.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (PATH.encode(), len(body), body))
        wait_for(lambda: [f for f in self.master.state()["frameworks"] if f["name"] == "deaf"],
                 "the framework")
        # It holds all there is; when it goes, all of that is offered to others.
        connection.close()
        self.served()

    def test_answer_half_taken(self):
        for _ in range(50):
            connection = socket.create_connection(self.master.address, 10)
            connection.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.close()
        self.served()

    def test_bad_calls_get_exact_answers(self):
        scheduler = self.subscribe()
        for body, content_type, status, words in (
                (b"{", "application/json", 400, "JSON"),
                (b"[]", "application/json", 400, ""),
                (b"{}", "application/json", 400, "type"),
                (b'{"type":"NO_SUCH_CALL"}', "application/json", 400, "type"),
                (b"\xff\xff\xff", "application/x-protobuf", 400, ""),
                (b"{}", "text/plain", 415, "application/json")):
            connection = harness.http.client.HTTPConnection(*self.master.address, timeout=10)
            connection.request("POST", PATH, body, {
                "Content-Type": content_type, "Accept": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            connection.close()
            self.assertEqual(answer.status, status, (body, text))
            self.assertIn(words, text)
        status, text = scheduler.post({"type": "ACCEPT", "framework_id": {"value": scheduler.id}})
        self.assertEqual(status, 400)
        self.assertIn("accept", text.lower())
        scheduler.teardown()
        self.served()
