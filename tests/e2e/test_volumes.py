"""Reservations and persistent volumes, end to end: data that is found again by later tasks,
over kill -9 of agent and master, and gone once its volume is destroyed."""

import http.client
import json
import os
import signal
import subprocess
import unittest

import harness
import processes
from harness import wait_for
from processes import SCALE
from scheduler import task

ROLE = "store"


def disk(size, volume_id=None, path="data", role=ROLE, source=None, shared=False):
    """Reserved disk, or with an id the persistent volume on it."""
    resource = {"name": "disk", "type": "SCALAR", "scalar": {"value": size},
                "reservations": [{"type": "DYNAMIC", "role": role}],
                "allocation_info": {"role": role}}
    info = {}
    if source is not None:
        info["source"] = source
    if volume_id is not None:
        info["persistence"] = {"id": volume_id}
        info["volume"] = {"container_path": path, "mode": "RW"}
    if info:
        resource["disk"] = info
    if shared:
        resource["shared"] = {}
    return resource


def operation(kind, resources):
    field = "volumes" if kind in ("CREATE", "DESTROY") else "resources"
    return {"type": kind, kind.lower(): {field: resources}}


def resubscribed(scheduler):
    try:
        scheduler.subscribe()
        return True
    except (OSError, ValueError):
        return False


def volumes_of(offer):
    return {r["disk"]["persistence"]["id"]: r for r in offer["resources"]
            if r.get("disk", {}).get("persistence")}


class VolumeCase(harness.TestCase):
    agent_flags = {"recovery_timeout": "1mins"}

    def store(self, **info):
        options = {"roles": [ROLE], "capabilities": ("MULTI_ROLE", "RESERVATION_REFINEMENT",
                                                     "PARTITION_AWARE"), **info}
        return self.subscribe(**options)

    def accept(self, scheduler, offer, *operations):
        scheduler.call("ACCEPT", accept={
            "offer_ids": [offer["id"]], "operations": list(operations),
            "filters": {"refuse_seconds": 0}})

    def offer_with(self, scheduler, probe):
        """The next offer that has what is looked for; others are declined."""
        found = []

        def look():
            offer = scheduler.offer()
            if probe(offer):
                found.append(offer)
                return True
            scheduler.decline(offer, refuse=0)
            return False
        wait_for(look, "the offer looked for")
        return found[0]

    def offer_of(self, scheduler, volume_id):
        return self.offer_with(scheduler, lambda offer: volume_id in volumes_of(offer))

    def make(self, scheduler, volume_id="v1", size=64, **options):
        """Reserves and creates in one call; returns an offer with the volume."""
        self.accept(scheduler, scheduler.offer(),
                    operation("RESERVE", [disk(size, **{k: v for k, v in options.items()
                                                        if k in ("role", "source")})]),
                    operation("CREATE", [disk(size, volume_id, **options)]))
        return self.offer_of(scheduler, volume_id)

    def run_on(self, scheduler, offer, command, volume_id="v1", **more):
        info = task(offer, command, **more)
        for resource in info["resources"]:
            resource["allocation_info"] = {"role": ROLE}
        info["resources"].append(volumes_of(offer)[volume_id])
        self.accept(scheduler, offer, {"type": "LAUNCH", "launch": {"task_infos": [info]}})
        return info["task_id"]["value"]

    def finish_on(self, scheduler, offer, command, volume_id="v1", **more):
        task_id = self.run_on(scheduler, offer, command, volume_id, **more)
        status = scheduler.wait_terminal(task_id)
        self.assertEqual(status["state"], "TASK_FINISHED", status)
        return task_id

    def directory(self, volume_id="v1", role=ROLE):
        return os.path.join(self.agent.work_dir, "volumes", "roles", role.replace("/", " "),
                            volume_id)


