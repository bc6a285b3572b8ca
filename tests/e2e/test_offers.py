"""Offers, declines, and above all tasks launched on offers that are no longer there."""

import harness
from scheduler import amounts, task, unique

FOREVER = 1e6


class InvalidOffers(harness.TestCase):
    """Each task on a bad offer comes back, with the reason, the source and the words of Mesos."""

    def check(self, offers, message, capabilities=("MULTI_ROLE",), state="TASK_LOST"):
        scheduler = self.subscribe(capabilities=capabilities)
        offers, message = offers(scheduler), message
        ids = [unique("task") for _ in range(2)]
        tasks = [task({"agent_id": {"value": "agent"}}, "exit 0", task_id) for task_id in ids]
        scheduler.launch([{"id": {"value": offer}} for offer in offers], tasks)
        for task_id in ids:
            status = scheduler.wait_terminal(task_id)
            self.assertEqual(status["state"], state)
            self.assertEqual(status["reason"], "REASON_INVALID_OFFERS")
            self.assertEqual(status["source"], "SOURCE_MASTER")
            self.assertEqual(status["message"],
                             "Task launched with invalid offers: " + message % {
                                 "offer": offers[-1] if offers else ""})
            self.assertNotIn("uuid", status)
        scheduler.teardown()

    def declined(self, scheduler):
        offer = scheduler.offer()
        scheduler.decline(offer, 0)
        return [offer["id"]["value"]]

    def used(self, scheduler):
        offer = scheduler.offer()
        scheduler.launch(offer, [task(offer, "exit 0")])
        return [offer["id"]["value"]]

    def test_unknown(self):
        self.check(lambda _: ["none"], "Offer none is no longer valid")

    def test_unknown_for_a_partition_aware_framework(self):
        self.check(lambda _: ["none"], "Offer none is no longer valid",
                   ("MULTI_ROLE", "PARTITION_AWARE"), "TASK_DROPPED")

    def test_declined(self):
        self.check(self.declined, "Offer %(offer)s is no longer valid")

    def test_declined_for_a_partition_aware_framework(self):
        self.check(self.declined, "Offer %(offer)s is no longer valid",
                   ("MULTI_ROLE", "PARTITION_AWARE"), "TASK_DROPPED")

    def test_used(self):
        self.check(self.used, "Offer %(offer)s is no longer valid")

    def test_none(self):
        self.check(lambda _: [], "No offers specified")

    def test_foreign(self):
        owner = self.subscribe()
        offer = owner.offer()
        other = self.subscribe()
        info = task(offer, "exit 0")
        other.launch(offer, [info])
        status = other.wait_terminal(info["task_id"]["value"])
        self.assertEqual((status["state"], status["reason"]),
                         ("TASK_LOST", "REASON_INVALID_OFFERS"))
        self.assertIn("Task launched with invalid offers: ", status["message"])

    def test_rescinded_with_its_agent(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        self.agent.terminate()
        rescinded = scheduler.expect("RESCIND", timeout=30)["rescind"]["offer_id"]
        self.assertEqual(rescinded, offer["id"])
        info = task(offer, "exit 0")
        scheduler.launch(offer, [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual((status["state"], status["reason"]),
                         ("TASK_LOST", "REASON_INVALID_OFFERS"))


class ExpiredOffers(harness.TestCase):
    master_flags = {"offer_timeout": "100ms"}

    def test_expired(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        self.assertEqual(scheduler.expect("RESCIND")["rescind"]["offer_id"], offer["id"])
        info = task(offer, "exit 0")
        scheduler.launch(offer, [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual((status["state"], status["message"]), (
            "TASK_LOST", "Task launched with invalid offers: Offer %s is no longer valid"
            % offer["id"]["value"]))


class Offers(harness.TestCase):
    agents = 2

    def both(self, scheduler):
        first = scheduler.offer(cpus=4)
        second = scheduler.offer(cpus=4)
        return first, second

    def test_every_agent_is_offered_whole(self):
        first, second = self.both(self.subscribe())
        self.assertNotEqual(first["agent_id"], second["agent_id"])
        for offer in (first, second):
            self.assertEqual(amounts(offer["resources"]),
                             {"cpus": 4, "mem": 4096, "disk": 4096})
            self.assertEqual(offer["hostname"], "localhost")
            self.assertEqual(offer["url"]["address"]["ip"], "127.0.0.1")

    def test_offers_of_two_agents_cannot_be_mixed(self):
        scheduler = self.subscribe()
        first, second = self.both(scheduler)
        info = task(first, "exit 0")
        scheduler.launch([first, second], [info])
        status = scheduler.wait_terminal(info["task_id"]["value"])
        self.assertEqual(status["reason"], "REASON_INVALID_OFFERS")

    def test_declined_resources_go_to_another_framework(self):
        one = self.subscribe(name="one")
        for offer in self.both(one):
            one.decline(offer, FOREVER)
        two = self.subscribe(name="two")
        self.both(two)

    def test_revive_clears_filters(self):
        scheduler = self.subscribe()
        for offer in self.both(scheduler):
            scheduler.decline(offer, FOREVER)
        scheduler.call("REVIVE")
        self.both(scheduler)

    def test_rest_of_a_used_offer_is_offered(self):
        scheduler = self.subscribe()
        offer = scheduler.offer(cpus=4)
        scheduler.launch(offer, [task(offer, "sleep 1000", cpus=1)])
        agent_id = offer["agent_id"]
        while True:
            rest = scheduler.offer(cpus=3)
            if rest["agent_id"] == agent_id:
                break
        self.assertAlmostEqual(amounts(rest["resources"])["cpus"], 3)

    def test_suppress_and_revive(self):
        scheduler = self.subscribe()
        scheduler.call("SUPPRESS")
        for offer in self.both(scheduler):
            scheduler.decline(offer, 0)
        other = self.subscribe(name="other")
        for offer in self.both(other):
            other.decline(offer, FOREVER)
        other.teardown()
        scheduler.call("REVIVE")
        self.both(scheduler)
