"""Tasks in Docker containers: with a program that understands what docker does, and with podman
where it works."""

import base64
import functools
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile

import harness
from harness import wait_for
from scheduler import task

# Containers are processes of this machine; what docker was asked is in `asked`.
PROGRAM = r"""#!/bin/bash
cd "$(dirname "$0")"
printf '%s\n' "$*" >> asked
verb=$1
name=${@: -1}
case $verb in
run)
	[ ! -e broken ] || { echo "cannot run" >&2; exit 125; }
	while [ "$1" != --name ]; do shift; done
	name=$2
	shift 3
	# Not there at once, as with a daemon that has to load an image.
	while [ -e slow ]; do sleep 0.02; done
	setsid sh "$@" &
	echo $! > "$name.pid"
	wait $!
	;;
inspect)
	pid=$(cat "$name.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null || exit 1
	echo '[{"State":{"Running":true},"NetworkSettings":{"IPAddress":"10.9.8.7"}}]'
	;;
stop)
	pid=$(cat "$name.pid" 2>/dev/null) || exit 1
	kill -TERM -- -"$pid"
	for i in $(seq "$3"0); do kill -0 "$pid" 2>/dev/null || exit 0; sleep 0.1; done
	kill -KILL -- -"$pid"
	;;
rm)
	pid=$(cat "$name.pid" 2>/dev/null) && kill -KILL -- -"$pid" 2>/dev/null
	rm -f "$name.pid"
	;;
exec) shift 2; exec "$@" ;;
pull) [ "$2" != nowhere ] ;;
esac
"""


def docker(image="image", **fields):
    return {"type": "DOCKER", "docker": {"image": image, **fields}}


