"""Who may do what: --acls at every endpoint and call of the agent."""

import json
import os
import re

import harness
from test_authentication import private_file
from test_authorization import BAD, CREDENTIALS, GOOD, NOTHING, ROOT

# As in test_authorization.py: a status, "seen", or the members that are empty for `bad`.
RUN = "/frameworks/@F/executors/t/runs/latest"
READS = {
    "/slave(1)/state": ["frameworks", "completed_frameworks", "flags"],
    "/slave(1)/flags": 403,
    "/slave(1)/containers": 403,
    "/slave(1)/monitor/statistics": 403,
    "/slave(1)/health": "seen",
    "/metrics": 403,
    "/metrics/snapshot": 403,
    "/logging/toggle": 403,
    "/files/debug": 403,
    "/files/browse?path=" + RUN: 403,
    "/files/read?offset=0&path=" + RUN + "/stdout": 403,
    "/files/download?path=" + RUN + "/stdout": 403,
    "/system/stats.json": "seen",
    "/version": "seen",
    "/help": "seen",
}
APIS = {"/slave(1)/api/v1", "/slave(1)/api/v1/executor"}
CALLS = {
    "GET_HEALTH": "seen", "GET_VERSION": "seen", "GET_LOGGING_LEVEL": "seen",
    "GET_METRICS": "seen", "GET_AGENT": "seen", "GET_RESOURCE_PROVIDERS": "seen",
    "GET_OPERATIONS": "seen",
    "GET_FLAGS": 403, "LIST_FILES": 403, "READ_FILE": 403, "SET_LOGGING_LEVEL": 403, "PRUNE_IMAGES": 403,
    "GET_STATE": ["get_tasks.launched_tasks", "get_executors.executors",
                  "get_frameworks.frameworks"],
    "GET_FRAMEWORKS": ["frameworks", "completed_frameworks"],
    "GET_EXECUTORS": ["executors", "completed_executors"],
    "GET_TASKS": ["launched_tasks", "completed_tasks"],
    "GET_CONTAINERS": ["containers"],
}


# About a container, with what one who may is answered: there is none such.
CONTAINER_CALLS = {
    "LAUNCH_NESTED_CONTAINER": 400, "LAUNCH_CONTAINER": 400, "LAUNCH_NESTED_CONTAINER_SESSION": 400,
    "WAIT_NESTED_CONTAINER": 404, "WAIT_CONTAINER": 404, "KILL_NESTED_CONTAINER": 404,
    "KILL_CONTAINER": 404, "REMOVE_NESTED_CONTAINER": 200, "REMOVE_CONTAINER": 200,
    "ATTACH_CONTAINER_OUTPUT": 404,
    "ATTACH_CONTAINER_INPUT": 404,  # a stream, of which this is the first record
}


class AgentAuthorization(harness.TestCase):
    agents = None

    def setUp(self):
        super().setUp()
        folder = self.temporary()
        self.cluster = harness.Cluster(1, None, {
            "http_credentials": private_file(folder, "credentials", CREDENTIALS),
            "authenticate_http_readonly": "true", "authenticate_http_readwrite": "true",
            "external_log_file": private_file(folder, "log", "a line"),
            "resources": "cpus:4;mem:4096;cpus(r):1",
            "acls": "file://" + private_file(folder, "acls", self.lists())})
        self.agent.headers = GOOD
        self.cluster.start()
        self.scheduler = self.subscribe(user="root")
        self.scheduler.run("echo out; exec sleep 1000", task_id="t")
        self.scheduler.wait_state("t", "TASK_RUNNING")

    def lists(self):
        return NOTHING

    def ask(self, path, headers, method="GET", body=None):
        status, _, text = harness.request(self.agent.address, method,
                                          path.replace("@F", self.scheduler.id), body, headers)
        return status, text.decode()

    def operate(self, headers, call):
        return self.ask("/api/v1", {"Content-Type": "application/json", **headers}, "POST",
                        json.dumps(call))

    def expect_hidden(self, what, expected, good, bad):
        if isinstance(expected, int):
            self.assertEqual((good[0], bad[0]), (200, expected), what)
            return
        self.assertEqual(good[0], bad[0], what)
        if expected == "seen":
            return
        shown, hidden = json.loads(good[1]), json.loads(bad[1])
        for member in expected:
            some, none = shown, hidden
            for key in member.split("."):
                some, none = some.get(key, []), none.get(key, [])
            self.assertEqual(none, [], (what, member))
            if not member.startswith("completed"):
                self.assertTrue(some, (what, member, shown))

    def test_every_path(self):
        paths = {"/" + process["id"] + endpoint["name"].rstrip("/")
                 for process in self.agent.json("/help?format=json")["processes"]
                 for endpoint in process["endpoints"]}
        self.assertEqual(paths, {path.partition("?")[0] for path in READS} | APIS,
                         "each path says what it shows or lets do whom")
        for path, expected in READS.items():
            self.expect_hidden(path, expected, self.ask(path, GOOD), self.ask(path, BAD))
        reserved = [json.loads(self.ask("/state", who)[1])["reserved_resources"]
                    for who in (GOOD, BAD)]
        self.assertEqual([list(each) for each in reserved], [["r"], []])
        # The log, which its own list guards; and a sandbox by its real path.
        for path in ("/slave/log", self.agent.sandbox(self.scheduler.id, "t") + "/stdout"):
            path = "/files/read?offset=0&path=" + path
            self.assertEqual([self.ask(path, who)[0] for who in (GOOD, BAD)], [200, 403])

    def test_every_call(self):
        with open(os.path.join(ROOT, "proto/messages/agent.proto"), encoding="utf-8") as file:
            types = re.search(r"message Call \{\s*enum Type \{(.*?)\}", file.read(), re.S).group(1)
        known = set(re.findall(r"^\s*([A-Z_]+) = ", types, re.M)) - {"UNKNOWN"}
        served = {kind for kind in known if self.operate(GOOD, {"type": kind})[0] != 501}
        self.assertEqual(served, set(CALLS) | set(CONTAINER_CALLS),
                         "each call says what it shows or lets do whom")
        run = RUN.replace("@F", self.scheduler.id)
        fields = {"GET_METRICS": {}, "GET_CONTAINERS": {}, "LIST_FILES": {"path": run},
                  "READ_FILE": {"path": run + "/stdout", "offset": 0},
                  "SET_LOGGING_LEVEL": {"level": 0, "duration": {"nanoseconds": 1}}}
        for kind, expected in CALLS.items():
            call = {"type": kind}
            if kind in fields:
                call[kind.lower()] = fields[kind]
            bad = self.operate(BAD, call)
            if expected == 403:
                self.assertEqual(bad, (403, "403 Forbidden."), kind)
                self.assertEqual(self.operate(GOOD, call)[0], 200, kind)
                continue
            good, bad = [(answer[0], json.dumps(json.loads(answer[1]).get(kind.lower(), {})))
                         for answer in [self.operate(GOOD, call), bad]]
            self.expect_hidden(kind, expected, good, bad)


    def about_container(self, headers, kind):
        status = self.scheduler.wait_state("t", "TASK_RUNNING")
        fields = {"container_id": {"value": "none",
                                   "parent": status["container_status"]["container_id"]}}
        if kind != "ATTACH_CONTAINER_INPUT":
            return self.operate(headers, {"type": kind, kind.lower(): fields})
        record = json.dumps({"type": kind, kind.lower(): {"type": "CONTAINER_ID", **fields}})
        return self.ask("/api/v1", {"Content-Type": "application/recordio",
                                    "Message-Content-Type": "application/json", **headers},
                        "POST", "%d\n%s" % (len(record), record))

    def test_calls_about_containers(self):
        for kind, expected in CONTAINER_CALLS.items():
            self.assertEqual(self.about_container(GOOD, kind)[0], expected, kind)
            self.assertEqual(self.about_container(BAD, kind), (403, "403 Forbidden."), kind)


