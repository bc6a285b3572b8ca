#!/usr/bin/python3
"""A custom executor for the tests, on the v1 executor API in JSON.

Says TASK_RUNNING for each task and then does what the task's data (base64 of text) says:

  finish        TASK_FINISHED at once
  wait          nothing more until it is killed
  exit N        the whole executor exits with N
  echo          a framework message with the task's id

Messages of the scheduler are sent back with "echo:" before them.
"""

import base64
import http.client
import json
import os
import ssl
import sys
import time
import uuid

ADDRESS = os.environ["MESOS_AGENT_ENDPOINT"]
FRAMEWORK = {"value": os.environ["MESOS_FRAMEWORK_ID"]}
EXECUTOR = {"value": os.environ["MESOS_EXECUTOR_ID"]}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
if "MESOS_EXECUTOR_AUTHENTICATION_TOKEN" in os.environ:
    HEADERS["Authorization"] = "Bearer " + os.environ["MESOS_EXECUTOR_AUTHENTICATION_TOKEN"]


def connect(timeout=None):
    host, port = ADDRESS.rsplit(":", 1)
    if os.environ.get("LIBPROCESS_SSL_ENABLED") == "true":
        context = ssl.create_default_context(cafile=os.environ["LIBPROCESS_SSL_CA_FILE"])
        return http.client.HTTPSConnection(host, int(port), timeout=timeout, context=context)
    return http.client.HTTPConnection(host, int(port), timeout=timeout)


def call(kind, **fields):
    connection = connect(10)
    connection.request("POST", "/api/v1/executor", json.dumps(
        {"type": kind, "framework_id": FRAMEWORK, "executor_id": EXECUTOR, **fields}), HEADERS)
    answer = connection.getresponse()
    if answer.status == 503:
        raise OSError("%s: the agent is not ready" % kind)
    if answer.status != 202:
        sys.exit("%s: %d %r" % (kind, answer.status, answer.read()))
    connection.close()


class Executor:
    def __init__(self):
        self.unacknowledged = {}
        self.tasks = {}

    def update(self, task_id, state):
        number = base64.b64encode(uuid.uuid4().bytes).decode()
        update = {"status": {"task_id": task_id, "state": state, "uuid": number,
                             "source": "SOURCE_EXECUTOR", "timestamp": time.time()}}
        self.unacknowledged[number] = update
        try:
            call("UPDATE", update=update)
        except (OSError, http.client.HTTPException):
            pass                # the next SUBSCRIBE repeats it

    def subscribe(self):
        connection = connect()
        connection.request("POST", "/api/v1/executor", json.dumps({
            "type": "SUBSCRIBE", "framework_id": FRAMEWORK, "executor_id": EXECUTOR,
            "subscribe": {"unacknowledged_tasks": list(self.tasks.values()),
                          "unacknowledged_updates": list(self.unacknowledged.values())}}),
            HEADERS)
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError("SUBSCRIBE: %d" % answer.status)
        while True:
            line = answer.readline()
            if not line:
                raise OSError("end of stream")
            size, record = int(line), b""
            while len(record) < size:
                more = answer.read(size - len(record))
                if not more:
                    raise OSError("end of stream")
                record += more
            self.handle(json.loads(record))

    def handle(self, event):
        kind = event["type"]
        if kind == "LAUNCH":
            self.launch(event["launch"]["task"])
        elif kind == "KILL":
            self.update(event["kill"]["task_id"], "TASK_KILLED")
        elif kind == "ACKNOWLEDGED":
            self.unacknowledged.pop(event["acknowledged"]["uuid"], None)
            self.tasks.pop(event["acknowledged"]["task_id"]["value"], None)
        elif kind == "MESSAGE":
            data = b"echo:" + base64.b64decode(event["message"]["data"])
            call("MESSAGE", message={"data": base64.b64encode(data).decode()})
        elif kind == "SHUTDOWN":
            sys.exit(0)

    def launch(self, task):
        task_id = task["task_id"]
        self.tasks[task_id["value"]] = task
        self.update(task_id, "TASK_RUNNING")
        order = base64.b64decode(task.get("data", "")).decode().split()
        if order == ["finish"]:
            self.update(task_id, "TASK_FINISHED")
        elif order == ["echo"]:
            call("MESSAGE", message={
                "data": base64.b64encode(task_id["value"].encode()).decode()})
        elif order[:1] == ["exit"]:
            os._exit(int(order[1]))


def main():
    executor = Executor()
    while True:
        try:
            executor.subscribe()
        except (OSError, ValueError, http.client.HTTPException) as error:
            if os.environ.get("MESOS_CHECKPOINT") != "1":
                sys.exit("disconnected: %s" % error)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
