"""A real logrotate (Debian's), by deploy/logrotate, turns the logs of master and agent over while tasks
run: every line is in one of the files."""

import glob
import os
import re
import subprocess

import common
import harness
import processes

CONFIG = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(common.HERE))), "deploy",
                      "logrotate")
TURNS = 3


class Logrotate(common.ClientTestCase):
    agents = None

    @classmethod
    def setUpClass(cls):
        common.need("Debian's packages", ("apt-get", "--version"), ("dpkg", "--version"))
        cls.root = os.path.join(common.install(
            "logrotate", [],
            [("apt-get", "download", "-q", "logrotate", "libpopt0"),
             ("sh", "-c", "for deb in *.deb; do dpkg -x $deb root && rm $deb; done")],
            ["root/usr/sbin/logrotate"]), "root")

    def rotate(self, folder, options):
        """Once, whatever the time; with the shipped configuration for that folder."""
        with open(CONFIG, encoding="ascii") as file:
            config = file.read()
        self.assertIn("pkill -HUP -x mesita || true", config)
        config = config.replace("/var/log/mesita", folder).replace(
            "pkill -HUP -x mesita || true",
            "kill -HUP %d %d" % (self.master.process.pid, self.agent.process.pid))
        path = os.path.join(folder, "logrotate.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(config)
        libraries = glob.glob(os.path.join(self.root, "**", "*-linux-gnu"), recursive=True)
        done = processes.run(
            [os.path.join(self.root, "usr", "sbin", "logrotate"), *options, "--force", "--state",
             os.path.join(folder, "state"), path],
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)

    def lines(self, folder, role):
        """Of all files of a daemon."""
        found = []
        for path in glob.glob(os.path.join(folder, "mesos-%s.INFO*" % role)):
            text = processes.run(["zcat", "--force", path], stdout=subprocess.PIPE).stdout
            found += text.decode().splitlines()
        return found

    def test_no_line_is_lost(self):
        folder = self.temporary()
        self.cluster = harness.Cluster(1, {"log_dir": folder}, {"log_dir": folder})
        self.cluster.start()
        scheduler = self.subscribe()
        tasks = []
        for turn in range(TURNS):
            before = [scheduler.run("true") for _ in range(5)]
            self.rotate(folder, [])
            after = [scheduler.run("true") for _ in range(5)]
            for task_id in before + after:
                scheduler.wait_terminal(task_id)
            # The daemons have gone on to the new file.
            for role in ("master", "slave"):
                path = os.path.join(folder, "mesos-%s.INFO" % role)
                harness.wait_for(lambda path=path: os.path.getsize(path) > 0, "lines in " + path)
            tasks += before + after
        self.assertEqual(len(glob.glob(os.path.join(folder, "mesos-master.INFO.*"))), TURNS)
        self.assertTrue(glob.glob(os.path.join(folder, "*.gz")), "older ones are compressed")
        # Each once at least: an update before the end tells of the end when that is known.
        for role, line in (("master", r"task (\S+) of framework \S+ is TASK_FINISHED"),
                           ("slave", r"Task '(\S+)' of framework \S+ is TASK_FINISHED")):
            finished = re.findall(line, "\n".join(self.lines(folder, role)))
            self.assertEqual(set(finished), set(tasks))
