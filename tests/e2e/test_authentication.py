"""Who calls over HTTP: Basic authentication of master, agent, schedulers and the CLI."""

import base64
import http.client
import json
import os
import re

import harness
from scheduler import scalar, task

CREDENTIALS = {"credentials": [{"principal": "ops", "secret": "open sesame"},
                               {"principal": "reader", "secret": "r"}]}


def basic(principal, secret):
    pair = "%s:%s" % (principal, secret)
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


OPS, READER = basic("ops", "open sesame"), basic("reader", "r")
MASTER = {"authenticate_http_readonly": "true", "authenticate_http_readwrite": "true",
          "authenticate_http_frameworks": "true", "http_framework_authenticators": "basic"}


def private_file(folder, name, content):
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        json.dump(content, file)
    return path


class Agents(harness.TestCase):
    """Agents authenticate before they register."""
    agents = None

    def cluster_of(self, credential, **master):
        folder = self.temporary()
        agent = {"credential": private_file(folder, "agent", credential)} if credential else {}
        self.cluster = harness.Cluster(1, {
            "credentials": private_file(folder, "credentials", CREDENTIALS), **master}, agent)
        self.cluster.master.start()
        self.cluster.master.wait_ready()
        self.agent.start()

    def test_one_that_knows_its_secret(self):
        self.cluster_of(CREDENTIALS["credentials"][0], authenticate_agents="true")
        self.agent.wait_registered()
        self.subscribe().run("true")
        # Both prove it again to each other's next life.
        self.agent.kill()
        self.agent.start()
        self.agent.wait_registered()
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        self.agent.wait_registered()
        self.assertGreaterEqual(self.master.metric("master/messages_authenticate"), 1)

    def test_one_that_does_not_ends(self):
        self.cluster_of({"principal": "ops", "secret": "wrong"}, authenticate_agents="true")
        harness.wait_for(lambda: self.agent.process.poll() is not None, "end of the agent")
        self.assertEqual(self.agent.process.returncode, 1)
        self.assertIn("refused authentication", self.agent.log_tail())
        self.assertNotIn("wrong", self.agent.log_tail().replace("is wrong", ""))
        self.assertEqual(self.master.state()["slaves"], [])
        self.agent.process = None  # That it ended is as it should be.

    def test_one_without_a_credential_is_not_let_in(self):
        self.cluster_of(None, authenticate_agents="true")
        harness.wait_for(lambda: self.master.metric("master/messages_register_slave") > 1,
                         "its attempts")
        self.assertEqual(self.master.state()["slaves"], [])

    def test_a_credential_is_no_harm_where_it_is_not_asked_for(self):
        self.cluster_of(CREDENTIALS["credentials"][0])
        self.agent.wait_registered()


class Executors(harness.TestCase):
    """Executors show the token that they were launched with."""
    agents = None

    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.temporary(), "key")
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(b"a secret of \0 any bytes\n")
        self.cluster = harness.Cluster(1, None, {"authenticate_http_executors": "true",
                                                 "jwt_secret_key": "file://" + self.key}).start()

    def call(self, token, framework, executor="e"):
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        status, headers, body = harness.request(
            self.agent.address, "POST", "/api/v1/executor", json.dumps({
                "type": "SUBSCRIBE", "framework_id": {"value": framework},
                "executor_id": {"value": executor}, "subscribe": {}}), headers)
        return status, headers["WWW-Authenticate"], body.decode()

    def token_of(self, task_id):
        sandbox = self.agent.sandbox(self.scheduler.id, task_id)
        with open(os.path.join(sandbox, "token"), encoding="ascii") as file:
            return file.read().strip()

    def test_tokens(self):
        scheduler = self.scheduler = self.subscribe(failover_timeout=60)
        say = "echo $MESOS_EXECUTOR_AUTHENTICATION_TOKEN >token; "
        first, second = scheduler.run(say + "exec sleep 1000"), scheduler.run(say + "true")
        scheduler.wait_state(first, "TASK_RUNNING")
        scheduler.wait_terminal(second)
        harness.wait_for(lambda: self.token_of(first) and self.token_of(second), "tokens")
        mine, other = self.token_of(first), self.token_of(second)
        claims = json.loads(base64.urlsafe_b64decode(mine.split(".")[1] + "=="))
        self.assertEqual((claims["fid"], claims["eid"]), (scheduler.id, first))
        self.assertTrue(claims["cid"])
        self.assertEqual(self.call(None, scheduler.id, first),
                         (401, 'Bearer realm="mesos-agent-executor"', "401 Unauthorized."))
        status, challenge, _ = self.call(mine[:-4] + "AAAA", scheduler.id, first)
        self.assertEqual(status, 401)
        self.assertIn('error="invalid_token"', challenge)
        self.assertEqual(self.call(other, scheduler.id, first)[0], 403)
        # A new life of the agent knows it, too.
        self.agent.kill()
        self.agent.start()
        self.agent.wait_registered()
        scheduler.kill(first)
        self.assertEqual(scheduler.wait_terminal(first)["state"], "TASK_KILLED")
        with open(self.agent.log, encoding="utf-8") as log:
            text = log.read()
        self.assertNotIn(mine, text)
        self.assertNotIn("a secret of", text)

    def test_executors_of_the_http_api_run(self):
        scheduler = self.subscribe()
        executor = {"type": "CUSTOM", "executor_id": {"value": "e"}, "command": {
            "value": "exec /usr/bin/python3 %s/executor.py" % harness.HERE},
            "resources": [{"name": "cpus", "type": "SCALAR", "scalar": {"value": 0.1}},
                          {"name": "mem", "type": "SCALAR", "scalar": {"value": 32}}]}
        offer = scheduler.offer(cpus=1)
        info = task(offer, None, executor=executor,
                    data=base64.b64encode(b"finish").decode())
        scheduler.launch(offer, [info])
        self.assertEqual(scheduler.wait_terminal(info["task_id"]["value"])["state"],
                         "TASK_FINISHED")

    def test_a_key_is_needed(self):
        for key, text in ((None, "needs --jwt_secret_key"), ("/none", "cannot read"),
                          ("/dev/null", "must hold 1 to 4096 bytes")):
            code, _, err = harness.run(
                ["agent", "--master=127.0.0.1:1", "--work_dir=" + self.temporary(),
                 "--authenticate_http_executors"] + (["--jwt_secret_key=" + key] if key else []))
            self.assertEqual(code, 1)
            self.assertIn(text, err)


