"""Tasks that are processes, on one agent: command tasks, and those of an executor that is kept."""

import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.request

from .. import daemons, figure, processes
from ..context import Case
from ..figure import Figure

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
                 targets=[figure.at_most(2, "ratio")] if name == "command" else [])
    yield Figure("tasks", name, "accept_to_finished_p99", what + ", to its end, p99",
                 tail, "ms", spawn_us / 1e3, limit_of, noise=figure.NOISE_LATENCY)


def run_command(context):
    targets = [figure.at_least(0.6, "ratio")]
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


def group_roots():
    """Directories in which control groups can be made here; empty: none can."""
    if os.geteuid():
        return []
    unified = os.path.exists(HIERARCHY + "/cgroup.controllers")
    roots = [HIERARCHY] if unified else [
        HIERARCHY + "/" + name for name in ("cpu", "cpuacct", "memory", "freezer")]
    return [] if any(not os.access(root, os.W_OK) for root in roots) else roots


def run_grouped(context):
    """Command tasks, each in a control group of its own with limits."""
    roots = group_roots()
    if not roots:
        return
    # What is mounted twice is one hierarchy.
    roots = list({os.path.realpath(root): root for root in roots}.values())
    spawn_rate, _ = context.numbers("bench_spawn", context.mesita, 40 if context.quick else 400,
                                    2, ":".join(roots))
    rate, = tasks(context, "rate", 40 if context.quick else 400,
                  MESOS_ISOLATION="cgroups/cpu,cgroups/mem")
    yield Figure("tasks", "grouped", "rate", "in control groups, a second", rate,
                 "tasks/s", spawn_rate, "fork+exec in fresh groups", more_is_better=True,
                 noise=0.5, targets=[figure.at_least(0.5, "ratio")])


# ---- images ----------------------------------------------------------------------------

LAYERS = 10


def layer(entries):
    """A tar of {path: bytes of a program, or the target of a link}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, what in entries.items():
            info = tarfile.TarInfo(path)
            if isinstance(what, str):
                info.type, info.linkname = tarfile.SYMTYPE, what
                tar.addfile(info)
            else:
                info.size, info.mode = len(what), 0o755
                tar.addfile(info, io.BytesIO(what))
    return out.getvalue()


def save_image(folder, busybox):
    """FOLDER/bench.tar, as `docker save` writes it."""
    with open(busybox, "rb") as file:
        layers = [layer({"bin/busybox": file.read(), "bin/sh": "busybox", "bin/true": "busybox"})]
    layers += [layer({"layer/%d" % number: b"x" * 1000}) for number in range(1, LAYERS)]
    names = ["%d/layer.tar" % number for number in range(LAYERS)]
    entries = dict(zip(names, layers))
    entries["config.json"] = json.dumps({"config": {}}).encode()
    entries["manifest.json"] = json.dumps([{
        "Config": "config.json", "RepoTags": ["bench:latest"], "Layers": names}]).encode()
    with open(os.path.join(folder, "bench.tar"), "wb") as file:
        file.write(layer(entries))


def run_images(context):
    """Command tasks in an image of ten layers that is there, beside plain ones."""
    busybox = shutil.which("busybox")
    if not busybox or os.geteuid() or subprocess.run(
            ["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        return
    count = 10 if context.quick else 100
    with tempfile.TemporaryDirectory() as folder:
        save_image(folder, busybox)
        with daemons.Local(
                context.mesita, 1, RESOURCES, "--allocation_interval=20ms",
                MESOS_ISOLATION="filesystem/linux,docker/runtime", MESOS_IMAGE_PROVIDERS="docker",
                MESOS_DOCKER_REGISTRY=folder, MESOS_DOCKER_STORE_DIR=folder + "/store") as cluster:
            master = cluster.info["master"]
            context.numbers("bench_tasks", master, "latency", 1, "image=bench")
            plain, _ = context.numbers("bench_tasks", master, "latency", count)
            median, _ = context.numbers("bench_tasks", master, "latency", count, "image=bench")
    yield Figure("tasks", "images", "more_than_plain",
                 "in an image of %d layers, more than without, p50" % LAYERS, median - plain, "ms",
                 plain, "the same without", noise=figure.NOISE_LATENCY,
                 targets=[figure.below(50)])


# ---- many ends at once -------------------------------------------------------------------

ENDS = 500


def waited(path):
    """Seconds that a thread was ready and had no processor."""
    with open(path, encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


def longest(address, pid, over):
    """Seconds that a daemon's loop took to answer at worst, on one connection, until the event:
    without the time in which it, or we, waited for a processor."""
    host, port = address.split(":")
    paths = ["/proc/%d/task/%d/schedstat" % (pid, pid), "/proc/thread-self/schedstat"]
    worst = 0.0
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    while not over.wait(0.001):
        without = sum(map(waited, paths))
        begin = time.monotonic()
        connection.request("GET", "/health")
        connection.getresponse().read()
        span = time.monotonic() - begin
        worst = max(worst, span - (sum(map(waited, paths)) - without))
    connection.close()
    return worst


def containers(address):
    with urllib.request.urlopen("http://%s/containers" % address, timeout=30) as answer:
        return len(json.load(answer))


def run_ends(context):
    """How long the agent's loop is held while many containers are killed at once."""
    count = 50 if context.quick else ENDS
    with daemons.Local(context.mesita, 1, RESOURCES) as cluster:
        master, agent = cluster.info["master"], cluster.info["agents"][0]["address"]
        job = subprocess.Popen(
            [context.mesita, "run", "--master=" + master, "--instances=%d" % count,
             "--cpus=0.005", "--mem=1", "--command=sleep 1000"], stdout=subprocess.DEVNULL)
        processes.wait_until(lambda: containers(agent) >= count, "all tasks run", 60, 0.1)
        answers = {}
        over = threading.Event()
        probes = [threading.Thread(target=lambda n=name, a=address: answers.update(
            {n: longest(a, cluster.daemons(n)[0], over)}))
                  for name, address in (("agent", agent), ("master", master))]
        for probe in probes:
            probe.start()
        job.send_signal(signal.SIGTERM)
        job.wait()
        processes.wait_until(lambda: not containers(agent), "all tasks end", 60, 0.1)
        over.set()
        for probe in probes:
            probe.join()
    yield Figure("tasks", "ends", "longest", "%d ends at once: the agent's loop is held" % count,
                 answers["agent"] * 1e3, "ms", answers["master"] * 1e3,
                 "the master meanwhile", noise=figure.NOISE_LATENCY,
                 targets=[figure.below(10)])


CASES = [Case("tasks/command", 10, run_command, own_master=True),
         Case("tasks/kept", 8, run_kept, own_master=True),
         Case("tasks/pods", 3, run_pods, own_master=True),
         Case("tasks/grouped", 4, run_grouped, own_master=True),
         Case("tasks/images", 4, run_images, own_master=True),
         Case("tasks/ends", 3, run_ends, own_master=True)]
