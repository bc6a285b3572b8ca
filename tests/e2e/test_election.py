"""Several masters: who leads by ZooKeeper, what the others say, and what a new leader knows."""

import json
import os
import re
import signal

import harness
import zookeeper
from harness import wait_for

LED = ["/state", "/master/state", "/state.json", "/state-summary", "/slaves", "/frameworks", "/roles",
       "/tasks", "/quota", "/weights", "/maintenance/schedule", "/maintenance/status", "/api/v1",
       "/api/v1/scheduler", "/teardown", "/reserve", "/machine/up", "/master/kill-task"]
OWN = ["/health", "/flags", "/version", "/metrics/snapshot", "/metrics", "/system/stats.json",
       "/files/debug", "/help"]


def member(client, path="/mesos"):
    """What the masters say of themselves, by their nodes' names."""
    return {name: json.loads(client.get(path + "/" + name)[0])
            for name in client.get_children(path)}


class Election(zookeeper.ElectionCase):
    def test_those_that_do_not_lead_say_who_does(self):
        leader, other = self.masters[:2]
        for path in LED:
            for method in ("GET", "POST"):
                status, headers, body = harness.request(other.address, method, path + "?a=b&c=%2F")
                name = re.sub("[.]json$", "", path)
                name = name if name.startswith("/master/") else "/master" + name
                self.assertEqual((status, body), (307, b""), path)
                self.assertEqual(headers["Location"], "//localhost:%d%s?a=b&c=%%2F" % (
                    leader.address[1], name if path != "/state.json" else "/master/state.json"))
        for path in OWN:
            self.assertEqual(harness.get(other.address, path)[0], 200, path)
        for master in self.masters:
            status, headers, _ = harness.get(master.address, "/redirect")
            self.assertEqual((status, headers["Location"]),
                             (307, "//localhost:%d" % leader.address[1]))
        self.assertEqual([m.metric("master/elected") for m in self.masters], [1, 0, 0])
        state = leader.state()
        self.assertEqual(state["leader"], "master@127.0.0.1:%d" % leader.address[1])

    def test_the_nodes_are_as_others_expect_them(self):
        client = self.zookeeper.client()
        self.addCleanup(client.stop)
        found = member(client)
        self.assertEqual(sorted(found), ["json.info_%010d" % i for i in range(3)])
        info = found["json.info_0000000000"]
        port = self.masters[0].address[1]
        self.assertEqual(info["address"], {"hostname": "localhost", "ip": "127.0.0.1",
                                           "port": port})
        self.assertEqual((info["ip"], info["port"], info["pid"], info["hostname"]),
                         (0x0100007f, port, "master@127.0.0.1:%d" % port, "localhost"))
        self.assertEqual(info["id"], self.masters[0].state()["id"])
        self.assertIn({"type": "AGENT_DRAINING"}, info["capabilities"])
        stat = client.get("/mesos/json.info_0000000000")[1]
        self.assertNotEqual(stat.ephemeralOwner, 0)

    def test_the_next_one_leads_and_knows_agents_and_quota(self):
        agent_id = self.agent_daemon.id
        first = self.masters[0]
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": "r", "limits": {"cpus": {"value": 2}}}]}}
        self.assertEqual(harness.request(first.address, "POST", "/api/v1", json.dumps(call),
                                         {"Content-Type": "application/json"})[0], 200)
        scheduler = self.scheduler_at(first, name="survivor", failover_timeout=600)
        offer = scheduler.offer(cpus=1)
        info = harness.task(offer, "exec sleep 1000", cpus=0.1, mem=32)
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        scheduler.wait_state(task_id, "TASK_RUNNING")
        gone = first
        for _ in range(2):
            gone.kill()
            second = self.wait_leader()
            self.assertNotEqual(second, gone)
            with open(second.log, encoding="utf-8") as log:
                self.assertIn("1 agents and ", log.read())
            self.assertEqual(self.wait_agent(second), agent_id)
            quota = second.json("/roles")["roles"]
            self.assertEqual([r["quota"]["limit"] for r in quota if r["name"] == "r"],
                             [{"cpus": 2.0}])
            scheduler.address = second.address
            scheduler.subscribe()
            wait_for(lambda: [t["state"] for f in second.state()["frameworks"]
                              for t in f["tasks"]] == ["TASK_RUNNING"], "the task")
            gone.start()
            self.wait_follower(gone)
            gone = second
        scheduler.kill(task_id, agent_id)
        scheduler.wait_state(task_id, "TASK_KILLED")

    def test_a_leader_that_is_told_to_end_leaves_at_once(self):
        client = self.zookeeper.client()
        self.addCleanup(client.stop)
        self.assertEqual(self.masters[0].terminate(), 0)
        self.assertEqual(len(member(client)), 2)
        self.assertEqual(self.wait_leader(), self.masters[1])
        self.wait_agent(self.masters[1])

    def test_one_that_was_stopped_ends_when_it_goes_on(self):
        first = self.masters[0]
        first.signal(signal.SIGSTOP)
        second = self.wait_leader(but=[first])
        self.wait_agent(second)
        first.signal(signal.SIGCONT)
        self.assertEqual(self.wait_ended(first), 1)
        self.assertEqual(self.wait_leader(but=[first]), second)
        first.start()
        self.wait_follower(first)

    def test_what_was_asked_of_one_that_was_stopped_is_not_written(self):
        first = self.masters[0]
        first.signal(signal.SIGSTOP)
        second = self.wait_leader(but=[first])
        before = self.zookeeper.client()
        self.addCleanup(before.stop)
        head = before.get("/mesos.mesita/registry/head")[0]
        link = harness.connections.connect(first.address, 30 * zookeeper.SCALE)
        self.addCleanup(link.close)
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": "late", "limits": {"cpus": {"value": 2}}}]}}
        link.request("POST", "/api/v1", json.dumps(call), {"Content-Type": "application/json"})
        first.signal(signal.SIGCONT)
        self.assertEqual(self.wait_ended(first), 1)
        with self.assertRaises((OSError, harness.connections.http.client.HTTPException)):
            if link.getresponse().status == 200:
                self.fail("it was acknowledged")
            raise OSError
        self.assertNotIn("late", [r["name"] for r in second.json("/roles")["roles"]])
        # The agent came back meanwhile, or not: who holds the registry is the same.
        self.assertEqual(before.get("/mesos.mesita/registry/head")[0].split()[1], head.split()[1])

    def test_a_node_that_is_removed(self):
        client = self.zookeeper.client()
        self.addCleanup(client.stop)
        client.delete("/mesos/json.info_0000000001")
        wait_for(lambda: "json.info_0000000003" in client.get_children("/mesos"), "new node")
        self.wait_follower(self.masters[1])
        client.delete("/mesos/json.info_0000000000")
        self.assertEqual(self.wait_ended(self.masters[0]), 1)
        self.assertEqual(self.wait_leader(), self.masters[2])
        client.delete("/mesos/json.info_0000000002")
        self.assertEqual(self.wait_ended(self.masters[2]), 1)
        self.assertEqual(self.wait_leader(), self.masters[1])
        self.wait_agent(self.masters[1])

    def test_a_member_that_nobody_knows(self):
        client = self.zookeeper.client()
        self.addCleanup(client.stop)
        client.create("/mesos/log_replicas", b"")
        client.create("/mesos/readme", b"")
        client.create("/mesos/json.info_-000000009", b"{\"id\":\"x\"")
        for daemon in self.masters + [self.agent_daemon]:
            self.assertEqual(self.wait_ended(daemon), 1)
        self.assertIn("Failed to read the leading master '/mesos/json.info_-000000009'",
                      self.masters[1].log_tail())

    def test_without_zookeeper(self):
        self.zookeeper.kill()
        self.assertEqual(self.wait_ended(self.masters[0]), 1)
        for master in self.masters[1:]:
            def leaderless(master=master):
                return harness.get(master.address, "/state")[0] == 503
            wait_for(leaderless, "a master that knows no leader", 30)
            self.assertEqual(harness.get(master.address, "/state")[2], b"No leader elected")
            self.assertEqual(harness.get(master.address, "/health")[0], 200)
        self.agent_daemon.check_alive()
        self.zookeeper.start().wait_serving()
        self.wait_agent(self.wait_leader())

    def test_short_outages_of_zookeeper_harm_nobody(self):
        first = self.masters[0]
        link = harness.connections.connect(first.address, 30 * zookeeper.SCALE)
        self.addCleanup(link.close)
        self.zookeeper.kill()
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": "r", "limits": {"cpus": {"value": 3}}}]}}
        link.request("POST", "/api/v1", json.dumps(call), {"Content-Type": "application/json"})
        self.zookeeper.start().wait_serving()
        # A session that was too short for the outage ends the leader; then nothing was promised.
        try:
            status = link.getresponse().status
            self.assertEqual(status, 200)
        except (OSError, harness.connections.http.client.HTTPException):
            status = None
            self.assertEqual(self.wait_ended(first), 1)
        leader = self.wait_leader()
        self.wait_agent(leader)
        quota = [r["quota"]["limit"] for r in leader.json("/roles")["roles"] if r["name"] == "r"]
        self.assertEqual(quota, [{"cpus": 3.0}] if status == 200 else quota)

    def test_commands_find_the_leader(self):
        first = self.masters[0]
        code, out, err = harness.run(["resolve", self.url])
        self.assertEqual((code, out), (0, "127.0.0.1:%d\n" % first.address[1]), err)
        path = os.path.join(self.base, "zk")
        with open(path, "w", encoding="ascii") as file:
            file.write(self.url + "\n")
        for master in (self.url, "file://" + path):
            code, out, err = harness.run(["run", "--master=" + master, "--cpus=0.1", "--mem=32",
                                          "echo", "hello"])
            self.assertEqual(code, 0, err)
            self.assertIn("hello", out)
            code, out, err = harness.run(["ps", "--master=" + master, "--all"])
            self.assertEqual(code, 0, err)
            self.assertIn("TASK_FINISHED", out)
        code, _, err = harness.run(["resolve", "--timeout=300ms", self.zookeeper.url("/none")])
        self.assertEqual(code, 1)
        self.assertIn("no master leads", err)

    def test_jobs_go_on_with_the_next_leader(self):
        job = harness.processes.spawn(
            [harness.MESITA, "run", "--master=" + self.url, "--cpus=0.1", "--mem=32",
             "--", "/bin/sh", "-c", "while [ ! -e %s/go ]; do sleep 0.1; done" % self.base],
            stdout=harness.subprocess.PIPE, stderr=harness.subprocess.STDOUT, text=True)
        wait_for(lambda: [t for f in self.masters[0].state()["frameworks"] for t in f["tasks"]
                          if t["state"] == "TASK_RUNNING"], "the task")
        self.masters[0].kill()
        second = self.wait_leader()
        self.wait_agent(second)
        wait_for(lambda: [f for f in second.state()["frameworks"] if f["active"]], "the framework")
        with open(os.path.join(self.base, "go"), "w", encoding="ascii"):
            pass
        out, _ = job.communicate(timeout=60 * zookeeper.SCALE)
        self.assertEqual(job.returncode, 0, out)
        self.assertIn("TASK_FINISHED", out)


