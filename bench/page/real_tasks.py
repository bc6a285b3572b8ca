"""Tasks that are processes, on one agent: command tasks, and those of an executor that is kept."""

import os

from . import daemons, figure
from .context import Case
from .figure import Figure

HIERARCHY = "/sys/fs/cgroup"
RESOURCES = "--resources=cpus:4;mem:65536;disk:4096"


def tasks(context, mode, count, *executor, **environment):
    # Time runs from ACCEPT on: a short interval only saves waiting for the next offer.
    interval = "1secs" if mode == "rate" and not executor else "20ms"
    with daemons.Local(context.mesita, 1, RESOURCES,
                       "--allocation_interval=" + interval, **environment) as cluster:
        return context.numbers("bench_tasks", cluster.info["master"], mode, count, *executor)


def run(context, name, what, program, executor, rates, targets):
    """`rates` and latencies beside the bare fork and exec of the same processes."""
    spawn_rate, spawn_us = context.numbers("bench_spawn", program, 40 if context.quick else 400)
    rate, = tasks(context, "rate", 40 if context.quick else rates, *executor)
    limit_of = "fork+exec"
    yield Figure("tasks", name, "rate", what + ", a second", rate, "tasks/s", spawn_rate,
                 limit_of, more_is_better=True, noise=0.5, targets=targets)
    median, tail = tasks(context, "latency", 10 if context.quick else 100, *executor)
    yield Figure("tasks", name, "accept_to_finished_p50", what + ", to its end, p50",
                 median, "ms", spawn_us / 1e3, limit_of, noise=figure.NOISE_LATENCY,
                 targets=[figure.below(25)] if name == "command" else [])
    yield Figure("tasks", name, "accept_to_finished_p99", what + ", to its end, p99",
                 tail, "ms", spawn_us / 1e3, limit_of, noise=figure.NOISE_LATENCY)


def run_command(context):
    targets = [figure.at_least(200), figure.at_least(0.25, "ratio")]
    yield from run(context, "command", "command executor", context.mesita, [], 1000,
                   targets)


def run_kept(context):
    executor = context.tool_path("bench_executor")
    yield from run(context, "kept", "executor kept", "-", [executor], 4000, [])


def run_pods(context):
    """Groups of three: an executor, three containers inside of its own, four ends."""
    spawn_rate, _ = context.numbers("bench_spawn", "-", 40 if context.quick else 400)
    rate, = tasks(context, "rate", 30 if context.quick else 600, "pods")
    yield Figure("tasks", "pods", "rate", "in groups of three, a second", rate, "tasks/s",
                 spawn_rate, "fork+exec", more_is_better=True, noise=0.5,
                 targets=[figure.at_least(100)])


def groups_usable():
    """Control groups can be made here."""
    unified = os.path.exists(HIERARCHY + "/cgroup.controllers")
    place = HIERARCHY if unified else HIERARCHY + "/freezer"
    return os.geteuid() == 0 and os.access(place, os.W_OK) and (
        unified or os.path.exists(HIERARCHY + "/memory"))


def run_grouped(context):
    """Command tasks, each in a control group of its own with limits."""
    if not groups_usable():
        return
    spawn_rate, _ = context.numbers("bench_spawn", context.mesita, 40 if context.quick else 400)
    rate, = tasks(context, "rate", 40 if context.quick else 400,
                  MESOS_ISOLATION="cgroups/cpu,cgroups/mem")
    yield Figure("tasks", "grouped", "rate", "in control groups, a second", rate,
                 "tasks/s", spawn_rate, "fork+exec", more_is_better=True, noise=0.5)


CASES = [Case("tasks/command", 10, run_command, own_master=True),
         Case("tasks/kept", 8, run_kept, own_master=True),
         Case("tasks/pods", 4, run_pods, own_master=True),
         Case("tasks/grouped", 4, run_grouped, own_master=True)]
