"""libmesos.so as a library: its natives, state over leveldb, the v1 library, memory."""

import glob
import os
import re
import subprocess

import harness
import jvm
import processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
CLASS = re.compile(r"^org/apache/mesos/(state/|v1/scheduler/)?[A-Za-z$0-9]+\.class$")


def mangled(text):
    """A Java name or signature as it stands in the name of a native."""
    table = {"_": "_1", ";": "_2", "[": "_3", "/": "_", ".": "_"}
    return "".join(table.get(c) or (c if c.isalnum() and c.isascii() else "_%05x" % ord(c))
                   for c in text)


def output(*argv):
    return processes.run(argv, check=True, stdout=subprocess.PIPE).stdout.decode()


def jar_of(name):
    for part in jvm.classpath(name).split(":"):
        for path in glob.glob(part if part.endswith((".jar", "*")) else part + "/*.jar"):
            if os.path.basename(path).startswith("mesos-"):
                return path
    raise AssertionError("no jar in " + jvm.classpath(name))


def natives(jar):
    """(class, method, arguments) of every native method in Mesos' own packages of a jar."""
    names = [line for line in output("unzip", "-Z1", jar).splitlines()
             if CLASS.match(line) and "Protos" not in line]
    text = output("javap", "-p", "-s", "-cp", jar, *[n[:-6].replace("/", ".") for n in names])
    found, owner, native = [], None, None
    for line in text.splitlines():
        header = re.match(r".*\b(?:class|interface) ([\w.$]+)", line)
        if header and not line.startswith(" "):
            owner = header.group(1)
        elif " native " in line:
            native = re.search(r"([\w$]+)\(", line).group(1)
        elif native and "descriptor:" in line:
            found.append((owner, native, re.search(r"\((.*)\)", line).group(1)))
            native = None
    return found


class Symbols(jvm.JavaTestCase):
    agents = None

    def exported(self):
        return {line.split()[-1] for line in output("nm", "-D", "--defined-only",
                                                     jvm.LIBRARY).splitlines()}

    def test_every_native_has_code_or_a_row(self):
        exported = self.exported()
        with open(ROOT + "/docs/compatibility.md", encoding="utf-8") as file:
            documented = file.read()
        with open(ROOT + "/bindings/jvm/unsupported.c", encoding="utf-8") as file:
            refused = file.read()
        for name in ("1.4.3", "1.11.0"):
            listed = natives(jar_of(name))
            self.assertGreater(len(listed), 80)
            for owner, method, arguments in listed:
                short = "Java_%s_%s" % (mangled(owner), mangled(method))
                long = short + "__" + mangled(arguments)
                overloaded = len([n for n in listed if n[:2] == (owner, method)]) > 1
                with_code = long in exported or (not overloaded and short in exported)
                self.assertTrue(with_code, "%s: no code for %s" % (name, long))
                # A JVM that finds the short name binds every overload to it.
                self.assertFalse(overloaded and short in exported, short)
                symbol = (long if long in exported else short).removeprefix(
                    "Java_org_apache_mesos_")
                if symbol + "(" in refused or symbol + "," in refused or symbol in refused:
                    row = "`%s`" % owner.removeprefix("org.apache.mesos.").split("$")[0]
                    self.assertIn(row, documented, "no row in docs/compatibility.md")

    def test_nothing_else_shows(self):
        self.assertEqual([s for s in self.exported()
                          if not s.startswith("Java_") and s != "JNI_OnLoad"], [])

    def test_it_needs_no_more_than_mesita(self):
        def needed(path):
            return set(re.findall(r"NEEDED.*\[(\S+)\]", output("readelf", "-d", path)))
        self.assertLessEqual(needed(jvm.LIBRARY), needed(harness.MESITA))
        self.assertNotIn("TEXTREL", output("readelf", "-d", jvm.LIBRARY))


class State(jvm.JavaTestCase):
    agents = None

    def test_state(self):
        driven = self.driven("DrivenState", self.temporary())
        self.assertEqual(driven.end(120), 0, driven.other[-20:])
        self.assertIn(["good"], driven.heard)


class StateOfOldJar(State):
    jar = "1.4.3"


class Version1(jvm.JavaTestCase):
    """V0Mesos and V1Mesos."""

    def life(self, library):
        driven = self.driven("DrivenV1", library, self.address())
        driven.wait(lambda l: l == ["connected"], "connection")
        framework_id = driven.wait(lambda l: l[0] == "SUBSCRIBED", "subscription")[1]
        _, offer, agent_id = driven.wait(lambda l: l[0] == "OFFERS", "offers")
        driven.say("launch", offer, agent_id, "t", "true")
        for state in ("TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"):
            driven.wait(lambda l: l[0] == "UPDATE" and l[2] == state, state)
        driven.say("bad")
        error = driven.wait(lambda l: l[0] == "ERROR", "error")[1]
        self.assertEqual(error, "Received unexpected '400 Bad Request' (Failed to validate "
                         "scheduler::Call: Expecting 'kill' to be present) for KILL")
        return driven, framework_id

    def test_v0(self):
        driven, _ = self.life("V0")
        driven.say("teardown")
        harness.wait_for(lambda: not self.frameworks(), "teardown")

    def test_v1(self):
        driven, framework_id = self.life("V1")
        driven.say("reconnect")
        for word in ("disconnected", "connected"):
            driven.wait(lambda l: l == [word], word)
        self.assertEqual(driven.wait(lambda l: l[0] == "SUBSCRIBED", "again")[1], framework_id)
        self.master.kill()
        driven.wait(lambda l: l == ["disconnected"], "disconnection")
        self.master.start().wait_ready()
        driven.wait(lambda l: l == ["connected"], "connection", 30)
        self.assertEqual(driven.wait(lambda l: l[0] == "SUBSCRIBED", "again")[1], framework_id)

    def test_no_master(self):
        driven = self.driven("DrivenV1", "V1", "zk://host/")
        error = driven.wait(lambda l: l[0] == "ERROR", "error")[1]
        self.assertIn("Failed to create a master detector for 'zk://host/'", error)


class Loaders(jvm.JavaTestCase):
    """Programs whose classes the JVM's own loader does not know, as in application servers."""

    def test_a_loader_of_its_own(self):
        path = jvm.classpath(self.jar)
        driven = jvm.Driven(self.jar, "Loader", path, "Driven", path=path.split(":")[0])
        self.addCleanup(driven.close)
        self.assertEqual(driven.ask("new", "master=" + self.address()), ["made"])
        self.assertEqual(driven.ask("start"), ["DRIVER_RUNNING"])
        line = driven.wait(lambda l: l[0] == "registered", "registration")
        self.assertRegex(line[1], ":true:true$")        # the context class loader is the program's
        offer, agent_id, *_ = driven.offers()[0]
        driven.ask("launch", offer, "t|%s|0.1|command|true" % agent_id)
        driven.hear("statusUpdate", "t", "TASK_FINISHED")


class Memory(jvm.JavaTestCase):
    def test_a_million_callbacks(self):
        driven = self.driven("Flood", self.address(), "1000000", checked=False)
        self.assertEqual(driven.end(240), 0, driven.other[-20:])
        first, last = [int(l[1]) for l in driven.heard if l[0] == "kilobytes"]
        self.assertLess(last - first, 16 * 1024, driven.heard)
