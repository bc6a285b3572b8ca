"""Scheduler drivers of v0 and a real master: what they say by calls or by messages of old, and
what becomes of their frameworks when a connection, a driver or the master is gone."""

import harness
from driver import Driver, NO_PID, scalar, task
from harness import HERE, wait_for
from scheduler import Scheduler


class DriverCase(harness.TestCase):
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 3}

    def driver(self, **info):
        driver = Driver(self.master.address, **info)
        self._open.append(driver)
        return driver

    def running(self, driver):
        offer, _ = driver.offer()
        info = task(offer)
        driver.launch(offer, info)
        task_id = info["task_id"]["value"]
        driver.expect_state(task_id, "TASK_RUNNING")
        return task_id

    def framework(self, framework_id):
        """(where it is listed, the framework) of /state."""
        state = self.master.state()
        for listing in ("frameworks", "completed_frameworks"):
            for found in state[listing]:
                if found["id"] == framework_id:
                    return listing, found
        return None, None

    def wait_completed(self, framework_id):
        wait_for(lambda: self.framework(framework_id)[0] == "completed_frameworks",
                 "end of " + framework_id)


class Drivers(DriverCase):
    def test_life_of_a_task(self):
        driver = self.driver()
        message = driver.register()
        pid = "master@%s:%d" % self.master.address
        self.assertEqual(message.sender, pid)
        self.assertEqual(message.body["master_info"]["pid"], pid)
        offer, agent_pid = driver.offer()
        self.assertEqual(agent_pid, "slave(1)@%s:%d" % self.agent.address)
        info = task(offer)
        task_id = info["task_id"]["value"]
        driver.launch(offer, info)
        self.assertEqual(driver.expect_state(task_id, "TASK_RUNNING")["pid"], agent_pid)
        driver.call("KILL", task_id=info["task_id"])
        driver.expect_state(task_id, "TASK_KILLED")
        wait_for(lambda: [t["state"] for t in self.framework(driver.id)[1]["completed_tasks"]] ==
                 ["TASK_KILLED"], "acknowledged end")
        self.assertEqual(self.framework(driver.id)[1]["pid"], driver.pid)
        driver.call("TEARDOWN")
        self.wait_completed(driver.id)

    def test_life_of_a_task_in_messages_of_old(self):
        driver = self.driver()
        driver.send(driver.master, "master", "RegisterFrameworkMessage",
                    {"framework": driver.info})
        driver.registered()
        offer, agent_pid = driver.offer()
        info = task(offer)
        driver.say("LaunchTasksMessage", offer_ids=[offer["id"]], tasks=[info],
                   filters={"refuse_seconds": 0})
        for _ in ("TASK_STARTING", "TASK_RUNNING"):
            body = driver.expect("StatusUpdateMessage").body
            self.assertEqual(body["pid"], agent_pid)
            driver.say("StatusUpdateAcknowledgementMessage", slave_id=offer["slave_id"],
                       task_id=info["task_id"], uuid=body["update"]["uuid"])
        driver.say("KillTaskMessage", task_id=info["task_id"])
        driver.expect_state(info["task_id"]["value"], "TASK_KILLED")
        driver.say("ReconcileTasksMessage", statuses=[
            {"task_id": {"value": "none"}, "state": 1}])
        body = driver.expect_state("none", "TASK_LOST")
        self.assertNotIn("uuid", body["update"])
        driver.say("LaunchTasksMessage", offer_ids=[{"value": "none"}], filters={},
                   tasks=[task(offer)])
        body = driver.expect("StatusUpdateMessage").body
        self.assertEqual(body["pid"], NO_PID)
        driver.say("UnregisterFrameworkMessage")
        self.wait_completed(driver.id)

    def test_messages_of_executors(self):
        driver = self.driver()
        driver.register()
        offer, agent_pid = driver.offer()
        executor = {"executor_id": {"value": "e"}, "framework_id": {"value": driver.id},
                    "command": {"value": "exec /usr/bin/python3 %s/executor.py" % HERE},
                    "resources": [scalar("cpus", 0.1), scalar("mem", 32)]}
        info = task(offer, None, executor=executor, data=b"wait")
        driver.launch(offer, info)
        driver.expect_state(info["task_id"]["value"], "TASK_RUNNING")
        # By the master; the answer comes straight from the agent.
        driver.call("MESSAGE", slave_id=offer["slave_id"], executor_id=executor["executor_id"],
                    data=b"one")
        message = driver.expect("ExecutorToFrameworkMessage")
        self.assertEqual((message.sender, message.body["data"]), (agent_pid, b"echo:one"))
        # Straight to the agent.
        driver.send(self.agent.address, "slave(1)", "FrameworkToExecutorMessage", {
            "slave_id": offer["slave_id"], "framework_id": {"value": driver.id},
            "executor_id": executor["executor_id"], "data": b"two"})
        self.assertEqual(driver.expect("ExecutorToFrameworkMessage").body["data"], b"echo:two")

    def test_failover(self):
        first = self.driver(failover_timeout=60)
        first.register()
        task_id = self.running(first)
        second = self.driver(failover_timeout=60)
        second.id = first.id
        second.subscribe()
        self.assertEqual(second.expect("FrameworkErrorMessage").body["message"],
                         "Framework failed over")
        second.register(force=True)
        self.assertEqual(first.expect("FrameworkErrorMessage").body["message"],
                         "Framework failed over")
        # What the old one says and the end of its connection change nothing.
        first.call("TEARDOWN")
        first.close()
        second.call("KILL", task_id={"value": task_id})
        second.expect_state(task_id, "TASK_KILLED")
        self.assertEqual(self.framework(second.id)[1]["pid"], second.pid)

    def test_from_v0_to_v1(self):
        driver = self.driver(failover_timeout=60)
        driver.register()
        task_id = self.running(driver)
        scheduler = Scheduler(self.master.address, failover_timeout=60)
        self._open.append(scheduler)
        scheduler.id = driver.id
        scheduler.subscribe()
        self.assertEqual(driver.expect("FrameworkErrorMessage").body["message"],
                         "Framework failed over")
        scheduler.kill(task_id)
        scheduler.wait_state(task_id, "TASK_KILLED")
        driver.register(force=True)
        self.assertEqual(self.framework(driver.id)[1]["pid"], driver.pid)

    def test_broken_connection(self):
        driver = self.driver()
        driver.register()
        driver.break_links()
        self.assertEqual(driver.expect("FrameworkErrorMessage").body["message"],
                         "Framework disconnected")
        self.wait_completed(driver.id)

    def test_broken_connection_of_one_that_returns(self):
        driver = self.driver(failover_timeout=60)
        driver.register()
        task_id = self.running(driver)
        driver.break_links()
        wait_for(lambda: not self.framework(driver.id)[1]["connected"], "disconnect")
        driver.expect("FrameworkErrorMessage")
        driver.subscribe()
        driver.registered("FrameworkReregisteredMessage")
        driver.call("KILL", task_id={"value": task_id})
        driver.expect_state(task_id, "TASK_KILLED")

    def test_master_restart(self):
        driver = self.driver(failover_timeout=60, checkpoint=True)
        driver.register()
        task_id = self.running(driver)
        self.master.kill()
        self.master.start().wait_ready()
        driver.forget_master()
        driver.subscribe()
        message = driver.registered()
        self.assertEqual(message.body["master_info"]["id"], self.master.state()["id"])
        self.agent.wait_registered()
        driver.call("RECONCILE", tasks=[{"task_id": {"value": task_id}}])
        driver.expect_state(task_id, "TASK_RUNNING")
        driver.call("KILL", task_id={"value": task_id})
        driver.expect_state(task_id, "TASK_KILLED")


