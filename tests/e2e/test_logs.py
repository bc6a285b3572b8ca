"""The log: who changed what, for eyes and for machines, through rotations; and no secret in it."""

import json
import os
import signal

import harness
from harness import wait_for
from test_authentication import CREDENTIALS, OPS, READER, private_file


class Logs(harness.TestCase):
    agents = None
    flags = {"log_format": "json"}

    def setUp(self):
        super().setUp()
        credentials = private_file(self.temporary(), "credentials", CREDENTIALS)
        self.cluster = harness.Cluster(1, {
            "credentials": credentials, "authenticate_http_readwrite": "true",
            "authenticate_http_frameworks": "true", "http_framework_authenticators": "basic",
            "acls": json.dumps({"teardown_frameworks": [
                {"principals": {"values": ["reader"]}, "framework_principals": {"type": "NONE"}}]}),
            **self.flags}, {"http_credentials": credentials,
                            "authenticate_http_readwrite": "true", **self.flags})
        self.cluster.master.start()
        self.cluster.agents[0].start()
        wait_for(lambda: harness.get(self.master.address, "/health")[0] == 200, "master")
        self.agent.wait_registered()

    def lines(self, daemon):
        with open(daemon.log, encoding="utf-8") as log:
            return log.read().splitlines()

    def audit(self, daemon, **fields):
        """The audit lines with such fields."""
        def found():
            lines = [json.loads(line) for line in self.lines(daemon)]
            return [line for line in lines if line["message"] == "audit:" and
                    all(line[name] == value for name, value in fields.items())]
        return wait_for(found, "audit line with %s" % fields)

    def call(self, daemon, body, headers):
        return harness.request(daemon.address, "POST", "/api/v1", json.dumps(body), {
            "Content-Type": "application/json", **(headers or {})})[0]


class Audit(Logs):
    def test_who_did_what(self):
        weights = {"type": "UPDATE_WEIGHTS", "update_weights": {
            "weight_infos": [{"role": "dev", "weight": 2.5}]}}
        self.assertEqual(self.call(self.master, weights, OPS), 200)
        (line,) = self.audit(self.master, call="UPDATE_WEIGHTS")
        self.assertEqual((line["principal"], line["object"], line["answer"], line["level"]),
                         ("ops", "role=dev", "200", "INFO"))
        self.assertRegex(line["from"], r"^127\.0\.0\.1:[0-9]+$")
        # By REST, refused by the core, and by the access control lists.
        harness.request(self.master.address, "PUT", "/weights",
                        '[{"role":"dev","weight":-1}]', OPS)
        self.audit(self.master, call="UPDATE_WEIGHTS", answer="400")
        scheduler = self.subscribe_as(OPS, "ops")
        (line,) = self.audit(self.master, call="SUBSCRIBE", answer="200")
        self.assertEqual(line["principal"], "ops")
        teardown = {"type": "TEARDOWN", "teardown": {"framework_id": {"value": scheduler.id}}}
        self.assertEqual(self.call(self.master, teardown, READER), 403)
        (line,) = self.audit(self.master, call="TEARDOWN", answer="403")
        self.assertEqual((line["principal"], line["object"]),
                         ("reader", "framework_id=" + scheduler.id))
        self.assertEqual(self.call(self.master, teardown, OPS), 200)
        self.audit(self.master, call="TEARDOWN", answer="200", principal="ops")
        level = {"type": "SET_LOGGING_LEVEL", "set_logging_level": {
            "level": 1, "duration": {"nanoseconds": 10 ** 9}}}
        for daemon in (self.master, self.agent):
            self.assertEqual(self.call(daemon, level, OPS), 200)
            self.audit(daemon, call="SET_LOGGING_LEVEL", object="level=1")
            self.assertEqual(self.call(daemon, level, None), 401)
            wait_for(lambda: any("who did not prove" in line for line in self.lines(daemon)),
                     "a line about who was refused")

    def subscribe_as(self, headers, principal):
        scheduler = harness.Scheduler(self.master.address, headers=headers, principal=principal)
        self._open.append(scheduler)
        scheduler.subscribe()
        return scheduler

    def test_no_secret(self):
        self.assertEqual(self.call(self.master, {"type": "GET_FLAGS"}, OPS), 200)
        self.assertEqual(self.call(self.master, {"type": "GET_FLAGS"},
                                   {"Authorization": "Basic b3BzOndyb25nIHNlY3JldA=="}), 401)
        for daemon in (self.master, self.agent):
            text = "".join(self.lines(daemon))
            flags = harness.get(daemon.address, "/flags")[2].decode()
            for secret in ("open sesame", "wrong secret", "b3BzO", "Basic "):
                self.assertNotIn(secret, text)
                self.assertNotIn(secret, flags)


class Rotation(Logs):
    flags = {}

    def setUp(self):
        self.flags = {"log_dir": os.path.join(self.temporary(), "log")}
        super().setUp()
        self.master.log = os.path.join(self.flags["log_dir"], "mesos-master.INFO")
        self.agent.log = os.path.join(self.flags["log_dir"], "mesos-slave.INFO")

    def toggle(self, daemon, level):
        self.assertEqual(harness.request(
            daemon.address, "POST", "/logging/toggle?level=%d&duration=1secs" % level, "",
            OPS)[0], 200)

    def test_moved_away_and_cut_off(self):
        for daemon in (self.master, self.agent):
            # logrotate's create: move, then tell.
            os.rename(daemon.log, daemon.log + ".1")
            self.toggle(daemon, 2)
            daemon.signal(signal.SIGHUP)
            wait_for(lambda: os.path.exists(daemon.log), "the new file")
            self.toggle(daemon, 3)
            wait_for(lambda: any("level=3" in line for line in self.lines(daemon)), "lines there")
            with open(daemon.log + ".1", encoding="utf-8") as file:
                old = file.read()
            self.assertTrue("level=2" in old and "level=3" not in old)
            # Its copytruncate.
            os.truncate(daemon.log, 0)
            self.toggle(daemon, 4)
            wait_for(lambda: any("level=4" in line for line in self.lines(daemon)), "more lines")
            self.assertNotIn("\0", "".join(self.lines(daemon)))
            self.assertNotIn("level=3", "".join(self.lines(daemon)))

    def test_the_file_is_served(self):
        for daemon, path in ((self.master, "/master/log"), (self.agent, "/slave/log"), (self.agent, "/agent/log")):
            body = harness.get_json(daemon.address, "/files/read?path=%s&offset=0" % path)
            self.assertIn("started on", body["data"])
            self.assertEqual(daemon.state()["log_dir"], self.flags["log_dir"])

    def test_a_directory_that_cannot_be(self):
        for role in ("master", "agent"):
            for flag, text in (("--log_dir=/proc/none", "cannot"),
                               ("--log_format=xml", "expected text or json")):
                code, _, err = harness.run([role, "--work_dir=" + self.temporary(), flag,
                                            "--master=127.0.0.1:1", "--port=0"]
                                           if role == "agent" else
                                           [role, "--work_dir=" + self.temporary(), flag,
                                            "--port=0"])
                self.assertEqual(code, 1)
                self.assertIn(text, err)


del Logs
