"""Task groups by pymesos on the default executor.

    groups.py MASTER SECONDS

Each group has a server, which listens in its sandbox until its client has spoken to it, and that
client: they find each other by their executor's sandbox. The client of the last group fails. The
result is one JSON object on stdout: the states of each task.
"""

import json
import logging
import sys
import threading

from pymesos import MesosSchedulerDriver, Scheduler

SERVER = "mkfifo $MESOS_SANDBOX/../../door; read word < $MESOS_SANDBOX/../../door; " \
         "[ $word = hello ]"
CLIENT = "until [ -p $MESOS_SANDBOX/../../door ]; do sleep 0.05; done; " \
         "echo hello > $MESOS_SANDBOX/../../door"
GROUPS = {"one": (SERVER, CLIENT), "two": (SERVER, CLIENT), "bad": ("sleep 1000", "exit 4")}


def scalar(name, value):
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}


class Groups(Scheduler):
    def __init__(self):
        self.waiting = sorted(GROUPS)
        self.states, self.error_message = {}, None
        self.done = threading.Event()

    def resourceOffers(self, driver, offers):
        for offer in offers:
            if not self.waiting:
                driver.declineOffer(offer["id"], {"refuse_seconds": 5})
                continue
            name = self.waiting.pop()
            executor = {
                "type": "DEFAULT", "executor_id": {"value": "pod-" + name},
                "framework_id": {"value": self.framework},
                "resources": [scalar("cpus", 0.1), scalar("mem", 32), scalar("disk", 1)]}
            tasks = [{
                "name": kind, "task_id": {"value": "%s-%s" % (name, kind)},
                "agent_id": offer["agent_id"], "command": {"value": command},
                "resources": [scalar("cpus", 0.1), scalar("mem", 32)]}
                for kind, command in zip(("server", "client"), GROUPS[name])]
            driver.acceptOffers([offer["id"]], [{
                "type": "LAUNCH_GROUP", "launch_group": {
                    "executor": executor, "task_group": {"tasks": tasks}}}],
                {"refuse_seconds": 0})

    def registered(self, driver, framework_id, master_info):
        self.framework = framework_id["value"]

    def statusUpdate(self, driver, update):
        self.states.setdefault(update["task_id"]["value"], []).append(update["state"])
        last = [states[-1] for states in self.states.values()]
        if len(last) == 2 * len(GROUPS) and all(
                state in ("TASK_FINISHED", "TASK_FAILED", "TASK_KILLED") for state in last):
            self.done.set()

    def error(self, driver, message):
        self.error_message = message
        self.done.set()


def main():
    logging.basicConfig(level=logging.INFO)
    groups = Groups()
    driver = MesosSchedulerDriver(
        groups, {"user": "root", "name": "pymesos", "checkpoint": True}, sys.argv[1])
    driver.start()
    finished = groups.done.wait(float(sys.argv[2]))
    driver.stop()
    driver.join()
    print(json.dumps({"finished": finished, "states": groups.states,
                      "error": groups.error_message}))
    return 0 if finished and not groups.error_message else 1


if __name__ == "__main__":
    sys.exit(main())
