"""Reads of a big state while tasks run: each answer is a picture of one moment, clients that do not
read hold up nobody, and the processes that write answers do not outlive the master."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import unittest

import harness
import processes
from harness import get
from processes import SCALE, wait_for
from test_authentication import private_file
from test_authorization import BAD, CREDENTIALS, GOOD, NOTHING
from test_events import Watcher
from test_load import BENCH_LOAD

AGENTS = 100
TASKS = 8000
GET_STATE = b'{"type":"GET_STATE"}'


def get_state(address, accept="application/json"):
    return operate(address, {"type": "GET_STATE"}, accept)


def operate(address, call, accept="application/json"):
    connection = http.client.HTTPConnection(*address, timeout=60 * SCALE)
    try:
        connection.request("POST", "/api/v1", json.dumps(call),
                           {"Content-Type": "application/json", "Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def cpus(resources):
    return sum(r["scalar"]["value"] for r in resources if r["name"] == "cpus")


@unittest.skipUnless(os.path.exists(BENCH_LOAD), "bench_load is not built")
class Reads(harness.TestCase):
    agents = 0

    def setUp(self):
        super().setUp()
        self.deaf = []
        self.addCleanup(lambda: [client.close() for client in self.deaf])

    def load(self, *flags):
        return processes.spawn(
            [BENCH_LOAD, "--master=%s:%d" % self.master.address, "--agents=%d" % AGENTS,
             "--agent_cpus=10", "--no-echo", "--json", *flags],
            env=harness.clean_environment(), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)

    def wait_running(self, load, tasks):
        def running():
            if load.poll() is not None:
                raise AssertionError("the load ended with %d" % load.returncode)
            return self.master.metric("master/tasks_running") >= tasks
        wait_for(running, "%d running tasks" % tasks, 60)

    def big(self):
        """Returns when 8,000 tasks run."""
        self.wait_running(self.load("--tasks=%d" % TASKS, "--task_length=500secs",
                                    "--stall=600secs"), TASKS)

    def children(self):
        return processes.descendants(self.master.process.pid)

    def deaf_client(self):
        """Asks for more than sockets hold and does not read it; waits until it is being written."""
        before = self.children()
        client = socket.socket()
        self.deaf.append(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(self.master.address)
        client.sendall(b"POST /api/v1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(GET_STATE), GET_STATE))
        self.assertEqual(client.recv(8, socket.MSG_WAITALL), b"HTTP/1.1")
        wait_for(lambda: self.children() - before, "a process that writes")
        return client

    def check_moment(self, state):
        """What a framework uses is the sum of what is listed, whatever is being launched."""
        framework, = state["frameworks"]
        live = [t for t in framework["tasks"]
                if t["state"] in ("TASK_STAGING", "TASK_RUNNING")]
        self.assertAlmostEqual(framework["used_resources"]["cpus"],
                               sum(t["resources"]["cpus"] for t in live), 3)
        self.assertAlmostEqual(framework["used_resources"]["cpus"],
                               sum(s["used_resources"]["cpus"] for s in state["slaves"]), 3)

    def test_each_answer_is_of_one_moment(self):
        load = self.load("--tasks=6000", "--rate=3000", "--task_length=1secs", "--task_spread=1secs")
        self.wait_running(load, 1000)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in range(3):
                for answer in pool.map(lambda _: get(self.master.address, "/state", 60), range(4)):
                    self.assertEqual(answer[0], 200)
                    self.check_moment(json.loads(answer[2]))
        out, _ = load.communicate(timeout=60 * SCALE)
        figures = json.loads(out)
        self.assertEqual((figures["tasks_done"], figures["violations"]), (6000, 0))

    def test_operators_see_the_same(self):
        self.big()
        status, body = get_state(self.master.address)
        self.assertEqual(status, 200)
        state = json.loads(body)["get_state"]
        self.assertEqual(len(state["get_tasks"]["tasks"]), TASKS)
        self.assertEqual(len(state["get_agents"]["agents"]), AGENTS)
        framework, = state["get_frameworks"]["frameworks"]
        self.assertAlmostEqual(cpus(framework["allocated_resources"]), TASKS / 10, 3)
        ids = {task["task_id"]["value"] for task in state["get_tasks"]["tasks"]}
        old = self.master.state()["frameworks"][0]["tasks"]
        self.assertEqual({task["id"] for task in old}, ids)
        status, packed = get_state(self.master.address, "application/x-protobuf")
        self.assertEqual(status, 200)
        for task in list(ids)[:100]:
            self.assertIn(task.encode(), packed)
        # Those with a limit or an id are found among as many.
        self.assertEqual(len(self.master.json("/tasks")["tasks"]), 100)
        found, = self.master.json("/tasks?task_id=" + min(ids))["tasks"]
        self.assertEqual(found["id"], min(ids))
        wait_for(lambda: not self.children(), "processes to be gone")

    def test_who_may_see_less_sees_less(self):
        """Clients who ask for the same at the same time, of whom one may see nothing."""
        folder = self.temporary()
        self.cluster.master.terminate()
        self.cluster.master.flags.update(
            authenticate_http_readonly="true",
            credentials=private_file(folder, "credentials", CREDENTIALS),
            acls="file://" + private_file(folder, "acls", NOTHING))
        self.cluster.master.headers = GOOD
        self.cluster.master.start()
        self.cluster.master.wait_ready()
        self.big()
        ask = [GOOD, BAD] * 3
        with concurrent.futures.ThreadPoolExecutor(len(ask)) as pool:
            for path in ("/state", "/tasks", "/frameworks"):
                for _ in range(3):
                    found = list(pool.map(
                        lambda who, path=path: get(self.master.address, path, 60, who)[2], ask))
                    for who, body in zip(ask, found):
                        self.assertEqual(b"framework_id" in body, who is GOOD, path)

    def test_what_operators_set_for_very_many(self):
        """Machines of a schedule and weights of roles, read by a child."""
        count, made = 1500, self.master.metric("master/reads/processes_made")

        def post(path, body, method="POST"):
            status, _, answer = harness.request(self.master.address, method, path,
                                                json.dumps(body))
            self.assertEqual(status, 200, answer)

        def call(kind):
            status, body = operate(self.master.address, {"type": kind})
            self.assertEqual(status, 200, body)
            return json.loads(body)[kind.lower()]
        machines = [{"hostname": "h%d" % i, "ip": "10.0.%d.%d" % divmod(i, 256)}
                    for i in range(count)]
        schedule = {"windows": [{"machine_ids": machines,
                                 "unavailability": {"start": {"nanoseconds": 1 << 62}}}]}
        post("/maintenance/schedule", schedule)
        post("/weights", [{"role": "r%d" % i, "weight": 2.0} for i in range(count)], "PUT")
        self.assertEqual(self.master.json("/maintenance/schedule"), schedule)
        status = self.master.json("/maintenance/status")
        names = {machine["hostname"] for machine in machines}
        self.assertEqual({m["id"]["hostname"] for m in status["draining_machines"]}, names)
        self.assertEqual(call("GET_MAINTENANCE_SCHEDULE")["schedule"], schedule)
        self.assertEqual({m["id"]["hostname"] for m in
                          call("GET_MAINTENANCE_STATUS")["status"]["draining_machines"]}, names)
        roles = {"r%d" % i for i in range(count)}
        self.assertEqual({info["role"] for info in self.master.json("/weights")}, roles)
        self.assertEqual({info["role"] for info in call("GET_WEIGHTS")["weight_infos"]}, roles)
        self.assertEqual(self.master.metric("master/reads/processes_made"), made + 6)

    def follow(self, watcher, tasks):
        """Applies the events to the state of the beginning until so many more have finished; each
        must fit: nothing is told twice, and nothing was left out in between."""
        tasks_then = watcher.take("SUBSCRIBED")["get_state"]["get_tasks"]
        over = {task["task_id"]["value"] for task in tasks_then.get("completed_tasks", [])}
        live = set()
        for task in tasks_then.get("tasks", []):
            # One that has ended is there until that is acknowledged, of which no event tells.
            (over if task["state"] == "TASK_FINISHED" else live).add(task["task_id"]["value"])
        self.assertGreaterEqual(len(live) + len(over), 1000, "a child wrote it")
        seen = 0

        def finished(events):
            nonlocal seen
            for event in events[seen:]:
                if event["type"] == "TASK_ADDED":
                    task = event["task_added"]["task"]["task_id"]["value"]
                    self.assertNotIn(task, live | over)
                    live.add(task)
                elif event["type"] == "TASK_UPDATED":
                    update = event["task_updated"]
                    task = update["status"]["task_id"]["value"]
                    if update["state"] == "TASK_FINISHED" and task in live:
                        live.remove(task)
                        over.add(task)
                    else:   # an update of an end may be told again, as it is to frameworks
                        self.assertIn(task, live | over)
            seen = len(events)
            return len(over) >= tasks and not live
        watcher.wait("all ends", finished)

    def test_who_subscribes_meanwhile_misses_nothing(self):
        load = self.load("--tasks=4000", "--rate=2000", "--task_length=1secs", "--task_spread=1secs")
        self.wait_running(load, 1200)
        children = self.master.metric("master/reads/processes_made")
        watchers = []
        for _ in range(3):
            watchers.append(Watcher(self.master.address))
            self._open.append(watchers[-1])
            watchers[-1].take("HEARTBEAT")
        out, _ = load.communicate(timeout=60 * SCALE)
        self.assertEqual(json.loads(out)["violations"], 0)
        self.assertGreater(self.master.metric("master/reads/processes_made"), children)
        for watcher in watchers:
            self.follow(watcher, 1000)

    def test_watchers_whose_beginning_dies(self):
        self.big()
        for _ in range(50):
            watcher = Watcher(self.master.address)
            self._open.append(watcher)
            while not watcher.events and not watcher.over:
                for child in self.children():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
            if watcher.over:
                break
        self.assertEqual(watcher.events, [])
        # Who comes again is served.
        again = Watcher(self.master.address)
        self._open.append(again)
        found = again.take("SUBSCRIBED")["get_state"]["get_tasks"]["tasks"]
        self.assertEqual(len(found), TASKS)

    def test_a_master_ends_while_watchers_wait(self):
        self.big()
        watchers = [Watcher(self.master.address) for _ in range(3)]
        self._open += watchers
        self.assertEqual(self.master.terminate(), 0)
        for watcher in watchers:
            watcher.wait_over()
        self.assertEqual(processes.descendants(self.master.process.pid), set())

    def test_clients_that_do_not_read(self):
        self.big()
        clients = [self.deaf_client() for _ in range(3)]
        self.assertEqual(len(self.children()), 3)
        self.assertEqual(len(self.master.state()["slaves"]), AGENTS)
        for client in clients[:2]:
            client.close()
        wait_for(lambda: len(self.children()) == 1, "processes to be gone with their clients")
        # Who begins to read gets it all.
        last = clients[2].makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += last.read(1)
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        self.assertEqual(len(json.loads(last.read(length))["get_state"]["get_tasks"]["tasks"]),
                         TASKS)
        wait_for(lambda: not self.children(), "the last process to be gone")

    def test_more_of_them_than_processes(self):
        self.big()
        for _ in range(4):
            self.deaf_client()
        # The one that has been at it for longest has to go.
        self.assertEqual(len(self.master.state()["slaves"]), AGENTS)

    def test_a_killed_master_takes_them_along(self):
        self.big()
        self.deaf_client()
        child, = self.children()
        self.master.kill()
        wait_for(lambda: not processes.alive(child), "the process to die with the master")

    def test_a_master_that_ends_takes_them_along(self):
        self.big()
        client = self.deaf_client()
        child, = self.children()
        self.assertEqual(self.master.terminate(), 0)
        self.assertFalse(processes.alive(child))
        client.close()

    def test_pollers_of_the_load_generator(self):
        load = self.load("--tasks=4000", "--rate=2000", "--task_length=1secs", "--pollers=2",
                         "--poll=GET_STATE", "--poll_encoding=protobuf", "--stall_probe=5ms")
        out, _ = load.communicate(timeout=60 * SCALE)
        figures = json.loads(out)
        self.assertEqual((figures["tasks_done"], figures["violations"]), (4000, 0))
        self.assertGreater(figures["polls"], 2)
        self.assertEqual((figures["polls_failed"], figures["health_failed"]), (0, 0))
        self.assertGreater(figures["poll_bytes"], 0)
        self.assertGreater(figures["health_max"], 0)


if __name__ == "__main__":
    unittest.main()
