"""Launching as fast as the offers allow: at nine sizes, in three languages, by schedulers that wait for
answers and by such that do not, and of tasks like people's."""

import resource

from .. import figure
from ..context import MAX_INFLIGHT, Case
from ..figure import Figure

SIZES = [(agents, schedulers) for agents in (10, 1000, 10000) for schedulers in (1, 10, 200)]
TARGET_AGENTS, TARGET_SCHEDULERS = 1000, 10
SECONDS = 3
SPARE_FILES = 1000


def connections(agents):
    """One each, there and back, as far as files may be open here and in the master."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed == resource.RLIM_INFINITY:
        return agents
    return max(1, min(agents, (allowed - SPARE_FILES) // 2))


def shape(context, agents, schedulers):
    """Few agents are big ones: as many tasks fit on all together as on the many."""
    if context.quick:
        agents = min(agents, 200)
    # A master of our own is thrown away: nobody has to take leave of it.
    flags = {"agents": agents, "schedulers": schedulers, "inflight": MAX_INFLIGHT,
             "connections": connections(agents), "leave": bool(context.master)}
    if agents < 100:
        flags.update(agent_cpus=64, agent_mem=65536)
    flags["duration"] = "300ms" if context.quick else "%dsecs" % SECONDS
    return flags


def lost(found):
    return found["tasks_launched"] - found["tasks_done"] + found["violations"]


def thousands(number):
    return "{:,}".format(number)


def targets_of(agents, words):
    if agents != TARGET_AGENTS:
        return []
    if words == "waiting":
        return [figure.at_least(0.5, "ratio")]
    return [figure.at_least(10000)] if not words else []


def run(context, agents, schedulers, words="", **flags):
    with context.master_address() as address:
        found = context.load(address, **{**shape(context, agents, schedulers), **flags})
    row = "%dx%d%s" % (agents, schedulers, words.replace(" ", ""))
    label = "%s x %s %s" % (thousands(agents), schedulers, words)
    if (agents, schedulers, words) == (TARGET_AGENTS, TARGET_SCHEDULERS, ""):
        context.known["top_rate"] = found["tasks_per_second"]

    def column(key, title, value, unit, **more):
        return Figure("launch", row, key, label.strip(), value, unit, column=title, **more)

    # Of tasks that live long not all are over.
    rate = found["running_per_second" if flags.get("mix") else "tasks_per_second"]
    yield column("tasks_per_second", "tasks/s", rate, "tasks/s",
                 limit=found["loopback_tasks_per_second"], limit_of="batched echo",
                 more_is_better=True, targets=targets_of(agents, words))
    if "master_cpu_per_task" in found:
        yield column("master_cpu", "CPU us|a task", found["master_cpu_per_task"], "us",
                     limit=found["loopback_cpu_per_task"], limit_of="batched echo")
        yield Figure("launch", row, "waited", "master ready to run, and another ran",
                     found["master_waited_for_cpu"] / found["seconds"], "of time", shown=False,
                     compared=False)
    for key, title in (("p50", "RUNNING|p50"), ("p99", "p99"), ("max", "longest")):
        yield column("accept_to_running_" + key, title, found["accept_to_running_" + key], "ms",
                     noise=figure.NOISE_LATENCY)
    yield column("lost", "lost", lost(found), "tasks", noise=0, targets=[figure.at_most(0)])
    # Of few agents, or with calls of many schedulers between, it says little.
    telling = (agents, schedulers, words) == (SIZES[-1][0], 1, "")
    yield Figure("launch", row, "registration",
                 "agents registered/s, %s at once" % thousands(agents),
                 found["agents"] / max(found["registration"], 1e-6), "agents/s",
                 context.fdatasync(), "fdatasync", more_is_better=True, noise=0.5,
                 shown=telling, compared=telling)


def make_case(agents, schedulers, words="", **flags):
    return Case("launch/%dx%d%s" % (agents, schedulers, words.replace(" ", "")), SECONDS + 4,
                lambda context: run(context, agents, schedulers, words, **flags))


# Tasks under way that are no more than the agents hold: those that run do not count.
MIX = {"mix": True, "cut": True}

CASES = [*(make_case(*size) for size in SIZES),
         # As it was measured before: all agents on one connection.
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "shared", connections=1),
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "waiting", waiting=True),
         make_case(TARGET_AGENTS, 200, "waiting", waiting=True),
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "mix", **MIX),
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "mix waiting", waiting=True, **MIX),
         # What else schedulers speak: JSON, and libprocess as drivers of v0.
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "json", encoding="json"),
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "v0", drivers=TARGET_SCHEDULERS)]
