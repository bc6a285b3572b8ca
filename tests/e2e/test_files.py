"""Files of sandboxes by HTTP: big downloads go through in parts."""

import hashlib
import http.client
import os

import harness

SIZE = 150 << 20


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
