"""Limits that the kernel keeps: control groups of containers, of whichever version there is."""

import os
import shutil
import subprocess
import uuid

import harness
from harness import wait_for
from scheduler import scalar, task
from test_groups import default_executor, sleepers

HIERARCHY = "/sys/fs/cgroup"
MEGABYTE = 1 << 20
# Has itself killed when it may use 96 MB, and lives when it may use more.
GREEDY = "exec dd if=/dev/zero of=/dev/null bs=160M count=1"


def unified():
    return os.path.exists(HIERARCHY + "/cgroup.controllers")


def usable():
    """Whether groups can be made here; the reason if not."""
    if os.geteuid():
        return "needs root"
    for name in ["."] if unified() else ["cpu", "cpuacct", "memory", "freezer", "pids"]:
        path = "%s/%s/mesita-probe-%d" % (HIERARCHY, name, os.getpid())
        try:
            os.mkdir(path)
            os.rmdir(path)
        except OSError as error:
            return str(error)
    return None


def limits(**values):
    return {name: {"value": value} for name, value in values.items()}


def number(text):
    return float("inf") if text.split()[0] == "max" else float(text.split()[0])


class Grouped(harness.TestCase):
    """A cluster whose containers have control groups of their own."""
    agent_flags = {"isolation": "cgroups/cpu,cgroups/mem,cgroups/pids",
                   "recovery_timeout": "1mins", "executor_shutdown_grace_period": "3secs"}
    cfs = True

    def setUp(self):
        why = usable()
        if why:
            self.skipTest("no control groups: " + why)
        self.root = "mesita-" + str(uuid.uuid4())[:8]
        self.agent_flags = dict(type(self).agent_flags, cgroups_root=self.root,
                                cgroups_enable_cfs="true" if self.cfs else "false")
        self.addCleanup(self.remove_root)
        super().setUp()

    def folders(self, of=None):
        """Directories of containers; or of one, by file name."""
        roots = [HIERARCHY + "/" + self.root] if unified() else [
            "%s/%s/%s" % (HIERARCHY, name, self.root)
            for name in ("cpu", "cpuacct", "memory", "freezer", "pids")]
        return [os.path.join(root, of) if of else root for root in roots]

    def remove_root(self):
        """With what a test left running."""
        for top in self.folders():
            for folder, _, files in os.walk(top, topdown=False):
                if "cgroup.procs" in files:
                    wait_for(lambda f=folder: self.empty(f), "%s is empty" % folder, 20)
                os.rmdir(folder)

    @staticmethod
    def empty(folder):
        with open(folder + "/cgroup.procs", encoding="ascii") as file:
            pids = file.read().split()
        for pid in pids:
            os.kill(int(pid), 9)
        return not pids

    def read(self, container, name):
        """The file of that name in whichever of its directories has it."""
        for folder in self.folders(container):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    return file.read()
        raise AssertionError("no %s of %s" % (name, container))

    def weight(self, container):
        """Of processors: in hundredths of one."""
        return number(self.read(container, "cpu.weight")) if unified() else round(
            number(self.read(container, "cpu.shares")) / 10.24)

    def quota(self, container):
        """Processors; infinity: as many as there are."""
        if unified():
            quota = number(self.read(container, "cpu.max"))
        else:
            quota = number(self.read(container, "cpu.cfs_quota_us"))
        return float("inf") if quota < 0 else quota / 100000

    def hard(self, container):
        """Megabytes."""
        value = number(self.read(container,
                                 "memory.max" if unified() else "memory.limit_in_bytes"))
        return float("inf") if value > 1 << 60 else value / MEGABYTE

    def soft(self, container):
        return number(self.read(
            container, "memory.low" if unified() else "memory.soft_limit_in_bytes")) / MEGABYTE

    def pids(self, container):
        return self.read(container, "leaf/cgroup.procs" if unified() else "cgroup.procs").split()

    def running(self, scheduler, command, **options):
        """(id of the task, of its container, pid of the executor)"""
        task_id = scheduler.run(command, **options)
        status = scheduler.wait_state(task_id, "TASK_RUNNING")["container_status"]
        return task_id, status["container_id"]["value"], status["executor_pid"]

    def gone(self, container):
        wait_for(lambda: not any(os.path.exists(f) for f in self.folders(container)),
                 "the groups of %s are removed" % container, 20)

    def expect_out_of_memory(self, status, source="SOURCE_AGENT"):
        # A command that is killed first may be told of by its executor (version 1).
        if not unified() and status.get("reason") != "REASON_CONTAINER_LIMITATION_MEMORY":
            self.assertEqual((status["state"], status["source"]),
                             ("TASK_FAILED", "SOURCE_EXECUTOR"))
            return
        self.assertEqual(status["state"], "TASK_FAILED")
        self.assertEqual(status["reason"], "REASON_CONTAINER_LIMITATION_MEMORY")
        self.assertEqual(status["source"], source)
        self.assertIn("Memory limit exceeded: ", status["message"])
        self.assertIn("MEMORY STATISTICS", status["message"])
        limited = status["limitation"]["resources"]
        self.assertEqual([(r["name"], r["type"]) for r in limited], [("mem", "SCALAR")])
        self.assertGreaterEqual(limited[0]["scalar"]["value"], 32)


