"""An unmodified Java scheduler on mesita's libmesos.so: the contract of MesosSchedulerDriver."""

import base64
import os
import re
import resource
import signal
import socket
import threading

import harness
import jvm

ABORTED, RUNNING, STOPPED = "DRIVER_ABORTED", "DRIVER_RUNNING", "DRIVER_STOPPED"
NOT_STARTED = "DRIVER_NOT_STARTED"
# Calls that a scheduler may make at any time, with arguments that are whole.
CALLS = [("launch", "o1"), ("launch1", "o1"), ("accept", "o1"), ("decline", "o1"),
         ("decline", "o1", "9"), ("revive",), ("suppress",), ("kill", "t1"), ("request",),
         ("message", "e1", "a1", "text"), ("reconcile", "t1@a1")]


class Contract(jvm.JavaTestCase):
    def task(self, name, agent_id, command="true", cpus="0.1"):
        return "|".join((name, agent_id, cpus, "command", command))

    def states(self, driver, task, count):
        return [driver.hear("statusUpdate", task)[1] for _ in range(count)]

    def test_life_of_a_task(self):
        driver, framework_id = self.registered()
        entry = self.frameworks()[0]
        self.assertEqual(entry["id"], framework_id)
        self.assertNotEqual(entry["user"], "")          # filled in, as by libmesos
        self.assertNotEqual(entry["hostname"], "")
        offer, agent_id, cpus, host = driver.offers()[0]
        self.assertEqual((cpus, host), (4.0, "localhost"))
        self.assertEqual(driver.ask("launch", offer, self.task("t", agent_id)), [RUNNING])
        self.assertEqual(self.states(driver, "t", 3),
                         ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"])
        # Implicit acknowledgements: the agent has nothing to repeat.
        harness.wait_for(lambda: self.frameworks()[0]["completed_tasks"], "acknowledgement")
        self.assertEqual(driver.ask("stop"), [STOPPED])
        self.assertEqual(driver.ask("join"), [STOPPED])
        self.assertEqual([f["id"] for f in self.frameworks(completed=True)], [framework_id])

    def test_callbacks_come_on_one_thread(self):
        driver, _ = self.registered()
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, self.task("t", agent_id))
        line = driver.wait(lambda l: l[0] == "statusUpdate" and l[3] == "TASK_FINISHED", "end")
        others = [l for l in driver.heard if l[0] != "="]
        # Thread, daemon, context class loader that of the program.
        thread = line[1]
        self.assertRegex(thread, r"^\d+:true:true$")
        self.assertEqual({l[1] for l in others}, {thread})

    def test_what_calls_return_in_each_status(self):
        driver = self.scheduler()
        for call in CALLS + [("stop",), ("abort",), ("join",)]:
            self.assertEqual(driver.ask(*call), [NOT_STARTED], call)
        self.assertEqual(driver.ask("start"), [RUNNING])
        driver.hear("registered")
        for call in CALLS + [("start",)]:
            self.assertEqual(driver.ask(*call), [RUNNING], call)
        self.assertEqual(driver.ask("abort"), [ABORTED])
        for call in CALLS + [("start",), ("abort",), ("join",)]:
            self.assertEqual(driver.ask(*call), [ABORTED], call)
        self.assertEqual(driver.ask("stop"), [ABORTED])
        for call in CALLS + [("start",), ("abort",), ("join",), ("stop",)]:
            self.assertEqual(driver.ask(*call), [STOPPED], call)
        self.assertFalse([l for l in driver.heard if l[0] == "error"])

    def test_stop_with_failover_and_another_driver(self):
        driver, framework_id = self.registered(failover=60)
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, self.task("t", agent_id, "sleep 1000"))
        driver.hear("statusUpdate", "t", "TASK_RUNNING")
        self.assertEqual(driver.ask("stop", "1"), [STOPPED])
        self.assertEqual(driver.ask("join"), [STOPPED])
        harness.wait_for(lambda: not self.frameworks()[0]["connected"], "disconnection")
        again, same = self.registered(failover=60, id=framework_id)
        self.assertEqual(same, framework_id)
        self.assertEqual(again.ask("reconcile", "t@" + agent_id), [RUNNING])
        self.assertEqual(again.hear("statusUpdate", "t")[1:4],
                         ["TASK_RUNNING", "SOURCE_MASTER", "REASON_RECONCILIATION"])
        again.ask("kill", "t")
        again.hear("statusUpdate", "t", "TASK_KILLED")
        again.ask("stop")

    def test_another_driver_takes_over(self):
        driver, framework_id = self.registered(failover=60)
        again, _ = self.registered(failover=60, id=framework_id)
        self.assertEqual(driver.hear("error"), ["Framework failed over"])
        self.assertEqual(driver.ask("join"), [ABORTED])
        # The old one has no business any more: the framework stays.
        self.assertEqual(driver.ask("stop"), [ABORTED])
        driver.ask("join")
        self.assertEqual([f["id"] for f in self.frameworks()], [framework_id])
        self.assertEqual(again.ask("revive"), [RUNNING])

    def test_stop_of_an_aborted_driver_tears_down(self):
        driver, framework_id = self.registered(failover=1000)
        self.assertEqual(driver.ask("abort"), [ABORTED])
        self.assertEqual(driver.ask("join"), [ABORTED])
        harness.wait_for(lambda: not self.frameworks()[0]["connected"], "disconnection")
        self.assertEqual(driver.ask("stop"), [ABORTED])
        self.assertEqual(driver.ask("join"), [STOPPED])
        self.assertEqual([f["id"] for f in self.frameworks(completed=True)], [framework_id])

    def test_master_restart(self):
        driver, framework_id = self.registered(failover=60, checkpoint=1)
        offer, agent_id, *_ = driver.offers()[0]
        self.master.kill()
        driver.hear("disconnected")
        # Dropped as by libmesos, and tasks are answered for.
        self.assertEqual(driver.ask("launch", offer, self.task("a", agent_id),
                                    self.task("b", agent_id)), [RUNNING])
        for task in "ab":
            self.assertEqual(driver.hear("statusUpdate", task)[1:6], [
                "TASK_LOST", "SOURCE_MASTER", "REASON_MASTER_DISCONNECTED", "false",
                "Master disconnected"])
        self.assertEqual(driver.ask("kill", "a"), [RUNNING])
        self.master.start().wait_ready()
        self.assertEqual(driver.hear("reregistered"), [str(self.master.address[1])])
        self.assertEqual(self.frameworks()[0]["id"], framework_id)
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, self.task("c", agent_id))
        self.assertEqual(self.states(driver, "c", 3)[-1], "TASK_FINISHED")

    def test_lost_tasks_of_partition_aware_frameworks(self):
        driver, _ = self.registered(failover=60, capabilities="PARTITION_AWARE")
        offer, agent_id, *_ = driver.offers()[0]
        self.master.kill()
        driver.hear("disconnected")
        driver.ask("accept", offer, self.task("a", agent_id))
        driver.hear("statusUpdate", "a", "TASK_DROPPED", "SOURCE_MASTER")

    def test_offers(self):
        driver, _ = self.registered()
        offer, agent_id, *_ = driver.offers()[0]
        self.assertEqual(driver.ask("decline", offer, "1000"), [RUNNING])
        self.assertEqual(driver.ask("request"), [RUNNING])
        harness.wait_for(lambda: not self.master.state()["frameworks"][0]["offers"], "decline")
        self.assertEqual(driver.ask("revive"), [RUNNING])
        second = driver.offers()[0]
        self.assertNotEqual(second[0], offer)
        # One that is no longer valid.
        driver.ask("launch", offer, self.task("late", agent_id))
        self.assertEqual(driver.hear("statusUpdate", "late")[1:6], [
            "TASK_LOST", "SOURCE_MASTER", "REASON_INVALID_OFFERS", "false",
            "Task launched with invalid offers: Offer %s is no longer valid" % offer])
        # A part of an offer leaves another one behind; both go into one launch.
        driver.ask("launchf", second[0], "0", self.task("half", agent_id, "sleep 1000", "1"))
        rest = driver.offers()[0]
        self.assertEqual(rest[2], 3.0)
        driver.hear("statusUpdate", "half", "TASK_RUNNING")
        driver.ask("kill", "half")
        driver.hear("statusUpdate", "half", "TASK_KILLED")
        freed = driver.offers()[0]
        self.assertEqual(freed[2], 1.0)
        driver.ask("launchf", rest[0] + "," + freed[0], "0", self.task("x", agent_id, "true", "2"),
                   self.task("y", agent_id, "true", "2"))
        driver.hear("statusUpdate", "x", "TASK_FINISHED")
        driver.hear("statusUpdate", "y", "TASK_FINISHED")

    def test_offer_is_rescinded(self):
        driver, _ = self.registered()
        offer = driver.offers()[0]
        self.agent.kill()
        self.assertEqual(driver.hear("offerRescinded"), [offer[0]])

    def test_suppressed_offers(self):
        driver, _ = self.registered()
        driver.offers()
        self.assertEqual(driver.ask("suppress"), [RUNNING])
        harness.wait_for(lambda: self.master.metric("master/messages_suppress_offers"), "it")
        self.assertEqual(driver.ask("revive"), [RUNNING])
        harness.wait_for(lambda: self.master.metric("master/messages_revive_offers"), "revival")

    def test_explicit_acknowledgements(self):
        driver, _ = self.registered(implicit=0)
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, self.task("t", agent_id))
        for state in ("TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"):
            driver.hear("statusUpdate", "t", state)
            # The next one waits for this acknowledgement.
            self.assertFalse([l for l in driver.heard if l[0] == "statusUpdate"])
            self.assertEqual(driver.ask("ack"), [RUNNING])
        harness.wait_for(lambda: self.frameworks()[0]["completed_tasks"], "acknowledgement")

    def test_explicit_ones_of_an_implicit_driver(self):
        driver, _ = self.registered()
        answer = driver.ask("ack")
        self.assertEqual(answer[0], "threw")
        self.assertIn("Implicit acknowledgements are enabled", answer[1])
        self.assertEqual(driver.ask("revive"), [RUNNING])

    def test_exception_in_a_callback(self):
        driver = self.scheduler(failover=1000)
        driver.ask("throw", "resourceOffers")
        driver.ask("run")
        driver.hear("resourceOffers")
        self.assertEqual(driver.wait(lambda l: l[:2] == ["=", "ran"], "end")[2], ABORTED)
        self.assertIn(["Exception in thread \"mesos-scheduler\" java.lang.RuntimeException: "
                       "thrown by resourceOffers"], driver.other)
        self.assertFalse([l for l in driver.heard if l[0] == "error"])
        driver.ask("stop")

    def test_stop_in_a_callback(self):
        driver = self.scheduler()
        driver.ask("stopin", "resourceOffers")
        driver.ask("run")
        self.assertEqual(driver.wait(lambda l: l[:2] == ["=", "stop"], "stop")[2:],
                         [STOPPED, "join", STOPPED])
        self.assertEqual(driver.wait(lambda l: l[:2] == ["=", "ran"], "end")[2], STOPPED)
        self.assertEqual(len(self.frameworks(completed=True)), 1)

    def test_error(self):
        driver, framework_id = self.registered()
        driver.ask("stop")
        driver.ask("join")
        again = self.scheduler(id=framework_id)
        again.ask("run")
        self.assertEqual(again.hear("error"), ["Framework has been removed"])
        self.assertEqual(again.wait(lambda l: l[:2] == ["=", "ran"], "end")[2], ABORTED)

    def test_nulls(self):
        driver, _ = self.registered()
        for call in (("null",), ("nulls", "")):
            answer = driver.ask(*call)
            self.assertEqual(answer[0], "threw")
            self.assertIn("NullPointerException", answer[1])
        self.assertEqual(driver.ask("revive"), [RUNNING])

    def test_a_forgotten_driver_is_collected(self):
        driver, _ = self.registered()
        # A callback that runs holds the driver, so one collection may be too early.
        harness.wait_for(lambda: driver.ask("forget") and not self.frameworks(),
                         "end of its framework")

    def test_version(self):
        driver = self.driven()
        self.assertEqual(driver.ask("version"), ["1.11.0"])

    def test_credential(self):
        # Without authentication any credential is as good as none.
        driver, _ = self.registered(principal="someone")
        self.assertEqual(driver.ask("revive"), [RUNNING])


