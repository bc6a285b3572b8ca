"""POST /api/v1 of the agent: every call that it serves, in JSON and protobuf, and those it refuses."""

import base64
import http.client
import json
import os
import re
import socket
import threading
import time

import harness
from scheduler import task
from test_tasks import data, executor_info

HERE = os.path.dirname(os.path.abspath(__file__))
# About resource providers; those about containers are in test_groups.py and test_sessions.py, about
# images in test_images.py.
LATER = {"ADD_RESOURCE_PROVIDER_CONFIG", "UPDATE_RESOURCE_PROVIDER_CONFIG",
         "REMOVE_RESOURCE_PROVIDER_CONFIG", "MARK_RESOURCE_PROVIDER_GONE"}


class AgentApi(harness.TestCase):
    def post(self, call, headers=None, daemon=None):
        """(status, headers, body)"""
        headers = {"Content-Type": "application/json", "Accept": "application/json",
                   **(headers or {})}
        body = call if isinstance(call, bytes) else json.dumps(call)
        return harness.request((daemon or self.agent).address, "POST", "/api/v1", body, headers)

    def call(self, kind, **fields):
        call = {"type": kind}
        if fields:
            call[kind.lower()] = fields
        status, headers, body = self.post(call)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"), body)
        answer = json.loads(body)
        self.assertEqual(answer["type"], kind)
        return answer[kind.lower()]

    def test_state(self):
        scheduler = self.subscribe()
        done = scheduler.run("true")
        scheduler.wait_terminal(done)
        running = scheduler.run("echo hello; sleep 1000")
        scheduler.wait_state(running, "TASK_RUNNING")

        def ids(tasks):
            return [t["task_id"]["value"] for t in tasks]
        harness.wait_for(lambda: ids(self.call("GET_TASKS")["completed_tasks"]) == [done],
                         "the task that is over")
        state = self.call("GET_STATE")
        self.assertEqual(state["get_tasks"], self.call("GET_TASKS"))
        self.assertEqual(state["get_executors"], self.call("GET_EXECUTORS"))
        self.assertEqual(state["get_frameworks"], self.call("GET_FRAMEWORKS"))
        self.assertEqual(ids(state["get_tasks"]["launched_tasks"]), [running])
        for empty in ["pending_tasks", "queued_tasks", "terminated_tasks"]:
            self.assertEqual(state["get_tasks"][empty], [])
        self.assertEqual([e["executor_info"]["executor_id"]["value"]
                          for e in state["get_executors"]["executors"]], [running])
        self.assertEqual([e["executor_info"]["executor_id"]["value"]
                          for e in state["get_executors"]["completed_executors"]], [done])
        self.assertEqual([f["framework_info"]["id"]["value"]
                          for f in state["get_frameworks"]["frameworks"]], [scheduler.id])
        container, = self.call("GET_CONTAINERS")["containers"]
        shown = self.agent.state()["frameworks"][0]["executors"][0]
        self.assertEqual((container["executor_id"]["value"], container["container_id"]["value"],
                          container["framework_id"]["value"]),
                         (running, shown["container"], scheduler.id))
        self.assertGreater(container["resource_statistics"]["mem_rss_bytes"], 0)
        os.kill(container["container_status"]["executor_pid"], 0)
        info = self.call("GET_AGENT")["agent_info"]
        self.assertEqual((info["id"]["value"], info["port"]), (self.agent.id, self.agent.address[1]))
        self.assertEqual(self.call("GET_OPERATIONS"), {})
        self.assertEqual(self.call("GET_RESOURCE_PROVIDERS"), {})
        scheduler.teardown()
        harness.wait_for(lambda: self.call("GET_FRAMEWORKS")["completed_frameworks"],
                         "the framework that is over")

    def test_itself(self):
        self.assertEqual(self.call("GET_HEALTH"), {"healthy": True})
        self.assertEqual(self.call("GET_VERSION")["version_info"]["version"],
                         self.agent.json("/version")["version"])
        self.assertEqual({f["name"]: f["value"] for f in self.call("GET_FLAGS")["flags"]},
                         self.agent.json("/flags")["flags"])
        metrics = {m["name"]: m["value"] for m in self.call(
            "GET_METRICS", timeout={"nanoseconds": 10**9})["metrics"]}
        self.assertEqual(set(metrics), set(self.agent.json("/metrics/snapshot")))
        self.assertEqual(metrics["slave/registered"], 1)
        self.assertEqual(self.call("GET_LOGGING_LEVEL"), {"level": 0})
        self.assertEqual(self.post({"type": "SET_LOGGING_LEVEL", "set_logging_level": {
            "level": 2, "duration": {"nanoseconds": 3600 * 10**9}}})[::2], (200, b""))
        self.assertEqual(self.call("GET_LOGGING_LEVEL"), {"level": 2})
        self.post({"type": "SET_LOGGING_LEVEL", "set_logging_level": {
            "level": 1, "duration": {"nanoseconds": 10**6}}})
        harness.wait_for(lambda: self.call("GET_LOGGING_LEVEL")["level"] == 0, "the old level")

    def test_logging_and_system(self):
        for daemon in [self.master, self.agent]:
            def toggle(query=""):
                status, _, body = harness.get(daemon.address, "/logging/toggle" + query)
                return status, body.decode()
            self.assertEqual(toggle(), (200, "0\n"))
            self.assertEqual(toggle("?level=3&duration=1hrs"), (200, ""))
            self.assertEqual(toggle(), (200, "3\n"))
            for query, text in [("?level=1", "Expecting 'duration=value' in query.\n"),
                                ("?duration=1secs", "Expecting 'level=value' in query.\n"),
                                ("?level=-1&duration=1secs", "'-1' < original level.\n")]:
                self.assertEqual(toggle(query), (400, text))
            self.assertEqual(toggle("?level=x&duration=1secs")[0], 400)
            self.assertEqual(toggle("?level=1&duration=x")[0], 400)
            self.assertEqual(toggle("?level=1&duration=1ms"), (200, ""))
            harness.wait_for(lambda: toggle() == (200, "0\n"), "the old level")
            stats = daemon.json("/system/stats.json")
            self.assertEqual(set(stats), {"avg_load_1min", "avg_load_5min", "avg_load_15min",
                                          "cpus_total", "mem_total_bytes", "mem_free_bytes"})
            self.assertEqual(stats["cpus_total"], os.cpu_count())

    def test_files(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("echo hello; mkdir d; sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        root = "/frameworks/%s/executors/%s/runs/latest" % (scheduler.id, task_id)

        def listed(path):
            return {os.path.relpath(f["path"], root): f
                    for f in self.call("LIST_FILES", path=path).get("file_infos", [])}
        harness.wait_for(lambda: "d" in listed(root), "the directory")
        files = listed(root)
        self.assertEqual(set(files), {"d", "stdout", "stderr"})
        browsed = {os.path.relpath(f["path"], root): f
                   for f in self.agent.json("/files/browse?path=" + root)}
        for name, file in files.items():
            self.assertEqual((file["size"], file["nlink"], file["uid"], file["gid"]),
                             tuple(browsed[name][key] for key in ["size", "nlink", "uid", "gid"]))
            self.assertEqual(file["mtime"]["nanoseconds"], browsed[name]["mtime"] * 10**9)
        self.assertEqual(files["d"]["mode"] & 0o170000, 0o040000)
        self.assertEqual(listed(root + "/d"), {})
        self.assertEqual(listed(root + "/stdout"), {})
        for offset, length, expected in [(0, None, b"hello\n"), (2, 3, b"llo"), (6, None, b""),
                                         (100, 5, b""), (2**64 - 1, 2**64 - 1, b"")]:
            fields = {"path": root + "/stdout", "offset": offset}
            if length is not None:
                fields["length"] = length
            read = self.call("READ_FILE", **fields)
            self.assertEqual((read["size"], base64.b64decode(read.get("data", ""))), (6, expected))
        self.assertEqual(self.agent.json("/files/read?path=%s/stdout&offset=%d" % (
            root, 2**63 - 1)), {"data": "", "offset": 2**63 - 1})
        for call, status in [
                ({"type": "READ_FILE", "read_file": {"path": root, "offset": 0}}, 400),
                ({"type": "READ_FILE", "read_file": {"path": root + "/no", "offset": 0}}, 404),
                ({"type": "LIST_FILES", "list_files": {"path": "/etc"}}, 404),
                ({"type": "LIST_FILES", "list_files": {"path": ""}}, 400)]:
            self.assertEqual(self.post(call)[0], status, call)

    def test_every_type(self):
        with open(os.path.join(HERE, "../../proto/messages/agent.proto"), encoding="utf-8") as file:
            types = re.search(r"message Call \{\s*enum Type \{(.*?)\}", file.read(), re.S).group(1)
        for kind in re.findall(r"^\s*([A-Z_]+) = ", types, re.M):
            status, _, body = self.post({"type": kind})
            later = kind in LATER or kind == "UNKNOWN"
            self.assertEqual(status == 501, later, (kind, status, body))
            if status == 400:
                self.assertEqual(body.decode(), "Failed to validate agent::Call: Expecting '%s' to "
                                 "be present" % kind.lower())

    def test_what_is_no_call(self):
        for call, headers, status, text in [
                ({}, {}, 400, "Expecting 'type' to be present"),
                (b"{", {}, 400, "Failed to parse body into JSON"),
                ({"type": "GET_HEALTH"}, {"Content-Type": "text/plain"}, 415, "Content-Type"),
                ({"type": "GET_HEALTH"}, {"Accept": "text/html"}, 406, "Accept"),
                (b"\xff", {"Content-Type": "application/x-protobuf"}, 400, "Failed to parse")]:
            answer = self.post(call, headers)
            self.assertEqual(answer[0], status, (call, answer))
            self.assertIn(text, answer[2].decode())
        self.assertEqual(harness.get(self.agent.address, "/api/v1")[0], 405)
        protobuf = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}
        status, headers, body = self.post(b"\x08\x01", protobuf)
        self.assertEqual((status, headers["Content-Type"], body),
                         (200, "application/x-protobuf", b"\x08\x01\x12\x02\x08\x01"))

    def test_reads_of_many_tasks(self):
        """Processes of the agent answer them, which are no leftovers of containers that end."""
        scheduler = self.subscribe()
        offer = scheduler.offer()
        executor = executor_info()
        labels = {"labels": [{"key": "long", "value": "x" * 8000}]}
        many = [task(offer, None, "many-%d" % i, 0.001, 1, executor=executor, data=data("wait"),
                     labels=labels)
                for i in range(1500)]
        scheduler.launch([offer], many)
        ids = {t["task_id"]["value"] for t in many}

        def launched(answer):
            tasks = answer.get("launched_tasks", []) + answer.get("queued_tasks", [])
            return ids & {t["task_id"]["value"] for t in tasks}
        harness.wait_for(lambda: launched(self.call("GET_TASKS")) == ids, "tasks of the executor")
        self.assertEqual(launched(self.call("GET_STATE")["get_tasks"]), ids)
        # A client that does not read has a process wait for it.
        connection = http.client.HTTPConnection(*self.agent.address, timeout=60)
        connection.sock = socket.socket()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sock.connect(self.agent.address)
        self.addCleanup(connection.close)
        connection.request("GET", "/state")
        answer = connection.getresponse()
        # Each leaves a process behind, which is killed.
        for left in [scheduler.run("setsid sleep 1000 & true") for _ in range(5)]:
            scheduler.wait_terminal(left)
        harness.wait_for(lambda: len(self.agent.state()["frameworks"][0]["executors"]) == 1,
                         "the end of the others")
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 ** 20)
        framework, = json.loads(answer.read())["frameworks"]
        self.assertLessEqual(ids, {t["id"] for e in framework["executors"]
                                   for t in e["tasks"] + e["queued_tasks"]})
        old = "angular.callbacks._1"
        status, headers, body = harness.get(self.agent.address, "/state?jsonp=" + old)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/javascript"))
        self.assertTrue(body.startswith(old.encode() + b"({"), body[:50])
        json.loads(body[len(old) + 1:-1])
        packed = self.post({"type": "GET_TASKS"}, {"Accept": "application/x-protobuf"})
        self.assertEqual((packed[0], packed[1]["Content-Type"]), (200, "application/x-protobuf"))
        self.assertEqual({found.decode() for found in re.findall(rb"many-\d+", packed[2])}, ids)

    def test_usage_is_of_all_processes_of_a_container(self):
        scheduler = self.subscribe()
        tasks = [scheduler.run(command) for command in (
            # One that holds 20 MB in a session of its own, one that burns time, one idle.
            "setsid sh -c 'x=$(yes | head -c 20000000); sleep 1000'",
            "while :; do :; done", "sleep 1000")]
        for task_id in tasks:
            scheduler.wait_state(task_id, "TASK_RUNNING")

        def usage():
            found = {c["executor_id"]: c["statistics"] for c in self.agent.json("/containers")}
            return [found[task_id] for task_id in tasks]
        harness.wait_for(lambda: usage()[0]["mem_rss_bytes"] > usage()[2]["mem_rss_bytes"] + 2 ** 24,
                         "memory in use")
        harness.wait_for(lambda: usage()[1]["cpus_user_time_secs"] > 0.3, "time in use")
        _, busy, idle = usage()
        self.assertLess(idle["cpus_user_time_secs"], 0.3)
        self.assertGreater(busy["timestamp"], 1e9)
        chosen, = self.agent.json("/containers?framework_id=%s&executor_id=%s" %
                                  (scheduler.id, tasks[1]))
        self.assertEqual(chosen["executor_id"], tasks[1])

    def test_many_ask_for_containers_while_the_agent_ends(self):
        scheduler = self.subscribe()
        scheduler.wait_state(scheduler.run("sleep 1000"), "TASK_RUNNING")
        answers, paths = [], ["/containers", "/monitor/statistics", None]

        def ask(path):
            while True:
                try:
                    if path:
                        status, _, body = harness.get(self.agent.address, path)
                    else:
                        status, _, body = self.post({"type": "GET_CONTAINERS"})
                except (OSError, http.client.HTTPException):
                    return
                answers.append((status, len(body)))
        threads = [threading.Thread(target=ask, args=(paths[i % 3],)) for i in range(12)]
        for thread in threads:
            thread.start()
        harness.wait_for(lambda: len(answers) > 100, "answers")
        self.assertEqual(self.agent.terminate(), 0)
        for thread in threads:
            thread.join()
        self.assertLessEqual({status for status, _ in answers}, {200, 503})
        self.assertTrue(all(size > 100 for status, size in answers if status == 200))

    def test_statistics_twice_a_second(self):
        """Looking at all processes costs: who asks more often waits."""
        begin = time.monotonic()
        for _ in range(4):
            self.assertEqual(harness.get(self.agent.address, "/monitor/statistics")[0], 200)
        self.assertGreaterEqual(time.monotonic() - begin, 1.4)
