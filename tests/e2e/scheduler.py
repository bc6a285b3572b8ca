"""A small v1 scheduler in JSON: what the tests hold against the master's API.

Events are read by a thread; tests wait for the one they need. Updates that carry a uuid are
acknowledged at once unless `acknowledge` is off.
"""

import http.client
import json
import socket
import threading
import time
import uuid

import connections
from processes import SCALE, Timeout

TERMINAL = {"TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR",
            "TASK_DROPPED", "TASK_GONE", "TASK_GONE_BY_OPERATOR"}
PATH = "/api/v1/scheduler"


def unique(prefix="id"):
    return "%s-%s" % (prefix, uuid.uuid4().hex[:12])


def scalar(name, value):
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}


def amounts(resources):
    """Total of each scalar resource of a list."""
    total = {}
    for resource in resources:
        if resource["type"] == "SCALAR":
            name = resource["name"]
            total[name] = total.get(name, 0) + resource["scalar"]["value"]
    return total


def task(offer, command, task_id=None, cpus=0.1, mem=32, **more):
    """A task on the agent of an offer; the command is a shell line, a CommandInfo or None."""
    task_id = task_id or unique("task")
    info = {"name": task_id, "task_id": {"value": task_id}, "agent_id": offer["agent_id"],
            "resources": [scalar("cpus", cpus), scalar("mem", mem)]}
    if isinstance(command, str):
        command = {"shell": True, "value": command}
    if command is not None:
        info["command"] = command
    info.update(more)
    return info


