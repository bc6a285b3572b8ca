"""mesos-go (Go): its own example scheduler and executor, over protobuf and over JSON."""

import json
import os
import subprocess

import common
import connections
import harness
from at_terminal import AtTerminal
from harness import wait_for
from test_tls import make_authority

MODULE = "github.com/mesos/mesos-go/api/v1/cmd/"
COUNT = 20


def install():
    """The directory of its programs."""
    common.need("Go", ("go", "version"))
    return os.path.join(common.install(
        "go", ["go/go.mod", "go/go.sum", "go/tools.go"],
        [("go", "build", "-o", "bin/", MODULE + "example-scheduler", MODULE + "example-executor",
          MODULE + "msh")],
        ["bin/example-scheduler", "bin/example-executor", "bin/msh"]), "bin")


class MesosGo(common.ClientTestCase):
    scheme = "http"

    @classmethod
    def setUpClass(cls):
        cls.bin = install()

    def run_example(self, codec):
        name = "mesos-go-" + codec
        code, out, err = self.client([
            os.path.join(self.bin, "example-scheduler"),
            "-url=%s://%s:%d/api/v1/scheduler" % (self.scheme, *self.master.address),
            "-codec=" + codec, "-name=" + name, "-user=root",
            "-executor=" + os.path.join(self.bin, "example-executor"), "-exec.image=",
            "-tasks=%d" % COUNT, "-cpu=0.1", "-memory=16", "-exec.memory=32",
            "-server.address=127.0.0.1", "-metrics.port=%d" % harness.free_port(),
            "-maxRefuseSeconds=1s", "-verbose"])
        self.assertIn("mission accomplished", err, (code, out[-3000:] + err[-3000:]))
        # The example takes its own end for an error.
        self.assertTrue(code == 0 or err.endswith("context canceled\n"), err[-3000:])
        for number in range(1, COUNT + 1):
            self.assertIn("Task %d is in state TASK_FINISHED" % number, err)

        def all_done():
            states = self.tasks(name, completed=False)
            return states if set(states.values()) == {"TASK_FINISHED"} else None
        self.assert_all_finished(harness.wait_for(all_done, "end of all tasks"), COUNT)

    def test_protobuf(self):
        self.run_example("protobuf")

    def test_json(self):
        self.run_example("json")


class Msh(common.ClientTestCase):
    """Its shell of one command: as a task, and in a pod."""

    @classmethod
    def setUpClass(cls):
        cls.bin = install()

    def shell(self, name, *arguments):
        """(exit status, states of its tasks)"""
        code, out, err = self.client([
            os.path.join(self.bin, "msh"), "-master=%s:%d" % self.master.address,
            "-framework_name=" + name, "-memory=32", *arguments])
        states = harness.wait_for(lambda: self.tasks(name, completed=True),
                                  "the end of msh: %s" % (out + err)[-3000:])
        return code, list(states.values())

    def test_a_task(self):
        self.assertEqual(self.shell("plain", "--", "sh", "-c", "exit 0"), (0, ["TASK_FINISHED"]))

    def test_a_pod(self):
        self.assertEqual(self.shell("pod", "-pod", "--", "true"), (0, ["TASK_FINISHED"]))

    def test_a_pod_that_fails(self):
        code, states = self.shell("failed", "-pod", "--", "false")
        self.assertNotEqual(code, 0)
        self.assertEqual(states, ["TASK_FAILED"])

    def at_terminal(self, *flags):
        """msh expects agents at port 5051, which those of `mesita local` have."""
        local = harness.processes.spawn(
            [harness.MESITA, "local", "--agents=1", "--port=0", "--json"],
            stdout=subprocess.PIPE, env=harness.clean_environment())
        self.addCleanup(local.stdout.close)
        self.addCleanup(local.wait)
        self.addCleanup(local.terminate)
        master = json.loads(local.stdout.readline())["master"]
        return AtTerminal(self, [
            os.path.join(self.bin, "msh"), "-master=" + master, "-memory=32", "-interactive",
            *flags, "--", "sh"], TERM="dumb")

    def use_shell(self, terminal):
        terminal.type(b"echo re''ady\n")
        terminal.wait(b"ready")
        terminal.type(b"exit 0\n")
        self.assertEqual(terminal.process.wait(30), 0, terminal.seen)

    def test_interactive(self):
        self.use_shell(self.at_terminal("-tty"))

    def test_interactive_in_a_pod(self):
        self.use_shell(self.at_terminal("-tty", "-pod"))


class Secure(MesosGo):
    """Its scheduler by TLS. Its executor knows none: agents let it be plain."""
    scheme = "https"

    def setUp(self):
        folder = make_authority(self.temporary())
        # Where Go looks for authorities.
        self.authority = os.path.join(folder, "ca.pem")
        connections.secure(folder, SUPPORT_DOWNGRADE="true")
        self.addCleanup(connections.plain)
        super().setUp()

    def client(self, argv, timeout=90, **options):
        return super().client(argv, timeout, SSL_CERT_FILE=self.authority, **options)
