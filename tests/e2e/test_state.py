"""The read-only endpoints: names of keys as Mesos has them, and files of sandboxes."""

import json
import os
import threading
from urllib.parse import quote

import harness
from harness import get, wait_for
from test_tasks import data, executor_info
from scheduler import task

STATE = """version build_date build_time build_user start_time elected_time id pid hostname
    capabilities activated_slaves deactivated_slaves unreachable_slaves leader leader_info flags
    slaves recovered_slaves frameworks completed_frameworks orphan_tasks
    unregistered_frameworks"""
STATE_OPTIONAL = "git_sha git_branch git_tag domain cluster log_dir external_log_file"
AGENT = """id hostname port attributes pid registered_time resources used_resources
    offered_resources reserved_resources unreserved_resources active deactivated version
    capabilities"""
AGENT_OPTIONAL = "domain reregistered_time drain_info estimated_drain_start_time_seconds"
FRAMEWORK = """id name used_resources offered_resources capabilities hostname webui_url active
    connected recovered user failover_timeout checkpoint registered_time unregistered_time
    resources roles tasks unreachable_tasks completed_tasks offers executors offer_constraints"""
FRAMEWORK_OPTIONAL = "pid principal reregistered_time labels"
TASK = "id name framework_id executor_id slave_id state resources role statuses"
TASK_OPTIONAL = "limits user labels discovery container health_check"
STATUS = "state timestamp"
STATUS_OPTIONAL = "labels container_status healthy"
OFFER = "id framework_id allocation_info slave_id resources"
EXECUTOR = "executor_id name framework_id command resources slave_id"
EXECUTOR_OPTIONAL = "role labels type"
FILE = "path nlink size mtime mode uid gid"
STATISTICS = """timestamp cpus_user_time_secs cpus_system_time_secs cpus_soft_limit
    mem_limit_bytes mem_soft_limit_bytes mem_rss_bytes"""
METRICS = """master/elected master/uptime_secs master/slaves_active master/slaves_connected
    master/frameworks_active master/frameworks_connected master/tasks_running
    master/tasks_finished master/tasks_failed master/tasks_lost master/cpus_total
    master/cpus_used master/mem_total master/outstanding_offers"""


