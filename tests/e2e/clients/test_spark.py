"""Apache Spark 3.5, unmodified, from PyPI: its Mesos support on mesita, with mesita's libmesos.so."""

import collections
import json
import os
import re
import signal
import subprocess
import urllib.request

import common
import harness
import jvm
import processes

TEXT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(common.HERE))), "LICENSE")
SECONDS = 150       # a job on a busy machine
JAVA = jvm.SMALL_JAVA


def words():
    """What a count of the text's words must give."""
    with open(TEXT, encoding="utf-8") as file:
        counts = collections.Counter(file.read().split())
    return "%d %d %d" % (sum(counts.values()), len(counts), counts["the"])


def squares(count):
    return " ".join(str(sum(i * i for i in range(count) if i % 3 == rest)) for rest in range(3))


class SparkTestCase(harness.TestCase):
    agents = 3
    agent_flags = {"resources": "cpus:4;mem:4096;disk:8192;ports:[31000-31999]"}

    @classmethod
    def setUpClass(cls):
        jvm.need()
        cls.home, cls.python = jvm.pyspark()
        cls.jar = jvm.spark_job(cls.home)

    def environment(self, **more):
        return jvm.environment(SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=self.home,
                               PYSPARK_PYTHON=self.python, PYSPARK_DRIVER_PYTHON=self.python,
                               **more)

    def conf(self, more):
        conf = {
            "spark.mesos.executor.home": self.home,
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": JAVA,
            "spark.executor.extraJavaOptions": JAVA,
            "spark.locality.wait": "0",
            "spark.cores.max": "6",
            "spark.executor.cores": "2",
            **more}
        return [word for item in conf.items() for word in ("--conf", "%s=%s" % item)]

    def master_url(self):
        return "mesos://%s:%d" % self.master.address

    def submit(self, *arguments, conf=(), name="job", env=(), options=()):
        """Starts spark-submit with the Java job or a Python file."""
        program = ([*arguments] if arguments[0].endswith(".py")
                   else ["--class", "Job", self.jar, *arguments])
        # A line of the log may come in the middle of what the job prints.
        out, log = [open(os.path.join(self.temporary(), "log"), "w+b") for _ in range(2)]
        self.addCleanup(out.close)
        self.addCleanup(log.close)
        process = processes.spawn(
            [self.home + "/bin/spark-submit", "--master", self.master_url(),
             "--name", name, *options, *self.conf(dict(conf)), *program],
            stdout=out, stderr=log, env=self.environment(**dict(env)))
        process.logs = [log, out]
        return process

    def output(self, process):
        for log in process.logs:
            log.seek(0)
        return b"\n".join(log.read() for log in process.logs).decode("utf-8", "replace")

    def result(self, process):
        """Waits for the end; the job's result."""
        try:
            process.wait(SECONDS * processes.SCALE)
        except subprocess.TimeoutExpired:
            self.fail("the job does not end\n" + self.output(process)[-6000:])
        text = self.output(process)
        found = re.search(r"^RESULT (.*)$", text, re.MULTILINE)
        self.assertTrue(process.returncode == 0 and found, text[-6000:])
        return found.group(1)

    def spark(self, *arguments, **options):
        return self.result(self.submit(*arguments, **options))

    def framework(self, name="job", completed=True):
        state = self.master.state()
        found = [f for f in state["completed_frameworks" if completed else "frameworks"]
                 if f["name"] == name]
        self.assertEqual(len(found), 1)
        return found[0]

    def ended(self, name="job"):
        """The framework when it is over."""
        harness.wait_for(lambda: not self.master.state()["frameworks"], "teardown", 30)
        return self.framework(name)

    def tasks(self, framework):
        return framework["tasks"] + framework["completed_tasks"]

    def gate(self, process, directory, count):
        """Waits until so many tasks run."""
        def look():
            if process.poll() is not None:
                raise AssertionError(self.output(process)[-6000:])
            return len([n for n in os.listdir(directory) if n.startswith("started-")]) >= count
        harness.wait_for(look, "%d tasks that run" % count, 90)

    def open_gate(self, directory):
        with open(directory + "/go", "w", encoding="ascii"):
            pass

    def backends(self, below):
        """The JVMs below a process."""
        found = []
        for pid in processes.descendants(below):
            try:
                with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                    if file.read().strip() == "java":
                        found.append(pid)
            except OSError:
                pass
        return found


