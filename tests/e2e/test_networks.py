"""Networks of containers by CNI: the plugins of Debian's package, in a network namespace that this
module makes for itself and all that it starts."""

import ctypes
import json
import os
import re
import subprocess
import unittest

import harness
from harness import wait_for
from process_io import Client
from scheduler import scalar, task
from test_groups import default_executor

PLUGINS = "/usr/lib/cni"
CLONE_NEWNET = 0x40000000
OURS = "10.99.0.1"


def setUpModule():
    if not os.path.exists(PLUGINS + "/bridge"):
        raise unittest.SkipTest("no CNI plugins (containernetworking-plugins)")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise unittest.SkipTest("no network namespaces: " + os.strerror(ctypes.get_errno()))
    for command in ("link set lo up", "address add %s/32 dev lo" % OURS):
        subprocess.run(["ip", *command.split()], check=True)
    harness.IP = OURS


def joins(*names, **fields):
    return {"type": "MESOS", "network_infos": [{"name": name} for name in names], **fields}


class Networks(Client, harness.TestCase):
    def setUp(self):
        self.folder = self.temporary()
        os.chmod(self.folder, 0o755)
        self.networks = os.path.join(self.folder, "networks")
        os.mkdir(self.networks)
        number = int.from_bytes(os.urandom(1), "big")
        self.bridge = "br%d" % number
        self.addCleanup(subprocess.run, ["ip", "link", "delete", self.bridge],
                        capture_output=True, check=False)
        self.subnet = "10.98.%d" % number
        self.write("one.conf", {
            "cniVersion": "0.2.0", "name": "one", "type": "bridge", "bridge": self.bridge,
            "isGateway": True, "ipam": self.addresses("one", self.subnet),
            "dns": {"nameservers": ["192.0.2.7"], "search": ["one.example"]}})
        self.agent_flags = {
            "network_cni_plugins_dir": "/nowhere:" + PLUGINS,
            "network_cni_config_dir": self.networks, "recovery_timeout": "1mins",
            "executor_shutdown_grace_period": "3secs", **self.more_flags()}
        super().setUp()
        self.scheduler = self.subscribe(checkpoint=True, failover_timeout=1000,
                                        capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def more_flags(self):
        return {}

    def addresses(self, name, subnet):
        return {"type": "host-local", "subnet": subnet + ".0/24",
                "dataDir": os.path.join(self.folder, "ipam"),
                "routes": [{"dst": "0.0.0.0/0"}]}

    def write(self, name, configuration):
        path = os.path.join(self.networks, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(configuration if isinstance(configuration, str)
                       else json.dumps(configuration))

    def given(self, name="one"):
        """Addresses that are in use."""
        folder = os.path.join(self.folder, "ipam", name)
        return [each for each in os.listdir(folder) if each[0].isdigit()] \
            if os.path.isdir(folder) else []

    def wait_left(self):
        folder = os.path.join(self.agent.flags["runtime_dir"], "networks")
        wait_for(lambda: not os.listdir(folder) and not self.given(), "nothing is left", 20)
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            self.assertNotIn(folder, mounts.read())

    def run_to_end(self, command, state="TASK_FINISHED", **fields):
        task_id = self.scheduler.run(command, **{"container": joins("one"), **fields})
        status = self.scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], state, status)
        return task_id, status

    def output(self, task_id):
        path = self.agent.sandbox(self.scheduler.id, task_id) + "/stdout"
        with open(path, encoding="utf-8") as file:
            return file.read()

    def started(self, command, **fields):
        task_id = self.scheduler.run(command, **{"container": joins("one"), **fields})
        return task_id, self.scheduler.wait_state(task_id, "TASK_RUNNING")["container_status"]

    @staticmethod
    def address_of(status):
        return status["network_infos"][0]["ip_addresses"][0]["ip_address"]

    # -- what it has

    def test_a_task(self):
        task_id, _ = self.run_to_end(
            "ip -o -4 address; cat /etc/hosts /etc/resolv.conf; hostname; cat /etc/hostname; "
            "ip route")
        text = self.output(task_id)
        self.assertRegex(text, r"lo +inet 127\.0\.0\.1")
        address = re.search(r"eth0 +inet (%s\.\d+)/24" % re.escape(self.subnet), text).group(1)
        self.assertNotIn(OURS, text)
        name = re.search(re.escape(address) + r" (\S+)\n", text).group(1)
        self.assertEqual(text.count(name + "\n"), 3)
        self.assertIn("search one.example\nnameserver 192.0.2.7\n", text)
        self.assertIn("default via %s.1" % self.subnet, text)
        self.wait_left()

    def test_where_it_is_told(self):
        _, status = self.started("sleep 1000", container=joins("one", hostname="web"))
        self.assertEqual(status["network_infos"][0]["name"], "one")
        self.assertEqual([self.address_of(status)], self.given())
        shown = self.agent.json("/containers")[0]["status"]
        self.assertEqual(shown["network_infos"], status["network_infos"])
        self.assertEqual(self.master.json("/tasks")["tasks"][0]["statuses"][-1][
            "container_status"]["network_infos"], status["network_infos"])

    def test_a_server_is_reached_at_its_own_address(self):
        """Two at one port."""
        tasks = [self.started("echo page-%d > page; exec python3 -m http.server 80" % number)
                 for number in range(2)]
        addresses = {self.address_of(status) for _, status in tasks}
        self.assertEqual(len(addresses), 2)
        pages = {wait_for(lambda: harness.get((address, 80), "/page")[2], "an answer")
                 for address in addresses}
        self.assertEqual(pages, {b"page-0\n", b"page-1\n"})
        for task_id, _ in tasks:
            self.scheduler.kill(task_id)
            self.scheduler.wait_terminal(task_id)
        self.wait_left()

    def test_exec_goes_in(self):
        task_id, status = self.started("sleep 1000")
        code, out, _ = harness.run(["exec", "--master=%s:%d" % self.master.address, task_id,
                                    "sh", "-c", "hostname; ip -o -4 address"])
        self.assertEqual(code, 0)
        self.assertIn(" %s/24 " % self.address_of(status), out)
        self.assertEqual(out.split()[0], status["container_id"]["value"])

    def test_from_the_command_line(self):
        self.scheduler.teardown()  # it holds what there is
        code, out, _ = harness.run([
            "run", "--master=%s:%d" % self.master.address, "--containerizer=mesos",
            "--networks=one,", "--follow", "sh", "-c", "ip -o -4 address"])
        self.assertEqual(code, 0)
        self.assertRegex(out, r"eth0 +inet " + re.escape(self.subnet))

    def test_several(self):
        self.write("two.conflist", {
            "cniVersion": "0.4.0", "name": "two", "plugins": [
                {"type": "ptp", "ipam": self.addresses("two", "10.97.3")},
                {"type": "tuning", "sysctl": {"net.ipv4.ip_default_ttl": "77"}}]})
        task_id, _ = self.run_to_end("ip -o -4 address; cat /proc/sys/net/ipv4/ip_default_ttl",
                                     container=joins("one", "two"))
        text = self.output(task_id)
        self.assertRegex(text, r"eth0 +inet " + re.escape(self.subnet))
        self.assertRegex(text, r"eth1 +inet 10\.97\.3\.")
        self.assertTrue(text.endswith("77\n"))
        self.wait_left()
        self.assertEqual(self.given("two"), [])

    def test_what_a_plugin_is_told(self):
        """As from Mesos: the NetworkInfo, by args."""
        plugin = os.path.join(self.folder, "plugin")
        with open(plugin, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ncat > %s/$CNI_COMMAND\nenv | grep CNI_ >> %s/env\n"
                       "[ -e $CNI_NETNS ] || exit 9\n"
                       "echo '{\"ip4\": {\"ip\": \"192.0.2.9/24\"}}'\n" % (
                           self.folder, self.folder))
        os.chmod(plugin, 0o755)
        os.symlink(plugin, os.path.join(self.networks, "told"))
        self.write("told.json", {"name": "told", "type": "told", "args": {"kept": 1.5},
                                 "capabilities": {"portMappings": True}})
        self.agent.terminate()
        self.agent.flags["network_cni_plugins_dir"] = self.networks
        self.agent.start().wait_registered()
        info = {"name": "told", "labels": {"labels": [{"key": "a", "value": "b"}]},
                "port_mappings": [{"host_port": 31000, "container_port": 80}]}
        self.run_to_end("true", container={"type": "MESOS", "network_infos": [info]})
        self.wait_left()
        for command in ("ADD", "DEL"):
            with open(os.path.join(self.folder, command), encoding="ascii") as file:
                told = json.load(file)
            self.assertEqual(told["args"]["kept"], 1.5)
            self.assertEqual(told["args"]["org.apache.mesos"]["network_info"], info)
            self.assertEqual(told["runtimeConfig"]["portMappings"], [
                {"hostPort": 31000, "containerPort": 80, "protocol": "tcp"}])
        self.assertEqual(told["prevResult"]["ip4"]["ip"], "192.0.2.9/24")
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            said = file.read()
        self.assertEqual(said.count("CNI_IFNAME=eth0\n"), 2)
        self.assertEqual(len(set(re.findall("CNI_CONTAINERID=(.*)", said))), 1)

    def test_a_group_shares_one(self):
        offer = self.scheduler.offer(cpus=0.5)
        executor = default_executor(container=joins("one"))
        tasks = [task(offer, "ip -o -4 address show eth0 > address; hostname >> address; sleep 1000")
                 for _ in range(2)]
        self.scheduler.launch_group(offer, executor, tasks)
        addresses = set()
        for each in tasks:
            status = self.scheduler.wait_state(each["task_id"]["value"], "TASK_RUNNING")
            addresses.add(self.address_of(status["container_status"]))
            path = os.path.join(self.agent.sandbox(
                self.scheduler.id, executor["executor_id"]["value"]), "tasks",
                each["task_id"]["value"], "address")
            text = wait_for(lambda: os.path.exists(path) and open(path).read().count("\n") == 2
                            and open(path).read(), "its address")
            self.assertIn(" %s/24 " % self.address_of(status["container_status"]), text)
            self.assertEqual(text.split()[-1],
                             status["container_status"]["container_id"]["parent"]["value"])
        self.assertEqual(len(addresses), 1)
        self.scheduler.kill(tasks[0]["task_id"]["value"])
        self.scheduler.wait_terminal(tasks[1]["task_id"]["value"])
        self.wait_left()

    def test_checks_are_made_inside(self):
        """Of a task, and of one of a group; ours listens at another port."""
        checks = {"check": {"type": "TCP", "tcp": {"port": 8081}, "delay_seconds": 0,
                            "interval_seconds": 0.1, "timeout_seconds": 5},
                  "health_check": {"type": "HTTP", "http": {"port": 8081, "path": "/page"},
                                   "delay_seconds": 0, "interval_seconds": 0.1,
                                   "grace_period_seconds": 30, "timeout_seconds": 5}}
        command = "echo page > page; exec python3 -m http.server 8081"
        alone, _ = self.started(command, **checks)
        offer = self.scheduler.offer(cpus=0.5)
        one = task(offer, command, **checks)
        self.scheduler.launch_group(offer, default_executor(container=joins("one")), [one])
        for task_id in (alone, one["task_id"]["value"]):
            wait_for(lambda: any(each.get("healthy") for each in self.scheduler.updates[task_id]),
                     "it is healthy", 20)
            wait_for(lambda: any(each.get("check_status", {}).get("tcp", {}).get("succeeded")
                                 for each in self.scheduler.updates[task_id]), "it listens", 20)

    def test_without_a_network(self):
        task_id, _ = self.run_to_end("ip -o -4 address", container={"type": "MESOS"})
        self.assertIn(OURS, self.output(task_id))

    # -- failures

    def test_unknown(self):
        _, status = self.run_to_end("true", "TASK_FAILED", container=joins("nosuch"))
        self.assertIn("Unknown CNI network 'nosuch'", status["message"])
        self.assertEqual(status["reason"], "REASON_CONTAINER_LAUNCH_FAILED")

    def test_a_configuration_that_is_none(self):
        self.write("broken.conf", "{")
        self.write("empty.conf", "")
        self.write("list.conf", "[1]")
        self.write("typeless.conf", {"name": "typeless"})
        self.write("climbs.conf", {"name": "climbs", "type": "../cni/bridge"})
        self.run_to_end("true")
        for name in ("typeless", "climbs"):
            _, status = self.run_to_end("true", "TASK_FAILED", container=joins(name))
            self.assertIn("There is no CNI plugin", status["message"])
        self.wait_left()

    def test_a_plugin_that_fails(self):
        """What was joined before it is left."""
        self.write("bad.conf", {"cniVersion": "0.2.0", "name": "bad", "type": "bridge",
                                "bridge": self.bridge, "ipam": {"type": "nosuch"}})
        _, status = self.run_to_end("true", "TASK_FAILED", container=joins("one", "bad"))
        self.assertIn("The CNI plugin 'bridge' failed to attach container", status["message"])
        self.assertIn("nosuch", status["message"])
        self.wait_left()

    def test_killed_while_it_joins(self):
        plugin = os.path.join(self.networks, "slow")
        with open(plugin, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n[ $CNI_COMMAND = DEL ] && exit 0\n"
                       ": > %s/begun\nexec sleep 1000\n" % self.folder)
        os.chmod(plugin, 0o755)
        self.agent.terminate()
        self.agent.flags["network_cni_plugins_dir"] = PLUGINS + ":" + self.networks
        self.agent.start().wait_registered()
        self.write("slow.conf", {"name": "slow", "type": "slow"})
        self.scheduler.run("true", container=joins("one", "slow"))
        wait_for(lambda: os.path.exists(self.folder + "/begun"), "it joins")
        self.scheduler.teardown()
        self.wait_left()

    # -- the agent's life

    def test_restarts(self):
        task_id, status = self.started("sleep 1000")
        self.agent.kill()
        self.agent.start().wait_registered()
        self.assertEqual(self.agent.json("/containers")[0]["status"]["network_infos"],
                         status["network_infos"])
        code, out, _ = harness.run(["exec", "--master=%s:%d" % self.master.address, task_id,
                                    "ip", "-o", "-4", "address"])
        self.assertIn(self.address_of(status), out)
        self.scheduler.kill(task_id)
        self.scheduler.wait_terminal(task_id)
        self.wait_left()

    def test_it_ends_while_the_agent_is_away(self):
        task_id, status = self.started("sleep 1000")
        self.agent.kill()
        os.kill(status["executor_pid"], 9)
        self.agent.start().wait_registered()
        self.scheduler.wait_terminal(task_id)
        self.wait_left()

    def test_the_agent_dies_while_it_joins(self):
        plugin = os.path.join(self.networks, "late")
        with open(plugin, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n[ $CNI_COMMAND = DEL ] && exit 0\n: > %s/begun\n"
                       "until [ -e %s/go ]; do sleep 0.02; done\n"
                       "echo '{\"ip4\": {\"ip\": \"192.0.2.9/24\"}}'\n" % (
                           self.folder, self.folder))
        os.chmod(plugin, 0o755)
        self.agent.terminate()
        self.agent.flags["network_cni_plugins_dir"] = PLUGINS + ":" + self.networks
        self.agent.start().wait_registered()
        self.write("late.conf", {"name": "late", "type": "late"})
        task_id = self.scheduler.run("true", container=joins("one", "late"))
        wait_for(lambda: os.path.exists(self.folder + "/begun"), "it joins")
        self.agent.kill()
        self.agent.start().wait_registered()
        with open(self.folder + "/go", "w", encoding="ascii"):
            pass
        self.scheduler.wait_terminal(task_id)
        self.wait_left()


class WithNamespaces(Networks):
    """Beside what else a container may have of its own."""

    def more_flags(self):
        return {"isolation": "filesystem/linux,namespaces/pid,namespaces/ipc,network/cni"}


class Flags(harness.TestCase):
    agents = 0

    def test_both_or_none(self):
        for flag in ("network_cni_plugins_dir", "network_cni_config_dir"):
            status, _, errors = harness.run(
                ["agent", "--master=127.0.0.1:1", "--work_dir=" + self.temporary(),
                 "--%s=/tmp" % flag])
            self.assertNotEqual(status, 0)
            self.assertIn("go together", errors)
