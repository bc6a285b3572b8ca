"""Schedulers on the JVM, with libmesos.so: launches beside the same by the C driver, and a Spark
job beside the same on Spark's own standalone master. Needs a JDK, Maven and Python's venv: the
programs and jars are those of tests/e2e/clients, installed at the first run."""

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
import unittest
import urllib.request

from .. import daemons, figure, processes
from ..context import Case
from ..figure import Figure
from ..processes import Failure, LeftOut

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
TASKS, ROUNDS = 200000, 3
SPARK_ROUNDS, SPARK_SECONDS = 3, 120
WORKERS, CORES, MEMORY_MB = 3, 2, 512


def java(context):
    """The module that knows jars and programs; LeftOut says what is missing."""
    os.environ.setdefault("CLIENTS_CACHE", os.path.join(ROOT, "build", "clients"))
    os.environ["MESITA"] = context.mesita
    for path in ("tests/e2e", "tests/e2e/clients"):
        if os.path.join(ROOT, path) not in sys.path:
            sys.path.append(os.path.join(ROOT, path))
    try:
        module = importlib.import_module("jvm")
        module.need()
        return module
    except (unittest.SkipTest, AssertionError) as error:
        raise LeftOut(str(error)) from None


def agents_of(address):
    with urllib.request.urlopen("http://%s/slaves" % address, timeout=30) as answer:
        return len(json.load(answer)["slaves"])


def listens(port):
    try:
        processes.reach(daemons.IP, port)
        return True
    except ValueError:
        return False


def rate_of(argv, context, env=None):
    """What a program prints: tasks a second."""
    output = processes.run(argv, 120, context.load_cpus, lambda line: None,
                           **({"env": env} if env else {}))
    try:
        return float(output.split()[-1])
    except (ValueError, IndexError):
        raise Failure("%s printed no rate" % argv[0]) from None


def run_launch(context):
    module = java(context)
    tasks, agents = (5000, 200) if context.quick else (TASKS, 1000)
    rates = {"java": [], "c": []}
    with context.master_address() as address:
        fleet = context.start_load(address, agents=agents, schedulers=0, others=True,
                                   duration="300secs", stall="400secs", echo=False, drain=False)
        programs = {
            "c": ([context.tool_path("bench_driver"), address, str(tasks)], None),
            "java": (["java", "-cp", module.classpath("1.11.0"), "Launch", address, str(tasks)],
                     module.environment())}
        processes.wait_until(lambda: agents_of(address) == agents, "agents that are registered")
        for _ in range(1 if context.quick else ROUNDS):
            for name, (argv, env) in programs.items():
                rates[name].append(rate_of(argv, context, env))
        processes.end(fleet)
    yield Figure("jvm", "launch", "tasks_per_second", "Java, tasks launched and ended a second",
                 statistics.median(rates["java"]), "tasks/s", statistics.median(rates["c"]),
                 "the C driver", more_is_better=True, targets=[figure.at_least(5000)])


# ---- Spark ------------------------------------------------------------------------------


class Spark:
    """Spark of PyPI and the job that says when its first task ran."""

    def __init__(self, context, module):
        self.context, self.module = context, module
        self.home, self.python = module.pyspark()
        self.jar = module.spark_job(self.home)
        self.text = os.path.join(ROOT, "LICENSE")
        self.env = module.environment(SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=self.home,
                                      SPARK_NO_DAEMONIZE="1",
                                      SPARK_DAEMON_JAVA_OPTS=module.SMALL_JAVA)
        self.log = open(os.path.join(context.scratch, "spark.log"), "w+b")

    def start(self, *words):
        return processes.start([self.home + "/bin/spark-class", *words], env=self.env,
                               stdout=self.log, stderr=self.log, cwd=self.context.scratch)

    def submit(self, master):
        """Seconds from the submission to the first task and to the end; the result."""
        conf = {"spark.mesos.executor.home": self.home, "spark.executor.memory": "512m",
                "spark.driver.memory": "512m", "spark.ui.enabled": "false",
                "spark.cores.max": str(WORKERS * CORES), "spark.executor.cores": str(CORES),
                "spark.driver.extraJavaOptions": self.module.SMALL_JAVA,
                "spark.executor.extraJavaOptions": self.module.SMALL_JAVA}
        begin = time.time()
        job = processes.start(
            [self.home + "/bin/spark-submit", "--master", master, "--class", "Job",
             *[word for item in conf.items() for word in ("--conf", "%s=%s" % item)],
             self.jar, "timed", self.text], env=self.env, stdout=subprocess.PIPE,
            stderr=self.log, cwd=self.context.scratch)
        try:
            output = job.communicate(timeout=SPARK_SECONDS)[0].decode()
        except subprocess.TimeoutExpired:
            raise Failure("the job on %s does not end" % master) from None
        seconds = time.time() - begin
        found = re.search(r"^RESULT (\d+) (.*)$", output, re.MULTILINE)
        if not found:
            raise Failure("the job on %s failed" % master)
        return int(found.group(1)) / 1e3 - begin, seconds, found.group(2)

    def standalone(self):
        """Spark's own master and workers, until the run is over; its URL."""
        port = daemons.free_port()
        self.start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port",
                   str(port), "--webui-port", "0")
        processes.wait_until(lambda: listens(port), "Spark's master", pause=0.05)
        for number in range(WORKERS):
            self.start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
                       "--webui-port", "0", "-c", str(CORES), "-m", "%dm" % (2 * MEMORY_MB), "-d",
                       os.path.join(self.context.scratch, "worker%d" % number),
                       "spark://127.0.0.1:%d" % port)
        processes.wait_until(lambda: self.said(b"Registering worker") == WORKERS, "workers",
                             pause=0.05)
        return "spark://127.0.0.1:%d" % port

    def said(self, words):
        with open(self.log.name, "rb") as log:
            return log.read().count(words)


def run_spark(context):
    module = java(context)
    spark = Spark(context, module)
    rounds = 1 if context.quick else SPARK_ROUNDS
    results = set()

    def measure(master):
        found = [spark.submit(master) for _ in range(rounds)]
        results.update(words for _, _, words in found)
        return [statistics.median(column) for column in list(zip(*found))[:2]]

    resources = "--resources=cpus:%d;mem:%d;disk:8192;ports:[31000-31999]" % (CORES,
                                                                               2 * MEMORY_MB)
    with daemons.Local(context.mesita, WORKERS, resources) as cluster:
        ours = measure("mesos://" + cluster.info["master"])
    theirs = measure(spark.standalone())
    if len(results) != 1:
        raise Failure("the results differ: %s" % sorted(results))
    yield Figure("jvm", "spark", "to_first_task", "Spark: submit to first task", ours[0], "s",
                 theirs[0], "standalone", targets=[figure.at_most(1.2, "ratio")])
    yield Figure("jvm", "spark", "to_end", "Spark: submit to the end", ours[1], "s", theirs[1],
                 "standalone")


CASES = [Case("jvm/launch", 33, run_launch),
         Case("jvm/spark", 60, run_spark, own_master=True)]
