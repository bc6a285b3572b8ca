"""Real masters and agents on free ports, in directories of their own, for the tests.

    class Tests(harness.TestCase):
        agents = 1
        def test_x(self):
            scheduler = self.subscribe()

Each test gets a new cluster; it is killed, with everything below it, when the test is over.
Directories of failed tests stay when KEEP_FAILED is set. No test sleeps for a fixed time.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import connections
import processes
from processes import SCALE, Timeout, wait_for
from scheduler import Scheduler, task

HERE = os.path.dirname(os.path.abspath(__file__))
IP = "127.0.0.1"
MESITA = os.path.abspath(os.environ.get("MESITA", "build/mesita"))
MASTER_FLAGS = {"allocation_interval": "100ms"}
AGENT_FLAGS = {
    "launcher": "posix",
    "isolation": "posix/cpu,posix/mem",
    "resources": "cpus:4;mem:4096;disk:4096;ports:[31000-31999]",
    "registration_backoff_factor": "10ms",
    "systemd_enable_support": "false",
}


_held_ports = []


def free_port():
    """A port for one daemon, held until this process ends: a socket that is bound and does not
    listen lets a daemon listen there (both reuse addresses), but the kernel gives the port to
    nobody who asks for any port, neither before the daemon starts nor while it is killed."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((IP, 0))
    _held_ports.append(holder)
    return holder.getsockname()[1]


def clean_environment(**more):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("MESOS_", "LIBPROCESS_", "GLOG_", "MESITA_"))}
    env.update(connections.environment)
    env.update(more)
    return env


def request(address, method, path, body=None, headers=None, timeout=10):
    """(status, headers, body) of an answer."""
    connection = connections.connect(address, timeout * SCALE)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def get(address, path, timeout=10, headers=None):
    return request(address, "GET", path, None, headers, timeout)


def get_json(address, path, headers=None):
    status, _, body = get(address, path, headers=headers)
    if status != 200:
        raise ValueError("GET %s: %d %r" % (path, status, body[:200]))
    return json.loads(body)


class Daemon:
    """A master or an agent that can be killed and started again on its port."""

    prefix = []  # what runs it: a program and its arguments
    headers = None  # of what the tests ask it

    def __init__(self, base, name, role, flags):
        self.name, self.role, self.flags = name, role, flags
        self.address = (IP, free_port())
        self.work_dir = os.path.join(base, name)
        self.log = os.path.join(base, name + ".log")
        self.process = None
        os.makedirs(self.work_dir)

    def argv(self):
        flags = {"ip": IP, "port": self.address[1], "work_dir": self.work_dir,
                 "hostname": "localhost"}
        flags.update(self.flags)
        return self.prefix + [MESITA, self.role] + ["--%s=%s" % item for item in flags.items()
                                      if item[1] is not None]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = processes.spawn(self.argv(), env=clean_environment(), stdout=log,
                                           stderr=log)
        return self

    def check_alive(self):
        if self.process.poll() is not None:
            raise AssertionError("%s ended with %s:\n%s" % (
                self.name, self.process.returncode, self.log_tail()))

    def log_tail(self, size=3000):
        with open(self.log, "rb") as log:
            return log.read()[-size:].decode("utf-8", "replace")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """kill -9 of the daemon alone."""
        self.process.kill()
        self.process.wait()
        return self

    def terminate(self, timeout=10):
        self.process.terminate()
        return self.process.wait(timeout * SCALE)

    def json(self, path):
        return get_json(self.address, path, self.headers)

    def state(self):
        return self.json("/state")

    def metric(self, name):
        return self.json("/metrics/snapshot")[name]


class Master(Daemon):
    def __init__(self, base, flags):
        super().__init__(base, "master", "master", {**MASTER_FLAGS, **flags})

    def wait_ready(self):
        def ready():
            self.check_alive()
            return get(self.address, "/api/v1/scheduler", headers=self.headers)[0] == 405
        wait_for(ready, "master that serves")
        return self


