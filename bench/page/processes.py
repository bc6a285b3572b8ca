"""Processes of a run: each in a group of its own, and gone when the run is over.

A process gets SIGKILL from the kernel when this program dies, however that happens; otherwise
`end_all` ends what still runs. Nothing but our own children is ever signalled.
"""

import ctypes
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
IP = "127.0.0.1"
START_SECONDS = 60

_libc = ctypes.CDLL(None, use_errno=True)
_running = []


class Failure(Exception):
    """A case could not be measured; the text says why."""


def processors():
    """(of the master, of the load): different ones, where there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return (allowed[:1], allowed[1:]) if len(allowed) > 1 else (allowed, allowed)


def clean_environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("MESOS_", "LIBPROCESS_", "GLOG_", "MESITA_"))}


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


def run(argv, seconds, cpus=None, heard=None):
    """Runs a program to its end and returns its output.

    What it says on standard error goes to `heard` line by line; the last of it is the reason
    when it fails. It has `seconds`, then it is ended.
    """
    process = start(argv, cpus, signal.SIGTERM, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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


def free_port():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((IP, 0))
        return probe.getsockname()[1]


def reach(host, port):
    """ValueError says why nobody can be reached there."""
    try:
        socket.create_connection((host, port), 5).close()
    except OSError as error:
        raise ValueError("no master at %s:%d: %s" % (host, port, error.strerror or error)) \
            from None


def wait_until(condition, what, seconds=START_SECONDS, pause=0.02):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failure("%s: not within %d s" % (what, seconds))
        time.sleep(pause)


# ---- daemons -----------------------------------------------------------------------

class Master:
    """A mesita master on one processor, with a port and a directory of its own."""

    def __init__(self, mesita, directory, cpus, **flags):
        self.mesita, self.cpus = mesita, cpus
        self.port = free_port()
        self.flags = {"ip": IP, "port": self.port, "hostname": "localhost",
                      "work_dir": os.path.join(directory, "master-%d" % self.port),
                      "allocation_interval": "100ms", **flags}
        self.log = self.flags["work_dir"] + ".log"
        self.process = None

    @property
    def address(self):
        return "%s:%d" % (IP, self.port)

    def start(self):
        self.restart()
        wait_until(self.serves, "a master that serves", pause=0.005)
        return self

    def restart(self):
        """Again at its port; whoever waits for it sees when it serves."""
        argv = [self.mesita, "master"] + ["--%s=%s" % item for item in self.flags.items()]
        with open(self.log, "ab") as log:
            self.process = start(argv, self.cpus, stdout=log, stderr=log)

    def check(self):
        if self.process.poll() is not None:
            with open(self.log, "rb") as log:
                last = log.read()[-300:].decode("utf-8", "replace").strip().splitlines()
            raise Failure("the master ended with %d: %s" % (
                self.process.returncode, last[-1] if last else "it said nothing"))

    def serves(self):
        """Whether it has recovered: 503 before; 405 as schedulers have to POST."""
        self.check()
        connection = http.client.HTTPConnection(IP, self.port, timeout=10)
        try:
            connection.request("GET", "/api/v1/scheduler")
            return connection.getresponse().status == 405
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self):
        end(self.process, signal.SIGKILL)

    def memory(self):
        return memory(self.process.pid)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        # With -9: nothing that it would still do is of interest, and a big one takes long.
        self.kill()


class Local:
    """A cluster of `mesita local`."""

    def __init__(self, mesita, agents, *flags):
        begin = time.monotonic()
        self.process = start([mesita, "local", "--agents=%d" % agents, "--port=0", "--json",
                              *flags], death=signal.SIGTERM, stdout=subprocess.PIPE)
        try:
            self.info = self.read_info()
        except BaseException:
            end(self.process)
            raise
        self.ready = time.monotonic() - begin

    def read_info(self):
        if not select.select([self.process.stdout], [], [], START_SECONDS)[0]:
            raise Failure("the cluster was not ready after %d s" % START_SECONDS)
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the cluster did not start")
        return json.loads(line)

    def daemons(self, part):
        """Pids of the masters or agents: the guardian's children."""
        found = [pid for guardian in children(self.process.pid) for pid in children(guardian)
                 if command_line(pid)[1:2] == [part]]
        if not found:
            raise Failure("the cluster has no %s" % part)
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The guardian ends everything below it, also after a SIGKILL of its parent.
        end(self.process, seconds=30)

