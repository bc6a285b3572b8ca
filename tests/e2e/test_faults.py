"""Masters, ZooKeeper's servers, their disks and their clocks fail while a scheduler launches: its books balance."""

import ctypes
import glob
import json
import os
import random
import signal
import struct
import subprocess
import threading
import time

import harness
import processes
import zookeeper
from harness import wait_for
from scheduler import task
from test_following import log_of

CLONE_NEWNS = 0x20000
DISK = "64m"                    # of each master and each ZooKeeper server
CLOCK = os.path.join(os.path.dirname(harness.MESITA), "wall_clock.so")
HOUR = 3600


def setUpModule():
    """What is mounted ends with this process."""
    global can_mount
    can_mount = not ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) and not subprocess.run(
        ["mount", "--make-rprivate", "/"], check=False).returncode


class Disk:
    """A file system of its own, which may be full."""

    def __init__(self, path):
        self.path, self.ballast = path, os.path.join(path, "ballast")
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755,size=" + DISK, "none", path],
                       check=True)

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while file.write(bytes(size)):
                        pass
                except OSError:
                    pass

    def free(self):
        os.unlink(self.ballast)


class Clock:
    """The wall clock of some processes."""

    def __init__(self, path):
        self.path = path
        self.set(0)
        self.prefix = ["env", "LD_PRELOAD=" + CLOCK, "TEST_CLOCK=" + path]

    def set(self, seconds):
        """So far off it is from now on."""
        with open(self.path, "wb" if not os.path.exists(self.path) else "r+b") as file:
            file.write(struct.pack("q", int(seconds * 1e9)))


class FaultsCase(zookeeper.ElectionCase):
    """Each master and each ZooKeeper server has a disk of its own, where we may mount one, and each
    process a clock."""

    def setUp(self):
        self.random = random.Random(int(os.environ.get("SOAK_SEED", "1")))
        self.disks, self.clocks = {}, []
        super().setUp()

    def kind(self, base):
        ensemble = zookeeper.Ensemble(base, self.place)
        for server in ensemble.members:
            server.prefix = self.clock().prefix
        return ensemble

    def make_master(self, name, **flags):
        self.place(self.base, name)
        master = super().make_master(name, **flags)
        master.prefix = self.clock().prefix
        return master

    def make_agent(self):
        agent = super().make_agent()
        agent.prefix = self.clock().prefix
        return agent

    def place(self, base, name):
        path = os.path.join(base, name)
        if can_mount:
            self.disks[name] = Disk(path)
            self.addCleanup(subprocess.run, ["umount", "-l", path], check=True)
        else:
            os.makedirs(path)
        return path

    def clock(self):
        self.clocks.append(Clock(os.path.join(self.base, "clock%d" % len(self.clocks))))
        return self.clocks[-1]

    def revive(self):
        """As a supervisor does."""
        for master in self.masters:
            if not self.alive(master):
                master.start()

    def revive_servers(self):
        """One whose disk was full may end later, or stay and serve nobody."""
        deadline = time.monotonic() + 20 * zookeeper.SCALE
        late = list(self.zookeeper.members)

        def serves(server):
            try:
                return b"Mode: " in server.ask(b"srvr")
            except OSError:
                return False

        def all_serve():
            for server in self.zookeeper.members:
                if server.process.poll() is not None:
                    self.remove_empty_files(server)
                    server.start()
            waiting = [server for server in self.zookeeper.members if not serves(server)]
            if time.monotonic() > deadline:
                for server in waiting:
                    if server in late:
                        late.remove(server)
                        server.kill()
            return not waiting
        wait_for(all_serve, "ZooKeeper", 60)

    @staticmethod
    def remove_empty_files(server):
        """ZooKeeper does not start with a log that it could begin and no more."""
        for path in glob.glob(os.path.join(server.directory, "data", "version-2", "*")):
            if not os.path.getsize(path):
                os.unlink(path)

    def run_sentinel(self):
        """A task that nothing may end."""
        self.scheduler = self.scheduler_at(self.masters[0], name="soak", failover_timeout=HOUR,
                                           checkpoint=True)
        self.scheduler.run("exec sleep 100000", task_id="sentinel")

    def run_one(self):
        name = self.scheduler.run("true")
        self.assertEqual(self.scheduler.wait_terminal(name)["state"], "TASK_FINISHED")

    def ended(self, name):
        return self.scheduler.ends(name)

    def assert_sentinel_runs(self, leader):
        self.assertEqual(self.ended("sentinel"), [])
        frameworks = leader.state()["frameworks"]
        self.assertEqual([t["id"] for f in frameworks for t in f["tasks"]
                          if t["state"] == "TASK_RUNNING"], ["sentinel"])
        self.assertEqual(len(frameworks), 1)


