"""Java programs on Mesos' own jars with mesita's libmesos.so in Mesos' place.

Two jars: 1.4.3 with a protobuf of its own, as PySpark ships it, and 1.11.0 from Maven Central.
"""

import glob
import os
import queue
import subprocess
import threading

import common
import harness
import processes

PYTHON = "/usr/bin/python3"
LIBRARY = os.path.join(os.path.dirname(harness.MESITA), "libmesos.so")
SOURCES = sorted("java/" + os.path.basename(path)
                 for path in glob.glob(os.path.join(common.HERE, "java", "*.java")))
DEPENDENCY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy"
# What -Xcheck:jni and a JVM that dies say.
COMPLAINTS = ("WARNING in native method", "WARNING: JNI", "FATAL ERROR in native", "SIGSEGV",
              "SIGABRT", "AddressSanitizer", "runtime error:", "A fatal error has been detected")


def need():
    common.need("Java (openjdk-17-jdk-headless, maven)", ("javac", "-version"),
                ("mvn", "--version"))
    if not os.path.exists(LIBRARY):
        raise AssertionError("%s is not built: the build found no jni.h" % LIBRARY)


def pyspark():
    """The folder of PySpark, which is a whole Spark, and the python that has it."""
    common.need("Python (python3-venv)", (PYTHON, "-c", "import ensurepip, venv"))
    directory = common.install(
        "spark", ["spark/requirements.txt"],
        [(PYTHON, "-m", "venv", "{dir}/venv"),
         ("{dir}/venv/bin/pip", "install", "-q", "--disable-pip-version-check", "-r",
          "requirements.txt")], ["venv/bin/python"])
    return (glob.glob(os.path.join(directory, "venv/lib/python3*/site-packages/pyspark"))[0],
            os.path.join(directory, "venv/bin/python"))


def maven(*artifacts):
    return [("mvn", "-q", "-B", DEPENDENCY, "-Dartifact=" + artifact, "-DoutputDirectory={dir}/lib")
            for artifact in artifacts]


def classpath(jar):
    """Our programs, compiled against a jar: "1.4.3" or "1.11.0"."""
    if jar == "1.11.0":
        directory = common.install("java-1.11.0", SOURCES, maven(
            "org.apache.mesos:mesos:1.11.0", "com.google.protobuf:protobuf-java:3.5.0") + [
                ("sh", "-c", "mkdir -p classes && javac -nowarn -d classes -cp 'lib/*' *.java")],
                                   ["classes/Driven.class"])
        return "%s/classes:%s/lib/*" % (directory, directory)
    mesos = os.path.join(pyspark()[0], "jars/mesos-1.4.3-shaded-protobuf.jar")
    directory = common.install("java-1.4.3", SOURCES, [
        ("sh", "-c", "sed -i s/com.google.protobuf/org.apache.mesos.protobuf/ *.java && "
         "mkdir -p classes && javac -nowarn -d classes -cp %s *.java" % mesos)],
                               ["classes/Driven.class"])
    return "%s/classes:%s" % (directory, mesos)


# JVMs that start fast: a few cores are shared by many of them.
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def spark_job(home):
    """The jar of spark/Job.java."""
    directory = common.install("spark-job", ["spark/Job.java"], [
        ("sh", "-c", "mkdir -p classes && javac -nowarn -d classes -cp '%s/jars/*' *.java && "
         "jar cf job.jar -C classes ." % home)], ["job.jar"])
    return os.path.join(directory, "job.jar")


def sanitizer():
    """What a JVM needs that is to load a library built with AddressSanitizer."""
    if b"__asan_init" not in open(LIBRARY, "rb").read():
        return {}
    path = subprocess.check_output(["gcc", "-print-file-name=libasan.so"]).decode().strip()
    return {"LD_PRELOAD": path, "ASAN_OPTIONS": "handle_segv=0:detect_leaks=0:"
            "allow_user_segv_handler=1:abort_on_error=1:quarantine_size_mb=8"}