class Docker(harness.TestCase):
    agents = None
    agent_flags = {"containerizers": "mesos,docker", "recovery_timeout": "1mins",
                   "executor_shutdown_grace_period": "3secs"}

    def setUp(self):
        super().setUp()
        self.folder = self.temporary()
        self.program = os.path.join(self.folder, "docker")
        with open(self.program, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)
        self.cluster = harness.Cluster(1, {}, dict(
            self.agent_flags, docker=self.program)).start()
        self.scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def asked(self, verb):
        try:
            with open(self.folder + "/asked", encoding="utf-8") as file:
                return [line for line in file.read().splitlines() if line.split()[0] == verb]
        except FileNotFoundError:
            return []

    def marks(self):
        """Of containers that may be there."""
        folder = self.agent.flags["runtime_dir"] + "/containers"
        return [name for name in os.listdir(folder) if name.endswith(".docker")]

    def run_docker(self, command, container=None, **fields):
        return self.scheduler.run(command, container=container or docker(), **fields)

    def test_its_life(self):
        task_id = self.run_docker("sleep 1000")
        status = self.scheduler.wait_state(task_id, "TASK_RUNNING")
        found = status["container_status"]
        self.assertEqual(found["network_infos"][0]["ip_addresses"][0]["ip_address"], "10.9.8.7")
        inspected = json.loads(base64.b64decode(status["data"]))
        self.assertTrue(inspected[0]["State"]["Running"])
        name = "mesos-" + found["container_id"]["value"]
        self.assertIn("--name %s image -c sleep 1000" % name, self.asked("run")[0])
        self.scheduler.kill(task_id)
        ended = self.scheduler.wait_terminal(task_id)
        self.assertEqual((ended["state"], ended["message"]),
                         ("TASK_KILLED", "Container exited with status 143"))
        self.assertEqual(self.scheduler.states(task_id),
                         ["TASK_STARTING", "TASK_RUNNING", "TASK_KILLING", "TASK_KILLED"])
        self.assertEqual(self.asked("stop"), ["stop -t 3 " + name])
        wait_for(lambda: self.asked("rm") == ["rm -f -v " + name], "it is removed", 20)
        wait_for(lambda: not self.marks(), "nothing is kept of it", 20)

    def test_ends(self):
        for command, state, message in (
                ("exit 0", "TASK_FINISHED", "Container exited with status 0"),
                ("exit 7", "TASK_FAILED", "Container exited with status 7")):
            ended = self.scheduler.wait_terminal(self.run_docker(command))
            self.assertEqual((ended["state"], ended["message"]), (state, message))
        ended = self.scheduler.wait_terminal(self.run_docker("true", container=docker(
            "nowhere", force_pull_image=True)))
        self.assertEqual(ended["state"], "TASK_FAILED")
        self.assertIn("pull nowhere': exited with status 1", ended["message"])
        task_id = self.run_docker("true", container=docker(force_pull_image=True))
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        ended = self.scheduler.wait_terminal(self.run_docker(
            {"value": "true", "uris": [{"value": "/no/such/file"}]}))
        self.assertEqual(ended["reason"], "REASON_CONTAINER_LAUNCH_FAILED")
        wait_for(lambda: not self.marks(), "nothing is kept of them", 20)
        with open(self.folder + "/broken", "w", encoding="ascii"):
            pass
        ended = self.scheduler.wait_terminal(self.run_docker("true"))
        self.assertEqual(ended["message"], "Container exited with status 125")

    def test_killed_before_it_is_there(self):
        with open(self.folder + "/slow", "w", encoding="ascii"):
            pass
        task_id = self.run_docker("sleep 1000")
        wait_for(lambda: self.asked("run"), "docker run", 20)
        self.scheduler.kill(task_id)
        self.scheduler.wait_state(task_id, "TASK_KILLING")
        wait_for(lambda: self.asked("stop"), "docker stop", 20)
        os.unlink(self.folder + "/slow")
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        self.assertNotIn("TASK_RUNNING", self.scheduler.states(task_id))

    def test_what_does_not_listen_is_killed(self):
        task_id = self.run_docker("trap '' TERM; while :; do sleep 0.1; done", kill_policy={
            "grace_period": {"nanoseconds": 1000000000}})
        self.scheduler.wait_state(task_id, "TASK_RUNNING")
        self.scheduler.kill(task_id)
        ended = self.scheduler.wait_terminal(task_id)
        self.assertEqual((ended["state"], ended["message"]),
                         ("TASK_KILLED", "Container exited with status 137"))

    def test_health(self):
        flag = os.path.join(self.folder, "ill")
        task_id = self.run_docker("sleep 1000", health_check={
            "type": "COMMAND", "command": {"value": "[ ! -e %s ]" % flag}, "delay_seconds": 0,
            "interval_seconds": 0.1, "grace_period_seconds": 0, "consecutive_failures": 2})
        wait_for(lambda: any(s.get("healthy") for s in self.scheduler.updates.get(task_id, ())),
                 "it is healthy", 20)
        with open(flag, "w", encoding="ascii"):
            pass
        ended = self.scheduler.wait_terminal(task_id)
        self.assertEqual((ended["state"], ended["healthy"]), ("TASK_KILLED", False))
        self.assertIn("/bin/sh -c [ ! -e %s ]" % flag, self.asked("exec")[0])
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            task_id = self.run_docker("sleep 1000", health_check={
                "type": "TCP", "tcp": {"port": listening.getsockname()[1]}, "delay_seconds": 0,
                "interval_seconds": 0.1})
            wait_for(lambda: any(s.get("healthy") for s in self.scheduler.updates[task_id]),
                     "it is healthy", 20)

    def pid(self):
        name = next(n for n in os.listdir(self.folder) if n.endswith(".pid"))
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            return int(file.read())

    def test_it_outlives_its_agent_and_not_its_executor(self):
        task_id = self.run_docker("sleep 1000")
        status = self.scheduler.wait_state(task_id, "TASK_RUNNING")
        pid = self.pid()
        self.agent.kill().start().wait_registered()
        self.assertTrue(harness.processes.alive(pid))
        self.agent.kill()
        os.kill(status["container_status"]["executor_pid"], 9)
        self.assertTrue(harness.processes.alive(pid))
        self.agent.start().wait_registered()
        self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FAILED")
        wait_for(lambda: not harness.processes.alive(pid), "the container is removed", 20)

    def test_from_the_command_line(self):
        self.scheduler.teardown()
        for flag in ("image", "docker_image"):
            status, output, errors = harness.run(
                ["run", "--master=%s:%d" % self.master.address, "--%s=box:1" % flag, "--follow",
                 "--command=echo in $0"])
            self.assertEqual(status, 0, errors)
            self.assertIn(" box:1 -c echo in $0", self.asked("run")[-1])
            self.assertIn("\nin sh\n", output)
        harness.run(["run", "--master=%s:%d" % self.master.address, "--image=box:1", "--",
                     "program", "one", "two words"])
        self.assertTrue(self.asked("run")[-1].endswith(" box:1 program one two words"))

    def test_executors_are_not_run_in_it(self):
        offer = self.scheduler.offer(cpus=1)
        info = task(offer, None, executor={
            "executor_id": {"value": "e"}, "command": {"value": "sleep 1000"},
            "container": docker()})
        self.scheduler.launch(offer, [info])
        ended = self.scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual((ended["state"], ended["message"]),
                         ("TASK_FAILED", "Abnormal executor termination: unknown container"))
        self.assertEqual(self.asked("run"), [])


