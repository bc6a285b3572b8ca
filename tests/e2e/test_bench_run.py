"""bench/run and bench/compare with real programs at small sizes."""

import json
import os
import signal
import subprocess
import unittest

import harness
import processes
from processes import SCALE

ROOT = os.path.dirname(os.path.dirname(harness.HERE))
TOOLS = ("bench_limits", "bench_spawn", "bench_tasks", "bench_executor", "bench_load",
         "bench_allocator")
BUILT = all(os.path.exists(os.path.join(os.path.dirname(harness.MESITA), tool)) for tool in TOOLS)


def start(program, *words):
    return processes.spawn([os.path.join(ROOT, "bench", program), *words], text=True,
                           env=harness.clean_environment(), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)


def bench(program, *words, timeout=150):
    """(exit code, stdout, stderr)"""
    process = start(program, *words)
    try:
        out, err = process.communicate(timeout=timeout * SCALE)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate()
        raise processes.Timeout("not done after %d s\n%s\n%s" % (timeout, out, err)) from None
    return process.returncode, out, err


@unittest.skipUnless(BUILT, "the benchmarks are not built")
class Run(harness.TestCase):
    agents = None

    def test_the_set_at_small_sizes(self):
        """Every kind of case measures; the run is kept, shown again and compared."""
        kept = self.temporary()
        code, out, err = bench("run", "--mesita", harness.MESITA, "--quick", "--keep", kept)
        self.assertEqual(code, 0, out + err)
        for title in ("START", "LAUNCH", "LATENCY", "ONE MORE FRAMEWORK", "FAILOVER", "READS",
                      "MEMORY", "REAL TASKS", "targets met"):
            self.assertIn(title, out)
        self.assertRegex(err, r"\[ 1/\d+\] start +about")
        with open(os.path.join(kept, "latest.json"), encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual({case["status"] for case in run["cases"]}, {"ok"})
        figures = {figure["name"]: figure for figure in run["figures"]}
        for name in ("launch/10x1/lost", "latency/half/lost", "latency/burst/lost", "failover/lost",
                     "paper/10000/violations", "reads//state/polls_failed"):
            self.assertEqual(figures[name]["value"], 0, name)
        for name in ("launch/1000x10/tasks_per_second",
                     "launch/1000x10mixwaiting/tasks_per_second", "launch/10x1/registration",
                     "reads//state/time", "memory/task/each", "tasks/kept/rate",
                     "failover/all"):
            self.assertGreater(figures[name]["value"], 0, name)
            self.assertGreater(figures[name]["ratio"], 0, name)
        self.assertEqual(bench("run", "--show", kept)[:2], (0, out))
        code, out, err = bench("compare", kept, kept)
        self.assertEqual(code, 0, out + err)
        self.assertIn("0 worse", out)

    def test_json(self):
        code, out, err = bench("run", "--mesita", harness.MESITA, "--quick", "--only=start",
                               "--json", "--no-keep")
        self.assertEqual(code, 0, out + err)
        run = json.loads(out)
        self.assertEqual([case["name"] for case in run["cases"]], ["start"])
        self.assertEqual([figure["name"] for figure in run["figures"]], [
            "start/local_ready", "start/agent_registered", "start/master_idle_rss",
            "start/agent_idle_rss"])
        self.assertGreaterEqual(run["machine"]["cores"], 1)

    def test_ends_what_it_started(self):
        """As Ctrl-C does; nothing is printed, nothing is kept, no directory stays."""
        scratch = self.temporary()
        process = start("run", "--mesita", harness.MESITA, "--only=launch/10x1",
                        "--scratch", scratch, "--keep", os.path.join(scratch, "kept"))
        processes.wait_for(lambda: len(processes.descendants(process.pid)) >= 2,
                           "a master and a load")
        below = processes.descendants(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30 * SCALE)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertEqual(out, "")
        self.assertIn("interrupted", err)
        processes.wait_for(lambda: not any(processes.alive(pid) for pid in below), "an end")
        self.assertEqual(os.listdir(scratch), [])

    def test_dies_with_all(self):
        """The kernel ends what a killed run leaves."""
        process = start("run", "--mesita", harness.MESITA, "--only=launch/10x1",
                        "--scratch", self.temporary(), "--no-keep")
        processes.wait_for(lambda: len(processes.descendants(process.pid)) >= 2,
                           "a master and a load")
        below = processes.descendants(process.pid)
        process.kill()
        process.communicate()
        processes.wait_for(lambda: not any(processes.alive(pid) for pid in below), "an end")


@unittest.skipUnless(BUILT, "the benchmarks are not built")
class Elsewhere(harness.TestCase):
    agents = 0

    def test_a_master_that_runs_already(self):
        """Cases that need a master of their own are left out, and said to be."""
        code, out, err = bench("run", "--mesita", harness.MESITA, "--quick", "--no-keep",
                               "--only=launch/10x1,failover,memory/task",
                               "--master=%s:%d" % self.master.address)
        self.assertEqual(code, 0, out + err)
        self.assertIn("Against the master at 127.0.0.1", out)
        self.assertIn("failover: left out: ", out)
        self.assertIn("memory/task: left out: ", out)
        self.assertRegex(out, r"10 x 1 +[\d,]+")
        self.assertGreater(self.master.metric("master/tasks_finished"), 0)

    def test_a_case_that_fails(self):
        """The others go on, the reason is on the page, the exit status tells."""
        self.master.signal(signal.SIGSTOP)
        code, out, err = bench("run", "--mesita", harness.MESITA, "--quick", "--no-keep",
                               "--only=latency/half,launch/10x1", "--timeout=2",
                               "--master=%s:%d" % self.master.address)
        self.master.signal(signal.SIGCONT)
        self.assertEqual(code, 1, out + err)
        self.assertRegex(out, r"launch/10x1: failed: bench_load was not done after 2 s")
        self.assertRegex(out, r"latency/half: failed: ")


@unittest.skipUnless(BUILT, "the benchmarks are not built")
class Limits(harness.TestCase):
    """The programs that measure the bare machine."""
    agents = None

    def tool(self, name, *words):
        process = processes.spawn([os.path.join(os.path.dirname(harness.MESITA), name), *words],
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=60 * SCALE)
        return process.returncode, out, err

    def test_each_prints_numbers(self):
        for count, name, *words in (
                (1, "bench_limits", "fdatasync", self.temporary()),
                (1, "bench_limits", "memcpy", "1000000"), (2, "bench_limits", "hop"),
                (2, "bench_spawn", "-", "4"), (2, "bench_spawn", harness.MESITA, "4")):
            code, out, err = self.tool(name, *words)
            self.assertEqual(code, 0, err)
            numbers = [float(word) for word in out.split()]
            self.assertEqual(len(numbers), count)
            self.assertGreater(min(numbers), 0, words)

    def test_what_cannot_be_measured(self):
        for code, words, name, *arguments in (
                (1, "/nowhere", "bench_limits", "fdatasync", "/nowhere"),
                (1, "", "bench_limits", "hop", "0", "100000"),
                (2, "BYTES", "bench_limits", "memcpy", "0"), (2, "usage", "bench_limits"),
                (2, "usage", "bench_limits", "hop", "1"), (1, "/nowhere", "bench_spawn",
                                                          "/nowhere", "4"),
                (2, "usage", "bench_tasks"), (1, "MESOS_", "bench_executor")):
            found, out, err = self.tool(name, *arguments)
            self.assertEqual((found, out), (code, ""), err)
            self.assertIn(words, err)


class Mistakes(harness.TestCase):
    agents = None

    def refuse(self, words, program, *arguments):
        code, out, err = bench(program, *arguments, timeout=30)
        self.assertEqual(code, 2, out + err)
        self.assertIn(words, err)
        self.assertEqual(out, "")

    def test_words_for_each(self):
        mesita = ("--mesita", harness.MESITA)
        self.refuse("is not there; `make bench` builds it", "run", "--mesita", "/nowhere/mesita")
        self.refuse("no case 'x'; there are", "run", *mesita, "--only=x")
        self.refuse("must be HOST:PORT", "run", *mesita, "--master=localhost")
        self.refuse("no master at 127.0.0.1:", "run", *mesita,
                    "--master=127.0.0.1:%d" % harness.free_port())
        self.refuse("No such file", "run", "--show=/nowhere/x.json")
        self.refuse("No such file", "compare", "/nowhere/x.json")
        self.refuse("no JSON", "compare", os.path.abspath(__file__))


if __name__ == "__main__":
    unittest.main()
