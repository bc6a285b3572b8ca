"""Each list of --acls by itself: what one is denied who may do everything but that, and what one may
who may do nothing but that. A check that asks for the wrong action shows up here."""

import json
import os

import harness
import test_authorization
from test_authentication import MASTER, basic, private_file
from test_authorization import CALLS, CHANGES, READS, RESERVED, acl_lists

NAMES = [name for name, _ in acl_lists()]
GOOD = basic("good", "s")


def rules():
    """`not-X` is denied the list X alone, `only-X` all lists but X."""
    return {name: [{"principals": {"values": ["not-" + name] + [
        "only-" + other for other in NAMES if other != name]}, key: {"type": "NONE"}}]
            for name, key in acl_lists()}


def facts(value, path=""):
    """Where in a document something is."""
    found = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= facts(inner, path + "." + key if path else key)
    elif isinstance(value, list):
        for inner in value:
            found |= facts(inner, path)
    if value not in ({}, [], "", None):
        found.add(path)
    return found


def lost(shown, hidden):
    """What the second document lacks, without what is inside of that."""
    # What is offered comes and goes.
    missing = {path for path in facts(shown) - facts(hidden) if "offered" not in path}
    return sorted(path for path in missing if not any(
        path[:end] in missing for end in range(len(path)) if path[end] == "."))


# What each list hides, of paths and of calls of the operator API: the status, or what is missing.
LOG = "?path=/master/log"
SEEN_PATHS = {
    "get_quotas": {"/master/quota": ["", "configs", "infos"]},
    "view_roles": {
        "/master/state": ["slaves.reserved_resources"],
        "/master/state-summary": ["slaves.reserved_resources"],
        "/master/roles": ["roles"],
        "/master/slaves": ["slaves.reserved_resources", "slaves.reserved_resources_full",
                           "slaves.used_resources_full"],
        "/master/volumes": ["volumes"],
        "/master/weights": ["", "role", "weight"]},
    "get_endpoints": dict.fromkeys(
        ["/metrics", "/metrics/snapshot", "/logging/toggle", "/files/debug"], 403),
    "view_frameworks": {
        "/master/state": ["frameworks"], "/master/frameworks": ["frameworks"],
        "/master/state-summary": ["frameworks", "slaves.framework_ids"],
        "/master/offers": ["offers"],
        "/master/tasks": ["tasks"]},
    "view_tasks": {"/master/state": ["frameworks.tasks"], "/master/tasks": ["tasks"],
                   "/master/frameworks": ["frameworks.tasks"]},
    "view_executors": {"/master/state": ["frameworks.executors"],
                       "/master/frameworks": ["frameworks.executors"]},
    "access_mesos_logs": dict.fromkeys(
        ["/files/browse" + LOG, "/files/read" + LOG + "&offset=0", "/files/download" + LOG], 403),
    "view_flags": {"/master/state": ["external_log_file", "flags"], "/master/flags": 403},
    "get_maintenance_schedules": {"/master/maintenance/schedule": ["", "windows"]},
    "get_maintenance_statuses": {"/master/maintenance/status": ["", "draining_machines"]},
}
RESOURCES = ["agents.allocated_resources", "agents.total_resources.disk",
             "agents.total_resources.reservation", "agents.total_resources.reservations"]
