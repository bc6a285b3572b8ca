"""Launching as fast as the offers allow, at nine sizes and in three languages; and latency at
half of the rate that was reached."""

from . import figure
from .context import MAX_INFLIGHT, Case
from .figure import Figure
from .processes import Failure

SIZES = [(agents, schedulers) for agents in (10, 1000, 10000) for schedulers in (1, 10, 200)]
TARGET_AGENTS, TARGET_SCHEDULERS = 1000, 10
SECONDS = 6

LATENCIES = (
    ("offer_to_launch", "offer>|launch"),
    ("accept_to_running", "accept>|RUNNING"),
    ("update_to_scheduler", "update>|sched."),
    ("call_to_answer", "call>|answer"),
)


def shape(context, agents, schedulers):
    """Few agents are big ones: as many tasks fit on all together as on the many."""
    if context.quick:
        agents = min(agents, 200)
    # A master of our own is thrown away: nobody has to take leave of it.
    flags = {"agents": agents, "schedulers": schedulers, "inflight": MAX_INFLIGHT,
             "leave": bool(context.master)}
    if agents < 100:
        flags.update(agent_cpus=64, agent_mem=65536)
    flags["duration"] = "300ms" if context.quick else "%dsecs" % SECONDS
    return flags


def lost(found):
    return found["tasks_launched"] - found["tasks_done"] + found["violations"]


def thousands(number):
    return "{:,}".format(number)


def run(context, agents, schedulers, words="", **flags):
    with context.master_address() as address:
        found = context.load(address, **shape(context, agents, schedulers), **flags)
    row = "%dx%d%s" % (agents, schedulers, words)
    label = "%s x %s" % (thousands(agents), schedulers)
    if words:
        label = label.replace(" ", "") + " " + words
    if (agents, schedulers, words) == (TARGET_AGENTS, TARGET_SCHEDULERS, ""):
        context.known["top_rate"] = found["tasks_per_second"]
    targets = [figure.at_least(10000), figure.at_least(1 / 3, "ratio")]

    def column(key, title, value, unit, **more):
        return Figure("launch", row, key, label, value, unit, column=title, **more)

    yield column("tasks_per_second", "tasks/s", found["tasks_per_second"], "tasks/s",
                 limit=found["loopback_tasks_per_second"], limit_of="loopback echo",
                 more_is_better=True,
                 targets=targets if agents == TARGET_AGENTS and not words else [])
    if "master_cpu_per_task" in found:
        yield column("master_cpu", "CPU us|a task", found["master_cpu_per_task"], "us",
                     limit=found["loopback_cpu_per_task"], limit_of="loopback echo")
        yield Figure("launch", row, "waited", "master ready to run, and another ran",
                     found["master_waited_for_cpu"] / found["seconds"], "of time", shown=False,
                     compared=False)
    for key, title in LATENCIES:
        # Drivers of v0 are given no answer.
        if key != "call_to_answer" or key + "_p99" in found:
            yield column(key + "_p99", title, found[key + "_p99"], "ms",
                         noise=figure.NOISE_LATENCY)
    yield column("lost", "lost", lost(found), "tasks", noise=0, targets=[figure.at_most(0)])
    # Of few agents, or with calls of many schedulers between, it says little.
    telling = (agents, schedulers, words) == (SIZES[-1][0], 1, "")
    yield Figure("launch", row, "registration", "agents registered a second",
                 found["agents"] / max(found["registration"], 1e-6), "agents/s",
                 context.fdatasync(), "fdatasync", more_is_better=True, noise=0.5,
                 shown=telling, compared=telling)


def run_half(context):
    flags = shape(context, TARGET_AGENTS, TARGET_SCHEDULERS)
    with context.master_address() as address:
        if "top_rate" not in context.known:
            context.known["top_rate"] = context.load(address, echo=False, **flags)[
                "tasks_per_second"]
        rate = context.known["top_rate"] / 2
        if rate < 1:
            raise Failure("no rate to take half of")
        found = context.load(address, echo=False, rate="%.0f" % rate, **flags)
    hop = context.hop()[0]
    yield Figure("latency", "half", "rate", "tasks a second",
                 found["tasks_per_second"], "tasks/s", rate, "asked for",
                 more_is_better=True, targets=[figure.at_least(0.95, "ratio")])
    for key, title, hops, bound in (
            ("accept_to_running", "accept to TASK_RUNNING, p99", 4, 10),
            ("update_to_scheduler", "update to scheduler, p99", 2, None),
            ("call_to_answer", "call to answer, p99", 2, None)):
        yield Figure("latency", "half", key + "_p99", title, found[key + "_p99"], "ms",
                     hops * hop, "%d loopback hops" % hops, noise=figure.NOISE_LATENCY,
                     targets=[figure.below(bound)] if bound else [])
    yield Figure("latency", "half", "accept_to_running_p50", "accept to TASK_RUNNING, median",
                 found["accept_to_running_p50"], "ms", 4 * hop, "4 loopback hops",
                 noise=figure.NOISE_LATENCY)
    yield Figure("latency", "half", "lost", "lost", lost(found), "tasks", noise=0,
                 targets=[figure.at_most(0)])


def make_case(agents, schedulers, words="", **flags):
    return Case("launch/%dx%d%s" % (agents, schedulers, words), SECONDS + 4,
                lambda context: run(context, agents, schedulers, words, **flags))


CASES = [*(make_case(*size) for size in SIZES),
         # What else schedulers speak: JSON, and libprocess as drivers of v0.
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "json", encoding="json"),
         make_case(TARGET_AGENTS, TARGET_SCHEDULERS, "v0", drivers=TARGET_SCHEDULERS),
         Case("latency", SECONDS + 2, run_half)]
