"""Executor of scheduler.py: squares a task's number when a message asks for it."""

import base64
import logging
import sys
from threading import Lock

from pymesos import Executor, MesosExecutorDriver


class Squares(Executor):
    def __init__(self):
        self.numbers, self.lock = {}, Lock()

    def launchTask(self, driver, task):
        with self.lock:
            self.numbers[task["task_id"]["value"]] = (
                task["task_id"], int(base64.b64decode(task["data"])))
        driver.sendStatusUpdate({"task_id": task["task_id"], "state": "TASK_RUNNING"})

    def frameworkMessage(self, driver, message):
        name = base64.b64decode(message).decode()
        with self.lock:
            task_id, number = self.numbers.pop(name)
        driver.sendFrameworkMessage(base64.b64encode(
            ("%s=%d" % (name, number * number)).encode()).decode())
        driver.sendStatusUpdate({"task_id": task_id, "state": "TASK_FINISHED"})


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    MesosExecutorDriver(Squares()).run()
    sys.exit(0)
