"""The two stores of a master: what each of them is worth alone, and when one is damaged."""

import glob
import http.client
import json
import os
import shutil

import harness


def damage(directory):
    """Flips a bit in the middle of the biggest log or table."""
    paths = glob.glob(directory + "/*.log") + glob.glob(directory + "/*.ldb")
    path = max(paths, key=os.path.getsize)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


class Stores(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(failover_timeout=120, checkpoint=True)
        self.task = self.scheduler.run("sleep 1000")
        self.scheduler.wait_state(self.task, "TASK_RUNNING")
        connection = http.client.HTTPConnection(*self.master.address, timeout=10 * harness.SCALE)
        connection.request("PUT", "/weights", json.dumps([{"role": "r", "weight": 3}]))
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def store(self, name):
        return os.path.join(self.master.work_dir, name)

    def come_back(self):
        """All is as before: the agent, the framework and its task, the weight."""
        self.scheduler.wait_closed()
        self.scheduler.subscribe()
        self.agent.wait_registered()
        harness.wait_for(lambda: [t["id"] for f in self.master.state()["frameworks"]
                                  for t in f["tasks"]] == [self.task], "the task")
        self.assertEqual(self.master.json("/weights"), [{"role": "r", "weight": 3}])

    def test_what_is_written_behind_may_be_lost(self):
        agent_id = self.agent.id
        self.master.kill()
        shutil.rmtree(self.store("warm"))
        self.master.start().wait_ready()
        self.come_back()
        self.assertEqual(self.agent.id, agent_id)

    def test_damage(self):
        for name in ("warm", "registry"):
            with self.subTest(store=name):
                self.master.kill()
                keep = self.store(name) + ".copy"
                shutil.copytree(self.store(name), keep)
                damage(self.store(name))
                self.master.start()
                self.assertNotEqual(self.master.process.wait(10 * harness.SCALE), 0)
                log = self.master.log_tail()
                self.assertIn(self.store(name), log)
                self.assertIn("--repair_store", log)
                shutil.rmtree(self.store(name))
                shutil.move(keep, self.store(name))
                self.master.start().wait_ready()
                self.come_back()

    def test_repair(self):
        self.master.kill()
        damage(self.store("warm"))
        self.master.flags = dict(self.master.flags, repair_store="true")
        self.master.start().wait_ready()
        self.come_back()
