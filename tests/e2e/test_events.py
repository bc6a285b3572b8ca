"""SUBSCRIBE of the operator API: the state of now, and an event for each change."""

import http.client
import json
import threading

import harness
from test_authentication import MASTER, basic, private_file
from test_authorization import BAD, CREDENTIALS, GOOD, NOTHING


class Watcher:
    """Reads a stream of events in a thread of its own."""

    def __init__(self, address, headers=None):
        self.connection = http.client.HTTPConnection(*address, timeout=60)
        self.connection.request("POST", "/api/v1", '{"type":"SUBSCRIBE"}', {
            "Content-Type": "application/json", "Accept": "application/json", **(headers or {})})
        self.answer = self.connection.getresponse()
        self.events, self.over = [], False
        self._condition = threading.Condition()
        if self.answer.status == 200:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while True:
                size = self.answer.readline()
                if not size:
                    break
                event = json.loads(self.answer.read(int(size)))
                with self._condition:
                    self.events.append(event)
                    self._condition.notify_all()
        except (OSError, ValueError, http.client.HTTPException):
            pass
        with self._condition:
            self.over = True
            self._condition.notify_all()

    def wait(self, what, probe):
        """Until the probe of all events says yes; its answer."""
        with self._condition:
            if not self._condition.wait_for(lambda: probe(self.events), 20 * harness.SCALE):
                raise harness.Timeout("no %s in %s" % (what, self.types()))
            return probe(self.events)

    def take(self, kind, number=0):
        """The content of an event of that kind, the first or a later one."""
        found = self.wait(kind, lambda events: [e for e in events if e["type"] == kind][number:])
        return found[0].get(kind.lower())

    def types(self):
        return [e["type"] for e in self.events]

    def wait_over(self):
        with self._condition:
            if not self._condition.wait_for(lambda: self.over, 20 * harness.SCALE):
                raise harness.Timeout("the stream goes on")

    def close(self):
        self.connection.sock and self.connection.sock.shutdown(2)
        self.connection.close()


class Events(harness.TestCase):
    master_flags = {"max_operator_event_stream_subscribers": 3}

    def watch(self, headers=None):
        watcher = Watcher(self.master.address, headers)
        self._open.append(watcher)
        return watcher

    def test_what_happens(self):
        scheduler = self.subscribe(roles=["r"])
        running = scheduler.run("sleep 1000")
        scheduler.wait_state(running, "TASK_RUNNING")
        one, other = self.watch(), self.watch()
        for watcher in [one, other]:
            state = watcher.take("SUBSCRIBED")
            self.assertEqual(state["heartbeat_interval_seconds"], 15)
            self.assertEqual([t["task_id"]["value"] for t in
                              state["get_state"]["get_tasks"]["tasks"]], [running])
            self.assertEqual(len(state["get_state"]["get_agents"]["agents"]), 1)
            watcher.take("HEARTBEAT")
        ended = scheduler.run("exit 1")
        for watcher in [one, other]:
            self.assertEqual(watcher.take("TASK_ADDED")["task"]["task_id"]["value"], ended)
            watcher.wait("the end", lambda events: [
                e for e in events if e.get("task_updated", {}).get("state") == "TASK_FAILED"])
        other.close()
        scheduler.teardown()
        self.assertEqual(one.take("FRAMEWORK_REMOVED")["framework_info"]["id"]["value"],
                         scheduler.id)
        # What the stream told, and what a new one is told at first, is the same.
        killed = [e["task_updated"]["status"]["task_id"]["value"] for e in one.events
                  if e["type"] == "TASK_UPDATED" and e["task_updated"]["state"] == "TASK_KILLED"]
        self.assertEqual(killed, [running])
        again = self.watch().take("SUBSCRIBED")["get_state"]
        self.assertEqual({t["task_id"]["value"]: t["state"]
                          for t in again["get_tasks"]["completed_tasks"]},
                         {running: "TASK_KILLED", ended: "TASK_FAILED"})

    def test_one_too_many_ends_the_oldest(self):
        watchers = [self.watch() for _ in range(3)]
        for watcher in watchers:
            watcher.take("HEARTBEAT")
        late = self.watch()
        late.take("HEARTBEAT")
        watchers[0].wait_over()
        self.subscribe()
        for watcher in [watchers[1], watchers[2], late]:
            watcher.take("FRAMEWORK_ADDED")

    def test_it_ends_with_the_master(self):
        watcher = self.watch()
        watcher.take("HEARTBEAT")
        self.master.kill()
        watcher.wait_over()
        self.master.start()
        self.master.wait_ready()
        self.agent.wait_registered()
        self.watch().take("SUBSCRIBED")


class Filtered(harness.TestCase):
    """Who may see nothing hears of nothing but agents."""
    agents = None

    def test_events_that_may_not_be_seen(self):
        folder = self.temporary()
        self.cluster = harness.Cluster(1, {
            **MASTER, "credentials": private_file(folder, "credentials", CREDENTIALS),
            "acls": "file://" + private_file(folder, "acls", NOTHING)}, {
                "resources": "cpus:2;mem:1024;cpus(r):1"})
        self.cluster.master.headers = GOOD
        self.cluster.master.start()
        self.cluster.master.wait_ready()
        good, bad = [Watcher(self.master.address, headers) for headers in [GOOD, BAD]]
        self._open += [good, bad]
        self.assertEqual(Watcher(self.master.address, basic("good", "x")).answer.status, 401)
        self.agent.start()
        seen, filtered = [w.take("AGENT_ADDED")["agent"] for w in [good, bad]]
        self.assertEqual({r["role"] for r in seen["total_resources"]}, {"*", "r"})
        self.assertEqual({r["role"] for r in filtered["total_resources"]}, {"*"})
        scheduler = harness.Scheduler(self.master.address, headers=GOOD, principal="good",
                                      roles=["r"])
        self._open.append(scheduler)
        scheduler.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))
        scheduler.teardown()
        good.take("FRAMEWORK_REMOVED")
        self.agent.terminate()
        self.agent.process = None
        self.assertEqual([t for t in bad.types() if t != "HEARTBEAT"],
                         ["SUBSCRIBED", "AGENT_ADDED"])
        for kind in ["FRAMEWORK_ADDED", "TASK_ADDED", "TASK_UPDATED", "FRAMEWORK_REMOVED"]:
            self.assertIn(kind, good.types())