class ContractOfOldJar(Contract):
    jar = "1.4.3"


class Roles(jvm.JavaTestCase):
    """What only newer jars have."""

    def test_suppressed_roles(self):
        driver, _ = self.registered(roles="a,b", suppressed="a,b", capabilities="MULTI_ROLE")
        self.assertEqual(driver.ask("revive", ","), [RUNNING])       # no role, nothing happens
        self.assertFalse(self.offered())
        self.assertEqual(driver.ask("revive", "b"), [RUNNING])
        driver.offers()
        self.assertEqual(driver.ask("suppress", "b"), [RUNNING])

    def offered(self):
        return self.frameworks()[0]["offers"]

    def test_update_of_the_framework(self):
        driver, _ = self.registered(roles="a", capabilities="MULTI_ROLE", failover=60)
        info = ["capabilities=MULTI_ROLE", "failover=60"]   # id and user are filled in
        self.assertEqual(driver.ask("update", "roles=b,c", "suppressed=b,c", *info), [RUNNING])
        harness.wait_for(lambda: self.frameworks()[0]["roles"] == ["b", "c"], "new roles")
        # Said again to a master that comes back.
        self.master.kill()
        driver.hear("disconnected")
        self.master.start().wait_ready()
        driver.hear("reregistered")
        self.assertEqual(self.frameworks()[0]["roles"], ["b", "c"])

    def test_constraints(self):
        driver, framework_id = self.registered()
        offer = driver.offers()[0]
        answer = driver.ask("constrain", "bytes=" + constraints("*", "rack"), "id=" + framework_id,
                            "user=" + self.frameworks()[0]["user"])
        self.assertEqual(answer, [RUNNING])
        harness.wait_for(lambda: "offer_constraints" in self.frameworks()[0], "constraints")
        driver.ask("decline", offer[0], "0")
        driver.ask("revive")
        harness.wait_for(lambda: self.master.metric("master/messages_revive_offers") >= 1, "revive")
        self.assertFalse(self.frameworks()[0]["offers"])


