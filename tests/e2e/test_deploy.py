"""What packages are made of: man pages and completions say what the flags are, Mesos' settings are
converted, the tarball and the SBOM are what they claim. tests/package/lifecycle installs the packages,
on a machine of its own."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest

import harness
import processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*argv, **env):
    done = processes.run([os.path.join(ROOT, argv[0]), *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, env=harness.clean_environment(**env), timeout=60 * harness.SCALE)
    if done.returncode:
        raise AssertionError("%s: %d\n%s" % (argv[0], done.returncode, done.stderr))
    return done.stdout


def flags_of(command):
    text = harness.run([command, "--help"])[1]
    without_effect = "".join(re.findall(r"^ +(?:--[a-z0-9_]+ ?)+$", text, re.M))
    return set(re.findall(r"^  --(?:\[no-\])?([a-z0-9_]+)", text, re.M)) | set(
        re.findall(r"--([a-z0-9_]+)", without_effect))


class Manual(harness.TestCase):
    agents = None

    def test_every_flag_is_there(self):
        out = self.temporary()
        run("deploy/package/manual", harness.MESITA, out, SOURCE_DATE_EPOCH="86400")
        def read(path):
            with open(os.path.join(out, path), encoding="utf-8") as file:
                return file.read()
        completions = [read("bash/mesita"), read("zsh/_mesita"), read("fish/mesita.fish")]
        for command, least in [("master", 60), ("agent", 80), ("local", 8), ("run", 20), ("ps", 3)]:
            flags = flags_of(command)
            self.assertGreater(len(flags), least)
            page = read("man/mesita-%s.%d" % (command, 8 if command in ("master", "agent") else 1))
            self.assertTrue(page.startswith(".TH MESITA-"), page[:50])
            self.assertIn('"1970-01-02"', page)
            for flag in flags:
                name = flag.replace("-", "\\-")
                self.assertRegex(page, r"\\-\\-(\[no\\-\])?%s\b" % name)
            [words] = re.findall(r'^\t%s\) words="(.*)" ;;$' % command, completions[0], re.M)
            self.assertEqual({word.strip("-=") for word in words.split()}, flags)
            self.assertEqual(set(re.findall(r"seen_subcommand_from %s' -l (\w+)" % command, completions[2])), flags)
        for command in re.findall(r"^  ([a-z-]+)  ", harness.run(["help"])[1], re.M):
            self.assertTrue([name for name in os.listdir(out + "/man") if name.startswith("mesita-%s." % command)], command)
            for text in completions:
                self.assertIn(command, text)
        if shutil.which("groff"):
            for name in os.listdir(out + "/man"):
                done = processes.run(["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(out, "man", name)],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual([line for line in done.stdout.splitlines() if "cannot adjust" not in line
                                  and "can't break" not in line], [], name)
        processes.run(["bash", "-n", out + "/bash/mesita"], check=True)


class FromMesos(harness.TestCase):
    agents = None

    def write(self, path, text=""):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def convert(self, *more):
        return run("deploy/package/from-mesos", "--root=" + self.root, *more, MESITA=harness.MESITA)

    def setUp(self):
        super().setUp()
        self.root = self.temporary()

    def test_what_packages_of_mesos_have(self):
        self.write("etc/mesos/zk", "zk://a:2181,b:2181/mesos\n")
        self.write("etc/default/mesos", "IP=10.0.0.9\nULIMIT=\"-n 8192\"\nLOGS=/var/log/mesos\n")
        self.write("etc/default/mesos-master", "PORT=5055\nZK=`cat /etc/mesos/zk`\nCLUSTER='our own'\n")
        self.write("etc/default/mesos-slave", "MASTER=`cat /etc/mesos/zk`\nexport MESOS_RECOVER=reconnect\n")
        self.write("etc/mesos-master/quorum", "2")
        self.write("etc/mesos-master/work_dir", "/var/lib/mesos")
        self.write("etc/mesos-master/?authenticate_agents")
        self.write("etc/mesos-master/.hidden", "x")
        self.write("etc/mesos-slave/?no-hostname_lookup")
        self.write("etc/mesos-slave/attributes", "rack:r1;zone:eu")
        self.write("etc/mesos-agent/containerizers", "mesos\n")
        self.write("etc/mesos-agent/no_such_flag", "1")
        master, agent = re.split(r"# ---- .*/agent.conf\n", self.convert())
        self.assertEqual([line for line in master.splitlines() if not line.startswith("#")], [
            "MESOS_AUTHENTICATE_AGENTS=true", "MESOS_CLUSTER=our own", "MESOS_IP=10.0.0.9", "MESOS_LOG_DIR=/var/log/mesos",
            "MESOS_PORT=5055", "MESOS_WORK_DIR=/var/lib/mesita/master", "MESOS_ZK=zk://a:2181,b:2181/mesos"])
        self.assertIn("# without effect in mesita: MESOS_QUORUM=2\n", master)
        self.assertIn("# Mesos had /var/lib/mesos", master)
        self.assertEqual([line for line in agent.splitlines() if not line.startswith("#")], [
            "MESOS_ATTRIBUTES=rack:r1;zone:eu", "MESOS_CONTAINERIZERS=mesos", "MESOS_HOSTNAME_LOOKUP=false", "MESOS_IP=10.0.0.9",
            "MESOS_LOG_DIR=/var/log/mesos", "MESOS_MASTER=zk://a:2181,b:2181/mesos", "MESOS_RECOVER=reconnect",
            "MESOS_WORK_DIR=/var/lib/mesita/agent"])
        self.assertRegex(agent, r"# not known to mesita.*MESOS_NO_SUCH_FLAG=1")

    def test_it_keeps_what_was_there(self):
        self.write("etc/mesita/master.conf", "before")
        self.write("etc/mesos-master/cluster", "c$(touch /tmp/never)`x`")
        self.convert("--write")
        with open(self.root + "/etc/mesita/master.conf.before", encoding="ascii") as file:
            self.assertEqual(file.read(), "before")
        with open(self.root + "/etc/mesita/master.conf", encoding="ascii") as file:
            self.assertIn("MESOS_CLUSTER=c$(touch /tmp/never)`x`\n", file.read(), "nothing of it is run")
        self.assertTrue(os.path.exists(self.root + "/etc/mesita/agent.conf"))
        # What comes of it is what the daemons take.
        self.assertEqual(self.convert("--write").count("wrote"), 2)


class Release(harness.TestCase):
    agents = None

    def test_version(self):
        code, out, _ = harness.run(["version", "--json"])
        found = json.loads(out)
        self.assertEqual((code, found["name"], found["webui"]), (0, "mesita", True))
        self.assertEqual(harness.run(["version"])[1], "mesita %s\n" % found["version"])
        self.assertEqual(harness.run(["version", "x"])[0], 1)
        with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
            self.assertIn("\n## %s\n" % found["version"], file.read())
        # A master writes stores of that format.
        self.cluster = harness.Cluster(0)
        self.cluster.start()
        [path] = [os.path.join(folder, "FORMAT") for folder, _, files in os.walk(self.master.work_dir) if "FORMAT" in files][:1]
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "%d\n" % found["store_format"])
        self.master.terminate()
        with open(path, "w", encoding="ascii") as file:
            file.write("%d\n" % (found["store_format"] + 1))
        self.master.start()
        self.assertEqual(self.master.process.wait(10 * harness.SCALE), 1)
        self.assertIn("which a newer mesita wrote; this one reads formats up to", self.master.log_tail())
        self.master.process = None

    @unittest.skipUnless(os.path.isdir(os.path.join(ROOT, ".git")), "not a clone")
    def test_tarball(self):
        sums = []
        for _ in range(2):
            out = self.temporary()
            run("deploy/package/dist", out)
            [name] = [name for name in os.listdir(out) if name.endswith(".tar.gz")]
            with open(os.path.join(out, name), "rb") as file:
                data = file.read()
            sums.append(hashlib.sha256(data).hexdigest())
            with open(os.path.join(out, name + ".sha256"), encoding="ascii") as file:
                self.assertEqual(file.read(), "%s  %s\n" % (sums[-1], name))
        self.assertEqual(sums[0], sums[1])
        names = tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))).getnames()
        top = name[:-len(".tar.gz")]
        for path in ("README.md", "CMakeLists.txt", "webui/app.jsx", "master/server.c"):
            self.assertIn("%s/%s" % (top, path), names)

    @unittest.skipUnless(shutil.which("dpkg-query"), "not Debian")
    def test_sbom(self):
        build = os.path.dirname(harness.MESITA)
        [first, again] = [run("deploy/package/sbom", build, SOURCE_DATE_EPOCH="1") for _ in range(2)]
        self.assertEqual(first, again)
        sbom = json.loads(first)
        self.assertEqual((sbom["bomFormat"], sbom["specVersion"], sbom["metadata"]["timestamp"]),
                         ("CycloneDX", "1.5", "1970-01-01T00:00:01Z"))
        found = {component["name"]: component["properties"][0]["value"] for component in sbom["components"]}
        for name in ("libuv1-dev", "libssl-dev", "zlib1g-dev", "libleveldb-dev", "libprotobuf-c-dev"):
            self.assertEqual(found[name], "linked statically", found)
        self.assertEqual((found["libc6"], found["node-react-dom"]), ("loaded", "in the web page"))