class Credentials(zookeeper.ElectionCase):
    credentials = "mesos:s3@cret@"      # without the last one

    def test_who_has_none_only_reads(self):
        client = self.zookeeper.client()
        self.addCleanup(client.stop)
        acls = client.get_acls("/mesos/json.info_0000000000")[0]
        self.assertEqual(sorted((a.id.scheme, a.perms) for a in acls), [("digest", 31), ("world", 1)])
        code, out, err = harness.run(["resolve", self.zookeeper.url()])
        self.assertEqual((code, out), (0, "127.0.0.1:%d\n" % self.masters[0].address[1]), err)
        stranger = self.make_master("stranger", zk=self.zookeeper.url()).start()
        self.assertEqual(self.wait_ended(stranger), 1)
        self.assertIn("not authenticated", stranger.log_tail())
        for path in ("/mesos.mesita/registry", "/mesos.mesita/registry/head"):
            self.assertEqual(len(client.get_acls(path)[0]), 2)
        self.masters[0].kill()
        self.wait_agent(self.wait_leader())


class WithAnEnsemble(zookeeper.ElectionCase):
    kind = zookeeper.Ensemble

    def quota(self, master, role, cpus):
        """The status of the answer; None if there was none."""
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": role, "limits": {"cpus": {"value": cpus}}}]}}
        try:
            return harness.request(master.address, "POST", "/api/v1", json.dumps(call),
                                   {"Content-Type": "application/json"}, 30)[0]
        except (OSError, harness.connections.http.client.HTTPException):
            return None

    def test_what_was_promised_holds_whatever_dies(self):
        """Servers and masters are killed in turn; quota that was acknowledged stays."""
        promised = {}
        servers = sorted(self.zookeeper.members, key=lambda server: server.leads())
        for number, server in enumerate(servers):
            leader = self.wait_leader()
            server.kill()
            role = "r%d" % number
            if self.quota(leader, role, number + 1) == 200:
                promised[role] = number + 1.0
            leader = self.wait_leader()
            leader.kill()
            other = self.wait_leader(but=[leader])
            self.wait_agent(other)
            found = {r["name"]: r["quota"]["limit"].get("cpus")
                     for r in other.json("/roles")["roles"] if r["name"] in promised}
            self.assertEqual(found, promised)
            leader.start()
            server.start().wait_serving()
            # A supervisor starts those that lost their place.
            for master in self.masters:
                if not self.alive(master):
                    master.start()
            leader = self.wait_leader()
            for master in self.masters:
                if master is not leader:
                    self.wait_follower(master)
        self.assertTrue(promised)


