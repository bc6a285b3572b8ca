"""A v0 scheduler driver for the tests: what libmesos' driver says and does, over libprocess."""

import uuid

from libprocess import Process

TYPES = {"SUBSCRIBE": 1, "TEARDOWN": 2, "ACCEPT": 3, "DECLINE": 4, "REVIVE": 5, "KILL": 6,
         "ACKNOWLEDGE": 8, "RECONCILE": 9, "MESSAGE": 10}
STATES = {0: "TASK_STARTING", 1: "TASK_RUNNING", 2: "TASK_FINISHED", 3: "TASK_FAILED",
          4: "TASK_KILLED", 5: "TASK_LOST", 6: "TASK_STAGING"}
LAUNCH = 1                      # of Offer.Operation.Type
NO_PID = "@0.0.0.0:0"


def scalar(name, value):
    return {"name": name, "type": 0, "scalar": {"value": value}}


def task(offer, command="sleep 1000", cpus=0.1, mem=32, **fields):
    task_id = "task-" + uuid.uuid4().hex[:8]
    info = {"name": task_id, "task_id": {"value": task_id}, "slave_id": offer["slave_id"],
            "resources": [scalar("cpus", cpus), scalar("mem", mem)]}
    if command is not None:
        info["command"] = {"value": command}
    info.update(fields)
    return info


class Driver(Process):
    def __init__(self, master, **info):
        super().__init__("scheduler-%s" % uuid.uuid4())
        self.master, self.id = master, None
        self.info = {"user": "root", "name": "v0", **info}

    def forget_master(self):
        """It was told that there is a new one."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def call(self, kind, **fields):
        call = {"type": TYPES[kind]}
        if self.id:
            call["framework_id"] = {"value": self.id}
        if fields:
            call[kind.lower()] = fields
        return self.send(self.master, "master", "Call", call, package="mesos.scheduler")

    def say(self, name, **fields):
        """A message of old, with the framework's id in it."""
        return self.send(self.master, "master", name,
                         {"framework_id": {"value": self.id}, **fields})

    def subscribe(self, force=False):
        if self.id:
            self.info["id"] = {"value": self.id}
        subscribe = {"framework_info": self.info}
        if force:
            subscribe["force"] = True
        self.call("SUBSCRIBE", **subscribe)

    def registered(self, name="FrameworkRegisteredMessage"):
        message = self.expect(name)
        self.id = message.body["framework_id"]["value"]
        return message

    def register(self, **subscribe):
        self.subscribe(**subscribe)
        return self.registered()

    def offer(self):
        """(offer, pid of its agent)"""
        body = self.expect("ResourceOffersMessage").body
        assert len(body["offers"]) == len(body["pids"]), body
        return body["offers"][0], body["pids"][0]

    def launch(self, offer, *tasks):
        self.call("ACCEPT", offer_ids=[offer["id"]], filters={"refuse_seconds": 0},
                  operations=[{"type": LAUNCH, "launch": {"task_infos": list(tasks)}}])

    def expect_state(self, task_id, state):
        """The update with that state; those on the way to it are taken, all are acknowledged."""
        while True:
            body = self.expect("StatusUpdateMessage").body
            update = body["update"]
            if "uuid" in update and body["pid"] != NO_PID:
                self.call("ACKNOWLEDGE", slave_id=update["slave_id"],
                          task_id=update["status"]["task_id"], uuid=update["uuid"])
            if update["status"]["task_id"]["value"] == task_id and \
                    STATES[update["status"].get("state", 0)] == state:
                return body
