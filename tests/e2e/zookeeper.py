"""ZooKeeper servers of the tests, and masters that elect a leader by them."""

import os
import socket

import harness
import processes
from processes import SCALE, wait_for

JAR = "/usr/share/java/zookeeper.jar"
HOST = "127.0.0.1"              # where the servers are
# A tick is 100 ms, so that sessions of seconds are possible.
CONFIG = """tickTime=100
maxSessionTimeout=600000
initLimit=100
syncLimit=50
dataDir=%(data)s
clientPort=%(port)d
clientPortAddress=%(host)s
admin.enableServer=false
4lw.commands.whitelist=*
"""
JAVA = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
        "-Dzookeeper.forceSync=no",     # a busy disk must not end sessions; nobody cuts the power
        "-Dzookeeper.preAllocSize=256",  # KB of its log at a time, for small disks
        "-cp", JAR]
SESSION = 2                     # seconds; what masters and agents ask for, times SCALE


def needed(test):
    """Skips the test where there is no ZooKeeper."""
    try:
        import kazoo  # noqa: F401
    except ImportError:
        test.skipTest("needs python3-kazoo")
    if not os.path.exists(JAR):
        test.skipTest("needs libzookeeper-java")


class Server:
    """One that can be killed and started again on its port; alone, if it is not told of others."""

    prefix = []  # what runs it: a program and its arguments

    def __init__(self, base):
        self.port = harness.free_port()
        self.peer_ports = harness.free_port(), harness.free_port()
        self.directory = os.path.join(base, "zookeeper-%d" % self.port)
        os.makedirs(os.path.join(self.directory, "data"))
        self.config = os.path.join(self.directory, "zoo.cfg")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(CONFIG % {
                "data": os.path.join(self.directory, "data"), "port": self.port, "host": HOST})
        self.process = None

    def join(self, servers, number):
        """It is that one of several servers."""
        with open(self.config, "a", encoding="ascii") as file:
            for index, server in enumerate(servers):
                file.write("server.%d=%s:%d:%d\n" % ((index + 1, HOST) + server.peer_ports))
        with open(os.path.join(self.directory, "data", "myid"), "w", encoding="ascii") as file:
            file.write("%d\n" % number)

    @property
    def servers(self):
        return "%s:%d" % (HOST, self.port)

    def url(self, path="/mesos", credentials=""):
        return "zk://%s%s%s" % (credentials, self.servers, path)

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = processes.spawn(
                self.prefix + JAVA + ["org.apache.zookeeper.server.quorum.QuorumPeerMain", self.config],
                stdout=log, stderr=log)
        return self

    def wait_serving(self):
        wait_for(lambda: b"Mode: " in self.ask(b"srvr"), "ZooKeeper", 60)
        return self

    def leads(self):
        return b"Mode: leader" in self.ask(b"srvr")

    def ask(self, word):
        """The answer to one of the words of four letters."""
        with socket.create_connection((HOST, self.port), 5) as link:
            link.sendall(word)
            answer = b""
            while True:
                piece = link.recv(65536)
                if not piece:
                    return answer
                answer += piece

    def kill(self):
        self.process.kill()
        self.process.wait()

    def client(self, credentials=None):
        """A kazoo client; `credentials` is "user:password"."""
        import kazoo.client
        client = kazoo.client.KazooClient(
            self.servers, auth_data=[("digest", credentials)] if credentials else None)
        client.start(30 * SCALE)
        return client


class Ensemble:
    """Three of them, as one."""

    def __init__(self, base, place=lambda base, _: base):
        """`place(base, name)` gives each a directory of its own."""
        self.members = [Server(place(base, "zookeeper%d" % number)) for number in (1, 2, 3)]
        for index, server in enumerate(self.members):
            server.join(self.members, index + 1)

    @property
    def servers(self):
        return ",".join(server.servers for server in self.members)

    url, client = Server.url, Server.client

    def start(self):
        for server in self.members:
            server.start()
        return self

    def wait_serving(self):
        for server in self.members:
            server.wait_serving()
        return self


class ElectionCase(harness.TestCase):
    """Three masters and an agent that find each other by ZooKeeper."""

    agents = None
    masters_count = 3
    credentials = ""
    kind = Server
    session_seconds = SESSION

    def setUp(self):
        needed(self)
        super().setUp()
        self.base = self.temporary()
        os.chmod(self.base, 0o755)
        self.addCleanup(processes.kill_descendants)
        self.zookeeper = self.kind(self.base).start().wait_serving()
        self.url = self.zookeeper.url(credentials=self.credentials)
        self.masters = [self.make_master("master%d" % (index + 1))
                        for index in range(self.masters_count)]
        self.masters[0].start()
        self.wait_leader(self.masters[:1])
        for master in self.masters[1:]:
            master.start()
            self.wait_follower(master)
        self.agent_daemon = self.make_agent()
        self.agent_daemon.start().wait_registered()

    def session(self):
        return "%gsecs" % (self.session_seconds * SCALE)

    def make_agent(self):
        return harness.Agent(self.base, "agent", self.masters[0], {
            "master": self.url, "zk_session_timeout": self.session()})

    def make_master(self, name, **flags):
        master = harness.Master(os.path.join(self.base, name), {
            "zk": self.url, "zk_session_timeout": self.session(), "quorum": 2, **flags})
        master.name = name
        return master

    @staticmethod
    def leads(master):
        return (master.process is not None and master.process.poll() is None and
                harness.get(master.address, "/api/v1/scheduler")[0] == 405)

    def wait_leader(self, masters=None, but=()):
        """The master that leads, when it serves."""
        def leader():
            for master in masters or self.masters:
                if master not in but and self.alive(master) and self.leads(master):
                    return master
            return None
        return wait_for(leader, "leading master", 30)

    @staticmethod
    def alive(master):
        return master.process is not None and master.process.poll() is None

    def wait_follower(self, master):
        wait_for(lambda: harness.get(master.address, "/state")[0] == 307, "a follower", 30)

    def wait_ended(self, daemon):
        return wait_for(lambda: daemon.process.poll() is not None and [daemon.process.returncode],
                        "end of " + daemon.name, 30)[0]

    def wait_agent(self, master):
        """The agent is back at the master."""
        self.agent_daemon.master = master
        self.agent_daemon.wait_registered()
        return self.agent_daemon.id

    def scheduler_at(self, master, **info):
        scheduler = harness.Scheduler(master.address, **info)
        self._open.append(scheduler)
        scheduler.subscribe()
        return scheduler
