"""Containers whose root is an image: of archives, of layouts and of registries."""

import base64
import http.server
import json
import os
import pty
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import urllib.parse

import harness
import images
from harness import wait_for
from images import archive, base_layer
from scheduler import task
from test_groups import default_executor
from test_rooms import Rooms, container, host_path, sandbox_path, secret, usable


def of(name, cached=None, config=None, **fields):
    image = {"type": "DOCKER", "docker": {"name": name}}
    if cached is not None:
        image["cached"] = cached
    if config is not None:
        image["docker"]["config"] = {"type": "VALUE", "value": {
            "data": base64.b64encode(json.dumps(config).encode()).decode()}}
    return container(mesos={"image": image}, **fields)


class Images(Rooms):
    backend = "overlay"
    more = {}  # flags

    def setUp(self):
        if not images.busybox():
            self.skipTest("no busybox")
        why = usable()
        if why:
            self.skipTest("no namespaces: " + why)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = self.folder + "/store"
        self.images = self.folder + "/images"
        os.mkdir(self.images)
        self.agent_flags = {
            **Rooms.agent_flags, "isolation": Rooms.agent_flags["isolation"] + ",docker/runtime",
            "image_providers": "docker", "docker_store_dir": self.store,
            "docker_registry": self.registry(), "image_provisioner_backend": self.backend,
            **self.more}
        super().setUp()

    def registry(self):
        return self.images

    def save(self, name="box", layers=None, **runtime):
        return images.save(self.images, name, layers or [base_layer()], **runtime)

    def provisioned(self):
        folder = self.agent.work_dir + "/provisioner/containers"
        return os.listdir(folder) if os.path.exists(folder) else []

    def layers(self):
        folder = self.store + "/layers"
        return os.listdir(folder) if os.path.exists(folder) else []


