"""What clients see of the registry while its masters die: one register a role, as if there were one
master that does one thing at a time."""

import json
import random
import signal
import threading
import time
import unittest

import connections
import harness
import zookeeper
from linearizable import is_linearizable

ROLES = ["red", "green", "blue"]
CLIENTS = 4
ROUNDS = 5
PAUSE = 0.01                    # of a client between operations, at most
LOAD = 1.0                      # seconds between deaths


class Checker(unittest.TestCase):
    """The checker itself: W and R are writes and reads, with times, by hand."""

    def check(self, good, *history):
        self.assertEqual(is_linearizable(list(history)), good, history)

    def test_one_after_the_other(self):
        self.check(True)
        self.check(True, (0, 1, True, 1), (2, 3, False, 1))
        self.check(False, (0, 1, True, 1), (2, 3, False, 2))
        self.check(False, (0, 1, False, 1))
        self.check(True, (0, 1, False, None))

    def test_stale_reads(self):
        self.check(False, (0, 1, True, 1), (2, 3, True, 2), (4, 5, False, 1))
        self.check(False, (0, 1, True, 1), (2, 9, True, 2), (3, 4, False, 2), (5, 6, False, 1))

    def test_at_the_same_time(self):
        self.check(True, (0, 1, True, 1), (2, 9, True, 2), (3, 4, False, 1), (5, 6, False, 2))
        self.check(True, (0, 9, True, 1), (0, 9, True, 2), (1, 8, False, 1), (10, 11, False, 2))
        self.check(False, (0, 9, True, 1), (0, 9, True, 2), (10, 11, False, 1), (12, 13, False, 2))

    def test_writes_of_which_nobody_knows(self):
        self.check(True, (0, 1, True, 1), (2, None, True, 2), (3, 4, False, 1), (8, 9, False, 2))
        self.check(True, (0, 1, True, 1), (2, None, True, 2), (3, 4, False, 1), (8, 9, False, 1))
        self.check(False, (0, 1, True, 1), (2, None, True, 2), (3, 4, False, 2), (8, 9, False, 1))
        self.check(False, (0, 1, False, 2), (2, None, True, 2))

    def test_histories_of_a_register(self):
        """Made by a register with random times; with one value changed they are none."""
        for seed in range(200):
            rng, held, history = random.Random(seed), None, []
            for at in range(20):
                wrote = rng.random() < 0.5
                held = at if wrote else held
                unknown = wrote and rng.random() < 0.1
                history.append((at - rng.random() * 3, None if unknown else at + rng.random() * 3,
                                wrote, held))
            self.assertTrue(is_linearizable(history), seed)
            reads = [i for i, operation in enumerate(history) if not operation[2]]
            at = rng.choice(reads or [0])
            history[at] = history[at][:2] + (False, 99)
            self.assertFalse(is_linearizable(history), seed)


class Client(threading.Thread):
    """Changes and reads weights at whichever master it takes for the leader."""

    def __init__(self, number, masters, over):
        super().__init__()
        self.rng = random.Random(number)
        self.number, self.masters, self.over = number, masters, over
        self.at = masters[0]
        self.history = {role: [] for role in ROLES}
        self.writes = self.reads = 0

    def call(self, body):
        """The answer; False: it was surely not done; None: nobody knows."""
        try:
            status, _, answer = harness.request(
                self.at.address, "POST", "/api/v1", json.dumps(body),
                {"Content-Type": "application/json", "Accept": "application/json"}, 5)
        except ConnectionRefusedError:
            status, answer = 0, b""
        except (OSError, connections.http.client.HTTPException):
            self.at = self.rng.choice(self.masters)
            return None
        if status == 200:
            return answer or b"{}"
        self.at = self.rng.choice(self.masters)
        return None if status == 503 and b"may be done" in answer else False

    def write(self, role):
        self.writes += 1
        value = float(self.number + 1 + CLIENTS * self.writes)
        begin = time.monotonic()
        answer = self.call({"type": "UPDATE_WEIGHTS", "update_weights": {"weight_infos": [
            {"role": role, "weight": value}]}})
        if answer is not False:
            end = time.monotonic() if answer else None
            self.history[role].append((begin, end, True, value))

    def read(self):
        begin = time.monotonic()
        answer = self.call({"type": "GET_WEIGHTS"})
        if not answer:
            return
        self.reads += 1
        end = time.monotonic()
        found = {info["role"]: info["weight"]
                 for info in json.loads(answer)["get_weights"].get("weight_infos", [])}
        for role in ROLES:
            self.history[role].append((begin, end, False, found.get(role)))

    def run(self):
        while not self.over.is_set():
            if self.rng.random() < 0.5:
                self.write(self.rng.choice(ROLES))
            else:
                self.read()
            self.over.wait(self.rng.random() * PAUSE)


class Registry(zookeeper.ElectionCase):
    def kill(self, leader):
        leader.kill()
        return self.wait_leader(but=[leader])

    def end(self, leader):
        self.assertEqual(leader.terminate(), 0)
        return self.wait_leader(but=[leader])

    def pause(self, leader):
        """It is still asked, and goes on when another one leads."""
        leader.signal(signal.SIGSTOP)
        other = self.wait_leader(but=[leader])
        time.sleep(LOAD)        # load: clients write at the other one
        leader.signal(signal.SIGCONT)
        self.wait_ended(leader)
        return other

    def test_what_clients_see_has_an_order(self):
        over = threading.Event()
        clients = [Client(number, self.masters, over) for number in range(CLIENTS)]
        self.addCleanup(over.set)
        for client in clients:
            client.start()
        leader = self.masters[0]
        for number in range(ROUNDS):
            time.sleep(LOAD)    # load, too
            other = (self.kill, self.pause, self.end)[number % 3](leader)
            leader.start()
            self.wait_follower(leader)
            leader = other
        over.set()
        for client in clients:
            client.join()
        for role in ROLES:
            history = [operation for client in clients for operation in client.history[role]]
            self.assertTrue(is_linearizable(history), "%s: %s" % (role, sorted(history)))
            self.assertGreater(sum(operation[2] for operation in history), 10 * ROUNDS)
        self.assertGreater(sum(client.reads for client in clients), 10 * ROUNDS)
