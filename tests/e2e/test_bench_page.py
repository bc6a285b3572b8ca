"""The logic of bench/page: targets, the page, what is kept, and the comparison of two runs."""

import copy
import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(harness.HERE)), "bench"))

from page import cases, comparing, figure, keeping, layout, spread  # noqa: E402
from page.figure import Figure  # noqa: E402


def run_of(*figures, failed=()):
    """A run as it is kept."""
    return {
        "format": keeping.FORMAT, "time": 1.7e9, "seconds": 61.4, "others": 0.02, "quick": False,
        "master": "", "times": 3,
        "machine": {"version": "1.12.0", "revision": "abc", "cores": 2, "processor": "A " * 80,
                    "system": "Linux", "kernel": "6.1", "load": 0.1, "memory": 1 << 34},
        "cases": [{"name": "one", "seconds": 2.0, "status": "failed" if "one" in failed else "ok",
                   "reason": "it broke" if "one" in failed else ""}],
        "figures": [entry.to_json() for entry in figures],
    }


def rate(value, limit=None, **more):
    return Figure("launch", "1x1", "rate", "tasks launched", value, "tasks/s", limit,
                  "loopback" if limit else "", more_is_better=True, **more)


def latency(value, limit=None, **more):
    return Figure("latency", "", "p99", "call to answer", value, "ms", limit, **more)


class Targets(unittest.TestCase):
    def met(self, entry):
        return [target["met"] for target in entry.to_json()["targets"]]

    def test_of_the_value(self):
        self.assertEqual(self.met(latency(9.9, targets=[figure.below(10)])), [True])
        self.assertEqual(self.met(latency(10, targets=[figure.below(10)])), [False])
        self.assertEqual(self.met(latency(10, targets=[figure.at_most(10)])), [True])
        self.assertEqual(self.met(rate(10, targets=[figure.at_least(10)])), [True])

    def test_of_the_ratio(self):
        target = [figure.at_least(1 / 3, "ratio")]
        self.assertEqual(self.met(rate(10, 30, targets=target)), [True])
        self.assertEqual(self.met(rate(10, 31, targets=target)), [False])

    def test_without_a_limit_nothing_is_known(self):
        self.assertEqual(self.met(rate(10, targets=[figure.at_least(1, "ratio")])), [None])

    def test_name(self):
        self.assertEqual(rate(1).name, "launch/1x1/rate")
        self.assertEqual(latency(1).name, "latency/p99")


class Page(unittest.TestCase):
    def page(self, *figures, **more):
        lines = list(layout.page(run_of(*figures, **more)))
        for line in lines:
            self.assertLessEqual(len(line), layout.WIDTH, line)
            self.assertEqual(line, line.rstrip())
        return "\n".join(lines)

    def test_a_figure_with_limit_ratio_and_target(self):
        text = self.page(rate(12345.6, 24691.2, targets=[
            figure.at_least(10000), figure.at_least(1, "ratio")]))
        self.assertRegex(text, r"tasks launched +12,346 tasks/s +24,691 loopback +0\.50 +met >= "
                               r"10,000\n +MISSED >= 1 x")
        self.assertIn("1 of 2 targets met, 1 cases in 1:01", text)

    def test_long_words_are_cut(self):
        text = self.page(Figure("x", "", "y", "x" * 90, 1, "u" * 90, 2, "l" * 90))
        self.assertIn("x~", text)

    def test_a_table(self):
        cells = [Figure("launch", "10x%d" % n, key, "10 x %d" % n, n * 1000, unit, limit, "echo",
                        column=column)
                 for n in (1, 20) for key, column, unit, limit in (
                     ("rate", "tasks/s", "tasks/s", 4000), ("p99", "offer>|launch", "ms", None))]
        text = self.page(*cells)
        self.assertRegex(text, r"offer>\n +tasks/s +limit ratio +launch\n"
                               r" +10 x 1 +1,000 +4,000 +0\.25 +1,000\n"
                               r" +10 x 20 +20,000 +4,000 +5 +20,000")

    def test_what_must_be_zero_is_told_when_it_is_not(self):
        def lost(count):
            return Figure("launch", "1x1", "lost", "1 x 1", count, "tasks", column="lost",
                          targets=[figure.at_most(0)])
        self.assertNotIn("lost  ", self.page(lost(0)))
        self.assertRegex(self.page(lost(2)), r"1 x 1: lost +2 tasks +MISSED <= 0")

    def test_failures_are_told(self):
        self.assertIn("one: failed: it broke", self.page(rate(1), failed=["one"]))

    def test_numbers(self):
        for value, text in ((0, "0"), (0.00012, "1.2e-04"), (0.0123, "0.012"), (0.5, "0.50"),
                            (12.34, "12.3"), (123.4, "123"), (1234567, "1,234,567"),
                            (None, "")):
            self.assertEqual(layout.number(value), text)


