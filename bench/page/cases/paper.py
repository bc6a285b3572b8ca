"""The picture of the Mesos paper (NSDI 2011, 6.5): 200 frameworks keep two tasks of about 30 s
running on each agent, which are as many as fit: everything is taken. How long does one more
framework wait until it runs a task?"""

from .. import figure
from ..context import Case
from ..figure import Figure

SIZES = (10000, 50000)
SCHEDULERS = 200
LENGTH, SPREAD = 30, 10         # seconds: mean and standard deviation
PER_AGENT = 2
PROBES = 12
# From SUBSCRIBE to RUNNING: subscribe, offer, accept, launch, and the update twice.
HOPS = 6


def shape(context, agents):
    """The cluster is filled at the pace at which it will go on: nobody
    measures how long the updates of a start at once queue."""
    length, spread, load, probes = LENGTH, SPREAD, LENGTH + 3, PROBES
    if context.quick:
        agents, length, spread, load, probes = agents // 1000, 0.3, 0.1, 0.4, 3
    return {
        "agents": agents, "schedulers": 5 if context.quick else SCHEDULERS,
        # Nothing is left on a full agent: offers of memory alone would be declined for ever.
        "agent_cpus": PER_AGENT, "agent_mem": 256 * PER_AGENT, "task_cpus": 1, "task_mem": 256,
        "tasks_per_offer": 1,
        "task_length": "%dms" % (length * 1000), "task_spread": "%dms" % (spread * 1000),
        "rate": "%d" % (PER_AGENT * agents / length),
        "duration": "%dms" % (load * 1000), "probes": probes,
        "probe_after": "%dms" % (load * 1000), "probe_pause": "200ms",
        "drain": False, "leave": bool(context.master), "echo": False,
    }


def run(context, agents):
    with context.master_address() as address:
        found = context.load(address, seconds=100 + agents / 1000, **shape(context, agents))
    row, label = str(agents), "{:,} agents: ".format(agents)

    def line(key, words, value, unit, **more):
        return Figure("paper", row, key, label + words, value, unit, **more)

    limit = {"limit": HOPS * context.hop()[0], "limit_of": "%d loopback hops" % HOPS,
             "noise": figure.NOISE_LATENCY}
    yield line("probe_p50", "wait, p50", found["probe_p50"], "ms", **limit)
    yield line("probe_max", "wait, longest", found["probe_max"], "ms",
               targets=[figure.below(1000)] if agents == SIZES[-1] else [], **limit)
    yield line("running", "tasks at a time", found["tasks_running_most"]
               if "tasks_running_most" in found else found["tasks_launched"], "tasks",
               limit=PER_AGENT * found["agents"], limit_of="two each", more_is_better=True)
    if "master_rss_peak" in found:
        yield line("memory", "master", found["master_rss_peak"], "MB",
                   noise=figure.NOISE_MEMORY,
                   targets=[figure.below(1000)] if agents == SIZES[-1] else [])
        yield line("master_cpu", "CPU of the master", found["master_cpu_share"], "of one",
                   shown=False)
    yield line("violations", "wrong in the books", found["violations"], "tasks", noise=0,
               shown=bool(found["violations"]), targets=[figure.at_most(0)])


def make_case(agents):
    return Case("paper/%d" % agents, 40 + agents / 5000, lambda context: run(context, agents))


CASES = [make_case(agents) for agents in SIZES]
