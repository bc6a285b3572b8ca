"""Downloads of the fetcher: servers that break off, lead elsewhere, lie or fall silent; https and ftp."""

import http.server
import os
import re
import socket
import socketserver
import ssl
import subprocess
import threading

import harness
from scheduler import task

DATA = bytes(range(256)) * 4096  # a megabyte


class Origin(http.server.ThreadingHTTPServer):
    """Its answers are functions by path; each request is kept with its headers."""
    daemon_threads = True

    def __init__(self):
        self.answers, self.requests, self.over = {}, [], threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path, scheme="http"):
        return "%s://127.0.0.1:%d%s" % (scheme, self.server_address[1], path)

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        self.close_connection = True
        answer = self.server.answers.get(self.path.partition("?")[0])
        if answer is None:
            return self.say(404, b"<h1>not here</h1>")
        try:
            return answer(self)
        except OSError:
            return None

    def say(self, code, body, *, only=None, **headers):
        """Of the body the first `only` bytes are sent, and then the connection breaks."""
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body if only is None else body[:only])

    def log_message(self, *_):
        pass


def with_ranges(tag_of, breaks):
    """Breaks off after so many bytes in each of its first answers; a range is served if the tag is
    the one of the file still."""
    left = list(breaks)

    def answer(handler):
        tag, data = tag_of()
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        headers = {"ETag": tag} if tag else {}
        only = left.pop(0) if left else None
        if asked and handler.headers.get("If-Range") == tag:
            begin = int(asked.group(1))
            headers["Content_Range"] = "bytes %d-%d/%d" % (begin, len(data) - 1, len(data))
            return handler.say(206, data[begin:], only=only, **headers)
        return handler.say(200, data, only=only, **headers)
    return answer


