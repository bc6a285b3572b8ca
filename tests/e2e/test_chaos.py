"""A job of tasks while master, agents and scheduler die at random moments, again and again.

Held against it, in the scheduler's eyes: every task that was launched reaches one terminal
state and never leaves it; a command ran exactly once if its task finished or failed, and not at
all if the cluster says that it was dropped, lost or gone; a task that runs is not disturbed; and
at the end the books of master, agents and allocator are clean.

CHAOS_SEEDS is a list of seeds ("1 2 3") or a range ("1-50"); CHAOS_VERBOSE tells what is done.
"""

import http.client
import json
import os
import random
import signal
import threading
import time

import harness
from harness import wait_for
from processes import SCALE, Timeout, alive, descendants
from scheduler import TERMINAL, Scheduler, amounts, task, unique
from test_tasks import data, executor_info

FAULTS = ("master", "master", "agent", "agent", "both", "scheduler", "freeze")
# The cluster says with these that a task never ran: of commands, that is checked.
NEVER_RAN = {"TASK_LOST", "TASK_DROPPED", "TASK_GONE", "TASK_UNKNOWN"}


def seeds(default):
    text = os.environ.get("CHAOS_SEEDS", default)
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


class Persistent(Scheduler):
    """Stays subscribed: whenever its stream ends it comes back with its id."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._leaving = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def start(self):
        self.subscribe()
        self._keeper.start()

    def stop(self):
        self._leaving.set()
        self.close()
        if self._keeper.is_alive():
            self._keeper.join(20 * SCALE)

    def _keep(self):
        while not self._leaving.is_set():
            if not self._closed:
                with self._condition:
                    self._condition.wait_for(
                        lambda: self._closed or self._leaving.is_set(), 1)
                continue
            try:
                self.subscribe()
            except (OSError, ValueError, Timeout, http.client.HTTPException):
                self._leaving.wait(0.02)

    def attempt(self, call, *args, **options):
        """A call whose outcome may stay unknown: True if it was accepted."""
        try:
            call(*args, **options)
            return True
        except (OSError, AssertionError, http.client.HTTPException):
            return False

    def insist(self, call, *args, **options):
        """A call that is repeated until it is accepted."""
        wait_for(lambda: self.attempt(call, *args, **options), "accepted call")

    def take_offers(self):
        """All offers that are there."""
        taken = []
        with self._condition:
            for event in list(self.events):
                if event["type"] == "OFFERS":
                    taken += event["offers"]["offers"]
                    self.events.remove(event)
        return taken

    def terminal(self, task_id):
        for status in list(self.updates.get(task_id, ())):
            if status["state"] in TERMINAL:
                return status
        return None

    def pause(self, seconds):
        """Lets time pass, up to this, for what is under way."""
        with self._condition:
            self._condition.wait(seconds)


class Job:
    """Tasks of which each leaves a trace of its run, and what must become of them."""

    def __init__(self, test, scheduler, rng, size):
        self.test, self.scheduler, self.rng = test, scheduler, rng
        self.traces = test.temporary()
        os.chmod(self.traces, 0o777)
        self.kinds = [rng.choice(("ok", "ok", "ok", "fail", "slow", "custom"))
                      for _ in range(size)]
        self.kinds += ["server"] * 3
        rng.shuffle(self.kinds)
        self.expected = {}          # task id: its kind
        self.agents = {}            # task id: agent id
        self.executors = {}         # agent id: ExecutorInfo
        self.pids = {}              # servers: the pid once it is known

    def trace(self, task_id):
        try:
            with open(os.path.join(self.traces, task_id), encoding="ascii") as file:
                return file.read().split()
        except OSError:
            return []

    def _info(self, kind, offer):
        task_id = unique(kind)
        mark = "echo $$ >> %s/%s; " % (self.traces, task_id)
        command = {"ok": "exit 0", "fail": "exit 3", "slow": "sleep 0.%d" % self.rng.randint(1, 9),
                   "server": "exec sleep 1000", "custom": None}[kind]
        if command is not None:
            return task(offer, mark + command, task_id, cpus=0.1, mem=16)
        agent_id = offer["agent_id"]["value"]
        executor = self.executors.setdefault(agent_id, executor_info())
        return task(offer, None, task_id, cpus=0.1, mem=16, executor=executor,
                    data=data("finish"))

    def launch_some(self):
        """Launches a handful on what is offered; gives back the rest."""
        for offer in self.scheduler.take_offers():
            have = amounts(offer["resources"])
            room = int(min(have.get("cpus", 0) / 0.1, have.get("mem", 0) / 16)) - 4
            count = max(0, min(room, len(self.kinds), self.rng.randint(1, 6)))
            infos = [self._info(self.kinds.pop(), offer) for _ in range(count)]
            for info in infos:
                name = info["task_id"]["value"]
                self.expected[name] = name.split("-")[0]
                self.agents[name] = offer["agent_id"]
            if infos:
                self.scheduler.attempt(self.scheduler.launch, offer, infos)
            else:
                self.scheduler.attempt(self.scheduler.decline, offer, 0)

    def open_tasks(self, servers=False):
        return [name for name, kind in self.expected.items()
                if self.scheduler.terminal(name) is None and (servers or kind != "server"
                                                              or not self.runs(name))]

    def runs(self, name):
        return any(s["state"] == "TASK_RUNNING" for s in self.scheduler.updates.get(name, ()))

    def reconcile(self, names):
        tasks = [{"task_id": {"value": name}, "agent_id": self.agents[name]} for name in names]
        self.scheduler.attempt(self.scheduler.call, "RECONCILE", reconcile={"tasks": tasks})


class Chaos(harness.TestCase):
    agents = 2
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 10}
    agent_flags = {"executor_reregistration_timeout": "15secs", "recovery_timeout": "5mins"}
    size = 30
    faults = 20

    def test_seeds(self):
        for seed in seeds("1-4"):
            if self.cluster is None:
                self.cluster = harness.Cluster(
                    self.agents, self.master_flags, self.agent_flags).start()
            self.run_seed(seed)
            self._clean()
            self.cluster = None

    def say(self, text, *args):
        if "CHAOS_VERBOSE" in os.environ:
            print("%.3f %s" % (time.time(), text % args), flush=True)

    # -- one seed

    def run_seed(self, seed):
        self.say("seed %d", seed)
        rng = random.Random(seed)
        aware = rng.random() < 0.7
        scheduler = Persistent(self.master.address, name="chaos-%d" % seed,
                               failover_timeout=600,
                               capabilities=("MULTI_ROLE",) + ("PARTITION_AWARE",) * aware)
        scheduler.start()
        try:
            job = Job(self, scheduler, rng, self.size)
            for _ in range(self.faults):
                self.work(job, rng.expovariate(1 / 0.15))
                self.strike(rng, scheduler)
            for step in (self.finish, self.check_states, self.check_books):
                self.say("%s", step.__name__)
                step(job)
        except AssertionError as error:
            raise AssertionError("seed %d in %s: %s" % (
                seed, self.cluster.base, error)) from error
        finally:
            scheduler.stop()

    def work(self, job, seconds):
        """Launches what can be launched, until this time has passed."""
        end = time.monotonic() + seconds
        while True:
            job.launch_some()
            left = end - time.monotonic()
            if left <= 0:
                return
            job.scheduler.pause(min(left, 0.05))

    def down_time(self, rng, scheduler):
        if rng.random() < 0.5:
            scheduler.pause(rng.expovariate(1 / 0.2))

    def strike(self, rng, scheduler):
        fault, agent = rng.choice(FAULTS), rng.choice(self.cluster.agents)
        self.say("%s %s", fault, agent.name)
        if fault == "scheduler":
            scheduler.close()
        elif fault == "freeze":
            agent.signal(signal.SIGSTOP)
            scheduler.pause(rng.expovariate(1 / 0.3))
            agent.signal(signal.SIGCONT)
        else:
            victims = {"master": [self.master], "agent": [agent],
                       "both": [self.master, agent]}[fault]
            rng.shuffle(victims)
            for victim in victims:
                victim.kill()
            self.down_time(rng, scheduler)
            rng.shuffle(victims)
            for victim in victims:
                victim.start()

    def finish(self, job):
        """No faults any more: all tasks are launched and all but the servers end."""
        self.master.wait_ready()
        for agent in self.cluster.agents:
            agent.wait_registered()

        def launched():
            job.launch_some()
            return not job.kinds
        wait_for(launched, "offers for the rest", 30)
        self.settle(job, "end of all tasks")

    def settle(self, job, what, servers=False):
        """Waits for terminal states; from time to time the scheduler asks for them."""
        asked = [time.monotonic() + 1]

        def settled():
            left = job.open_tasks(servers)
            if left and time.monotonic() > asked[0]:
                self.say("reconcile %s", left)
                job.reconcile(left)
                asked[0] = time.monotonic() + 2
            return not left
        try:
            wait_for(settled, what, 60)
        except Timeout as error:
            left = job.open_tasks(servers)
            raise Timeout("%s: %s" % (error, {n: (job.scheduler.states(n), job.trace(n))
                                              for n in left})) from None

    # -- what is checked

    def check_states(self, job):
        scheduler = job.scheduler
        servers = [n for n, kind in job.expected.items()
                   if kind == "server" and scheduler.terminal(n) is None]
        for name in servers:
            pids = wait_for(lambda name=name: job.trace(name), "pid of " + name)
            self.assertEqual(len(pids), 1, name)
            self.assertTrue(alive(int(pids[0])), "%s was disturbed" % name)
            scheduler.insist(scheduler.kill, name)
        self.settle(job, "end of the servers", servers=True)
        for name, kind in job.expected.items():
            self.check_task(job, name, kind)

    def check_task(self, job, name, kind):
        updates = job.scheduler.updates[name]
        states = [status["state"] for status in updates]
        end = job.scheduler.terminal(name)
        about = "%s: %s" % (name, [(s["state"], s.get("reason"), s.get("message"))
                                   for s in updates])
        after = states[states.index(end["state"]):]
        self.assertEqual(set(after), {end["state"]}, about)
        runs = len(job.trace(name))
        wanted = {"ok": "TASK_FINISHED", "slow": "TASK_FINISHED", "fail": "TASK_FAILED",
                  "custom": "TASK_FINISHED", "server": "TASK_KILLED"}[kind]
        if end["source"] != "SOURCE_EXECUTOR":
            self.assertNotIn("TASK_RUNNING", states, about)
            self.assertIn(end["state"], NEVER_RAN | {"TASK_FAILED"}, about)
            self.assertEqual(runs, 0, about)
            return
        self.assertEqual(end["state"], wanted, about)
        if kind != "custom":
            self.assertEqual(runs, 1, about)

    def check_books(self, job):
        scheduler = job.scheduler
        for executor in job.executors.values():
            for agent in self.cluster.agents:
                scheduler.insist(scheduler.call, "SHUTDOWN", shutdown={
                    "executor_id": executor["executor_id"], "agent_id": {"value": agent.id}})
        scheduler.insist(scheduler.call, "REVIVE")

        def idle():
            for agent in self.cluster.agents:
                entry = agent.entry()
                if any(entry["used_resources"].get(k) for k in ("cpus", "mem", "disk")):
                    return False
                if agent.state()["frameworks"]:
                    return False
            return True
        try:
            wait_for(idle, "idle agents", 30)
        except Timeout as error:
            raise Timeout("%s: %s" % (error, [
                (a.entry()["used_resources"], json.dumps(a.state()["frameworks"])[:3000])
                for a in self.cluster.agents])) from None
        self.check_framework(job)
        self.check_offers(job)
        for agent in self.cluster.agents:
            wait_for(lambda agent=agent: not descendants(agent.process.pid),
                     "end of the processes of " + agent.name)

    def check_framework(self, job):
        state = self.master.state()
        framework = state["frameworks"][0]
        self.assertEqual(len(state["frameworks"]), 1)
        self.assertEqual(framework["tasks"], [])
        self.assertEqual(framework["executors"], [])
        self.assertEqual(framework["unreachable_tasks"], [])
        self.assertEqual([v for v in framework["used_resources"].values() if v not in (0, "")], [])
        completed = {}
        for entry in framework["completed_tasks"]:
            completed.setdefault(entry["id"], []).append(entry["state"])
        for name in job.expected:
            end = job.scheduler.terminal(name)
            if end.get("source") == "SOURCE_EXECUTOR":
                self.assertEqual(completed.get(name), [end["state"]], name)
            else:
                self.assertIn(completed.get(name), (None, [end["state"]]), name)

    def check_offers(self, job):
        total = {a.id: amounts_of(a.entry()["resources"]) for a in self.cluster.agents}
        offered = {}

        def whole():
            for offer in job.scheduler.take_offers():
                sums = offered.setdefault(offer["agent_id"]["value"], {})
                for name, amount in amounts(offer["resources"]).items():
                    sums[name] = round(sums.get(name, 0) + amount, 3)
            return offered == total
        try:
            wait_for(whole, "offers of everything")
        except Timeout as error:
            raise Timeout("%s: offered %s of %s" % (error, offered, total)) from None


def amounts_of(resources):
    return {name: resources[name] for name in ("cpus", "mem", "disk")}
