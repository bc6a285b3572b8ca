"""A real Prometheus (Debian's) and its official parser (PyPI) read /metrics of master and agent."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse

import common
import harness
import processes
from scheduler import task

METRICS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(common.HERE))), "deploy",
                       "metrics")
EVERYTHING = "/metrics?per_framework=true&per_role=true"
PYTHON = "/usr/bin/python3"
READ = """
import json, sys
from prometheus_client.parser import text_string_to_metric_families
print(json.dumps([[f.name, f.type, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]]
                  for f in text_string_to_metric_families(sys.stdin.read())]))
"""


def install_prometheus():
    """Where its programs are."""
    common.need("Debian's packages", ("apt-get", "--version"), ("dpkg", "--version"))
    return os.path.join(common.install(
        "prometheus", [],
        [("apt-get", "download", "-q", "prometheus"),
         ("sh", "-c", "dpkg -x prometheus_*.deb root && rm prometheus_*.deb")],
        ["root/usr/bin/prometheus"]), "root", "usr", "bin")


def start_prometheus(programs, folder, config):
    """Its address. The configuration is read in that folder, where its data are, too."""
    port = harness.free_port()
    path = os.path.join(folder, "prometheus.yml")
    with open(path, "w", encoding="ascii") as file:
        file.write(config)
    processes.spawn([os.path.join(programs, "prometheus"), "--config.file=" + path,
                     "--storage.tsdb.path=" + os.path.join(folder, "data"),
                     "--web.listen-address=127.0.0.1:%d" % port],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "127.0.0.1", port


def query_prometheus(address, expression):
    """What it has of the expression by now."""
    try:
        _, _, body = harness.get(address, "/api/v1/query?query=" + urllib.parse.quote(expression))
    except OSError:
        return []
    answer = json.loads(body) if body.startswith(b"{") else {}
    if answer.get("status") == "error":
        raise AssertionError("%s: %s" % (expression, answer))
    return answer.get("data", {}).get("result", [])


class Prometheus(common.ClientTestCase):
    agents = 1

    @classmethod
    def setUpClass(cls):
        cls.root = install_prometheus()
        common.need("Python (python3-venv)", (PYTHON, "-c", "import ensurepip, venv"))
        cls.python = os.path.join(common.install(
            "prometheus-client", [],
            [(PYTHON, "-m", "venv", "{dir}/venv"),
             ("{dir}/venv/bin/pip", "install", "-q", "prometheus-client==0.21.1")],
            ["venv/bin/python"]), "venv", "bin", "python")

    def text(self, daemon, path=EVERYTHING):
        status, headers, body = harness.get(daemon.address, path)
        self.assertEqual((status, headers["Content-Type"]),
                         (200, "text/plain; version=0.0.4; charset=utf-8"))
        return body.decode()

    def read(self, text, *argv):
        """What a program that reads the text says."""
        with tempfile.TemporaryFile() as file:
            file.write(text.encode())
            file.seek(0)
            done = processes.run(list(argv), stdin=file, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.decode()

    def families(self, text):
        return json.loads(self.read(text, self.python, "-c", READ))

    def work(self):
        scheduler = self.subscribe(name='a "job" of\\1', roles=["a/b"])
        scheduler.wait_terminal(scheduler.run("true"))
        scheduler.wait_terminal(scheduler.run("false"))
        offer = scheduler.offer()
        scheduler.decline(offer)
        late = task(offer, "true")
        scheduler.launch(offer, [late])
        self.assertEqual(scheduler.wait_terminal(late["task_id"]["value"])["state"], "TASK_LOST")
        return scheduler

    def set_quota(self):
        """What is only said of roles that have one."""
        call = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [
            {"role": "q", "limits": {"cpus": {"value": 2}},
             "guarantees": {"cpus": {"value": 0.1}}}]}}
        self.assertEqual(harness.request(self.master.address, "POST", "/api/v1", json.dumps(call),
                                         {"Content-Type": "application/json"})[0], 200)

    def test_what_it_says(self):
        scheduler = self.work()
        self.set_quota()
        for daemon in (self.master, self.agent):
            text = self.text(daemon)
            promtool = os.path.join(self.root, "promtool")
            self.assertEqual(self.read(text, promtool, "check", "metrics"), "")
            seen = set()
            for name, kind, help_text, samples in self.families(text):
                self.assertTrue(name.startswith("mesita_") and help_text.endswith("."), name)
                self.assertIn(kind, ("gauge", "counter", "histogram"))
                for sample, labels, _ in samples:
                    key = (sample, json.dumps(labels, sort_keys=True))
                    self.assertNotIn(key, seen)
                    seen.add(key)
        values = {(sample, tuple(sorted(labels.items()))): value
                  for family in self.families(self.text(self.master))
                  for sample, labels, value in family[3]}
        snapshot = self.master.json("/metrics/snapshot")
        self.assertEqual(values["mesita_master_tasks_ended_total", (("state", "failed"),)], 1)
        self.assertEqual(values["mesita_master_memory_capacity_bytes", (("revocable", "false"),)],
                         snapshot["master/mem_total"] * 2 ** 20)
        self.assertEqual(values["mesita_framework_tasks_ended_total", (
            ("framework", 'a "job" of\\1'), ("framework_id", scheduler.id),
            ("state", "finished"))], 1)
        self.assertIn(("mesita_role_dominant_share", (("role", "a/b"),)), values)
        for name, value in (("guarantee", 0.1), ("limit", 2)):
            self.assertEqual(values["mesita_role_quota_" + name, (
                ("resource", "cpus"), ("role", "q"))], value)
        self.assertGreater(values["mesita_allocator_run_duration_seconds_count", ()], 0)
        # What there may be many of is not there unless it is asked for.
        self.assertNotRegex(self.text(self.master, "/metrics"), "mesita_(framework|role)_")

    def test_every_metric_has_a_place(self):
        """No name of the snapshot is missing in the tables."""
        self.work()
        for daemon in (self.master, self.agent):
            self.assertFalse("mesita_metrics_unknown" in self.text(daemon))

    def serve(self):
        """Prometheus, with the rules of deploy/, at a port of its own."""
        folder = self.temporary()
        shutil.copy(os.path.join(METRICS, "alerts.yml"), folder)
        with open(os.path.join(METRICS, "prometheus.yml"), encoding="ascii") as file:
            config = file.read()
        config = config.replace('"127.0.0.1:5050"', '"%s:%d"' % self.master.address)
        config = re.sub(r'\["127\.0\.0\.2:.*\]', '["%s:%d"]' % self.agent.address, config)
        config = config.replace("15s", "1s").replace("# params", "params")
        return start_prometheus(self.root, folder, config)

    def test_a_server_that_scrapes(self):
        self.work()
        address = self.serve()

        def query(expression):
            return query_prometheus(address, expression)
        harness.wait_for(lambda: [each["value"][1] for each in query("up")] == ["1", "1"],
                         "both to be scraped", timeout=60)
        active = query('mesita_master_agents{state="active"}')
        self.assertEqual([each["value"][1] for each in active], ["1"])
        rules = harness.get_json(address, "/api/v1/rules")["data"]["groups"][0]["rules"]
        self.assertGreater(len(rules), 5)
        with open(os.path.join(METRICS, "grafana.json"), encoding="ascii") as file:
            panels = json.load(file)["panels"]
        expressions = [target["expr"] for panel in panels for target in panel["targets"]]
        expressions += [rule["query"] for rule in rules]
        for expression in expressions:
            query(expression)
            for name in re.findall(r"\bmesita_[a-z_]+", expression):
                self.assertTrue(query(name), "%s of %s is no metric" % (name, expression))
