"""An exporter made of telegraf's own parts (its input for Mesos, its Prometheus format) reads the
metrics of master and agent as it does of Mesos; a real Prometheus scrapes it."""

import os
import re

import common
import harness
import processes
from test_prometheus import install_prometheus, query_prometheus, start_prometheus

# Numbers that do not change between two looks.
STEADY = ["master/slaves_active", "master/cpus_total", "master/frameworks_active",
          "master/mem_total", "master/tasks_finished", "master/tasks_failed",
          "master/slave_registrations", "registrar/log/recovered", "allocator/mesos/resources/cpus/total"]
STEADY_OF_AGENTS = ["slave/cpus_total", "slave/tasks_finished", "slave/tasks_failed",
                    "slave/registered", "slave/executors_terminated"]
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: telegraf
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def spelled(name):
    return "mesos_" + re.sub("[^a-zA-Z0-9_]", "_", name)


class Telegraf(common.ClientTestCase):
    agents = 1

    @classmethod
    def setUpClass(cls):
        common.need("Go", ("go", "version"))
        cls.programs = install_prometheus()
        cls.exporter = os.path.join(common.install(
            "go_exporter", ["go_exporter/go.mod", "go_exporter/go.sum", "go_exporter/main.go"],
            [("go", "build", "-o", "exporter", ".")], ["exporter"]), "exporter")

    def export(self):
        """Starts it; its port."""
        port = harness.free_port()
        processes.spawn([self.exporter, "-master=http://%s:%d" % self.master.address,
                         "-agent=http://%s:%d" % self.agent.address,
                         "-listen=127.0.0.1:%d" % port])
        return port

    def test_every_name_and_number(self):
        scheduler = self.subscribe(name="a job", roles=["a/b"])
        scheduler.wait_terminal(scheduler.run("true"))
        scheduler.wait_terminal(scheduler.run("false"))
        harness.wait_for(lambda: self.agent.metric("slave/executors_terminated") == 2,
                         "the end of the executors")
        port = self.export()

        def read():
            """What both say, once they have the same names: a role's use is told while there is
            any, so an offer that is made between the two looks shows in one of them only."""
            status, _, body = harness.get(("127.0.0.1", port), "/metrics")
            if status != 200:
                return None
            values = {(role, name): float(value) for name, role, value in re.findall(
                r'^(\w+)\{role="(\w+)"[^}]*\} (\S+)$', body.decode(), re.M)}
            snapshots = {"master": self.master.json("/metrics/snapshot"),
                         "slave": self.agent.json("/metrics/snapshot")}
            missing = {name for role, snapshot in snapshots.items() for name in snapshot
                       if (role, spelled(name)) not in values}
            if missing:
                raise ValueError("not told: %s" % sorted(missing))
            return values, snapshots
        values, snapshots = harness.wait_for(read, "all metrics by telegraf")
        for role, steady in (("master", STEADY), ("slave", STEADY_OF_AGENTS)):
            for name in steady:
                self.assertEqual(values[role, spelled(name)], snapshots[role][name], name)
        self.assertEqual(values["master", "mesos_master_tasks_finished"], 1)

    def test_a_server_that_scrapes_it(self):
        address = start_prometheus(self.programs, self.temporary(), CONFIG % self.export())
        active = harness.wait_for(lambda: query_prometheus(address, "mesos_master_slaves_active"),
                                  "a scrape", timeout=60)
        self.assertEqual([each["value"][1] for each in active], ["1"])
