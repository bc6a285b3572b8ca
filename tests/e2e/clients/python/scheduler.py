"""A job of pymesos: squares of numbers, computed by a custom executor.

    scheduler.py MASTER COUNT EXECUTOR

Each number is a task. When a task runs, its number goes to the executor in a framework message;
the square comes back in another. The result is one JSON object on stdout.
"""

import base64
import json
import logging
import os
import sys
import threading

from pymesos import MesosSchedulerDriver, Scheduler

CPUS, MEMORY = 0.1, 16


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(data):
    return base64.b64decode(data).decode()


class Squares(Scheduler):
    def __init__(self, count, executor):
        self.executor = {
            "executor_id": {"value": "squares"},
            "name": "squares",
            "command": {"value": "%s %s" % (sys.executable, executor)},
            "resources": self.resources(0.1, 32),
        }
        self.waiting = list(range(count))
        self.count = count
        self.squares, self.states, self.events = {}, {}, []
        self.error_message = None
        self.done = threading.Event()

    @staticmethod
    def resources(cpus, memory):
        return [{"name": "cpus", "type": "SCALAR", "scalar": {"value": cpus}},
                {"name": "mem", "type": "SCALAR", "scalar": {"value": memory}}]

    def registered(self, driver, framework_id, master_info):
        self.events.append("registered")

    def resourceOffers(self, driver, offers):
        for offer in offers:
            have = {r["name"]: r["scalar"]["value"] for r in offer["resources"]
                    if r["type"] == "SCALAR"}
            cpus, memory = have.get("cpus", 0) - 0.1, have.get("mem", 0) - 32
            tasks = []
            # A few a time, so that the job takes several offers and both agents.
            while self.waiting and len(tasks) < 8 and cpus >= CPUS and memory >= MEMORY:
                number = self.waiting.pop()
                tasks.append({
                    "task_id": {"value": "square-%d" % number},
                    "name": "square of %d" % number,
                    "agent_id": offer["agent_id"],
                    "executor": self.executor,
                    "data": encode(str(number)),
                    "resources": self.resources(CPUS, MEMORY)})
                cpus, memory = cpus - CPUS, memory - MEMORY
            if tasks:
                driver.launchTasks(offer["id"], tasks, {"refuse_seconds": 0})
            else:
                driver.declineOffer(offer["id"], {"refuse_seconds": 5})

    def statusUpdate(self, driver, update):
        task_id = update["task_id"]["value"]
        self.states.setdefault(task_id, []).append(update["state"])
        if update["state"] == "TASK_RUNNING":
            driver.sendFrameworkMessage(update["executor_id"], update["agent_id"],
                                        encode(task_id))
        elif update["state"] != "TASK_STARTING" and update["state"] != "TASK_FINISHED":
            self.error_message = json.dumps(update)
            self.done.set()
        self.check()

    def frameworkMessage(self, driver, executor_id, agent_id, message):
        task_id, square = decode(message).split("=")
        self.squares[task_id] = int(square)
        self.check()

    def error(self, driver, message):
        self.error_message = message
        self.done.set()

    def check(self):
        finished = [t for t, s in self.states.items() if s[-1] == "TASK_FINISHED"]
        if len(finished) == self.count and len(self.squares) == self.count:
            self.done.set()


def main():
    logging.basicConfig(level=logging.INFO)
    master, count, executor = sys.argv[1], int(sys.argv[2]), os.path.abspath(sys.argv[3])
    squares = Squares(count, executor)
    login = dict(zip(("principal", "secret"), sys.argv[5:7]))
    driver = MesosSchedulerDriver(
        squares, {"user": "root", "name": "pymesos", "checkpoint": False}, master, **login)
    driver.start()
    finished = squares.done.wait(float(sys.argv[4]))
    driver.stop()
    driver.join()
    print(json.dumps({"finished": finished, "squares": squares.squares,
                      "states": squares.states, "events": squares.events,
                      "error": squares.error_message}))
    return 0 if finished and not squares.error_message else 1


if __name__ == "__main__":
    sys.exit(main())
