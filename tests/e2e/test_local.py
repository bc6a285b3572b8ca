"""`mesita local` and `mesita run`: one command each, and nothing left behind."""

import http.client
import json
import os
import select
import signal
import subprocess
import time

import harness
import processes
import zookeeper
from harness import get_json, wait_for
from scheduler import Scheduler


class LocalTestCase(harness.TestCase):
    agents = None

    def start(self, *flags, count=2, folder=None):
        """Starts `mesita local --json`; returns the process and what it printed."""
        argv = [harness.MESITA, "local", "--agents=%d" % count, "--port=0", "--json",
                "--work_dir=" + (folder or self.temporary()), *flags]
        process = processes.spawn(argv, env=harness.clean_environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process, self.read_line(process)

    def read_line(self, process):
        line, deadline = b"", time.monotonic() + 20 * processes.SCALE
        while not line.endswith(b"\n"):
            left = max(0, deadline - time.monotonic())
            if not select.select([process.stdout], [], [], left)[0]:
                self.fail("mesita local said nothing in time")
            more = os.read(process.stdout.fileno(), 1)
            if not more:
                self.fail("mesita local ended: %s" % process.stderr.read().decode())
            line += more
        return json.loads(line)

    @staticmethod
    def address(text):
        host, port = text.rsplit(":", 1)
        return host, int(port)


class Binary(harness.TestCase):
    agents = None

    def test_hardened(self):
        """Position independent, with all of its tables read-only, guards on the stack, checked copies."""
        text = subprocess.run(["readelf", "-lWd", "--dyn-syms", harness.MESITA], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        if "__asan_" in text:
            self.skipTest("a build with sanitizers has checks of its own")
        for sign in ("GNU_RELRO", "NOW", "PIE", "__stack_chk_fail", "__memcpy_chk"):
            self.assertIn(sign, text)
        self.assertNotRegex(text, r"GNU_STACK.*RWE")


class Masters(LocalTestCase):
    def leader(self, group, but=None):
        def found():
            code, out, _ = harness.run(["resolve", group])
            return code == 0 and out.strip() != but and out.strip()
        return wait_for(found, "leading master", 60)

    def test_three_of_which_the_leader_dies(self):
        zookeeper.needed(self)
        folder = self.temporary()
        process, ready = self.start("--masters=3", folder=folder)
        group = ready["zookeeper"]
        self.assertEqual(len(ready["agents"]), 2)
        leader = None
        for _ in range(2):
            leader = self.leader(group, but=leader)
            code, out, err = harness.run(["run", "--master=" + group, "--cpus=0.1", "--mem=32",
                                          "--command=echo hello", "--instances=3"])
            self.assertEqual(code, 0, err)
            self.assertIn("3 of 3 tasks finished", out + err)
            for number in range(1, 4):
                base = os.path.join(folder, "master-%d." % number)
                with open(base + "port", encoding="ascii") as port, \
                        open(base + "pid", encoding="ascii") as pid:
                    if leader.endswith(":" + port.read().strip()):
                        os.kill(int(pid.read()), signal.SIGKILL)
        self.leader(group, but=leader)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30 * processes.SCALE), 0)
        self.assertEqual(processes.descendants(), set())

    def test_one_with_zookeeper(self):
        zookeeper.needed(self)
        process, ready = self.start("--zookeeper")
        self.assertEqual(self.leader(ready["zookeeper"]), ready["master"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30 * processes.SCALE), 0)

    def test_what_cannot_be(self):
        for flags, why in ((["--masters=0"], "--masters must be between 1 and 9"),
                           (["--masters=3", "--port=65534"], "--port must be between 0 and 65535"),
                           (["--masters=3", "--tls"], "--tls goes with one master"),
                           (["--zookeeper", "--tls"], "and no ZooKeeper")):
            code, _, err = harness.run(["local", *flags])
            self.assertEqual(code, 1)
            self.assertIn(why, err)
        for flag in ("--masters=2", "--zookeeper"):
            code, _, err = harness.run(["local", flag], path="/nowhere")
            self.assertEqual(code, 1)
            self.assertIn("ZooKeeper is not there: apt-get install libzookeeper-java", err)


