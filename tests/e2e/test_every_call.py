"""Every call of every API with every field of it filled, in manners that no client has: names of
many thousand characters that come twice, numbers at their ends, nothing at all. What is wrong is
answered; master and agent serve on, and remember nothing wrong after a restart."""

import json
import random

import harness
from proto_messages import Messages

PROTO = Messages()
APIS = [("mesos.master.Call", "/api/v1", "master"), ("mesos.agent.Call", "/api/v1", "agent"),
        ("mesos.scheduler.Call", "/api/v1/scheduler", "master"),
        ("mesos.executor.Call", "/api/v1/executor", "agent")]
# These end what the test needs, or never end; and what others hold until they time out.
LEFT_OUT = {"mesos.master.Call": {"UNKNOWN", "SUBSCRIBE"},
            "mesos.agent.Call": {"UNKNOWN"},
            "mesos.scheduler.Call": {"UNKNOWN", "SUBSCRIBE"},
            "mesos.executor.Call": {"UNKNOWN", "SUBSCRIBE"}}
INTEGERS = {"int32": (-2 ** 31, 2 ** 31 - 1), "uint32": (0, 2 ** 32 - 1), "sint32": (-2 ** 31, 2 ** 31 - 1),
            "int64": (-2 ** 63, 2 ** 63 - 1), "uint64": (0, 2 ** 64 - 1), "fixed64": (0, 2 ** 64 - 1)}
DEPTH = 7


class Manner:
    """How values are made: texts, numbers, how many of what is repeated."""

    def __init__(self, text, number, double, repeated):
        self.text, self.number, self.double, self.repeated = text, number, double, repeated


MANNERS = {
    "long": Manner(lambda: "n" * 6000, lambda low, high: 1, lambda: 1.0, 2),
    "greatest": Manner(lambda: "a/b", lambda low, high: high, lambda: 1e308, 2),
    "least": Manner(lambda: "", lambda low, high: low, lambda: -1e308, 1),
    "odd": Manner(lambda: "\x01 %s/../\u2028\n", lambda low, high: 0, lambda: 5e-324, 3),
}


def value(kind, scope, manner, depth):
    if kind in INTEGERS:
        return manner.number(*INTEGERS[kind])
    if kind in ("double", "float"):
        return manner.double()
    if kind == "bool":
        return True
    if kind == "string":
        return manner.text()
    if kind == "bytes":
        return "AAAA"
    full = PROTO.resolve(kind, scope)
    if full in PROTO.enums:
        return PROTO.enums[full][-1]
    return fill(full, manner, depth)


def fill(name, manner, depth=0):
    """A message with all of its fields; only those that must be there below a depth."""
    made = {}
    for label, kind, field in PROTO.messages[name].fields:
        if depth >= DEPTH and label != "required":
            continue
        if label == "repeated":
            # Two are enough to be compared with each other; more would be too much further down.
            count = manner.repeated if depth < 3 else 1
            made[field] = [value(kind, name, manner, depth + 1) for _ in range(count)]
        else:
            made[field] = value(kind, name, manner, depth + 1)
    return made


def thin(made, chance):
    """The same, each field there or not by chance."""
    if isinstance(made, dict):
        return {name: thin(inner, chance) for name, inner in made.items()
                if name == "type" or chance.random() < 0.7}
    return [thin(inner, chance) for inner in made] if isinstance(made, list) else made


def aim(made, ids):
    """The same, about what there is."""
    if isinstance(made, dict):
        return {name: {"value": ids[name]} if name in ids else aim(inner, ids)
                for name, inner in made.items()}
    return [aim(inner, ids) for inner in made] if isinstance(made, list) else made


def field_of(call, kind):
    """The field of a call that a type goes with, if there is one."""
    names = [field for _, _, field in PROTO.messages[call].fields]
    return next((name for name in names if name == kind.lower()), None)