class Roots(Images):
    def test_its_root_is_the_images(self):
        self.save(layers=[base_layer(**{"etc/mark": "the image's"})])
        output = self.finished("cat /etc/mark; echo; ls -d /work /usr; ls /; echo > /etc/new",
                               container=of("box"))
        lines = output.split("\n")
        self.assertEqual(lines[0], "the image's")
        self.assertEqual(sorted(lines[1:-1]),
                         ["bin", "dev", "etc", "mnt", "proc", "sys", "tmp"])
        # What one writes, the next does not see, and nothing is left.
        self.assertEqual(self.finished("ls /etc/new || echo gone", container=of("box")), "gone\n")
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)

    def test_its_sandbox(self):
        self.save()
        task_id = self.started("pwd; echo $MESOS_SANDBOX; echo kept > file; "
                               "echo started; exec sleep 1000", container=of("box"))
        self.assertEqual(self.output(task_id).split()[:2], ["/mnt/mesos/sandbox"] * 2)
        with open(os.path.join(self.sandbox(task_id), "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept\n")
        self.assertEqual(self.execute(task_id, "ls")[1].split(), ["file", "stderr", "stdout"])
        self.assertEqual(self.execute(task_id, "cat", "/etc/passwd")[1].split(":")[0], "root")

    def test_devices_and_file_systems(self):
        self.save()
        lines = self.finished(
            "echo x > /dev/null && head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c; "
            "ls /dev; echo 1 > /proc/sys/vm/swappiness; echo 1 > /proc/sysrq-trigger; "
            "mkdir /sys/x; echo out >> /dev/stdout", container=of("box")).split()
        self.assertEqual(lines[:2], ["3", "3"])
        self.assertEqual(lines[2:-1], sorted([
            "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
            "tty", "urandom", "zero"]))

    def test_names_are_looked_up_as_the_machine_does(self):
        self.save()
        with open("/etc/hosts", encoding="utf-8") as file:
            hosts = file.read()
        self.assertEqual(self.finished("cat /etc/hosts", container=of("box")), hosts)

    def test_what_the_image_says(self):
        self.save(Env=["PATH=/bin:/special", "COLOR=blue", "SHAPE=round"], WorkingDir="/where/to",
                  Cmd=["echo", "hello"], User="worker")
        environment = {"variables": [{"name": "SHAPE", "value": "square"}]}
        lines = self.finished({"shell": True, "environment": environment, "value":
                               "pwd; echo $PATH $COLOR $SHAPE; id -u; id -g; "
                               "touch $MESOS_SANDBOX/mine && echo could"},
                              container=of("box")).split("\n")
        self.assertEqual(lines, ["/where/to", "/bin:/special blue square", "1234", "4321",
                                 "could", ""])
        # Without a program, the image's runs.
        self.assertEqual(self.finished({"shell": False}, container=of("box")), "hello\n")
        self.assertEqual(self.finished({"shell": False, "arguments": ["you"]},
                                       container=of("box")), "you\n")
        # Who is named counts more.
        self.assertEqual(self.finished({"shell": True, "value": "id -u", "user": "nobody"},
                                       container=of("box")).strip(),
                         subprocess.run(["id", "-u", "nobody"], capture_output=True, text=True,
                                        check=True).stdout.strip())

    def test_entrypoints(self):
        self.save(Entrypoint=["/bin/echo", "entry"], Cmd=["and", "cmd"])
        info = of("box")
        self.assertEqual(self.finished({"shell": False}, container=info), "entry and cmd\n")
        self.assertEqual(self.finished({"shell": False, "arguments": ["mine"]}, container=info),
                         "entry mine\n")
        self.assertEqual(self.finished({"shell": False, "value": "/bin/echo",
                                        "arguments": ["echo", "own"]}, container=info), "own\n")
        self.save("none")
        _, message = self.failed({"shell": False}, container=of("none"))
        self.assertTrue(message)

    def test_users_by_number(self):
        self.save("own", User="worker:crew")
        task_id = self.started(container=of("own"))
        self.assertEqual(self.execute(task_id, "sh", "-c", "echo $(id -u) $(id -g)")[1],
                         "1234 77\n")
        for index, (user, seen) in enumerate((("77", "77 0"), ("1234", "1234 4321"),
                                              ("worker:crew", "1234 77"), ("5:6", "5 6"))):
            self.save("u%d" % index, User=user)
            self.assertEqual(self.finished("echo $(id -u) $(id -g)",
                                           container=of("u%d" % index)).strip(), seen)
        self.save("bad", User="stranger")
        task_id, _ = self.failed("true", container=of("bad"))
        self.assertIn("no user 'stranger'", self.output(task_id, "stderr"))

    def test_volumes(self):
        self.save(layers=[base_layer(**{"lead": ("link", "/etc")})])
        with open(self.outside + "/here", "w", encoding="utf-8") as file:
            file.write("outside ")
        volumes = [host_path(self.outside, "/data/deep"), host_path(self.outside, "in", "RO"),
                   sandbox_path("part", "/part"), secret("hush", "/run/secret"),
                   host_path(self.outside, "/lead/in")]
        self.assertEqual(self.finished(
            "cat /data/deep/here in/here /run/secret; echo ' p' > /part/x; cat part/x; "
            "ls /etc/in; touch in/no || echo ro", container=of("box", volumes=volumes)),
            "outside outside hush p\nhere\nro\n")
        self.assertFalse(os.path.exists("/etc/in"))

    def test_layers(self):
        middle = archive({"etc/.wh.gone": "", "etc/changed": "second", "dir/.wh..wh..opq": "",
                          "dir/new": "", "./dotted/file": "", "/rooted": ""})
        self.save(layers=[base_layer(**{"etc/gone": "", "etc/changed": "first", "dir": None,
                                        "dir/old": ""}),
                          middle, archive({"top": "third"})])
        self.assertEqual(self.finished("ls /etc/gone || echo removed; cat /etc/changed /top; "
                                       "ls /dir /dotted /rooted", container=of("box")),
                         "removed\nsecondthird/rooted\n\n/dir:\nnew\n\n/dotted:\nfile\n")

    def test_many_layers(self):
        self.save(layers=[base_layer()] + [archive({"n/%d" % i: str(i)}) for i in range(60)])
        self.assertEqual(self.finished("ls /n | wc -l", container=of("box")).strip(), "60")

    def test_a_groups_tasks(self):
        self.save(layers=[base_layer(**{"etc/mark": "inside"})])
        offer = self.scheduler.offer(cpus=0.4)
        inside = task(offer, "cat /etc/mark; echo started; sleep 1000", container=of("box"))
        outside = task(offer, "ls /etc/mark || echo out; echo started; sleep 1000")
        executor = default_executor()
        self.scheduler.launch_group(offer, executor, [inside, outside])
        for info, first in ((inside, "insidestarted"), (outside, "out")):
            status = self.scheduler.wait_state(info["task_id"]["value"], "TASK_RUNNING")
            path = "%s/containers/%s/stdout" % (
                self.sandbox(executor["executor_id"]["value"]),
                status["container_status"]["container_id"]["value"])
            wait_for(lambda p=path: "started" in open(p, encoding="utf-8").read(), "it runs", 20)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().split()[0], first)
        self.assertEqual(self.execute(inside["task_id"]["value"], "cat", "/etc/mark")[1], "inside")

    def test_what_enters_at_once_sees_the_image_alone(self):
        self.save(layers=[base_layer(**{"etc/mark": "inside"})])
        for _ in range(10):
            task_id = self.scheduler.run("exec sleep 1000", container=of("box"))
            self.scheduler.wait_state(task_id, "TASK_RUNNING")
            self.assertEqual(self.execute(task_id, "cat", "/etc/mark")[:2], (0, "inside"))
            self.scheduler.kill(task_id)
            self.scheduler.wait_terminal(task_id)

    def test_layers_that_were_lost_are_pulled_again(self):
        self.save()
        self.finished("true", container=of("box"))
        shutil.rmtree(self.store + "/layers")
        self.assertEqual(self.finished("echo again", container=of("box")), "again\n")

    def test_a_terminal_inside(self):
        self.save(layers=[base_layer(**{"etc/mark": "inside"})])
        task_id = self.started(container=of("box"))
        ours, theirs = pty.openpty()
        process = harness.processes.spawn(
            [harness.MESITA, "exec", "--master=%s:%d" % self.master.address, "-it", task_id, "sh"],
            env=harness.clean_environment(), stdin=theirs, stdout=theirs, stderr=theirs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.set_blocking(ours, False)
        seen = b""

        def saw(text):
            nonlocal seen
            try:
                seen += os.read(ours, 65536)
            except BlockingIOError:
                pass
            return text in seen

        os.write(ours, b"cat /etc/mark; echo; test -t 0 && echo term''inal\n")
        wait_for(lambda: saw(b"inside") and saw(b"terminal"), "a terminal in the image", 20)
        # The keys reach what is in the foreground, which the terminal is the shell's for.
        os.write(ours, b"trap 'echo in''terrupted' INT; echo rea''dy; sleep 5\n")
        wait_for(lambda: saw(b"ready"), "a program in the foreground", 20)
        os.write(ours, b"\x03")
        wait_for(lambda: saw(b"interrupted"), "Ctrl-C is heard", 20)
        os.write(ours, b"exit 7\n")
        self.assertEqual(process.wait(20 * harness.SCALE), 7)
        os.close(ours)
        os.close(theirs)

    def test_from_the_command_line(self):
        self.save(layers=[base_layer(**{"etc/mark": "inside"})], Cmd=["cat", "/etc/mark"])
        self.scheduler.teardown()
        ends = ["--master=%s:%d" % self.master.address, "--follow"]
        volumes = json.dumps([host_path(self.outside, "/data", "RO")])
        with open(self.outside + "/file", "w", encoding="utf-8") as file:
            file.write("volume's")
        for verb, more, expected in (
                ("run", ["--containerizer=mesos", "--image=box"], "inside"),
                ("execute", ["--name=x", "--docker_image=box",
                             "--command=grep -q inside /etc/mark"], "TASK_FINISHED"),
                ("run", ["--containerizer=mesos", "--image=box", "--volumes=" + volumes, "--",
                         "cat", "/data/file"], "volume's"),
                ("run", ["--volumes=" + volumes.replace("/data", "data"),
                         "--rlimits={\"rlimits\": [{\"type\": \"RLMT_NOFILE\", \"soft\": 71, "
                         "\"hard\": 72}]}", "--command=cat data/file; ulimit -n"],
                 "volume's71"),
                ("run", ["--effective_capabilities={\"capabilities\": [\"KILL\"]}",
                         "--command=grep CapEff /proc/self/status"], "0000000000000020")):
            status, output, errors = harness.run([verb] + ends + more)
            self.assertEqual(status, 0, errors)
            self.assertIn(expected, output)
        status, _, errors = harness.run(["run"] + ends + ["--containerizer=x", "--command=true"])
        self.assertIn("docker or mesos", errors)
        status, _, errors = harness.run(["run"] + ends + ["--volumes={}", "--command=true"])
        self.assertIn("--volumes is no array", errors)

    def test_an_executor(self):
        self.save(layers=[base_layer(**{"etc/mark": "inside"})], Env=["COLOR=blue"])
        offer = self.scheduler.offer(cpus=1)
        info = task(offer, None, executor={
            "executor_id": {"value": "e"}, "container": of("box"), "command": {
                "value": "cat /etc/mark; echo $COLOR $MESOS_SANDBOX $MESOS_EXECUTOR_ID; exit 3"}})
        self.scheduler.launch(offer, [info])
        # It never registers; what it said shows where it was.
        ended = self.scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(ended["state"], "TASK_FAILED")
        self.assertEqual(self.output("e"), "insideblue /mnt/mesos/sandbox e\n")

    def test_a_check_is_made_inside(self):
        self.save()
        check = {"type": "COMMAND", "command": {"command": {"value": "ls /usr && exit 1; exit 9"}},
                 "interval_seconds": 0.2, "delay_seconds": 0}
        task_id = self.scheduler.run("sleep 1000", check=check, container=of("box"))
        wait_for(lambda: any(s.get("check_status", {}).get("command", {}).get("exit_code") == 9
                             for s in self.scheduler.updates.get(task_id, [])),
                 "the check's exit status", 20)

    def test_two_that_want_the_same(self):
        self.save(layers=[base_layer(**{"bulk": os.urandom(1 << 22)})])
        ids = [self.scheduler.run("echo here", container=of("box")) for _ in range(3)]
        for task_id in ids:
            self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        with open(self.agent.log, encoding="utf-8") as log:
            self.assertEqual(log.read().count("Pulling image 'box'"), 1)

    def test_an_agent_that_is_killed_and_comes_back(self):
        self.save()
        task_id = self.started("echo started; until [ -e go ]; do sleep 0.05; done; exit 5",
                               container=of("box"))
        self.agent.kill()
        stray = self.agent.work_dir + "/provisioner/containers/stray"
        os.makedirs(stray + "/upper")
        self.agent.start().wait_registered()
        wait_for(lambda: not os.path.exists(stray), "what is nobody's is removed", 20)
        with open(os.path.join(self.sandbox(task_id), "go"), "w", encoding="utf-8"):
            pass
        self.assertIn("status 5", self.scheduler.wait_terminal(task_id)["message"])
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)