class Agent(Daemon):
    def __init__(self, base, name, master, flags):
        self.master = master
        super().__init__(base, name, "agent", {
            **AGENT_FLAGS, "master": "%s:%d" % master.address,
            "runtime_dir": os.path.join(base, name + ".run"),
            "fetcher_cache_dir": os.path.join(base, name + ".fetch"), **flags})

    def entry(self):
        """This agent in the master's list, or None."""
        for entry in self.master.json("/slaves")["slaves"]:
            if entry["port"] == self.address[1]:
                return entry
        return None

    @property
    def id(self):
        return self.entry()["id"]

    def wait_registered(self):
        def registered():
            self.check_alive()
            entry = self.entry()
            # The link is there when the identity is stored: a kill -9 no longer changes it.
            return (entry is not None and entry["active"] and
                    self.metric("slave/registered") == 1 and
                    os.path.basename(os.readlink(self.work_dir + "/meta/slaves/latest")) ==
                    entry["id"])
        wait_for(registered, "registration of " + self.name)
        return self

    def sandbox(self, framework_id, executor_id):
        agents = os.path.join(self.work_dir, "slaves")
        for agent_id in os.listdir(agents):
            path = os.path.join(agents, agent_id, "frameworks", framework_id, "executors",
                                executor_id, "runs", "latest")
            if os.path.exists(path):
                return os.path.realpath(path)
        raise FileNotFoundError("no sandbox of " + executor_id)


class Cluster:
    def __init__(self, agents=1, master_flags=None, agent_flags=None):
        self.base = tempfile.mkdtemp(prefix="mesita-e2e-")
        os.chmod(self.base, 0o755)
        self.master = Master(self.base, master_flags or {})
        self.agents = [Agent(self.base, "agent%d" % (index + 1), self.master, agent_flags or {})
                       for index in range(agents)]

    def start(self):
        self.master.start()
        for agent in self.agents:
            agent.start()
        self.master.wait_ready()
        for agent in self.agents:
            agent.wait_registered()
        return self

    def logs(self):
        text = ""
        for daemon in [self.master] + self.agents:
            if os.path.exists(daemon.log):
                lines = daemon.log_tail().splitlines()[-25:]
                text += "---- %s\n%s\n" % (daemon.name, "\n".join(lines))
        return text

    def stop(self, keep=False):
        processes.kill_descendants()
        if not keep:
            shutil.rmtree(self.base, ignore_errors=True)


class TestCase(unittest.TestCase):
    agents = 1
    master_flags = {}
    agent_flags = {}

    def setUp(self):
        self.cluster, self._open = None, []
        self.addCleanup(self._clean)
        if self.agents is not None:
            self.cluster = Cluster(self.agents, self.master_flags, self.agent_flags).start()

    @property
    def master(self):
        return self.cluster.master

    @property
    def agent(self):
        return self.cluster.agents[0]

    def subscribe(self, **info):
        """A subscribed scheduler, closed when the test is over."""
        scheduler = Scheduler(self.master.address, **info)
        self._open.append(scheduler)
        scheduler.subscribe()
        return scheduler

    def temporary(self):
        path = tempfile.mkdtemp(prefix="mesita-e2e-")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def _failed(self):
        outcome = getattr(self, "_outcome", None)
        if outcome is None:
            return False
        # While a cleanup runs, `success` is about that alone.
        result = outcome.result
        return not outcome.success or any(
            test is self for test, _ in result.errors + result.failures)

    def _clean(self):
        failed = self._failed()
        for scheduler in self._open:
            scheduler.close()
        if self.cluster is None:
            processes.kill_descendants()
            return
        dead = [d for d in [self.master] + self.cluster.agents
                if d.process is not None and d.process.poll() not in (None, -signal.SIGKILL, 0)]
        logs = self.cluster.logs() if failed or dead else ""
        if logs:
            print(logs, flush=True)
        self.cluster.stop(failed and "KEEP_FAILED" in os.environ)
        for daemon in dead:
            if daemon.process.returncode != -signal.SIGTERM:
                self.fail("%s ended with %d by itself" % (daemon.name, daemon.process.returncode))


def run(argv, timeout=60, input=None, path=None, **options):
    """Runs a mesita command to its end: (exit code, stdout, stderr)."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    env = clean_environment(**({"PATH": path} if path else {}))
    process = processes.spawn([MESITA] + argv, env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = process.communicate(input, timeout=timeout * SCALE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise Timeout("mesita %s is not done after %d s\n%s\n%s" % (
            " ".join(argv), timeout, out, err)) from None
    return process.returncode, out, err