def constraints(role, attribute):
    """OfferConstraints: the role's offers have the attribute."""
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data
    selector = field(1, field(2, attribute.encode()))
    predicate = field(2, field(1, b""))
    group = field(1, field(1, selector + predicate))
    return base64.b64encode(field(1, field(1, role.encode()) + field(2, group))).decode()


class Masters(jvm.JavaTestCase):
    """The strings that name a master, and masters that misbehave."""

    agents = None

    def refused(self, master, text):
        driver = self.scheduler(master=master)
        self.assertEqual(driver.ask("start"), [ABORTED])
        message = driver.hear("error")[0]
        self.assertIn("Failed to create a master detector for '%s'" % master, message)
        self.assertIn(text, message)
        self.assertEqual(driver.ask("join"), [ABORTED])

    def test_strings_that_name_none(self):
        directory = self.temporary()
        for master, text in (("nowhere", "expected host:port"), (":5050", "expected host:port"),
                             ("host:0", "port"), ("zk://host", "Expecting a (chroot) path for ZooKeeper"),
                             ("file:///no/such", "Failed to read from file"),
                             ("file://" + directory + "/twice", "names no other file")):
            with open(directory + "/twice", "w", encoding="ascii") as file:
                file.write("file:///x")
            self.refused(master, text)

    def test_file(self):
        cluster = self.cluster = harness.Cluster(1).start()
        path = self.temporary() + "/master"
        with open(path, "w", encoding="ascii") as file:
            file.write("master@%s:%d\n" % cluster.master.address)
        driver, _ = self.registered(master="file://" + path)
        driver.offers()

    def test_local(self):
        driver, _ = self.registered(master="local")
        offer, agent_id, *_ = driver.offers()[0]
        driver.ask("launch", offer, "t|%s|0.1|command|true" % agent_id)
        driver.hear("statusUpdate", "t", "TASK_FINISHED", timeout=60)
        self.assertEqual(driver.ask("stop"), [STOPPED])
        self.assertEqual(driver.ask("join"), [STOPPED])
        below = [p for p in harness.processes.descendants(driver.process.pid)]
        self.assertEqual(below, [])

    def test_local_ends_with_its_program(self):
        driver, _ = self.registered(master="local")
        driver.offers()
        driver.process.send_signal(signal.SIGKILL)
        driver.process.wait()
        harness.wait_for(lambda: not harness.processes.descendants(), "end of the cluster", 30)

    def silent(self, answer=b""):
        """A server that takes connections and says `answer` to each, at most."""
        server = socket.socket()
        server.bind((harness.IP, 0))
        server.listen()
        self.addCleanup(server.close)
        accepted = []

        def serve():
            while True:
                try:
                    accepted.append(server.accept()[0])
                    accepted[-1].sendall(answer)
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        return "%s:%d" % server.getsockname(), accepted

    def test_a_master_that_says_nothing(self):
        head = (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n")
        for answer in (b"", head):
            address, accepted = self.silent(answer)
            driver = self.scheduler(master=address)
            self.assertEqual(driver.ask("start"), [RUNNING])
            harness.wait_for(lambda: accepted, "connection")
            for call in CALLS:
                self.assertEqual(driver.ask(*call), [RUNNING], call)
            # It gives up and comes again: client/scheduler.c, SUBSCRIBE_TIMEOUT_MS.
            harness.wait_for(lambda: len(accepted) >= 2, "second try", 40)
            self.assertEqual(driver.ask("stop"), [STOPPED])
            self.assertEqual(driver.ask("join"), [STOPPED])

    def test_a_master_that_speaks_something_else(self):
        address, accepted = self.silent(b"SSH-2.0-OpenSSH_9.2\r\n")
        driver = self.scheduler(master=address)
        driver.ask("start")
        harness.wait_for(lambda: len(accepted) >= 3, "tries")
        self.assertEqual(driver.ask("stop"), [STOPPED])

    def test_a_record_that_memory_has_no_room_for(self):
        if jvm.sanitizer():
            self.skipTest("AddressSanitizer ends a process that has no memory")
        head = (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n250000000\n")
        address, accepted = self.silent(head + bytes(250000000))
        driver = self.scheduler(master=address)
        with open("/proc/%d/status" % driver.process.pid, encoding="ascii") as file:
            size = int(re.search(r"VmSize:\s+(\d+)", file.read()).group(1)) * 1024
        resource.prlimit(driver.process.pid, resource.RLIMIT_AS, (size + (300 << 20),) * 2)
        driver.ask("start")
        self.assertEqual(driver.hear("error"), ["out of memory, the driver gave up"])
        self.assertEqual(driver.ask("join"), [ABORTED])
        self.assertEqual(driver.ask("revive"), [ABORTED])
        self.assertEqual(driver.ask("stop"), [ABORTED])
        # The process lives on, and so may other drivers.
        self.assertEqual(driver.ask("new", "master=" + self.silent()[0]), ["made"])
        self.assertEqual(driver.ask("start"), [RUNNING])
        self.assertEqual(driver.ask("stop"), [STOPPED])
        self.assertEqual(driver.ask("join"), [STOPPED])

    def test_a_master_that_comes_later(self):
        cluster = self.cluster = harness.Cluster(0)
        driver = self.scheduler()
        self.assertEqual(driver.ask("start"), [RUNNING])
        cluster.master.start().wait_ready()
        driver.hear("registered")


class EndOfTheProcess(jvm.JavaTestCase):
    """The JVM may end in the middle of everything."""

    def churn(self, driver):
        """Keeps callbacks and calls going: each offer is declined for no time."""
        offer, agent_id, *_ = driver.offers()[0]
        driver.say("launchf", offer, "0", *("t%d|%s|0.1|command|true" % (i, agent_id)
                                             for i in range(20)))
        driver.hear("statusUpdate")

    def test_exit_and_halt(self):
        for command, code in (("exit", 4), ("halt", 3)):
            driver, _ = self.registered()
            self.churn(driver)
            driver.say(command)
            self.assertEqual(driver.process.wait(20), code)

    def test_end_of_main(self):
        driver, _ = self.registered()
        self.churn(driver)
        self.assertEqual(driver.end(), 0)       # daemon threads keep no JVM alive

    def test_stop_and_exit_at_once(self):
        driver, framework_id = self.registered(failover=1000)
        driver.say("stop")
        driver.say("exit")
        self.assertEqual(driver.process.wait(20), 4)
        self.assertEqual([f["id"] for f in self.frameworks(completed=True)], [framework_id])

    def test_signals_are_the_jvms(self):
        driver, _ = self.registered()
        driver.process.send_signal(signal.SIGTERM)
        self.assertEqual(driver.process.wait(20), 128 + signal.SIGTERM)
        driver, _ = self.registered()
        driver.process.send_signal(signal.SIGQUIT)         # a dump of threads, and on
        harness.wait_for(lambda: driver._take() and any(
            "mesos-scheduler" in " ".join(l) for l in driver.other), "dump of threads")
        self.assertEqual(driver.ask("revive"), [RUNNING])
        os.kill(driver.process.pid, signal.SIGKILL)
