"""Three masters with a ZooKeeper: what it costs the leader that others follow, how long it takes until
the next one serves when it dies or is told to end, and how fast the registry is written there."""

import os
import shutil
import signal
import time

from .. import daemons, figure, metrics, processes
from ..context import Case
from ..figure import Figure
from ..processes import LeftOut
from . import launching

MASTERS = 3
SESSION = 4                     # seconds; what `mesita local` asks ZooKeeper for
AGENTS, TASKS, SCHEDULERS = 10000, 100000, 10
INFLIGHT = 4000
# What changes of tasks in the last two seconds may not have been copied when all is busy
# (warm_task_delay of master/core): the leader dies when everything has been quiet for longer.
QUIET = 3
READY, SERVES = "ready for failover", "a master answers"
REGISTRATIONS, CONNECTIONS, RECORD = 10000, 10, 400


class Ensemble(daemons.Local):
    """Masters of `mesita local`, of which one leads, and their ZooKeeper."""

    def __init__(self, context, masters, *flags):
        if not shutil.which("java") or not os.path.exists("/usr/share/java/zookeeper.jar"):
            raise LeftOut("needs libzookeeper-java")
        super().__init__(context.mesita, 0, "--masters=%d" % masters, *flags)
        self.masters = masters

    def read(self, name):
        with open(os.path.join(self.info["work_dir"], name), encoding="utf-8") as file:
            return file.read().strip()

    def zookeeper(self):
        lines = self.read("zookeeper.cfg").splitlines()
        return "127.0.0.1:" + dict(line.split("=") for line in lines)["clientPort"]

    def address(self, number):
        return "127.0.0.1:" + self.read("master-%d.port" % number)

    def leader(self):
        """Number, address and pid of the master that leads."""
        if self.masters == 1:
            return 1, self.info["master"], self.daemons("master")[0]
        port = self.port_of_leader()
        for number in range(1, self.masters + 1):
            if self.address(number).endswith(":" + port):
                return number, self.address(number), int(self.read("master-%d.pid" % number))
        raise processes.Failure("nobody leads")

    def port_of_leader(self):
        """As the first master that is there knows it."""
        for number in range(1, self.masters + 1):
            try:
                return metrics.redirect(self.address(number)).rpartition(":")[2]
            except OSError:
                pass            # it was killed
        raise processes.Failure("no master is there")

    def wait_copies(self, address):
        """Until the masters that follow could go on."""
        processes.wait_until(lambda: metrics.total(address, ["master/standbys_ready"]) ==
                             self.masters - 1, "masters that follow")


def spent(pid):
    """Seconds of processors that a process had so far."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        ticks = file.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


# ---- what following costs ----------------------------------------------------------------

def led(context, masters):
    """Tasks a second, and the leader's processor time of each."""
    shape = launching.shape(context, launching.TARGET_AGENTS, launching.TARGET_SCHEDULERS)
    with Ensemble(context, masters, "--allocation_interval=100ms") as cluster:
        _, address, pid = cluster.leader()
        before = spent(pid)
        found = context.load(address, echo=False, **shape)
        return found["tasks_per_second"], (spent(pid) - before) / found["tasks_done"] * 1e6


def run_followed(context):
    (rate, cpu), (rate_alone, cpu_alone) = led(context, MASTERS), led(context, 1)
    yield Figure("masters", "followed", "cpu", "leader's CPU of a task, two masters follow", cpu,
                 "us", cpu_alone, "one master", noise=0.05,
                 targets=[figure.at_most(1.05, "ratio")])
    yield Figure("masters", "followed", "rate", "tasks/s, all on this machine", rate, "tasks/s",
                 rate_alone, "one master", more_is_better=True)


# ---- the next leader ---------------------------------------------------------------------

