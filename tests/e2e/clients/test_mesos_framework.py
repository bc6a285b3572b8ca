"""mesos-framework (npm): command tasks with ports and environment."""

import json
import os
import shutil

import common
import harness

COUNT = 12


class MesosFramework(common.ClientTestCase):
    @classmethod
    def setUpClass(cls):
        common.need("Node.js", ("node", "--version"), ("npm", "--version"))
        cls.directory = common.install(
            "node", ["node/package.json", "node/package-lock.json"],
            [("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")],
            ["node_modules/mesos-framework"])
        # The module is looked for beside the program.
        shutil.copy(os.path.join(common.HERE, "node/scheduler.js"), cls.directory)

    def test_command_tasks(self):
        code, out, err = self.client(
            ["node", "--no-deprecation", os.path.join(self.directory, "scheduler.js"),
             self.master.address[0], str(self.master.address[1]), str(COUNT)])
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        states = json.loads(out.splitlines()[-1])["states"]
        self.assertEqual(len(states), COUNT)
        for task_id, seen in states.items():
            self.assertEqual(seen, ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"], task_id)
        harness.wait_for(lambda: not self.master.state()["frameworks"], "teardown")
        self.assert_all_finished(self.tasks("mesos-framework", completed=True), COUNT)
