"""Hadoop 1.2.1's MapReduce with TaskTrackers as Mesos tasks: hadoop/HadoopFramework.java."""

import collections
import os
import signal

import common
import harness
import jvm
import processes

TEXT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(common.HERE))), "LICENSE")
FILES, TRACKERS = 8, 3


class MapReduce(jvm.JavaTestCase):
    agents = 3
    agent_flags = {"resources": "cpus:2;mem:2048;disk:4096;ports:[31000-31999]"}

    @classmethod
    def setUpClass(cls):
        jvm.need()
        directory = common.install("hadoop", ["hadoop/HadoopFramework.java", "hadoop/pom.xml"], [
            ("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:"
             "copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"),
            ("sh", "-c", "mkdir -p classes && javac -nowarn -d classes -cp 'lib/*' *.java")],
                                   ["classes/HadoopFramework.class"])
        # Children of trackers get the class path as it is: no wildcards.
        cls.path = ":".join([directory + "/classes"] + sorted(
            os.path.join(directory, "lib", name) for name in os.listdir(directory + "/lib")))

    def begin(self):
        directory = self.temporary()
        os.chmod(directory, 0o755)
        os.mkdir(directory + "/input")
        with open(TEXT, encoding="utf-8") as file:
            text = file.read()
        for number in range(FILES):
            with open(directory + "/input/%d" % number, "w", encoding="utf-8") as file:
                file.write(text)
        counts = collections.Counter(text.split())
        self.expected = "%d %d %d" % (FILES * sum(counts.values()), len(counts),
                                      FILES * counts["the"])
        driven = jvm.Driven(None, "HadoopFramework", self.address(), directory,
                            directory + "/input", str(TRACKERS), checked=False, path=self.path,
                            options=["-Dhadoop.log.dir=" + directory])
        self.addCleanup(driven.close)
        driven.wait(lambda l: l[0] == "trackers", "trackers", 90)
        return driven

    def end(self, driven):
        found = driven.wait(lambda l: l[0] in ("RESULT", "failed"), "result", 240)
        self.assertEqual(found, ["RESULT", self.expected])
        self.assertEqual(driven.end(60), 0)

    def trackers(self, agent):
        return [entry["status"]["executor_pid"] for entry in agent.json("/containers")]

    def test_word_count(self):
        driven = self.begin()
        self.assertEqual(sum(len(self.trackers(agent)) for agent in self.cluster.agents), TRACKERS)
        self.end(driven)

    def test_tracker_and_agent_die(self):
        driven = self.begin()
        driven.wait(lambda l: l[0] == "maps", "first maps", 120)
        first, second = [a for a in self.cluster.agents if self.trackers(a)][:2]
        for pid in self.trackers(first):
            os.kill(pid, signal.SIGKILL)
        driven.wait(lambda l: l[0] == "update" and l[2] == "TASK_FAILED", "failure", 60)
        for pid in processes.descendants(second.process.pid):
            os.kill(pid, signal.SIGKILL)
        second.kill()
        second.start().wait_registered()
        self.end(driven)
