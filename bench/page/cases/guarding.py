"""What it costs to be careful: authentication and access control lists, TLS, operators who watch
every change. Each is held against the same run without it."""

import contextlib
import json
import os

from .. import daemons, figure, processes
from ..context import Case
from ..figure import Figure
from . import launching

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


CASES = [Case("guard/launch", 3 * (SECONDS + 1), run, own_master=True),
         Case("guard/watched", 2 * (WATCH_SECONDS + 1), run_watched, own_master=True)]
