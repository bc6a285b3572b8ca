#!/usr/bin/python3
"""Runs the tests of one module and reports each as a line of JSON on stdout.

    run_module.py PATH

A report line begins with the record separator (0x1e), all other output is the tests' own.
TEST_PATTERN, a regular expression, chooses tests by Class.method. Nothing that a test started
outlives this program.
"""

import importlib
import json
import os
import re
import signal
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import processes  # noqa: E402


class Reporter(unittest.TestResult):
    """Reports a test when its cleanups are done too, so that their output comes before."""

    def __init__(self):
        super().__init__()
        self._begin = time.monotonic()
        self._running = None
        self._outcome = None

    def startTest(self, test):
        super().startTest(test)
        self._begin, self._running, self._outcome = time.monotonic(), test, None

    def stopTest(self, test):
        super().stopTest(test)
        self._running = None
        self._report(test, *(self._outcome or ("fail", "no outcome")))

    def _conclude(self, test, outcome, detail=""):
        if self._running is None:       # a class as a whole
            self._report(test, outcome, detail)
        elif self._outcome is None or self._outcome[0] == "pass":
            self._outcome = (outcome, detail)

    def _report(self, test, outcome, detail):
        # A class that is skipped, or fails, as a whole reports as "setUpClass (module.Class)".
        name = ".".join(test.id().rstrip(")").split(".")[1:]) or str(test)
        print("\x1e" + json.dumps({"test": name, "outcome": outcome, "detail": detail,
                                   "seconds": round(time.monotonic() - self._begin, 2)}),
              flush=True)

    def addSuccess(self, test):
        self._conclude(test, "pass")

    def addSkip(self, test, reason):
        self._conclude(test, "skip", reason)

    def _fail(self, test, err):
        # What happened comes first: a reader may see the beginning alone.
        what = "".join(traceback.format_exception_only(*err[:2]))
        self._conclude(test, "fail", what + "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)


def chosen(suite, pattern):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from chosen(item, pattern)
        elif pattern is None or re.search(pattern, item.id()):
            yield item


def main():
    path = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(path))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    processes.adopt_orphans()
    module = importlib.import_module(os.path.basename(path)[:-3])
    suite = unittest.TestSuite(chosen(unittest.defaultTestLoader.loadTestsFromModule(module),
                                      os.environ.get("TEST_PATTERN")))
    result = Reporter()
    try:
        suite.run(result)
    finally:
        processes.kill_descendants()
    return 0


if __name__ == "__main__":
    sys.exit(main())
