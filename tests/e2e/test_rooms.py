"""What containers have of their own besides limits: namespaces, and volumes that are mounted."""

import base64
import json
import os
import pwd
import shutil
import subprocess
import tempfile

import harness
from harness import wait_for
from scheduler import task
from test_groups import default_executor


def usable():
    """Whether namespaces can be made here; the reason if not."""
    made = subprocess.run(["unshare", "-m", "-p", "-i", "-f", "true"], capture_output=True,
                          check=False)
    return None if made.returncode == 0 else made.stderr.decode()


def container(volumes=(), linux=None, **fields):
    info = {"type": "MESOS", "volumes": list(volumes), **fields}
    if linux:
        info["linux_info"] = linux
    return info


def host_path(path, inside, mode="RW"):
    return {"mode": mode, "container_path": inside,
            "source": {"type": "HOST_PATH", "host_path": {"path": path}}}


def sandbox_path(path, inside, kind="SELF", mode="RW"):
    return {"mode": mode, "container_path": inside, "source": {
        "type": "SANDBOX_PATH", "sandbox_path": {"type": kind, "path": path}}}


def secret(text, inside):
    return {"mode": "RO", "container_path": inside, "source": {
        "type": "SECRET", "secret": {"type": "VALUE", "value": {
            "data": base64.b64encode(text.encode()).decode()}}}}


class Rooms(harness.TestCase):
    agent_flags = {
        "isolation": "filesystem/linux,namespaces/pid,namespaces/ipc,volume/host_path,"
                     "volume/sandbox_path,volume/secret,linux/capabilities,posix/rlimits",
        "executor_shutdown_grace_period": "3secs", "recovery_timeout": "1mins"}

    def setUp(self):
        why = usable()
        if why:
            self.skipTest("no namespaces: " + why)
        super().setUp()
        self.scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])
        self.outside = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.outside)

    def sandbox(self, task_id):
        return self.agent.sandbox(self.scheduler.id, task_id)

    def output(self, task_id, name="stdout"):
        with open(os.path.join(self.sandbox(task_id), name), encoding="utf-8") as file:
            return file.read()

    def finished(self, command, **options):
        """What a task printed that has finished."""
        task_id = self.scheduler.run(command, **options)
        status = self.scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_FINISHED",
                         "%s: %s" % (status.get("message"), self.output(task_id, "stderr")))
        return self.output(task_id)

    def failed(self, command, **options):
        task_id = self.scheduler.run(command, **options)
        status = self.scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_FAILED")
        return task_id, status.get("message", "")

    def started(self, command="echo started; exec sleep 1000", **options):
        task_id = self.scheduler.run(command, **options)
        self.scheduler.wait_state(task_id, "TASK_RUNNING")
        wait_for(lambda: "started" in self.output(task_id), "the task runs", 20)
        return task_id

    def execute(self, task_id, *arguments):
        return harness.run(["exec", "--master=%s:%d" % self.master.address, task_id]
                           + list(arguments))


