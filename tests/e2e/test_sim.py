"""mesita-sim as its users see it: what it prints of a run that fails, and how it is stopped."""

import os
import re
import shlex
import signal
import subprocess
import tempfile
import unittest

import harness
import processes

SIM = os.path.join(os.path.dirname(harness.MESITA), "mesita-sim")
LIMIT = 120 * float(os.environ.get("TIMEOUT_SCALE", "1"))

# Nobody finishes a thousand tasks of three.
HOPELESS = """
agents 2
scheduler checkpoint tasks=3
scheduler role=b tasks=3
faults every 15secs
time 10mins
at 30secs kill master
at 40secs cut master agent0
at 9mins expect scheduler0 1000
"""
INVARIANT = "tasks of scheduler0 have finished, of 1000 expected"


def sim(*options, expect):
    done = processes.run([SIM, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=LIMIT, text=True)
    if done.returncode != expect:
        raise AssertionError("exit status %d of %s\n%s%s" % (
            done.returncode, " ".join(options), done.stdout[-2000:], done.stderr[-2000:]))
    return done


class Failures(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scenario = os.path.join(directory.name, "hopeless")
        with open(self.scenario, "w") as file:
            file.write(HOPELESS)

    def repeat(self, output, introduction):
        """Runs the command that was printed."""
        command = re.search(r"^%s: mesita-sim (.*)$" % introduction, output, re.M).group(1)
        return sim(*shlex.split(command), expect=1).stdout

    def test_says_what_does_not_hold_and_how_to_repeat_it(self):
        out = sim("--seed=5", "--scenario=" + self.scenario, expect=1).stdout
        self.assertRegex(out, r"(?m)^seed 5: the scenario: \d " + INVARIANT)
        lines = out.splitlines()
        begin = lines.index("the last decisions:")
        end = next(i for i, line in enumerate(lines) if line.startswith("repeat it with: "))
        decisions = lines[begin + 1:end]
        self.assertEqual(len(decisions), 100)
        for line in decisions:
            self.assertRegex(line, r"^ *\d+\.\d{6} \S")
        self.assertIn("FAILED: the scenario: ", decisions[-1])
        again = self.repeat(out, "repeat it with")
        # All decisions, these hundred at the end of them.
        self.assertIn("\n".join(decisions) + "\n", again)
        self.assertGreater(len(again), len(out) + len("\n".join(decisions[:10])))

    def test_the_same_seed_gives_the_same_trace(self):
        options = ("--seed=5", "--scenario=" + self.scenario, "--trace")
        first, second = sim(*options, expect=1).stdout, sim(*options, expect=1).stdout
        self.assertEqual(first, second)
        other = sim("--seed=6", *options[1:], expect=1).stdout
        self.assertNotEqual(first, other)

    def test_shrinks_to_what_is_needed(self):
        out = sim("--seed=5", "--scenario=" + self.scenario, "--shrink", expect=1).stdout
        smallest = re.search(r"^the smallest found: (.*)$", out, re.M).group(1)
        self.assertIn(" --faults=none", smallest)
        self.assertIn(" --events=3", smallest)
        self.assertIn(" --agents=1 --schedulers=1 ", smallest)
        self.assertIn(INVARIANT, self.repeat(out, "the smallest found"))

    def test_one_that_does_not_fail_is_not_shrunk(self):
        out = sim("--seed=5", "--agents=1", "--schedulers=1", "--tasks=1", "--time=10secs",
                  "--shrink", expect=0).stdout
        self.assertEqual(out, "seed 5 does not fail\n")

    def test_soak_stops_at_a_failure(self):
        out = sim("--soak", "--seed=5", "--scenario=" + self.scenario, expect=1).stdout
        self.assertIn(INVARIANT, out)
        self.assertRegex(out, r"(?m)^repeat it with: mesita-sim --seed=5 ")
        self.assertRegex(out, r"(?m)^1 seeds in \d+ s .* simulated hours, \d+ tasks; faults: kill ")


class Soak(unittest.TestCase):
    def stop(self, number):
        process = processes.spawn([SIM, "--soak", "--trace", "--agents=1", "--schedulers=1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()   # it is at its first seed
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, err), (0, ""))
        return out

    def check(self, out):
        self.assertRegex(out, r"(?m)^\d+ seeds in \d+ s \([\d.]+ a second\), [\d.]+ simulated "
                              r"hours, \d+ tasks; faults: kill \d+, crash \d+, cut \d+, ")
        self.assertRegex(out, r"(?m)^task in the master: .* was never taken$")
        self.assertRegex(out, r"(?m)^transitions: \d+ of \d+ taken, 0 that are not in the table$")

    def test_reports_when_it_is_terminated(self):
        self.check(self.stop(signal.SIGTERM))

    def test_reports_when_it_is_interrupted(self):
        self.check(self.stop(signal.SIGINT))


class Options(unittest.TestCase):
    def test_bad_ones_are_refused_in_clear_words(self):
        for option in ("--agents=0", "--nothing", "--time=3", "seed"):
            done = sim(option, expect=2)
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr.startswith(
                "mesita-sim: '%s' is no option, or not in its range\nusage: " % option))

    def test_bad_scenarios_are_refused_with_the_line(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("agents 2\nat 3secs explode master\n")
            file.flush()
            done = sim("--scenario=" + file.name, expect=2)
        self.assertEqual(done.stderr, "mesita-sim: %s: line 2: nothing that can happen: explode\n"
                         % file.name)
        done = sim("--scenario=/nowhere", expect=2)
        self.assertIn("/nowhere: No such file or directory", done.stderr)

    def test_help(self):
        self.assertTrue(sim("--help", expect=0).stdout.startswith("usage: mesita-sim [options]\n"))

    def test_moves_add_up(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "moves")
            small = ("--agents=1", "--schedulers=1", "--tasks=2", "--time=30secs",
                     "--every=0secs", "--moves=" + path)
            sim(*small, expect=0)
            once = self.read(path)
            self.assertIn(("-", "OUTSTANDING", "4"), once)
            sim(*small, expect=0)
            self.assertEqual(self.read(path), {move: 2 * count for move, count in once.items()})
            out = sim(*small, "--all-moves", expect=1).stdout
            self.assertRegex(out, r"(?m)^agent in the master: CONNECTED -> GONE was never taken$")
            with open(path, "a") as file:
                file.write("no counts\n")
            self.assertIn("holds no transitions", sim(*small, expect=2).stderr)

    @staticmethod
    def read(path):
        with open(path) as file:
            rows = [line.split() for line in file]
        return {(before, after, life): int(count) for life, before, after, count in rows}


if __name__ == "__main__":
    unittest.main()