class Copies(Images):
    backend = "copy"

    def test_it_is_as_with_layers_that_are_overlaid(self):
        self.save(layers=[base_layer(**{"etc/gone": "x"}), archive({"etc/.wh.gone": ""})])
        self.assertEqual(self.finished("ls /etc/gone || echo removed; echo y > /etc/new; "
                                       "cat /etc/new", container=of("box")), "removed\ny\n")
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)


class Archives(Images):
    def test_what_is_not_there(self):
        _, message = self.failed("true", container=of("nosuch"))
        self.assertIn("Failed to pull image 'nosuch'", message)
        for name in ("../up", "a b", "UP//x", "x@sha256:12", "-dash", "q:"):
            self.assertIn("no name of an image", self.failed("true", container=of(name))[1])

    def test_archives_of_strangers(self):
        for index, entries in enumerate((
                {"../../out": "x"}, {"a": ("link", "/tmp"), "a/../../out": "x"},
                {"hard": ("hard", "../../../../../etc/passwd")})):
            self.save("bad%d" % index, layers=[base_layer(), archive(entries)])
            self.failed("true", container=of("bad%d" % index))
        target = self.outside + "/out"
        self.save("link", layers=[base_layer(), archive({
            "way": ("link", self.outside), "way/out": "x"})])
        self.scheduler.wait_terminal(self.scheduler.run("true", container=of("link")))
        self.assertFalse(os.path.exists(target))
        with open(self.images + "/broken.tar", "wb") as file:
            file.write(os.urandom(5000))
        self.failed("true", container=of("broken"))
        self.assertEqual(os.listdir(self.store + "/staging"), [])

    def test_layouts(self):
        blobs = images.Blobs([base_layer(**{"etc/mark": "laid out"})], Cmd=["cat", "/etc/mark"])
        images.layout(self.images + "/laid", blobs)
        self.assertEqual(self.finished({"shell": False}, container=of("laid")), "laid out")
        images.layout(self.images + "/tagged", blobs, tag="v2")
        self.assertEqual(self.finished({"shell": False}, container=of("tagged:v2")), "laid out")
        images.layout(self.images + "/other", blobs, architecture="s390x", os="linux")
        self.assertIn("no image for linux", self.failed("true", container=of("other"))[1])
        layer = blobs.layers[0]["digest"][7:]
        images.layout(self.images + "/changed", images.Blobs([base_layer(**{"etc/m": ""})]))
        for name in os.listdir(self.images + "/changed/blobs/sha256"):
            path = self.images + "/changed/blobs/sha256/" + name
            if os.path.getsize(path) > 10000 and name != layer:
                with open(path, "ab") as file:
                    file.write(b"x")
        self.assertIn("not what was asked for", self.failed("true", container=of("changed"))[1])

    def test_an_archive_that_is_a_layout(self):
        folder = images.layout(self.outside + "/l", images.Blobs([base_layer()]))
        with tarfile.open(self.images + "/packed.tar", "w") as tar:
            for name in os.listdir(folder):
                tar.add(os.path.join(folder, name), name)
        self.assertEqual(self.finished("echo packed", container=of("packed")), "packed\n")