class Comparison(unittest.TestCase):
    def verdict(self, old, new, **more):
        row, = comparing.compare(run_of(old), run_of(new), **more)
        return row.verdict

    def test_noise_is_no_change(self):
        self.assertEqual(self.verdict(rate(100), rate(85)), comparing.SAME)
        self.assertEqual(self.verdict(rate(100), rate(120)), comparing.SAME)

    def test_worse_and_better(self):
        self.assertEqual(self.verdict(rate(100), rate(50)), comparing.WORSE)
        self.assertEqual(self.verdict(rate(100), rate(200)), comparing.BETTER)
        self.assertEqual(self.verdict(latency(10), latency(20)), comparing.WORSE)
        self.assertEqual(self.verdict(latency(10), latency(5)), comparing.BETTER)

    def test_the_ratio_counts_where_there_is_one(self):
        # Half as fast on a machine half as fast.
        self.assertEqual(self.verdict(rate(100, 300), rate(50, 150)), comparing.SAME)
        self.assertEqual(self.verdict(rate(100, 300), rate(100, 600)), comparing.WORSE)
        # A limit that one of them does not know.
        self.assertEqual(self.verdict(rate(100, 300), rate(100)), comparing.SAME)

    def test_the_noise_is_that_of_the_figure(self):
        self.assertEqual(self.verdict(latency(10, noise=0.6), latency(15, noise=0.6)),
                         comparing.SAME)
        self.assertEqual(self.verdict(latency(10, noise=0.1), latency(15, noise=0.1)),
                         comparing.WORSE)
        self.assertEqual(self.verdict(rate(100), rate(50), tolerance=5), comparing.SAME)

    def test_a_fall_is_as_far_as_a_rise(self):
        """Twice and half are equally far apart."""
        self.assertEqual(self.verdict(rate(100, noise=0.9), rate(50, noise=0.9)), comparing.WORSE)
        self.assertEqual(self.verdict(rate(50, noise=0.9), rate(100, noise=0.9)),
                         comparing.BETTER)

    def test_one_lost_is_worse_than_none(self):
        self.assertEqual(self.verdict(latency(0, noise=0), latency(0, noise=0)), comparing.SAME)
        self.assertEqual(self.verdict(latency(0, noise=0), latency(1, noise=0)), comparing.WORSE)

    def test_figures_of_one_run_only(self):
        rows = comparing.compare(run_of(rate(1)), run_of(latency(1)))
        self.assertEqual([row.verdict for row in rows], [comparing.NEW, comparing.GONE])
        self.assertFalse(comparing.is_worse(rows))

    def test_a_case_that_fails_now_is_worse(self):
        good, bad = run_of(rate(1)), run_of(rate(1), failed=["one"])
        self.assertTrue(comparing.is_worse(comparing.compare(good, bad)))
        self.assertFalse(comparing.is_worse(comparing.compare(bad, bad)))
        self.assertFalse(comparing.is_worse(comparing.compare(bad, good)))

    def test_lines(self):
        old, new = run_of(rate(100, 300), latency(3)), run_of(rate(50, 300), latency(3))
        rows = comparing.compare(old, new)
        text = "\n".join(layout.comparison(old, new, rows, everything=False))
        self.assertRegex(text, r"launch/1x1/rate +100 +50 tasks/s +-50%\* worse")
        self.assertNotIn("latency/p99", text)
        self.assertIn("1 worse, 1 within noise", text)
        self.assertIn("latency/p99", "\n".join(layout.comparison(old, new, rows, True)))


def several(*figures):
    """A run with what several runs of a case found."""
    run = run_of()
    run["figures"] = spread.merge([[entry.to_json()] for entry in figures])
    return run


