"""The load generator of bench/load against a real master: what it launches is not lost."""

import json
import os
import subprocess
import unittest

import harness
import processes
from processes import SCALE

BENCH_LOAD = os.path.join(os.path.dirname(harness.MESITA), "bench_load")


def bench_load(*flags, timeout=60):
    """(exit code, stdout, stderr)."""
    process = processes.spawn([BENCH_LOAD, *flags], env=harness.clean_environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=timeout * SCALE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise processes.Timeout("not done after %d s\n%s\n%s" % (timeout, out, err)) from None
    return process.returncode, out, err


@unittest.skipUnless(os.path.exists(BENCH_LOAD), "bench_load is not built")
class Load(harness.TestCase):
    agents = 0

    def run_plan(self, *flags):
        code, out, err = bench_load("--master=%s:%d" % self.master.address, "--json", *flags)
        self.assertEqual(code, 0, out + err)
        return json.loads(out)

    def check_all_done(self, figures, tasks):
        self.assertEqual(figures["tasks_launched"], tasks)
        self.assertEqual(figures["tasks_done"], tasks)
        self.assertEqual(figures["tasks_dropped_by_master"], 0)
        self.assertEqual(figures["violations"], 0)

    def check_master_is_empty(self):
        state = self.master.state()
        self.assertEqual(state["frameworks"], [])
        processes.wait_for(lambda: not self.master.state()["slaves"], "agents to be gone")

    def test_nothing_is_lost(self):
        figures = self.run_plan("--agents=100", "--tasks=1000")
        self.check_all_done(figures, 1000)
        self.assertGreater(figures["tasks_per_second"], 0)
        self.assertGreater(figures["ratio_to_loopback"], 0)
        self.assertGreaterEqual(figures["master_rss"], 1)
        self.check_master_is_empty()

    def test_many_schedulers_in_json(self):
        figures = self.run_plan("--agents=20", "--schedulers=5", "--tasks=500",
                                "--encoding=json", "--connections=3", "--no-echo")
        self.check_all_done(figures, 500)
        self.check_master_is_empty()

    def test_rate_and_length(self):
        figures = self.run_plan("--agents=20", "--schedulers=2", "--tasks=200", "--rate=400",
                                "--task_length=50ms", "--task_spread=10ms", "--no-echo")
        self.check_all_done(figures, 200)
        self.assertGreaterEqual(figures["seconds"], 0.4)

    def check_frameworks_are_gone(self):
        """Nobody answers a driver that its teardown came."""
        processes.wait_for(lambda: not self.master.state()["frameworks"], "frameworks to be gone")

    def test_drivers_of_v0(self):
        figures = self.run_plan("--agents=50", "--schedulers=3", "--drivers=3", "--tasks=1000",
                                "--kill=0.1", "--reconcile=0.1", "--decline=0.1", "--no-echo")
        self.check_all_done(figures, 1000)
        self.check_frameworks_are_gone()
        self.check_master_is_empty()

    def test_drivers_among_others(self):
        figures = self.run_plan("--agents=20", "--schedulers=4", "--drivers=2", "--tasks=500",
                                "--encoding=json", "--rate=1000", "--no-echo")
        self.check_all_done(figures, 500)
        self.check_frameworks_are_gone()
        self.check_master_is_empty()

    def test_kills_reconciliation_and_declining(self):
        figures = self.run_plan("--agents=20", "--schedulers=2", "--tasks=600", "--kill=0.3",
                                "--reconcile=0.3", "--decline=0.2", "--task_length=20ms",
                                "--no-echo")
        self.check_all_done(figures, 600)
        self.assertGreater(figures["tasks_killed"], 0)
        self.assertGreater(figures["kill_to_ended_p50"], 0)
        self.assertGreater(figures["tasks_reconciled"], 0)
        self.assertGreater(figures["reconcile_to_answer_p50"], 0)
        self.check_master_is_empty()

    def test_probes_on_a_full_cluster(self):
        """The load goes on until the last probe is through; then what runs is cut short."""
        figures = self.run_plan("--agents=10", "--schedulers=3", "--duration=1secs", "--cut",
                                "--agent_cpus=1", "--task_cpus=0.5", "--task_length=1secs",
                                "--task_spread=300ms", "--probes=2", "--probe_pause=50ms",
                                "--no-echo")
        self.assertEqual(figures["probes"], 2)
        self.assertGreater(figures["probe_p50"], 0)
        self.assertEqual(figures["tasks_killed"], 2)
        self.check_all_done(figures, figures["tasks_launched"])
        self.check_master_is_empty()

    def test_held_tasks(self):
        figures = self.run_plan("--agents=10", "--schedulers=2", "--tasks=100", "--hold",
                                "--probes=1", "--no-echo")
        self.assertEqual(figures["probes"], 1)
        self.check_all_done(figures, 101)
        self.assertEqual(figures["tasks_running_most"], 100)
        self.assertGreater(figures["master_rss_running"], 0)
        self.check_master_is_empty()

    def fail_over(self, *flags):
        """A plan under which the master dies; (exit code, figures or None, stderr)."""
        process = processes.spawn(
            [BENCH_LOAD, "--master=%s:%d" % self.master.address, "--failover", "--no-echo",
             "--json", *flags], env=harness.clean_environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = ""
        for line in process.stderr:
            seen += line
            if "ready for failover" in line:
                break
        self.master.kill()
        self.master.start()
        out, err = process.communicate(timeout=60 * SCALE)
        return process.returncode, json.loads(out) if out else None, seen + err

    def test_failover(self):
        for drivers in ("--drivers=0", "--drivers=2"):
            with self.subTest(drivers):
                code, figures, err = self.fail_over("--agents=20", "--tasks=100",
                                                    "--schedulers=4", drivers)
                self.assertEqual(code, 0, err)
                # All were there, and ended afterwards, each once.
                self.assertEqual(figures["failover_tasks"], 100)
                self.check_all_done(figures, 100)
                self.assertGreater(figures["failover_from_start"], 0)
                self.assertGreater(figures["failover_master_rss_peak"], 0)
                self.check_frameworks_are_gone()
                self.check_master_is_empty()

    def test_failover_of_some_agents_at_a_time(self):
        code, figures, err = self.fail_over("--agents=20", "--tasks=40", "--no-drain",
                                            "--reregister_spread=300ms", "--probes=1")
        self.assertEqual(code, 0, err)
        self.assertGreaterEqual(figures["failover_agents"], 0.28)
        self.assertEqual(figures["tasks_done"], 1)  # the probe's
        self.assertEqual(figures["failover_tasks"], 40)

    def test_master_that_dies(self):
        """The run fails, with a reason, and ends by itself."""
        process = processes.spawn(
            [BENCH_LOAD, "--master=%s:%d" % self.master.address, "--agents=10", "--no-echo",
             "--tasks=400", "--task_length=50secs"], env=harness.clean_environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.wait_for(lambda: self.master.metric("master/tasks_running") > 0, "tasks")
        self.master.kill()
        _, err = process.communicate(timeout=60 * SCALE)
        self.assertEqual(process.returncode, 1, err)
        # Whichever connection is seen to end first.
        self.assertRegex(err, "the link to .* broke|its calls: |the event stream ended: ")


@unittest.skipUnless(os.path.exists(BENCH_LOAD), "bench_load is not built")
class Plans(harness.TestCase):
    agents = None

    def refuse(self, code, words, *flags):
        found, out, err = bench_load(*flags, timeout=20)
        self.assertEqual(found, code, out + err)
        self.assertIn(words, err)
        self.assertEqual(out, "")

    def test_no_master(self):
        self.refuse(1, "no master at", "--master=127.0.0.1:%d" % harness.free_port(), "--tasks=1")

    def test_impossible_plans(self):
        master = "--master=127.0.0.1:1"
        self.refuse(2, "--master", "--tasks=1")
        self.refuse(2, "when to end", master)
        self.refuse(2, "does not fit", master, "--tasks=1", "--task_cpus=8")
        self.refuse(2, "must be from", master, "--tasks=1", "--agents=0")
        self.refuse(2, "must be from", master, "--tasks=-1")
        self.refuse(2, "must be from", master, "--tasks=1", "--rate=-1")
        self.refuse(2, "must be from", master, "--tasks=1", "--drivers=2")
        self.refuse(2, "protobuf or json", master, "--tasks=1", "--encoding=xml")
        self.refuse(2, "protobuf or json", master, "--tasks=1", "--poll_encoding=xml")
        self.refuse(2, "neither a path nor a call", master, "--tasks=1", "--poll=state")
        self.refuse(2, "must be from", master, "--tasks=1", "--pollers=-1")
        self.refuse(2, "there is room for", master, "--tasks=1", "--agents=1", "--rate=100",
                    "--task_length=10secs")
        self.refuse(2, "from 0 to 1", master, "--tasks=1", "--kill=2")
        self.refuse(2, "need --tasks", master, "--duration=1secs", "--failover")
        self.refuse(2, "--memory_max", master, "--tasks=20000000", "--memory_max=100")


if __name__ == "__main__":
    unittest.main()
