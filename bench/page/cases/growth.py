"""Memory of the master per agent, task and framework, and its growth as each doubles.

Loads are added to one master until there are a quarter, half and all of N, and each time its
resident memory is read when it does not change any more. What one takes is the difference that
the last doubling made; its limit is what the master itself says of one in protobuf, on the wire.
"""

import contextlib
import signal
import time

from .. import figure, metrics, processes
from ..context import Case
from ..figure import Figure

PORTIONS = (0.25, 0.25, 0.5)
SETTLE_SECONDS = 10
PAUSE = 0.1
FILL_SECONDS = 90
TASKS_AN_AGENT = 100
MOST = {"agent": 4096, "task": 600, "framework": 8192}

KINDS = {
    # what: (N, when quick, gauges of the master that add up to N, the call that tells of them)
    "agent": (40000, 400, ["master/slaves_active"], "GET_AGENTS"),
    "task": (100000, 800, ["master/tasks_running"], "GET_TASKS"),
    "mixed task": (100000, 800, ["master/tasks_running"], "GET_TASKS"),
    "framework": (1000, 40, ["master/frameworks_active"], "GET_FRAMEWORKS"),
}


def flags_of(what, count):
    """A load of so many of them, and of as few of all else as can be."""
    # Held tasks stay until the load is ended: nobody kills the master it waits for. Agents of
    # the one load have no room for tasks of the next.
    flags = {"echo": False, "failover": True, "drain": False, "inflight": 4000,
             "stall": "600secs", "agent_cpus": 4, "agent_mem": 8 * TASKS_AN_AGENT,
             "task_cpus": 4 / TASKS_AN_AGENT, "task_mem": 8}
    if what == "agent":
        flags.update(agents=count, schedulers=1, tasks=1)
    elif what in ("task", "mixed task"):
        flags.update(agents=count // TASKS_AN_AGENT, schedulers=1, tasks=count,
                     mix=what == "mixed task")
    else:
        flags.update(agents=1, schedulers=count, tasks=1)
    return flags


def settled(master):
    """Resident memory when two readings in a row agree."""
    last, deadline = master.memory()[0], time.monotonic() + SETTLE_SECONDS
    while True:
        time.sleep(PAUSE)
        now = master.memory()[0]
        if abs(now - last) < 100e3 or time.monotonic() > deadline:
            return now
        last = now


@contextlib.contextmanager
def filled(context, master, what, count, names):
    """Gives the memory before, and at a quarter, half and all of `count`, while all are there."""
    found, total, loads = [settled(master)], 0, []
    try:
        for portion in PORTIONS:
            total += int(count * portion)
            loads.append(context.start_load(master.address, **flags_of(what, int(count * portion))))
            processes.wait_while_running(
                loads[-1], lambda total=total: metrics.total(master.address, names) >= total,
                "%d %ss" % (total, what), FILL_SECONDS, PAUSE)
            found.append(settled(master))
        yield found
    finally:
        # At once: the master that knows them ends as well.
        for load in loads:
            processes.end(load, signal.SIGKILL)


def run(context, what):
    count, quick_count, names, call = KINDS[what]
    if context.quick:
        count = quick_count
    with context.new_master() as master:
        wire = len(metrics.call(master.address, call, "protobuf"))
        with filled(context, master, what, count, names) as (before, _, half, full):
            wire = (len(metrics.call(master.address, call, "protobuf")) - wire) / count
    yield Figure("memory", what, "each", "of one " + what,
                 (full - half) / (count / 2), "bytes", wire, call,
                 noise=figure.NOISE_MEMORY,
                 targets=[figure.at_most(MOST[what])] if what in MOST else [])
    yield Figure("memory", what, "growth", "%s to %s %ss" % (
        "{:,}".format(count // 2), "{:,}".format(count), what),
                 (full - before) / max(half - before, 1), "times", 2, "twice as many",
                 noise=figure.NOISE_MEMORY)


# A task as people's has five resources, labels, discovery and a reservation (bench/load/mix.h).
CASES = [Case("memory/" + what.replace(" task", ""), seconds, lambda context, what=what: run(context, what),
              own_master=True)
         for what, seconds in (("agent", 8), ("task", 15), ("mixed task", 15), ("framework", 6))]
