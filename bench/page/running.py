"""Runs cases one after the other. One that fails is told, and the others go on."""

import os
import shutil
import subprocess
import tempfile
import time

from . import keeping, machine, processes, spread
from .context import Context
from .processes import Failure, LeftOut

# Not mistakes of this program: a machine or a master that does not do what it is asked.
TROUBLE = (Failure, OSError, ValueError, KeyError, subprocess.SubprocessError)
NOT_THERE = "measures what is started for it; not a master that runs already"


def run_case(case, context, figures, times):
    """(status, reason). Of a case that fails only what was measured whole before is told."""
    if case.own_master and context.master:
        return "left out", NOT_THERE
    runs = []
    try:
        for _ in range(times):
            runs.append([figure.to_json() for figure in case.run(context)])
        return "ok", ""
    except LeftOut as error:
        return "left out", str(error)
    except TROUBLE as error:
        words = "no %s in what it printed" % error if isinstance(error, KeyError) else str(error)
        return "failed", words or type(error).__name__
    finally:
        figures += spread.merge(runs)
        processes.end_all()


def run_all(cases, options, root, progress):
    """The run as it is kept."""
    begin, wall, busy = time.monotonic(), time.time(), machine.Busy()
    scratch = tempfile.mkdtemp(prefix="mesita-bench-", dir=options.scratch)
    run = {"format": keeping.FORMAT, "time": wall, "quick": options.quick,
           "times": options.times, "master": options.master or "",
           "machine": machine.facts(root, options.mesita),
           "cases": [], "figures": []}
    try:
        context = Context(scratch, options, progress.heard)
        for case in cases:
            progress.case(case)
            started = time.monotonic()
            status, reason = run_case(case, context, run["figures"], options.times)
            seconds = time.monotonic() - started
            run["cases"].append({"name": case.name, "seconds": round(seconds, 2),
                                 "status": status, "reason": reason})
            progress.done(case, seconds, reason)
            empty(scratch)
    finally:
        processes.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
        progress.close()
    run["seconds"] = round(time.monotonic() - begin, 1)
    run["others"] = round(busy.others(), 3)
    return run


def empty(directory):
    """What a case wrote is of no use to the next one."""
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
