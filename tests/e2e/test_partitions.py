"""Masters that are cut off from one another, from ZooKeeper, or from all: each is in a network namespace of
its own, behind a bridge in one that this module makes for itself and the rest."""

import ctypes
import os
import signal
import subprocess
import time
import unittest

import harness
import processes
import zookeeper
from harness import wait_for
from scheduler import task
from test_following import FollowingCase, log_of

CLONE_NEWNET = 0x40000000
OURS, SERVERS = "10.97.0.1", "10.97.0.2"  # agents, schedulers and we; ZooKeeper
MASTER = "10.97.0.%d"


def ip(command, namespace=()):
    subprocess.run([*namespace, "ip", *command.split()], check=True)


def setUpModule():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise unittest.SkipTest("no network namespaces: " + os.strerror(ctypes.get_errno()))
    for command in ("link set lo up", "link add hub type bridge", "address add %s/24 dev hub" % OURS,
                    "address add %s/24 dev hub" % SERVERS, "link set hub up"):
        ip(command)
    harness.IP, zookeeper.HOST = OURS, SERVERS


class Partitions(FollowingCase):
    def make_master(self, name, **flags):
        number = 11 + int(name[len("master"):])
        address = MASTER % number
        holder = processes.spawn(["unshare", "--net", "sleep", "infinity"])
        namespace = ["nsenter", "--net=/proc/%d/ns/net" % holder.pid, "--"]
        wait_for(lambda: os.readlink("/proc/%d/ns/net" % holder.pid) !=
                 os.readlink("/proc/self/ns/net"), "the namespace of " + name)
        ip("link add %s type veth peer name inside netns %d" % (name, holder.pid))
        self.addCleanup(subprocess.run, ["ip", "link", "delete", name], check=False)
        ip("link set %s master hub up" % name)
        for command in ("link set lo up", "address add %s/24 dev inside" % address,
                        "link set inside up"):
            ip(command, namespace)
        master = super().make_master(name, ip=address, hostname=address, **flags)
        master.address = (address, master.address[1])
        master.prefix = master.namespace = namespace
        return master

    @staticmethod
    def cut_off(master):
        ip("link set %s down" % master.name)

    @staticmethod
    def cut_off_from_zookeeper(master):
        ip("route add blackhole %s/32" % SERVERS, master.namespace)

    @staticmethod
    def reconnect(master):
        ip("link set %s up" % master.name)

    def launch_some(self, scheduler, launched):
        """False: the master does not answer any more, and what of it was done is not known."""
        try:
            offer = scheduler.offer(cpus=0.1, timeout=1)
            names = ["t%d" % (len(launched) + i) for i in range(3)]
            launched += names
            scheduler.launch(offer, [task(offer, "true", cpus=0.1, mem=32, task_id=name)
                                     for name in names])
            return True
        except (OSError, ValueError, AssertionError,
                harness.connections.http.client.HTTPException):
            return False

    @staticmethod
    def has_ended(master):
        return master.process.poll() is not None

    def test_a_leader_that_is_cut_off_from_all(self):
        first = self.masters[0]
        self.check_a_new_leader(self.cut_off)
        self.reconnect(first)
        wait_for(lambda: self.has_ended(first), "it ends", 30)
        first.start()
        self.wait_follower(first)

    def test_a_leader_that_is_cut_off_from_zookeeper_alone(self):
        """It is reached by all others, and leads in its own eyes until its session must be over."""
        self.wait_copies()
        first, launched = self.masters[0], []
        scheduler = self.scheduler_at(first, name="survivor", failover_timeout=600, checkpoint=True)
        self.run_task(scheduler, "sentinel")
        self.cut_off_from_zookeeper(first)
        begin = time.monotonic()
        while not self.has_ended(first):
            self.launch_some(scheduler, launched)
        # Once it knows that its session must be over it waits for nobody.
        self.assertLess(time.monotonic() - begin, 10 * zookeeper.SCALE)
        second = self.wait_leader(but=[first])
        self.assertRegex(log_of(second), r"going on with \d+ records of the master before")
        scheduler.address = second.address
        scheduler.subscribe()
        self.wait_agent(second)
        scheduler.reconcile(*[name for name in launched if not self.ends(scheduler, name)])
        wait_for(lambda: all(self.ends(scheduler, name) for name in launched), "all ends", 60)
        for name in launched:
            self.assertEqual(len(self.ends(scheduler, name)), 1, (name, scheduler.updates[name]))
        self.assertEqual(self.ends(scheduler, "sentinel"), set())
        self.assertTrue(launched)

    def test_a_follower_that_is_cut_off(self):
        self.wait_copies()
        first, second, third = self.masters
        scheduler = self.scheduler_at(first, name="survivor", failover_timeout=600)
        self.cut_off(second)
        offer = scheduler.offer(cpus=0.1)
        scheduler.launch(offer, [task(offer, "true", cpus=0.1, mem=32, task_id="e")])
        self.assertEqual(scheduler.wait_terminal("e")["state"], "TASK_FINISHED")
        wait_for(lambda: "nothing is to wait for follower" in log_of(first), "it is missed", 20)
        wait_for(lambda: not [t for f in first.state()["frameworks"] for t in f["tasks"]],
                 "the end is acknowledged")
        # Nobody else is there to lead, and what it has is too old.
        third.signal(signal.SIGSTOP)
        self.addCleanup(third.signal, signal.SIGCONT)
        first.kill()
        self.reconnect(second)
        wait_for(lambda: "elected as the leading master" in log_of(second) or
                 self.has_ended(second), "it leads, or its session is over", 40)
        if self.has_ended(second):
            second.start()
        wait_for(lambda: "elected as the leading master" in log_of(second), "it leads", 40)
        self.assertNotIn("going on with", log_of(second))