class Scheduler:
    def __init__(self, address, name="e2e", capabilities=("MULTI_ROLE",), acknowledge=True,
                 roles=("*",), headers=None, **info):
        self.address = address
        self.headers = headers or {}  # of every request
        self.acknowledge = acknowledge
        self.info = {"user": "root", "name": name, "roles": list(roles), "failover_timeout": 60,
                     "checkpoint": True,
                     "capabilities": [{"type": c} for c in capabilities], **info}
        self.id = None
        self.stream_id = None
        self.events = []            # those of the current stream that nobody took
        self.updates = {}           # statuses by task, oldest first
        self._acked = set()
        self._condition = threading.Condition()
        self._stream = None
        self._generation = 0
        self._closed = True

    # -- the stream

    def subscribe(self):
        """Opens the stream and waits for SUBSCRIBED; with an id it is a resubscription."""
        self.close()
        call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": dict(self.info)}}
        if self.id is not None:
            call["framework_id"] = {"value": self.id}
            call["subscribe"]["framework_info"]["id"] = {"value": self.id}
        stream = connections.connect(self.address, 15 * SCALE)
        stream.request("POST", PATH, json.dumps(call), {
            "Content-Type": "application/json", "Accept": "application/json", **self.headers})
        answer = stream.getresponse()
        if answer.status != 200:
            raise ValueError("SUBSCRIBE: %d %r" % (answer.status, answer.read()))
        self.stream_id = answer.headers["Mesos-Stream-Id"]
        stream.sock.settimeout(None)
        with self._condition:
            self._generation += 1
            self._stream, self._closed, self.events = stream, False, []
            generation = self._generation
        threading.Thread(target=self._read, args=(answer, generation), daemon=True).start()
        event = self.expect("SUBSCRIBED")
        self.id = event["subscribed"]["framework_id"]["value"]
        return event["subscribed"]

    def _read(self, answer, generation):
        try:
            while True:
                line = answer.readline()
                if not line:
                    break
                size = int(line)
                record = b""
                while len(record) < size:
                    more = answer.read(size - len(record))
                    if not more:
                        return
                    record += more
                self._take(json.loads(record), generation)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        finally:
            with self._condition:
                if generation == self._generation:
                    self._closed = True
                self._condition.notify_all()

    def _take(self, event, generation):
        if event["type"] == "SUBSCRIBED":
            self.id = event["subscribed"]["framework_id"]["value"]
        if event["type"] == "RESCIND":
            self._forget(event["rescind"]["offer_id"])
        status = event["update"]["status"] if event["type"] == "UPDATE" else None
        with self._condition:
            if generation != self._generation:
                return
            self.events.append(event)
            if status is not None and status.get("uuid") not in self._acked:
                self.updates.setdefault(status["task_id"]["value"], []).append(status)
                if "uuid" in status:
                    self._acked.add(status["uuid"])
            self._condition.notify_all()
        if status is not None and "uuid" in status and self.acknowledge:
            try:
                self.ack(status)
            except (OSError, http.client.HTTPException, AssertionError):
                pass        # the stream is ending; else the update is repeated

    def _forget(self, offer_id):
        """Drops an offer that nobody took before it was rescinded."""
        with self._condition:
            for event in self.events:
                if event["type"] == "OFFERS":
                    offers = event["offers"]["offers"]
                    offers[:] = [offer for offer in offers if offer["id"] != offer_id]

    def close(self):
        with self._condition:
            stream, self._stream = self._stream, None
            self._generation += 1
            self._closed = True
        if stream is not None and stream.sock is not None:
            try:
                stream.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            stream.close()

    # -- waiting

    def _wait(self, probe, what, timeout, may_be_closed=False):
        deadline = time.monotonic() + timeout * SCALE
        with self._condition:
            while True:
                value = probe()
                if value:
                    return value
                left = deadline - time.monotonic()
                closed = self._closed and not may_be_closed
                if left <= 0 or closed:
                    raise Timeout("no %s %s; updates: %s; pending: %s" % (
                        what, "before the stream ended" if closed else "within %g s" % timeout,
                        {t: [s["state"] for s in u] for t, u in self.updates.items()},
                        [e["type"] for e in self.events]))
                self._condition.wait(left)

    def expect(self, kind, timeout=15):
        """Takes the first pending event of a type."""
        def probe():
            for index, event in enumerate(self.events):
                if event["type"] == kind:
                    return self.events.pop(index)
            return None
        return self._wait(probe, kind, timeout)

    def closed(self):
        return self._closed

    def wait_closed(self, timeout=15):
        self._wait(lambda: self._closed, "end of the stream", timeout, may_be_closed=True)

    def offer(self, cpus=0.1, mem=32, timeout=15):
        """Takes an offer with at least these resources."""
        def probe():
            for event in self.events:
                if event["type"] == "OFFERS":
                    for offer in event["offers"]["offers"]:
                        have = amounts(offer["resources"])
                        if have.get("cpus", 0) >= cpus and have.get("mem", 0) >= mem:
                            event["offers"]["offers"].remove(offer)
                            return offer
            return None
        return self._wait(probe, "offer of %g cpus" % cpus, timeout)

    def wait_state(self, task_id, *states, timeout=20):
        """Waits until a task was in one of these states; returns that status."""
        def probe():
            for status in self.updates.get(task_id, ()):
                if status["state"] in states:
                    return status
            return None
        return self._wait(probe, "%s of %s" % (" or ".join(states), task_id), timeout)

    def wait_terminal(self, task_id, timeout=20):
        return self.wait_state(task_id, *TERMINAL, timeout=timeout)

    def states(self, task_id):
        return [status["state"] for status in self.updates.get(task_id, ())]

    def ends(self, task_id):
        """The terminal states that were told. Of one that ends while it is asked for, a master that has
        forgotten it says that it is unknown: the end before that is what counts."""
        ends = [status for status in self.updates.get(task_id, ()) if status["state"] in TERMINAL]
        return [status["state"] for status in ends
                if status is ends[0] or status.get("reason") != "REASON_RECONCILIATION"]

    # -- calls

    def post(self, call, headers=None):
        """(status, body) of any call."""
        connection = connections.connect(self.address, 15 * SCALE)
        try:
            connection.request("POST", PATH, json.dumps(call), {
                "Content-Type": "application/json", "Accept": "application/json",
                "Mesos-Stream-Id": self.stream_id or "", **self.headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def call(self, kind, **fields):
        """A call that must be accepted."""
        status, body = self.post({"type": kind, "framework_id": {"value": self.id}, **fields})
        if status != 202:
            raise AssertionError("%s: %d %s" % (kind, status, body))

    def launch(self, offers, tasks, refuse=0):
        offers = offers if isinstance(offers, list) else [offers]
        self.call("ACCEPT", accept={
            "offer_ids": [offer["id"] for offer in offers],
            "operations": [{"type": "LAUNCH", "launch": {"task_infos": tasks}}],
            "filters": {"refuse_seconds": refuse}})

    def launch_group(self, offer, executor, tasks, refuse=0):
        self.call("ACCEPT", accept={
            "offer_ids": [offer["id"]],
            "operations": [{"type": "LAUNCH_GROUP", "launch_group": {
                "executor": {"framework_id": {"value": self.id}, **executor},
                "task_group": {"tasks": tasks}}}],
            "filters": {"refuse_seconds": refuse}})

    def run(self, command, **options):
        """Launches one command task on the next fitting offer; returns its id."""
        offer = self.offer(options.get("cpus", 0.1), options.get("mem", 32))
        info = task(offer, command, **options)
        self.launch(offer, [info])
        return info["task_id"]["value"]

    def decline(self, offer, refuse=5):
        self.call("DECLINE", decline={"offer_ids": [offer["id"]],
                                      "filters": {"refuse_seconds": refuse}})

    def kill(self, task_id, agent_id=None):
        kill = {"task_id": {"value": task_id}}
        if agent_id is not None:
            kill["agent_id"] = {"value": agent_id}
        self.call("KILL", kill=kill)

    def ack(self, status):
        self.call("ACKNOWLEDGE", acknowledge={
            "agent_id": status["agent_id"], "task_id": status["task_id"],
            "uuid": status["uuid"]})

    def reconcile(self, *task_ids):
        self.call("RECONCILE", reconcile={"tasks": [{"task_id": {"value": t}} for t in task_ids]})

    def teardown(self):
        self.call("TEARDOWN")