class ControlGroups(Grouped):

    # -- what is written

    def test_formulae(self):
        scheduler = self.subscribe()
        _, container, pid = self.running(scheduler, "sleep 1000", cpus=0.5, mem=64)
        self.assertEqual(self.weight(container), 60)
        self.assertEqual(self.quota(container), 0.6)
        self.assertEqual((self.soft(container), self.hard(container)), (96, 96))
        self.assertIn(str(pid), self.pids(container))
        wait_for(lambda: len(self.pids(container)) >= 2, "its command", 20)

    def test_limits_follow_tasks_but_hard_memory_never_sinks(self):
        scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])
        executor = default_executor()
        offer = scheduler.offer(cpus=1)
        first, second = (task(offer, "sleep 1000", cpus=0.2, mem=64) for _ in range(2))
        scheduler.launch_group(offer, executor, [first])
        status = scheduler.wait_state(first["task_id"]["value"], "TASK_RUNNING")
        container = status["container_status"]["container_id"]["parent"]["value"]
        self.assertEqual((self.quota(container), self.soft(container), self.hard(container)),
                         (0.3, 96, 96))
        scheduler.launch_group(scheduler.offer(cpus=0.2), executor, [second])
        scheduler.wait_state(second["task_id"]["value"], "TASK_RUNNING")
        self.assertEqual((self.quota(container), self.soft(container), self.hard(container)),
                         (0.5, 160, 160))
        # Those inside share it.
        wait_for(lambda: len(self.pids(container)) >= 5, "the executor, and two with init", 20)
        scheduler.kill(first["task_id"]["value"])
        scheduler.wait_terminal(first["task_id"]["value"])
        wait_for(lambda: self.soft(container) == 96, "the limits sink", 20)
        self.assertEqual((self.quota(container), self.hard(container)), (0.3, 160))

    def test_limits_of_tasks(self):
        scheduler = self.subscribe()
        _, container, _ = self.running(scheduler, "sleep 1000", cpus=0.2, mem=32,
                                       limits=limits(cpus=0.7, mem=256))
        self.assertEqual((self.weight(container), self.quota(container)), (30, 0.8))
        self.assertEqual((self.soft(container), self.hard(container)), (64, 288))
        _, container, _ = self.running(scheduler, "sleep 1000", cpus=0.2, mem=32,
                                       limits=limits(cpus="Infinity", mem="Infinity"))
        self.assertEqual((self.quota(container), self.hard(container)),
                         (float("inf"), float("inf")))

    def test_statistics(self):
        scheduler = self.subscribe()
        task_id, container, _ = self.running(
            scheduler, "head -c 30M /dev/zero | tail -c 30M | { sleep 1000; cat; }", cpus=0.5,
            mem=64)
        seen = {}

        def used():
            seen.update(next(c for c in self.agent.json("/containers")
                             if c["container_id"] == container)["statistics"])
            return seen["mem_anon_bytes"] >= 30 * MEGABYTE

        wait_for(used, "30 MB of %s are counted" % task_id, 20)
        self.assertEqual((seen["cpus_soft_limit"], seen["mem_limit_bytes"]), (0.6, 96 * MEGABYTE))
        self.assertEqual(seen["mem_rss_bytes"], seen["mem_anon_bytes"])
        self.assertGreaterEqual(seen["mem_total_bytes"], seen["mem_anon_bytes"])
        self.assertGreater(seen["threads"], 2)
        self.assertEqual(seen["mem_file_bytes"], seen["mem_cache_bytes"])

    # -- what is kept

    def test_out_of_memory(self):
        scheduler = self.subscribe()
        other, _, _ = self.running(scheduler, "sleep 1000")
        task_id = scheduler.run(GREEDY, cpus=0.5, mem=64)
        self.expect_out_of_memory(scheduler.wait_terminal(task_id, 60))
        self.assertEqual(scheduler.states(other)[-1], "TASK_RUNNING")
        large = scheduler.run(GREEDY, cpus=0.5, mem=64, limits=limits(mem=512))
        self.assertEqual(scheduler.wait_terminal(large, 60)["state"], "TASK_FINISHED")

    def test_out_of_memory_of_a_child(self):
        scheduler = self.subscribe()
        for _ in range(5):
            # It is the child that the kernel ends; all of the container has to.
            task_id = scheduler.run(GREEDY.replace("exec ", "") + "; exec sleep 1000", cpus=0.2,
                                    mem=64)
            self.expect_out_of_memory(scheduler.wait_terminal(task_id, 60))

    def test_out_of_memory_after_a_restart(self):
        scheduler = self.subscribe()
        gate = os.path.join(self.temporary(), "gate")
        os.chmod(os.path.dirname(gate), 0o777)
        task_id, container, _ = self.running(
            scheduler, "while [ ! -e %s ]; do sleep 0.05; done; %s" % (gate, GREEDY), mem=64)
        self.agent.kill().start().wait_registered()
        self.assertEqual(self.hard(container), 96)
        with open(gate, "w", encoding="ascii"):
            pass
        self.expect_out_of_memory(scheduler.wait_terminal(task_id, 60))
        self.gone(container)

    def test_out_of_memory_while_the_agent_is_down(self):
        scheduler = self.subscribe()
        gate = os.path.join(self.temporary(), "gate")
        os.chmod(os.path.dirname(gate), 0o777)
        task_id, container, pid = self.running(
            scheduler, "while [ ! -e %s ]; do sleep 0.05; done; %s" % (gate, GREEDY), mem=64)
        self.agent.kill()
        with open(gate, "w", encoding="ascii"):
            pass
        events = "memory.events" if unified() else "memory.oom_control"
        wait_for(lambda: "oom_kill 0" not in self.read(container, events), "the kernel kills", 60)
        self.agent.start().wait_registered()
        self.expect_out_of_memory(scheduler.wait_terminal(task_id, 60))
        wait_for(lambda: not harness.processes.alive(pid), "the executor ends", 20)
        self.gone(container)

    def test_one_of_a_group_that_does_not_share(self):
        scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])
        executor = default_executor()
        own = {"type": "MESOS", "linux_info": {"share_cgroups": False}}
        offer = scheduler.offer(cpus=1)
        gate = os.path.join(self.temporary(), "gate")
        os.chmod(os.path.dirname(gate), 0o777)
        tasks = [task(offer, "while [ ! -e %s ]; do sleep 0.05; done; %s" % (gate, GREEDY),
                      mem=64, container=own),
                 task(offer, "sleep 1000", mem=300, container=own)]
        scheduler.launch_group(offer, executor, tasks)
        ids = [t["task_id"]["value"] for t in tasks]
        status = scheduler.wait_state(ids[1], "TASK_RUNNING")["container_status"]["container_id"]
        inside = "%s/mesos/%s" % (status["parent"]["value"], status["value"])
        self.assertEqual(self.hard(inside), 300)
        wait_for(lambda: len(self.pids(inside)) >= 2, "init and its command", 20)
        with open(gate, "w", encoding="ascii"):
            pass
        self.expect_out_of_memory(scheduler.wait_terminal(ids[0], 60), "SOURCE_EXECUTOR")
        self.assertEqual(scheduler.wait_terminal(ids[1])["state"], "TASK_KILLED")
        self.gone(status["parent"]["value"])

    # -- what is left

    def test_nothing_escapes(self):
        """Not even what left the session, the parent and its environment behind."""
        scheduler = self.subscribe()
        path = os.path.join(self.temporary(), "pid")
        os.chmod(os.path.dirname(path), 0o777)
        task_id, container, _ = self.running(
            scheduler, "setsid env -i /bin/sh -c '(setsid sh -c \"echo \\$\\$ > %s.new; "
                       "mv %s.new %s; exec sleep 1000\" &)'; sleep 1000" % (path, path, path))
        wait_for(lambda: os.path.exists(path), "the daemon says its pid", 20)
        with open(path, encoding="ascii") as file:
            daemon = int(file.read())
        self.assertIn(str(daemon), self.pids(container))
        # Even an agent that finds the executor dead.
        self.agent.kill()
        for pid in self.pids(container):
            if int(pid) != daemon:
                os.kill(int(pid), 9)
        self.assertTrue(harness.processes.alive(daemon))
        self.agent.start().wait_registered()
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FAILED")
        wait_for(lambda: not harness.processes.alive(daemon), "the daemon ends", 20)
        self.gone(container)

    def test_groups_are_removed(self):
        scheduler = self.subscribe()
        ended = []
        for command in ("exit 0", "exit 3", "kill -9 $$", "sleep 1000 & exit 0"):
            task_id = scheduler.run(command)
            status = scheduler.wait_state(task_id, "TASK_RUNNING")
            scheduler.wait_terminal(task_id)
            ended.append(status["container_status"]["container_id"]["value"])
        unfetchable = scheduler.run({"value": "true", "uris": [{"value": "/does/not/exist"}]})
        self.assertEqual(scheduler.wait_terminal(unfetchable)["reason"],
                         "REASON_CONTAINER_LAUNCH_FAILED")
        for container in ended:
            self.gone(container)
        wait_for(lambda: not any(e.is_dir() for f in self.folders() for e in os.scandir(f)),
                 "no group is left", 20)