class Shapes(harness.TestCase):
    def keys(self, table, names, optional=""):
        found, needed = set(table), set(names.split())
        self.assertEqual(needed - found, set(), "missing keys")
        self.assertEqual(found - needed - set(optional.split()), set(), "keys that Mesos lacks")

    def test_master_state(self):
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("exit 0"))
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        offer = scheduler.offer(cpus=1)
        scheduler.launch(offer, [task(offer, None, executor=executor_info(), data=data("wait"))])
        held = scheduler.offer()
        wait_for(lambda: self.master.state()["frameworks"][0]["executors"], "executor in /state")
        state = self.master.state()
        self.keys(state, STATE, STATE_OPTIONAL)
        self.assertRegex(state["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(state["pid"], "master@127.0.0.1:%d" % self.master.address[1])
        self.assertEqual(state["leader"], state["pid"])
        self.keys(state["slaves"][0], AGENT, AGENT_OPTIONAL)
        framework = state["frameworks"][0]
        self.keys(framework, FRAMEWORK, FRAMEWORK_OPTIONAL)
        self.keys(framework["completed_tasks"][0], TASK, TASK_OPTIONAL)
        self.keys(framework["executors"][0], EXECUTOR, EXECUTOR_OPTIONAL)
        entry = next(t for t in framework["tasks"] if t["id"] == task_id)
        self.keys(entry, TASK, TASK_OPTIONAL)
        self.assertEqual(entry["executor_id"], "")
        self.assertEqual([s["state"] for s in entry["statuses"]],
                         ["TASK_STARTING", "TASK_RUNNING"])
        for status in entry["statuses"]:
            self.keys(status, STATUS, STATUS_OPTIONAL)
        self.keys(framework["offers"][0], OFFER)
        self.assertIn(held["id"]["value"], [o["id"] for o in framework["offers"]])

    def test_other_endpoints_of_the_master(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.keys(self.master.json("/slaves"), "slaves recovered_slaves")
        self.keys(self.master.json("/slaves")["slaves"][0],
                  AGENT + """ reserved_resources_full unreserved_resources_full
                  used_resources_full offered_resources_full""", AGENT_OPTIONAL)
        self.assertEqual([t["id"] for t in self.master.json("/tasks")["tasks"]], [task_id])
        self.keys(self.master.json("/frameworks"),
                  "frameworks completed_frameworks unregistered_frameworks")
        status, _, body = get(self.master.address, "/health")
        self.assertEqual((status, body), (200, b""))
        self.assertRegex(self.master.json("/version")["version"], r"^\d+\.\d+\.\d+$")
        status, headers, _ = get(self.master.address, "/redirect")
        self.assertEqual(status, 307)
        self.assertEqual(headers["Location"], "//localhost:%d" % self.master.address[1])
        missing = set(METRICS.split()) - set(self.master.json("/metrics/snapshot"))
        self.assertEqual(missing, set())

    def test_containers_of_the_agent(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        names = "framework_id executor_id executor_name source statistics"
        entry, = self.agent.json("/containers")
        self.keys(entry, names + " container_id status")
        self.keys(entry["status"], "container_id executor_pid")
        statistics, = self.agent.json("/monitor/statistics")
        self.keys(statistics, names)
        for shown in (entry, statistics):
            self.keys(shown["statistics"], STATISTICS)
            self.assertEqual(shown["executor_id"], task_id)
            self.assertEqual(shown["statistics"]["cpus_soft_limit"], 0.2)
            self.assertEqual(shown["statistics"]["mem_limit_bytes"], 64 * 2 ** 20)

    def test_names_of_old(self):
        for path in ("/state.json", "/master/state.json", "/slaves.json", "/tasks.json"):
            self.assertEqual(get(self.master.address, path)[0], 200, path)
        for path in ("/state", "/state.json", "/slave(1)/state"):
            self.assertEqual(get(self.agent.address, path)[0], 200, path)

    def test_unknown_paths(self):
        for path in ("/no-such-thing", "/master/nothing", "/files/nothing"):
            self.assertEqual(get(self.master.address, path)[0], 404, path)


class Files(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe()
        self.task_id = self.scheduler.run("printf 0123456789 > digits; mkdir sub; echo x > sub/y")
        self.scheduler.wait_terminal(self.task_id)
        self.sandbox = self.agent.sandbox(self.scheduler.id, self.task_id)

    def read(self, path, query=""):
        return get(self.agent.address, "/files/read?path=%s%s" % (quote(path), query))

    def names(self):
        latest = "frameworks/%s/executors/%s/runs/latest" % (self.scheduler.id, self.task_id)
        return (self.sandbox, "/" + latest,
                "%s/slaves/%s/%s" % (self.agent.work_dir, self.agent.id, latest))

    def test_browse(self):
        for root in self.names():
            found = self.agent.json("/files/browse?path=" + quote(root))
            self.assertEqual([entry["path"] for entry in found],
                             [root + "/" + name for name in ("digits", "stderr", "stdout", "sub")])
            self.assertEqual(set(found[0]), set(FILE.split()))
            self.assertEqual((found[0]["size"], found[0]["mode"][:4]), (10, "-rw-"))
            self.assertEqual(found[3]["mode"][0], "d")

    def test_links(self):
        for name, target in (("away", "/etc"), ("down", "sub"), ("nowhere", "none")):
            os.symlink(target, os.path.join(self.sandbox, name))
        found = self.agent.json("/files/browse?path=" + quote(self.sandbox))
        modes = {os.path.basename(entry["path"]): entry["mode"][0] for entry in found}
        self.assertEqual((modes["away"], modes["down"], modes["nowhere"]), ("l", "d", "l"))
        for path, status in (("away", 400), ("away/passwd", 400), ("down", 200),
                             ("nowhere", 404), ("sub/../down", 200), ("..", 400)):
            answer = get(self.agent.address,
                         "/files/browse?path=" + quote("%s/%s" % (self.sandbox, path)))
            self.assertEqual(answer[0], status, path)

    def test_links_beside_other_connections(self):
        """Descriptors of files and of connections take each other's numbers."""
        os.symlink("sub", os.path.join(self.sandbox, "down"))
        over = threading.Event()

        def connect():
            while not over.is_set():
                get(self.agent.address, "/health")

        others = [threading.Thread(target=connect) for _ in range(3)]
        for other in others:
            other.start()
        try:
            for _ in range(100):
                found = self.agent.json("/files/browse?path=" + quote(self.sandbox))
                self.assertEqual([entry["mode"][0] for entry in found], list("-d--d"))
        finally:
            over.set()
            for other in others:
                other.join()

    def test_read(self):
        for root in self.names():
            path = root + "/digits"
            self.assertEqual(json.loads(self.read(path)[2]), {"offset": 10, "data": ""})
            for query, offset, expected in (("&offset=0", 0, "0123456789"),
                                            ("&offset=3&length=4", 3, "3456"),
                                            ("&offset=99", 99, "")):
                answer = json.loads(self.read(path, query)[2])
                self.assertEqual((answer["offset"], answer["data"]), (offset, expected))

    def test_bad_reads(self):
        for path, query, status in (
                (self.sandbox, "&offset=0", 400), (self.sandbox + "/none", "&offset=0", 404),
                (self.sandbox + "/digits", "&offset=-2", 400),
                (self.sandbox + "/digits", "&offset=x", 400),
                ("/etc/passwd", "&offset=0", 404)):
            self.assertEqual(self.read(path, query)[0], status, (path, query))
        status, _, body = self.read(self.sandbox + "/../" * 20 + "etc/passwd", "&offset=0")
        self.assertIn(status, (400, 404))
        self.assertNotIn(b"root:", body)
        self.assertEqual(get(self.agent.address, "/files/read")[0], 400)
        self.assertEqual(get(self.agent.address, "/files/browse")[0], 400)
        status, headers, body = get(self.agent.address, "/files/browse?path=/etc")
        self.assertEqual((status, headers["Content-Type"], body),
                         (404, "text/plain; charset=utf-8", b""))
