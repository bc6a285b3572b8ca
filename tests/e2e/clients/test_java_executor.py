"""A Java executor on mesita's libmesos.so, and schedulers that work as Hadoop-on-Mesos does."""

import os
import socket

import harness
import jvm

RUNNING = "DRIVER_RUNNING"


class ExecutorTestCase(jvm.JavaTestCase):
    def setUp(self):
        super().setUp()
        self.environment = ""

    def command(self):
        return "%sexec java -Xmx64m -XX:+UseSerialGC -Xcheck:jni -cp '%s' DrivenExecutor" % (
            self.environment, jvm.classpath(self.jar))

    def tracker(self, task, agent_id, executor, data, cpus="0.5", uri=None):
        return "|".join([task, agent_id, cpus, "executor", executor, self.command(), data] +
                        ([uri] if uri else []))

    def callbacks(self, framework_id, executor="e", agent=None):
        """What an executor heard so far."""
        path = (agent or self.agent).sandbox(framework_id, executor) + "/callbacks"
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [line.split("\t") for line in file.read().splitlines()]

    def heard(self, framework_id, *words, executor="e", agent=None):
        def look():
            for line in self.callbacks(framework_id, executor, agent):
                if line[:len(words)] == list(words):
                    return line
            return None
        return harness.wait_for(look, "executor hearing %s" % (words,), 30)

    def complaints(self, framework_id, executor="e"):
        with open(self.agent.sandbox(framework_id, executor) + "/stderr", encoding="utf-8") as f:
            text = f.read()
        with open(self.agent.sandbox(framework_id, executor) + "/stdout", encoding="utf-8") as f:
            text += f.read()
        return [line for line in text.splitlines() if any(c in line for c in jvm.COMPLAINTS)]

    def begin(self, *, data="run", **options):
        """A scheduler with a task "t" in executor "e" that runs."""
        driver, framework_id = self.registered(**options)
        offer, agent_id, *_ = driver.offers()[0]
        self.assertEqual(driver.ask("launchf", offer, "0",
                                    self.tracker("t", agent_id, "e", data)), [RUNNING])
        driver.hear("statusUpdate", "t", "TASK_RUNNING", timeout=60)
        return driver, framework_id, agent_id


class Executor(ExecutorTestCase):
    def test_life(self):
        driver, framework_id, agent_id = self.begin()
        self.assertEqual(self.heard(framework_id, "registered")[1:],
                         ["e", "driven", "localhost", "for e"])
        self.assertEqual(self.heard(framework_id, "launchTask")[1:], ["t", "run"])
        self.assertEqual(driver.ask("message", "e", agent_id, "hellö"), [RUNNING])
        self.assertEqual(driver.hear("frameworkMessage"), ["e", agent_id, "echo hellö"])
        driver.ask("kill", "t")
        self.assertEqual(driver.hear("statusUpdate", "t", "TASK_KILLED")[6], "of t")
        self.heard(framework_id, "killTask", "t")
        self.assertEqual(driver.ask("stop"), ["DRIVER_STOPPED"])
        self.heard(framework_id, "shutdown")
        self.heard(framework_id, "ended", "DRIVER_STOPPED")
        self.assertEqual(self.complaints(framework_id), [])

    def test_updates_that_are_sent_last_arrive(self):
        driver, framework_id, agent_id = self.begin()
        driver.ask("message", "e", agent_id, "finish t")
        driver.ask("message", "e", agent_id, "stop")
        driver.hear("statusUpdate", "t", "TASK_FINISHED")
        self.heard(framework_id, "stopped", "DRIVER_STOPPED")
        driver.hear("executorLost", "e", agent_id, "0")

    def test_executor_that_dies(self):
        driver, _, agent_id = self.begin()
        entry = self.agent.json("/containers")[0]
        self.assertEqual(entry["executor_id"], "e")
        os.kill(entry["status"]["executor_pid"], 9)
        driver.hear("statusUpdate", "t", "TASK_FAILED")
        self.assertEqual(driver.hear("executorLost"), ["e", agent_id, "9"])

    def test_exception_in_a_callback(self):
        driver, framework_id = self.registered()
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, self.tracker("t", agent_id, "e", "throw"))
        driver.hear("executorLost", "e", agent_id, timeout=60)
        self.assertIn(["ended", "DRIVER_ABORTED"], self.callbacks(framework_id))

    def test_status_that_no_executor_may_send(self):
        driver, framework_id, agent_id = self.begin()
        driver.ask("message", "e", agent_id, "staging t")
        self.assertEqual(self.heard(framework_id, "error")[1:],
                         ["Attempted to send TASK_STAGING status update"])
        driver.hear("executorLost", "e", agent_id, timeout=30)

    def test_agent_restart(self):
        driver, framework_id, agent_id = self.begin(checkpoint=1, failover=60)
        self.agent.kill()
        self.heard(framework_id, "disconnected")
        self.agent.start().wait_registered()
        self.assertEqual(self.heard(framework_id, "reregistered")[1:], ["localhost"])
        driver.ask("message", "e", agent_id, "still there")
        driver.hear("frameworkMessage", "e", agent_id, "echo still there")
        driver.ask("kill", "t")
        driver.hear("statusUpdate", "t", "TASK_KILLED")

    def test_agent_that_is_lost(self):
        _, framework_id, _ = self.begin()
        sandbox = self.agent.sandbox(framework_id, "e")
        self.agent.kill()
        harness.wait_for(lambda: "shutdown" in open(sandbox + "/callbacks").read(), "shutdown")
        harness.wait_for(lambda: "ended" in open(sandbox + "/callbacks").read(), "end")

    def test_without_an_agent(self):
        done = harness.processes.run(
            ["java", "-cp", jvm.classpath(self.jar), "DrivenExecutor"], cwd=self.temporary(),
            env=jvm.environment(), stdout=-1, stderr=-2)
        self.assertEqual(done.returncode, 1, done.stdout)


    def test_an_agent_that_says_nothing(self):
        server = socket.create_server((harness.IP, 0))
        self.addCleanup(server.close)
        server.settimeout(60 * harness.SCALE)
        executor = jvm.Driven(
            self.jar, "DrivenExecutor", MESOS_FRAMEWORK_ID="f", MESOS_EXECUTOR_ID="e",
            MESOS_AGENT_ENDPOINT="%s:%d" % server.getsockname(), MESOS_LOCAL="1")
        self.addCleanup(executor.close)
        # It gives up and comes again: client/executor.c, SUBSCRIBE_TIMEOUT_MS.
        accepted = [server.accept()[0] for _ in range(2)]
        self.assertIsNone(executor.process.poll())
        for connection in accepted:
            connection.close()


