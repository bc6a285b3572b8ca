"""Files of sandboxes by HTTP: big downloads go through in parts."""

import hashlib
import http.client
import json
import os

import harness

SIZE = 150 << 20


class MasterLog(harness.TestCase):
    """The master's one file."""
    agents = None

    def test_log(self):
        path = os.path.join(self.temporary(), "log")
        with open(path, "w", encoding="ascii") as file:
            file.write("0123456789")
        self.cluster = harness.Cluster(0, {"external_log_file": path})
        self.cluster.start()
        self.assertEqual(self.master.json("/files/debug"), {"/master/log": path})
        self.assertEqual(self.master.json("/files/browse?path=/master/log"), [])
        for query, data, offset in [("&offset=0", "0123456789", 0), ("&offset=3&length=4", "3456", 3),
                                    ("", "", 10), ("&offset=-1", "", 10), ("&offset=10", "", 10),
                                    ("&offset=%d" % (2**63 - 1), "", 2**63 - 1)]:
            self.assertEqual(self.master.json("/files/read?path=/master/log" + query),
                             {"data": data, "offset": offset})
        status, headers, body = harness.get(self.master.address, "/files/download?path=/master/log")
        self.assertEqual((status, headers["Content-Disposition"], body),
                         (200, "attachment; filename=log", b"0123456789"))
        for query, status in [("", 400), ("?path=", 400), ("?path=/etc/passwd", 404),
                              ("?path=/master/log/x", 404), ("?path=/master/log&offset=x", 400),
                              ("?path=/master/log&length=-2", 400)]:
            self.assertEqual(harness.get(self.master.address, "/files/read" + query)[0], status)

        def operate(call):
            status, _, body = harness.request(
                self.master.address, "POST", "/api/v1", json.dumps(call),
                {"Content-Type": "application/json"})
            return status, body.decode()
        self.assertEqual(operate({"type": "LIST_FILES", "list_files": {"path": "/master/log"}}),
                         (200, '{"type":"LIST_FILES","list_files":{}}'))
        self.assertEqual(operate({"type": "READ_FILE", "read_file": {
            "path": "/master/log", "offset": 2, "length": 3}}),
            (200, '{"type":"READ_FILE","read_file":{"size":10,"data":"MjM0"}}'))
        self.assertEqual(operate({"type": "LIST_FILES", "list_files": {"path": "/x"}})[0], 404)
        os.remove(path)
        self.assertEqual(harness.get(self.master.address, "/files/read?path=/master/log")[0], 404)


class Downloads(harness.TestCase):
    def setUp(self):
        super().setUp()
        scheduler = self.subscribe()
        task_id = scheduler.run("exit 0")
        scheduler.wait_terminal(task_id)
        self.path = os.path.join(self.agent.sandbox(scheduler.id, task_id), "big")
        self.piece = os.urandom(1 << 20)
        with open(self.path, "wb") as file:
            for _ in range(SIZE >> 20):
                file.write(self.piece)

    def ask(self, path=None):
        connection = http.client.HTTPConnection(*self.agent.address, timeout=20 * harness.SCALE)
        self.addCleanup(connection.close)
        connection.request("GET", "/files/download?path=" + (path or self.path))
        return connection.getresponse()

    def resident(self):
        with open("/proc/%d/status" % self.agent.process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))

    def test_whole_and_in_little_memory(self):
        before = self.resident()
        answer = self.ask()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Length"], str(SIZE))
        self.assertEqual(answer.headers["Content-Disposition"], "attachment; filename=big")
        found, most = hashlib.sha256(), 0
        while piece := answer.read(1 << 20):
            found.update(piece)
            most = max(most, self.resident())
        wanted = hashlib.sha256()
        for _ in range(SIZE >> 20):
            wanted.update(self.piece)
        self.assertEqual(found.hexdigest(), wanted.hexdigest())
        self.assertLess(most - before, 32 << 20)

    def test_clients_that_do_not_read(self):
        before = self.resident()
        answers = [self.ask() for _ in range(20)]
        for answer in answers:
            self.assertEqual(len(answer.read(1000)), 1000)
        self.assertLess(self.resident() - before, 64 << 20)
        # Others are served meanwhile.
        self.assertEqual(harness.get(self.agent.address, "/health")[0], 200)
        self.assertEqual(len(self.ask().read()), SIZE)

    def test_a_file_that_shrinks(self):
        answer = self.ask()
        self.assertEqual(answer.status, 200)
        answer.read(1)
        os.truncate(self.path, 8 << 20)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        self.assertEqual(harness.get(self.agent.address, "/health")[0], 200)

    def test_an_empty_one(self):
        open(self.path, "wb").close()
        answer = self.ask()
        self.assertEqual((answer.status, answer.read()), (200, b""))
        self.assertEqual(self.ask(os.path.dirname(self.path)).status, 400)
        self.assertEqual(self.ask(self.path + "-not").status, 404)