class Namespaces(Rooms):
    def test_processes_are_its_own(self):
        lines = self.finished("kill -0 %d || echo no such; ps -e -o comm=" % os.getpid()).split("\n")
        self.assertEqual(lines[:2], ["no such", "mesita"])
        self.assertLess(len(lines), 6)
        listed = self.finished("readlink /proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/mnt; "
                               "readlink /proc/self/ns/net").split()
        for name, one in zip(("pid", "ipc", "mnt"), listed):
            self.assertNotEqual(one, os.readlink("/proc/self/ns/" + name))
        self.assertEqual(listed[3], os.readlink("/proc/self/ns/net"))

    def test_it_may_ask_for_the_machines(self):
        linux = {"share_pid_namespace": True, "ipc_mode": "SHARE_PARENT"}
        listed = self.finished("readlink /proc/self/ns/pid /proc/self/ns/ipc",
                               container=container(linux=linux)).split()
        self.assertEqual(listed, [os.readlink("/proc/self/ns/pid"),
                                  os.readlink("/proc/self/ns/ipc")])

    def test_how_it_ends_is_told(self):
        for command, message in (("exit 7", "Command exited with status 7"),
                                 ("kill -9 $$", "Command terminated with signal Killed"),
                                 ("kill -SEGV $$",
                                  "Command terminated with signal Segmentation fault")):
            self.assertIn(message, self.failed(command)[1])
        task_id, message = self.failed({"shell": False, "value": "/no/such/program"})
        self.assertIn("status 1", message)
        self.assertIn("/no/such/program", self.output(task_id, "stderr"))

    def test_a_kill_is_heard_once(self):
        task_id = self.started("trap 'echo heard' TERM; echo started; "
                               "while sleep 0.1; do grep -q heard stdout && exit 3; done")
        self.scheduler.kill(task_id)
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        self.assertEqual(self.output(task_id).count("heard"), 1)

    def test_nothing_outlives_it(self):
        mark = "1%06d" % os.getpid()
        self.finished("setsid sleep %s & setsid sh -c 'sleep %s & sleep %s' & echo; sleep 0.2"
                      % (mark, mark, mark))
        found = subprocess.run(["pgrep", "-f", "sleep " + mark], capture_output=True, check=False)
        self.assertEqual(found.stdout, b"")

    def test_it_is_entered(self):
        task_id = self.started("export LATER=no; echo started; exec sleep 1000")
        own = self.execute(task_id, "readlink", "/proc/self/ns/pid")[1].strip()
        self.assertNotEqual(own, os.readlink("/proc/self/ns/pid"))
        self.assertEqual(self.execute(task_id, "readlink", "/proc/1/ns/pid")[1].strip(), own)
        self.assertEqual(self.execute(task_id, "sh", "-c", "kill -0 1 && exit 5")[0], 5)
        sandbox = os.path.realpath(self.sandbox(task_id))
        self.assertEqual(self.execute(task_id, "pwd")[1], sandbox + "\n")
        self.assertIn("MESOS_SANDBOX=" + sandbox, self.execute(task_id, "env")[1])
        self.assertNotIn("AUTHENTICATION_TOKEN", self.execute(task_id, "env")[1])

    def test_checks_are_made_inside(self):
        check = {"type": "COMMAND", "command": {"command": {"value": "test $(cat /proc/1/comm) = "
                                                                     "mesita && exit 9"}},
                 "interval_seconds": 0.2, "delay_seconds": 0}
        task_id = self.scheduler.run("sleep 1000", check=check)
        wait_for(lambda: any(s.get("check_status", {}).get("command", {}).get("exit_code") == 9
                             for s in self.scheduler.updates.get(task_id, [])),
                 "the check's exit status", 20)

    def test_a_groups_tasks(self):
        offer = self.scheduler.offer(cpus=0.4)
        show = "readlink /proc/self/ns/pid; echo started; sleep 1000"
        apart = task(offer, show)
        together = task(offer, show, container=container(linux={"share_pid_namespace": True}))
        executor = default_executor()
        self.scheduler.launch_group(offer, executor, [apart, together])
        seen = []
        for info in (apart, together):
            status = self.scheduler.wait_state(info["task_id"]["value"], "TASK_RUNNING")
            folder = self.sandbox(executor["executor_id"]["value"])
            path = "%s/containers/%s/stdout" % (
                folder, status["container_status"]["container_id"]["value"])
            wait_for(lambda p=path: "started" in open(p, encoding="utf-8").read(), "it runs", 20)
            with open(path, encoding="utf-8") as file:
                seen.append(file.read().split()[0])
        machine = os.readlink("/proc/self/ns/pid")
        self.assertEqual(len({machine, *seen}), 3)
        # What they share is the executor's, in which its init is the first.
        self.assertEqual(self.execute(together["task_id"]["value"], "sh", "-c",
                                      "readlink /proc/self/ns/pid; tr '\\0' ' ' </proc/1/cmdline")
                         [1].split()[:3], [seen[1], "mesita", "init"])

    def test_limits_and_capabilities_are_its_own(self):
        linux = {"effective_capabilities": {"capabilities": ["NET_RAW"]}}
        info = container(linux=linux, rlimit_info={
            "rlimits": [{"type": "RLMT_NOFILE", "soft": 77, "hard": 78}]})
        lines = self.finished("grep CapEff /proc/self/status; ulimit -Sn; ulimit -Hn",
                              container=info).split()
        self.assertEqual((int(lines[1], 16), lines[2:]), (1 << 13, ["77", "78"]))

    def test_its_user(self):
        user = pwd.getpwnam("nobody")
        info = {"shell": True, "value": "id -u; id -g; touch mine; stat -c %u mine",
                "user": "nobody"}
        self.assertEqual(self.finished(info).split(),
                         [str(user.pw_uid), str(user.pw_gid), str(user.pw_uid)])

    def test_shared_memory(self):
        linux = {"ipc_mode": "PRIVATE", "shm_size": 3}
        self.assertEqual(self.finished("df --output=size -B1M /dev/shm | tail -1; ls /dev/shm",
                                       container=container(linux=linux)).split(), ["3"])

    def test_an_agent_that_is_killed_and_comes_back(self):
        task_id = self.started("echo started; until [ -e go ]; do sleep 0.05; done; exit 5")
        self.agent.kill()
        self.agent.start().wait_registered()
        with open(os.path.join(self.sandbox(task_id), "go"), "w", encoding="utf-8"):
            pass
        self.assertIn("status 5", self.scheduler.wait_terminal(task_id)["message"])