class Loose(Grouped):
    """Without CFS processors are limited only where a task says so."""
    cfs = False

    def test_formulae(self):
        scheduler = self.subscribe()
        _, container, _ = self.running(scheduler, "sleep 1000", cpus=0.5, mem=64)
        self.assertEqual(self.weight(container), 60)
        self.assertEqual(self.quota(container), float("inf"))

    def test_one_task_without_a_limit_frees_all(self):
        scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])
        executor = default_executor()
        own = {"type": "MESOS", "linux_info": {"share_cgroups": False}}
        for more, quota in (({"limits": limits(cpus=0.4)}, 0.5), ({}, float("inf"))):
            offer = scheduler.offer(cpus=0.3)
            info = task(offer, "sleep 1000", cpus=0.2, container=own, **more)
            scheduler.launch_group(offer, executor, [info])
            status = scheduler.wait_state(info["task_id"]["value"], "TASK_RUNNING")
            container = status["container_status"]["container_id"]["parent"]["value"]
            wait_for(lambda: self.quota(container) == quota, "the quota is %s" % quota, 20)


class Refused(harness.TestCase):
    """What an agent does not start with."""
    agents = None

    def refuse(self, **flags):
        status, _, errors = harness.run(
            ["agent", "--master=127.0.0.1:1", "--ip=127.0.0.1", "--port=0",
             "--work_dir=" + self.temporary()] + ["--%s=%s" % f for f in flags.items()])
        self.assertEqual(status, 1, errors)
        return errors

    def test_isolators(self):
        self.assertIn("Unknown or unsupported isolator 'cgroups/nothing'",
                      self.refuse(isolation="cgroups/nothing"))
        self.assertIn("Duplicate isolator 'posix/cpu'",
                      self.refuse(isolation="posix/cpu,posix/mem,posix/cpu"))
        self.assertIn("exclude one another",
                      self.refuse(isolation="filesystem/posix,filesystem/linux"))
        self.assertIn("Unknown or unsupported launcher", self.refuse(launcher="windows"))
        self.assertIn("must be at least 1ms", self.refuse(container_disk_watch_interval="0ns"))

    def test_no_control_groups(self):
        """A hierarchy that has none."""
        if unified():
            errors = self.refuse(isolation="cgroups/cpu", cgroups_hierarchy=self.temporary())
            self.assertIn("which this machine does not have", errors)
        elif os.geteuid() == 0:
            errors = self.refuse(isolation="cgroups/cpu", cgroups_root="two\nlines")
            self.assertIn("Cannot make the control group", errors)


