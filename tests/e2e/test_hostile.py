"""Clients that mean harm or are broken: bounded memory, and everybody else is served."""

import http.client
import json
import os
import socket
import struct
import threading

import harness
from harness import get, wait_for
from scheduler import PATH

MEGABYTE = 1 << 20
# A body may be 64 MB, and the buffer it grows in twice that.
# ThreadSanitizer keeps a shadow of all memory (`make tsan`); nobody else gets more.
BOUND = 150 * MEGABYTE * int(os.environ.get("MEMORY_SCALE", "1"))


def resident(process):
    with open("/proc/%d/statm" % process.pid, encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a protobuf message: text, bytes, a natural number or a double."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def scalar(name, value):
    return field(1, name) + field(2, 0) + field(3, field(1, value))


def ranges(name, *pairs):
    return field(1, name) + field(2, 1) + field(4, b"".join(
        field(1, field(1, begin) + field(2, end)) for begin, end in pairs))


def items(name, texts):
    return field(1, name) + field(2, 2) + field(5, b"".join(field(1, text) for text in texts))


def registration(resources):
    """A RegisterSlaveMessage."""
    agent = field(1, "nowhere") + b"".join(field(3, resource) for resource in resources)
    return field(1, agent) + field(2, "1.12.0")


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
            connection = http.client.HTTPConnection(*self.master.address, timeout=10)
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

    def post(self, path, body, content_type="application/json"):
        """(status, text)"""
        connection = http.client.HTTPConnection(*self.master.address, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", path, body, {
            "Content-Type": content_type, "Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")

    def test_bodies_of_too_many_values(self):
        """Small ones by the million: refused before they take the time and memory of all."""
        before = resident(self.master.process)
        scheduler = self.subscribe()
        many, limit = 1000001, "More than 1000000 values"
        call = b'{"type":"RECONCILE","framework_id":{"value":"%s"},"reconcile":{"tasks":[%s]}}'
        asked = b'{"task_id":{"value":"t"}}'
        for body in (call % (scheduler.id.encode(), b",".join([asked] * (many // 3))),
                     b"[" + b"1," * many + b"1]", b"[" + b"[]," * many + b"[]]"):
            self.assertEqual(self.post(PATH, body),
                             (400, "Failed to parse body into JSON: " + limit))
        asked = field(1, field(1, field(1, "t")))
        body = field(2, 9) + field(1, field(1, scheduler.id)) + field(9, asked * (many // 3))
        self.assertEqual(self.post(PATH, body, "application/x-protobuf"),
                         (400, "Failed to parse body into Call protobuf: " + limit))
        status, text = self.post("/quota", b"[" + b"1," * many + b"1]")
        self.assertEqual(status, 400)
        self.assertTrue(text.endswith(limit))
        self.send_message(self.master, "ReconcileTasksMessage",
                          field(1, field(1, "f")) + field(2, field(1, field(1, "t")) +
                                                          field(2, 6)) * (many // 3),
                          "scheduler@127.0.0.1:1")
        self.assertLess(resident(self.master.process) - before, BOUND)
        scheduler.teardown()
        self.served()

    def test_chunks_of_one_byte(self):
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"type":"GET_HEALTH"}')
        head = (b"POST /api/v1 HTTP/1.1\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n")
        for blanks in (0, 1000000):
            connection = self.connect(self.master, 60)
            connection.sendall(head + b"1\r\n \r\n" * blanks + chunks + b"0\r\n\r\n")
            self.assertIn(b" 200 ", connection.recv(4096).split(b"\r\n")[0])

    def test_nesting(self):
        """Deep ones need no stack."""
        for body, content_type in (
                (b"[" * 1000000, "application/json"), (b"[" * 150 + b"]" * 150, "application/json"),
                (b'{"type":' * 1000000, "application/json"),
                (b"\x0b" * 1000000, "application/x-protobuf")):
            self.assertEqual(self.post(PATH, body, content_type)[0], 400)
            self.assertEqual(self.post("/api/v1", body, content_type)[0], 400)
        self.served()

    def test_paths_that_lead_elsewhere(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/state%00", "//state",
                     "/master//state", "/files/read?path=/etc/passwd",
                     "/files/read?path=../../../etc/passwd",
                     "/files/download?path=/master/log/../../etc/passwd", "/%zz"):
            self.assertEqual(get(self.master.address, path)[0], 404, path)
        self.assertEqual(get(self.master.address, "/tasks?task_id=%ff%00")[0], 400)

    def message(self, daemon, name, body, sender="stranger@127.0.0.1:1"):
        actor = "master" if daemon is self.master else "slave(1)"
        return (b"POST /%s/mesos.internal.%s HTTP/1.1\r\nLibprocess-From: %s\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (
                    actor.encode(), name.encode(), sender.encode(), len(body), body))

    def send_message(self, daemon, name, body, sender):
        connection = self.connect(daemon, 60)
        connection.sendall(self.message(daemon, name, body, sender))
        self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 202"))
        connection.close()

    def test_agents_with_absurd_resources(self):
        absurd = (
            [scalar("cpus", value)] for value in (
                -1.0, 0.0, 1e300, 1e-300, float("inf"), float("nan"), 9e12))
        more = (
            [scalar("cpus", 9e12)] * 1500,
            [ranges("ports", (0, 2 ** 64 - 1))],
            [ranges("ports", (0, 0), (2 ** 64 - 1, 2 ** 64 - 1))],
            [ranges("ports", (5, 1))],
            [ranges("ports", *((3 * i, 3 * i + 1) for i in range(90000)))],
            [ranges("ports", *((3 * i, 3 * i + 1) for i in range(300000)))],
            [items("zones", ["z%d" % i for i in range(90000)])],
            [items("zones", ["z"] * 90000)],
            [scalar("r%d" % i, 1.0) for i in range(3000)],
            [scalar("x" * 100000, 1.0)])
        for number, resources in enumerate(list(absurd) + list(more)):
            self.send_message(self.master, "RegisterSlaveMessage", registration(resources),
                              "slave(%d)@127.0.0.1:1" % number)
            for path in ("/state", "/slaves", "/roles", "/state-summary", "/metrics/snapshot"):
                status, _, body = get(self.master.address, path, 60)
                self.assertEqual(status, 200)
                json.loads(body)
        ours = [agent["id"] for agent in self.master.json("/slaves")["slaves"]
                if agent["port"] == self.agent.address[1]]
        self.assertEqual(len(ours), 1)

    def test_drivers_that_lie(self):
        """What is no message, and what says it comes from somebody else's framework."""
        scheduler = self.subscribe()
        owner = b"\x0a" + bytes([2 + len(scheduler.id)]) + \
            b"\x0a" + bytes([len(scheduler.id)]) + scheduler.id.encode()
        for name in ("RegisterFramework", "ReregisterFramework", "UnregisterFramework",
                     "DeactivateFramework", "LaunchTasks", "ReviveOffers", "KillTask",
                     "ResourceRequest", "ReconcileTasks", "StatusUpdateAcknowledgement",
                     "FrameworkToExecutor"):
            for body in (b"", b"\xff" * 100, owner, owner * 1000, b"\x0a\xff\xff\xff\xff\x0f"):
                for sender in ("scheduler(1)@127.0.0.1:1", "@0.0.0.0:0", "x", "a@b@c:1"):
                    self.send_message(self.master, name + "Message", body, sender)
        frameworks = self.master.state()["frameworks"]
        self.assertEqual([(f["id"], f["active"]) for f in frameworks], [(scheduler.id, True)])
        scheduler.teardown()
        self.served()

    def test_summary_with_tasks(self):
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("exit 0"))
        for _ in range(3):
            summary = self.master.json("/state-summary")
            self.assertEqual(summary["slaves"][0]["TASK_FINISHED"], 1)
            self.assertEqual(summary["slaves"][0]["framework_ids"], [scheduler.id])
        scheduler.teardown()

    def test_frameworks_with_absurd_names(self):
        for info in ({"name": "n" * 3000000}, {"name": "\x01\n"}, {"principal": "p" * 100000},
                     {"roles": ["r%d" % i for i in range(4000)]},
                     {"roles": ["r%d" % i for i in range(100000)]},
                     {"roles": ["a/" * 60 + "b"]}, {"roles": ["a/" * 100000 + "b"]},
                     {"roles": ["r" * 1000000]}, {"failover_timeout": 1e300}):
            info = dict({"user": "root", "name": "x", "roles": ["x"],
                         "capabilities": [{"type": "MULTI_ROLE"}]}, **info)
            body = json.dumps({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}).encode()
            connection = self.connect(self.master, 60)
            connection.sendall(
                b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (PATH.encode(), len(body), body))
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200"))
            for path in ("/state", "/roles", "/state-summary", "/metrics/snapshot"):
                status, _, body = get(self.master.address, path, 60)
                self.assertEqual(status, 200)
                json.loads(body)
            connection.close()
        self.served()

    def test_forged_pings_cut_no_link(self):
        """Anybody can say that he is the master. A task that does not outlive a link shows it."""
        scheduler = self.subscribe(checkpoint=False)
        task_id = scheduler.run("exec sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        sender = "master@%s:%d" % self.master.address
        again = self.master.metric("master/slave_reregistrations")
        for connected in (1, 0):
            connection = self.connect(self.agent, 60)
            body = field(1, connected)
            connection.sendall(
                b"POST /slave(1)/mesos.internal.PingSlaveMessage HTTP/1.1\r\nHost: x\r\n"
                b"User-Agent: libprocess/%s\r\nLibprocess-From: %s\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (
                    sender.encode(), sender.encode(), len(body), body))
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 202"))
            connection.close()
        # It registered again, for it was told that the master thinks it gone, and lost nothing.
        wait_for(lambda: self.master.metric("master/slave_reregistrations") > again,
                 "the agent registers again", 20)
        self.assertEqual(self.master.metric("master/tasks_lost"), 0)
        self.assertEqual(self.master.metric("master/tasks_running"), 1)
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")

    def test_nul_in_a_text(self):
        call = {"type": "SUBSCRIBE",
                "subscribe": {"framework_info": {"user": "root", "name": "a\x00b"}}}
        status, body = self.post(PATH, json.dumps(call))
        self.assertEqual(status, 400)
        self.assertIn("Not expecting \\u0000 in the JSON string for field 'name'", body)
        self.served()

    def flood(self, daemon, name, body, count):
        connection = self.connect(daemon, 60)
        one = self.message(daemon, name, body)

        def read():
            try:
                while connection.recv(65536):
                    pass
            except OSError:
                pass
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        for _ in range(count // 100):
            connection.sendall(one * 100)
        connection.shutdown(socket.SHUT_WR)
        reader.join(60)

    def test_flood_of_strangers(self):
        """Each is dropped, and the log does not fill the disk."""
        before = [os.path.getsize(daemon.log) for daemon in (self.master, self.agent)]
        stranger = field(1, field(1, "nobody"))
        for daemon in (self.master, self.agent):
            for name, body in (("UnregisterSlaveMessage", stranger), ("PongSlaveMessage", b""),
                               ("PingSlaveMessage", field(1, 1)), ("KillTaskMessage", b"\xff" * 50),
                               ("ShutdownFrameworkMessage", stranger), ("NoSuchMessage", b"x")):
                self.flood(daemon, name, body, 5000)
        grown = [os.path.getsize(daemon.log) - size
                 for daemon, size in zip((self.master, self.agent), before)]
        self.assertLess(max(grown), MEGABYTE)
        self.served()

    def test_many_clients_that_never_read(self):
        before = resident(self.master.process)
        deaf = []
        for _ in range(200):
            connection = self.connect(self.master)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            try:
                for _ in range(2000):
                    connection.send(b"GET /metrics/snapshot HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
            except BlockingIOError:
                pass
            deaf.append(connection)
        self.served()
        self.assertLess(resident(self.master.process) - before, BOUND)