SEEN_CALLS = {
    "get_quotas": {"GET_QUOTA": ["get_quota.status"]},
    "view_roles": {"GET_STATE": ["get_state.get_agents." + each for each in RESOURCES],
                   "GET_AGENTS": ["get_agents." + each for each in RESOURCES],
                   "GET_ROLES": ["get_roles"], "GET_WEIGHTS": ["get_weights"]},
    "view_frameworks": {
        "GET_STATE": ["get_state.get_executors.executors", "get_state.get_frameworks.frameworks",
                      "get_state.get_tasks.tasks"],
        "GET_FRAMEWORKS": ["get_frameworks.frameworks"],
        "GET_EXECUTORS": ["get_executors.executors"], "GET_TASKS": ["get_tasks.tasks"]},
    "view_tasks": {"GET_STATE": ["get_state.get_tasks.tasks"], "GET_TASKS": ["get_tasks.tasks"]},
    "view_executors": {"GET_STATE": ["get_state.get_executors.executors"],
                       "GET_EXECUTORS": ["get_executors.executors"]},
    "access_mesos_logs": {"LIST_FILES": 403, "READ_FILE": 403},
    "view_flags": {"GET_FLAGS": 403},
    "get_maintenance_schedules": {"GET_MAINTENANCE_SCHEDULE": [
        "get_maintenance_schedule.schedule"]},
    "get_maintenance_statuses": {"GET_MAINTENANCE_STATUS": ["get_maintenance_status.status"]},
}
# Which list decides of a change.
DECIDES = {
    "/master/teardown": "teardown_frameworks", "/master/quota": "update_quotas",
    "/master/weights": "update_weights",
    "/master/maintenance/schedule": "update_maintenance_schedules",
    "/master/machine/down": "start_maintenances", "/master/machine/up": "stop_maintenances",
    "/master/reserve": "reserve_resources", "/master/unreserve": "unreserve_resources",
    "/master/create-volumes": "create_volumes", "/master/destroy-volumes": "destroy_volumes",
    "/master/kill-task": "teardown_frameworks",
    "TEARDOWN": "teardown_frameworks", "MARK_AGENT_GONE": "mark_agents_gone",
    "DRAIN_AGENT": "drain_agents", "DEACTIVATE_AGENT": "deactivate_agents",
    "REACTIVATE_AGENT": "reactivate_agents", "UPDATE_QUOTA": "update_quotas",
    "SET_QUOTA": "update_quotas", "REMOVE_QUOTA": "update_quotas",
    "UPDATE_WEIGHTS": "update_weights", "RESERVE_RESOURCES": "reserve_resources",
    "UNRESERVE_RESOURCES": "unreserve_resources", "CREATE_VOLUMES": "create_volumes",
    "DESTROY_VOLUMES": "destroy_volumes", "GROW_VOLUME": "resize_volumes",
    "SHRINK_VOLUME": "resize_volumes",
    "UPDATE_MAINTENANCE_SCHEDULE": "update_maintenance_schedules",
    "START_MAINTENANCE": "start_maintenances", "STOP_MAINTENANCE": "stop_maintenances",
    "SET_LOGGING_LEVEL": "set_log_level",
}
# The fields of changing calls, in an order in which each finds what it is about. @A: the agent.
VOLUME = test_authorization.volume("w", 32, "good")
CHANGE_FIELDS = {
    "SET_LOGGING_LEVEL": {"level": 0, "duration": {"nanoseconds": 1}},
    "UPDATE_QUOTA": {"quota_configs": [{"role": "r"}]},
    "SET_QUOTA": {"quota_request": {"role": "r", "guarantee": []}},
    "REMOVE_QUOTA": {"role": "r"},
    "UPDATE_WEIGHTS": {"weight_infos": [{"role": "r", "weight": 3}]},
    "RESERVE_RESOURCES": {"agent_id": "@A", "resources": [dict(RESERVED, scalar={
        "value": 8}, reservations=[{"type": "DYNAMIC", "role": "r", "principal": "@W"}])]},
    "UNRESERVE_RESOURCES": {"agent_id": "@A", "resources": [RESERVED]},
    "CREATE_VOLUMES": {"agent_id": "@A", "volumes": [test_authorization.volume("v", 64, "@W")]},
    "DESTROY_VOLUMES": {"agent_id": "@A", "volumes": [VOLUME]},
    "GROW_VOLUME": {"agent_id": "@A", "volume": VOLUME,
                    "addition": dict(RESERVED, scalar={"value": 1})},
    "SHRINK_VOLUME": {"agent_id": "@A", "volume": VOLUME, "subtract": {"value": 1}},
    "UPDATE_MAINTENANCE_SCHEDULE": {"schedule": {"windows": []}},
    "START_MAINTENANCE": {"machines": [{"hostname": "m"}]},
    "STOP_MAINTENANCE": {"machines": [{"hostname": "m"}]},
    "TEARDOWN": {"framework_id": {"value": "@F"}},
    "DEACTIVATE_AGENT": {"agent_id": "@A"}, "REACTIVATE_AGENT": {"agent_id": "@A"},
    "DRAIN_AGENT": {"agent_id": "@A"}, "MARK_AGENT_GONE": {"agent_id": "@A"},
}


