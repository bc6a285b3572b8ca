"""pymesos (PyPI) with a custom executor of its own and framework messages both ways."""

import json
import os

import common
import harness

PYTHON = "/usr/bin/python3"
COUNT = 50


class Pymesos(common.ClientTestCase):
    @classmethod
    def setUpClass(cls):
        # http_parser, which pymesos needs, has no build for this Python; Debian's has.
        common.need("Python (python3-venv, python3-http-parser)",
                    (PYTHON, "-c", "import ensurepip, venv, http_parser.parser"))
        cls.python = os.path.join(common.install(
            "python", ["python/requirements.txt"],
            [(PYTHON, "-m", "venv", "--system-site-packages", "{dir}/venv"),
             ("{dir}/venv/bin/pip", "install", "-q", "-r", "requirements.txt")],
            ["venv/bin/python"]), "venv/bin/python")

    def test_squares(self):
        programs = os.path.join(common.HERE, "python")
        code, out, err = self.client([
            self.python, os.path.join(programs, "scheduler.py"),
            "%s:%d" % self.master.address, str(COUNT), os.path.join(programs, "executor.py")])
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        result = json.loads(out.splitlines()[-1])
        self.assertEqual(result["events"], ["registered"])
        self.assertEqual(result["squares"],
                         {"square-%d" % n: n * n for n in range(COUNT)})
        for task_id, states in result["states"].items():
            self.assertEqual(states, ["TASK_RUNNING", "TASK_FINISHED"], task_id)
        harness.wait_for(lambda: not self.master.state()["frameworks"], "teardown")
        self.assert_all_finished(self.tasks("pymesos", completed=True), COUNT)
