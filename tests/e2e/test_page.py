"""The web page's files, and what the master serves for it: lists, and files of agents."""

import gzip
import hashlib
import http.client
import json
import os
import re
from urllib.parse import quote

import harness
from test_wire import FakeAgent

SIZE = 64 << 20


class Page(harness.TestCase):
    agents = None

    def start(self, **flags):
        self.cluster = harness.Cluster(0, flags)
        self.cluster.start()
        return self.master.address

    def test_its_files(self):
        address = self.start()
        for path in ("/", "/master", "/master/"):
            status, headers, body = harness.get(address, path)
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        named = re.findall(r'(?:src|href)="([^"]+)"', body.decode())
        self.assertEqual(sorted(named), ["assets/app.js", "assets/icon.svg", "assets/style.css"])
        weight = 0
        for name in named + ["assets/worker.js"]:
            status, headers, body = harness.get(address, "/" + name)
            self.assertEqual(status, 200, name)
            self.assertNotIn("Content-Encoding", headers)
            again = harness.get(address, "/" + name, headers={"Accept-Encoding": "gzip"})
            self.assertEqual(again[1]["Content-Encoding"], "gzip")
            self.assertEqual(gzip.decompress(again[2]), body, name)
            weight += len(again[2])
            # What was fetched before is not fetched again, until it is another.
            known = harness.get(address, "/" + name, headers={"If-None-Match": headers["ETag"]})
            self.assertEqual((known[0], known[2]), (304, b""))
            self.assertEqual(harness.get(address, "/" + name,
                                         headers={"If-None-Match": '"x"'})[0], 200)
        self.assertLess(weight, 300 << 10, "as the page's promise is")

    def test_it_has_no_power_beyond_its_master(self):
        address = self.start()
        for path in ("/", "/assets/app.js", "/assets/worker.js"):
            headers = harness.get(address, path)[1]
            policy = dict(part.strip().split(" ", 1)
                          for part in headers["Content-Security-Policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            for kind in ("script-src", "style-src", "worker-src", "connect-src", "img-src"):
                self.assertEqual(policy[kind], "'self'", kind)
            self.assertEqual(policy["frame-ancestors"], "'none'")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        page = harness.get(address, "/")[2].decode()
        self.assertNotRegex(page, r"<script>|<style|style=|onclick|https?:")

    def test_other_paths_are_not_the_page(self):
        address = self.start()
        for path in ("/nothing", "/master/nothing", "/assets", "/assets/", "/assets/nothing",
                     "/assets/../app.js", "/app/x", "/static/x", "/index.html"):
            self.assertEqual(harness.get(address, path)[0], 404, path)
        for path in ("/", "/assets/app.js"):
            self.assertEqual(harness.request(address, "POST", path)[0], 405)

    def test_another_page(self):
        folder = self.temporary()
        for name, text in [("index.html", "<p>theirs"), ("app/app.js", "app()"), ("assets/x/y.css", "p {}"),
                           ("static/z.json", "{}")]:
            path = os.path.join(folder, "ui", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        with open(os.path.join(folder, "secret"), "w", encoding="ascii") as file:
            file.write("secret")
        os.mkfifo(os.path.join(folder, "ui", "app", "pipe"))
        address = self.start(webui_dir=os.path.join(folder, "ui"))
        for path, text, media in [("/", b"<p>theirs", "text/html"),
                                  ("/app/app.js", b"app()", "application/x-javascript"),
                                  ("/assets/x/y.css", b"p {}", "text/css"),
                                  ("/static/z.json", b"{}", "application/json")]:
            status, headers, body = harness.get(address, path)
            self.assertEqual((status, body, headers["Content-Type"]), (200, text, media), path)
        for path in ("/app/../../secret", "/app/..%2f..%2fsecret", "/app/%2e%2e/%2e%2e/secret", "/app//app.js",
                     "/app", "/app/pipe", "/app/none", "/assets/app.js", "/static/./z.json"):
            self.assertEqual(harness.get(address, path)[0], 404, path)


class Lists(harness.TestCase):
    def test_offers_volumes_and_who_is_away(self):
        scheduler = self.subscribe(roles=["r"])
        offer = scheduler.offer()
        [shown] = self.master.json("/offers")["offers"]
        self.assertEqual({key: shown[key] for key in ("id", "framework_id", "role", "slave_id", "hostname")},
                         {"id": offer["id"]["value"], "framework_id": scheduler.id, "role": "r",
                          "slave_id": self.agent.id, "hostname": "localhost"})
        self.assertEqual(shown["resources"]["cpus"], 4)
        self.assertEqual(self.master.json("/offers")["inverse_offers"], [])
        self.assertEqual(self.master.json("/away"), {"agents": [], "frameworks": []})
        self.assertEqual(self.master.json("/volumes"), {"volumes": []})
        scheduler.close()
        harness.wait_for(lambda: self.master.json("/away")["frameworks"], "the framework is away")
        [shown] = self.master.json("/away")["frameworks"]
        self.assertEqual({key: shown[key] for key in ("id", "active", "connected", "recovered")},
                         {"id": scheduler.id, "active": False, "connected": False, "recovered": False})
        self.assertTrue(0 < shown["seconds_left"] <= 60, shown)
        harness.request(self.master.address, "POST", "/teardown", "frameworkId=" + scheduler.id,
                        {"Content-Type": "application/x-www-form-urlencoded"})
        disk = {"name": "disk", "type": "SCALAR", "scalar": {"value": 64},
                "reservations": [{"type": "DYNAMIC", "role": "r", "principal": "p"}]}
        volume = dict(disk, disk={"persistence": {"id": "v", "principal": "p"},
                                  "volume": {"container_path": "path", "mode": "RW"}})
        agent = {"agent_id": {"value": self.agent.id}}
        for kind, fields in [("RESERVE_RESOURCES", {**agent, "resources": [disk]}),
                             ("CREATE_VOLUMES", {**agent, "volumes": [volume]})]:
            self.assertEqual(self.operate(kind, fields), 202)
        self.assertEqual(self.master.json("/volumes"), {"volumes": [
            {"id": "v", "role": "r", "principal": "p", "container_path": "path", "megabytes": 64,
             "shared": False, "slave_id": self.agent.id, "hostname": "localhost"}]})
        self.assertEqual(self.operate("DEACTIVATE_AGENT", agent), 200)
        [shown] = self.master.json("/away")["agents"]
        self.assertEqual((shown["id"], shown["active"], shown["connected"], shown["deactivated"]),
                         (self.agent.id, False, True, True))
        self.assertNotIn("drain_info", shown)
        self.assertEqual(self.operate("DRAIN_AGENT", {**agent, "mark_gone": False}), 200)
        harness.wait_for(lambda: self.master.json("/away")["agents"][0]["drain_info"]["state"] == "DRAINED",
                         "drained")
        self.assertEqual(self.operate("REACTIVATE_AGENT", agent), 200)
        self.assertEqual(self.master.json("/away"), {"agents": [], "frameworks": []})
        self.agent.kill()
        harness.wait_for(lambda: self.master.json("/away")["agents"], "the agent is away")
        [shown] = self.master.json("/away")["agents"]
        self.assertEqual((shown["active"], shown["connected"]), (False, False))

    def operate(self, kind, fields):
        return harness.request(self.master.address, "POST", "/api/v1",
                               json.dumps({"type": kind, kind.lower(): fields}),
                               {"Content-Type": "application/json"})[0]

    def test_masters(self):
        own = "localhost:%d" % self.master.address[1]
        self.assertEqual(self.master.json("/masters"), {"leader": own, "masters": [own]})


class LyingAgent(harness.TestCase):
    """An agent that answers what it likes."""
    agents = 0

    def setUp(self):
        super().setUp()
        self.fake = FakeAgent(self.master.address)
        self.addCleanup(self.fake.close)
        self.fake.register()

    def ask(self, lie, what="read"):
        """(status, headers, body) of what the master makes of it."""
        def answer(request):
            request.close_connection = True
            try:
                for part in [lie] if isinstance(lie, bytes) else lie:
                    request.wfile.write(part)
            except OSError:
                pass            # the master had enough
        self.fake.answer = answer
        return harness.get(self.master.address, "/agent/%s/files/%s?path=/frameworks/F/executors/E/runs/latest/x" % (
            self.fake.id, what))

    def test_lies(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        for lie, status, body in [
                (b"", 502, b"Cannot reach the agent"), (b"garbage\r\n\r\n", 502, b"Cannot reach the agent"),
                (b"HTTP/1.1 200 OK\r\nContent-Le", 502, b"Cannot reach"), (head + b"\r\n{}", 502, b"does not tell the length"),
                (head + b"Content-Length: -1\r\n\r\n", 502, b"Cannot reach"),
                (head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 502, b"does not tell"),
                (b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\nContent-Type: text/html\r\n\r\n<b>x", 500, b"<b>x"),
                (b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", 401, b""),
                (b"HTTP/1.1 307 Go\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n", 307, b""),
                (b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nshort", 502, b"ended early"),
                ((b"x" * 1000 if i else b"HTTP/1.1 400 No\r\n\r\n" for i in range(1000000)), 502, b"too long"),
                ((b"HTTP/1.1 100 Continue\r\n\r\n" if i < 3 else head + b"Content-Length: 2\r\n\r\n{}" for i in range(4)),
                 200, b"{}"),
                (head + b"Content-Length: 0\r\n\r\n", 200, b"")]:
            found = self.ask(lie)
            self.assertEqual(found[0], status, (lie, found))
            self.assertIn(body, found[2], lie)
            # It is never a page, nor leads to one, nor makes the browser ask for a password.
            self.assertIn(found[1]["Content-Type"], ("application/json", "text/plain; charset=utf-8", None))
            self.assertIsNone(found[1]["Location"])
            self.assertIsNone(found[1]["WWW-Authenticate"])
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            self.ask(head + b"Content-Length: 100\r\n\r\nshort")
        found = self.ask(head + b"Content-Disposition: inline\r\nContent-Length: 3\r\n\r\n<b>", "download")
        self.assertEqual((found[0], found[1]["Content-Type"], found[1]["Content-Security-Policy"]),
                         (200, "application/octet-stream", "sandbox"))
        self.assertEqual(harness.get(self.master.address, "/health")[0], 200)


class AgentFiles(harness.TestCase):
    """Sandboxes by way of the master."""

    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe()
        self.task_id = self.scheduler.run("echo hello; mkdir d; echo deep > d/f; printf 'a\\0b' > bin")
        self.scheduler.wait_terminal(self.task_id)
        self.sandbox = self.agent.sandbox(self.scheduler.id, self.task_id)
        self.root = "/frameworks/%s/executors/%s/runs/latest" % (self.scheduler.id, self.task_id)
        self.agent_id = self.agent.id

    def ask(self, what, query, headers=None, method="GET", agent=None):
        return harness.request(self.master.address, method, "/agent/%s/files/%s%s" % (
            agent or self.agent_id, what, query), None, headers)

    def test_what_the_agent_says(self):
        for what, query in [("browse", "?path=" + self.root), ("browse", "?path=%s/d" % self.root),
                            ("read", "?path=%s/stdout" % self.root),
                            ("read", "?path=%s/stdout&offset=2&length=3" % self.root),
                            ("read", "?path=%s/bin&offset=0" % self.root),
                            ("read", "?path=%s/stdout&offset=x" % self.root),
                            ("read", "?path=%s/none&offset=0" % self.root),
                            ("download", "?path=%s/stdout" % self.root),
                            ("download", "?path=%s/stderr" % self.root),
                            ("download", "?path=%s/d/f" % quote(self.root)),
                            ("download", "?path=%s/d" % self.root)]:
            own = harness.get(self.agent.address, "/files/" + what + query)
            passed = self.ask(what, query)
            self.assertEqual((passed[0], passed[2]), (own[0], own[2]), query)
            self.assertEqual(passed[1]["Content-Disposition"], own[1]["Content-Disposition"], query)
            if own[0] != 200:
                self.assertEqual(passed[1]["Content-Type"], "text/plain; charset=utf-8" if own[2] else None)
                continue
            self.assertEqual(passed[1]["Content-Type"], {
                "download": "application/octet-stream"}.get(what, "application/json"))
            self.assertEqual(passed[1]["Content-Security-Policy"], "sandbox")
            self.assertEqual(passed[1]["X-Content-Type-Options"], "nosniff")

    def test_no_page_of_another_site_reads_them(self):
        plain = self.ask("read", "?path=%s/stdout&offset=0" % self.root)
        script = self.ask("read", "?path=%s/stdout&offset=0&jsonp=f" % self.root)
        self.assertEqual(script[2], plain[2])
        self.assertEqual(script[1]["Content-Type"], "application/json")
        # Names that would end a query or a header.
        for name in ("a&b=c#d", "a b+c%41", "x\r\nSet-Cookie: y", "\u00e4"):
            with open(os.path.join(self.sandbox, name), "w", encoding="ascii") as file:
                file.write(name if name.isascii() else "a")
            self.assertEqual(self.ask("download", "?path=%s/%s" % (self.root, quote(name)))[2].decode(),
                             name if name.isascii() else "a")

    def test_nothing_else_is_passed_on(self):
        run = self.root
        for query, status in [("", 400), ("?path=", 400), ("?path=/etc/passwd", 404),
                              ("?path=" + self.sandbox, 404), ("?path=%s/../../../../.." % run, 404),
                              ("?path=%s/./stdout" % run, 404), ("?path=%s//stdout" % run, 404),
                              ("?path=/frameworks/x/executors/y", 404), ("?path=/slave/log/x", 404),
                              ("?path=/frameworks/../executors/y/runs/latest", 404),
                              ("?path=/frameworks/x/executors/y/runs/latest", 404)]:
            for what in ("browse", "read", "download"):
                self.assertEqual(self.ask(what, query)[0], status, (what, query))
        good = "?path=" + run
        self.assertEqual(self.ask("debug", good)[0], 404)
        self.assertEqual(self.ask("", good)[0], 404)
        self.assertEqual(self.ask("browse/x", good)[0], 404)
        self.assertEqual(self.ask("browse", good, method="POST")[0], 405)
        status, _, body = self.ask("browse", good, agent="nobody")
        self.assertEqual((status, body), (404, b"No agent 'nobody' is registered\n"))
        for path in ("/agent", "/agent/", "/agent/x", "/agent/x/", "/agent/x/state"):
            self.assertEqual(harness.get(self.master.address, path + good)[0], 404, path)

    def test_a_link_out_of_the_sandbox(self):
        os.symlink("/etc", os.path.join(self.sandbox, "link"))
        self.assertEqual(self.ask("read", "?path=%s/link/passwd&offset=0" % self.root)[0], 400)

    def test_an_agent_that_is_away(self):
        self.agent.signal(19)                       # SIGSTOP: it accepts, and says nothing
        try:
            connection = http.client.HTTPConnection(*self.master.address, timeout=30 * harness.SCALE)
            self.addCleanup(connection.close)
            connection.request("GET", "/agent/%s/files/browse?path=%s" % (self.agent_id, self.root))
            # The master goes on meanwhile.
            self.assertEqual(harness.get(self.master.address, "/health")[0], 200)
        finally:
            self.agent.kill()
        answer = connection.getresponse()
        self.assertEqual(answer.status, 502)
        self.assertIn(b"Cannot reach the agent: 127.0.0.1:%d" % self.agent.address[1], answer.read())
        harness.wait_for(lambda: self.ask("browse", "?path=" + self.root)[0] == 503, "it is known to be away")
        self.assertEqual(self.ask("browse", "?path=" + self.root)[2].decode(),
                         "Agent '%s' is not connected\n" % self.agent_id)

    def resident(self):
        with open("/proc/%d/status" % self.master.process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))

    def download(self, path):
        connection = http.client.HTTPConnection(*self.master.address, timeout=20 * harness.SCALE)
        self.addCleanup(connection.close)
        connection.request("GET", "/agent/%s/files/download?path=%s" % (self.agent_id, path))
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def test_big_files_go_through_in_parts(self):
        piece = os.urandom(1 << 20)
        with open(os.path.join(self.sandbox, "big"), "wb") as file:
            for _ in range(SIZE >> 20):
                file.write(piece)
        before = self.resident()
        # Those do not read.
        lazy = [self.download(self.root + "/big") for _ in range(10)]
        for answer in lazy:
            self.assertEqual(len(answer.read(1000)), 1000)
        answer = self.download(self.root + "/big")
        self.assertEqual((answer.status, answer.headers["Content-Length"]), (200, str(SIZE)))
        found, wanted, most = hashlib.sha256(), hashlib.sha256(), 0
        while part := answer.read(1 << 20):
            found.update(part)
            most = max(most, self.resident())
        for _ in range(SIZE >> 20):
            wanted.update(piece)
        self.assertEqual(found.hexdigest(), wanted.hexdigest())
        self.assertLess(most - before, 24 << 20)
        # An agent that dies ends what it was sending.
        late = self.download(self.root + "/big")
        late.read(1)
        self.agent.kill()
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            late.read()
        self.assertEqual(harness.get(self.master.address, "/health")[0], 200)

    def test_many_at_a_time_are_bounded(self):
        with open(os.path.join(self.sandbox, "big"), "wb") as file:
            file.truncate(SIZE)
        open_ones = [self.download(self.root + "/big") for _ in range(128)]
        self.assertEqual({answer.status for answer in open_ones}, {200})
        status, _, body = self.ask("browse", "?path=" + self.root)
        self.assertEqual((status, body), (503, b"Too many files are being read through this master\n"))
        for answer in open_ones:
            answer.connection.close()
        harness.wait_for(lambda: self.ask("browse", "?path=" + self.root)[0] == 200, "room")