class Spread(unittest.TestCase):
    def test_the_median_with_lowest_and_highest(self):
        entry, = several(rate(90, 300), rate(300, 600), rate(100, 200))["figures"]
        self.assertEqual([entry[key] for key in ("value", "low", "high", "limit", "runs")],
                         [100, 90, 300, 300, 3])
        self.assertEqual([entry[key] for key in ("ratio", "ratio_low", "ratio_high")],
                         [0.5, 0.3, 0.5])

    def test_the_worst_of_what_must_not_be(self):
        lost = [Figure("launch", "1x1", "lost", "lost", value, noise=0,
                       targets=[figure.at_most(0)]) for value in (0, 2, 0)]
        entry, = several(*lost)["figures"]
        self.assertEqual((entry["value"], entry["targets"][0]["met"]), (2, False))
        longest = [Figure("latency", "", "x_max", "longest", value) for value in (1, 9, 2)]
        self.assertEqual(several(*longest)["figures"][0]["value"], 9)

    def test_targets_are_of_the_median(self):
        entry, = several(*(latency(value, targets=[figure.below(10)]) for value in (5, 50, 6)))[
            "figures"]
        self.assertTrue(entry["targets"][0]["met"])

    def test_one_run_of_three_knows_a_figure_that_others_do_not(self):
        run = spread.merge([[rate(1).to_json()], [], [latency(2).to_json()]])
        self.assertEqual([(entry["name"], entry["runs"]) for entry in run],
                         [("launch/1x1/rate", 1), ("latency/p99", 1)])

    def test_on_the_page(self):
        text = "\n".join(layout.page(several(rate(90), rate(30000), rate(100))))
        self.assertRegex(text, r"tasks launched +100 tasks/s +90\.\.30\.0k")
        self.assertIn("Each case ran 3 times", text)
        cell = [rate(value, column="tasks/s") for value in (90, 130, 100)]
        self.assertRegex("\n".join(layout.page(several(*cell))), r"launched +100\n +-10\+30%")

    def compared(self, old, new):
        row, = comparing.compare(several(*map(rate, old)), several(*map(rate, new)))
        return row.verdict

    def test_what_was_found_is_the_noise(self):
        self.assertEqual(self.compared((90, 100, 110), (108, 120, 130)), comparing.SAME)
        self.assertEqual(self.compared((90, 100, 110), (111, 120, 130)), comparing.BETTER)
        self.assertEqual(self.compared((99, 100, 101), (85, 86, 87)), comparing.WORSE)
        # Wide ones are not told apart by their medians.
        self.assertEqual(self.compared((50, 100, 300), (60, 200, 300)), comparing.SAME)
        # Less than a twentieth is nothing.
        self.assertEqual(self.compared((100, 100, 100), (104, 104, 104)), comparing.SAME)
        # Two runs do not tell.
        self.assertEqual(self.compared((99, 101), (85, 87)), comparing.SAME)


class Keeping(harness.TestCase):
    agents = None

    def test_runs_are_kept_and_found_again(self):
        directory = os.path.join(self.temporary(), "runs")
        first, second = run_of(rate(1)), run_of(rate(2))
        second["time"] += 60
        path = keeping.keep(first, directory)
        self.assertEqual(keeping.read(directory), first)
        keeping.keep(second, directory)
        self.assertEqual(keeping.read(path), first)
        self.assertEqual(keeping.read(os.path.join(directory, "latest.json")), second)
        self.assertEqual(len(os.listdir(directory)), 3)

    def test_old_runs_go(self):
        directory, run = self.temporary(), run_of()
        for _ in range(keeping.KEPT_RUNS + 3):
            run = copy.copy(run)
            run["time"] += 1
            keeping.keep(run, directory)
        self.assertEqual(len(os.listdir(directory)), keeping.KEPT_RUNS + 1)
        self.assertEqual(keeping.read(directory), run)

    def test_what_is_no_run_is_refused(self):
        path = os.path.join(self.temporary(), "x.json")
        for text in ("", "[]", "{}", '{"format": 99}', "{"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaises(ValueError):
                keeping.read(path)


class Cases(unittest.TestCase):
    def test_all_of_a_group_or_one(self):
        self.assertEqual(len(cases.choose(["launch"])), 16)
        self.assertEqual([case.name for case in cases.choose(["tasks/kept", "start"])],
                         ["start", "tasks/kept"])

    def test_names_are_unique_and_known(self):
        names = [case.name for case in cases.choose()]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(set(case.name for case in cases.choose(quick=True)) < set(names))
        with self.assertRaisesRegex(ValueError, "no case 'launch/7x7'; there are start"):
            cases.choose(["launch/7x7"])

    def test_the_set_is_done_in_half_an_hour(self):
        self.assertLess(3 * sum(case.seconds for case in cases.ALL), 1800)


if __name__ == "__main__":
    unittest.main()
