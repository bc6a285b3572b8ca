"""Checks and health checks of command tasks: what is probed, and what updates say of it."""

import http.server
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading

import harness
import processes
from harness import wait_for


class Handler(http.server.BaseHTTPRequestHandler):
    """/N answers with status N, /to?URL and /loop redirect, /stuck never answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.paths.append(self.path)
        if self.path == "/stuck":
            self.server.released.wait()
            self.close_connection = True
            return
        location = "/loop" if self.path == "/loop" else self.path.partition("?")[2]
        body = b"" if self.path in ("/204", "/304") else b"x" * 100000
        self.send_response(302 if location else int(self.path[1:]))
        if location:
            self.send_header("Location", location)
        if body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Server6(Server):
    address_family = socket.AF_INET6


class Checks(harness.TestCase):
    def serve(self, kind=Server, host="127.0.0.1", context=None):
        server = kind((host, 0), Handler)
        server.paths, server.released = [], threading.Event()
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.released.set)
        return server

    def run_check(self, line="sleep 1000", scheduler=None, **check):
        scheduler = scheduler or self.subscribe()
        check = {"delay_seconds": 0, "interval_seconds": 0.05, **check}
        return scheduler, scheduler.run(line, check=check)

    def run_health_check(self, line="sleep 1000", scheduler=None, **check):
        scheduler = scheduler or self.subscribe()
        check = {"delay_seconds": 0, "interval_seconds": 0.05, "grace_period_seconds": 0, **check}
        return scheduler, scheduler.run(line, health_check=check)

    def nth(self, scheduler, task_id, number):
        """The update of this number, TASK_STARTING being 0 and TASK_RUNNING 1."""
        return wait_for(lambda: scheduler.updates[task_id][number], "update %d" % number)

    def result(self, scheduler, task_id, number=2):
        status = self.nth(scheduler, task_id, number)
        self.assertEqual(status["state"], "TASK_RUNNING")
        self.assertEqual(status["reason"], "REASON_TASK_CHECK_STATUS_UPDATED")
        self.assertNotIn("healthy", status)
        return status["check_status"]

    def health(self, scheduler, task_id, number=2):
        status = self.nth(scheduler, task_id, number)
        self.assertEqual(status["state"], "TASK_RUNNING")
        self.assertEqual(status["reason"], "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED")
        self.assertNotIn("message", status)
        return status["healthy"]

    def stderr(self, scheduler, task_id):
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stderr",
                  encoding="utf-8") as file:
            return file.read()


class CommandProbes(Checks):
    def test_results(self):
        scheduler, task_id = self.run_check(
            type="COMMAND", command={"command": {
                "value": "echo said $X; test -f file || exit 3; test -f $MESOS_SANDBOX/x",
                "environment": {"variables": [{"name": "X", "value": "this"}]}}})
        empty = {"type": "COMMAND", "command": {}}
        for number in (0, 1):
            self.assertEqual(self.nth(scheduler, task_id, number)["check_status"], empty)
        self.assertEqual(self.result(scheduler, task_id),
                         {"type": "COMMAND", "command": {"exit_code": 3}})
        sandbox = self.agent.sandbox(scheduler.id, task_id)
        for name in ("file", "x"):
            with open(os.path.join(sandbox, name), "w", encoding="utf-8"):
                pass
        last = lambda: scheduler.updates[task_id][-1]  # noqa: E731
        wait_for(lambda: last()["check_status"]["command"]["exit_code"] == 0, "exit code 0")
        self.assertIn("said this\n", self.stderr(scheduler, task_id))
        scheduler.kill(task_id)
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_KILLED")
        self.assertEqual(status["check_status"], empty)
        self.assertNotIn("healthy", status)

    def test_argv_form(self):
        scheduler, task_id = self.run_check(type="COMMAND", command={"command": {
            "shell": False, "value": "/bin/sh", "arguments": ["sh", "-c", "exit 4"]}})
        self.assertEqual(self.result(scheduler, task_id)["command"], {"exit_code": 4})

    def test_timeout_kills_the_tree(self):
        scheduler, task_id = self.run_health_check(
            type="COMMAND", timeout_seconds=0.3, interval_seconds=1000,
            command={"value": "sleep 1000 & echo $! > child.tmp; mv child.tmp child; wait"})
        self.assertIs(self.health(scheduler, task_id), False)
        self.assertIn("Command timed out after 300ms", self.stderr(scheduler, task_id))
        with open(self.agent.sandbox(scheduler.id, task_id) + "/child", encoding="utf-8") as file:
            child = int(file.read())
        wait_for(lambda: not harness.processes.alive(child), "end of the probe's child")
        scheduler.kill(task_id)
        self.assertNotIn("healthy", scheduler.wait_terminal(task_id))

    def test_unhealthy_task_is_killed(self):
        scheduler, task_id = self.run_health_check(
            "touch ok; sleep 1000", type="COMMAND", consecutive_failures=2,
            grace_period_seconds=1000,
            command={"value": "test -f ok"})
        self.assertIs(self.health(scheduler, task_id), True)
        os.unlink(self.agent.sandbox(scheduler.id, task_id) + "/ok")
        self.assertIs(self.health(scheduler, task_id, 3), False)
        self.assertIs(self.health(scheduler, task_id, 4), False)
        status = self.nth(scheduler, task_id, 5)
        self.assertEqual(status["state"], "TASK_KILLED")
        self.assertIs(status["healthy"], False)
        self.assertEqual(status["message"], "Command terminated with signal Terminated")
        self.assertNotIn("reason", status)

    def test_probes_end_with_the_task(self):
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "TASK_KILLING_STATE"))
        _, task_id = self.run_health_check(
            "trap 'touch told' TERM; touch ready; while [ ! -f end ]; do sleep 0.05; done",
            scheduler, type="COMMAND", consecutive_failures=1000, command={
                "value": "test -f ready && ! test -f told && echo probe >> probes"})
        wait_for(lambda: any(s.get("healthy") for s in scheduler.updates[task_id]), "health")
        scheduler.kill(task_id)
        sandbox = self.agent.sandbox(scheduler.id, task_id)
        wait_for(lambda: os.path.exists(sandbox + "/told"), "SIGTERM")
        with open(sandbox + "/end", "w", encoding="utf-8"):
            pass
        scheduler.wait_terminal(task_id)
        states = scheduler.states(task_id)
        self.assertEqual(states[-2:], ["TASK_KILLING", "TASK_KILLED"])

    def test_both_kinds_add_up(self):
        scheduler = self.subscribe()
        task_id = scheduler.run(
            "sleep 1000",
            check={"type": "COMMAND", "delay_seconds": 0, "interval_seconds": 1000,
                   "command": {"command": {"value": "exit 9"}}},
            health_check={"type": "COMMAND", "delay_seconds": 0, "interval_seconds": 0.05,
                          "command": {"value": "test -f ok"}, "grace_period_seconds": 1000})
        self.assertEqual(self.result(scheduler, task_id)["command"], {"exit_code": 9})
        with open(self.agent.sandbox(scheduler.id, task_id) + "/ok", "w", encoding="utf-8"):
            pass
        self.assertIs(self.health(scheduler, task_id, 3), True)
        self.assertEqual(scheduler.updates[task_id][3]["check_status"]["command"],
                         {"exit_code": 9})


class HttpProbes(Checks):
    def test_statuses_and_redirects(self):
        server = self.serve()
        port = server.server_address[1]
        scheduler = self.subscribe()
        for path, status in (
                ("/200", 200), ("/404", 404), ("/204", 204),
                ("/to?/503", 503), ("/to?201", 201),
                ("/to?http://127.0.0.1:%d/202#top" % port, 202),
                ("/to?http://localhost:%d/203" % port, 203)):
            _, task_id = self.run_check(scheduler=scheduler, type="HTTP",
                                        http={"port": port, "path": path})
            self.assertEqual(self.result(scheduler, task_id),
                             {"type": "HTTP", "http": {"status_code": status}}, path)
            scheduler.kill(task_id)
            scheduler.wait_terminal(task_id)

    def test_nothing_to_learn(self):
        server = self.serve()
        port = server.server_address[1]
        scheduler = self.subscribe()
        with socket.create_server(("127.0.0.1", 0)) as closed:
            nobody = closed.getsockname()[1]
        elsewhere = "/to?http://127.0.0.1:%d/" % nobody
        for at, path in ((port, "/stuck"), (port, "/loop"), (port, "/to?ftp://localhost/"),
                         (port, elsewhere), (nobody, "/200")):
            _, task_id = self.run_health_check(
                scheduler=scheduler, type="HTTP", timeout_seconds=2, interval_seconds=1000,
                http={"port": at, "path": path})
            self.assertIs(self.health(scheduler, task_id), False, path)
            scheduler.kill(task_id)
            scheduler.wait_terminal(task_id)

    def test_health(self):
        server = self.serve()
        port = server.server_address[1]
        scheduler = self.subscribe()
        for path, healthy in (("/200", True), ("/304", True), ("/400", False)):
            _, task_id = self.run_health_check(scheduler=scheduler, type="HTTP",
                                               http={"port": port, "path": path})
            self.assertIs(self.health(scheduler, task_id), healthy, path)
            scheduler.kill(task_id)
            scheduler.wait_terminal(task_id)

    def test_ipv6(self):
        try:
            server = self.serve(Server6, "::1")
        except OSError:
            self.skipTest("no IPv6 here")
        scheduler, task_id = self.run_health_check(
            type="HTTP", http={"port": server.server_address[1], "path": "/200",
                               "protocol": "IPv6"})
        self.assertIs(self.health(scheduler, task_id), True)

    def test_https(self):
        if not shutil.which("curl") or not shutil.which("openssl"):
            self.skipTest("needs curl and openssl")
        at = self.temporary()
        processes.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                       "-subj", "/CN=elsewhere", "-keyout", at + "/key", "-out", at + "/cert"],
                      check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(at + "/cert", at + "/key")
        port = self.serve(context=context).server_address[1]
        scheduler, task_id = self.run_health_check(
            type="HTTP", http={"port": port, "path": "/200", "scheme": "https"})
        self.assertIs(self.health(scheduler, task_id), True)
        plain = self.serve().server_address[1]
        _, task_id = self.run_check(scheduler=scheduler, type="HTTP", http={
            "port": plain, "path": "/to?https://127.0.0.1:%d/404" % port})
        self.assertEqual(self.result(scheduler, task_id)["http"], {"status_code": 404})


class TcpProbes(Checks):
    def test_results(self):
        scheduler = self.subscribe()
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        port = server.getsockname()[1]
        _, task_id = self.run_check(scheduler=scheduler, type="TCP", tcp={"port": port})
        self.assertEqual(self.nth(scheduler, task_id, 1)["check_status"],
                         {"type": "TCP", "tcp": {}})
        self.assertEqual(self.result(scheduler, task_id),
                         {"type": "TCP", "tcp": {"succeeded": True}})
        server.close()
        self.assertEqual(self.result(scheduler, task_id, 3)["tcp"], {"succeeded": False})

    def test_health(self):
        server = self.serve()
        scheduler, task_id = self.run_health_check(
            type="TCP", tcp={"port": server.server_address[1]}, consecutive_failures=1)
        self.assertIs(self.health(scheduler, task_id), True)
        server.shutdown()
        server.server_close()
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_KILLED")
        self.assertIs(status["healthy"], False)
