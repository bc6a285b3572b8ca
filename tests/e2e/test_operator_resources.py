"""Operators reserve, make volumes and undo it, by forms and by the operator API, on real
masters and agents; what frameworks are offered then, and after kill -9 of the master."""

import http.client
import json
import unittest
import urllib.parse

import harness
from processes import SCALE, wait_for

STRUCTURE = {"name": "disk", "type": "SCALAR", "scalar": {"value": 64}}
OLD = dict(STRUCTURE, role="r", reservation={"principal": "p"})
NEW = dict(STRUCTURE, reservations=[{"type": "DYNAMIC", "role": "r", "principal": "p"}])
VOLUME = {"persistence": {"id": "v"}, "volume": {"container_path": "data", "mode": "RW"}}


class OperatorResources(harness.TestCase):
    def post(self, path, body, kind="application/x-www-form-urlencoded"):
        connection = http.client.HTTPConnection(*self.master.address, timeout=10 * SCALE)
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def form(self, path, **fields):
        return self.post(path, urllib.parse.urlencode(fields))

    def call(self, kind, **members):
        return self.post("/api/v1", json.dumps({"type": kind, **members}), "application/json")

    def reserved(self):
        """Sizes of reserved disk, with the ids of volumes."""
        full = self.agent.entry()["reserved_resources_full"].get("r", [])
        return sorted((r["scalar"]["value"], r.get("disk", {}).get("persistence", {}).get("id"))
                      for r in full)

    def applied(self, kind, count):
        wait_for(lambda: self.master.metric("master/operations/%s/finished" % kind) == count,
                 "%s on the agent" % kind)

    def test_forms(self):
        agent = self.agent.id
        self.assertEqual(self.form("/master/reserve", slaveId=agent,
                                   resources=json.dumps([OLD])), (202, ""))
        self.applied("reserve", 1)
        self.assertEqual(self.reserved(), [(64.0, None)])
        self.assertEqual(self.form("/create-volumes", slaveId=agent,
                                   volumes=json.dumps([dict(OLD, disk=VOLUME)])), (202, ""))
        self.applied("create", 1)
        self.assertEqual(self.reserved(), [(64.0, "v")])
        # What the endpoints show can be posted back.
        shown = self.agent.entry()["reserved_resources_full"]["r"]
        self.assertEqual(self.form("/destroy-volumes", slaveId=agent,
                                   volumes=json.dumps(shown)), (202, ""))
        self.applied("destroy", 1)
        shown = self.agent.entry()["reserved_resources_full"]["r"]
        self.assertEqual(self.form("/unreserve", slaveId=agent,
                                   resources=json.dumps(shown)), (202, ""))
        self.applied("unreserve", 1)
        self.assertEqual(self.reserved(), [])
        self.assertEqual(self.call("GET_OPERATIONS"),
                         (200, '{"type":"GET_OPERATIONS","get_operations":{}}'))

    def test_bad_forms(self):
        agent = self.agent.id
        good = json.dumps([OLD])
        rows = [
            ("/reserve", {}, "Missing 'slaveId' query parameter in the request body"),
            ("/reserve", {"slaveId": agent},
             "Missing 'resources' query parameter in the request body"),
            ("/unreserve", {"slaveId": agent},
             "Missing 'resources' query parameter in the request body"),
            ("/create-volumes", {"slaveId": agent},
             "Missing 'volumes' query parameter in the request body"),
            ("/destroy-volumes", {"slaveId": agent},
             "Missing 'volumes' query parameter in the request body"),
            ("/reserve", {"slaveId": agent, "resources": "{"}, "Error parsing 'resources'"),
            ("/reserve", {"slaveId": agent, "resources": "{}"}, "Error parsing 'resources'"),
            ("/reserve", {"slaveId": agent, "resources": "[1]"}, "Error parsing 'resources'"),
            ("/reserve", {"slaveId": agent, "resources": good, "source": "x"},
             "Error parsing 'source'"),
            ("/unreserve", {"slaveId": agent, "resources": "["}, "Error in parsing 'resources'"),
            ("/create-volumes", {"slaveId": agent, "volumes": "[{}]"},
             "Error in parsing 'volumes' query parameter in the request body: "
             "Missing required fields: "),
            ("/reserve", {"slaveId": "none", "resources": good},
             "No agent found with specified ID"),
            ("/reserve", {"slaveId": agent, "resources": json.dumps([STRUCTURE])},
             "Invalid RESERVE operation on agent " + agent),
        ]
        for path, fields, text in rows:
            status, body = self.form(path, **fields)
            self.assertEqual(status, 400, (path, fields, body))
            self.assertIn(text, body)
        for path in ("/reserve", "/unreserve", "/create-volumes", "/destroy-volumes"):
            self.assertEqual(self.post(path, "slaveId=a&resources=[%zz]"), (
                400, "Unable to decode query string: Malformed % escape in '[%zz]': '%zz'"))
            self.assertEqual(harness.get(self.master.address, path)[0], 405)
        huge = json.dumps([dict(OLD, scalar={"value": 1 + i}) for i in range(5000)])
        self.assertEqual(self.form("/reserve", slaveId=agent, resources=huge)[0], 400)
        self.assertEqual(self.reserved(), [])

    def test_calls(self):
        members = {"agent_id": {"value": self.agent.id}}
        self.assertEqual(self.call("RESERVE_RESOURCES", reserve_resources={
            **members, "resources": [dict(NEW, scalar={"value": 5000})]})[0], 409)
        status, body = self.call("RESERVE_RESOURCES", reserve_resources={
            **members, "resources": [dict(NEW, scalar={"value": -1})]})
        self.assertEqual(status, 400)
        self.assertIn("Failed to validate master::Call: ", body)
        status, body = self.call("GROW_VOLUME", grow_volume={
            "volume": dict(NEW, disk=VOLUME), "addition": NEW})
        self.assertEqual((status, body), (
            400, "Failed to validate master::Call: Expecting 'agent_id' to be present; only agent "
            "default resources are supported right now"))
        self.assertEqual(self.call("RESERVE_RESOURCES", reserve_resources={
            **members, "resources": [NEW, NEW]})[0], 202)
        self.assertEqual(self.call("CREATE_VOLUMES", create_volumes={
            **members, "volumes": [dict(NEW, disk=VOLUME)]})[0], 202)
        self.assertEqual(self.call("GROW_VOLUME", grow_volume={
            **members, "volume": dict(NEW, disk=VOLUME), "addition": NEW})[0], 202)
        self.applied("grow_volume", 1)
        self.assertEqual(self.reserved(), [(128.0, "v")])

    def test_kill_of_the_master(self):
        self.assertEqual(self.form("/reserve", slaveId=self.agent.id,
                                   resources=json.dumps([OLD])), (202, ""))
        self.applied("reserve", 1)
        self.master.kill().start().wait_ready()
        self.agent.wait_registered()
        self.assertEqual(self.reserved(), [(64.0, None)])
        scheduler = self.subscribe(roles=["r"],
                                   capabilities=("MULTI_ROLE", "RESERVATION_REFINEMENT"))
        offered = [r for r in scheduler.offer()["resources"] if r.get("reservations")]
        self.assertEqual(len(offered), 1)
        self.assertEqual(offered[0]["reservations"][0]["principal"], "p")

    def test_offers_make_room(self):
        scheduler = self.subscribe(roles=["r"],
                                   capabilities=("MULTI_ROLE", "RESERVATION_REFINEMENT"))
        offer = scheduler.offer()
        self.assertEqual(self.form("/reserve", slaveId=self.agent.id,
                                   resources=json.dumps([OLD])), (202, ""))
        rescinded = scheduler.expect("RESCIND")
        self.assertEqual(rescinded["rescind"]["offer_id"], offer["id"])


if __name__ == "__main__":
    unittest.main()