class ExecutorOfOldJar(Executor):
    jar = "1.4.3"


class Impatient(ExecutorTestCase):
    agent_flags = {"recovery_timeout": "3secs", "executor_shutdown_grace_period": "1secs"}

    def test_agent_that_does_not_come_back(self):
        _, framework_id, _ = self.begin(checkpoint=1, failover=60)
        sandbox = self.agent.sandbox(framework_id, "e")
        self.agent.kill()
        harness.wait_for(lambda: "disconnected" in open(sandbox + "/callbacks").read(), "it")
        harness.wait_for(lambda: "ended" in open(sandbox + "/callbacks").read(), "end", 30)

    def test_executor_that_does_not_end(self):
        self.environment = "STUBBORN=1 "
        _, framework_id, _ = self.begin(checkpoint=1, failover=60)
        pid = self.agent.json("/containers")[0]["status"]["executor_pid"]
        self.agent.kill()
        # It hears shutdown() after the recovery timeout, and is killed after the grace period.
        harness.wait_for(lambda: not harness.processes.alive(pid), "end of the executor", 30)


class SlaveLost(jvm.JavaTestCase):
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": "1"}

    def test_slave_lost(self):
        driver, _ = self.registered()
        agent_id = driver.offers()[0][1]
        self.agent.kill()
        self.assertEqual(driver.hear("slaveLost", timeout=60), [agent_id])


class Trackers(ExecutorTestCase):
    """As mesos/hadoop: fixed trackers as custom executors, tasks dealt out over many offers."""

    agents = 3
    jar = "1.4.3"

    def offers(self, driver, count):
        """The newest offers, one an agent."""
        found = {}

        def look():
            for offer in driver.offers():
                found[offer[1]] = offer
            return len(found) >= count
        harness.wait_for(look, "offers of %d agents" % count, 30)
        return [found[agent_id] for agent_id in sorted(found)]

    def agent_of(self, agent_id):
        return next(a for a in self.cluster.agents if a.id == agent_id)

    def test_trackers(self):
        uri = self.temporary() + "/settings.xml"
        with open(uri, "w", encoding="ascii") as file:
            file.write("<configuration/>")
        os.chmod(os.path.dirname(uri), 0o755)
        driver, framework_id = self.registered(failover=60)
        trackers = {}
        for index, (offer, agent_id, *_) in enumerate(self.offers(driver, 3)):
            name = "tracker%d" % index
            trackers[name] = agent_id
            driver.ask("launchf", offer, "0", self.tracker(name, agent_id, name, "run", uri=uri))
        for name, agent_id in trackers.items():
            driver.hear("statusUpdate", name, "TASK_RUNNING", timeout=60)
            agent = self.agent_of(agent_id)
            self.assertTrue(os.path.exists(agent.sandbox(framework_id, name) + "/settings.xml"))
            # Jobs go to trackers as messages, and reports come back.
            driver.ask("message", name, agent_id, "job of " + name)
            driver.hear("frameworkMessage", name, agent_id, "echo job of " + name)
        self.deal_out(driver)
        # One tracker is killed by its framework, another by the machine.
        driver.ask("kill", "tracker0")
        driver.hear("statusUpdate", "tracker0", "TASK_KILLED")
        entry = self.agent_of(trackers["tracker1"]).json("/containers")[0]
        os.kill(entry["status"]["executor_pid"], 9)
        driver.hear("statusUpdate", "tracker1", "TASK_FAILED")
        driver.hear("executorLost", "tracker1")
        driver.ask("reconcile")
        line = driver.hear("statusUpdate", "tracker2", "TASK_RUNNING", "SOURCE_MASTER")
        self.assertEqual(line[3], "REASON_RECONCILIATION")
        driver.ask("stop")

    def deal_out(self, driver):
        """Tasks over all offers in turn, some of which are of the past."""
        offers = self.offers(driver, 3)
        per_offer = [[] for _ in offers]
        for number in range(12):
            offer = offers[number % len(offers)]
            per_offer[number % len(offers)].append(
                "m%d|%s|0.1|command|true" % (number, offer[1]))
        for offer, tasks in zip(offers, per_offer):
            driver.ask("launchf", offer[0], "0", *tasks)
        # The same offers again are no longer valid.
        driver.ask("launchf", offers[0][0], "0", "late|%s|0.1|command|true" % offers[0][1])
        driver.hear("statusUpdate", "late", "TASK_LOST", "SOURCE_MASTER", "REASON_INVALID_OFFERS")
        for number in range(12):
            driver.hear("statusUpdate", "m%d" % number, "TASK_FINISHED")
        driver.ask("request")
        driver.ask("revive")
        for offer in self.offers(driver, 3):
            driver.ask("decline", offer[0], "600")