class Volumes(Rooms):
    def test_paths_of_the_machine(self):
        with open(self.outside + "/here", "w", encoding="utf-8") as file:
            file.write("content")
        volumes = [host_path(self.outside, "in/side"), host_path(self.outside, "kept", "RO")]
        self.assertEqual(self.finished(
            "cat in/side/here; echo new > in/side/new; echo no > kept/no || echo; cat kept/new",
            container=container(volumes)), "content\nnew\n")
        self.assertEqual(sorted(os.listdir(self.outside)), ["here", "new"])

    def test_a_file_and_the_older_way(self):
        with open(self.outside + "/one", "w", encoding="utf-8") as file:
            file.write("file")
        volume = {"mode": "RO", "host_path": self.outside + "/one", "container_path": "as/this"}
        self.assertEqual(self.finished("cat as/this; echo >> as/this || echo no",
                                       container=container([volume])), "fileno\n")

    def test_over_what_the_machine_has(self):
        # At a place that is there already, and seen by nobody else.
        with open(self.outside + "/seen", "w", encoding="utf-8"):
            pass
        self.assertEqual(self.finished("ls /mnt", container=container(
            [host_path(self.outside, "/mnt")])), "seen\n")
        self.assertNotIn("seen", os.listdir("/mnt"))
        task_id, message = self.failed("true", container=container(
            [host_path(self.outside, "/no/such/place")]))
        self.assertIn("/no/such/place", self.output(task_id, "stderr"), message)
        self.assertFalse(os.path.exists("/no"))

    def test_what_is_not_there(self):
        _, message = self.failed("true", container=container([host_path("/no/such", "x")]))
        self.assertIn("Path '/no/such' in HOST_PATH volume does not exist", message)

    def test_of_its_own_sandbox(self):
        self.assertEqual(self.finished(
            "echo x > within/deep/made; cat elsewhere/made",
            container=container([sandbox_path("elsewhere", "within/deep")])), "x\n")

    def test_paths_lead_nowhere_else(self):
        for volume in (sandbox_path("../up", "x"), sandbox_path("/etc", "x"),
                       host_path(self.outside, "../../x"), sandbox_path("x", "y", "PARENT")):
            self.failed("true", container=container([volume]))

    def test_links_are_not_followed(self):
        # What is fetched may be anything; the link is what the owner of a sandbox could make.
        os.symlink("/etc", self.outside + "/link")
        subprocess.run(["tar", "-C", self.outside, "-cf", self.outside + "/l.tar", "link"],
                       check=True)
        command = {"shell": True, "value": "ls inside",
                   "uris": [{"value": self.outside + "/l.tar", "extract": True}]}
        self.failed(command, container=container([sandbox_path("link", "inside")]))
        self.failed(command, container=container([host_path(self.outside, "link/there")]))
        self.assertFalse(os.path.exists("/etc/there"))

    def test_secrets(self):
        task_id = self.started("cat where/secret; stat -c %a where/secret; echo started; "
                               "exec sleep 1000",
                               container=container([secret("hush\n", "where/secret")]))
        self.assertEqual(self.output(task_id), "hush\n400\nstarted\n")
        with open(os.path.join(self.sandbox(task_id), "where/secret"), "rb") as file:
            self.assertEqual(file.read(), b"")
        reference = {"mode": "RO", "container_path": "s", "source": {
            "type": "SECRET", "secret": {"type": "REFERENCE", "reference": {"name": "n"}}}}
        self.assertIn("secret resolver",
                      self.failed("true", container=container([reference]))[1])

    def test_of_a_parents_sandbox(self):
        offer = self.scheduler.offer(cpus=0.4)
        writer = task(offer, "echo shared > /mnt/word; sleep 1000", container=container(
            [sandbox_path("common", "/mnt", "PARENT")]))
        reader = task(offer, "until cat /mnt/word; do sleep 0.05; done; sleep 1000",
                      container=container([sandbox_path("common", "/mnt", "PARENT", "RO")]))
        executor = default_executor()
        self.scheduler.launch_group(offer, executor, [writer, reader])
        status = self.scheduler.wait_state(reader["task_id"]["value"], "TASK_RUNNING")
        folder = self.sandbox(executor["executor_id"]["value"])
        path = "%s/containers/%s/stdout" % (
            folder, status["container_status"]["container_id"]["value"])
        wait_for(lambda: open(path, encoding="utf-8").read() == "shared\n", "the word", 20)
        self.assertTrue(os.path.exists(folder + "/common/word"))


