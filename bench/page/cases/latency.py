"""How long things take, told to their end: the four ways of a task's life in a cluster that is idle, at
half of its top rate, and while something disturbs it."""

import contextlib

from .. import figure, metrics, processes
from ..context import Case
from ..figure import Figure
from ..processes import Failure
from . import launching

SECONDS, LEAD = 5, 1
IDLE_RATE = 50
POLLERS = 4
BURST, BURST_SECONDS = 5000, 60     # agents that register meanwhile
MANY = 50000
MANY_RATE = 500
PERCENTILES = (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "longest"))

WAYS = (
    # key, words, hops over loopback
    ("offer_to_launch", "offer > launch", 2),
    ("accept_to_running", "accept > RUNNING", 4),
    ("update_to_scheduler", "update > scheduler", 2),
    ("call_to_answer", "call > answer", 2),
)
BOUND = 10                          # ms of p99 from ACCEPT to TASK_RUNNING at half load


def top_rate(context, address):
    if "top_rate" not in context.known:
        flags = launching.shape(context, launching.TARGET_AGENTS, launching.TARGET_SCHEDULERS)
        context.known["top_rate"] = context.load(address, echo=False, **flags)["tasks_per_second"]
    if context.known["top_rate"] < 2:
        raise Failure("no rate to take half of")
    return context.known["top_rate"]


def shape(context, rate, agents=launching.TARGET_AGENTS):
    flags = launching.shape(context, agents, launching.TARGET_SCHEDULERS)
    # The first offers of all agents are another matter.
    lead = 0.1 if context.quick else LEAD + agents / 10000
    flags.update(rate="%.0f" % rate, stall_probe="1ms", echo=False, lead="%.0fms" % (1000 * lead),
                 duration="400ms" if context.quick else "%dsecs" % SECONDS)
    return flags


def idle(context, address):
    return context.load(address, **shape(context, IDLE_RATE))


def half(context, address):
    return context.load(address, **shape(context, top_rate(context, address) / 2))


def polled(context, address):
    return context.load(address, pollers=POLLERS, poll="/state",
                        **shape(context, top_rate(context, address) / 2))


@contextlib.contextmanager
def registering(context, address):
    """Agents of another process, which register meanwhile; gives what waits for them. They are
    too small for the tasks that are measured."""
    agents = 50 if context.quick else BURST
    names = ["master/slaves_active"]
    before = metrics.total(address, names)
    load = context.start_load(address, agents=agents, schedulers=1, tasks=1, hold=True,
                              failover=True, drain=False, echo=False, stall="600secs",
                              agent_cpus=0.05, agent_mem=16, task_cpus=0.01, task_mem=1)
    try:
        yield lambda: processes.wait_while_running(
            load, lambda: metrics.total(address, names) >= before + agents,
            "%d agents" % agents, BURST_SECONDS, 0.2)
    finally:
        processes.end(load)


def burst(context, address):
    rate = top_rate(context, address) / 2
    with registering(context, address) as all_there:
        found = context.load(address, **shape(context, rate))
        all_there()
    return found


def many(context, address):
    """Each allocation cycle looks at so many agents."""
    return context.load(address, **{**shape(context, MANY_RATE, MANY), "connections": 0})


SITUATIONS = (
    # key, words, how it is measured
    ("idle", "idle", idle),
    ("half", "half load", half),
    ("polled", "4 pollers", polled),
    ("burst", "5,000 register", burst),
    ("many", "50,000 agents", many),
)


def run(context, situation, words, measure):
    with context.master_address() as address:
        found = measure(context, address)
    for key, way, hops in WAYS:
        row = "%s/%s" % (situation, key)
        for percentile, title in PERCENTILES:
            bounded = (situation, key, percentile) == ("half", "accept_to_running", "p99")
            limit = {"limit": hops * context.hop()[0], "limit_of": "%d loopback hops" % hops}
            yield Figure("latency", row, percentile, "%s: %s" % (words, way),
                         found["%s_%s" % (key, percentile)], "ms", column=title,
                         noise=figure.NOISE_LATENCY,
                         targets=[figure.below(BOUND)] if bounded else [],
                         **(limit if percentile == "p50" else {}))
    yield Figure("latency", situation, "health_max", words + ": longest wait for the loop",
                 found["health_max"], "ms", noise=figure.NOISE_LATENCY,
                 targets=[figure.at_most(10 if situation == "many" else 5)])
    yield Figure("latency", situation, "lost", words + ": lost", launching.lost(found), "tasks",
                 noise=0, targets=[figure.at_most(0)], shown=launching.lost(found) > 0)


CASES = [Case("latency/" + situation[0], SECONDS + (10 if situation[0] == "many" else 4),
              lambda context, situation=situation: run(context, *situation))
         for situation in SITUATIONS]
