"""Containers that are in no executor's, by the agent's operator API."""

import json
import os
import uuid

import harness
from harness import wait_for
from process_io import Client, JSON, Output, RECORDS
from test_authentication import private_file
from test_authorization import BAD, CREDENTIALS, GOOD
from test_control_groups import Grouped
from test_groups import sleepers


class Standalone(Client, harness.TestCase):
    agent_flags = {"recovery_timeout": "1mins"}

    def launch(self, command, inside_of=None, **fields):
        container_id = {"value": str(uuid.uuid4())}
        if inside_of:
            container_id["parent"] = inside_of
        self.assertEqual(self.call("LAUNCH_CONTAINER", container_id,
                                   command={"value": command}, **fields), (200, b""))
        return container_id

    def end(self, container_id):
        status, body = self.call("WAIT_CONTAINER", container_id)
        self.assertEqual(status, 200, body)
        return json.loads(body)["wait_container"]

    def folder(self, container_id):
        return os.path.join(self.agent.work_dir, "containers", container_id["value"])

    def read(self, container_id, name="stdout"):
        with open(os.path.join(self.folder(container_id), name), encoding="utf-8") as file:
            return file.read()

    def listed(self, **fields):
        status, _, body = harness.request(
            self.agent.address, "POST", "/api/v1",
            json.dumps({"type": "GET_CONTAINERS", "get_containers": fields}),
            {"Content-Type": "application/json"})
        self.assertEqual(status, 200, body)
        return json.loads(body)["get_containers"].get("containers", [])

    def test_a_life(self):
        for command, status in [("exit 0", 0), ("exit 3", 768), ("kill -9 $$", 9)]:
            container_id = self.launch("pwd; env; " + command)
            self.assertEqual(self.end(container_id)["exit_status"], status)
            text = self.read(container_id).split("\n")
            self.assertEqual(os.path.realpath(text[0]), os.path.realpath(self.folder(container_id)))
            self.assertIn("MESOS_SANDBOX=" + self.folder(container_id), text)
            self.assertFalse([line for line in text if line.startswith("MESOS_EXECUTOR_ID")])
            self.assertEqual(self.call("REMOVE_CONTAINER", container_id)[0], 200)
            self.assertFalse(os.path.exists(self.folder(container_id)))
            self.assertEqual(self.call("WAIT_CONTAINER", container_id)[0], 404)

    def test_inside_of_it(self):
        outer = self.launch("exec sleep 4711")
        inner = self.launch("exec sleep 4711", inside_of=outer)
        connection, answer = self.post({
            "type": "LAUNCH_NESTED_CONTAINER_SESSION", "launch_nested_container_session": {
                "container_id": {"value": "s", "parent": outer},
                "command": {"value": "pwd; exit 2"}}},
            {"Accept": RECORDS, "Message-Accept": JSON})
        self.addCleanup(connection.close)
        output = Output(answer)
        output.wait_over()
        self.assertEqual(os.path.realpath(output.text["STDOUT"].decode().strip()),
                         os.path.realpath(self.folder(outer)))
        self.assertEqual(self.listed(), [])
        self.assertEqual([c["container_id"] for c in self.listed(show_standalone=True)], [outer])
        both = self.listed(show_standalone=True, show_nested=True)
        self.assertEqual([c["container_id"] for c in both], [outer, inner])
        self.assertNotIn("executor_id", both[0])
        self.assertGreater(both[0]["resource_statistics"]["mem_rss_bytes"], 0)
        self.assertEqual(self.call("KILL_CONTAINER", outer)[0], 200)
        self.assertEqual(self.end(inner)["exit_status"], 9)
        self.assertEqual(self.end(outer)["exit_status"], 9)
        self.assertEqual(sleepers("4711", self.agent.work_dir), [])
        self.assertEqual(self.call("REMOVE_CONTAINER", outer)[0], 200)
        self.assertEqual(self.call("WAIT_CONTAINER", inner)[0], 404)

    def test_needs_no_framework_and_outlives_all(self):
        container_id = self.launch("while [ ! -e stop ]; do sleep 0.05; done; exit 6")
        scheduler = self.subscribe(checkpoint=True, failover_timeout=1000)
        scheduler.run("exec sleep 4712")
        wait_for(lambda: sleepers("4712", self.agent.work_dir), "the task runs", 20)
        scheduler.teardown()
        wait_for(lambda: not self.agent.state()["frameworks"], "the framework ends", 20)
        for _ in range(2):
            self.agent.kill().start().wait_registered()
        with open(self.folder(container_id) + "/stop", "w", encoding="ascii"):
            pass
        self.assertEqual(self.end(container_id)["exit_status"], 6 << 8)
        self.agent.kill().start().wait_registered()
        self.assertEqual(self.end(container_id)["exit_status"], 6 << 8)
        self.assertEqual(self.call("REMOVE_CONTAINER", container_id)[0], 200)
        self.assertEqual(os.listdir(self.agent.work_dir + "/containers"), [])

    def test_what_is_refused(self):
        for fields, text in [({}, b"The command has no value"),
                             ({"command": {"value": "true"}, "container": {
                                 "type": "MESOS", "volumes": [{
                                     "mode": "RW", "container_path": "x", "host_path": "/tmp"}]}},
                              b"Volumes in ContainerInfo is not supported")]:
            self.assertEqual(self.call("LAUNCH_CONTAINER", {"value": "x"}, **fields), (400, text))
            self.assertEqual(self.call("WAIT_CONTAINER", {"value": "x"})[0], 404)
        self.assertEqual(self.listed(show_standalone=True), [])

    def test_uris(self):
        source = os.path.join(self.temporary(), "data")
        with open(source, "w", encoding="ascii") as file:
            file.write("fetched")
        container_id = {"value": "fetches"}
        self.assertEqual(self.call("LAUNCH_CONTAINER", container_id, command={
            "value": "cat data", "uris": [{"value": source}]})[0], 200)
        self.end(container_id)
        self.assertEqual(self.read(container_id), "fetched")

    def test_a_user(self):
        if os.geteuid():
            self.skipTest("needs root")
        self.agent.kill()
        self.agent.flags["switch_user"] = "true"
        self.agent.start().wait_registered()
        container_id = {"value": "nobodys"}
        self.assertEqual(self.call("LAUNCH_CONTAINER", container_id, command={
            "value": "id -un; exec touch file", "user": "nobody"})[0], 200)
        self.assertEqual(self.end(container_id)["exit_status"], 0)
        self.assertEqual(self.read(container_id), "nobody\n")


