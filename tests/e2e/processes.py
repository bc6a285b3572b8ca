"""Processes of the tests: started, waited for, and gone at the end.

The test process is a subreaper: what outlives its parent (executors of a killed agent) becomes
its child, is reaped when it dies, and is killed when the test is over. Only descendants of this
process are ever signalled.
"""

import ctypes
import http.client
import os
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SCALE = float(os.environ.get("TIMEOUT_SCALE", "1"))

_ours = {}                      # Popen objects by pid: these are reaped by their owner
_spared = set()                 # pids of what outlives a test, with all below it
_spawning = threading.Lock()


class Timeout(AssertionError):
    """What a test waited for did not come."""


def adopt_orphans():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A driver that is killed must not leave clusters behind: the test ends as if told to.
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGCHLD, lambda *_: reap())


def spawn(argv, **options):
    """Popen in a session of its own."""
    with _spawning:
        process = subprocess.Popen(argv, start_new_session=True,
                                   **{"stdin": subprocess.DEVNULL, **options})
        _ours[process.pid] = process
    reap()
    return process


def run(argv, check=False, timeout=None, **options):
    """subprocess.run, whose exit status nobody else may collect: see reap()."""
    process = spawn(argv, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    done = subprocess.CompletedProcess(argv, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def stat_of(pid):
    """(state, parent) of a process, or None if it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="latin-1") as file:
            fields = file.read().rpartition(")")[2].split()
        return fields[0], int(fields[1])
    except (OSError, IndexError, ValueError):   # it ends at this moment
        return None


def alive(pid):
    found = stat_of(pid)
    return found is not None and found[0] not in "ZX"


def parents():
    """Parent by pid, and the set of zombies."""
    tree, zombies = {}, set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = stat_of(int(name))
            if found is not None:
                tree[int(name)] = found[1]
                if found[0] in "ZX":
                    zombies.add(int(name))
    return tree, zombies


def descendants(root=None):
    """Pids of the live processes below one (by default this one)."""
    tree, zombies = parents()
    below, grown = {root or os.getpid()}, True
    while grown:
        more = {pid for pid, parent in tree.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return below - {root or os.getpid()} - zombies


def reap():
    """Collects dead orphans; leaves alone what spawn() began, and nothing else: the exit status
    of a process that was started in another way may get lost."""
    if not _spawning.acquire(blocking=False):
        return
    try:
        tree, zombies = parents()
        for pid in zombies:
            if tree[pid] == os.getpid() and pid not in _ours:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
    finally:
        _spawning.release()


def spare(start):
    """The result of start(), whose children here and all below them outlive tests: a browser
    takes long to start."""
    before = descendants()
    result = start()
    tree, _ = parents()
    _spared.update(pid for pid in descendants() - before if tree.get(pid) == os.getpid())
    return result


def kill_descendants():
    """Kills everything below this process, but what is spared, and waits until it is gone."""
    deadline = time.monotonic() + 10
    while True:
        doomed = descendants()
        for pid in _spared:
            doomed -= {pid} | descendants(pid)
        for pid in doomed:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for process in list(_ours.values()):
            process.poll()
        reap()
        if not doomed:
            break
        if time.monotonic() > deadline:
            raise Timeout("processes do not die: %s" % doomed)
        time.sleep(0.01)
    _ours.clear()


def wait_for(probe, what, timeout=15):
    """Calls probe() until it gives something true, and returns that."""
    deadline = time.monotonic() + timeout * SCALE
    interval, last = 0.005, None
    while True:
        try:
            value = probe()
            if value:
                return value
            last = None
        except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError,
                TypeError) as error:
            last = error
        if time.monotonic() > deadline:
            raise Timeout("no %s within %g s%s" % (what, timeout * SCALE,
                                                  " (%r)" % last if last else ""))
        time.sleep(interval)
        interval = min(interval * 1.5, 0.1)
