"""TLS between all parts, by Mesos' environment."""

import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

import connections
import harness
import processes
import test_agent_restart
import test_local
import test_master_restart
import test_tasks
from harness import wait_for
from test_load import BENCH_LOAD

_authorities = None  # folders of two that do not know each other


def make_authority(folder):
    """What `mesita local --tls` makes stays in its --work_dir."""
    process = processes.spawn(
        [harness.MESITA, "local", "--agents=0", "--port=0", "--tls", "--json",
         "--work_dir=" + folder], env=harness.clean_environment(), stdout=subprocess.PIPE)
    process.stdout.readline()
    process.terminate()
    process.wait()
    process.stdout.close()
    return os.path.join(folder, "tls")


def setUpModule():
    global _authorities
    base = tempfile.mkdtemp(prefix="mesita-tls-")
    unittest.addModuleCleanup(shutil.rmtree, base)
    unittest.addModuleCleanup(connections.plain)
    _authorities = []
    for name in ("ours", "theirs"):
        os.mkdir(os.path.join(base, name))
        _authorities.append(make_authority(os.path.join(base, name)))


class Secure(harness.TestCase):
    """A cluster that speaks TLS."""
    settings = {}

    def setUp(self):
        connections.secure(_authorities[0], **self.settings)
        self.addCleanup(connections.plain)
        super().setUp()

    def url(self):
        return "https://%s:%d" % self.master.address

    def ask(self, context, address=None):
        """The status of /health, or why there is none."""
        connection = http.client.HTTPSConnection(*(address or self.master.address), timeout=10,
                                                 context=context)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status
        except (ssl.SSLError, OSError) as error:
            return error
        finally:
            connection.close()

    def ask_plain(self):
        with socket.create_connection(self.master.address, timeout=10) as stream:
            stream.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b""
            try:
                while chunk := stream.recv(4096):
                    answer += chunk
            except ConnectionResetError:
                pass
            return answer


def knows(folder, cert=None):
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
    if cert:
        context.load_cert_chain(os.path.join(cert, "cert.pem"), os.path.join(cert, "key.pem"))
    return context


class Everything(Secure):
    def test_nothing_is_plain(self):
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))
        self.assertEqual(self.ask_plain(), b"")
        for address in (self.master.address, self.agent.address):
            self.assertEqual(self.ask(knows(_authorities[0]), address), 200)
            self.assertIsInstance(self.ask(knows(_authorities[1]), address), ssl.SSLError)

    def test_modern_versions_only(self):
        for version in ("TLSv1", "TLSv1_1"):
            context = knows(_authorities[0])
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = getattr(ssl.TLSVersion, version)
            context.set_ciphers("ALL:@SECLEVEL=0")
            self.assertIsInstance(self.ask(context), OSError, version)

    def test_commands(self):
        environment = dict(connections.environment)
        connections.plain()
        connections.environment["LIBPROCESS_SSL_CA_FILE"] = environment["LIBPROCESS_SSL_CA_FILE"]
        master = "--master=" + self.url()
        code, out, err = harness.run(["run", master, "--command=echo by TLS", "--json"])
        self.assertEqual((code, err), (0, ""))
        task_id = json.loads(out.splitlines()[0])
        self.assertTrue(task_id)
        code, out, _ = harness.run(["ps", master, "--all"])
        self.assertEqual(code, 0)
        self.assertIn("TASK_FINISHED", out)
        name = out.splitlines()[1].split()[0]
        code, out, err = harness.run(["logs", master, name])
        self.assertEqual((code, out), (0, "by TLS\n"), err)
        # Who knows no authority believes nobody.
        connections.environment["LIBPROCESS_SSL_CA_FILE"] = os.path.join(_authorities[1], "ca.pem")
        code, _, err = harness.run(["ps", master])
        self.assertEqual(code, 1)
        self.assertIn("certificate verify failed", err)
        connections.environment.clear()
        code, _, err = harness.run(["ps", "--master=%s:%d" % self.master.address])
        self.assertEqual(code, 1)

    def test_certificates_are_read_again(self):
        folder = self.temporary()
        for name in ("ca", "cert", "key"):
            shutil.copy(os.path.join(_authorities[0], name + ".pem"), folder)
        connections.secure(folder)
        self.master.kill()
        self.master.start()
        self.master.wait_ready()
        # What cannot be used changes nothing.
        with open(os.path.join(folder, "cert.pem"), "w", encoding="ascii") as file:
            file.write("no certificate")
        self.master.signal(signal.SIGHUP)
        wait_for(lambda: "not read again" in self.master.log_tail(), "a word about the file")
        self.assertEqual(self.ask(knows(_authorities[0])), 200)
        for name in ("cert", "key"):
            shutil.copy(os.path.join(_authorities[1], name + ".pem"), folder)
        self.master.signal(signal.SIGHUP)
        wait_for(lambda: self.ask(knows(_authorities[1])) == 200, "the new certificate")
        self.assertIsInstance(self.ask(knows(_authorities[0])), ssl.SSLError)