class Disks(FaultsCase):
    session_seconds = 5         # a busy machine must not end it

    def setUp(self):
        if not can_mount:
            self.skipTest("needs root, to mount disks")
        super().setUp()
        self.run_sentinel()

    def test_that_of_a_leader_is_full(self):
        """It cannot write its log, and goes on."""
        leader, disk = self.masters[0], self.disks["master1"]
        disk.fill()
        for _ in range(3):
            self.run_one()
        self.assertTrue(self.leads(leader))
        size = os.path.getsize(leader.log)
        disk.free()
        self.run_one()
        wait_for(lambda: os.path.getsize(leader.log) > size, "its log goes on")
        self.assert_sentinel_runs(leader)

    def test_those_of_all_zookeeper_servers_are_full(self):
        """Nobody leads then; what runs goes on."""
        for server in self.zookeeper.members:
            self.disks[os.path.basename(os.path.dirname(server.directory))].fill()
        # What is written there ends them.
        wait_for(lambda: self.write_something() and
                 sum(s.process.poll() is not None for s in self.zookeeper.members) > 1,
                 "the end of most servers", 60)
        wait_for(lambda: not any(self.alive(m) and self.leads(m) for m in self.masters),
                 "nobody leads", 30)
        for disk in self.disks.values():
            if os.path.exists(disk.ballast):
                disk.free()
        self.revive_servers()
        self.revive()
        leader = self.wait_leader()
        self.wait_agent(leader)
        self.scheduler.address = leader.address
        self.scheduler.subscribe()
        self.run_one()
        self.assert_sentinel_runs(leader)

    def write_something(self):
        """Into the registry, if somebody leads."""
        for master in self.masters:
            try:
                harness.request(master.address, "PUT", "/weights",
                                '[{"role": "r%d", "weight": 2}]' % self.random.randrange(1000), timeout=1)
            except OSError:
                pass
        return True


class Clocks(FaultsCase):
    session_seconds = 5

    def test_jumps(self):
        """Whatever the wall clock says, nobody is held for lost, and nobody's time is over."""
        self.run_sentinel()
        leader = self.masters[0]
        away = self.scheduler_at(leader, name="away", failover_timeout=HOUR)
        away.close()
        for seconds in (24 * HOUR, -24 * HOUR, 0):
            for clock in self.clocks:
                clock.set(seconds)
                self.run_one()
        # Longer than the sessions, and than a leader is patient with who follows.
        end = time.monotonic() + 1.2 * self.session_seconds * zookeeper.SCALE
        for clock in self.clocks:
            clock.set(-24 * HOUR if clock is self.clocks[0] else 24 * HOUR)
        wait_for(lambda: time.monotonic() > end, "a session's time", 60)
        self.run_one()
        self.assertTrue(all(map(self.alive, self.masters)))
        self.assertTrue(self.leads(leader))
        self.assertEqual(self.ended("sentinel"), [])
        self.assertEqual({f["name"] for f in leader.state()["frameworks"]}, {"soak", "away"})
        self.assertEqual([a["active"] for a in leader.json("/slaves")["slaves"]], [True])
        self.assertIn("the clock was set", log_of(leader))


class ClocksOfWriters(FaultsCase):
    """The session is longer than ZooKeeper is away."""

    session_seconds = 30

    def test_a_jump_while_a_write_is_undecided(self):
        """It waits as long as it would have, and is done once."""
        leader, answers = self.masters[0], []
        for server in self.zookeeper.members:
            server.kill()
        writer = threading.Thread(target=lambda: answers.append(harness.request(
            leader.address, "PUT", "/weights", '[{"role": "r", "weight": 3}]', timeout=60)))
        writer.start()
        wait_for(lambda: leader.metric("registrar/queued_operations") > 0, "a write that waits")
        self.clocks[3].set(24 * HOUR)
        wait_for(lambda: leader.state() and "the clock was set" in log_of(leader), "the jump")
        self.revive_servers()
        writer.join(60 * zookeeper.SCALE)
        self.assertEqual([answer[0] for answer in answers], [200])
        self.assertEqual(json.loads(harness.get(leader.address, "/weights")[2]),
                         [{"role": "r", "weight": 3.0}])
        self.assertTrue(self.leads(leader))


