"""Who may do what: --acls at every endpoint and call of the master."""

import json
import os
import re

import harness
from test_authentication import MASTER, basic, private_file

CREDENTIALS = {"credentials": [{"principal": name, "secret": name} for name in ["good", "bad"]]}
GOOD, BAD = basic("good", "good"), basic("bad", "bad")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def acl_lists():
    """The name of each list and the key of its objects, as auth/acls.h has them."""
    with open(os.path.join(ROOT, "auth/acls.h"), encoding="utf-8") as file:
        text = re.sub(r"\\?\s*\n\s*", " ", file.read())
    found = re.findall(r'X\(ACL_\w+,\s*"(\w+)",\s*"(\w+)",\s*OBJECT_\w+\)', text)
    assert len(found) > 50, found
    return found


# `bad` may do nothing at all; nobody else is asked.
NOTHING = {name: [{"principals": {"values": ["bad"]}, key: {"type": "NONE"}}]
           for name, key in acl_lists()}

# What `bad` gets of each path: a status, "seen": all of it (it shows nobody's things), or the
# members that are empty then.
READS = {
    "/master/state": ["frameworks", "completed_frameworks", "flags"],
    "/master/state-summary": ["frameworks"],
    "/master/frameworks": ["frameworks", "completed_frameworks"],
    "/master/tasks": ["tasks"],
    "/master/roles": ["roles"],
    "/master/slaves": "seen",
    "/master/offers": ["offers"],
    "/master/volumes": ["volumes"],
    "/master/away": "seen",        # hidden frameworks: test_page.py
    "/master/masters": "seen",
    "/master/agent": "seen",       # none without an agent's id: test_sandboxes
    "/master": "seen",
    "/master/assets": "seen",
    "/master/app": "seen",
    "/master/static": "seen",
    "/master/flags": 403,
    "/metrics": 403,
    "/metrics/snapshot": 403,
    "/logging/toggle": 403,
    "/files/debug": 403,
    "/files/browse?path=/master/log": 403,
    "/files/read?path=/master/log&offset=0": 403,
    "/files/download?path=/master/log": 403,
    "/system/stats.json": "seen",
    "/master/weights": [],
    "/master/quota": ["infos"],
    "/master/maintenance/schedule": ["windows"],
    "/master/maintenance/status": ["draining_machines", "down_machines"],
    "/master/health": "seen",
    "/master/redirect": "seen",
    "/version": "seen",
    "/help": "seen",
}
# What changes: method and body; `bad` is answered 403.
CHANGES = {
    "/master/teardown": ("POST", "frameworkId=@F"),
    "/master/kill-task": ("POST", "frameworkId=@F&taskId=t"),
    "/master/quota": ("POST", '{"role":"r","guarantee":[{"name":"cpus","type":"SCALAR",'
                              '"scalar":{"value":1}}]}'),
    "/master/weights": ("PUT", '[{"role":"r","weight":3}]'),
    "/master/maintenance/schedule": ("POST", '{"windows":[]}'),
    "/master/machine/down": ("POST", '[{"hostname":"m"}]'),
    "/master/machine/up": ("POST", '[{"hostname":"m"}]'),
    "/master/reserve": ("POST", 'slaveId=@A&resources=[{"name":"cpus","type":"SCALAR","scalar":'
                                '{"value":0.1},"reservations":[{"type":"DYNAMIC","role":"r",'
                                '"principal":"bad"}]}]'),
    "/master/unreserve": ("POST", 'slaveId=@A&resources=[{"name":"disk","type":"SCALAR","scalar":'
                                  '{"value":64},"reservations":[{"type":"DYNAMIC","role":"r",'
                                  '"principal":"good"}]}]'),
    "/master/create-volumes": ("POST", 'slaveId=@A&volumes=[{"name":"disk","type":"SCALAR",'
                               '"scalar":{"value":64},"reservations":[{"type":"DYNAMIC",'
                               '"role":"r","principal":"good"}],"disk":{"persistence":{"id":"v",'
                               '"principal":"bad"},"volume":{"container_path":"p","mode":"RW"}}}]'),
    "/master/destroy-volumes": ("POST", 'slaveId=@A&volumes=[{"name":"disk","type":"SCALAR",'
                                '"scalar":{"value":32},"reservations":[{"type":"DYNAMIC",'
                                '"role":"r","principal":"good"}],"disk":{"persistence":{"id":"w",'
                                '"principal":"good"},"volume":{"container_path":"p",'
                                '"mode":"RW"}}}]'),
}
# Paths that other tests are about.
APIS = {"/master/api/v1", "/master/api/v1/scheduler"}
# For the other masters of a group alone: test_following.py.
FOLLOWING = {"/master/follow", "/master/followed"}

