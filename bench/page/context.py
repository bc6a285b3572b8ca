"""What a case needs: the programs, a master to measure, and the limits of the bare machine."""

import contextlib
import dataclasses
import json
import os
import typing

from . import daemons, processes
from .processes import Failure

TOOL_SECONDS = 120
MAX_INFLIGHT = 2000             # more only measures how long tasks queue


@dataclasses.dataclass
class Case:
    """Something to measure. `run(context)` gives Figures as they are known."""

    name: str
    seconds: float              # how long it takes on a calm machine, about
    run: typing.Callable
    own_master: bool = False    # measures what it starts itself, not a master that runs already

    @property
    def group(self):
        return self.name.split("/")[0]


class Context:
    def __init__(self, scratch, options, heard=None):
        self.mesita, self.scratch = options.mesita, scratch
        self.master, self.ip, self.quick = options.master, options.ip, options.quick
        self.timeout, self.heard = options.timeout, heard
        self.master_cpus, self.load_cpus = processes.processors()
        self.known = {}         # what one case found out and another wants to know

    # ---- programs ----------------------------------------------------------------

    def tool_path(self, name):
        path = os.path.join(os.path.dirname(self.mesita), name)
        if not os.access(path, os.X_OK):
            raise Failure("%s is not there; `make bench` builds it" % path)
        return path

    def tool(self, name, *arguments, seconds=TOOL_SECONDS, cpus=None, heard=None):
        def hear(line):
            if heard:
                heard(line)
            if self.heard:
                self.heard(line)
        return processes.run([self.tool_path(name), *map(str, arguments)],
                             min(seconds, self.timeout or seconds), cpus, hear)

    def numbers(self, name, *arguments, **options):
        return [float(word) for word in self.tool(name, *arguments, **options).split()]

    def load(self, address, seconds=TOOL_SECONDS, heard=None, **flags):
        """The figures of a run of bench_load; a flag given as True or False is --x or --no-x."""
        output = self.tool("bench_load", *self.words(address, flags), seconds=seconds,
                           cpus=self.load_cpus, heard=heard)
        try:
            return json.loads(output.splitlines()[-1])
        except (ValueError, IndexError):
            raise Failure("bench_load did not print its figures") from None

    def words(self, address, flags):
        yield from ("--master=" + address, "--json")
        if self.ip:
            yield "--ip=" + self.ip
        for name, value in flags.items():
            if isinstance(value, bool):
                yield "--" + name if value else "--no-" + name
            else:
                yield "--%s=%s" % (name, value)

    def start_load(self, address, **flags):
        """bench_load in the background, for what is measured while it plays."""
        argv = [self.tool_path("bench_load"), *self.words(address, flags)]
        with open(os.path.join(self.scratch, "load.log"), "ab") as log:
            return processes.start(argv, self.load_cpus, stdout=log, stderr=log)

    # ---- masters -----------------------------------------------------------------

    @contextlib.contextmanager
    def master_address(self, **flags):
        """The master that was named, or a new one for this case alone."""
        if self.master:
            yield self.master
        else:
            with self.new_master(**flags) as master:
                yield master.address

    def new_master(self, **flags):
        return daemons.Master(self.mesita, self.scratch, self.master_cpus, **flags)

    # ---- limits ------------------------------------------------------------------

    def hop(self):
        """Milliseconds of a message over loopback between two processes: median, p99."""
        if "hop" not in self.known:
            median, tail = self.numbers("bench_limits", "hop", self.load_cpus[0],
                                        self.master_cpus[0])
            self.known["hop"] = (median / 1e3, tail / 1e3)
        return self.known["hop"]

    def fdatasync(self):
        """Small durable writes a second, where the master keeps its registry."""
        if "fdatasync" not in self.known:
            self.known["fdatasync"], = self.numbers("bench_limits", "fdatasync", self.scratch)
        return self.known["fdatasync"]

    def memcpy(self, size):
        """Milliseconds to copy so many bytes."""
        milliseconds, = self.numbers("bench_limits", "memcpy", max(int(size), 1))
        return milliseconds