class Pods(harness.TestCase):
    """The default executor of an agent that asks everybody who they are shows its token."""
    agents = None

    def test_a_group(self):
        folder = self.temporary()
        credentials = private_file(folder, "credentials", CREDENTIALS)
        key = private_file(folder, "key", "a secret")
        self.cluster = harness.Cluster(1, None, {
            "http_credentials": credentials, "authenticate_http_readonly": "true",
            "authenticate_http_readwrite": "true", "authenticate_http_executors": "true",
            "jwt_secret_key": "file://" + key})
        self.agent.headers = OPS
        self.cluster.start()
        scheduler = self.subscribe()
        offer = scheduler.offer(cpus=1)
        say = "echo $MESOS_EXECUTOR_AUTHENTICATION_TOKEN; exec sleep 1000"
        pod = {"type": "DEFAULT", "executor_id": {"value": "pod"},
               "resources": [scalar("cpus", 0.1), scalar("mem", 32), scalar("disk", 1)]}
        infos = [task(offer, say, check={
            "type": "COMMAND", "command": {"command": {"value": "exit 7"}}, "delay_seconds": 0})
            for _ in range(2)]
        scheduler.launch_group(offer, pod, infos)
        ids = [info["task_id"]["value"] for info in infos]
        for task_id in ids:
            scheduler.wait_state(task_id, "TASK_RUNNING")
            harness.wait_for(lambda: scheduler.updates[task_id][-1].get("check_status", {}).get(
                "command", {}).get("exit_code") == 7, "the check's result")
            # Tasks are not given what their executor may do.
            with open(self.agent.sandbox(scheduler.id, "pod") + "/tasks/%s/stdout" % task_id,
                      encoding="ascii") as file:
                self.assertEqual(file.read(), "\n")
        # A session in the executor's own container, by an operator, learns nothing that it may use.
        parent = scheduler.updates[ids[0]][0]["container_status"]["container_id"]["parent"]
        status, _, body = harness.request(
            self.agent.address, "POST", "/api/v1", json.dumps({
                "type": "LAUNCH_NESTED_CONTAINER_SESSION", "launch_nested_container_session": {
                    "container_id": {"value": "s", "parent": parent},
                    "command": {"value": "env; echo"}}}),
            {"Content-Type": "application/json", "Accept": "application/json", **OPS})
        self.assertEqual(status, 200)
        shown = b"".join(base64.b64decode(data) for data in re.findall(
            rb'"data":"([A-Za-z0-9+/=]+)"', body))
        self.assertIn(b"MESOS_EXECUTOR_ID=pod", shown)
        self.assertNotIn(b"TOKEN", shown)
        scheduler.kill(ids[0])
        for task_id in ids:
            self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")


