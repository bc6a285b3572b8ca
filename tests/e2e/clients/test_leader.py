"""Unmodified clients that find the leading master by ZooKeeper, and follow it to the next one."""

import os
import signal

import common
import harness
import jvm
import test_mesos_go_v0
import test_pymesos
import test_spark
import zookeeper


class Masters(zookeeper.ElectionCase):
    """Three masters; `master` is the one that leads."""

    agents = None

    @property
    def master(self):
        return self.wait_leader()


class Java(Masters, jvm.JavaTestCase):
    """libmesos.so in a JVM."""

    def test_a_driver_follows(self):
        first = self.master
        driver, framework_id = self.registered(master=self.url, failover=600)
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, "|".join(("t", agent_id, "0.1", "command", "sleep 1000")))
        driver.hear("statusUpdate", "t", "TASK_RUNNING")
        for _ in range(2):
            first.kill()
            driver.hear("disconnected")
            driver.wait(lambda l: l[0] in ("reregistered", "registered"), "registration", 60)
            self.wait_agent(self.master)
            self.assertEqual([(f["id"], f["active"]) for f in self.frameworks()],
                             [(framework_id, True)])
            first.start()
            self.wait_follower(first)
            first = self.master
        driver.ask("kill", "t")
        driver.hear("statusUpdate", "t", "TASK_KILLED")
        self.assertEqual(driver.ask("stop"), ["DRIVER_STOPPED"])
        harness.wait_for(lambda: not self.frameworks(), "teardown")

    def test_nobody_leads_at_first(self):
        for master in self.masters:
            master.kill()
        driver = self.scheduler(master=self.url)
        self.assertEqual(driver.ask("start"), ["DRIVER_RUNNING"])
        self.masters[1].start()
        driver.hear("registered", timeout=60)
        self.assertEqual(driver.ask("stop"), ["DRIVER_STOPPED"])

    def test_a_url_that_makes_no_sense(self):
        driver = self.scheduler(master="zk://127.0.0.1:1/")
        self.assertEqual(driver.ask("start"), ["DRIVER_ABORTED"])
        self.assertIn("Expecting a (chroot) path", driver.hear("error")[0])


class MesosGoV0(Masters, common.ClientTestCase):
    """Its own detector, in Go; it reads the JSON of the members."""

    @classmethod
    def setUpClass(cls):
        test_mesos_go_v0.MesosGoV0.setUpClass()
        cls.bin = test_mesos_go_v0.MesosGoV0.bin

    def test_example(self):
        self.masters[0].kill()
        leader = self.master
        self.wait_agent(leader)
        code, out, err = self.client([
            os.path.join(self.bin, "scheduler"), "-logtostderr", "-address=127.0.0.1",
            "-master=" + self.url, "-task-count=5",
            "-executor=" + os.path.join(self.bin, "executor"),
            "-artifactPort=%d" % harness.free_port()])
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        self.assert_all_finished(self.tasks(test_mesos_go_v0.NAME, completed=True), 5)


class Pymesos(Masters, common.ClientTestCase):
    """Its own detector, on kazoo."""

    @classmethod
    def setUpClass(cls):
        test_pymesos.Pymesos.setUpClass()
        cls.python = test_pymesos.Pymesos.python

    def test_squares(self):
        programs = os.path.join(common.HERE, "python")
        # Its driver dies of a connection that breaks while it acknowledges: not in the middle.
        self.masters[0].signal(signal.SIGTERM)
        self.wait_agent(self.wait_leader(but=self.masters[:1]))
        code, out, err = self.client([
            self.python, os.path.join(programs, "scheduler.py"), self.url, "20",
            os.path.join(programs, "executor.py"), "80"])
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        self.assertIn('"square-19": 361', out)


class Spark(Masters, test_spark.SparkTestCase):
    agents = None
    agent_flags = {}

    def master_url(self):
        return "mesos://" + self.url

    def test_job(self):
        self.masters[0].kill()
        self.wait_agent(self.master)
        self.assertEqual(self.spark("pi", "6", conf={"spark.cores.max": "2"}), "314")