class Local(LocalTestCase):
    def test_again_in_the_same_directory(self):
        """What the last cluster left there does not say where this one is."""
        folder = self.temporary()
        for _ in range(3):
            process, ready = self.start(count=0, folder=folder)
            self.assertEqual(get_json(self.address(ready["master"]), "/state")["slaves"], [])
            process.terminate()
            process.wait()

    def test_ready_means_registered(self):
        process, ready = self.start(count=3)
        self.assertEqual(ready["pid"], process.pid)
        self.assertEqual(len(ready["agents"]), 3)
        state = get_json(self.address(ready["master"]), "/state")
        self.assertEqual(state["activated_slaves"], 3)
        self.assertEqual(sorted(agent["id"] for agent in state["slaves"]),
                         sorted(agent["id"] for agent in ready["agents"]))
        for agent in ready["agents"]:
            self.assertIn("frameworks", get_json(self.address(agent["address"]), "/state"))

    def test_agents_are_like_machines(self):
        _, ready = self.start(count=3)
        slaves = get_json(self.address(ready["master"]), "/state")["slaves"]
        self.assertEqual(len({slave["hostname"] for slave in slaves}), 3)
        for slave in slaves:
            self.assertTrue(slave["hostname"].startswith("127."))
            self.assertEqual(slave["port"], 5051)
            self.assertEqual(slave["pid"], "slave(1)@%s:5051" % slave["hostname"])

    def test_agents_at_one_address(self):
        _, ready = self.start("--no-own_addresses", count=2)
        slaves = get_json(self.address(ready["master"]), "/state")["slaves"]
        self.assertEqual([slave["hostname"] for slave in slaves], ["localhost"] * 2)
        self.assertEqual(len({slave["port"] for slave in slaves} - {5051}), 2)

    def test_pages_of_other_sites_are_refused(self):
        _, ready = self.start(count=1)
        for address in (ready["master"], ready["agents"][0]["address"]):
            host, port = self.address(address)
            for headers, status in (({"Origin": "http://evil.example"}, 403),
                                    ({"Origin": "null"}, 403), ({"Host": "evil.example"}, 403),
                                    ({"Host": "localhost:%d" % port}, 200), ({}, 200),
                                    ({"Origin": "http://" + address}, 200)):
                connection = http.client.HTTPConnection(host, port, timeout=20)
                connection.request("GET", "/state", headers=headers)
                self.assertEqual(connection.getresponse().status, status, headers)
                connection.close()

    def test_resources(self):
        _, ready = self.start("--resources=cpus:3;mem:512", count=1)
        agent = get_json(self.address(ready["master"]), "/state")["slaves"][0]
        self.assertEqual((agent["resources"]["cpus"], agent["resources"]["mem"]), (3, 512))

    def leaves_nothing(self, number):
        process, ready = self.start()
        scheduler = Scheduler(self.address(ready["master"]))
        self.addCleanup(scheduler.close)
        scheduler.subscribe()
        task_id = scheduler.run("sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        before = processes.descendants()
        # The supervisor, the master, two agents, an executor and its task.
        self.assertGreaterEqual(len(before), 6)
        process.send_signal(number)
        process.wait(15 * processes.SCALE)
        wait_for(lambda: not [pid for pid in before if processes.alive(pid)],
                 "end of all processes", 20)
        return process.returncode

    def test_sigterm(self):
        self.assertEqual(self.leaves_nothing(signal.SIGTERM), 0)

    def test_sigint(self):
        self.assertIn(self.leaves_nothing(signal.SIGINT), (0, 130))

    def test_sigkill(self):
        self.assertEqual(self.leaves_nothing(signal.SIGKILL), -signal.SIGKILL)


class Run(LocalTestCase):
    def setUp(self):
        super().setUp()
        self.process, self.ready = self.start(count=1)
        self.at = "--master=" + self.ready["master"]

    def test_success(self):
        code, out, err = harness.run(["run", self.at, "--name=job", "--instances=5", "--cpus=0.1",
                                      "--mem=32", "--command=echo from-the-task"])
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.count("TASK_FINISHED"), 5, out)
        self.assertIn("from-the-task", out)

    def test_failure(self):
        code, out, err = harness.run(["run", self.at, "--name=job", "--cpus=0.1", "--mem=32",
                                      "--command=exit 7"])
        self.assertNotEqual(code, 0)
        self.assertIn("TASK_FAILED", out + err)
        self.assertIn("7", out + err)

    def test_one_failure_of_many(self):
        once = os.path.join(self.temporary(), "once")
        os.chmod(os.path.dirname(once), 0o777)
        code, out, err = harness.run(["run", self.at, "--name=job", "--instances=4", "--cpus=0.1",
                                      "--mem=32", "--command=! mkdir %s" % once])
        self.assertNotEqual(code, 0)
        self.assertEqual((out + err).count("TASK_FAILED"), 1, out + err)

    def test_environment_reaches_the_task(self):
        code, out, err = harness.run(["run", self.at, "--name=job", "--cpus=0.1", "--mem=32",
                                      "--env=GREETING=good day",
                                      "--command=echo \"<$GREETING>\""])
        self.assertEqual(code, 0, out + err)
        self.assertIn("<good day>", out)

    def test_no_master(self):
        code, _, err = harness.run(["run", "--master=127.0.0.1:%d" % harness.free_port(),
                                    "--command=true"], timeout=30)
        self.assertNotEqual(code, 0)
        self.assertTrue(err.strip())


class Commands(harness.TestCase):
    agents = None

    def test_help_and_version(self):
        code, out, _ = harness.run(["help"])
        self.assertEqual(code, 0)
        for command in ("master", "agent", "local", "run", "ps", "logs", "kill", "version"):
            self.assertIn(command, out)
        code, out, _ = harness.run(["version"])
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\d+\.\d+\.\d+")

    def test_unknown_flag_names_the_nearest(self):
        for role in ("master", "agent"):
            code, out, err = harness.run([role, "--work_dirr=/tmp/x"])
            self.assertNotEqual(code, 0)
            self.assertIn("work_dir", (out + err).replace("work_dirr", ""))

    def test_names_of_mesos(self):
        prefix = self.temporary()
        root = os.path.dirname(os.path.dirname(harness.HERE))
        build = os.path.dirname(harness.MESITA)
        done = processes.spawn([os.path.join(root, "deploy/install"), build, prefix],
                               stdout=subprocess.DEVNULL)
        self.assertEqual(done.wait(20), 0)
        if os.path.exists(build + "/libmesos.so"):
            for name in ("libmesos.so", "libmesos-1.4.3.so", "libmesos-1.11.0.so"):
                self.assertTrue(os.path.exists(os.path.join(prefix, "lib", name)), name)
        for name in ("mesos-master", "mesos-agent", "mesos-slave", "mesos-local"):
            process = processes.spawn([os.path.join(prefix, "bin", name), "--help"],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            out = process.communicate(timeout=20)[0].decode()
            self.assertEqual(process.returncode, 0, out)
            self.assertIn("--", out)
