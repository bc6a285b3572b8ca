"""Revocable resources, from an agent's fixed estimator to a task that runs on them."""

import json

import harness
from scheduler import amounts, task

ESTIMATOR = "org_apache_mesos_FixedResourceEstimator"


def revocable(offer):
    return [r for r in offer["resources"] if "revocable" in r]


class Oversubscription(harness.TestCase):
    agent_flags = {
        "resource_estimator": ESTIMATOR,
        "modules": json.dumps({"libraries": [{"file": "libfixed_resource_estimator.so", "modules": [
            {"name": ESTIMATOR, "parameters": [{"key": "resources", "value": "cpus:2"}]}]}]}),
    }

    def test_for_those_who_can_bear_it(self):
        careful = self.subscribe()
        offer = careful.offer()
        self.assertEqual(revocable(offer), [])
        self.assertEqual(amounts(offer["resources"])["cpus"], 4)
        careful.teardown()
        bold = self.subscribe(capabilities=("MULTI_ROLE", "REVOCABLE_RESOURCES"))
        offer = bold.offer(cpus=6)
        self.assertEqual(amounts(revocable(offer)), {"cpus": 2})

    def test_a_task_runs_on_them_and_they_come_back(self):
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "REVOCABLE_RESOURCES"))
        offer = scheduler.offer(cpus=6)
        info = task(offer, "true")
        info["resources"] = [dict(revocable(offer)[0], scalar={"value": 0.5})] + [
            r for r in info["resources"] if r["name"] == "mem"]
        scheduler.launch(offer, [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["state"], "TASK_FINISHED", status)
        back = 0
        while back < 2:     # what was used comes in an offer of its own
            back += amounts(revocable(scheduler.offer(cpus=0.5, mem=0))).get("cpus", 0)
        self.assertEqual(back, 2)

    def test_over_a_crash_of_the_agent(self):
        self.agent.kill()
        self.agent.start().wait_registered()
        scheduler = self.subscribe(capabilities=("MULTI_ROLE", "REVOCABLE_RESOURCES"))
        self.assertEqual(amounts(revocable(scheduler.offer(cpus=6))), {"cpus": 2})
