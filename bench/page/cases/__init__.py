"""All cases of the set, in the order in which they run, and the choice among them."""

from . import (allocation, failover, growth, guarding, jvm, latency, launching, masters, paper, reading,
               real_tasks, starting)

ALL = [*starting.CASES, *launching.CASES, *latency.CASES, *paper.CASES, *failover.CASES, *reading.CASES,
       *growth.CASES, *guarding.CASES, *masters.CASES, *real_tasks.CASES, *jvm.CASES, *allocation.CASES]

# What --quick runs: of sizes that are the same when scaled down, one.
QUICK = ("start", "launch/10x1", "launch/1000x10", "launch/1000x10v0", "launch/1000x10mixwaiting", "latency",
         "paper/10000", "failover", "reads", "memory", "guard", "masters", "tasks", "allocator")


def fits(case, name):
    return case.name == name or case.name.startswith(name + "/")


def choose(only=None, quick=False):
    """The cases that `only` names, by their name or their group. ValueError: a name of none."""
    names = only or (QUICK if quick else [case.group for case in ALL])
    for name in names:
        if not any(fits(case, name) for case in ALL):
            raise ValueError("no case '%s'; there are %s" % (
                name, ", ".join(case.name for case in ALL)))
    return [case for case in ALL if any(fits(case, name) for name in names)]