class EveryCall(harness.TestCase):
    master_flags = {"allocation_interval": "10ms"}

    def send(self, api, body):
        _, path, role = api
        daemon = self.master if role == "master" else self.agent
        status, _, _ = harness.request(daemon.address, "POST", path, json.dumps(body), {
            "Content-Type": "application/json", "Accept": "application/json"}, timeout=30)
        return status

    def calls(self, api, manner):
        name = api[0]
        for kind in PROTO.enums[name + ".Type"]:
            if kind in LEFT_OUT[name]:
                continue
            call, content = {"type": kind}, field_of(name, kind)
            for label, type_name, field in PROTO.messages[name].fields:
                if field == content or (field not in {k.lower() for k in PROTO.enums[name + ".Type"]}
                                        and field != "type"):
                    call[field] = value(type_name, name, manner, 1)
            yield kind, call

    def served(self, what):
        for daemon in (self.master, self.agent):
            daemon.check_alive()
            self.assertEqual(harness.get(daemon.address, "/state", 30)[0], 200, what)

    def check(self, name):
        seen = set()
        for api in APIS:
            for kind, call in self.calls(api, MANNERS[name]):
                try:
                    status = self.send(api, call)
                except OSError as error:
                    self.served((api, kind))
                    raise AssertionError("%s %s: %s" % (api[0], kind, error)) from error
                self.assertIn(status, (200, 202, 400, 403, 404, 409, 415, 500, 501), (api, kind))
                seen.add((api[0], kind))
            self.served((api, name))
        self.assertGreater(len(seen), 70)
        # It is as it was, and remembers no nonsense.
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))
        for daemon in (self.agent, self.master):
            daemon.kill()
            daemon.start()
        self.master.wait_ready()
        self.agent.wait_registered()
        self.served(name)

    def test_long(self):
        self.check("long")

    def test_greatest(self):
        self.check("greatest")

    def test_least(self):
        self.check("least")

    def test_odd(self):
        self.check("odd")

    def test_some_fields_are_not_there(self):
        chance = random.Random(1)
        for _ in range(5):
            for name, manner in MANNERS.items():
                for api in APIS:
                    for _, call in self.calls(api, manner):
                        if name != "long":
                            self.send(api, thin(call, chance))
            self.served("thinned")

    def test_packed_with_bytes_that_are_others(self):
        chance = random.Random(5)
        for api in APIS:
            daemon = self.master if api[2] == "master" else self.agent
            for name, manner in MANNERS.items():
                if name == "long":
                    continue
                for kind, call in self.calls(api, manner):
                    packed = PROTO.encode(api[0], thin(call, chance))
                    for _ in range(4):
                        body = bytearray(packed)
                        for _ in range(chance.randint(0, 3)):
                            body[chance.randrange(len(body))] = chance.randrange(256)
                        if chance.random() < 0.3:
                            del body[chance.randrange(len(body)):]
                        try:
                            harness.request(daemon.address, "POST", api[1], bytes(body), {
                                "Content-Type": "application/x-protobuf",
                                "Accept": "application/x-protobuf"}, timeout=30)
                        except OSError as error:
                            # SUBSCRIBE, by chance, does not end.
                            self.served((api, kind))
                            self.assertIsInstance(error, TimeoutError)
            self.served(api)

    def test_of_a_framework_that_there_is(self):
        """Its calls come further: they are about its own offers and an agent that there is."""
        chance, name = random.Random(2), "mesos.scheduler.Call"
        ids = {"agent_id": self.agent.id, "slave_id": self.agent.id}
        for manner in MANNERS.values():
            for kind, call in self.calls(APIS[2], manner):
                scheduler = self.subscribe(roles=["r"])
                ids["framework_id"] = scheduler.id
                for made in (call, thin(call, chance), thin(call, chance)):
                    scheduler.post({**aim(made, ids), "type": kind,
                                    "framework_id": {"value": scheduler.id}})
                if kind != "TEARDOWN":
                    scheduler.teardown()
            self.served(name)

    def test_of_a_container_that_there_is(self):
        chance, scheduler = random.Random(6), self.subscribe()
        task_id = scheduler.run("sleep 1000")
        parent = scheduler.wait_state(task_id, "TASK_RUNNING")["container_status"]["container_id"]
        api = next(api for api in APIS if api[0] == "mesos.agent.Call")
        for number, manner in enumerate(MANNERS.values()):
            live = {"value": "n%d" % number, "parent": parent}
            self.send(api, {"type": "LAUNCH_CONTAINER", "launch_container": {
                "container_id": live, "command": {"value": "sleep 1000"}}})
            for kind, call in self.calls(api, manner):
                if "CONTAINER" not in kind or kind == "GET_CONTAINERS":
                    continue
                for made in (call, thin(call, chance), thin(call, chance)):
                    made = {**made, kind.lower(): {**made.get(kind.lower(), {}),
                                                   "container_id": live}}
                    if kind.startswith("LAUNCH"):
                        made[kind.lower()]["container_id"] = {
                            "value": "%s-%d" % (kind, chance.getrandbits(60)),
                            "parent": chance.choice([parent, live])}
                    try:
                        harness.request(self.agent.address, "POST", "/api/v1", json.dumps(made), {
                            "Content-Type": "application/json", "Accept": "application/json"},
                            timeout=1)
                    except OSError as error:  # who waits is told nothing
                        self.assertIsInstance(error, TimeoutError, (kind, json.dumps(made)[:3000]))
            self.served(number)
        self.agent.kill().start().wait_registered()
        self.assertEqual(scheduler.states(task_id)[-1], "TASK_RUNNING")
        scheduler.kill(task_id)
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_KILLED")

    def accept(self, scheduler, operations):
        offer = scheduler.offer()
        status, body = scheduler.post({
            "type": "ACCEPT", "framework_id": {"value": scheduler.id}, "accept": {
                "offer_ids": [offer["id"]], "operations": operations,
                "filters": {"refuse_seconds": 0}}})
        self.assertIn(status, (202, 400), body)
        if status == 400:
            scheduler.decline(offer, 0)

    def test_operations_on_offers_that_there_are(self):
        chance, name = random.Random(3), "mesos.Offer.Operation"
        scheduler = self.subscribe(roles=["r"])
        ids = {"agent_id": self.agent.id, "slave_id": self.agent.id, "framework_id": scheduler.id}
        kinds = [kind for kind in PROTO.enums[name + ".Type"] if kind != "UNKNOWN"]
        for manner in MANNERS.values():
            for kind in kinds:
                whole = {**aim(fill(name, manner, 3), ids), "type": kind}
                only = {"type": kind, kind.lower(): whole.get(kind.lower(), {})}
                for operation in (whole, only, thin(only, chance), thin(only, chance)):
                    self.accept(scheduler, [operation, operation])
            self.served(name)
        scheduler.teardown()
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))


