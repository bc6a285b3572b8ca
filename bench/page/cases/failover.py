"""A master with tens of thousands of agents dies with -9 and is started again."""

from .. import figure
from ..context import Case
from ..figure import Figure
from . import launching

AGENTS, TASKS, SCHEDULERS = 40000, 400000, 10
# Tasks on their way at a time while the cluster is filled.
INFLIGHT = 4000
READY = "ready for failover"


def flags_of(context):
    agents, tasks = (40, 400) if context.quick else (AGENTS, TASKS)
    return {"agents": agents, "connections": launching.connections(agents),
            # As agents come back to a new master: each within its first backoff.
            "reregister_spread": "1secs", "tasks": tasks, "schedulers": SCHEDULERS,
            "tasks_per_offer": tasks // agents, "inflight": INFLIGHT, "failover": True,
            "drain": False, "leave": False}


def run(context):
    with context.new_master() as master:
        def heard(line):
            if READY in line:
                master.kill()
                master.restart()
        found = context.load(master.address, seconds=180, heard=heard, **flags_of(context))

    def line(key, words, value, unit, **more):
        return Figure("failover", "", key, words, value, unit, **more)

    label = "{:,.0f} agents, {:,.0f} tasks".format(found["agents"], found["failover_tasks"])
    limit = {}
    if found.get("failover_loopback"):
        limit = {"limit": found["failover_loopback"], "limit_of": "loopback echo"}
    yield line("all", label + " back", found["failover"], "s", targets=[figure.below(2)], **limit)
    yield line("start", "until the new master serves", found["failover_found"], "s",
               noise=figure.NOISE_LATENCY)
    yield line("frameworks", "then until frameworks are back", found["failover_frameworks"], "s",
               noise=figure.NOISE_LATENCY)
    yield line("agents", "then until agents are back", found["failover_agents"], "s", **limit)
    if "failover_master_cpu" in found:
        yield line("master_cpu", "CPU of the new master", found["failover_master_cpu"], "s")
        yield line("memory", "highest memory of the new master",
                   found["failover_master_rss_peak"], "MB",
                   limit=found["master_rss_running"], limit_of="MB of the old one",
                   noise=figure.NOISE_MEMORY)
    lost = found["tasks_running"] - found["failover_tasks"] + found["violations"]
    yield line("lost", "tasks lost", lost, "tasks", noise=0, targets=[figure.at_most(0)])


CASES = [Case("failover", 25, run, own_master=True)]
