"""Master and agent on the wire of Mesos: each is held against the other side as Mesos plays it,
message by message and field by field."""

import uuid

import harness
from harness import wait_for
from libprocess import Process
from scheduler import scalar, task
from test_tasks import data, executor_info

# What an agent of Mesos 1.12 announces, in its order (SlaveInfo.Capability.Type).
CAPABILITIES = [{"type": number} for number in (1, 2, 3, 4, 5, 6, 7, 8)]
VERSION = bytes(range(16))
NO_PID = "@0.0.0.0:0"
STARTING, RUNNING, FINISHED, FAILED, KILLED, LOST = range(6)
STAGING, DROPPED = 6, 9


def resources(cpus=4.0, mem=4096.0, role=None, allocated=None):
    extra = {} if role is None else {"role": role}
    if allocated is not None:
        extra["allocation_info"] = {"role": allocated}
    return [{"name": "cpus", "type": 0, "scalar": {"value": cpus}, **extra},
            {"name": "mem", "type": 0, "scalar": {"value": mem}, **extra}]


def value(text):
    return {"value": text}


def uuid_of(number):
    return uuid.UUID(int=number, version=4).bytes


class FakeAgent(Process):
    def __init__(self, master):
        super().__init__("slave(1)")
        self.master, self.id = master, None
        self.info = {"hostname": "localhost", "resources": resources(role="*"),
                     "checkpoint": True, "port": self.address[1]}
        self.capabilities = CAPABILITIES

    def say(self, name, message, to="master"):
        return self.send(self.master, to, name, message)

    def facts(self):
        return {"version": "1.12.0", "agent_capabilities": self.capabilities,
                "resource_version_uuid": {"value": VERSION}}

    def register(self):
        self.say("RegisterSlaveMessage", {"slave": self.info, **self.facts()})
        registered = self.expect("SlaveRegisteredMessage")
        self.id = registered.body["slave_id"]["value"]
        self.info["id"] = value(self.id)
        self.say("UpdateSlaveMessage", {
            "slave_id": value(self.id), "update_oversubscribed_resources": False,
            "operations": {}, "resource_version_uuid": {"value": VERSION},
            "resource_providers": {}})
        return registered

    def reregister(self, **what):
        self.say("ReregisterSlaveMessage", {"slave": self.info, **self.facts(), **what})
        return self.expect("SlaveReregisteredMessage")

    def update(self, run, state, number, executor=None, **more):
        info = run.body["task"]
        number = uuid_of(number)
        executor_id = executor or info["task_id"]["value"]
        self.say("StatusUpdateMessage", {"pid": self.pid, "update": {
            "framework_id": run.body["framework"]["id"], "executor_id": value(executor_id),
            "slave_id": value(self.id), "timestamp": 1.0, "uuid": number, "latest_state": state,
            "status": {"task_id": info["task_id"], "state": state, "slave_id": value(self.id),
                       "timestamp": 1.0, "executor_id": value(executor_id), "source": 2,
                       "uuid": number, **more}}})
        return number

    def record(self, run, state, number):
        """The task as a reregistration tells of it."""
        info, number = run.body["task"], uuid_of(number)
        return {"name": info["name"], "task_id": info["task_id"], "slave_id": value(self.id),
                "framework_id": run.body["framework"]["id"], "state": state,
                "resources": [dict(r, role="*") for r in info["resources"]],
                "status_update_state": state, "status_update_uuid": number,
                "statuses": [{"task_id": info["task_id"], "state": state, "uuid": number}]}