class Faults(FaultsCase):
    """A scheduler keeps launching while masters and ZooKeeper's servers die and hang, their disks are full
    and clocks jump. SOAK_SECONDS says how long (15)."""

    turns = staticmethod(lambda: float(os.environ.get("SOAK_SECONDS", "15")))

    def setUp(self):
        super().setUp()
        self.launched, self.led, self.subscribed_at = [], 0, None
        self.run_sentinel()

    def launch_some(self):
        """What its answer to an offer comes to may be lost with the master."""
        try:
            for _ in range(self.random.randrange(1, 4)):
                offer = self.scheduler.offer(cpus=0.1, timeout=1)
                names = ["s%d" % (len(self.launched) + i) for i in range(3)]
                self.launched += names
                self.scheduler.launch(offer, [
                    task(offer, self.random.choice(["true", "sleep 0.3", "exit 1"]), cpus=0.1,
                         mem=32, task_id=name) for name in names])
        except (OSError, ValueError, AssertionError,
                    harness.connections.http.client.HTTPException):
            pass

    def resubscribe(self):
        """At whoever leads; one that was stopped may look as if it did."""
        def subscribed():
            leader = self.wait_leader()
            self.scheduler.address = leader.address
            try:
                self.scheduler.subscribe()
            except (OSError, ValueError, AssertionError,
                    harness.connections.http.client.HTTPException):
                return None
            return leader
        leader = wait_for(subscribed, "a subscription", 30)
        self.led += "going on with" in log_of(leader).rpartition("elected as")[2]
        self.subscribed_at = leader.process

    @staticmethod
    def standbys(leader):
        """How many have a complete copy. (Its log may be on a full disk.)"""
        return leader.metric("master/standbys_ready")

    def copied(self):
        """Both that follow have all; whoever leads."""
        self.revive()
        return self.standbys(self.wait_leader()) == 2

    def settle(self):
        """Mostly those that follow have caught up before something happens."""
        if self.random.random() < 0.7:
            wait_for(self.copied, "copies of those that follow", 40)

    def harm_server(self):
        """Something happens to one of ZooKeeper's servers: the others go on."""
        server = self.random.choice(self.zookeeper.members)
        if self.random.random() < 0.5:
            server.process.send_signal(signal.SIGSTOP)
            self.launch_some()
            self.wait_leader()
            server.process.send_signal(signal.SIGCONT)
        else:
            server.kill()
            self.launch_some()
            self.wait_leader()
            server.start()
        self.revive_servers()
        self.revive()

    def harm_master(self):
        """Something happens to a master."""
        leader = self.wait_leader()
        victim = leader if self.random.random() < 0.6 else self.random.choice(self.masters)
        what = self.random.choice(["kill", "kill", "stop", "end"])
        if what == "stop":
            counted = victim is not leader and self.copied()
            victim.signal(signal.SIGSTOP)
            if victim is leader and self.random.random() < 0.6:
                self.wait_leader(but=[victim])
            elif counted:
                wait_for(lambda: not self.alive(leader) or self.standbys(leader) < 2,
                         "it is missed", 30)
            victim.signal(signal.SIGCONT)
        elif self.alive(victim):
            victim.signal(signal.SIGKILL if what == "kill" else signal.SIGTERM)
            victim.process.wait()
        self.launch_some()
        self.wait_leader()
        self.revive()

    def harm_disk(self):
        """One is full for a while, or those of all ZooKeeper servers."""
        names = [self.random.choice(list(self.disks))]
        if self.random.random() < 0.2:
            names = [name for name in self.disks if name.startswith("zookeeper")]
        for name in names:
            self.disks[name].fill()
        self.launch_some()
        if len(names) == 1 and self.random.random() < 0.5:
            self.harm_master()
        for name in names:
            self.disks[name].free()
        self.revive_servers()
        self.revive()

    def harm_clock(self):
        self.random.choice(self.clocks).set(self.random.uniform(-24, 24) * HOUR)
        self.launch_some()

    def harm(self):
        kinds = [self.harm_server, self.harm_master, self.harm_master, self.harm_clock]
        if self.disks:
            kinds.append(self.harm_disk)
        self.random.choice(kinds)()

    def all_ended(self):
        """Asks the leader of today for what has not ended. A session may be over, and its master with
        it, after the last harm, too."""
        self.revive()
        leader = self.wait_leader()
        if leader.process is not self.subscribed_at or self.scheduler.closed():
            self.wait_agent(leader)
            self.resubscribe()
            # Of what got lost on its way to a master that died, the next one has never heard.
            self.scheduler.reconcile(*[name for name in self.launched if not self.ended(name)])
        return all(map(self.ended, self.launched)) and leader

    def test_books_balance(self):
        end = time.monotonic() + self.turns() * zookeeper.SCALE
        turns = 0
        while time.monotonic() < end:
            self.launch_some()
            self.settle()
            self.harm()
            self.resubscribe()
            turns += 1
        self.subscribed_at = None
        leader = wait_for(self.all_ended, "the end of every task", 60)
        for name in self.launched:
            self.assertEqual(len(set(self.ended(name))), 1, (name, self.ended(name)))
        self.assert_sentinel_runs(leader)
        print("%d turns, %d tasks, %d copies used" % (turns, len(self.launched), self.led))
        self.assertGreater(self.led, 0)