class EveryAction(test_authorization.Authorization):
    maxDiff = None

    def setUp(self):
        harness.TestCase.setUp(self)
        folder = self.temporary()
        principals = ["good"] + [kind + name for name in NAMES for kind in ("not-", "only-")]
        credentials = {"credentials": [{"principal": each, "secret": "s"} for each in principals]}
        self.cluster = harness.Cluster(1, {
            **MASTER, "external_log_file": private_file(folder, "log", "a line"),
            "credentials": private_file(folder, "credentials", credentials),
            "acls": "file://" + private_file(folder, "acls", rules())}, {
                "resources": "cpus:4;mem:4096;disk:1024"})
        self.master.headers = GOOD
        self.cluster.start()
        self.scheduler = harness.Scheduler(self.master.address, headers=GOOD, principal="good",
                                           roles=["r"], failover_timeout=1000)
        self.addCleanup(self.scheduler.close)
        self.scheduler.subscribe()
        self.offer = self.scheduler.offer()
        self.agent_id = self.offer["agent_id"]["value"]

    def differences(self, places, ask):
        """{list: {place: what is missing}}"""
        found = {}
        good = {place: ask(place, GOOD) for place in places}
        for name in NAMES:
            for place in places:
                status, text = ask(place, basic("not-" + name, "s"))
                if status == good[place][0]:
                    missing = lost(*[json.loads(each) if each.startswith(("[", "{")) else each
                                     for each in (good[place][1], text)])
                else:
                    missing = status
                if missing:
                    found.setdefault(name, {})[place] = missing
        return found

    test_frameworks = None  # of the one inherited from

    def fill(self):
        super().fill()

        def settled():
            operations = json.loads(self.operate(GOOD, {"type": "GET_OPERATIONS"})[1])
            return not operations["get_operations"].get("operations")
        harness.wait_for(settled, "operations that are over")

    def test_every_path(self):
        self.fill()
        self.assertEqual(self.differences(READS, self.ask), SEEN_PATHS)
        self.assertEqual(set(CHANGES), {place for place in DECIDES if place.startswith("/")})
        # The end of the framework last.
        for place in sorted(CHANGES, key=lambda place: place == "/master/teardown"):
            method, body = CHANGES[place]
            self.decides(place, lambda who, place=place, method=method, body=body:
                         self.ask(place, basic(who, "s"), method, body.replace("bad", who)))

    def test_every_call(self):
        self.fill()
        changes = [place for place in DECIDES if not place.startswith("/")]
        self.assertEqual({kind for kind in CALLS if kind in changes}, set(changes))
        self.assertEqual(
            self.differences([kind for kind in CALLS if kind not in changes],
                             lambda kind, who: self.operate(who, self.call(kind))), SEEN_CALLS)
        agent_id = json.dumps({"value": self.agent_id})
        for kind, fields in CHANGE_FIELDS.items():
            call = json.dumps({"type": kind, kind.lower(): fields}).replace(
                '"@A"', agent_id).replace("@F", self.scheduler.id)
            self.decides(kind, lambda who, call=call: self.operate(
                basic(who, "s"), json.loads(call.replace("@W", who))))

    def test_sandboxes(self):
        self.fill()
        for action, path in [
                ("access_sandboxes", "/frameworks/%s/executors/e/runs/latest" % self.scheduler.id),
                ("access_mesos_logs", "/slave/log")]:
            url = "/agent/%s/files/browse?path=%s" % (self.agent_id, path)
            for who in ("not-" + action, "only-get_quotas"):
                self.assertEqual(self.ask(url, basic(who, "s")), (403, "403 Forbidden."), (who, path))
            self.assertNotEqual(self.ask(url, basic("only-" + action, "s"))[0], 403, path)

    def decides(self, place, ask):
        """Who is denied this list alone is refused; who is denied all others is not. `ask` is given
        a principal."""
        refused = (403, "403 Forbidden.")
        self.assertEqual(ask("not-" + DECIDES[place]), refused, place)
        self.assertEqual(ask("only-get_quotas"), refused, place)
        status, text = ask("only-" + DECIDES[place])
        self.assertNotEqual((status, text), refused, place)

    def call(self, kind):
        fields = {"GET_METRICS": {}, "LIST_FILES": {"path": "/master/log"},
                  "READ_FILE": {"path": "/master/log", "offset": 0}}
        return {"type": kind, kind.lower(): fields[kind]} if kind in fields else {"type": kind}