class Removal(Images):
    def prune(self, *excluded):
        body = {"type": "PRUNE_IMAGES"}
        if excluded:
            body["prune_images"] = {"excluded_images": [
                {"type": "DOCKER", "docker": {"name": name}} for name in excluded]}
        status, _, answer = harness.request(
            self.agent.address, "POST", "/api/v1", json.dumps(body),
            {"Content-Type": "application/json"}, timeout=30)
        self.assertEqual((status, answer), (200, b""))

    def test_what_is_used_or_excluded_stays(self):
        self.save("shared", layers=[base_layer()])
        self.save("used", layers=[base_layer(), archive({"used": ""})])
        self.save("kept", layers=[base_layer(), archive({"kept": ""})])
        self.save("spare", layers=[base_layer(), archive({"spare": ""})])
        for name in ("shared", "kept", "spare"):
            self.finished("true", container=of(name))
        task_id = self.started(container=of("used"))
        self.assertEqual(len(self.layers()), 4)
        self.prune("kept")
        self.assertEqual(len(self.layers()), 3)
        self.assertEqual(self.execute(task_id, "ls", "/used")[0], 0)
        self.scheduler.kill(task_id)
        self.scheduler.wait_terminal(task_id)
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)
        self.prune()
        self.assertEqual(self.layers(), [])
        self.assertEqual(self.finished("echo again", container=of("spare")), "again\n")