class CoarseGrained(SparkTestCase):
    def test_python_words(self):
        self.assertEqual(self.spark(os.path.join(common.HERE, "spark/words.py"), TEXT), words())
        tasks = self.tasks(self.ended())
        self.assertEqual({t["state"] for t in tasks}, {"TASK_FINISHED"})
        self.assertEqual(len({t["slave_id"] for t in tasks}), 3)     # on three agents
        self.assertEqual(sum(t["resources"]["cpus"] for t in tasks), 6)     # spark.cores.max

    def test_java_pi(self):
        self.assertEqual(self.spark("pi", "6"), "314")

    def test_memory_overhead_and_extra_cores(self):
        directory = self.temporary()
        job = self.submit("gated", directory, "3", conf={
            "spark.cores.max": "2", "spark.mesos.executor.memoryOverhead": "100",
            "spark.mesos.extra.cores": "1", "spark.mesos.role": "analysts",
            "spark.mesos.task.labels": "kind:job"})
        self.gate(job, directory, 3)        # on two cores and one that is advertised only
        framework = self.framework(completed=False)
        self.assertEqual(framework["roles"] if "roles" in framework else [framework["role"]],
                         ["analysts"])
        task = framework["tasks"][0]
        self.assertEqual((task["resources"]["cpus"], task["resources"]["mem"]), (2, 612))
        self.assertEqual(task["labels"], [{"key": "kind", "value": "job"}])
        self.assertEqual(task["role"], "analysts")
        self.open_gate(directory)
        self.assertEqual(self.result(job), squares(3))

    def test_shipped_by_the_fetcher(self):
        path = self.temporary() + "/shipped.txt"
        with open(path, "w", encoding="ascii") as file:
            file.write("by the fetcher")
        os.chmod(os.path.dirname(path), 0o755)
        self.assertEqual(self.spark("shipped", "shipped.txt", conf={
            "spark.mesos.uris": path, "spark.cores.max": "1", "spark.executor.cores": "1"}),
                         "by the fetcher")


class Constraints(SparkTestCase):
    agents = None

    def setUp(self):
        super().setUp()
        self.cluster = harness.Cluster(3, {}, dict(self.agent_flags))
        for number, agent in enumerate(self.cluster.agents):
            agent.flags["attributes"] = "rack:r%d;ssd:%s" % (number, "yes" if number else "no")
        self.cluster.start()

    def test_attributes(self):
        self.assertEqual(self.spark("pi", "4", conf={
            "spark.mesos.constraints": "ssd:yes;rack:r1,r0"}), "314")
        wanted = self.cluster.agents[1].id
        self.assertEqual({t["slave_id"] for t in self.tasks(self.ended())}, {wanted})


class FineGrained(SparkTestCase):
    def test_words(self):
        self.assertEqual(self.spark("words", TEXT, conf={"spark.mesos.coarse": "false"}), words())
        tasks = self.tasks(self.ended())
        # Each Spark task is a Mesos task of one executor an agent.
        self.assertEqual(len(tasks), 12)
        self.assertEqual({t["state"] for t in tasks}, {"TASK_FINISHED"})
        self.assertEqual(len({(t["slave_id"], t["executor_id"]) for t in tasks}),
                         len({t["slave_id"] for t in tasks}))


class TwoAtOnce(SparkTestCase):
    agents = 2

    def test_shares(self):
        directories = [self.temporary(), self.temporary()]
        jobs = [self.submit("gated", directory, "4", name="job%d" % number,
                            conf={"spark.cores.max": "4"})
                for number, directory in enumerate(directories)]
        for job, directory in zip(jobs, directories):
            self.gate(job, directory, 4)
        shares = {f["name"]: f["used_resources"]["cpus"]
                  for f in self.master.state()["frameworks"]}
        self.assertEqual(shares, {"job0": 4, "job1": 4})
        for job, directory in zip(jobs, directories):
            self.open_gate(directory)
            self.assertEqual(self.result(job), squares(4))


