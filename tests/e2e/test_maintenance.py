"""Maintenance as REST, draining over kill -9 of the master, and the file of --whitelist, on
real masters and agents."""

import http.client
import json
import os

import harness
from harness import get
from processes import SCALE, wait_for

MACHINE = {"hostname": "localhost", "ip": "127.0.0.1"}
TEXT = '{"hostname":"localhost","ip":"127.0.0.1"}'
HOST = {"hostname": "h"}


def window(*machines):
    return {"windows": [{"machine_ids": list(machines),
                         "unavailability": {"start": {"nanoseconds": 1}}}]}


class Operator(harness.TestCase):
    master_flags = {"hostname": "localhost"}
    agent_flags = {"hostname": "localhost"}

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection(*self.master.address, timeout=10 * SCALE)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path, value):
        return self.request("POST", path, json.dumps(value))

    def call(self, kind, **members):
        return self.post("/api/v1", {"type": kind, **members})

    def drain(self, **options):
        return self.call("DRAIN_AGENT", drain_agent={"agent_id": {"value": self.agent.id},
                                                     **options})


class Maintenance(Operator):
    def test_bad_requests(self):
        up = "Machine '%s' is not part of a maintenance schedule"
        rows = [
            ("/maintenance/schedule", "x", "syntax error"),
            ("/maintenance/schedule", "[]", "Unexpected JSON type parsed"),
            ("/maintenance/schedule", '{"windows":[{"machine_ids":[]}]}',
             "Missing required fields: windows[0].unavailability"),
            ("/maintenance/schedule", json.dumps(window()),
             "List of machines in the maintenance window is empty"),
            ("/maintenance/schedule", json.dumps(window(HOST, HOST)),
             "Machine '{\"hostname\":\"h\"}' appears more than once in the schedule"),
            ("/machine/down", "{}", "Unexpected JSON type parsed"),
            ("/machine/down", "[]", "List of machines is empty"),
            ("/machine/down", "[{}]", "Both 'hostname' and 'ip' for a machine are empty"),
            ("/machine/down", json.dumps([HOST]), up % '{"hostname":"h"}'),
            ("/machine/down", json.dumps([MACHINE]),
             "Machine '%s' is not in DRAINING mode and cannot be brought down" % TEXT),
            ("/master/machine/up", json.dumps([HOST]), up % '{"hostname":"h"}'),
            ("/master/machine/up", json.dumps([MACHINE]),
             "Machine '%s' is not in DOWN mode and cannot be brought up" % TEXT),
        ]
        for path, body, text in rows:
            status, answer = self.request("POST", path, body)
            self.assertEqual(status, 400, (path, body))
            self.assertEqual(answer[:len(text)], text, (path, body))
        for method, path in (("PUT", "/maintenance/schedule"), ("POST", "/maintenance/status"),
                             ("GET", "/machine/down"), ("GET", "/machine/up")):
            self.assertEqual(self.request(method, path)[0], 405, path)
        self.assertEqual(self.master.json("/maintenance/schedule"), {})
        self.assertEqual(self.master.json("/maintenance/status"), {})

    def test_down_and_up_over_a_restart(self):
        self.assertEqual(self.post("/maintenance/schedule", window(MACHINE, HOST)), (200, ""))
        self.assertEqual(self.drain()[1], "Agent %s is part of a maintenance schedule under "
                         "Machine localhost (127.0.0.1)" % self.agent.id)
        self.assertEqual(self.post("/machine/down", [MACHINE]), (200, ""))
        wait_for(lambda: self.agent.process.poll() is not None, "end of the agent")
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        self.assertEqual(self.master.json("/maintenance/schedule"), window(MACHINE, HOST))
        self.assertEqual(self.master.json("/maintenance/status"),
                         {"draining_machines": [{"id": HOST}], "down_machines": [MACHINE]})
        self.assertEqual(self.post("/machine/up", [MACHINE]), (200, ""))
        self.assertEqual(self.master.json("/maintenance/schedule"), window(HOST))
        self.agent.start()
        self.agent.wait_registered()


class Draining(Operator):
    def state(self):
        entry = self.agent.entry()
        return entry and entry.get("drain_info", {}).get("state")

    def known(self):
        return json.loads(self.call("GET_AGENTS")[1])["get_agents"]

    def test_the_master_dies_meanwhile(self):
        scheduler = self.subscribe()
        task_id = scheduler.run("trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.assertEqual(self.drain(max_grace_period={"seconds": 600}), (200, ""))
        self.assertEqual(self.state(), "DRAINING")
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        scheduler.subscribe()
        scheduler.wait_terminal(task_id)
        wait_for(lambda: self.state() == "DRAINED", "DRAINED")
        agent = self.known()["agents"][0]
        self.assertEqual((agent["active"], agent["deactivated"]), (False, True))
        # Only the v0 message has it, and yet it is there in Mesos' answer.
        self.assertIs(agent["agent_info"]["checkpoint"], True)
        self.assertEqual(agent["drain_info"], {"state": "DRAINED", "config": {
            "max_grace_period": {"nanoseconds": 600 * 10 ** 9}, "mark_gone": False}})
        answer = self.call("REACTIVATE_AGENT",
                           reactivate_agent={"agent_id": {"value": self.agent.id}})
        self.assertEqual(answer, (200, ""))
        scheduler.offer()
        self.assertIs(self.state(), None)

    def test_gone_at_the_end(self):
        self.assertEqual(self.drain(mark_gone=True), (200, ""))
        wait_for(lambda: self.agent.process.poll() is not None, "end of the agent")
        self.assertEqual(self.known(), {"agents": [], "recovered_agents": []})
        self.assertEqual(get(self.master.address, "/health")[0], 200)


class Whitelist(harness.TestCase):
    agents = None

    def test_the_file_is_read_again(self):
        path = os.path.join(self.temporary(), "hosts")
        # Not there: nobody is offered.
        self.cluster = harness.Cluster(1, {"whitelist": "file://" + path},
                                       {"hostname": "localhost"}).start()
        scheduler = self.subscribe()
        before = self.master.metric("allocator/mesos/allocation_runs")
        wait_for(lambda: self.master.metric("allocator/mesos/allocation_runs") > before + 2,
                 "allocations")
        self.assertEqual(self.master.metric("master/outstanding_offers"), 0)
        with open(path + ".new", "w") as file:
            file.write("elsewhere\n localhost\r\n")
        os.rename(path + ".new", path)
        scheduler.offer()
