"""Masters and clusters that a case measures; each ends with its `with`."""

import http.client
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import time

from . import processes
from .processes import Failure, children, command_line, end, memory, start, wait_until

IP = "127.0.0.1"
START_SECONDS = 60


_held_ports = []


def free_port():
    """A port for one daemon, held until this process ends: a socket that is bound and does not
    listen lets a daemon listen there (both reuse addresses), but the kernel gives the port to
    nobody who asks for any port, neither before the daemon starts nor while it is killed."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((IP, 0))
    _held_ports.append(holder)
    return holder.getsockname()[1]


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
        """Whether it has recovered: 503 before; 405 as schedulers have to POST, 401 if they have to
        say who they are."""
        self.check()
        connection = self.connect()
        try:
            connection.request("GET", "/api/v1/scheduler")
            return connection.getresponse().status in (401, 405)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def connect(self):
        if not processes.secure:
            return http.client.HTTPConnection(IP, self.port, timeout=10)
        context = ssl.create_default_context(cafile=processes.secure["LIBPROCESS_SSL_CA_FILE"])
        return http.client.HTTPSConnection(IP, self.port, timeout=10, context=context)

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

    def __init__(self, mesita, agents, *flags, **environment):
        begin = time.monotonic()
        self.process = start([mesita, "local", "--agents=%d" % agents, "--port=0", "--json",
                              *flags], death=signal.SIGTERM, stdout=subprocess.PIPE,
                             env={**os.environ, **environment})
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
