"""The allocator's own benchmarks: all are kept, those with a target are on the page."""

from .. import figure
from ..context import Case
from ..figure import Figure

# Name: (label, the limit in words, targets, instead of the tool's own ratio)
ON_PAGE = {
    "decline/10000x1000/full_grant": (
        "10,000 agents to 1,000 frameworks", [figure.below(100)]),
    "decline/50000x6000/full_grant": (
        "50,000 agents to 6,000 frameworks", [figure.below(1000)]),
    "decline/5000..10000x1000/offer_growth": (
        "cost of an offer, agents x 2", [figure.at_most(1.25, "ratio")]),
    "decline/1000x200..50000x6000/idle_growth": (
        "idle cycle, agents x 50", [figure.at_most(2)]),
    "decline/50000x6000/idle": ("idle cycle, 50,000 agents", [figure.below(50)]),
    "decline/50000x6000/hundredth_changed": (
        "1% of 50,000 agents changed", [figure.below(20)]),
    "decline/10000x1000/add_agents": ("10,000 agents added", [figure.below(100)]),
    "decline/10000x1000/agent_memory": ("memory of an agent", [figure.below(1024)]),
    "large_and_small_quota_drf/2500+500/all_grants": (
        "3,000 quotas granted", [figure.below(50)]),
}
# Sizes of the workload, not results.
GIVEN = ("declining_frameworks",)


def limit_of(unit):
    return {"bytes": "a hash record", "times": "as it should",
            "us": "reading a clock"}.get(unit, "hash records")


def run(context):
    flags = ["--only=decline", "--size=1000x200"] if context.quick else []
    for line in context.tool("bench_allocator", *flags).splitlines():
        name, value, unit, limit, ratio = line.split()
        key = name.partition("/")[2]
        if "n/a" in (value, limit, ratio) or key.endswith(GIVEN):
            continue
        label, targets = ON_PAGE.get(key, (key, []))
        yield Figure("allocator", "", key, label, float(value), unit, float(limit),
                     limit_of(unit), targets=targets, shown=key in ON_PAGE,
                     noise=figure.NOISE_MEMORY if unit == "bytes" else 0.5)


CASES = [Case("allocator", 14, run, own_master=True)]