def environment(**more):
    more = {**sanitizer(), **more}
    return harness.clean_environment(MESOS_NATIVE_JAVA_LIBRARY=LIBRARY, MESITA=harness.MESITA,
                                     **more)


class Driven:
    """A Java program that obeys lines and tells lines: see java/Driven.java."""

    def __init__(self, jar, main, *arguments, checked=True, options=(), path=None, **env):
        argv = ["java", "-Xmx128m", "-XX:+UseSerialGC", *options]
        argv += ["-Xcheck:jni"] if checked else []
        self.process = processes.spawn(
            argv + ["-cp", path or classpath(jar), main, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(**env))
        self.heard, self.other = [], []
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._lines.put(None)

    def _take(self):
        """Takes what came; False at the end of the output."""
        while not self._lines.empty():
            line = self._lines.get()
            if line is None:
                return False
            (self.heard if "\t" in line or line.isidentifier() else self.other).append(
                line.split("\t"))
        return True

    def say(self, *words):
        self.process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def wait(self, condition, what, timeout=30):
        """The first line heard that fulfils the condition; it is taken away."""
        def look():
            alive = self._take()
            for index, words in enumerate(self.heard):
                if condition(words):
                    return self.heard.pop(index)
            if not alive:
                raise AssertionError("it ended")
            return None
        try:
            return processes.wait_for(look, what, timeout)
        except AssertionError as error:
            raise AssertionError("%s\nheard: %s\nother: %s" % (
                error, self.heard[-20:], self.other[-40:])) from None

    def ask(self, *words):
        """A command and its answer."""
        self.say(*words)
        return self.wait(lambda line: line[:2] == ["=", words[0]], "answer to %s" % words[0])[2:]

    def hear(self, callback, *words, timeout=30):
        """The first such callback (its words after the thread), and takes it away."""
        line = self.wait(lambda line: line[0] == callback and line[2:2 + len(words)] == list(words),
                         "%s %s" % (callback, " ".join(words)), timeout)
        return line[2:]

    def forget(self):
        """What was heard so far does not count."""
        self._take()
        self.heard.clear()

    def offers(self):
        """The offers of the next resourceOffers as (id, agent id, cpus, host name)."""
        return [(o[0], o[1], float(o[2]), o[3]) for o in
                (word.split(" ") for word in self.hear("resourceOffers"))]

    def end(self, timeout=30):
        """Closes its input, or waits for its end; its exit status."""
        if self.process.poll() is None:
            self.process.stdin.close()
        code = self.process.wait(timeout * processes.SCALE)
        self._reader.join()
        self._take()
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self._take()
        complaints = [line for line in self.other if any(c in " ".join(line) for c in COMPLAINTS)]
        if complaints:
            raise AssertionError("the JVM complains: %s" % self.other[:60])


class JavaTestCase(harness.TestCase):
    jar = "1.11.0"

    @classmethod
    def setUpClass(cls):
        need()
        classpath(cls.jar)

    def address(self):
        return "%s:%d" % self.master.address

    def driven(self, main="Driven", *arguments, **options):
        driven = Driven(self.jar, main, *arguments, **options)
        self.addCleanup(driven.close)
        return driven

    def scheduler(self, **options):
        """A scheduler that is made but not started."""
        driven = self.driven()
        if "master" not in options:
            options["master"] = self.address()
        self.assertEqual(driven.ask("new", *("%s=%s" % item for item in options.items())),
                         ["made"])
        return driven

    def registered(self, **options):
        """A started one, and its framework's id."""
        driven = self.scheduler(**options)
        self.assertEqual(driven.ask("start"), ["DRIVER_RUNNING"])
        return driven, driven.hear("registered")[0]

    def frameworks(self, completed=False):
        return self.master.state()["completed_frameworks" if completed else "frameworks"]