class WhoMay(harness.TestCase):
    agents = None

    def test_by_its_own_rules(self):
        folder = self.temporary()
        none = [{"principals": {"values": ["bad"]}, "users": {"type": "NONE"}}]
        self.cluster = harness.Cluster(1, None, {
            "http_credentials": private_file(folder, "credentials", CREDENTIALS),
            "authenticate_http_readonly": "true", "authenticate_http_readwrite": "true",
            "acls": "file://" + private_file(folder, "acls", {
                what + "_standalone_containers": none
                for what in ("launch", "kill", "wait", "remove", "view")})})
        self.agent.headers = GOOD
        self.cluster.start()
        for kind, fields in [("LAUNCH_CONTAINER", {"command": {"value": "exec sleep 1000"}}),
                             ("KILL_CONTAINER", {}), ("WAIT_CONTAINER", {}),
                             ("REMOVE_CONTAINER", {})]:
            for who, expected in [(BAD, 403), (GOOD, 200)]:
                status, _, body = harness.request(
                    self.agent.address, "POST", "/api/v1", json.dumps({
                        "type": kind, kind.lower(): {"container_id": {"value": "a"}, **fields}}),
                    {"Content-Type": "application/json", **who})
                self.assertEqual(status, expected, (kind, who, body))


class StandaloneLimits(Client, Grouped):
    """It has a control group of its own, with what its launch asks for."""

    def test_memory(self):
        container_id = {"value": "limited"}
        asks = [{"name": name, "type": "SCALAR", "scalar": {"value": value}}
                for name, value in (("cpus", 0.5), ("mem", 64))]
        self.assertEqual(self.call("LAUNCH_CONTAINER", container_id, resources=asks, command={
            "value": "exec sleep 1000"}), (200, b""))
        self.assertEqual(self.hard("limited"), 64)
        self.assertEqual(self.weight("limited"), 50)
        self.assertEqual(self.call("KILL_CONTAINER", container_id)[0], 200)
        self.assertEqual(self.call("WAIT_CONTAINER", container_id)[0], 200)
        wait_for(lambda: not any(map(os.path.exists, self.folders("limited"))), "its groups go",
                 20)
