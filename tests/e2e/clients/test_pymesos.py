"""pymesos (PyPI) with a custom executor of its own and framework messages both ways; and groups."""

import json
import os

import common
import harness
from test_authentication import basic

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

    login = ()

    def squares(self, seconds=80, **options):
        programs = os.path.join(common.HERE, "python")
        return self.client([
            self.python, os.path.join(programs, "scheduler.py"),
            "%s:%d" % self.master.address, str(COUNT), os.path.join(programs, "executor.py"),
            str(seconds), *self.login], **options)

    def test_squares(self):
        code, out, err = self.squares()
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        result = json.loads(out.splitlines()[-1])
        self.assertEqual(result["events"], ["registered"])
        self.assertEqual(result["squares"],
                         {"square-%d" % n: n * n for n in range(COUNT)})
        for task_id, states in result["states"].items():
            self.assertEqual(states, ["TASK_RUNNING", "TASK_FINISHED"], task_id)
        harness.wait_for(lambda: not self.master.state()["frameworks"], "teardown")
        self.assert_all_finished(self.tasks("pymesos", completed=True), COUNT)


    def test_groups(self):
        code, out, err = self.client([
            self.python, os.path.join(common.HERE, "python", "groups.py"),
            "%s:%d" % self.master.address, "60"])
        self.assertEqual(code, 0, out[-3000:] + err[-3000:])
        good = ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]
        self.assertEqual(json.loads(out.splitlines()[-1])["states"], {
            "one-server": good, "one-client": good, "two-server": good, "two-client": good,
            "bad-client": ["TASK_STARTING", "TASK_RUNNING", "TASK_FAILED"],
            "bad-server": ["TASK_STARTING", "TASK_RUNNING", "TASK_KILLED"]})


class WithCredentials(Pymesos):
    """The same where schedulers must say who they are."""

    test_groups = None

    def setUp(self):
        path = os.path.join(self.temporary(), "credentials")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write('{"credentials":[{"principal":"py","secret":"open sesame"}]}')
        flags = {
            "credentials": path, "authenticate_http_frameworks": "true",
            "http_framework_authenticators": "basic",
            "acls": '{"permissive":false,"register_frameworks":[{"principals":{"values":["py"]},'
                    '"roles":{"type":"ANY"}}],"run_tasks":[{"principals":{"values":["py"]},'
                    '"users":{"values":["root"]}}],"register_agents":[{"principals":'
                    '{"type":"ANY"},"agents":{"type":"ANY"}}],"teardown_frameworks":[{"principals":'
                    '{"type":"ANY"},"framework_principals":{"type":"ANY"}}],"view_frameworks":'
                    '[{"principals":{"type":"ANY"},"users":{"type":"ANY"}}],"view_tasks":'
                    '[{"principals":{"type":"ANY"},"users":{"type":"ANY"}}]}'}
        super().setUp()
        self.cluster = harness.Cluster(2, flags)
        self.master.headers = basic(*self.login)
        self.cluster.start()

    agents = None
    login = ("py", "open sesame")

    def test_wrong_ones(self):
        self.login = ("py", "wrong")
        code, _, _ = self.squares(timeout=15, seconds=3)
        self.assertNotEqual(code, 0)
        self.assertEqual(self.master.state()["frameworks"], [])