class Disks(harness.TestCase):
    agent_flags = {"isolation": "disk/du", "container_disk_watch_interval": "200ms",
                   "enforce_container_disk_quota": "true"}

    def run_with_disk(self, scheduler, megabytes, command):
        offer = scheduler.offer()
        info = task(offer, command)
        info["resources"].append(scalar("disk", megabytes))
        scheduler.launch(offer, [info])
        return info["task_id"]["value"]

    def test_what_holds_too_much_ends(self):
        scheduler = self.subscribe()
        small = self.run_with_disk(
            scheduler, 8, "mkdir -p a/b; head -c 3M /dev/urandom > a/b/c; sleep 1000")
        large = self.run_with_disk(
            scheduler, 8, "mkdir -p a/b; head -c 16M /dev/urandom > a/b/c; sleep 1000")
        status = scheduler.wait_terminal(large)
        self.assertEqual((status["state"], status["reason"], status["source"]),
                         ("TASK_FAILED", "REASON_CONTAINER_LIMITATION_DISK", "SOURCE_AGENT"))
        self.assertRegex(status["message"], r"^Disk usage \(\d+\w?B\) exceeds quota \(8MB\)$")
        self.assertEqual(status["limitation"]["resources"],
                         [{"name": "disk", "type": "SCALAR", "scalar": {"value": 8.0}}])
        seen = {}

        def used():
            seen.update(self.agent.json("/monitor/statistics")[0]["statistics"])
            return seen.get("disk_used_bytes", 0) >= 3 * MEGABYTE

        wait_for(used, "3 MB are counted", 20)
        self.assertLess(seen["disk_used_bytes"], 8 * MEGABYTE)
        self.assertEqual(seen["disk_limit_bytes"], 8 * MEGABYTE)
        self.assertEqual(scheduler.states(small)[-1], "TASK_RUNNING")


