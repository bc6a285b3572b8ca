"""Task groups on the default executor, and the containers inside of others that it has made."""

import json
import os
import threading
import uuid

import harness
from harness import wait_for
from scheduler import scalar, task


def default_executor(**fields):
    return {"type": "DEFAULT", "executor_id": {"value": "pod-" + str(uuid.uuid4())[:8]},
            "resources": [scalar("cpus", 0.1), scalar("mem", 32), scalar("disk", 1)], **fields}


class Groups(harness.TestCase):
    agent_flags = {"executor_shutdown_grace_period": "3secs", "recovery_timeout": "1mins"}

    def start(self, *commands, scheduler=None, executor=None, **fields):
        """(scheduler, executor, ids of the tasks)"""
        scheduler = scheduler or self.subscribe(
            capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])
        executor = executor or default_executor()
        offer = scheduler.offer(cpus=0.1 + 0.1 * len(commands))
        tasks = [task(offer, command, **fields) for command in commands]
        scheduler.launch_group(offer, executor, tasks)
        return scheduler, executor, [info["task_id"]["value"] for info in tasks]

    def running(self, *commands, **options):
        scheduler, executor, ids = self.start(*commands, **options)
        statuses = [scheduler.wait_state(task_id, "TASK_RUNNING") for task_id in ids]
        return scheduler, executor, ids, statuses

    def sandbox(self, scheduler, executor):
        return self.agent.sandbox(scheduler.id, executor["executor_id"]["value"])

    def read(self, path):
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path), "%s is written" % path, 20)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def gone(self, scheduler, executor):
        """The executor ends by itself, and nothing of it is left."""
        wait_for(lambda: not self.agent.state()["frameworks"] or not any(
            e["id"] == executor["executor_id"]["value"]
            for e in self.agent.state()["frameworks"][0]["executors"]), "the executor ends", 20)

    # -- lives

    def test_tasks_run_to_their_ends(self):
        scheduler, executor, ids = self.start("echo one", "echo $MESOS_SANDBOX; exit 0",
                                              "echo \"$MESOS_ALLOCATION_ROLE\" $MESOS_CONTAINER_IP"
                                              " ${MESOS_EXECUTOR_ID-unset}")
        for task_id in ids:
            self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
            self.assertEqual(scheduler.states(task_id),
                             ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"])
        folder = self.sandbox(scheduler, executor)
        self.assertEqual(self.read(folder + "/tasks/%s/stdout" % ids[0]), "one\n")
        self.assertEqual(os.path.realpath(self.read(folder + "/tasks/%s/stdout" % ids[1]).strip()),
                         os.path.realpath(folder + "/tasks/" + ids[1]))
        self.assertEqual(self.read(folder + "/tasks/%s/stdout" % ids[2]).split(),
                         ["*", "127.0.0.1", "unset"])
        self.assertEqual(harness.run(
            ["logs", "--master=%s:%d" % self.master.address, ids[0]])[:2], (0, "one\n"))
        self.gone(scheduler, executor)

    def test_what_statuses_say(self):
        scheduler, _, ids, (status, _) = self.running("sleep 1000", "sleep 1000")
        found = status["container_status"]
        self.assertTrue(harness.processes.alive(found["executor_pid"]))
        self.assertEqual(sorted(found["container_id"]), ["parent", "value"])
        self.assertEqual(found["network_infos"][0]["ip_addresses"][0]["ip_address"], "127.0.0.1")
        self.assertEqual(status["source"], "SOURCE_EXECUTOR")
        scheduler.kill(ids[0])
        ended = scheduler.wait_terminal(ids[0])
        self.assertEqual(sorted(ended["container_status"]), ["container_id"])
        wait_for(lambda: not harness.processes.alive(found["executor_pid"]), "its end", 20)

    def test_a_failure_ends_the_group(self):
        scheduler, executor, ids = self.start(
            "while [ ! -e stop ]; do sleep 0.05; done; exit 3", "sleep 1000", "exit 0")
        self.assertEqual(scheduler.wait_terminal(ids[2])["state"], "TASK_FINISHED")
        with open(self.sandbox(scheduler, executor) + "/tasks/%s/stop" % ids[0], "w",
                  encoding="ascii"):
            pass
        self.assertEqual(scheduler.wait_terminal(ids[0])["message"], "Command exited with status 3")
        self.assertEqual(scheduler.states(ids[0])[-1], "TASK_FAILED")
        self.assertEqual(scheduler.wait_terminal(ids[1])["message"],
                         "Command terminated with signal Terminated")
        self.assertEqual(scheduler.states(ids[1]),
                         ["TASK_STARTING", "TASK_RUNNING", "TASK_KILLING", "TASK_KILLED"])
        self.gone(scheduler, executor)

    def test_one_that_ends_well_ends_nothing(self):
        scheduler, _, ids = self.start("exit 0", "while [ ! -e stop ]; do sleep 0.05; done")
        scheduler.wait_terminal(ids[0])
        self.assertEqual(scheduler.states(ids[1])[-1], scheduler.wait_state(
            ids[1], "TASK_RUNNING")["state"])
        _, executor, more = self.start("exit 0", scheduler=scheduler, executor=None)
        self.assertEqual(scheduler.wait_terminal(more[0])["state"], "TASK_FINISHED")
        self.gone(scheduler, executor)
        self.assertEqual(scheduler.states(ids[1])[-1], "TASK_RUNNING")

    def test_groups_of_one_executor_do_not_share_their_fate(self):
        scheduler, executor, first, _ = self.running("sleep 1000", "sleep 1000")
        _, _, second, _ = self.running("sleep 1000", scheduler=scheduler, executor=executor)
        scheduler.kill(first[1])
        for task_id in first:
            self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        self.assertEqual(scheduler.states(second[0])[-1], "TASK_RUNNING")
        scheduler.kill(second[0])
        self.assertEqual(scheduler.wait_terminal(second[0])["state"], "TASK_KILLED")
        self.gone(scheduler, executor)

    def test_a_deaf_task_is_killed_after_its_grace_period(self):
        command = "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! > child; " \
                  "while :; do sleep 0.1; done"
        scheduler, executor, ids, _ = self.running(
            command, kill_policy={"grace_period": {"nanoseconds": 300000000}})
        child = int(self.read(self.sandbox(scheduler, executor) + "/tasks/%s/child" % ids[0]))
        scheduler.kill(ids[0])
        self.assertEqual(scheduler.wait_terminal(ids[0])["message"],
                         "Command terminated with signal Killed")
        wait_for(lambda: not harness.processes.alive(child), "its child ends", 20)

    def test_max_completion_time(self):
        scheduler, _, ids = self.start("sleep 1000",
                                       max_completion_time={"nanoseconds": 300000000})
        ended = scheduler.wait_terminal(ids[0])
        self.assertEqual((ended["state"], ended["reason"]),
                         ("TASK_FAILED", "REASON_MAX_COMPLETION_TIME_REACHED"))
        self.assertNotIn("TASK_KILLING", scheduler.states(ids[0]))

    def test_one_that_cannot_be_launched(self):
        scheduler = self.subscribe()
        offer = scheduler.offer(cpus=1)
        good, bad = task(offer, "sleep 1000"), task(offer, "true")
        bad["command"]["uris"] = [{"value": "/there/is/no/such/file"}]
        scheduler.launch_group(offer, default_executor(), [good, bad])
        ended = scheduler.wait_terminal(bad["task_id"]["value"])
        self.assertEqual(ended["state"], "TASK_FAILED")
        self.assertIn("Failed to fetch all URIs", ended["message"])
        self.assertEqual(scheduler.states(bad["task_id"]["value"]), ["TASK_STARTING", "TASK_FAILED"])
        self.assertEqual(scheduler.wait_terminal(good["task_id"]["value"])["state"], "TASK_KILLED")

    def test_health(self):
        scheduler, _, ids = self.start(
            "sleep 1000", "sleep 1000",
            health_check={"type": "COMMAND", "command": {"value": "false"}, "delay_seconds": 0,
                          "grace_period_seconds": 0, "interval_seconds": 0.1,
                          "consecutive_failures": 2})
        for task_id in ids:
            ended = scheduler.wait_terminal(task_id)
            self.assertEqual((ended["state"], ended["healthy"]), ("TASK_KILLED", False))

    def checks(self, scheduler, task_id):
        return [status["check_status"]["command"].get("exit_code")
                for status in scheduler.updates.get(task_id, ())
                if status.get("reason") == "REASON_TASK_CHECK_STATUS_UPDATED"]

    def check(self, command, **fields):
        return {"type": "COMMAND", "command": {"command": {"value": command}},
                "delay_seconds": 0, "interval_seconds": 0.05, **fields}

    def test_checks_run_inside_of_their_task(self):
        scheduler, executor, ids, _ = self.running(
            "sleep 1000", check=self.check("echo x >> seen; pwd > where; exit $(cat code || "
                                           "echo 4)"))
        wait_for(lambda: self.checks(scheduler, ids[0]) == [4], "the check's first result", 20)
        folder = os.path.realpath(self.sandbox(scheduler, executor) + "/tasks/" + ids[0])
        self.assertEqual(os.path.realpath(self.read(folder + "/where").strip()), folder)
        with open(folder + "/code.new", "w", encoding="ascii") as file:
            file.write("0")
        os.rename(folder + "/code.new", folder + "/code")
        wait_for(lambda: self.checks(scheduler, ids[0]) == [4, 0], "its next", 20)
        wait_for(lambda: len(self.read(folder + "/seen").split()) > 20, "it is made often", 30)
        # What is over is removed: there is no more than the task's, a check's, and one to come.
        self.assertLess(len(os.listdir(self.agent.work_dir + ".run/containers")), 4)
        scheduler.kill(ids[0])
        self.assertEqual(scheduler.wait_terminal(ids[0])["state"], "TASK_KILLED")

    def test_checks_that_hang_are_ended(self):
        scheduler, _, ids, _ = self.running(
            "sleep 1000", check=self.check("exec sleep 7653", timeout_seconds=0.1))
        folder = self.agent.work_dir
        before = set()

        def three_were():
            before.update(sleepers("7653", folder))
            return len(before) >= 3
        wait_for(three_were, "three checks", 20)
        self.assertLessEqual(len(sleepers("7653", folder)), 2)
        self.agent.kill().start().wait_registered()
        scheduler.kill(ids[0])
        scheduler.wait_terminal(ids[0])
        wait_for(lambda: not sleepers("7653", folder), "they end", 20)

    def test_what_they_use(self):
        _, executor, _, statuses = self.running(
            "sleep 1000", "x=$(head -c 30000000 /dev/zero | tr '\\0' x); sleep 1000")
        pids = {status["container_status"]["executor_pid"] for status in statuses}

        def containers(nested):
            status, _, body = harness.request(
                self.agent.address, "POST", "/api/v1",
                json.dumps({"type": "GET_CONTAINERS", "get_containers": {"show_nested": nested}}),
                {"Content-Type": "application/json", "Accept": "application/json"})
            self.assertEqual(status, 200)
            return json.loads(body)["get_containers"]["containers"]

        def all_seen():
            shown = {c["container_status"]["executor_pid"]: c for c in containers(True)}
            own = [c for c in shown.values() if "parent" not in c["container_id"]]
            return len(shown) == 3 and pids < set(shown) and \
                own[0]["resource_statistics"]["mem_rss_bytes"] > 30000000 and shown
        shown = wait_for(all_seen, "what the tasks use", 20)
        inside = [shown[pid] for pid in pids]
        for container in inside:
            self.assertEqual(container["executor_id"], executor["executor_id"])
            self.assertIn("parent", container["container_id"])
        own, = containers(False)
        self.assertEqual(own["container_id"], inside[0]["container_id"]["parent"])
        statistics, = self.agent.json("/monitor/statistics")
        self.assertGreater(statistics["statistics"]["mem_rss_bytes"], 30000000)

    def test_teardown_leaves_nothing(self):
        scheduler, executor, _, statuses = self.running("sleep 1000", "setsid sleep 1000")
        scheduler.teardown()
        for status in statuses:
            wait_for(lambda: not harness.processes.alive(
                status["container_status"]["executor_pid"]), "the tasks end", 20)
        wait_for(lambda: not self.agent.state()["frameworks"], "the framework is gone", 20)
        self.assertTrue(executor)

    # -- restarts

    def checkpointing(self):
        return self.subscribe(checkpoint=True, failover_timeout=1000,
                              capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def test_kill_9_of_the_agent(self):
        """Those that run go on; those that end meanwhile are told with how they ended."""
        command = "while [ ! -e stop ]; do sleep 0.05; done; exit $(cat stop)"
        scheduler, executor, ids, statuses = self.running(
            command, command, scheduler=self.checkpointing())
        folder = self.sandbox(scheduler, executor)
        self.agent.kill()
        with open(folder + "/tasks/%s/stop.new" % ids[0], "w", encoding="ascii") as file:
            file.write("0")
        os.rename(file.name, folder + "/tasks/%s/stop" % ids[0])
        wait_for(lambda: not harness.processes.alive(
            statuses[0]["container_status"]["executor_pid"]), "the task ends", 20)
        self.agent.start().wait_registered()
        self.assertEqual(scheduler.wait_terminal(ids[0])["state"], "TASK_FINISHED")
        self.assertEqual(scheduler.states(ids[1])[-1], "TASK_RUNNING")
        self.agent.kill()
        with open(folder + "/tasks/%s/stop.new" % ids[1], "w", encoding="ascii") as file:
            file.write("7")
        os.rename(file.name, folder + "/tasks/%s/stop" % ids[1])
        self.agent.start().wait_registered()
        self.assertEqual(scheduler.wait_terminal(ids[1])["message"], "Command exited with status 7")
        self.gone(scheduler, executor)

    def test_kill_after_a_restart(self):
        scheduler, _, ids, _ = self.running("sleep 1000", "sleep 1000",
                                            scheduler=self.checkpointing())
        self.agent.kill().start().wait_registered()
        scheduler.kill(ids[0])
        for task_id in ids:
            self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")

    def test_nothing_outlives_an_executor_that_dies(self):
        """With its agent up, and while that is down."""
        for agent_up in [True, False]:
            scheduler, executor, ids, statuses = self.running(
                "setsid sleep 1000 & echo $! > child; sleep 1000", scheduler=self.checkpointing())
            child = int(self.read(self.sandbox(scheduler, executor) + "/tasks/%s/child" % ids[0]))
            shown = [e for f in self.agent.state()["frameworks"] for e in f["executors"]
                     if e["id"] == executor["executor_id"]["value"]]
            pid = self.executor_pid(shown[0]["container"])
            if agent_up:
                os.kill(pid, 9)
            else:
                self.agent.kill()
                os.kill(pid, 9)
                self.agent.start().wait_registered()
            self.assertEqual(scheduler.wait_terminal(ids[0])["state"], "TASK_FAILED")
            for left in [statuses[0]["container_status"]["executor_pid"], child]:
                wait_for(lambda: not harness.processes.alive(left), "the task's processes end", 20)
            scheduler.teardown()

    def executor_pid(self, container):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read().split(b"\0")
                with open("/proc/%s/environ" % name, "rb") as file:
                    environment = file.read()
            except OSError:
                continue
            if b"default-executor" in words and container.encode() in environment:
                return int(name)
        raise AssertionError("no executor of container %s" % container)


class Containers(harness.TestCase):
    """The operator API, as others than the default executor use it."""

    agent_flags = {"recovery_timeout": "1mins"}

    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(checkpoint=True, failover_timeout=1000)
        self.task = self.scheduler.run("sleep 1000")
        status = self.scheduler.wait_state(self.task, "TASK_RUNNING")
        self.parent = status["container_status"]["container_id"]

    def post(self, kind, container_id, **fields):
        status, _, body = harness.request(
            self.agent.address, "POST", "/api/v1",
            json.dumps({"type": kind, kind.lower(): {"container_id": container_id, **fields}}),
            {"Content-Type": "application/json", "Accept": "application/json"})
        return status, body

    def launch(self, command, parent=None, kind="LAUNCH_CONTAINER", **fields):
        container_id = {"value": str(uuid.uuid4()), "parent": parent or self.parent}
        self.assertEqual(self.post(kind, container_id, command={"value": command}, **fields),
                         (200, b""))
        return container_id

    def wait(self, container_id):
        status, body = self.post("WAIT_CONTAINER", container_id)
        self.assertEqual(status, 200, body)
        return json.loads(body)["wait_container"]

    def folder(self, container_id):
        return os.path.join(self.agent.sandbox(self.scheduler.id, self.task), "containers",
                            container_id["value"])

    def test_lives(self):
        for command, status in [("exit 0", 0), ("exit 3", 768), ("kill -9 $$", 9)]:
            for kind in ["LAUNCH_CONTAINER", "LAUNCH_NESTED_CONTAINER"]:
                self.assertEqual(self.wait(self.launch(command, kind=kind))["exit_status"], status)

    def test_who_waits_hears_of_the_end(self):
        container_id = self.launch("while [ ! -e stop ]; do sleep 0.05; done")
        heard = []
        waiters = [threading.Thread(target=lambda: heard.append(self.wait(container_id)))
                   for _ in range(3)]
        for waiter in waiters:
            waiter.start()
        with open(self.folder(container_id) + "/stop", "w", encoding="ascii"):
            pass
        for waiter in waiters:
            waiter.join(20)
        self.assertEqual([h["exit_status"] for h in heard], [0, 0, 0])

    def test_removal(self):
        container_id = self.launch("echo > file")
        self.wait(container_id)
        self.assertTrue(os.path.exists(self.folder(container_id) + "/file"))
        self.assertEqual(self.post("REMOVE_CONTAINER", container_id)[0], 200)
        self.assertFalse(os.path.exists(self.folder(container_id)))
        self.assertEqual(self.post("WAIT_CONTAINER", container_id)[0], 404)

    def test_inside_of_one_inside(self):
        outer = self.launch("sleep 1000")
        inner = self.launch("echo $$ > pid; sleep 1000", parent=outer)
        self.assertTrue(os.path.isdir(os.path.join(self.folder(outer), "containers",
                                                   inner["value"])))
        self.assertEqual(self.post("KILL_CONTAINER", outer), (200, b""))
        self.assertEqual(self.wait(outer)["exit_status"], 9)
        self.assertEqual(self.wait(inner)["exit_status"], 9)

    def test_signals(self):
        container_id = self.launch("trap 'echo hup > heard' HUP; trap 'exit 5' USR1; "
                                   "echo > ready; while :; do sleep 0.02; done")
        wait_for(lambda: os.path.exists(self.folder(container_id) + "/ready"), "the trap is set")
        self.assertEqual(self.post("KILL_CONTAINER", container_id, signal=1)[0], 200)
        wait_for(lambda: os.path.exists(self.folder(container_id) + "/heard"), "SIGHUP arrives")
        self.assertEqual(self.post("KILL_CONTAINER", container_id, signal=10)[0], 200)
        self.assertEqual(self.wait(container_id)["exit_status"], 5 << 8)

    def test_volumes_of_the_parent(self):
        folder = self.agent.sandbox(self.scheduler.id, self.task)
        os.mkdir(folder + "/shared")

        def volume(path, container_path, kind="PARENT"):
            return {"type": "MESOS", "volumes": [{
                "mode": "RW", "container_path": container_path,
                "source": {"type": "SANDBOX_PATH", "sandbox_path": {"type": kind, "path": path}}}]}
        container_id = self.launch("echo hello > data/file", container=volume("shared", "data"))
        self.assertEqual(self.wait(container_id)["exit_status"], 0)
        with open(folder + "/shared/file", encoding="ascii") as file:
            self.assertEqual(file.read(), "hello\n")
        for bad in [volume("../../other", "data"), volume("shared", "../data"),
                    volume("shared", "/data"), volume("shared", "data", "SELF")]:
            status, body = self.post(
                "LAUNCH_CONTAINER", {"value": "x", "parent": self.parent},
                command={"value": "true"}, container=bad)
            self.assertEqual((status, body),
                             (400, b"Volumes in ContainerInfo is not supported"))

    def test_found_again_after_kill_9(self):
        running = self.launch("while [ ! -e stop ]; do sleep 0.05; done; exit 6")
        ended = self.launch("exit 4")
        self.assertEqual(self.wait(ended)["exit_status"], 4 << 8)
        self.agent.kill().start().wait_registered()
        self.assertEqual(self.wait(ended)["exit_status"], 4 << 8)
        with open(self.folder(running) + "/stop", "w", encoding="ascii"):
            pass
        self.assertEqual(self.wait(running)["exit_status"], 6 << 8)

    def test_killed_agents_leave_none_behind(self):
        """kill -9 at some moment of a launch; then the executor goes, and all that was inside."""
        for after in range(8):
            launcher = threading.Thread(target=lambda: self.post(
                "LAUNCH_CONTAINER", {"value": "n%d" % after, "parent": self.parent},
                command={"value": "exec sleep 7654"}))
            launcher.start()
            # No condition can be waited for: the moment is the point, and differs by itself.
            launcher.join(after * 0.002)
            self.agent.kill()
            launcher.join(20)
            self.agent.start().wait_registered()
        self.scheduler.kill(self.task)
        self.scheduler.wait_terminal(self.task)
        wait_for(lambda: not sleepers("7654", self.agent.work_dir), "all of them end", 20)
        wait_for(lambda: not os.listdir(self.agent.work_dir + ".run/containers"),
                 "no status is kept", 20)


def sleepers(seconds, work_dir):
    """Processes of `sleep SECONDS` below the agent's directory."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink("/proc/%s/cwd" % name).startswith(work_dir):
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if file.read() == b"sleep\0%s\0" % seconds.encode():
                        found.append(int(name))
        except OSError:
            pass
    return found


class FromTheCommandLine(harness.TestCase):
    """`mesita run --group`."""

    def run_group(self, group, *flags):
        return harness.run(["run", "--master=%s:%d" % self.master.address, "--name=job",
                            "--group=" + group, *flags])

    def task(self, command, **fields):
        return {"command": {"value": command}, "resources": [scalar("cpus", 0.1),
                                                             scalar("mem", 32)], **fields}

    def test_a_group(self):
        path = os.path.join(self.temporary(), "group.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"tasks": [
                self.task("echo one"), self.task("echo two", task_id={"value": "mine"})]}, file)
        status, output, errors = self.run_group(path, "--json")
        self.assertEqual((status, errors), (0, ""))
        ended = {line["task"]: line for line in map(json.loads, output.splitlines())
                 if line.get("state") == "TASK_FINISHED"}
        self.assertEqual({name: line["output"] for name, line in ended.items()},
                         {"job.1": "one", "mine": "two"})

    def test_one_fails(self):
        status, output, _ = self.run_group(json.dumps({"tasks": [
            self.task("exit 3"), self.task("sleep 1000")]}))
        self.assertEqual(status, 1)
        self.assertIn("job.1 failed", output)
        self.assertIn("Command exited with status 3", output)
        self.assertIn("TASK_KILLED", output)
        self.assertIn("0 of 2 tasks finished", output)

    def test_what_is_no_group(self):
        for group, why in (("/no/such/file", "No such file"), ("{", "syntax error"),
                           ("{}", "it has no tasks"), ('{"tasks":[]}', "it has no tasks"),
                           ('{"tasks":[5]}', "--group is no TaskGroupInfo"),
                           ('{"tasks":7}', "--group is no TaskGroupInfo")):
            status, _, errors = self.run_group(group)
            self.assertEqual(status, 1, group)
            self.assertIn("--group is no TaskGroupInfo", errors)
            self.assertIn(why, errors)
        status, _, errors = self.run_group("{}", "--command=true")
        self.assertEqual(status, 1)
        self.assertIn("--group goes with none of", errors)