class AgentOfMesos(harness.TestCase):
    """A master and something that talks as an agent of Mesos does."""

    maxDiff = None
    agents = 0
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 20}

    def fake(self, **more):
        agent = FakeAgent(self.master.address)
        self.addCleanup(agent.close)
        for name, what in more.items():
            setattr(agent, name, what)
        return agent

    def started(self):
        agent = self.fake()
        agent.register()
        scheduler = self.subscribe(failover_timeout=60)
        offer = scheduler.offer()
        info = task(offer, "sleep 1000", task_id="t")
        scheduler.launch(offer, [info])
        run = agent.expect("RunTaskMessage")
        return agent, scheduler, run

    def test_registration(self):
        agent = self.fake()
        registered = agent.register()
        self.assertEqual(registered.sender, "master@%s:%d" % self.master.address)
        self.assertEqual(registered.to, "slave(1)")
        self.assertEqual(registered.headers["User-Agent"], "libprocess/" + registered.sender)
        self.assertEqual(registered.body, {
            "slave_id": value(agent.id), "connection": {"total_ping_timeout_seconds": 20.0}})
        for _ in range(2):
            ping = agent.expect("PingSlaveMessage")
            self.assertEqual(ping.body, {"connected": True})
            actor, _, address = ping.sender.partition("@")
            self.assertRegex(actor, r"^slave-observer\(\d+\)$")
            self.assertEqual(agent.say("PongSlaveMessage", {}, to=actor), 202)
        entry = self.master.json("/slaves")["slaves"][0]
        self.assertEqual(entry["version"], "1.12.0")
        self.assertEqual(sorted(entry["capabilities"]), sorted((
            "MULTI_ROLE", "HIERARCHICAL_ROLE", "RESERVATION_REFINEMENT", "RESOURCE_PROVIDER",
            "RESIZE_VOLUME", "AGENT_OPERATION_FEEDBACK", "AGENT_DRAINING",
            "TASK_RESOURCE_LIMITS")))
        # Once more, as after a lost answer: the same again.
        self.assertEqual(agent.say("RegisterSlaveMessage", {
            "slave": {k: v for k, v in agent.info.items() if k != "id"}, **agent.facts()}), 202)
        self.assertEqual(agent.expect("SlaveRegisteredMessage").body, registered.body)
        self.assertEqual(set(agent.names()) - {"PingSlaveMessage"}, set())

    def test_command_task(self):
        agent, scheduler, run = self.started()
        self.assertEqual(run.body, {
            "framework": {"user": "root", "name": "e2e", "id": value(scheduler.id),
                          "failover_timeout": 60.0, "checkpoint": True,
                          "capabilities": [{"type": 6}], "roles": ["*"]},
            "pid": NO_PID, "launch_executor": True,
            "resource_version_uuids": [{"uuid": {"value": VERSION}}],
            "task": {"name": "t", "task_id": value("t"), "slave_id": value(agent.id),
                     "resources": resources(0.1, 32.0, allocated="*"),
                     "command": {"value": "sleep 1000", "shell": True}}})
        number = agent.update(run, RUNNING, 1)
        scheduler.wait_state("t", "TASK_RUNNING")
        acknowledged = {"slave_id": value(agent.id), "framework_id": value(scheduler.id),
                        "task_id": value("t"), "uuid": number}
        self.assertEqual(agent.expect("StatusUpdateAcknowledgementMessage").body, acknowledged)
        scheduler.kill("t")
        self.assertEqual(agent.expect("KillTaskMessage").body, {
            "framework_id": value(scheduler.id), "task_id": value("t")})
        acknowledged["uuid"] = agent.update(run, KILLED, 2, message="bye")
        self.assertEqual(scheduler.wait_terminal("t")["message"], "bye")
        self.assertEqual(agent.expect("StatusUpdateAcknowledgementMessage").body, acknowledged)
        scheduler.teardown()
        self.assertEqual(agent.expect("ShutdownFrameworkMessage").body,
                         {"framework_id": value(scheduler.id)})

    def test_custom_executor(self):
        agent = self.fake()
        agent.register()
        scheduler = self.subscribe()
        executor = executor_info("e")
        runs = []
        for name in ("one", "two"):
            offer = scheduler.offer()
            scheduler.launch(offer, [task(offer, None, task_id=name, executor=executor,
                                          data=data("x"))])
            runs.append(agent.expect("RunTaskMessage"))
        self.assertEqual([run.body["launch_executor"] for run in runs], [True, False])
        sent = runs[0].body["task"]["executor"]
        self.assertEqual(sent["framework_id"], value(scheduler.id))
        self.assertEqual(sent["resources"], resources(0.1, 32.0, allocated="*"))
        self.assertEqual(runs[0].body["task"]["data"], b"x")
        for number, run in enumerate(runs):
            agent.update(run, FAILED, number + 1, executor="e")
        agent.say("ExitedExecutorMessage", {
            "slave_id": value(agent.id), "framework_id": value(scheduler.id),
            "executor_id": value("e"), "status": 768})
        failure = scheduler.expect("FAILURE")["failure"]
        self.assertEqual(failure, {"agent_id": value(agent.id), "executor_id": value("e"),
                                   "status": 768})
        # Nothing is held any more.
        wait_for(lambda: not self.master.json("/slaves")["slaves"][0]["used_resources"].get("cpus"),
                 "idle agent")

    def test_reregistration_with_a_restarted_master(self):
        agent, scheduler, run = self.started()
        agent.update(run, RUNNING, 1)
        agent.expect("StatusUpdateAcknowledgementMessage")
        self.master.kill()
        self.master.start().wait_ready()
        agent.received.clear()
        agent._connections.clear()
        answer = agent.reregister(tasks=[agent.record(run, RUNNING, 1)],
                                  frameworks=[run.body["framework"]])
        self.assertEqual(answer.body, {
            "slave_id": value(agent.id), "connection": {"total_ping_timeout_seconds": 20.0}})
        self.assertEqual(agent.expect("PingSlaveMessage").body, {"connected": True})
        self.assertEqual(set(agent.names()) - {"PingSlaveMessage"}, set())
        scheduler.wait_closed()
        scheduler.subscribe()
        self.assertEqual(agent.expect("UpdateFrameworkMessage").body, {
            "framework_id": value(scheduler.id), "pid": NO_PID,
            "framework_info": run.body["framework"]})
        agent.update(run, FINISHED, 2)
        scheduler.wait_state("t", "TASK_FINISHED")

    def test_reregistration_without_a_task(self):
        agent, scheduler, run = self.started()
        answer = agent.reregister()
        self.assertEqual(len(answer.body["reconciliations"]), 1)
        asked = answer.body["reconciliations"][0]
        self.assertEqual(asked["framework_id"], value(scheduler.id))
        self.assertEqual(asked["framework"], run.body["framework"])
        status = asked["statuses"][0]
        status.pop("timestamp")
        self.assertEqual(status, {
            "task_id": value("t"), "slave_id": value(agent.id), "state": STAGING, "source": 0,
            "reason": 9, "message": "Reconciliation request"})

    def test_agent_of_old(self):
        """No roles, no refinement, no resource providers: the formats of before."""
        agent = self.fake(capabilities=[])
        agent.register()
        scheduler = self.subscribe(capabilities=(), roles=())
        offer = scheduler.offer()
        scheduler.launch(offer, [task(offer, "true", task_id="t")])
        run = agent.expect("RunTaskMessage")
        for resource in run.body["task"]["resources"]:
            self.assertEqual(resource.get("role"), "*", resource)
        agent.update(run, RUNNING, 1)
        agent.expect("StatusUpdateAcknowledgementMessage")
        agent.reregister(tasks=[agent.record(run, RUNNING, 1)],
                         frameworks=[run.body["framework"]])
        self.assertEqual(agent.expect("CheckpointResourcesMessage").body, {})
        agent.update(run, FINISHED, 2)
        scheduler.wait_state("t", "TASK_FINISHED")

    def test_strangers(self):
        agent, scheduler, run = self.started()
        stranger = self.fake(id=agent.id)
        stranger.update(run, RUNNING, 1)
        stranger.say("ExitedExecutorMessage", {
            "slave_id": value(agent.id), "framework_id": value(scheduler.id),
            "executor_id": value("t"), "status": 0})
        stranger.say("UnregisterSlaveMessage", {"slave_id": value(agent.id)})
        agent.update(run, FINISHED, 2)
        scheduler.wait_state("t", "TASK_FINISHED")
        self.assertEqual(scheduler.states("t"), ["TASK_FINISHED"])
        self.assertEqual(len(self.master.json("/slaves")["slaves"]), 1)
        self.assertEqual(stranger.names(), [])