class Lenient(Disks):
    """Sizes are told, and nothing follows."""
    agent_flags = {"isolation": "posix/disk", "container_disk_watch_interval": "200ms"}

    def test_what_holds_too_much_ends(self):
        scheduler = self.subscribe()
        task_id = self.run_with_disk(scheduler, 1, "head -c 4M /dev/urandom > a; sleep 1000")
        wait_for(lambda: self.agent.json("/monitor/statistics")[0]["statistics"].get(
            "disk_used_bytes", 0) >= 4 * MEGABYTE, "4 MB are counted", 20)
        self.assertNotIn("TASK_FAILED", scheduler.states(task_id))


class Limits(harness.TestCase):
    """What the processes of a container keep to themselves."""
    agent_flags = {"isolation": "posix/rlimits,linux/nnp"}

    def limited(self, scheduler, command, *rlimits):
        return scheduler.run(command, container={
            "type": "MESOS", "rlimit_info": {"rlimits": list(rlimits)}})

    def test_rlimits_and_privileges(self):
        scheduler = self.subscribe()
        task_id = self.limited(
            scheduler, "ulimit -Sn; ulimit -Hn; ulimit -Sc; grep NoNewPrivs /proc/self/status",
            {"type": "RLMT_NOFILE", "soft": 50, "hard": 60}, {"type": "RLMT_CORE", "soft": 0,
                                                               "hard": 0})
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stdout", encoding="utf-8") as file:
            self.assertEqual(file.read().split()[-5:], ["50", "60", "0", "NoNewPrivs:", "1"])

    def test_what_is_no_limit(self):
        scheduler = self.subscribe()
        for rlimit, why in (
                ({"type": "RLMT_NOFILE", "soft": 60, "hard": 50}, "exceeds the hard one"),
                ({"type": "RLMT_NOFILE", "soft": 60}, "must be set, or none"),
                ({"soft": 60, "hard": 60}, "Unknown rlimit type")):
            status = scheduler.wait_terminal(self.limited(scheduler, "true", rlimit))
            self.assertEqual((status["state"], status.get("reason")),
                             ("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED"))
            self.assertIn(why, status["message"])