# The same for calls of the operator API: 403, "seen", or what is empty in the answer.
CALLS = {
    "GET_HEALTH": "seen", "GET_VERSION": "seen", "GET_MASTER": "seen", "GET_LOGGING_LEVEL": "seen",
    "GET_METRICS": "seen",
    "GET_FLAGS": 403, "LIST_FILES": 403, "READ_FILE": 403,
    "SET_LOGGING_LEVEL": 403,
    "GET_STATE": ["get_tasks.tasks", "get_executors.executors", "get_frameworks.frameworks"],
    "GET_AGENTS": "seen",
    "GET_FRAMEWORKS": ["frameworks", "completed_frameworks"],
    "GET_EXECUTORS": ["executors"],
    "GET_TASKS": ["tasks", "unreachable_tasks", "completed_tasks"],
    "GET_ROLES": ["roles"],
    "GET_WEIGHTS": ["weight_infos"],
    "GET_QUOTA": ["status.infos", "status.configs"],
    "GET_OPERATIONS": ["operations"],
    "GET_MAINTENANCE_STATUS": ["status.draining_machines"],
    "GET_MAINTENANCE_SCHEDULE": ["schedule.windows"],
    "TEARDOWN": 403, "MARK_AGENT_GONE": 403, "UPDATE_QUOTA": 403, "SET_QUOTA": 403,
    "REMOVE_QUOTA": 403, "UPDATE_WEIGHTS": 403, "RESERVE_RESOURCES": 403,
    "UNRESERVE_RESOURCES": 403, "CREATE_VOLUMES": 403, "DESTROY_VOLUMES": 403, "GROW_VOLUME": 403,
    "SHRINK_VOLUME": 403, "UPDATE_MAINTENANCE_SCHEDULE": 403, "START_MAINTENANCE": 403,
    "STOP_MAINTENANCE": 403, "DRAIN_AGENT": 403, "DEACTIVATE_AGENT": 403, "REACTIVATE_AGENT": 403,
}
# SUBSCRIBE does not end: test_events.py is about it.
NOT_ASKED = {"UNKNOWN", "SUBSCRIBE"}
RESERVED = {"name": "disk", "type": "SCALAR", "scalar": {"value": 64},
            "reservations": [{"type": "DYNAMIC", "role": "r", "principal": "good"}]}


def volume(name, size, principal):
    return dict(RESERVED, scalar={"value": size}, disk={
        "persistence": {"id": name, "principal": principal},
        "volume": {"container_path": "p", "mode": "RW"}})


