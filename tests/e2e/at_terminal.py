"""A program at a terminal, of which we have the other end."""

import fcntl
import os
import pty
import select
import struct
import termios

import harness
from harness import wait_for


class AtTerminal:
    def __init__(self, case, argv, rows=30, columns=90, **environment):
        self.ours, self.theirs = pty.openpty()
        case.addCleanup(os.close, self.ours)
        case.addCleanup(os.close, self.theirs)
        self.resize(rows, columns)
        # Asked before there is a process that may change them.
        self.settings_before = termios.tcgetattr(self.theirs)
        # Its session has it as /dev/tty.
        self.process = harness.processes.spawn(
            argv, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
            env=harness.clean_environment(**environment),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        return os.write(self.ours, keys)

    def saw(self, text):
        if select.select([self.ours], [], [], 0)[0]:
            self.seen += os.read(self.ours, 65536)
        return text in self.seen

    def wait(self, text):
        wait_for(lambda: self.saw(text), "%r on the terminal %r" % (text, self.seen[-1000:]), 20)