class DynamicAllocation(SparkTestCase):
    def test_executors_come_and_go(self):
        port = harness.free_port()
        service = processes.spawn(
            [self.home + "/bin/spark-class",
             "org.apache.spark.deploy.mesos.MesosExternalShuffleService"],
            env=self.environment(SPARK_DAEMON_JAVA_OPTS="-Dspark.shuffle.service.port=%d "
                                 "-Dspark.shuffle.service.enabled=true %s" % (port, JAVA)),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = self.spark("breathing", self.temporary(), "6", TEXT, conf={
            "spark.dynamicAllocation.enabled": "true", "spark.shuffle.service.enabled": "true",
            "spark.shuffle.service.port": str(port),
            "spark.dynamicAllocation.executorIdleTimeout": "2s",
            "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
            "spark.dynamicAllocation.cachedExecutorIdleTimeout": "2s"})
        self.assertEqual(result, squares(6) + " " + words())
        self.assertIsNone(service.poll())
        states = [t["state"] for t in self.tasks(self.ended())]
        self.assertGreaterEqual(len(states), 3)
        self.assertIn("TASK_KILLED", states)


class Faults(SparkTestCase):
    """What dies in the middle of a job, which ends with the right result all the same."""

    def begin(self, **conf):
        self.directory = self.temporary()
        job = self.submit("gated", self.directory, "6",
                          conf={"spark.task.maxFailures": "20", **conf})
        self.gate(job, self.directory, 6)
        return job

    def end(self, job):
        self.open_gate(self.directory)
        self.assertEqual(self.result(job), squares(6))

    def test_executor_is_killed(self):
        job = self.begin()
        pids = self.backends(self.agent.process.pid)
        self.assertTrue(pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        harness.wait_for(lambda: any(t["state"] == "TASK_FAILED" for t in self.tasks(
            self.framework(completed=False))), "failure")
        self.end(job)

    def test_agent_is_killed_and_replaced(self):
        job = self.begin()
        self.agent.kill()
        other = harness.Agent(self.cluster.base, "another", self.master, dict(self.agent_flags))
        self.cluster.agents.append(other)
        other.start().wait_registered()
        self.end(job)

    def test_master_is_killed_and_restarted(self):
        # A framework without a failover timeout is over when its master is.
        job = self.begin(**{"spark.mesos.driver.failoverTimeout": "60"})
        framework_id = self.framework(completed=False)["id"]
        self.master.kill()
        self.master.start().wait_ready()
        harness.wait_for(lambda: any(f["id"] == framework_id and f["connected"] for f in
                                     self.master.state()["frameworks"]), "return", 30)
        self.end(job)


class Dispatcher(SparkTestCase):
    def setUp(self):
        super().setUp()
        self.port, self.directory = harness.free_port(), self.temporary()
        self.rounded = self.rounded_home()
        self.start()

    def rounded_home(self):
        """A Spark whose spark-submit takes what its own dispatcher says: `--driver-cores 1.0`,
        which since 2.3 is "Driver cores must be a positive number"."""
        home = self.directory + "/spark"
        os.makedirs(home + "/bin")
        for name in os.listdir(self.home):
            if name != "bin":
                os.symlink(os.path.join(self.home, name), os.path.join(home, name))
        for name in os.listdir(self.home + "/bin"):
            if name != "spark-submit":
                os.symlink(os.path.join(self.home, "bin", name), os.path.join(home, "bin", name))
        with open(home + "/bin/spark-submit", "w", encoding="ascii") as file:
            file.write("#!/bin/bash\nexport SPARK_HOME=%s\n"
                       "exec %s/bin/spark-submit \"${@/%%.0/}\"\n" % (self.home, self.home))
        os.chmod(home + "/bin/spark-submit", 0o755)
        os.chmod(self.directory, 0o755)
        return home

    def start(self):
        with open(self.directory + "/log", "ab") as log:
            self.dispatcher = processes.spawn(
                [self.home + "/bin/spark-class",
                 "org.apache.spark.deploy.mesos.MesosClusterDispatcher", "--host", "127.0.0.1",
                 "--port", str(self.port), "--webui-port", "0", "--master",
                 "mesos://%s:%d" % self.master.address],
                env=self.environment(SPARK_DAEMON_JAVA_OPTS=JAVA +
                                     " -Dspark.mesos.rejectOfferDuration=2s"), stdout=log,
                stderr=subprocess.STDOUT)
        harness.wait_for(lambda: [f for f in self.master.state()["frameworks"]
                                  if f["name"] == "Spark Cluster" and f["connected"]],
                         "dispatcher", 60)

    def rest(self, what, submission=""):
        request = urllib.request.Request("http://127.0.0.1:%d/v1/submissions/%s/%s" % (
            self.port, what, submission), method="GET" if what == "status" else "POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def submit_driver(self, *arguments, options=(), env=()):
        """spark-submit --deploy-mode cluster; the submission's id."""
        done = processes.run(
            [self.home + "/bin/spark-submit", "--master", "mesos://127.0.0.1:%d" % self.port,
             "--deploy-mode", "cluster", "--class", "Job", *options,
             *self.conf({"spark.master.rest.enabled": "true", "spark.cores.max": "2",
                         "spark.mesos.executor.home": self.rounded, **{
                             "spark.mesos.driverEnv." + name: value
                             for name, value in self.driver_environment(env).items()}}),
             self.jar, *arguments],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90)
        text = done.stdout.decode("utf-8", "replace")
        found = re.search(r'"submissionId" : "([^"]+)"', text)
        self.assertTrue(found, text[-3000:])
        return found.group(1)

    def driver_environment(self, more):
        return {"SPARK_LOCAL_IP": "127.0.0.1", "MESOS_NATIVE_JAVA_LIBRARY": jvm.LIBRARY,
                **dict(more)}

    def command(self, option, submission):
        """spark-submit --status, --kill."""
        done = processes.run(
            [self.home + "/bin/spark-submit", "--master", "mesos://127.0.0.1:%d" % self.port,
             "--conf", "spark.master.rest.enabled=true", option, submission],
            env=self.environment(SPARK_SUBMIT_OPTS="-Dlog4j2.configurationFile=file:" +
                                 os.path.join(common.HERE, "spark/log4j2.properties")), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90)
        return done.stdout.decode("utf-8", "replace")

    def wait_state(self, submission, *states):
        return harness.wait_for(
            lambda: self.rest("status", submission).get("driverState") in states,
            "driver that is %s" % (states,), 120)

    def result_file(self):
        return self.temporary() + "/result"

    def test_submit_status_kill(self):
        result = self.result_file()
        submission = self.submit_driver("pi", "2", env={"RESULT_FILE": result})
        self.wait_state(submission, "FINISHED")
        with open(result, encoding="ascii") as file:
            self.assertEqual(file.read(), "314")
        gate = self.temporary()
        submission = self.submit_driver("gated", gate, "1")
        harness.wait_for(lambda: os.path.exists(gate + "/started-0"), "task", 120)
        self.assertIn('"driverState" : "RUNNING"', self.command("--status", submission))
        self.assertIn('"success" : true', self.command("--kill", submission))
        self.wait_state(submission, "KILLED", "FAILED", "FINISHED")
        harness.wait_for(lambda: not [f for f in self.master.state()["frameworks"]
                                      if f["name"] != "Spark Cluster"], "end of the driver", 60)

    def test_supervise(self):
        result, directory = self.result_file(), self.temporary()
        submission = self.submit_driver("die", directory, options=["--supervise"],
                                        env={"RESULT_FILE": result})
        harness.wait_for(lambda: os.path.exists(directory + "/died"), "first try", 120)
        self.wait_state(submission, "FINISHED")
        with open(result, encoding="ascii") as file:
            self.assertEqual(file.read(), "314")

    def test_restart(self):
        gate, result = self.temporary(), self.result_file()
        submission = self.submit_driver("gated", gate, "3", env={"RESULT_FILE": result})
        harness.wait_for(lambda: os.path.exists(gate + "/started-0"), "task", 120)
        self.dispatcher.kill()
        self.dispatcher.wait()
        self.start()
        self.open_gate(gate)
        harness.wait_for(lambda: os.path.exists(result), "end of the driver", 120)
        with open(result, encoding="ascii") as file:
            self.assertEqual(file.read(), squares(3))
        self.assertNotEqual(submission, self.submit_driver("pi", "1"))