class Authorization(harness.TestCase):
    agents = None

    def setUp(self):
        super().setUp()
        folder = self.temporary()
        self.cluster = harness.Cluster(1, {
            **MASTER, "external_log_file": private_file(folder, "log", "a line"), "credentials": private_file(folder, "credentials", CREDENTIALS),
            "acls": "file://" + private_file(folder, "acls", NOTHING)}, {
                "resources": "cpus:4;mem:4096;disk:1024"})
        self.master.headers = GOOD
        self.cluster.start()
        self.scheduler = harness.Scheduler(
            self.master.address, headers=GOOD, principal="good", roles=["r"], failover_timeout=1000)
        self.addCleanup(self.scheduler.close)
        self.scheduler.subscribe()
        self.offer = self.scheduler.offer()
        self.agent_id = self.offer["agent_id"]["value"]

    def ask(self, path, headers, method="GET", body=None):
        """(status, text); @A and @F in a body are the agent's and the framework's ids."""
        body = body and body.replace("@A", self.agent_id).replace("@F", self.scheduler.id or "")
        status, _, text = harness.request(self.master.address, method, path, body, headers)
        return status, text.decode()

    def operate(self, headers, call):
        return self.ask("/api/v1", {"Content-Type": "application/json", **headers}, "POST",
                        json.dumps(call))

    def fill(self):
        """Something to see of every kind, by one who may do everything."""
        info = harness.task(self.offer, "sleep 1000", "t")
        executor = {"executor_id": {"value": "e"}, "command": {"value": "sleep 1000"}}
        del info["command"]
        self.scheduler.launch(self.offer, [{**info, "executor": executor}])
        harness.wait_for(lambda: self.master.json("/tasks")["tasks"], "the task")
        wide = dict(RESERVED, scalar={"value": 96})
        agent = {"agent_id": {"value": self.agent_id}}
        for call, status in [
                ({"type": "RESERVE_RESOURCES",
                  "reserve_resources": {**agent, "resources": [wide]}}, 202),
                ({"type": "CREATE_VOLUMES",
                  "create_volumes": {**agent, "volumes": [volume("w", 32, "good")]}}, 202),
                ({"type": "UPDATE_WEIGHTS", "update_weights": {
                    "weight_infos": [{"role": "r", "weight": 2}]}}, 200),
                ({"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
                    {"role": "r", "limits": {"cpus": {"value": 9}}}]}}, 200),
                ({"type": "UPDATE_MAINTENANCE_SCHEDULE", "update_maintenance_schedule": {
                    "schedule": {"windows": [{"machine_ids": [{"hostname": "m"}],
                                              "unavailability": {"start": {"nanoseconds": 1}}}]}}},
                 200)]:
            self.assertEqual(self.operate(self.master.headers, call)[0], status, call)
        harness.wait_for(lambda: self.master.json("/offers")["offers"], "an offer of the rest")

    def expect_hidden(self, what, expected, good, bad):
        """Both answers are (status, text)."""
        if isinstance(expected, int):
            self.assertEqual((good[0], bad[0]), (200, expected), what)
            return
        self.assertEqual((good[0] // 100, good[0]), (bad[0] // 100, bad[0]), what)
        if expected == "seen":
            return
        shown, hidden = json.loads(good[1]), json.loads(bad[1])
        if not expected:
            self.assertNotEqual(shown, [], what)
            self.assertEqual(hidden, [], what)
        for member in expected:
            some, none = shown, hidden
            for key in member.split("."):
                some, none = some.get(key, []), none.get(key, [])
            self.assertEqual(none, [], (what, member))
            # Nothing of these is there now; master_view.c looks at some.
            if not member.startswith(("completed", "unreachable", "down", "operations")):
                self.assertTrue(some, (what, member, shown))

    def test_every_path(self):
        self.fill()
        paths = {"/" + process["id"] + endpoint["name"].rstrip("/")
                 for process in self.master.json("/help?format=json")["processes"]
                 for endpoint in process["endpoints"]}
        self.assertEqual(paths, {path.partition("?")[0] for path in READS} | set(CHANGES) | APIS | FOLLOWING,
                         "each path says what it shows or lets do whom")
        for path, expected in READS.items():
            self.expect_hidden(path, expected, self.ask(path, GOOD), self.ask(path, BAD))
        for path, (method, body) in CHANGES.items():
            self.assertEqual(self.ask(path, BAD, method, body), (403, "403 Forbidden."), path)
        self.assertNotIn('"r"', self.ask("/slaves", BAD)[1], "what is reserved for a role")
        self.assertIn('"r"', self.ask("/slaves", GOOD)[1])

    def test_sandboxes(self):
        self.fill()
        for path, what in [("/frameworks/%s/executors/e/runs/latest" % self.scheduler.id, "browse"),
                           ("/frameworks/none/executors/e/runs/latest", "browse"), ("/slave/log", "read")]:
            url = "/agent/%s/files/%s?path=%s" % (self.agent_id, what, path)
            self.assertEqual(self.ask(url, BAD), (403, "403 Forbidden."))
            self.assertNotEqual(self.ask(url, GOOD)[0], 403)
            self.assertEqual(self.ask(url, {})[0], 401)
        harness.wait_for(lambda: self.ask("/agent/%s/files/browse?path=/frameworks/%s/executors/e/runs/latest" % (
            self.agent_id, self.scheduler.id), GOOD)[0] == 200, "the sandbox")

    def test_every_call(self):
        self.fill()
        with open(os.path.join(ROOT, "proto/messages/master.proto"), encoding="utf-8") as file:
            types = re.search(r"message Call \{\s*enum Type \{(.*?)\}", file.read(), re.S).group(1)
        known = set(re.findall(r"^\s*([A-Z_]+) = ", types, re.M)) - NOT_ASKED
        served = {kind for kind in known if self.operate(GOOD, {"type": kind})[0] != 501}
        self.assertEqual(served, set(CALLS), "each call says what it shows or lets do whom")
        agent = {"agent_id": {"value": self.agent_id}}
        machines = {"machines": [{"hostname": "m"}]}
        fields = {
            "GET_METRICS": {},
            "LIST_FILES": {"path": "/master/log"}, "READ_FILE": {"path": "/master/log", "offset": 0},
            "SET_LOGGING_LEVEL": {"level": 0, "duration": {"nanoseconds": 1}},
            "TEARDOWN": {"framework_id": {"value": self.scheduler.id}},
            "MARK_AGENT_GONE": agent, "DRAIN_AGENT": agent, "DEACTIVATE_AGENT": agent,
            "REACTIVATE_AGENT": agent,
            "UPDATE_QUOTA": {"quota_configs": [{"role": "r"}]},
            "SET_QUOTA": {"quota_request": {"role": "r", "guarantee": []}},
            "REMOVE_QUOTA": {"role": "r"},
            "UPDATE_WEIGHTS": {"weight_infos": [{"role": "r", "weight": 3}]},
            "RESERVE_RESOURCES": {**agent, "resources": [dict(RESERVED, reservations=[
                {"type": "DYNAMIC", "role": "r", "principal": "bad"}])]},
            "UNRESERVE_RESOURCES": {**agent, "resources": [RESERVED]},
            "CREATE_VOLUMES": {**agent, "volumes": [volume("v", 64, "bad")]},
            "DESTROY_VOLUMES": {**agent, "volumes": [volume("w", 32, "good")]},
            "GROW_VOLUME": {**agent, "volume": volume("w", 32, "good"),
                            "addition": dict(RESERVED, scalar={"value": 1})},
            "SHRINK_VOLUME": {**agent, "volume": volume("w", 32, "good"),
                              "subtract": {"value": 1}},
            "UPDATE_MAINTENANCE_SCHEDULE": {"schedule": {"windows": []}},
            "START_MAINTENANCE": machines, "STOP_MAINTENANCE": machines,
        }
        for kind, expected in CALLS.items():
            call = {"type": kind}
            if kind in fields:
                call[kind.lower()] = fields[kind]
            bad = self.operate(BAD, call)
            if expected == 403:
                self.assertEqual(bad, (403, "403 Forbidden."), kind)
                continue
            good, bad = [(answer[0], json.dumps(json.loads(answer[1]).get(kind.lower(), {})))
                         for answer in [self.operate(GOOD, call), bad]]
            self.expect_hidden(kind, expected, good, bad)
        self.assertNotIn('"r"', self.operate(BAD, {"type": "GET_AGENTS"})[1])

    def test_frameworks(self):
        refused = harness.Scheduler(self.master.address, headers=BAD, principal="bad", roles=["r"])
        self.addCleanup(refused.close)
        with self.assertRaises(harness.Timeout):
            refused.subscribe()
        self.assertEqual(refused.events[0]["error"]["message"],
                         "Not authorized to register framework  with roles { r }")


class Rules(harness.TestCase):
    """What --acls may not say."""
    agents = None

    def test_wrong_lists_end_the_master(self):
        for acls, why in [
                ("{", "Invalid value for --acls"),
                ('{"view_flags":[{"principals":{"type":"ANY"},"flags":{"values":["x"]}}]}',
                 "ACL.ViewFlags type must be either NONE or ANY"),
                ("/no/such/file", "Error reading file '/no/such/file'")]:
            code, _, err = harness.run(["master", "--registry=in_memory", "--acls=" + acls])
            self.assertNotEqual(code, 0)
            self.assertIn(why, err)