class ByUser(AgentAuthorization):
    """`bad` sees what runs as somebody else, but not what runs as root."""

    def lists(self):
        rest = {"principals": {"values": ["bad"]}, "users": {"values": ["root"]}}
        return {name: [dict(rest, users={"values": ["somebody"]}),
                       dict(rest, users={"type": "NONE"})]
                for name in ("view_frameworks", "view_tasks", "view_executors",
                             "access_sandboxes", "view_containers",
                             "launch_nested_containers_under_parent_with_user",
                             "launch_nested_container_sessions_under_parent_with_user",
                             "kill_nested_containers", "wait_nested_containers",
                             "remove_nested_containers", "attach_containers_input",
                             "attach_containers_output")}

    def test_every_path(self):
        self.expect_hidden("/state", ["frameworks"], self.ask("/state", GOOD),
                           self.ask("/state", BAD))
        self.assertEqual(self.ask("/files/browse?path=" + RUN, BAD)[0], 403)
        self.assertEqual(self.ask("/containers", BAD), (200, "[]"))

    def test_every_call(self):
        self.scheduler.kill("t")
        self.scheduler.wait_terminal("t")
        # Of an executor that is over, too.
        harness.wait_for(lambda: json.loads(self.operate(GOOD, {"type": "GET_TASKS"})[1])[
            "get_tasks"].get("completed_tasks"), "the end")
        hidden = json.loads(self.operate(BAD, {"type": "GET_TASKS"})[1])["get_tasks"]
        self.assertEqual([tasks for tasks in hidden.values() if tasks], [])
        self.assertEqual(self.ask("/files/browse?path=" + RUN, GOOD)[0], 200)
        self.assertEqual(self.ask("/files/browse?path=" + RUN, BAD)[0], 403)
        self.assertEqual(self.ask("/files/browse?path=" + RUN.replace("/t/", "/none/"), BAD)[0],
                         403)


class Firewall(harness.TestCase):
    rules = json.dumps({"disabled_endpoints": {"paths": [
        "/master/state", "/slave(1)/state", "/files/browse", "/nothing"]}})
    master_flags = {"firewall_rules": rules}
    agent_flags = {"firewall_rules": rules}

    def test_what_it_stops(self):
        for daemon, state in ((self.master, "/master/state"), (self.agent, "/slave(1)/state")):
            for path, full in (("/state", state), (state, state), (state + "/", state),
                               ("/files/browse?path=/x", "/files/browse")):
                status, _, body = harness.get(daemon.address, path)
                self.assertEqual((status, body.decode()),
                                 (403, "Endpoint '%s' is disabled" % full), path)
            for path in ("/health", "/files/debug", "/flags"):
                self.assertEqual(harness.get(daemon.address, path)[0], 200)

    def test_what_is_no_rule(self):
        for rules, why in (("{", "Invalid value for --firewall_rules"),
                           ('{"disabled_endpoints":{"paths":["x"]}}', "'x' is no path"),
                           ('{"disabled_endpoints":[]}', "expected"),
                           ("/no/such/file", "Error reading file")):
            for role in ("master", "agent"):
                code, _, err = harness.run([role, "--work_dir=" + self.temporary(), "--port=0",
                                            "--firewall_rules=" + rules] +
                                           (["--master=127.0.0.1:1"] if role == "agent" else []))
                self.assertEqual(code, 1)
                self.assertIn(why, err)