class Volumes(VolumeCase):
    def test_data_is_found_again(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.assertEqual(os.listdir(self.directory()), [])
        self.finish_on(scheduler, offer, "echo hello > data/file")
        with open(os.path.join(self.directory(), "file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "hello\n")
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q hello data/file && echo more >> data/file")
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q more data/file")

    def test_reserve_create_and_launch_in_one_call(self):
        scheduler = self.store()
        offer = scheduler.offer()
        info = task(offer, "echo now > data/file")
        for resource in info["resources"]:
            resource["allocation_info"] = {"role": ROLE}
        info["resources"].append(disk(64, "v1"))
        self.accept(scheduler, offer, operation("RESERVE", [disk(64)]),
                    operation("CREATE", [disk(64, "v1")]),
                    {"type": "LAUNCH", "launch": {"task_infos": [info]}})
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_FINISHED", status)
        self.assertTrue(os.path.exists(os.path.join(self.directory(), "file")))

    def test_the_link_goes_with_the_task(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        task_id = self.run_on(scheduler, offer, "echo x > data/file; exec sleep 1000")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        link = os.path.join(self.agent.sandbox(scheduler.id, task_id), "data")
        self.assertEqual(os.readlink(link), self.directory())
        # A task that runs may not have written yet.
        wait_for(lambda: os.path.exists(os.path.join(self.directory(), "file")), "the file")
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        wait_for(lambda: not os.path.lexists(link), "end of the link")
        self.assertTrue(os.path.exists(os.path.join(self.directory(), "file")))

    def test_roles_below_others(self):
        role = ROLE + "/below"
        scheduler = self.store(roles=[role])
        self.make(scheduler, role=role)
        self.assertEqual(os.listdir(self.directory(role=role)), [])

    def test_destroyed_and_made_again_is_empty(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.finish_on(scheduler, offer, "mkdir -p data/a/b && echo old > data/a/b/file")
        offer = self.offer_of(scheduler, "v1")
        volume = volumes_of(offer)["v1"]
        info = task(offer, 'test -z "$(ls -A data)" && echo new > data/file')
        for resource in info["resources"]:
            resource["allocation_info"] = {"role": ROLE}
        info["resources"].append(volume)
        self.accept(scheduler, offer, operation("DESTROY", [volume]),
                    operation("CREATE", [volume]),
                    {"type": "LAUNCH", "launch": {"task_infos": [info]}})
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_FINISHED", status)
        self.assertEqual(os.listdir(self.directory()), ["file"])
        offer = self.offer_of(scheduler, "v1")
        self.accept(scheduler, offer, operation("DESTROY", [volumes_of(offer)["v1"]]))
        wait_for(lambda: not os.path.exists(self.directory()), "end of the data")
        self.offer_with(scheduler, lambda o: not volumes_of(o))

    def test_garbage_collection_leaves_data_alone(self):
        self.cluster.stop()
        self.cluster = harness.Cluster(1, {}, {"gc_delay": "1ms", "disk_watch_interval": "50ms",
                                               "gc_disk_headroom": "1"}).start()
        scheduler = self.store()
        offer = self.make(scheduler)
        task_id = self.run_on(scheduler, offer, "echo x > data/file; exec sleep 1000")
        status = scheduler.wait_state(task_id, "TASK_RUNNING")
        sandbox = self.agent.sandbox(scheduler.id, task_id)
        file = os.path.join(self.directory(), "file")
        wait_for(lambda: os.path.exists(file), "the data")
        # No chance to take the link away first.
        os.kill(status["container_status"]["executor_pid"], signal.SIGKILL)
        scheduler.wait_terminal(task_id)
        wait_for(lambda: not os.path.exists(sandbox), "collection of the sandbox")
        self.assertTrue(os.path.exists(file))

    def test_a_task_cannot_lead_others_astray(self):
        scheduler = self.store()
        offer = self.make(scheduler, path="stdout")
        task_id = self.run_on(scheduler, offer, "true")
        status = scheduler.wait_terminal(task_id)
        self.assertEqual((status["state"], status["reason"]),
                         ("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED"), status)

    @unittest.skipIf(os.geteuid(), "only root can switch users")
    def test_the_volume_is_the_users(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.finish_on(scheduler, offer, {"shell": True, "value": "echo mine > data/file",
                                          "user": "nobody"})
        self.assertEqual(os.stat(self.directory()).st_uid,
                         os.stat(os.path.join(self.directory(), "file")).st_uid)
        self.assertNotEqual(os.stat(self.directory()).st_uid, 0)


    def test_a_directory_that_cannot_be_made(self):
        scheduler = self.store()
        blocked = os.path.join(self.agent.work_dir, "volumes", "roles", ROLE)
        os.makedirs(os.path.dirname(blocked))
        with open(blocked, "w", encoding="ascii"):
            pass
        self.accept(scheduler, scheduler.offer(), operation("RESERVE", [disk(64)]),
                    {**operation("CREATE", [disk(64, "v1")]), "id": {"value": "op"}})
        status = scheduler.expect("UPDATE_OPERATION_STATUS")["update_operation_status"]["status"]
        self.assertEqual((status["operation_id"]["value"], status["state"]),
                         ("op", "OPERATION_FAILED"), status)
        scheduler.call("ACKNOWLEDGE_OPERATION_STATUS", acknowledge_operation_status={
            "agent_id": status["agent_id"], "operation_id": status["operation_id"],
            "uuid": status["uuid"]["value"]})
        os.unlink(blocked)
        # The reservation is there, the volume is not, and can be made now.
        offer = self.offer_with(scheduler, lambda o: any(
            r.get("reservations") for r in o["resources"]))
        self.assertEqual(volumes_of(offer), {})
        self.accept(scheduler, offer, operation("CREATE", [disk(64, "v1")]))
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "echo x > data/file")

    def test_shared(self):
        scheduler = self.store(capabilities=("MULTI_ROLE", "RESERVATION_REFINEMENT",
                                             "SHARED_RESOURCES"))
        offer = self.make(scheduler, shared=True)
        first = self.run_on(scheduler, offer, "touch data/a; while [ ! -e data/b ]; do "
                                              "sleep 0.02; done; echo x > data/c")
        scheduler.wait_state(first, "TASK_RUNNING")
        offer = self.offer_of(scheduler, "v1")
        second = self.run_on(scheduler, offer, "touch data/b; while [ ! -e data/c ]; do "
                                               "sleep 0.02; done")
        self.assertEqual(scheduler.wait_terminal(first)["state"], "TASK_FINISHED")
        self.assertEqual(scheduler.wait_terminal(second)["state"], "TASK_FINISHED")


class Crashes(VolumeCase):
    def test_agent(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.finish_on(scheduler, offer, "echo hello > data/file")
        self.agent.kill()
        self.agent.start().wait_registered()
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q hello data/file")

    def test_agent_under_a_running_task(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        task_id = self.run_on(
            scheduler, offer, "while [ ! -e data/stop ]; do sleep 0.05; done; echo end > data/end")
        scheduler.wait_state(task_id, "TASK_RUNNING")
        self.agent.kill()
        self.agent.start().wait_registered()
        with open(os.path.join(self.directory(), "stop"), "w", encoding="ascii"):
            pass
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q end data/end")

    def test_master(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.finish_on(scheduler, offer, "echo hello > data/file")
        self.master.kill()
        self.master.start().wait_ready()
        self.agent.wait_registered()
        wait_for(lambda: resubscribed(scheduler), "the scheduler")
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q hello data/file")

    def test_both(self):
        scheduler = self.store()
        offer = self.make(scheduler)
        self.finish_on(scheduler, offer, "echo hello > data/file")
        self.agent.kill()
        self.master.kill()
        self.master.start().wait_ready()
        self.agent.start().wait_registered()
        wait_for(lambda: resubscribed(scheduler), "the scheduler")
        offer = self.offer_of(scheduler, "v1")
        self.finish_on(scheduler, offer, "grep -q hello data/file")
        offer = self.offer_of(scheduler, "v1")
        self.accept(scheduler, offer, operation("DESTROY", [volumes_of(offer)["v1"]]),
                    operation("UNRESERVE", [disk(64)]))
        wait_for(lambda: not os.path.exists(self.directory()), "end of the data")
        wait_for(lambda: self.agent.entry()["reserved_resources"] == {}, "end of the reservation")

    def test_resources_that_cannot_hold_the_volume(self):
        scheduler = self.store()
        self.make(scheduler, size=3000)
        self.agent.kill()
        self.agent.flags = {**self.agent.flags, "resources": "cpus:4;mem:4096;disk:2000"}
        self.agent.start()
        self.assertEqual(self.agent.process.wait(20 * SCALE), 1)
        self.assertIn("are incompatible with agent resources", self.agent.log_tail())
        self.agent.process = None


class Disks(VolumeCase):
    agents = None

    def start(self, resources):
        self.cluster = harness.Cluster(1, {}, {"resources": json.dumps(resources)}).start()

    def test_path(self):
        root = self.temporary()
        os.chmod(root, 0o755)
        source = {"type": "PATH", "path": {"root": os.path.join(root, "made")}}
        self.start([{"name": "cpus", "type": "SCALAR", "scalar": {"value": 4}},
                    {"name": "mem", "type": "SCALAR", "scalar": {"value": 4096}},
                    {"name": "disk", "type": "SCALAR", "scalar": {"value": 512},
                     "disk": {"source": source}}])
        scheduler = self.store()
        offer = self.make(scheduler, source=source)
        self.finish_on(scheduler, offer, "echo there > data/file")
        path = os.path.join(root, "made", "volumes", "roles", ROLE, "v1")
        self.assertEqual(os.listdir(path), ["file"])
        offer = self.offer_of(scheduler, "v1")
        self.accept(scheduler, offer, operation("DESTROY", [volumes_of(offer)["v1"]]))
        wait_for(lambda: not os.path.exists(path), "end of the data")

    def test_mount(self):
        root = self.temporary()
        if processes.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", root],
                         stderr=subprocess.DEVNULL).returncode:
            self.skipTest("only who may mount can test this")
        self.addCleanup(processes.run, ["umount", "-l", root], check=True)
        source = {"type": "MOUNT", "mount": {"root": root}}
        self.start([{"name": "cpus", "type": "SCALAR", "scalar": {"value": 4}},
                    {"name": "mem", "type": "SCALAR", "scalar": {"value": 4096}},
                    {"name": "disk", "type": "SCALAR", "scalar": {"value": 512},
                     "disk": {"source": source}}])
        scheduler = self.store()
        offer = self.make(scheduler, size=512, source=source)
        self.finish_on(scheduler, offer, "mkdir data/a && echo there > data/a/file")
        self.assertEqual(os.listdir(root), ["a"])
        offer = self.offer_of(scheduler, "v1")
        self.accept(scheduler, offer, operation("DESTROY", [volumes_of(offer)["v1"]]))
        wait_for(lambda: os.listdir(root) == [], "end of the data")
        self.assertTrue(os.path.ismount(root))

    def test_mount_that_is_none(self):
        root = self.temporary()
        self.cluster = harness.Cluster(1, {}, {"resources": json.dumps(
            [{"name": "disk", "type": "SCALAR", "scalar": {"value": 512},
              "disk": {"source": {"type": "MOUNT", "mount": {"root": root}}}}])})
        self.agent.start()
        self.assertEqual(self.agent.process.wait(20 * SCALE), 1)
        self.assertIn("Failed to find mount '%s' in /proc/mounts" % root, self.agent.log_tail())
        self.agent.process = None


class Draining(harness.TestCase):
    agent_flags = {"http_command_executor": "true"}

    def drain(self, **options):
        connection = http.client.HTTPConnection(*self.master.address, timeout=10 * SCALE)
        self.addCleanup(connection.close)
        connection.request("POST", "/api/v1", json.dumps({
            "type": "DRAIN_AGENT", "drain_agent": {
                "agent_id": {"value": self.agent.id}, **options}}), {
                    "Content-Type": "application/json", "Accept": "application/json"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read())

    def test_patience_is_cut_short(self):
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "PARTITION_AWARE"))
        task_id = scheduler.run("trap '' TERM; touch ready; while true; do sleep 0.05; done",
                                kill_policy={"grace_period": {"nanoseconds": 600 * 10**9}})
        scheduler.wait_state(task_id, "TASK_RUNNING")
        ready = os.path.join(self.agent.sandbox(scheduler.id, task_id), "ready")
        wait_for(lambda: os.path.exists(ready), "the trap")
        self.drain(max_grace_period={"nanoseconds": 10**8})
        status = scheduler.wait_terminal(task_id)
        self.assertEqual((status["state"], status["reason"]),
                         ("TASK_KILLED", "REASON_AGENT_DRAINING"))
        wait_for(lambda: "drain_config" not in self.agent.state(), "end of draining")

    def test_goes_on_over_a_crash_of_the_agent(self):
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "PARTITION_AWARE"))
        task_id = scheduler.run("trap '' TERM; touch ready; while true; do sleep 0.05; done",
                                kill_policy={"grace_period": {"nanoseconds": 600 * 10**9}})
        scheduler.wait_state(task_id, "TASK_RUNNING")
        ready = os.path.join(self.agent.sandbox(scheduler.id, task_id), "ready")
        wait_for(lambda: os.path.exists(ready), "the trap")
        self.drain()
        wait_for(lambda: "drain_config" in self.agent.state(), "draining")
        self.agent.kill()
        self.agent.start()
        wait_for(lambda: "drain_config" in self.agent.state(), "draining after the crash")
        self.drain(max_grace_period={"nanoseconds": 10**8})
        status = scheduler.wait_terminal(task_id, timeout=30)
        self.assertEqual(status["reason"], "REASON_AGENT_DRAINING", status)