class MasterOfMesos(harness.TestCase):
    """An agent and something that talks as a master of Mesos does."""

    maxDiff = None
    agents = None
    FRAMEWORK = {"user": "root", "name": "golden", "id": value("M-0000"), "checkpoint": True,
                 "failover_timeout": 60.0, "capabilities": [{"type": 6}], "roles": ["*"]}

    def setUp(self):
        super().setUp()
        self.fake = Process("master")
        self.addCleanup(self.fake.close)
        self.cluster = harness.Cluster(1)
        self.cluster.agents[0].flags["master"] = "%s:%d" % self.fake.address
        self.agent.start()

    def say(self, name, message, sender=None):
        return self.fake.send(self.agent.address, "slave(1)", name, message, sender)

    def register(self):
        message = self.fake.expect("RegisterSlaveMessage")
        self.version = message.body["resource_version_uuid"]
        self.say("PingSlaveMessage", {"connected": True},
                 sender="slave-observer(1)@%s:%d" % self.fake.address)
        self.say("SlaveRegisteredMessage", {
            "slave_id": value("M-S0"), "connection": {"total_ping_timeout_seconds": 75.0}})
        self.assertEqual(self.fake.expect("PongSlaveMessage").to, "slave-observer(1)")
        wait_for(lambda: self.agent.metric("slave/registered") == 1, "registration")
        return message

    def run_task(self, command="sleep 1000", task_id="t"):
        self.say("RunTaskMessage", {
            "framework": self.FRAMEWORK, "pid": NO_PID, "launch_executor": True,
            "resource_version_uuids": [{"uuid": self.version}],
            "task": {"name": task_id, "task_id": value(task_id), "slave_id": value("M-S0"),
                     "resources": resources(0.1, 32.0, allocated="*"),
                     "command": {"value": command, "shell": True}}})

    def update(self, state, task_id="t", acknowledge=True):
        message = self.fake.expect("StatusUpdateMessage")
        update = message.body["update"]
        self.assertEqual((update["status"]["task_id"], update["status"]["state"]),
                         (value(task_id), state), message)
        if acknowledge:
            self.acknowledge(message)
        return message

    def acknowledge(self, message):
        update = message.body["update"]
        self.say("StatusUpdateAcknowledgementMessage", {
            "slave_id": value("M-S0"), "framework_id": update["framework_id"],
            "task_id": update["status"]["task_id"], "uuid": update["uuid"]})

    def test_registration(self):
        message = self.register()
        self.assertEqual(message.to, "master")
        self.assertEqual(message.sender, "slave(1)@%s:%d" % self.agent.address)
        self.assertEqual(message.body.pop("agent_capabilities"), CAPABILITIES)
        self.assertEqual(message.body.pop("resource_version_uuid"), self.version)
        self.assertEqual(len(self.version["value"]), 16)
        self.assertEqual(self.fake.expect("UpdateSlaveMessage").body, {
            "slave_id": value("M-S0"), "update_oversubscribed_resources": False,
            "operations": {}, "resource_version_uuid": self.version, "resource_providers": {}})
        ranges = {"range": [{"begin": 31000, "end": 31999}]}
        self.assertEqual(message.body, {"version": "1.12.0", "slave": {
            "hostname": "localhost", "checkpoint": True, "port": self.agent.address[1],
            "resources": resources(role="*") + [
                {"name": "disk", "type": 0, "scalar": {"value": 4096.0}, "role": "*"},
                {"name": "ports", "type": 1, "ranges": ranges, "role": "*"}]}})
        self.assertEqual(self.agent.state()["id"], "M-S0")

    def test_task(self):
        self.register()
        self.run_task()
        started = self.update(STARTING)
        running = self.update(RUNNING, acknowledge=False)
        body = running.body
        self.assertEqual(body["pid"], "slave(1)@%s:%d" % self.agent.address)
        update, status = body["update"], body["update"]["status"]
        container = status["container_status"]
        self.assertEqual(container["network_infos"],
                         [{"ip_addresses": [{"ip_address": "127.0.0.1"}]}])
        self.assertEqual(set(container), {"network_infos", "executor_pid", "container_id"})
        self.assertNotEqual(update["uuid"], started.body["update"]["uuid"])
        self.assertEqual(update, {
            "framework_id": value("M-0000"), "executor_id": value("t"), "slave_id": value("M-S0"),
            "timestamp": update["timestamp"], "uuid": update["uuid"], "latest_state": RUNNING,
            "status": {"task_id": value("t"), "state": RUNNING, "slave_id": value("M-S0"),
                       "timestamp": update["timestamp"], "executor_id": value("t"), "source": 2,
                       "uuid": update["uuid"], "container_status": container}})
        self.say("KillTaskMessage", {"framework_id": value("M-0000"), "task_id": value("t")})
        wait_for(lambda: not harness.processes.descendants(container["executor_pid"]),
                 "end of the task")
        # The next one only after the acknowledgement.
        self.assertNotIn("StatusUpdateMessage", self.fake.names())
        self.acknowledge(running)
        self.update(KILLED)
        wait_for(lambda: not self.agent.state()["frameworks"], "end of the framework")

    def test_latest_state_runs_ahead(self):
        self.register()
        self.run_task("exit 3")
        message = self.update(STARTING, acknowledge=False)
        pid = message.body["update"]["status"]["container_status"]["executor_pid"]
        wait_for(lambda: self.agent.state()["frameworks"][0]["executors"][0]["tasks"] == [],
                 "end of the task")
        self.say("UpdateFrameworkMessage", {"framework_id": value("M-0000"), "pid": NO_PID,
                                            "framework_info": self.FRAMEWORK})
        again = self.update(STARTING)
        self.assertEqual(again.body["update"]["latest_state"], FAILED)
        self.assertEqual(again.body["update"]["uuid"], message.body["update"]["uuid"])
        self.update(RUNNING)
        self.assertIn("exited with status 3",
                      self.update(FAILED).body["update"]["status"]["message"])
        wait_for(lambda: not harness.processes.alive(pid), "end of the executor")

    def test_reregistration(self):
        self.register()
        self.run_task()
        self.update(STARTING)
        running = self.update(RUNNING).body["update"]
        wait_for(lambda: self.agent.state()["frameworks"][0]["executors"][0]["tasks"][0][
            "state"] == "TASK_RUNNING", "running task")
        self.say("PingSlaveMessage", {"connected": False},
                 sender="slave-observer(1)@%s:%d" % self.fake.address)
        message = self.fake.expect("ReregisterSlaveMessage")
        self.assertEqual(message.body["slave"]["id"], value("M-S0"))
        self.assertEqual(message.body["frameworks"], [self.FRAMEWORK])
        self.assertNotIn("executor_infos", message.body)
        reported = message.body["tasks"][0]
        self.assertEqual([s["state"] for s in reported.pop("statuses")], [STARTING, RUNNING])
        self.assertEqual(reported, {
            "name": "t", "task_id": value("t"), "framework_id": value("M-0000"),
            "slave_id": value("M-S0"), "state": RUNNING,
            "resources": resources(0.1, 32.0, role="*", allocated="*"),
            "status_update_state": RUNNING, "status_update_uuid": running["uuid"]})
        self.say("SlaveReregisteredMessage", {
            "slave_id": value("M-S0"), "connection": {"total_ping_timeout_seconds": 75.0},
            "reconciliations": [{
                "framework_id": value("M-0000"), "framework": self.FRAMEWORK,
                "statuses": [{"task_id": value(name), "state": STAGING} for name in ("t", "x")]}]})
        lost = self.update(LOST, task_id="x").body["update"]["status"]
        self.assertEqual((lost["source"], lost["reason"], lost["message"]),
                         (1, 9, "Reconciliation: task unknown to the agent"))
        self.say("ShutdownFrameworkMessage", {"framework_id": value("M-0000")})
        wait_for(lambda: not self.agent.state()["frameworks"], "end of the framework")

    def test_killed_agent(self):
        self.register()
        self.run_task()
        self.update(STARTING)
        self.update(RUNNING)
        self.agent.kill()
        self.agent.start()
        self.fake._connections.clear()
        message = self.fake.expect("ReregisterSlaveMessage", 30)
        self.assertEqual([t["state"] for t in message.body["tasks"]], [RUNNING])
        self.say("SlaveReregisteredMessage", {
            "slave_id": value("M-S0"), "connection": {"total_ping_timeout_seconds": 75.0}})
        self.say("KillTaskMessage", {"framework_id": value("M-0000"), "task_id": value("t")})
        message = self.fake.expect("StatusUpdateMessage")
        if message.body["update"]["status"]["state"] == RUNNING:
            # It was killed before it wrote the acknowledgement down.
            self.acknowledge(message)
            message = self.fake.expect("StatusUpdateMessage")
        self.assertEqual(message.body["update"]["status"]["state"], KILLED)

    def test_operations(self):
        self.register()
        self.fake.expect("UpdateSlaveMessage")
        disk = {"name": "disk", "type": 0, "scalar": {"value": 64.0},
                "reservations": [{"role": "r", "type": 2}]}
        allocated = dict(disk, allocation_info={"role": "r"})
        volume = {"persistence": value("v1"), "volume": {"container_path": "data", "mode": 1}}
        orders = [{"type": 2, "reserve": {"resources": [allocated]}, "id": value("op")},
                  {"type": 4, "create": {"volumes": [dict(allocated, disk=volume)]}}]
        for number, order in enumerate(orders):
            self.say("ApplyOperationMessage", {
                "framework_id": value("M-0000"), "operation_info": order,
                "operation_uuid": value(uuid_of(number)),
                "resource_version_uuid": {"uuid": self.version}})
            body = self.fake.expect("UpdateOperationStatusMessage").body
            status = {"state": 2, "slave_id": value("M-S0"), "uuid": body["status"]["uuid"],
                      **({"operation_id": order["id"]} if "id" in order else {})}
            self.assertEqual(body, {
                "framework_id": value("M-0000"), "slave_id": value("M-S0"), "status": status,
                "latest_status": status, "operation_uuid": value(uuid_of(number))})
            if number == 0:
                self.say("AcknowledgeOperationStatusMessage", {
                    "status_uuid": status["uuid"], "operation_uuid": body["operation_uuid"]})
        self.agent.kill()
        self.agent.start()
        self.fake._connections.clear()
        message = self.fake.expect("ReregisterSlaveMessage", 30).body
        # In the old format, which can say it; the reserved disk is all in the volume.
        self.assertEqual(message["checkpointed_resources"], [
            {"name": "disk", "type": 0, "scalar": {"value": 64.0}, "role": "r",
             "reservation": {}, "disk": volume}])
        self.assertNotEqual(message["resource_version_uuid"], self.version)
        self.say("SlaveReregisteredMessage", {
            "slave_id": value("M-S0"), "connection": {"total_ping_timeout_seconds": 75.0}})
        update = self.fake.expect("UpdateSlaveMessage").body
        self.assertEqual([o["uuid"] for o in update["operations"]["operations"]],
                         [value(uuid_of(1))])
        self.assertEqual(self.fake.expect("UpdateOperationStatusMessage").body, body)

    def test_custom_executor(self):
        self.register()
        info = executor_info("e")
        self.say("RunTaskMessage", {
            "framework": self.FRAMEWORK, "pid": NO_PID, "launch_executor": True,
            "task": {"name": "t", "task_id": value("t"), "slave_id": value("M-S0"),
                     "data": b"exit 3", "resources": resources(0.1, 32.0, allocated="*"),
                     "executor": {"executor_id": value("e"), "framework_id": value("M-0000"),
                                  "command": info["command"],
                                  "resources": resources(0.1, 32.0, allocated="*")}}})
        self.update(RUNNING)
        self.update(FAILED)
        self.assertEqual(self.fake.expect("ExitedExecutorMessage").body, {
            "slave_id": value("M-S0"), "framework_id": value("M-0000"), "executor_id": value("e"),
            "status": 768})

    def test_strangers(self):
        self.register()
        stranger = Process("master")
        self.addCleanup(stranger.close)
        for name, message in (
                ("ShutdownMessage", {"message": "x"}),
                ("SlaveRegisteredMessage", {"slave_id": value("X-S0")}),
                ("RunTaskMessage", {"framework": self.FRAMEWORK, "task": {
                    "name": "x", "task_id": value("x"), "slave_id": value("M-S0"),
                    "command": {"value": "true"}}})):
            self.assertEqual(
                stranger.send(self.agent.address, "slave(1)", name, message), 202)
        self.run_task()
        self.update(STARTING)
        self.update(RUNNING)
        self.say("ShutdownMessage", {"message": "enough"})
        self.assertEqual(self.agent.process.wait(20), 0)
