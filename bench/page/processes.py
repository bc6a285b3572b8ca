"""Processes of a run: each in a group of its own, and gone when the run is over.

A process gets SIGKILL from the kernel when this program dies, however that happens; otherwise
`end_all` ends what still runs. Nothing but our own children is ever signalled.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
WAIT_SECONDS = 60

_libc = ctypes.CDLL(None, use_errno=True)
_running = []


class Failure(Exception):
    """A case could not be measured; the text says why."""


class LeftOut(Exception):
    """What a case measures is not on this machine; the text says what."""


def processors():
    """(of the master, of the load): different ones, where there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return (allowed[:1], allowed[1:]) if len(allowed) > 1 else (allowed, allowed)


secure = {}     # what makes everything that is started speak TLS, or nothing


def clean_environment():
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("MESOS_", "LIBPROCESS_", "GLOG_", "MESITA_"))}
    return {**clean, **secure}


def start(argv, cpus=None, death=signal.SIGKILL, **options):
    """Popen, on some processors only, ended with this program."""
    def prepare():
        # Not a session: the kernel shares processors out between sessions, and a run is one.
        os.setpgid(0, 0)
        _libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if cpus:
            os.sched_setaffinity(0, cpus)

    options = {"stdin": subprocess.DEVNULL, "env": clean_environment(), **options}
    process = subprocess.Popen(argv, preexec_fn=prepare, **options)
    _running.append(process)
    return process


def end(process, number=signal.SIGTERM, seconds=15):
    """Asks it to end, waits, then makes it."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if process in _running:
        _running.remove(process)


def end_all():
    for process in list(_running):
        end(process)


class Lines:
    """The lines of a pipe as they come."""

    def __init__(self, pipe):
        self.pipe, self.part, self.at_end = pipe, b"", False

    def read(self):
        bytes_read = os.read(self.pipe.fileno(), 65536)
        self.at_end = not bytes_read
        *whole, self.part = (self.part + bytes_read).split(b"\n")
        if self.at_end and self.part:
            whole.append(self.part)
            self.part = b""
        return [line.decode("utf-8", "replace") for line in whole]


def run(argv, seconds, cpus=None, heard=None, **options):
    """Runs a program to its end and returns its output.

    What it says on standard error goes to `heard` line by line; the last of it is the reason
    when it fails. It has `seconds`, then it is ended.
    """
    process = start(argv, cpus, signal.SIGTERM, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    **options)
    name = os.path.basename(argv[0])
    out, err, said = Lines(process.stdout), Lines(process.stderr), []
    output, deadline = [], time.monotonic() + seconds
    try:
        while not (out.at_end and err.at_end):
            left = deadline - time.monotonic()
            open_ends = [lines for lines in (out, err) if not lines.at_end]
            ready = select.select([lines.pipe for lines in open_ends], [], [], max(left, 0))[0]
            if left <= 0:
                raise Failure("%s was not done after %d s%s" % (name, seconds, reason(said)))
            for lines in open_ends:
                if lines.pipe not in ready:
                    continue
                if lines is out:
                    output += out.read()
                else:
                    for line in err.read():
                        said = said[-20:] + [line]
                        if heard:
                            heard(line)
        code = process.wait(max(deadline - time.monotonic(), 1))
    finally:
        end(process)
    if code != 0:
        raise Failure("%s ended with %d%s" % (name, code, reason(said)))
    return "\n".join(output)


def reason(said):
    """The complaint among the lines on standard error, or the last of them."""
    words = [line for line in said if line.startswith("bench_")] or said
    return ": " + words[-1] if words else ""


# ---- what the kernel knows ---------------------------------------------------------

def memory(pid):
    """(resident, highest so far) of a process in bytes."""
    found = {}
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(("VmRSS:", "VmHWM:")):
                    found[line[:5]] = int(line.split()[1]) * 1024
        return found["VmRSS"], found["VmHWM"]
    except (OSError, KeyError):
        raise Failure("process %d is gone" % pid) from None


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def command_line(pid):
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        return [word.decode(errors="replace") for word in file.read().split(b"\0")]


def reach(host, port):
    """ValueError says why nobody can be reached there."""
    try:
        socket.create_connection((host, port), 5).close()
    except OSError as error:
        raise ValueError("no master at %s:%d: %s" % (host, port, error.strerror or error)) \
            from None


def wait_until(condition, what, seconds=WAIT_SECONDS, pause=0.02):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failure("%s: not within %d s" % (what, seconds))
        time.sleep(pause)


def wait_while_running(process, condition, what, seconds, pause):
    """Until the condition holds; the process is there for it, and fails it when it ends."""
    def there():
        if process.poll() is not None:
            raise Failure("the load ended with %d" % process.returncode)
        return condition()
    wait_until(there, what, seconds, pause)