class Capabilities(harness.TestCase):
    """What the processes of a container may do."""
    agent_flags = {"isolation": "linux/capabilities",
                   "bounding_capabilities": '{"capabilities":["NET_RAW","KILL","CHOWN"]}',
                   "effective_capabilities": '{"capabilities":["KILL"]}'}
    CHOWN, KILL, NET_RAW = 1 << 0, 1 << 5, 1 << 13

    def setUp(self):
        if os.geteuid():
            self.skipTest("needs root")
        super().setUp()

    def sets(self, scheduler, info, **fields):
        """(effective, bounding) of a task's shell."""
        task_id = scheduler.run(
            {"value": "grep -E 'CapEff|CapBnd' /proc/self/status", **fields},
            container={"type": "MESOS", "linux_info": info})
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_FINISHED", status.get("message"))
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stdout", encoding="utf-8") as file:
            words = file.read().split()
        return int(words[-3], 16), int(words[-1], 16)

    def test_sets(self):
        scheduler = self.subscribe()
        some = {"capabilities": ["NET_RAW", "CHOWN"]}
        for fields in ({}, {"user": "nobody"}):
            self.assertEqual(self.sets(scheduler, {}, **fields),
                             (self.KILL, self.KILL | self.CHOWN | self.NET_RAW)
                             if fields else (self.KILL | self.CHOWN | self.NET_RAW,) * 2)
            self.assertEqual(
                self.sets(scheduler, {"effective_capabilities": some,
                                      "bounding_capabilities": some}, **fields),
                (self.NET_RAW | self.CHOWN,) * 2)
            self.assertEqual(self.sets(scheduler, {
                "effective_capabilities": {}, "bounding_capabilities": {}}, **fields), (0, 0))

    def test_too_much(self):
        scheduler = self.subscribe()
        for info in ({"bounding_capabilities": {"capabilities": ["SYS_ADMIN"]}},
                     {"effective_capabilities": {"capabilities": ["SYS_ADMIN"]}},
                     {"effective_capabilities": {"capabilities": ["KILL"]},
                      "bounding_capabilities": {"capabilities": ["CHOWN"]}}):
            status = scheduler.wait_terminal(scheduler.run(
                "true", container={"type": "MESOS", "linux_info": info}))
            self.assertEqual((status["state"], status["reason"]),
                             ("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED"))