class NotAllowed(harness.TestCase):
    def refused(self, flags, *words):
        code, _, errors = harness.run(
            ["agent", "--master=127.0.0.1:1", "--work_dir=" + tempfile.gettempdir()] + flags)
        self.assertNotEqual(code, 0)
        for word in words:
            self.assertIn(word, errors)

    def test_combinations(self):
        self.refused(["--isolation=volume/host_path"], "filesystem/linux")
        self.refused(["--image_providers=docker"], "filesystem/linux")
        self.refused(["--image_providers=appc", "--isolation=filesystem/linux"], "appc")
        self.refused(["--image_provisioner_backend=aufs"], "overlay or copy")

    def test_volumes_that_are_not_enabled(self):
        if usable():
            self.skipTest("no namespaces")
        self.agent.terminate()
        self.agent.flags["isolation"] = "filesystem/linux"
        self.agent.start()
        scheduler = self.subscribe()
        task_id = scheduler.run("true", container=container([host_path("/etc", "x")]))
        self.assertIn("volume/host_path", scheduler.wait_terminal(task_id)["message"])


PROFILES = {
    "no-mkdir": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir", "mkdirat", "no_such_call"], "action": "SCMP_ACT_ERRNO"}]},
    "errno": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 28}]},
    # chmod to this mode alone.
    "argument": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["chmod"], "action": "SCMP_ACT_ERRNO", "args": [
            {"index": 1, "value": 0o777, "valueTwo": 0, "op": "SCMP_CMP_EQ"}]},
        {"names": ["fchmodat"], "action": "SCMP_ACT_ERRNO", "args": [
            {"index": 2, "value": 0o777, "valueTwo": 0, "op": "SCMP_CMP_EQ"}]}]},
    "by-capability": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO",
         "excludes": {"caps": ["CAP_NET_RAW"]}},
        {"names": ["rmdir", "unlinkat"], "action": "SCMP_ACT_ERRNO",
         "includes": {"caps": ["CAP_NET_RAW"]}}]},
    "elsewhere": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO",
         "includes": {"arches": ["s390x"]}}]},
    "bad-action": {"defaultAction": "SCMP_ACT_PRAY"},
    "bad-rule": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir"], "action": "SCMP_ACT_ERRNO", "args": [
            {"index": 9, "value": 1, "op": "SCMP_CMP_EQ"}]}]},
}


def seccomp(name=None, **fields):
    return container(linux={"seccomp": dict({"profile_name": name} if name else {}, **fields)})


class SystemCalls(harness.TestCase):
    more = ""  # isolators

    def setUp(self):
        if os.geteuid():
            self.skipTest("needs root")
        self.profiles = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.profiles)
        for name, profile in PROFILES.items():
            with open(os.path.join(self.profiles, name), "w", encoding="utf-8") as file:
                json.dump(profile, file)
        self.agent_flags = {
            "isolation": "linux/seccomp,linux/capabilities" + self.more,
            "seccomp_config_dir": self.profiles, "seccomp_profile_name": "no-mkdir"}
        super().setUp()
        self.scheduler = self.subscribe()

    def outcome(self, command, info=None):
        more = {"container": info} if info else {}
        return self.scheduler.wait_terminal(self.scheduler.run(command, **more))

    def assert_state(self, state, command, info=None):
        ended = self.outcome(command, info)
        self.assertEqual(ended["state"], state, ended.get("message"))
        return ended

    def test_profiles(self):
        self.assert_state("TASK_FAILED", "mkdir x")
        self.assert_state("TASK_FINISHED", "touch x; mkdir y && exit 1; exit 0")
        self.assert_state("TASK_FINISHED", "mkdir x", seccomp(unconfined=True))
        self.assert_state("TASK_FINISHED", "mkdir x 2>&1 | grep 'No space left'", seccomp("errno"))
        self.assert_state("TASK_FINISHED", "touch x; chmod 777 x && exit 1; chmod 776 x",
                          seccomp("argument"))
        self.assert_state("TASK_FINISHED", "mkdir x", seccomp("elsewhere"))

    def test_rules_that_depend_on_capabilities(self):
        self.assert_state("TASK_FINISHED", "mkdir x; rmdir x && exit 1; exit 0",
                          seccomp("by-capability"))
        without = container(linux={"seccomp": {"profile_name": "by-capability"},
                                   "effective_capabilities": {"capabilities": ["KILL"]}})
        self.assert_state("TASK_FAILED", "mkdir x", without)

    def test_what_is_no_profile(self):
        for name, word in (("bad-action", "no action"), ("bad-rule", "argument"),
                           ("nosuch", "nosuch"), ("../etc/passwd", "no name")):
            ended = self.assert_state("TASK_FAILED", "true", seccomp(name))
            self.assertIn("seccomp profile '%s'" % name, ended["message"])
            self.assertIn(word, ended["message"])


class SystemCallsInside(SystemCalls):
    """Of what has processes of its own."""
    more = ",namespaces/pid"

    def setUp(self):
        why = usable()
        if why:
            self.skipTest("no namespaces: " + why)
        super().setUp()
