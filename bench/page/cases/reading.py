"""Big reads of a busy cluster: how long each takes, and what schedulers notice of four clients
that poll it without pause."""

import contextlib
import statistics
import time

from .. import figure, metrics, processes
from ..context import Case
from ..figure import Figure

AGENTS, TASKS = 1000, 100000
FILL_SECONDS = 120
POLLERS = 4
# What schedulers do meanwhile: some calls, on agents of their own.
RATE, SECONDS = 500, 4

ALONE_SECONDS = 3

# Name: what bench_load's --poll takes, and the encoding.
READS = (
    ("/state", "/state", "json"),
    # Without a limit it gives the first hundred.
    ("/tasks", "/tasks?limit=%d" % (TASKS + 1), "json"),
    ("GET_STATE", "GET_STATE", "json"),
    ("GET_STATE pb", "GET_STATE", "protobuf"),
)

# ms
BOUNDS = {"/state": 100, "GET_STATE pb": 50}


@contextlib.contextmanager
def busy_cluster(context, address):
    """A load in the background that holds the tasks."""
    agents, tasks = (10, 1000) if context.quick else (AGENTS, TASKS)
    before = metrics.running(address)
    load = context.start_load(
        address, agents=agents, schedulers=10, tasks=tasks, tasks_per_offer=tasks // agents,
        task_cpus=4 * agents / tasks, task_mem=8, agent_mem=8 * tasks // agents,
        inflight=4000, failover=True, drain=False,
        echo=False, stall="600secs")
    try:
        processes.wait_while_running(
            load, lambda: metrics.running(address) >= before + tasks,
            "%d running tasks" % tasks, FILL_SECONDS, 0.2)
        yield
    finally:
        processes.end(load)


def read_once(address, target, encoding):
    """(seconds until the last byte, bytes)"""
    begin = time.monotonic()
    if target.startswith("/"):
        answer = metrics.ask(address, "GET", target)
    else:
        answer = metrics.call(address, target, encoding)
    return time.monotonic() - begin, len(answer)


def schedulers(context, address, **flags):
    flags = {"agents": 10, "schedulers": 2, "rate": 50 if context.quick else RATE,
             "agent_cpus": 64, "agent_mem": 65536,
             "duration": "400ms" if context.quick else "%dsecs" % SECONDS, "echo": False, **flags}
    return context.load(address, **flags)


def run(context):
    with context.master_address() as address, busy_cluster(context, address):
        alone = schedulers(context, address)
        for row, target, encoding in READS:
            yield from read_figures(context, address, row, target, encoding)
            polled = schedulers(context, address, pollers=POLLERS, poll=target,
                                poll_encoding=encoding)
            yield from polled_figures(row, alone, polled)


def read_figures(context, address, row, target, encoding):
    # Somebody who asks by himself; what the pollers before him cost is over.
    time.sleep(0 if context.quick else ALONE_SECONDS)
    reads = [read_once(address, target, encoding) for _ in range(3)]
    seconds, size = statistics.median(reads)
    yield Figure("reads", row, "time", row, seconds * 1e3, "ms", context.memcpy(size),
                 "memcpy", column="ms",
                 targets=[figure.below(BOUNDS[row])] if row in BOUNDS else [])
    yield Figure("reads", row, "bytes", row, size / 1e6, "MB", column="MB",
                 noise=figure.NOISE_MEMORY)


def polled_figures(row, alone, polled):
    yield Figure("reads", row, "poll_p50", row, polled["poll_p50"], "ms",
                 column="4 poll:|ms", noise=figure.NOISE_LATENCY)
    yield Figure("reads", row, "call_p99", row, polled["call_to_answer_p99"], "ms",
                 alone["call_to_answer_p99"], "unpolled", column="calls'|p99 ms",
                 noise=figure.NOISE_LATENCY,
                 targets=[figure.at_most(2, "ratio")] if row == "/state" else [])
    yield Figure("reads", row, "running_p99", row, polled["accept_to_running_p99"], "ms",
                 alone["accept_to_running_p99"], "unpolled", noise=figure.NOISE_LATENCY,
                 shown=False)
    yield Figure("reads", row, "polls_failed", row, polled["polls_failed"], "polls",
                 noise=0, column="failed", targets=[figure.at_most(0)])


CASES = [Case("reads", 45, run)]