class Authentication(harness.TestCase):
    agents = None

    def setUp(self):
        super().setUp()
        path = private_file(self.temporary(), "credentials", CREDENTIALS)
        self.cluster = harness.Cluster(
            1, {**MASTER, "credentials": path},
            {"http_credentials": path, "authenticate_http_readonly": "true"})
        for daemon in [self.master, self.agent]:
            daemon.headers = OPS
        self.cluster.start()

    def status(self, path, headers=None, method="GET", body=None, daemon=None):
        connection = http.client.HTTPConnection(*(daemon or self.master).address, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def test_what_asks_and_what_does_not(self):
        for path in ["/health", "/version", "/redirect"]:
            self.assertNotEqual(self.status(path), 401, path)
        for path in ["/state", "/master/state.json", "/slaves", "/tasks", "/frameworks", "/roles",
                     "/flags", "/state-summary", "/metrics/snapshot", "/maintenance/status",
                     "/weights", "/quota", "/maintenance/schedule"]:
            for headers in [None, basic("ops", "wrong"), basic("nobody", "r"), basic("ops", ""),
                            {"Authorization": "Bearer x"}, {"Authorization": "Basic ==="},
                            {"Authorization": "Basic"}]:
                self.assertEqual(self.status(path, headers), 401, (path, headers))
            self.assertEqual(self.status(path, READER), 200, path)
        for path in ["/state", "/flags", "/monitor/statistics", "/containers",
                     "/files/browse?path=x", "/metrics/snapshot"]:
            self.assertEqual(self.status(path, daemon=self.agent), 401, path)
            self.assertNotEqual(self.status(path, READER, daemon=self.agent), 401, path)
        self.assertEqual(self.status("/health", daemon=self.agent), 200)

    def test_the_challenge_names_the_realm(self):
        for daemon, path, realm in [(self.master, "/state", "mesos-master-readonly"),
                                    (self.master, "/api/v1", "mesos-master-readwrite"),
                                    (self.master, "/api/v1/scheduler", "mesos-master-scheduler"),
                                    (self.agent, "/state", "mesos-agent-readonly")]:
            status, headers, body = harness.get(daemon.address, path)
            self.assertEqual((status, body), (401, b"401 Unauthorized."))
            self.assertEqual(headers["WWW-Authenticate"], 'Basic realm="%s"' % realm)

    def test_changes(self):
        weights = json.dumps([{"role": "a", "weight": 2}])
        self.assertEqual(self.status("/weights", None, "PUT", weights), 401)
        self.assertEqual(self.master.json("/weights"), [])
        self.assertEqual(self.status("/weights", OPS, "PUT", weights), 200)
        self.assertEqual(self.master.json("/weights"), [{"role": "a", "weight": 2}])

    def test_a_framework_is_who_it_says(self):
        call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": {
            "user": "root", "name": "x", "roles": ["*"], "principal": "ops",
            "capabilities": [{"type": "MULTI_ROLE"}]}}}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        connection = http.client.HTTPConnection(*self.master.address, timeout=20)
        connection.request("POST", "/api/v1/scheduler", json.dumps(call), {**headers, **READER})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 400)
        self.assertIn("does not match principal", answer.read().decode())
        connection.close()

    def test_the_cli(self):
        master = "--master=%s:%d" % self.master.address
        login = ["--principal=ops", "--secret=open sesame"]
        code, out, err = harness.run(["run", master, "--patience=10secs"] + login +
                                     ["--", "echo", "hello"])
        self.assertEqual(code, 0, (out, err))
        # The agent is told who reads, too.
        self.assertRegex(out, r"0 +hello\n")
        code, out, err = harness.run(["run", master, "--follow"] + login + ["--", "echo", "hello there"])
        self.assertIn("hello there\n", out)
        code, _, err = harness.run(["ps", master, "--all"])
        self.assertNotEqual(code, 0)
        self.assertIn("--principal", err)
        code, out, err = harness.run(["ps", master, "--all", "--json"] + login)
        self.assertEqual(code, 0, err)
        task = json.loads(out.splitlines()[-1])["task"]
        path = os.path.join(self.temporary(), "secret")
        with open(path, "w", encoding="ascii") as file:
            file.write("open sesame\n")
        code, out, err = harness.run(["ps", master, "--principal=ops", "--secret=file://" + path])
        self.assertEqual(code, 0, err)
        code, out, err = harness.run(["logs", master] + login + [task])
        self.assertEqual((code, out), (0, "hello there\n"), err)
        code, out, err = harness.run(["run", master, "--patience=2secs", "--", "true"])
        self.assertNotEqual(code, 0)
        self.assertIn("401", err)
