"""What it costs to be careful: authentication and access control lists, TLS, operators who watch
every change, and masters that follow. Each is held against the same run without it."""

import contextlib
import json
import os
import shutil
import urllib.request

from . import daemons, figure, launching, processes
from .context import Case
from .figure import Figure

RULES = 1000
SECONDS = 3
WATCHERS, WATCH_TASKS, WATCH_SECONDS = 1000, 3333, 5


def acls():
    """Lists of so many rules, the last of which lets the schedulers in."""
    def rules(key):
        return [{"principals": {"values": ["nobody-%d" % n]}, key: {"values": ["some-%d" % n]}}
                for n in range(RULES // 2 - 1)] + [
                    {"principals": {"values": ["bench"]}, key: {"type": "ANY"}}]
    return {"permissive": False, "register_frameworks": rules("roles"),
            "run_tasks": rules("users"),
            "register_agents": [{"principals": {"type": "ANY"}, "agents": {"type": "ANY"}}],
            "teardown_frameworks": [{"principals": {"type": "ANY"},
                                     "framework_principals": {"type": "ANY"}}]}


def write(context, name, content):
    path = os.path.join(context.scratch, name)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w",
              encoding="ascii") as file:
        json.dump(content, file)
    return path


def guarded(context):
    """Flags of a master that asks who schedulers are and what they may."""
    credentials = {"credentials": [{"principal": "bench", "secret": "open sesame"}]}
    return {"credentials": write(context, "credentials", credentials),
            "authenticate_http_frameworks": "true", "http_framework_authenticators": "basic",
            "acls": write(context, "acls", acls())}


@contextlib.contextmanager
def secured(values):
    """What is started meanwhile speaks TLS."""
    processes.secure.update(values)
    try:
        yield
    finally:
        processes.secure.clear()


def certificates(context):
    """The environment of TLS, with what `mesita local --tls` makes."""
    folder = os.path.join(context.scratch, "tls")
    os.makedirs(folder, exist_ok=True)
    with daemons.Local(context.mesita, 0, "--tls", "--work_dir=" + folder):
        pass
    names = {"CA_FILE": "ca", "CERT_FILE": "cert", "KEY_FILE": "key"}
    values = {"LIBPROCESS_SSL_" + name: os.path.join(folder, "tls", file + ".pem")
              for name, file in names.items()}
    return {"LIBPROCESS_SSL_ENABLED": "true", "LIBPROCESS_SSL_VERIFY_SERVER_CERT": "true",
            "LIBPROCESS_SSL_VERIFY_IPADD": "true", **values}


def launch(context, master, **flags):
    shape = launching.shape(context, launching.TARGET_AGENTS, launching.TARGET_SCHEDULERS)
    # The certificates are of one address.
    shape.update(duration="300ms" if context.quick else "%dsecs" % SECONDS, connections=1)
    with context.new_master(**master) as running:
        return context.load(running.address, echo=False, **shape, **flags)["tasks_per_second"]


def run(context):
    flags, tls = guarded(context), certificates(context)
    plain = launch(context, {})
    rates = {"acls": launch(context, flags, principal="bench", secret="open sesame")}
    with secured(tls):
        rates["tls"] = launch(context, {})
    for key, label, bound in (
            ("acls", "tasks/s, Basic and %d rules" % RULES, 0.9),
            ("tls", "tasks/s, TLS between all parts", 0.5)):
        yield Figure("guard", "", key, label, rates[key], "tasks/s", plain,
                     "without", more_is_better=True, targets=[figure.at_least(bound, "ratio")])


def watched(context, watchers):
    flags = {"agents": 100 if context.quick else 1000, "schedulers": 10,
             "rate": 100 if context.quick else WATCH_TASKS, "inflight": 2000, "leave": False,
             "duration": "400ms" if context.quick else "%dsecs" % WATCH_SECONDS, "echo": False}
    if watchers:
        # They are there before anything is measured.
        flags.update(pollers=watchers, poll="SUBSCRIBE", poll_encoding="protobuf",
                     poll_lead="1secs")
    with context.new_master(max_operator_event_stream_subscribers=WATCHERS) as master:
        return context.load(master.address, **flags), master.memory()[1]


def run_watched(context):
    alone, memory_alone = watched(context, 0)
    busy, memory_busy = watched(context, 50 if context.quick else WATCHERS)
    yield Figure("guard", "watched", "p99", "accept to RUNNING p99, watched",
                 busy["accept_to_running_p99"], "ms",
                 alone["accept_to_running_p99"], "nobody does",
                 noise=figure.NOISE_LATENCY, targets=[figure.at_most(2, "ratio")])
    yield Figure("guard", "watched", "p50", "accept to RUNNING median, watched",
                 busy["accept_to_running_p50"], "ms",
                 alone["accept_to_running_p50"], "nobody does",
                 noise=figure.NOISE_LATENCY)
    yield Figure("guard", "watched", "rate", "changes/s that they watch",
                 3 * busy["tasks_per_second"], "", 3 * alone["tasks_per_second"],
                 "nobody does", more_is_better=True, targets=[figure.at_least(0.95, "ratio")])
    yield Figure("guard", "watched", "memory", "master's memory at most",
                 memory_busy / 1e6, "MB",
                 memory_alone / 1e6, "nobody does",
                 noise=figure.NOISE_MEMORY, targets=[figure.below(200)])


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def leader_of(cluster, masters):
    """Address and pid of the master that leads."""
    with urllib.request.urlopen("http://%s/state" % cluster.info["master"], timeout=30) as answer:
        address = json.load(answer)["leader"].split("@")[1]
    folder = os.path.join(cluster.info["work_dir"], "master-")
    for n in range(1, masters + 1) if masters > 1 else ():
        if read("%s%d.port" % (folder, n)) == address.split(":")[1]:
            return address, int(read("%s%d.pid" % (folder, n)))
    return address, cluster.daemons("master")[0]


def spent(pid):
    """Seconds of processors that a process had so far."""
    ticks = read("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def led(context, masters):
    """Tasks a second, and the leader's processor time of each."""
    shape = launching.shape(context, launching.TARGET_AGENTS, launching.TARGET_SCHEDULERS)
    with daemons.Local(context.mesita, 0, "--masters=%d" % masters,
                       "--allocation_interval=100ms") as cluster:
        address, pid = leader_of(cluster, masters)
        before = spent(pid)
        found = context.load(address, echo=False, **shape)
        return found["tasks_per_second"], (spent(pid) - before) / found["tasks_done"] * 1e6


def run_followed(context):
    if not shutil.which("java"):
        return
    (rate, cpu), (rate_alone, cpu_alone) = led(context, 3), led(context, 1)
    yield Figure("guard", "followed", "cpu", "leader's CPU of a task, two masters follow", cpu,
                 "us", cpu_alone, "one master", noise=0.05,
                 targets=[figure.at_most(1.05, "ratio")])
    yield Figure("guard", "followed", "rate", "tasks/s, all on this machine", rate, "tasks/s",
                 rate_alone, "one master", more_is_better=True)


CASES = [Case("guard/launch", 3 * (SECONDS + 1), run, own_master=True),
         Case("guard/watched", 2 * (WATCH_SECONDS + 1), run_watched, own_master=True),
         Case("guard/followed", 20, run_followed, own_master=True)]