class Collection(Images):
    """Of images that nobody uses, as often as there is too little room: always, here."""

    def setUp(self):
        self.more = {"image_gc_config": json.dumps({
            "image_disk_headroom": 1.0, "image_disk_watch_interval": {"nanoseconds": 1000000000},
            "excluded_images": [{"type": "DOCKER", "docker": {"name": "kept"}}]})}
        super().setUp()

    def test_what_is_used_or_excluded_stays(self):
        self.save("kept", layers=[base_layer(), archive({"kept": ""})])
        self.save("used", layers=[base_layer(), archive({"used": ""})])
        self.save("spare", layers=[base_layer(), archive({"spare": ""})])
        task_id = self.started(container=of("used"))
        for name in ("kept", "spare"):
            self.finished("true", container=of(name))
        wait_for(lambda: len(self.layers()) == 3, "the spare layer is removed", 30)
        self.assertEqual(self.execute(task_id, "ls", "/used")[0], 0)
        self.scheduler.kill(task_id)
        wait_for(lambda: len(self.layers()) == 2, "what was used goes, too", 30)
        self.assertEqual(self.finished("echo kept", container=of("kept")), "kept\n")

    def test_what_is_no_configuration(self):
        for text in ("{", "{}", '{"image_disk_headroom": 2, "image_disk_watch_interval": '
                     '{"nanoseconds": 1000000000}}', '{"image_disk_headroom": 0.1, '
                     '"image_disk_watch_interval": {"nanoseconds": 0}}'):
            code, _, errors = harness.run([
                "agent", "--master=127.0.0.1:1", "--work_dir=" + self.folder, "--port=0",
                "--isolation=filesystem/linux", "--image_providers=docker",
                "--image_gc_config=" + text])
            self.assertNotEqual(code, 0)
            self.assertIn("image_gc_config", errors)