@unittest.skipUnless(os.path.exists(BENCH_LOAD), "bench_load is not built")
class BigReads(Secure):
    agents = 0

    def test_by_a_child(self):
        """What a child renders goes through the process that has the keys."""
        load = processes.spawn(
            [BENCH_LOAD, "--master=%s:%d" % self.master.address, "--agents=50", "--agent_cpus=10",
             "--no-echo", "--tasks=4000", "--task_length=500secs", "--stall=600secs"],
            env=harness.clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def running():
            self.assertIsNone(load.poll())
            return self.master.metric("master/tasks_running") == 4000
        wait_for(running, "4,000 tasks", 60)
        made = self.master.metric("master/reads/processes_made")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            states = list(pool.map(lambda _: self.master.state(), range(8)))
        for state in states:
            self.assertEqual(sum(len(each["tasks"]) for each in state["frameworks"]), 4000)
        self.assertGreater(self.master.metric("master/reads/processes_made"), made)
        self.assertEqual(self.master.metric("master/reads/failed"), 0)


class ClientsProveThemselves(Secure):
    settings = {"REQUIRE_CLIENT_CERT": "true"}

    def test_who_has_none_or_another(self):
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))
        ours, theirs = _authorities
        self.assertEqual(self.ask(knows(ours, ours)), 200)
        self.assertIsInstance(self.ask(knows(ours)), OSError)
        self.assertIsInstance(self.ask(knows(ours, theirs)), OSError)


class Downgrade(Secure):
    settings = {"SUPPORT_DOWNGRADE": "true"}

    def test_plain_ones_are_served_and_found(self):
        self.assertIn(b"200 OK", self.ask_plain())
        self.assertEqual(self.ask(knows(_authorities[0])), 200)
        # A plain agent: the master finds that it answers nothing else.
        environment = dict(connections.environment)
        context = connections.context
        self.agent.terminate()
        connections.plain()
        self.agent.start()
        connections.environment.update(environment)
        connections.context = context

        def registered():
            entry = self.agent.entry()
            return entry and entry["active"] and entry
        first = wait_for(registered, "a plain agent")
        self.assertEqual(first["port"], self.agent.address[1])


class Names(Secure):
    """Certificates are for localhost and 127.0.0.1."""
    agents = None

    def agent_of(self, master, **settings):
        connections.secure(_authorities[0], **settings)
        self.cluster = harness.Cluster(1)
        self.cluster.master.start()
        self.cluster.master.wait_ready()
        self.agent.flags["master"] = "%s:%d" % (master, self.master.address[1])
        self.agent.start()

    def test_by_address(self):
        self.agent_of("127.0.0.1", HOSTNAME_VALIDATION_SCHEME="openssl", VERIFY_IPADD="false")
        self.agent.wait_registered()

    def test_by_the_name_of_the_address(self):
        self.agent_of("127.0.0.1", VERIFY_IPADD="false")
        self.agent.wait_registered()

    def test_another_address(self):
        connections.secure(_authorities[0])
        self.cluster = harness.Cluster(1, {"ip": "127.0.0.9"})
        self.cluster.master.start()
        self.agent.flags["master"] = "127.0.0.9:%d" % self.master.address[1]
        self.agent.start()
        wait_for(lambda: "the certificate is not for 127.0.0.9" in self.agent.log_tail(),
                 "doubts about the master")


class Refused(harness.TestCase):
    agents = None

    def test_settings(self):
        ours = _authorities[0]
        cert, key = (os.path.join(ours, name + ".pem") for name in ("cert", "key"))
        for settings, text in (
                ({}, "set LIBPROCESS_SSL_CERT_FILE"),
                ({"CERT_FILE": cert}, "set LIBPROCESS_SSL_KEY_FILE"),
                ({"CERT_FILE": "/none", "KEY_FILE": key}, "LIBPROCESS_SSL_CERT_FILE '/none'"),
                ({"CERT_FILE": cert, "KEY_FILE": cert}, "LIBPROCESS_SSL_KEY_FILE"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "CA_FILE": "/none"}, "_CA_FILE"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "CIPHERS": "none"}, "_CIPHERS 'none'"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "ECDH_CURVES": "none"}, "_ECDH_CURVES"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "VERIFY_DEPTH": "x"}, "_VERIFY_DEPTH"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "VERIFY_IPADD": "x"}, "_VERIFY_IPADD"),
                ({"CERT_FILE": cert, "KEY_FILE": key, "HOSTNAME_VALIDATION_SCHEME": "x"},
                 "_HOSTNAME_VALIDATION_SCHEME")):
            connections.environment.clear()
            connections.environment["LIBPROCESS_SSL_ENABLED"] = "true"
            connections.environment.update(
                {"LIBPROCESS_SSL_" + name: value for name, value in settings.items()})
            self.addCleanup(connections.environment.clear)
            for role in ("master", "agent"):
                argv = [role, "--work_dir=" + self.temporary(), "--port=0", "--ip=127.0.0.1"]
                code, _, err = harness.run(
                    argv + (["--master=127.0.0.1:1"] if role == "agent" else []))
                self.assertEqual(code, 1)
                self.assertIn(text, err)


class Local(test_local.LocalTestCase):
    def test_one_command(self):
        process, ready = self.start("--tls")
        address = self.address(ready["master"])
        connection = http.client.HTTPSConnection(
            *address, timeout=10, context=ssl.create_default_context(cafile=ready["ca_file"]))
        connection.request("GET", "/state")
        self.assertEqual(json.load(connection.getresponse())["activated_slaves"], 2)
        connection.close()
        connections.environment["LIBPROCESS_SSL_CA_FILE"] = ready["ca_file"]
        self.addCleanup(connections.environment.clear)
        code, _, err = harness.run(["run", "--master=https://" + ready["master"],
                                    "--command=true", "--instances=4"])
        self.assertEqual(code, 0, err)
        process.terminate()
        self.assertEqual(process.wait(20), 0)


# What works without TLS works with it.

class CommandTasksByTls(Secure, test_tasks.CommandTasks):
    pass


class MasterRestartByTls(Secure, test_master_restart.MasterRestart):
    pass


class AgentRestartByTls(Secure, test_agent_restart.AgentRestart):
    pass


# Those of the other modules run there.
del test_agent_restart, test_local, test_master_restart, test_tasks
