"""Quota and weights of roles, by REST and by the operator API, over a kill of the master."""

import http.client
import json

import harness
from processes import SCALE

AMOUNT = {"name": "cpus", "type": "SCALAR", "scalar": {"value": 1}}


class Quota(harness.TestCase):
    def send(self, method, path, body=None):
        connection = http.client.HTTPConnection(*self.master.address, timeout=10 * SCALE)
        try:
            connection.request(method, path, body if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.startswith(("{", "[")) else text
        finally:
            connection.close()

    def call(self, kind, **members):
        return self.send("POST", "/api/v1", {"type": kind, **members})

    def test_weights(self):
        self.assertEqual(self.call("GET_WEIGHTS"), (200, {"type": "GET_WEIGHTS"}))
        self.assertEqual(self.send("GET", "/weights"), (200, []))
        self.assertEqual(self.send("PUT", "/weights", [{"role": " a ", "weight": 2}]), (200, ""))
        self.assertEqual(self.call("UPDATE_WEIGHTS", update_weights={
            "weight_infos": [{"role": "b/c", "weight": 0.5}, {"role": "d", "weight": 0}]})[0], 400)
        self.assertEqual(self.send("PUT", "/weights", {}), (
            400, "Failed to parse update weights request JSON '{}': Unexpected JSON type parsed"))
        infos = [{"role": "a", "weight": 2}]
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        self.assertEqual(self.send("GET", "/master/weights"), (200, infos))
        self.assertEqual(self.call("GET_WEIGHTS"), (
            200, {"type": "GET_WEIGHTS", "get_weights": {"weight_infos": infos}}))

    def test_quota(self):
        self.assertEqual(self.send("GET", "/quota"), (200, {}))
        self.assertEqual(self.send("DELETE", "/quota/a"), (
            400, "Failed to remove quota for path '/master/quota/a': Role 'a' has no quota set"))
        self.assertEqual(self.send("POST", "/quota", {"role": "a", "guarantee": [AMOUNT]}),
                         (200, ""))
        self.assertEqual(self.call("UPDATE_QUOTA", update_quota={"quota_configs": [
            {"role": "b", "limits": {"cpus": {"value": 2}}},
            {"role": "c", "guarantees": {"cpus": {"value": 2}},
             "limits": {"cpus": {"value": 1}}}]})[0], 400)
        one = {"cpus": {"value": 1}}
        status = {"infos": [{"role": "a", "guarantee": [AMOUNT]}],
                  "configs": [{"role": "a", "guarantees": one, "limits": one}]}
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        self.assertEqual(self.send("GET", "/master/quota"), (200, status))
        self.assertEqual(self.send("DELETE", "/quota/a"), (200, ""))
        self.assertEqual(self.call("GET_QUOTA"), (
            200, {"type": "GET_QUOTA", "get_quota": {"status": {}}}))
