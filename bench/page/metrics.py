"""Questions to a master over HTTP."""

import http.client
import json

from .processes import Failure

SECONDS = 60


def ask(address, method, path, body=None, headers=None):
    """The body of a 200."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise Failure("%s %s: HTTP %d" % (method, path, answer.status))
        return data
    except http.client.HTTPException as error:
        raise Failure("%s %s: %r" % (method, path, error)) from None
    finally:
        connection.close()


def redirect(address):
    """HOST:PORT of the master that leads, as a master says."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS)
    try:
        connection.request("GET", "/redirect")
        answer = connection.getresponse()
        answer.read()
        if answer.status != 307:
            raise Failure("GET /redirect: HTTP %d" % answer.status)
        return answer.headers["Location"].rpartition("/")[2]
    finally:
        connection.close()


def call(address, name, encoding):
    """The answer of a call of the operator API without parameters, in json or protobuf."""
    accept = "application/json" if encoding == "json" else "application/x-protobuf"
    return ask(address, "POST", "/api/v1", json.dumps({"type": name}).encode(),
               {"Content-Type": "application/json", "Accept": accept})


def total(address, names):
    """Gauges and counters, added up."""
    metrics = json.loads(ask(address, "GET", "/metrics/snapshot"))
    return sum(int(metrics[name]) for name in names)


def running(address):
    return total(address, ["master/tasks_running"])