SETTINGS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""


def image():
    """A root file system of busybox, as a tar archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(os.path.realpath(shutil.which("busybox")), "bin/busybox")
        for name in ("sh", "echo", "cat", "sleep", "httpd", "id"):
            link = tarfile.TarInfo("bin/" + name)
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return data.getvalue()


@functools.lru_cache(1)
def podman():
    """(settings of podman, with an image localhost/box:1; why it cannot be used)"""
    if os.geteuid() or not shutil.which("podman") or not shutil.which("busybox"):
        return None, "needs root, podman, runc and busybox"
    folder = harness.tempfile.mkdtemp(prefix="mesita-podman-")
    settings = folder + "/containers.conf"
    with open(settings, "w", encoding="ascii") as file:
        file.write(SETTINGS)
    environment = dict(os.environ, CONTAINERS_CONF=settings)
    try:
        subprocess.run(["podman", "import", "-c", "ENV FROM_IMAGE=yes", "-", "localhost/box:1"],
                       input=image(), env=environment, check=True, capture_output=True,
                       timeout=120)
        subprocess.run(["podman", "run", "--rm", "--net", "host", "localhost/box:1", "/bin/id"],
                       env=environment, check=True, capture_output=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return None, "podman does not work here: %s" % (error.stderr or b"").decode()[-200:]
    return settings, None


class Podman(harness.TestCase):
    agents = None

    def setUp(self):
        settings, why = podman()
        if why:
            self.skipTest(why)
        super().setUp()
        self.cluster = harness.Cluster(1, {}, {
            "containerizers": "mesos,docker", "docker": "podman",
            "executor_environment_variables": json.dumps(
                {"CONTAINERS_CONF": settings, "PATH": os.environ["PATH"]})}).start()
        self.scheduler = self.subscribe(capabilities=["MULTI_ROLE", "TASK_KILLING_STATE"])

    def test_a_web_server(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        task_id = self.scheduler.run(
            "echo $FROM_IMAGE > /mnt/mesos/sandbox/index.html; "
            "exec httpd -f -p 127.0.0.1:%d -h $MESOS_SANDBOX" % port,
            container=docker("localhost/box:1"), mem=64)
        status = self.scheduler.wait_state(task_id, "TASK_RUNNING", timeout=60)
        self.assertTrue(status["data"])

        def served():
            try:
                connection = harness.connections.connect(("127.0.0.1", port), 5)
                connection.request("GET", "/index.html")
                return connection.getresponse().read()
            except OSError:
                return None

        wait_for(lambda: served() == b"yes\n", "the page is served", 30)
        with open(self.agent.sandbox(self.scheduler.id, task_id) + "/index.html",
                  encoding="ascii") as file:
            self.assertEqual(file.read(), "yes\n")
        self.scheduler.kill(task_id)
        self.assertEqual(self.scheduler.wait_terminal(task_id, 60)["state"], "TASK_KILLED")
        name = "mesos-" + status["container_status"]["container_id"]["value"]
        wait_for(lambda: name not in subprocess.run(
            ["podman", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True,
            check=True).stdout, "the container is removed", 60)