def delegating():
    """Whether systemd can give us a part of version 2; the reason if not."""
    if not unified():
        return "needs version 2"
    if os.geteuid() or not os.path.isdir("/run/systemd/system"):
        return "needs systemd, and root to ask it"
    return None


class Delegated(harness.TestCase):
    """An agent that is not root, in a group that systemd has delegated to its user."""
    agents = None

    def setUp(self):
        super().setUp()
        why = delegating()
        if why:
            self.skipTest(why)
        self.units = []
        self.addCleanup(lambda: [subprocess.run(["systemctl", "stop", unit], check=False)
                                 for unit in self.units])
        self.cluster = harness.Cluster(1, None, {
            "isolation": "cgroups/cpu,cgroups/mem,cgroups/pids", "switch_user": "false",
            "recovery_timeout": "1mins", "cgroups_enable_cfs": "true"})
        for path in (self.cluster.base, self.agent.work_dir):
            shutil.chown(path, "nobody")
        self.in_unit()
        self.cluster.start()
        self.scheduler = self.subscribe(user="nobody", checkpoint=True, failover_timeout=1000)

    def in_unit(self):
        self.units.append("mesita-%s.service" % str(uuid.uuid4())[:8])
        self.agent.prefix = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect",
                             "--unit=" + self.units[-1], "-p", "User=nobody", "-p",
                             "Delegate=yes", "-p", "KillMode=process"]

    def folder(self):
        return HIERARCHY + "/system.slice/%s/mesos" % self.units[-1]

    def test_limits(self):
        self.scheduler.run("exec sleep 1000", task_id="t", mem=64, cpus=0.5)
        status = self.scheduler.wait_state("t", "TASK_RUNNING")
        container = status["container_status"]["container_id"]["value"]
        with open("%s/%s/memory.max" % (self.folder(), container), encoding="ascii") as file:
            # What the command executor asks for comes to it.
            self.assertEqual(number(file.read()), 96 * MEGABYTE)
        self.scheduler.run(GREEDY, task_id="greedy", mem=32)
        status = self.scheduler.wait_terminal("greedy")
        self.assertEqual(status["reason"], "REASON_CONTAINER_LIMITATION_MEMORY")
        self.scheduler.kill("t")
        self.assertEqual(self.scheduler.wait_terminal("t")["state"], "TASK_KILLED")
        wait_for(lambda: not any(entry.is_dir() for entry in os.scandir(self.folder())),
                 "its groups go", 20)

    def test_a_restart_elsewhere(self):
        """The group of what runs is not below that of the new agent."""
        self.scheduler.run("exec sleep 4713", task_id="t")
        self.scheduler.wait_state("t", "TASK_RUNNING")
        subprocess.run(["systemctl", "kill", "--signal=KILL", "--kill-whom=main", self.units[-1]],
                       check=True)
        self.agent.process.wait()
        self.in_unit()
        self.agent.start().wait_registered()
        self.scheduler.kill("t")
        self.assertEqual(self.scheduler.wait_terminal("t")["state"], "TASK_KILLED")
        wait_for(lambda: not sleepers("4713", self.agent.work_dir), "it ends", 20)


class Undelegated(harness.TestCase):
    """What one who is not root is told where nothing was delegated."""
    agents = None

    def test_how_to_have_it(self):
        if not unified() or os.geteuid():
            self.skipTest("needs version 2, and root to be somebody else")
        folder = self.temporary()
        os.chmod(folder, 0o777)
        out = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.MESITA,
             "agent", "--master=127.0.0.1:1", "--work_dir=" + folder + "/a",
             "--runtime_dir=" + folder + "/r", "--isolation=cgroups/cpu", "--ip=127.0.0.1",
             "--port=%d" % harness.free_port()], stderr=subprocess.PIPE, text=True, check=False)
        self.assertIn("systemd-run --user --scope -p Delegate=yes", out.stderr)
