"""How long a cluster takes to start, and what idle daemons take."""

import statistics
import subprocess
import tempfile
import time

from .. import daemons, figure, metrics, processes
from ..context import Case
from ..figure import Figure

PROCESSES = 6                   # of `mesita local --agents=3`: supervisor, guardian, four daemons


def bare_start(mesita, count):
    """Seconds to start and end `count` processes one after the other."""
    begin = time.monotonic()
    for _ in range(count):
        subprocess.run([mesita, "version"], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def empty_process():
    """Memory of a process that says it runs, and does nothing: dash, waiting for input."""
    shell = processes.start(["/bin/sh", "-c", "echo; read line"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    try:
        shell.stdout.readline()
        return processes.memory(shell.pid)[0]
    finally:
        shell.stdin.close()
        processes.end(shell)


def agent_start(context, master):
    """Seconds from the start of an agent with default flags until the master has it."""
    # Not how many are active: the agent before may be leaving still.
    names = ["master/slave_registrations"]
    before, begin = metrics.total(master.address, names), time.monotonic()
    agent = processes.start([context.mesita, "agent", "--master=" + master.address,
                             "--ip=127.0.0.1", "--port=0",
                             "--work_dir=" + tempfile.mkdtemp(dir=context.scratch)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        processes.wait_until(lambda: metrics.total(master.address, names) > before,
                             "an agent that is registered", pause=0.001)
        return time.monotonic() - begin
    finally:
        processes.end(agent)


def run(context):
    ready = []
    for _ in range(1 if context.quick else 5):
        with daemons.Local(context.mesita, 3) as cluster:
            ready.append(cluster.ready)
    yield Figure("start", "", "local_ready", "`mesita local --agents=3` ready",
                 statistics.median(ready) * 1e3, "ms",
                 bare_start(context.mesita, PROCESSES) * 1e3, "6 processes",
                 targets=[figure.below(20)])
    with context.new_master() as master:
        started = [agent_start(context, master) for _ in range(1 if context.quick else 5)]
    yield Figure("start", "", "agent_registered", "`mesita agent`, until registered",
                 statistics.median(started) * 1e3, "ms",
                 bare_start(context.mesita, 1) * 1e3, "a process",
                 targets=[figure.below(100)])
    with daemons.Local(context.mesita, 3) as cluster:
        empty = empty_process()
        master, = cluster.daemons("master")
        yield Figure("start", "", "master_idle_rss", "memory of an idle master",
                     processes.memory(master)[0] / 1e6, "MB", empty / 1e6, "an idle sh",
                     noise=figure.NOISE_MEMORY, targets=[figure.below(10)])
        agents = [processes.memory(pid)[0] for pid in cluster.daemons("agent")]
        yield Figure("start", "", "agent_idle_rss", "memory of an idle agent",
                     max(agents) / 1e6, "MB", empty / 1e6, "an idle sh",
                     noise=figure.NOISE_MEMORY, targets=[figure.below(8)])


CASES = [Case("start", 3, run, own_master=True)]
