"""URIs with `cache`: downloaded once, kept while there is room, and never in anyone's way."""

import collections
import http.server
import io
import os
import shutil
import tarfile
import threading

import harness
from harness import wait_for
from scheduler import task

MEGABYTE = 1 << 20


class Origin(http.server.ThreadingHTTPServer):
    """Serves its files, counts who asks, and holds answers back while it is told to."""
    daemon_threads = True

    def __init__(self):
        self.files, self.asked = {}, collections.Counter()
        self.gate = threading.Event()
        self.gate.set()
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name):
        return "http://127.0.0.1:%d/%s" % (self.server_address[1], name)

    def add(self, name, data):
        self.files["/" + name] = data
        return self.url(name)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path] += 1
        data = self.server.files.get(self.path)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        # A part is on its way before the rest is held back.
        self.wfile.write((data or b"")[:1])
        self.wfile.flush()
        self.server.gate.wait(60)
        try:
            self.wfile.write((data or b"")[1:])
        except OSError:
            pass

    def log_message(self, *_):
        pass


class FetcherCache(harness.TestCase):
    agent_flags = {"fetcher_cache_size": "3MB", "recovery_timeout": "1mins",
                   "executor_shutdown_grace_period": "1secs"}

    def setUp(self):
        super().setUp()
        self.origin = Origin()
        self.addCleanup(self.origin.server_close)
        self.addCleanup(self.origin.shutdown)
        self.addCleanup(self.origin.gate.set)
        self.scheduler = self.subscribe()

    def begin(self, command, *uris, **fields):
        offer = self.scheduler.offer()
        info = task(offer, {"value": command, "uris": [
            {"cache": True, **(uri if isinstance(uri, dict) else {"value": uri})}
            for uri in uris], **fields})
        self.scheduler.launch(offer, [info])
        return info["task_id"]["value"]

    def finish(self, task_id, timeout=30):
        status = self.scheduler.wait_terminal(task_id, timeout)
        self.assertEqual(status["state"], "TASK_FINISHED", status.get("message"))
        return self.agent.sandbox(self.scheduler.id, task_id)

    def used(self):
        return self.agent.metric("containerizer/fetcher/cache_size_used_bytes")

    def waiting(self, *task_ids):
        """All of them are at their fetch."""
        for task_id in task_ids:
            wait_for(lambda t=task_id: os.path.exists(
                self.agent.sandbox(self.scheduler.id, t) + "/stderr"), "fetch of " + task_id, 20)

    # -- what is saved

    def test_downloaded_once(self):
        url = self.origin.add("data.bin", os.urandom(1000))
        for _ in range(3):
            sandbox = self.finish(self.begin("test $(wc -c < data.bin) = 1000", url))
            with open(sandbox + "/data.bin", "rb") as file:
                self.assertEqual(file.read(), self.origin.files["/data.bin"])
        self.assertEqual(self.origin.asked["/data.bin"], 1)
        self.assertEqual(self.used(), 1000)
        self.assertEqual(self.agent.metric("containerizer/fetcher/cache_size_total_bytes"),
                         3 * MEGABYTE)
        # Without `cache` it is another thing.
        self.finish(self.begin("test -e data.bin", {"value": url, "cache": False}))
        self.assertEqual(self.origin.asked["/data.bin"], 2)

    def test_what_becomes_of_it(self):
        bytes_ = io.BytesIO()
        with tarfile.open(fileobj=bytes_, mode="w:gz") as archive:
            member = tarfile.TarInfo("inside/file")
            member.size = 5
            archive.addfile(member, io.BytesIO(b"hello"))
        packed = self.origin.add("some-very-long-name-of-an-archive.tar.gz", bytes_.getvalue())
        program = self.origin.add("program", b"#!/bin/sh\necho it runs\n")
        for _ in range(2):
            sandbox = self.finish(self.begin(
                "test $(cat inside/file) = hello && ./program && cat d/e/copy", packed,
                {"value": program, "executable": True},
                {"value": program, "output_file": "d/e/copy"}))
            self.assertNotIn("some-very-long-name-of-an-archive.tar.gz", os.listdir(sandbox))
        self.assertEqual(self.origin.asked["/program"], 1)
        folders = os.listdir(self.agent.flags["fetcher_cache_dir"])
        self.assertEqual(len(folders), 1)
        names = os.listdir(os.path.join(self.agent.flags["fetcher_cache_dir"], folders[0]))
        self.assertEqual(len(names), 2, names)
        self.assertTrue(any(n.endswith("-some-very-_ive.tar.gz") for n in names), names)

    def test_many_wait_for_one_download(self):
        url = self.origin.add("data", b"x" * 1000)
        self.origin.gate.clear()
        tasks = [self.begin("test -s data", url) for _ in range(6)]
        self.waiting(*tasks)
        wait_for(lambda: self.origin.asked["/data"], "the download begins", 20)
        self.origin.gate.set()
        for task_id in tasks:
            self.finish(task_id)
        self.assertEqual(self.origin.asked["/data"], 1)

    def test_two_that_want_each_others(self):
        """Each claims what the other claims as well, in another order."""
        one, two = self.origin.add("one", b"1" * 1000), self.origin.add("two", b"2" * 1000)
        self.origin.gate.clear()
        tasks = [self.begin("test -s one && test -s two", *(order * 2))
                 for order in ((one, two), (two, one)) for _ in range(2)]
        self.waiting(*tasks)
        self.origin.gate.set()
        for task_id in tasks:
            self.finish(task_id)
        self.assertEqual((self.origin.asked["/one"], self.origin.asked["/two"]), (1, 1))

    # -- what goes wrong

    def test_who_downloads_is_killed(self):
        url = self.origin.add("data", b"x" * 1000)
        self.origin.gate.clear()
        first = self.begin("true", url)
        wait_for(lambda: self.origin.asked["/data"], "the download begins", 20)
        others = [self.begin("test $(wc -c < data) = 1000", url) for _ in range(3)]
        self.waiting(*others)
        for pid in harness.processes.descendants():
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"fetch" in words and any(b":fill:" in word for word in words):
                os.kill(pid, 9)
        status = self.scheduler.wait_terminal(first)
        self.assertEqual(status["reason"], "REASON_CONTAINER_LAUNCH_FAILED")
        self.origin.gate.set()
        for task_id in others:
            self.finish(task_id)
        self.assertEqual(self.origin.asked["/data"], 4)
        self.finish(self.begin("test -s data", url))
        self.finish(self.begin("test -s data", url))
        self.assertEqual(self.origin.asked["/data"], 5)

    def test_who_waits_is_killed(self):
        url = self.origin.add("data", b"x" * 1000)
        self.origin.gate.clear()
        # What is left is for the other.
        self.scheduler.call("SUPPRESS")
        first = self.begin("test -s data", url)
        wait_for(lambda: self.origin.asked["/data"], "the download begins", 20)
        other = self.subscribe()
        offer = other.offer()
        other.launch(offer, [task(offer, {"value": "true", "uris": [
            {"value": url, "cache": True}]})])
        wait_for(lambda: len(self.agent.state()["frameworks"]) == 2, "it comes to the agent", 20)
        other.teardown()
        wait_for(lambda: len(self.agent.state()["frameworks"]) == 1, "it ends", 20)
        self.origin.gate.set()
        self.finish(first)
        self.assertEqual(self.origin.asked["/data"], 1)

    def test_nothing_is_there(self):
        for _ in range(2):
            task_id = self.begin("true", self.origin.url("nothing"))
            status = self.scheduler.wait_terminal(task_id)
            self.assertEqual(status["reason"], "REASON_CONTAINER_LAUNCH_FAILED")
        self.assertEqual(self.used(), 0)
        # An empty file is none to keep.
        url = self.origin.add("empty", b"")
        for _ in range(2):
            self.finish(self.begin("test -e empty", url))
        self.assertEqual(self.used(), 0)

    def test_room(self):
        """The one that was not used for longest goes."""
        urls = [self.origin.add("file%d" % i, bytes([i]) * MEGABYTE) for i in range(4)]
        for i in (0, 1, 2, 0, 3, 0, 2, 1):
            self.finish(self.begin("test -s file%d" % i, urls[i]))
            self.assertLessEqual(self.used(), 3 * MEGABYTE)
        self.assertEqual([self.origin.asked["/file%d" % i] for i in range(4)], [1, 2, 1, 1])
        large = self.origin.add("large", b"x" * (4 * MEGABYTE))
        for _ in range(2):
            self.finish(self.begin("test $(wc -c < large) = %d" % (4 * MEGABYTE), large))
        self.assertLessEqual(self.used(), 3 * MEGABYTE)

    def test_a_file_that_somebody_removed(self):
        url = self.origin.add("data", b"x" * 1000)
        self.finish(self.begin("test -s data", url))
        shutil.rmtree(self.agent.flags["fetcher_cache_dir"])
        for _ in range(3):
            self.finish(self.begin("test -s data", url))
        self.assertEqual(self.origin.asked["/data"], 3)
        self.assertEqual(self.used(), 1000)

    def test_an_agent_that_is_killed(self):
        url = self.origin.add("data", b"x" * 1000)
        self.finish(self.begin("test -s data", url))
        self.origin.gate.clear()
        held = self.begin("true", self.origin.add("held", b"y" * 1000))
        wait_for(lambda: self.origin.asked["/held"], "the download begins", 20)
        self.agent.kill().start().wait_registered()
        self.origin.gate.set()
        self.assertNotEqual(self.scheduler.wait_terminal(held, 30)["state"], "TASK_FINISHED")
        self.assertEqual(self.used(), 0)
        wait_for(lambda: not any(files for _, _, files in os.walk(
            self.agent.flags["fetcher_cache_dir"])), "what was kept is removed", 20)
        for _ in range(2):
            self.finish(self.begin("test -s data", url))
        self.assertEqual(self.origin.asked["/data"], 2)

    def test_a_directory_that_is_not_ours(self):
        """Whoever may write to it could have us empty something else."""
        outside, link = self.temporary(), os.path.join(self.temporary(), "cache")
        with open(outside + "/kept", "w", encoding="ascii"):
            pass
        os.symlink(outside, link)
        self.agent.kill()
        self.agent.flags["fetcher_cache_dir"] = link
        self.agent.start().wait_registered()
        url = self.origin.add("data", b"x" * 1000)
        for _ in range(2):
            self.finish(self.begin("test -s data", url))
        self.assertEqual(self.origin.asked["/data"], 2)
        self.assertEqual(os.listdir(outside), ["kept"])
        self.assertIn("is not ours alone", self.agent.log_tail(100000))

    def test_users_share_nothing(self):
        if os.geteuid():
            self.skipTest("needs root")
        url = self.origin.add("data", b"x" * 1000)
        for user in ("nobody", "root", "nobody"):
            self.finish(self.begin("test $(id -un) = %s && test -s data" % user, url, user=user))
        self.assertEqual(self.origin.asked["/data"], 2)