class Moves(harness.TestCase):
    """A registry goes from a master's disk to ZooKeeper, and back, below an agent with a task."""

    def setUp(self):
        zookeeper.needed(self)
        super().setUp()
        self.zookeeper = zookeeper.Server(self.cluster.base).start().wait_serving()
        self.path = os.path.join(self.cluster.base, "where")

    def copy(self, source, target):
        code, out, err = harness.run(["registry", "copy", source, target])
        self.assertEqual(code, 0, err)
        self.assertRegex(out, "^[0-9]+ records copied from ")
        return int(out.split()[0])

    def check(self, scheduler, task_id):
        """The agent, its task and the quota are what they were."""
        self.agent.wait_registered()
        self.assertEqual(self.agent.id, self.agent_id)
        scheduler.subscribe()
        wait_for(lambda: [t["state"] for f in self.master.state()["frameworks"]
                          for t in f["tasks"] if t["id"] == task_id] == ["TASK_RUNNING"], "the task")
        self.assertEqual([r["quota"]["limit"] for r in self.master.json("/roles")["roles"]
                          if r["name"] == "r"], [{"cpus": 2.0}])

    def test_there_and_back(self):
        url = self.zookeeper.url()
        self.agent_id = self.agent.id
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": "r", "limits": {"cpus": {"value": 2}}}]}}
        self.assertEqual(harness.request(self.master.address, "POST", "/api/v1", json.dumps(call),
                                         {"Content-Type": "application/json"})[0], 200)
        scheduler = self.subscribe(name="mover", failover_timeout=600)
        offer = scheduler.offer(cpus=1)
        info = harness.task(offer, "exec sleep 1000", cpus=0.1, mem=32)
        scheduler.launch(offer, [info])
        task_id = info["task_id"]["value"]
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.assertEqual(harness.run(["registry", "copy", self.master.work_dir, url])[0], 1)
        self.master.terminate()
        count = self.copy(self.master.work_dir, url)
        self.assertGreater(count, 2)
        _, _, err = harness.run(["registry", "copy", self.master.work_dir, url])
        self.assertIn("holds %d records already" % count, err)
        self.master.flags["zk"] = url
        self.master.start().wait_ready()
        self.check(scheduler, task_id)
        _, _, err = harness.run(["registry", "copy", url, self.path])
        self.assertIn("the master 127.0.0.1:%d leads there" % self.master.address[1], err)
        self.master.terminate()
        os.mkdir(self.path)
        self.copy(url, self.path)
        del self.master.flags["zk"]
        self.master.flags["work_dir"] = self.path
        self.master.start().wait_ready()
        self.check(scheduler, task_id)

    def test_what_cannot_be(self):
        for source, target, why in (
                (self.path, self.zookeeper.url(), "is no work_dir of a master"),
                ("zk://127.0.0.1:1", self.path, "Expecting a (chroot) path")):
            code, _, err = harness.run(["registry", "copy", source, target])
            self.assertEqual(code, 1)
            self.assertIn(why, err)
        self.assertEqual(harness.run(["registry"])[0], 1)


