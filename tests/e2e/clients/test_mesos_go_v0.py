"""mesos-go (Go) of v0: a scheduler and an executor driver that speak libprocess without libmesos,
in the messages of before mesos.scheduler.Call. Its own example runs unchanged."""

import os

import common
import harness

MODULE = "github.com/mesos/mesos-go/api/v0/examples/"
NAME = "Test Framework (Go)"
COUNT = 12


class MesosGoV0(common.ClientTestCase):
    @classmethod
    def setUpClass(cls):
        common.need("Go", ("go", "version"))
        cls.bin = os.path.join(common.install(
            "go_v0", ["go_v0/go.mod", "go_v0/go.sum", "go_v0/tools.go"],
            [("go", "build", "-o", "bin/", MODULE + "scheduler", MODULE + "executor")],
            ["bin/scheduler", "bin/executor"]), "bin")

    def example(self, *flags):
        return self.client([
            os.path.join(self.bin, "scheduler"), "-logtostderr", "-address=127.0.0.1",
            "-master=%s:%d" % self.master.address, "-task-count=%d" % COUNT,
            "-executor=" + os.path.join(self.bin, "executor"),
            "-artifactPort=%d" % harness.free_port(), *flags])

    def test_example(self):
        code, out, err = self.example()
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        self.assertIn("Framework Registered with Master", err)
        self.assertIn("Total tasks completed", err)
        for number in range(1, COUNT + 1):
            self.assertIn("task %d  is in state  TASK_FINISHED" % number, err)

        def all_done():
            return [f for f in self.master.state()["completed_frameworks"] if f["name"] == NAME]
        harness.wait_for(all_done, "end of the framework")
        self.assert_all_finished(self.tasks(NAME, completed=True), COUNT)


class Credentials(MesosGoV0):
    """A master that lets nobody in who does not authenticate."""
    agents = None

    def setUp(self):
        super().setUp()
        self.folder = self.temporary()
        credentials = self.file("credentials", '{"credentials":['
                                '{"principal":"go","secret":"sesame"},'
                                '{"principal":"agent","secret":"knock"}]}')
        self.cluster = harness.Cluster(
            1, {"credentials": credentials, "authenticate_frameworks": "true",
                "authenticate_agents": "true"},
            {"credential": self.file("agent", '{"principal":"agent","secret":"knock"}')})
        self.cluster.start()

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(content)
        return path

    def example(self, *flags):
        return super().example("-mesos_authentication_principal=go",
                               "-mesos_authentication_secret_file=" +
                               self.file("secret", "sesame"), *flags)