class Change:
    """The leader ends while a load watches: what its end and the next one's beginning look like."""

    def __init__(self, cluster, number):
        self.cluster, self.signal = cluster, number
        self.leader, self.address, self.pid = cluster.leader()
        self.ended = self.served = None # by the wall clock, as in logs
        self.next = self.known = None

    def standbys(self):
        return ",".join(self.cluster.address(number)
                        for number in range(1, MASTERS + 1) if number != self.leader)

    def elected(self):
        """When the next one knew that it leads."""
        line = [line for line in self.cluster.read("master-%d.log" % self.next).splitlines()
                if "elected as" in line][-1]
        day, clock = line[1:].split()[:2]
        whole, _, part = clock.partition(".")
        year = time.localtime(self.ended).tm_year
        return time.mktime(time.strptime("%d%s %s" % (year, day, whole), "%Y%m%d %H:%M:%S")) + \
            float("." + part)

    def heard(self, line):
        if READY in line:
            self.cluster.wait_copies(self.address)
            time.sleep(QUIET)
            self.ended = time.time()
            os.kill(self.pid, self.signal)
        elif SERVES in line:
            self.served = time.time()
            self.next, address, _ = self.cluster.leader()
            self.known = metrics.running(address)


def run_change(context, row, number, words, session):
    agents, tasks = (40, 400) if context.quick else (AGENTS, TASKS)
    with Ensemble(context, MASTERS, "--allocation_interval=100ms") as cluster:
        change = Change(cluster, number)
        found = context.load(
            change.address, seconds=180, heard=change.heard, standbys=change.standbys(),
            agents=agents, connections=launching.connections(agents), reregister_spread="1secs",
            tasks=tasks, schedulers=SCHEDULERS, tasks_per_offer=tasks // agents,
            inflight=INFLIGHT, failover=True, drain=False, leave=False)
        elected = change.elected()

    def line(key, label, value, unit, **more):
        return Figure("masters", row, key, label, value, unit, **more)

    yield line("serves", words, change.served - change.ended, "s", noise=figure.NOISE_LATENCY,
               targets=[figure.at_most(session + 0.5)])
    yield line("loads", "of that, since it was elected", change.served - elected, "s",
               noise=figure.NOISE_LATENCY)
    missed = tasks - change.known
    yield line("known", "tasks that the next one does not know then", missed, "tasks", noise=0,
               targets=[figure.at_most(0)])
    yield line("agents", "then until agents are back", found["failover_agents"], "s",
               targets=[figure.at_most(2)])
    lost = found["tasks_running"] - found["failover_tasks"] + found["violations"]
    yield line("lost", "tasks lost", lost, "tasks", noise=0, targets=[figure.at_most(0)])


def run_killed(context):
    return run_change(context, "killed", signal.SIGKILL,
                      "kill -9 of the leader, until the next serves", SESSION)


def run_ended(context):
    return run_change(context, "ended", signal.SIGTERM,
                      "SIGTERM of the leader, until the next serves", 0)


# ---- the registry --------------------------------------------------------------------------

def run_registry(context):
    agents = 100 if context.quick else REGISTRATIONS
    with Ensemble(context, MASTERS) as cluster:
        _, address, _ = cluster.leader()
        # Few connections: what making ten thousand takes is another figure (launch/.../registration).
        found = context.load(address, echo=False, agents=agents, schedulers=1, tasks=1,
                             connections=CONNECTIONS, leave=False)
        single, long = context.numbers("bench_zookeeper", cluster.zookeeper(), agents, RECORD,
                                 cpus=context.load_cpus)

    yield Figure("masters", "registry", "rate", "agents admitted/s, registry in ZooKeeper",
                 agents / max(found["registration"], 1e-6), "agents/s", single, "zoo_amulti",
                 more_is_better=True, noise=0.5, targets=[figure.at_least(0.7, "ratio")])
    yield Figure("masters", "registry", "long", "nodes/s in long multis, nothing else done", long,
                 "nodes/s", more_is_better=True, noise=0.5, compared=False)


CASES = [Case("masters/followed", 13, run_followed, own_master=True),
         Case("masters/killed", 16, run_killed, own_master=True),
         Case("masters/ended", 12, run_ended, own_master=True),
         Case("masters/registry", 6, run_registry, own_master=True)]
