"""What is being measured, and how long yet: on standard error, one line that changes on a
terminal, a line a case elsewhere."""

import sys
import time

from .layout import clock, cut

WIDTH = 100


class Progress:
    def __init__(self, cases, times=1, quick=False, verbose=False, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty() and not verbose
        self.times, self.quick, self.verbose = times, quick, verbose
        self.cases, self.index = cases, -1
        self.begin = time.monotonic()
        self.open_line = False

    def left(self):
        """Seconds; small sizes take about one a case."""
        return self.times * sum(1 if self.quick else case.seconds
                                for case in self.cases[self.index:])

    def case(self, case):
        self.index = self.cases.index(case)
        self.show("[%2d/%d] %-18s about %s to go" % (
            self.index + 1, len(self.cases), case.name, clock(self.left())), keep=True)

    def done(self, case, seconds, reason=""):
        if reason:
            self.show("        %s: %s" % (case.name, reason), keep=True)
        elif self.verbose:
            self.show("        %s: %.1f s" % (case.name, seconds), keep=True)

    def heard(self, text):
        """A line of the program that runs."""
        if self.verbose:
            self.show("        " + text, keep=True)
        elif self.live:
            self.show("        " + text, keep=False)

    def show(self, text, keep):
        if self.live:
            self.stream.write("\r\033[K" + cut(text, WIDTH - 1) + ("\n" if keep else ""))
            self.open_line = not keep
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def close(self):
        if self.open_line:
            self.stream.write("\r\033[K")
            self.stream.flush()
