"""Daemons under limits of the system: open files, size of files."""

import http.client
import harness
from harness import wait_for
from scheduler import task


class OpenFiles(harness.TestCase):
    agents = None
    prefix = ["prlimit", "--nofile=64:4096"]

    def setUp(self):
        super().setUp()
        self.cluster = harness.Cluster(1, {}, {"resources": "cpus:100;mem:100000"})
        for daemon in [self.master, self.agent]:
            daemon.prefix = self.prefix
        self.cluster.start()

    def limit(self, daemon):
        with open("/proc/%d/limits" % daemon.process.pid, encoding="ascii") as file:
            line = next(line for line in file if line.startswith("Max open files"))
        return [int(word) for word in line.split()[3:5]]

    def test_daemons_raise_theirs_and_tasks_have_the_old(self):
        for daemon in [self.master, self.agent]:
            soft, hard = self.limit(daemon)
            self.assertEqual(soft, hard)
            self.assertGreaterEqual(soft, 4096)
        scheduler = self.subscribe()
        task_id = scheduler.run("ulimit -Sn; ulimit -Hn")
        self.assertEqual(scheduler.wait_terminal(task_id)["state"], "TASK_FINISHED")
        with open(self.agent.sandbox(scheduler.id, task_id) + "/stdout", encoding="utf-8") as file:
            self.assertEqual(file.read().split()[-2:], ["64", "4096"])

    def test_more_tasks_than_the_old_limit(self):
        scheduler = self.subscribe()
        offer = scheduler.offer()
        tasks = [task(offer, {"value": "exec sleep 1000"}, cpus=0.01, mem=1) for _ in range(70)]
        ids = [info["task_id"]["value"] for info in tasks]
        scheduler.launch(offer, tasks)
        for task_id in ids:
            scheduler.wait_state(task_id, "TASK_RUNNING", timeout=60)
        wait_for(lambda: self.master.metric("master/tasks_running") == 70, "70 tasks run", 20)


class SizeOfFiles(harness.TestCase):
    agents = None

    def test_a_write_that_is_too_long_is_an_error(self):
        """`ulimit -f` ends no daemon with a signal: it says what failed, and ends."""
        # The log is bound by it, too.
        cluster = self.cluster = harness.Cluster(0, {"logging_level": "ERROR"})
        cluster.master.prefix = ["prlimit", "--fsize=65536"]
        cluster.start()
        for index in range(2000):
            if cluster.master.process.poll() is not None:
                break
            try:
                self.fill(index)
            except OSError:
                pass
        wait_for(lambda: cluster.master.process.poll() is not None, "the master ends", 20)
        self.assertGreater(cluster.master.process.returncode, 0)
        self.assertIn("Failed to write to the store", cluster.master.log_tail())

    def fill(self, index):
        body = '{"type": "UPDATE_WEIGHTS", "update_weights": {"weight_infos": [{"role": "%s", ' \
               '"weight": 2}]}}' % (("r%d" % index) * 200)
        connection = http.client.HTTPConnection(*self.master.address, timeout=10)
        try:
            connection.request("POST", "/api/v1", body, {"Content-Type": "application/json"})
            connection.getresponse().read()
        except http.client.HTTPException:
            pass
        finally:
            connection.close()

    def _clean(self):
        self.cluster.master.process = None  # its end is the test
        super()._clean()