class Registries(Images):
    def registry(self):
        if not shutil.which("docker-registry"):
            self.skipTest("no docker-registry")
        self.server = images.Registry(self, self.folder + "/registry")
        return "http://" + self.server.address

    def test_an_image(self):
        self.server.push("box", "latest", images.Blobs(
            [base_layer(), archive({"etc/mark": "pulled"})]))
        self.assertEqual(self.finished("cat /etc/mark", container=of("box")), "pulled")
        # Named with its registry, which is on this machine.
        self.assertEqual(self.finished("cat /etc/mark", container=of(
            self.server.address + "/box:latest")), "pulled")

    def test_what_is_there_is_not_pulled_again(self):
        self.server.push("box", "latest", images.Blobs([base_layer(**{"etc/mark": "old"})]))
        self.assertEqual(self.finished("cat /etc/mark", container=of("box")), "old")
        self.server.push("box", "latest", images.Blobs([base_layer(**{"etc/mark": "new"})]))
        self.assertEqual(self.finished("cat /etc/mark", container=of("box")), "old")
        self.assertEqual(self.finished("cat /etc/mark", container=of("box", cached=False)), "new")
        self.assertEqual(self.finished("cat /etc/mark", container=of("box")), "new")

    def test_by_digest(self):
        digest = self.server.push("box", "v1", images.Blobs([base_layer()]))
        self.assertEqual(self.finished("echo d", container=of("box@" + digest)), "d\n")
        self.failed("true", container=of("box@sha256:" + "0" * 64))

    def test_a_list_of_machines(self):
        right = images.Blobs([base_layer(**{"etc/mark": "ours"})])
        wrong = images.Blobs([base_layer(**{"etc/mark": "another's"})])
        listed = []
        for blobs, machine in ((wrong, "s390x"), (right, "amd64"), (right, "arm64")):
            self.server.push("many", machine, blobs)
            listed.append({"mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "digest": "sha256:" + images.sha256(blobs.manifest),
                           "size": len(blobs.manifest),
                           "platform": {"architecture": machine, "os": "linux"}})
        self.server.push_manifest("many", "latest", json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": listed}).encode())
        self.assertEqual(self.finished("cat /etc/mark", container=of("many")), "ours")

    def test_what_is_not_there(self):
        self.assertIn("404", self.failed("true", container=of("nosuch"))[1])
        self.assertIn("Failed to pull", self.failed("true", container=of(
            "127.0.0.1:%d/box" % harness.free_port()))[1])

    def test_bytes_that_were_changed(self):
        blobs = images.Blobs([base_layer(**{"bulk": os.urandom(100000)})])
        self.server.push("box", "latest", blobs)
        digest = blobs.layers[0]["digest"][7:]
        path = "%s/registry/docker/registry/v2/blobs/sha256/%s/%s/data" % (
            self.folder, digest[:2], digest)
        with open(path, "r+b") as file:
            file.seek(50000)
            file.write(b"changed")
        self.assertIn("Failed to pull", self.failed("true", container=of("box"))[1])
        self.assertEqual(self.layers(), [])

    def test_one_that_podman_has_pushed(self):
        if not shutil.which("podman"):
            self.skipTest("no podman")
        path = self.save("made", layers=[base_layer(**{"etc/mark": "by podman"})])
        from test_docker import SETTINGS
        settings = self.folder + "/containers.conf"
        with open(settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        podman = ["podman", "--root", self.folder + "/p", "--runroot", self.folder + "/r",
                  "--storage-driver=vfs"]
        environment = dict(os.environ, CONTAINERS_CONF=settings)
        for words in (["load", "-i", path],
                      ["push", "--tls-verify=false", "localhost/made:latest",
                       self.server.address + "/by/podman:1"]):
            done = subprocess.run(podman + words, env=environment, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.finished("cat /etc/mark", container=of("by/podman:1")), "by podman")


class Tokens(Images):
    """A registry that wants a token, which is had elsewhere, and whose blobs are elsewhere, too."""

    def registry(self):
        test = self
        self.blobs = images.Blobs([base_layer(**{"etc/mark": "by token"})])
        self.asked, self.leaked = [], []

        class Elsewhere(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.headers.get("Authorization"):
                    test.leaked.append(self.path)
                self.answer(200, test.blobs.blobs["sha256:" + self.path[1:]])

            def answer(self, status, body, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Handler(Elsewhere):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                if path == "/token":
                    test.asked.append((query, self.headers.get("Authorization")))
                    self.answer(200, json.dumps({"token": "let-me-in"}).encode())
                elif self.headers.get("Authorization") != "Bearer let-me-in":
                    self.answer(401, b"", WWW_Authenticate='Bearer realm="%s/token",'
                                'service="the registry",scope="repository:x:pull"' % test.address)
                elif "/manifests/" in path:
                    self.answer(200, test.blobs.manifest)
                else:
                    self.answer(307, b"", Location="%s/%s" % (
                        test.elsewhere, path.rpartition(":")[2]))

        self.elsewhere = self.serve(Elsewhere)
        self.address = self.serve(Handler)
        return self.address

    def serve(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        # Another name is another host.
        return "http://%s:%d" % ("localhost" if "Elsewhere" in handler.__name__ else "127.0.0.1",
                                 server.server_address[1])

    def test_it_is_got_once_and_shown_to_the_registry_alone(self):
        self.assertEqual(self.finished("cat /etc/mark", container=of("some/box")), "by token")
        self.assertEqual(len(self.asked), 1)
        query = urllib.parse.parse_qs(self.asked[0][0])
        self.assertEqual(query, {"service": ["the registry"],
                                 "scope": ["repository:some/box:pull"]})
        self.assertEqual(self.leaked, [])

    def test_who_asks_for_it(self):
        login = base64.b64encode(b"me:secret").decode()
        access = {"auths": {self.address: {"auth": login}}}
        self.assertEqual(self.finished("cat /etc/mark", container=of("box", config=access)),
                         "by token")
        self.assertEqual(self.asked[0][1], "Basic " + login)


class Silence(Images):
    """A registry that takes connections and says nothing."""

    def registry(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        return "http://127.0.0.1:%d" % self.listener.getsockname()[1]

    def pulling(self):
        """A task whose image is being pulled."""
        task_id = self.scheduler.run("true", container=of("box"))
        self.listener.settimeout(20 * harness.SCALE)
        connection, _ = self.listener.accept()
        self.addCleanup(connection.close)
        return task_id

    def pulls(self):
        return subprocess.run(["pgrep", "-f", "pull --store=" + self.store], capture_output=True,
                              check=False).stdout.split()

    def test_a_task_that_is_killed_meanwhile(self):
        task_id = self.pulling()
        self.scheduler.kill(task_id)
        self.assertIn(self.scheduler.wait_terminal(task_id)["state"],
                      ("TASK_KILLED", "TASK_FAILED"))
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)

    def test_an_agent_that_ends_meanwhile(self):
        self.pulling()
        self.assertEqual(self.agent.terminate(), 0)
        wait_for(lambda: not self.pulls(), "nobody pulls any more", 20)

    def test_an_agent_that_is_killed_meanwhile(self):
        task_id = self.pulling()
        self.agent.kill()
        self.agent.start().wait_registered()
        self.scheduler.wait_terminal(task_id)
        wait_for(lambda: not self.provisioned(), "nothing is left", 20)
        for pid in self.pulls():
            os.kill(int(pid), 9)


class Stalling(Silence):
    more = {"fetcher_stall_timeout": "1secs"}

    def test_it_is_given_up(self):
        ended = self.scheduler.wait_terminal(self.pulling())
        self.assertEqual(ended["state"], "TASK_FAILED")
        self.assertIn("Failed to pull image 'box'", ended["message"])


class Logins(Images):
    def registry(self):
        if not shutil.which("docker-registry") or not shutil.which("htpasswd"):
            self.skipTest("no docker-registry, or no htpasswd")
        file = self.folder + "/users"
        subprocess.run(["htpasswd", "-Bbc", file, "me", "secret"], check=True,
                       capture_output=True)
        login = base64.b64encode(b"me:secret").decode()
        self.server = images.Registry(self, self.folder + "/registry", htpasswd=file,
                                      headers={"Authorization": "Basic " + login})
        self.access = {"auths": {self.server.address: {"auth": login}}}
        return "http://" + self.server.address

    def test_who_may(self):
        self.server.push("box", "latest", images.Blobs([base_layer()]))
        self.assertIn("--docker_config", self.failed("true", container=of("box"))[1])
        self.assertEqual(self.finished("echo in", container=of("box", config=self.access)),
                         "in\n")
        wrong = {"auths": {self.server.address: {
            "auth": base64.b64encode(b"me:wrong").decode()}}}
        self.assertIn("401", self.failed("true", container=of(
            "box", cached=False, config=wrong))[1])