class AllInterfaces(DriverCase):
    """A driver takes messages only from the pid that it was told, so the master speaks from the
    address at which the driver reached it."""

    agents = 0
    master_flags = {"ip": "0.0.0.0"}

    def test_sender(self):
        driver = self.driver()
        self.assertEqual(driver.register().sender, "master@127.0.0.1:%d" % self.master.address[1])
        driver.master = ("127.0.0.2", self.master.address[1])
        driver.subscribe()
        message = driver.registered("FrameworkReregisteredMessage")
        self.assertEqual(message.sender, "master@127.0.0.2:%d" % self.master.address[1])


if __name__ == "__main__":
    harness.unittest.main()


class RateLimits(DriverCase):
    master_flags = {"rate_limits": '{"limits":[{"principal":"p","qps":5,"capacity":3}]}'}

    def test_too_many_messages(self):
        driver, other = self.driver(principal="p"), self.driver(principal="q")
        for each in (driver, other):
            each.register()
        for each in (other, driver):
            for _ in range(10):
                each.say("ReviveOffersMessage")
        self.assertEqual(driver.expect("FrameworkErrorMessage").body["message"],
                         "Message mesos.internal.ReviveOffersMessage dropped: "
                         "capacity(3) exceeded")
        wait_for(lambda: self.master.metric("frameworks/p/messages_processed") >= 4,
                 "those that waited")
        self.assertEqual(self.master.metric("frameworks/p/messages_received"), 10)
        self.assertEqual(self.master.metric("frameworks/q/messages_received"), 10)
        self.assertEqual(self.master.metric("frameworks/q/messages_processed"), 10)

    def test_what_is_no_limit(self):
        code, _, err = harness.run(["master", "--registry=in_memory", "--port=0", "--rate_limits="
                                    '{"limits":[{"principal":"p","qps":0}]}'])
        self.assertEqual(code, 1)
        self.assertIn("Invalid qps", err)
