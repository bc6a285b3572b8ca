"""kill -9 of the master: nothing that it knew is gone, and nothing that runs is disturbed."""

import harness
from harness import wait_for
from scheduler import task

# What must be the same before and after; times and counters of the process are not.
FRAMEWORK = ("id", "name", "user", "checkpoint", "failover_timeout", "roles", "capabilities",
             "registered_time")
AGENT = ("id", "hostname", "port", "attributes")  # all that recovered_slaves tells
TASK = ("id", "name", "framework_id", "executor_id", "slave_id", "state", "resources", "role")


def picture(state):
    """The lasting facts of a /state answer."""
    frameworks = {}
    for framework in state["frameworks"]:
        frameworks[framework["id"]] = dict(
            {key: framework.get(key) for key in FRAMEWORK},
            tasks={t["id"]: {key: t.get(key) for key in TASK} for t in framework["tasks"]},
            completed=sorted((t["id"], t["state"]) for t in framework["completed_tasks"]),
            executors=sorted(e["executor_id"] for e in framework["executors"]))
    agents = {a["id"]: {key: a.get(key) for key in AGENT}
              for a in state["slaves"] + state["recovered_slaves"]}
    return frameworks, agents


class MasterRestart(harness.TestCase):
    agents = 2
    master_flags = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": 3}

    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(name="survivor", failover_timeout=120)
        self.finished = self.scheduler.run("exit 0")
        self.scheduler.wait_terminal(self.finished)
        offer = self.scheduler.offer(cpus=1)
        tasks = [task(offer, "echo $$ > pid; exec sleep 1000", cpus=0.2, mem=32)
                 for _ in range(3)]
        self.scheduler.launch(offer, tasks)
        self.running = [info["task_id"]["value"] for info in tasks]
        for task_id in self.running:
            self.scheduler.wait_state(task_id, "TASK_RUNNING")
        self.host = next(a for a in self.cluster.agents
                         if a.id == offer["agent_id"]["value"])
        self.pids = {task_id: self.pid_of(task_id) for task_id in self.running}

    def pid_of(self, task_id):
        path = self.host.sandbox(self.scheduler.id, task_id) + "/pid"

        def read():
            with open(path, encoding="ascii") as file:
                return int(file.read())
        return wait_for(read, "pid of " + task_id)

    def settled(self):
        """The picture once every update is acknowledged and written."""
        def probe():
            found = picture(self.master.state())
            completed = found[0][self.scheduler.id]["completed"]
            return found if (self.finished, "TASK_FINISHED") in completed else None
        return wait_for(probe, "finished task in /state")

    def ps(self):
        code, out, err = harness.run(["ps", "--json", "--master=%s:%d" % self.master.address])
        self.assertEqual(code, 0, err)
        return sorted(out.splitlines())

    def restart(self):
        self.master.kill()
        self.master.start().wait_ready()

    def check_running(self):
        for task_id, pid in self.pids.items():
            self.assertTrue(harness.processes.alive(pid), task_id)

    def test_everything_is_known_at_once(self):
        before, listed = self.settled(), self.ps()
        # Agents are stopped, so all that the new master says is from its store.
        for agent in self.cluster.agents:
            agent.signal(harness.signal.SIGSTOP)
        try:
            self.restart()
            after, listed_after = picture(self.master.state()), self.ps()
        finally:
            for agent in self.cluster.agents:
                agent.signal(harness.signal.SIGCONT)
        self.assertEqual(after, before)
        self.assertEqual(listed_after, listed)
        self.assertGreaterEqual(len(listed), 3)
        framework = self.master.state()["frameworks"][0]
        self.assertFalse(framework["connected"])
        self.check_running()

    def test_again_and_again(self):
        before = self.settled()
        for _ in range(4):
            self.restart()
            self.assertEqual(picture(self.master.state()), before)
        self.check_running()

    def test_scheduler_gets_its_framework_back(self):
        framework_id = self.scheduler.id
        self.restart()
        self.scheduler.wait_closed()
        self.scheduler.subscribe()
        self.assertEqual(self.scheduler.id, framework_id)
        for agent in self.cluster.agents:
            agent.wait_registered()
        self.check_running()
        for task_id in self.running:
            self.scheduler.kill(task_id)
            self.assertEqual(self.scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")
        later = self.scheduler.run("exit 0")
        self.assertEqual(self.scheduler.wait_terminal(later)["state"], "TASK_FINISHED")

    def test_agents_keep_their_ids(self):
        before = sorted(agent.id for agent in self.cluster.agents)
        self.restart()
        for agent in self.cluster.agents:
            agent.wait_registered()
        self.assertEqual(sorted(agent.id for agent in self.cluster.agents), before)
        self.check_running()

    def test_state_reached_while_the_master_was_down_is_told(self):
        self.master.kill()
        self.scheduler.wait_closed()
        pid = self.pids[self.running[0]]
        harness.os.kill(pid, harness.signal.SIGKILL)
        wait_for(lambda: not harness.processes.alive(pid), "end of the task")
        self.master.start().wait_ready()
        self.scheduler.subscribe()
        status = self.scheduler.wait_terminal(self.running[0], timeout=40)
        self.assertEqual(status["state"], "TASK_FAILED")
        for task_id in self.running[1:]:
            self.assertTrue(harness.processes.alive(self.pids[task_id]))
            self.assertNotIn(self.scheduler.states(task_id)[-1:], (["TASK_LOST"],))

    def test_unacknowledged_terminal_state_is_told_again(self):
        self.scheduler.acknowledge = False
        task_id = self.running[0]
        self.scheduler.kill(task_id)
        first = self.scheduler.wait_terminal(task_id)
        self.restart()
        self.scheduler.wait_closed()
        self.scheduler.subscribe()
        self.host.wait_registered()

        def again():
            for event in list(self.scheduler.events):
                if (event["type"] == "UPDATE"
                        and event["update"]["status"]["task_id"]["value"] == task_id
                        and event["update"]["status"]["state"] == "TASK_KILLED"):
                    return event["update"]["status"]
            return None
        self.assertEqual(wait_for(again, "the state once more", 40)["state"], first["state"])
