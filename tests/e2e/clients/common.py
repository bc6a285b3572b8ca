"""Third-party clients: installed by pinned version, outside the sources, once.

CLIENTS=all makes a missing language a failure, otherwise its tests are skipped by name. Packages
go to CLIENTS_CACHE; a stamp with the hash of what pins them says that an installation is whole.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import unittest

import harness
import processes

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.environ.get("CLIENTS_CACHE", "build/clients"))


def need(language, *checks):
    """Skips (or fails, if every client is wanted) unless all commands succeed."""
    for check in checks:
        found = shutil.which(check[0])
        if found and processes.run(check, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL).returncode == 0:
            continue
        message = "%s is not installed (%s)" % (language, " ".join(check))
        if os.environ.get("CLIENTS") == "all":
            raise AssertionError(message)
        raise unittest.SkipTest(message)


@contextlib.contextmanager
def locked(name):
    """One at a time: modules of tests run side by side."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(name, sources, commands, products):
    with locked(name):
        return install_alone(name, sources, commands, products)


def install_alone(name, sources, commands, products):
    """Copies `sources` to a directory of the cache and runs commands there, unless done before.

    Returns the directory. The commands may use {dir}.
    """
    digest = hashlib.sha256(repr(commands).encode())
    for source in sources:
        with open(os.path.join(HERE, source), "rb") as file:
            digest.update(file.read())
    directory = os.path.join(CACHE, "%s-%s" % (name, digest.hexdigest()[:12]))
    stamp = os.path.join(directory, "installed")
    if os.path.exists(stamp) and all(os.path.exists(os.path.join(directory, product))
                                     for product in products):
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for source in sources:
        shutil.copy(os.path.join(HERE, source), directory)
    for command in commands:
        argv = [word.format(dir=directory) for word in command]
        for attempt in (1, 2):      # a registry may hiccup
            done = processes.run(argv, cwd=directory, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
            if done.returncode == 0:
                break
        else:
            raise AssertionError("%s:\n%s" % (" ".join(argv),
                                              done.stdout.decode("utf-8", "replace")[-3000:]))
    with open(stamp, "w", encoding="ascii"):
        pass
    return directory


class ClientTestCase(harness.TestCase):
    """A fresh cluster of two agents for each run of a client."""

    agents = 2

    def client(self, argv, timeout=90, **options):
        """Runs a client to its end: (exit code, stdout, stderr)."""
        process = processes.spawn(
            argv, cwd=self.temporary(), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=harness.clean_environment(**options))
        try:
            out, err = process.communicate(timeout=timeout * processes.SCALE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("%s is not done after %d s\n%s\n%s" % (
                argv[0], timeout, out[-3000:], err[-3000:]))
        return process.returncode, out, err

    def tasks(self, name, completed):
        """States by task id of a framework, from the master's point of view."""
        state = self.master.state()
        found = [f for f in state["completed_frameworks" if completed else "frameworks"]
                 if f["name"] == name]
        self.assertEqual(len(found), 1, [f["name"] for f in found])
        return {t["id"]: t["state"] for t in found[0]["tasks"] + found[0]["completed_tasks"]}

    def assert_all_finished(self, states, count):
        self.assertEqual(len(states), count)
        self.assertEqual(set(states.values()), {"TASK_FINISHED"}, states)