class Flags(harness.TestCase):
    agents = None

    def refused(self, argv, text):
        code, _, err = harness.run(argv)
        self.assertEqual(code, 1)
        self.assertIn(text, err)

    def test_servers_that_are_not_there(self):
        code, _, err = harness.run(["resolve", "--verbose", "--timeout=4secs", "zk://127.0.0.1:1/m"])
        self.assertEqual(code, 1)
        self.assertIn("ZooKeeper at 127.0.0.1:1 does not answer; trying on", err)
        self.assertIn("no master leads, or it is not known", err)

    def test_urls_that_make_no_sense(self):
        for url, why in (
                ("zk://host:2181", "Expecting a (chroot) path for ZooKeeper ('/' is not supported)"),
                ("zk://host:2181/", "Expecting a (chroot) path"),
                ("host:2181/mesos", "Expecting 'zk://' at the beginning of the URL"),
                ("zk:///mesos", "Expecting ZooKeeper servers"),
                ("zk://h:1/a//b", "is no path of ZooKeeper"),
                ("file:///no/such/file", "No such file")):
            self.refused(["master", "--registry=in_memory", "--zk=" + url], why)
        self.refused(["master", "--registry=zookeeper", "--work_dir=/tmp"], "needs --zk")
        self.refused(["master", "--registry=etcd", "--work_dir=/tmp"],
                     "expected replicated_log, leveldb, zookeeper or in_memory")
        self.refused(["agent", "--work_dir=" + self.temporary(), "--master=zk://host:2181"],
                     "Expecting a (chroot) path")