class Ftp(socketserver.ThreadingTCPServer):
    """As much of FTP as it takes to send one file."""
    daemon_threads, allow_reuse_address = True, True

    class Session(socketserver.StreamRequestHandler):
        def handle(self):
            say = lambda text: self.wfile.write(text.encode() + b"\r\n")
            say("220 ready")
            listener, begin = None, 0
            for line in self.rfile:
                verb, _, rest = line.decode().strip().partition(" ")
                if verb == "EPSV":
                    listener = socket.create_server(("127.0.0.1", 0))
                    say("229 Entering Extended Passive Mode (|||%d|)" % listener.getsockname()[1])
                elif verb == "REST":
                    begin = int(rest)
                    say("350 from there")
                elif verb == "RETR" and rest != "data":
                    say("550 not here")
                elif verb == "RETR":
                    say("150 here it comes")
                    stream, _ = listener.accept()
                    with stream:
                        stream.sendall(DATA[begin:])
                    say("226 done")
                else:
                    say({"USER": "331 who", "PASS": "230 in", "PWD": '257 "/"', "CWD": "250 there",
                         "TYPE": "200 so be it", "SIZE": "213 %d" % len(DATA),
                         "QUIT": "221 bye"}.get(verb, "500 unknown"))

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Session)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class FetcherNet(harness.TestCase):
    agent_flags = {"fetcher_stall_timeout": "1secs"}

    def setUp(self):
        super().setUp()
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        self.scheduler = self.subscribe()

    def run_task(self, *uris):
        offer = self.scheduler.offer()
        info = task(offer, {"value": "true", "uris": [
            uri if isinstance(uri, dict) else {"value": uri} for uri in uris]})
        self.scheduler.launch(offer, [info])
        status = self.scheduler.wait_terminal(info["task_id"]["value"], 40)
        return status, self.agent.sandbox(self.scheduler.id, info["task_id"]["value"])

    def fetched(self, *uris):
        """The first one's file."""
        status, sandbox = self.run_task(*uris)
        with open(sandbox + "/stderr", encoding="utf-8") as file:
            self.assertEqual(status["state"], "TASK_FINISHED", file.read())
        name = uris[0].rpartition("/")[2] if isinstance(uris[0], str) else uris[0]["output_file"]
        with open(os.path.join(sandbox, name), "rb") as file:
            return file.read()

    def refused(self, uri):
        """What stderr tells."""
        status, sandbox = self.run_task(uri)
        self.assertEqual(status["reason"], "REASON_CONTAINER_LAUNCH_FAILED")
        with open(sandbox + "/stderr", encoding="utf-8") as file:
            return file.read()

    def ranges(self):
        return [headers.get("Range") for _, headers in self.origin.requests]

    def replace_environment(self, name, value):
        """Until the test ends."""
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None else
                        os.environ.update({name: before}))

    # -- a connection that breaks

    def test_goes_on_where_it_broke(self):
        self.origin.answers["/data"] = with_ranges(lambda: ('"one"', DATA), [1000, 5000])
        self.assertEqual(self.fetched(self.origin.url("/data")), DATA)
        self.assertEqual(self.ranges(), [None, "bytes=1000-", "bytes=6000-"])

    def test_begins_anew_when_the_file_is_another(self):
        versions = iter([('"one"', b"x" * 5000), ('"two"', DATA)])
        self.origin.answers["/data"] = with_ranges(lambda: next(versions), [1000])
        self.assertEqual(self.fetched(self.origin.url("/data")), DATA)
        self.assertEqual(self.ranges(), [None, "bytes=1000-"])

    def test_begins_anew_when_nobody_knows(self):
        """Neither no tag nor a weak one says that the rest is the same file's."""
        for tag in (None, 'W/"one"'):
            self.origin.requests.clear()
            self.origin.answers["/data"] = with_ranges(lambda tag=tag: (tag, DATA), [1000])
            self.assertEqual(self.fetched(self.origin.url("/data")), DATA)
            self.assertEqual(self.ranges(), [None, None])

    def test_gives_up(self):
        self.origin.answers["/data"] = with_ranges(lambda: ('"one"', DATA), [1, 1, 1, 1, 1])
        self.assertIn("Error downloading resource: ", self.refused(self.origin.url("/data")))
        self.assertEqual(len(self.origin.requests), 3)

    def test_silence(self):
        def answer(handler):
            handler.say(200, DATA, only=1000)
            handler.wfile.flush()
            self.origin.over.wait(30)
        self.origin.answers["/data"] = answer
        self.assertIn("Operation too slow", self.refused(self.origin.url("/data")))
        self.assertEqual(len(self.origin.requests), 1)

    # -- what servers say

    def test_led_elsewhere(self):
        self.origin.answers["/data"] = lambda handler: handler.say(
            302, b"look there", Location=self.origin.url("/there"))
        self.origin.answers["/there"] = lambda handler: handler.say(200, DATA)
        self.assertEqual(self.fetched(self.origin.url("/data")), DATA)
        # Not to files of the agent's machine, which the task's user may not be allowed to see.
        self.origin.answers["/data"] = lambda handler: handler.say(
            302, b"look there", Location="file:///etc/passwd")
        self.assertIn("Error downloading resource: ", self.refused(self.origin.url("/data")))

    def test_no_success(self):
        self.assertIn("Error downloading resource, received HTTP return code 404",
                      self.refused(self.origin.url("/nothing")))
        self.origin.answers["/data"] = lambda handler: handler.say(204, b"")
        self.assertIn("received HTTP return code 204", self.refused(self.origin.url("/data")))
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        self.assertIn("Error downloading resource: Failed to connect",
                      self.refused("http://127.0.0.1:%d/data" % port))

    def test_names_as_they_are(self):
        """Brackets and queries are part of the name, and nothing expands them."""
        self.origin.answers["/a[1-3]{x,y}"] = lambda handler: handler.say(200, DATA)
        self.assertEqual(self.fetched(self.origin.url("/a[1-3]{x,y}?z=1")), DATA)

    # -- other protocols

    def test_https(self):
        folder = self.temporary()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", folder + "/key", "-out", folder + "/cert"], check=True,
                       stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/cert", folder + "/key")
        self.origin.socket = context.wrap_socket(self.origin.socket, server_side=True)
        self.origin.answers["/data"] = lambda handler: handler.say(200, DATA)
        # Nobody vouches for it.
        self.assertIn("SSL", self.refused(self.origin.url("/data", "https")))
        self.assertEqual(self.origin.requests, [])
        self.agent.kill()
        self.replace_environment("CURL_CA_BUNDLE", folder + "/cert")
        self.agent.start().wait_registered()
        self.assertEqual(self.fetched(self.origin.url("/data", "https")), DATA)

    def test_ftp(self):
        server = Ftp()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = "ftp://127.0.0.1:%d/" % server.server_address[1]
        self.assertEqual(self.fetched(base + "data"), DATA)
        self.assertIn("Error downloading resource: ", self.refused(base + "nothing"))