class EveryMessage(harness.TestCase):
    """The same with the messages of libprocess, from strangers, and from who claims to be the other
    side."""

    def send(self, daemon, to, sender, name, made):
        body = PROTO.encode("mesos.internal." + name, made)
        status, _, _ = harness.request(
            daemon.address, "POST", "/%s/mesos.internal.%s" % (to, name), body,
            {"Libprocess-From": sender, "Connection": "Keep-Alive"}, timeout=30)
        return status

    def test_every_message(self):
        chance, names = random.Random(4), [
            name.rpartition(".")[2] for name in PROTO.messages
            if name.startswith("mesos.internal.") and name.endswith("Message")]
        self.assertGreater(len(names), 40)
        master = "master@%s:%d" % self.master.address
        agent = "slave(1)@%s:%d" % self.agent.address
        ids = {"agent_id": self.agent.id, "slave_id": self.agent.id}
        for manner in MANNERS.values():
            for name in names:
                whole = aim(fill("mesos.internal." + name, manner, 2), ids)
                for made in (whole, thin(whole, chance), {}):
                    for daemon, to, senders in (
                            (self.master, "master", ("x@127.0.0.1:1", agent)),
                            (self.agent, "slave(1)", ("x@127.0.0.1:1", master))):
                        for sender in senders:
                            # Those of the other side end what the test needs, as they should.
                            if sender != senders[0] and name in ("ShutdownMessage",
                                                                 "UnregisterSlaveMessage"):
                                continue
                            self.assertIn(self.send(daemon, to, sender, name, made),
                                          (202, 400, 404), name)
            for daemon in (self.master, self.agent):
                daemon.check_alive()
                self.assertEqual(harness.get(daemon.address, "/state", 30)[0], 200)
        # The two find each other again, and do their work.
        for daemon in (self.agent, self.master):
            daemon.kill()
            daemon.start()
        self.master.wait_ready()
        self.agent.wait_registered()
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))


class EveryPath(harness.TestCase):
    """Every endpoint with every parameter that any has, in the query, as a form, and as JSON."""
    names = """container_id duration executor_id format frameworkId framework_id jsonp level length
        limit machines offset order path per_framework per_role principal resources role slaveId
        slave_id source state taskId task_id timeout volumes""".split()
    # A long one is longer than a head may be in a query; JSON and forms may be longer.
    values = ["", "-1", "1", "18446744073709551615", "1e999", "a/b", "[]", "{}", "%00%ff%",
              "..%2f..%2fetc%2fpasswd", "x" * 300]
    bodies = [b"", b"{", b"[]", b"{}", b"null", b"[[[[1]]]]", b'"x"', b"1e999",
              b'[{"role":"%s","weight":1e308}]' % (b"r" * 100000)]

    def paths(self, daemon):
        return ["/" + process["id"] + endpoint["name"].rstrip("/")
                for process in daemon.json("/help?format=json")["processes"]
                for endpoint in process["endpoints"]]

    def test_every_path(self):
        for daemon in (self.master, self.agent):
            paths = self.paths(daemon)
            self.assertGreater(len(paths), 10)
            for path in paths:
                # Half a second each, as it should be.
                slow = path.endswith("/monitor/statistics")
                for value_of in self.values[:1 if slow else None]:
                    query = "&".join("%s=%s" % (name, value_of) for name in self.names)
                    form = "&".join("%s=%s" % (name, value_of * 200) for name in self.names)
                    self.ask(daemon, "GET", path + "?" + query, None, None)
                    for body in [form.encode()] + self.bodies[:1 + len(value_of)]:
                        for kind in ("application/x-www-form-urlencoded", "application/json"):
                            self.ask(daemon, "POST", path, body, kind)
                self.ask(daemon, "PUT", path, b'[{"role":"r","weight":-1}]', "application/json")
                self.ask(daemon, "DELETE", path, None, None)
            daemon.check_alive()
        scheduler = self.subscribe()
        scheduler.wait_terminal(scheduler.run("true"))

    def ask(self, daemon, method, path, body, kind):
        try:
            status, _, _ = harness.request(daemon.address, method, path, body,
                                           {"Content-Type": kind} if kind else None)
        except OSError as error:
            daemon.check_alive()
            raise AssertionError("%s %s: %s" % (method, path[:300], error)) from error
        self.assertIn(status, (200, 202, 307, 400, 401, 403, 404, 405, 406, 409, 415, 500, 501, 503),
                      (method, path[:300]))
