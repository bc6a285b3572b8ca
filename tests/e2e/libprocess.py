"""A libprocess process for the tests: it is sent messages over HTTP, keeps them, and sends its
own, so that it can play a master to an agent, or an agent or a scheduler driver to a master.

Messages are dictionaries, put into bytes and back by the part of Mesos' schema below. A field
that is not in it is kept by its number, as "#7": tests compare whole messages.
"""

import http.client
import http.server
import socket
import struct
import sys
import threading
import time

from processes import SCALE, Timeout

IP = "127.0.0.1"
ID = {"value": (1, "str")}
# name: (number, type); "*" after the type: repeated.
SCHEMA = {
    "ID": ID,
    "UUID": {"value": (1, "bytes")},
    "Capability": {"type": (1, "int")},
    "Scalar": {"value": (1, "double")},
    "Range": {"begin": (1, "int"), "end": (2, "int")},
    "Ranges": {"range": (1, "Range*")},
    "AllocationInfo": {"role": (1, "str")},
    "Resource": {"name": (1, "str"), "type": (2, "int"), "scalar": (3, "Scalar"),
                 "ranges": (4, "Ranges"), "role": (6, "str"),
                 "allocation_info": (11, "AllocationInfo"), "disk": (7, "DiskInfo"),
                 "reservation": (8, "Empty"), "reservations": (13, "Reservation*")},
    "Reservation": {"role": (3, "str"), "type": (4, "int")},
    "DiskInfo": {"persistence": (1, "ID"), "volume": (2, "Volume")},
    "Volume": {"container_path": (1, "str"), "mode": (3, "int")},
    "Reserve": {"resources": (1, "Resource*")},
    "Create": {"volumes": (1, "Resource*")},
    "OperationInfo": {"type": (1, "int"), "reserve": (3, "Reserve"), "create": (5, "Create"),
                      "destroy": (6, "Create"), "id": (12, "ID")},
    "OperationStatus": {"operation_id": (1, "ID"), "state": (2, "int"), "message": (3, "str"),
                        "uuid": (5, "UUID"), "slave_id": (6, "ID")},
    "Operation": {"framework_id": (1, "ID"), "slave_id": (2, "ID"), "info": (3, "OperationInfo"),
                  "latest_status": (4, "OperationStatus"), "statuses": (5, "OperationStatus*"),
                  "uuid": (6, "UUID")},
    "Operations": {"operations": (1, "Operation*")},
    "SlaveInfo": {"hostname": (1, "str"), "resources": (3, "Resource*"), "id": (6, "ID"),
                  "checkpoint": (7, "bool"), "port": (8, "int")},
    "FrameworkInfo": {"user": (1, "str"), "name": (2, "str"), "id": (3, "ID"),
                      "failover_timeout": (4, "double"), "checkpoint": (5, "bool"),
                      "role": (6, "str"), "principal": (8, "str"), "capabilities": (10, "Capability*"),
                      "roles": (12, "str*")},
    "CommandInfo": {"shell": (6, "bool"), "value": (3, "str"), "arguments": (7, "str*")},
    "ExecutorInfo": {"executor_id": (1, "ID"), "data": (4, "bytes"), "resources": (5, "Resource*"),
                     "command": (7, "CommandInfo"), "framework_id": (8, "ID"), "name": (9, "str"),
                     "source": (10, "str"), "type": (15, "int")},
    "TaskInfo": {"name": (1, "str"), "task_id": (2, "ID"), "slave_id": (3, "ID"),
                 "resources": (4, "Resource*"), "executor": (5, "ExecutorInfo"),
                 "data": (6, "bytes"), "command": (7, "CommandInfo")},
    "IPAddress": {"ip_address": (2, "str")},
    "NetworkInfo": {"ip_addresses": (5, "IPAddress*")},
    "ContainerStatus": {"network_infos": (1, "NetworkInfo*"), "executor_pid": (3, "int"),
                        "container_id": (4, "ID")},
    "TaskStatus": {"task_id": (1, "ID"), "state": (2, "int"), "slave_id": (5, "ID"),
                   "message": (4, "str"), "timestamp": (6, "double"), "executor_id": (7, "ID"),
                   "source": (9, "int"), "reason": (10, "int"), "uuid": (11, "bytes"),
                   "container_status": (13, "ContainerStatus")},
    "Task": {"name": (1, "str"), "task_id": (2, "ID"), "framework_id": (3, "ID"),
             "executor_id": (4, "ID"), "slave_id": (5, "ID"), "state": (6, "int"),
             "resources": (7, "Resource*"), "statuses": (8, "TaskStatus*"),
             "status_update_state": (9, "int"), "status_update_uuid": (10, "bytes")},
    "StatusUpdate": {"framework_id": (1, "ID"), "executor_id": (2, "ID"), "slave_id": (3, "ID"),
                     "status": (4, "TaskStatus"), "timestamp": (5, "double"), "uuid": (6, "bytes"),
                     "latest_state": (7, "int")},
    "Connection": {"total_ping_timeout_seconds": (1, "double")},
    "ResourceVersion": {"uuid": (2, "UUID")},
    "Empty": {},
    # mesos.internal
    "RegisterSlaveMessage": {
        "slave": (1, "SlaveInfo"), "version": (2, "str"), "checkpointed_resources": (3, "Resource*"),
        "agent_capabilities": (4, "Capability*"), "resource_version_uuid": (5, "UUID")},
    "ReregisterSlaveMessage": {
        "slave": (2, "SlaveInfo"), "tasks": (3, "Task*"), "executor_infos": (4, "ExecutorInfo*"),
        "version": (6, "str"), "checkpointed_resources": (7, "Resource*"),
        "frameworks": (8, "FrameworkInfo*"), "agent_capabilities": (9, "Capability*"),
        "resource_version_uuid": (10, "UUID")},
    "UpdateSlaveMessage": {
        "slave_id": (1, "ID"), "update_oversubscribed_resources": (5, "bool"),
        "operations": (6, "Operations"), "resource_version_uuid": (7, "UUID"),
        "resource_providers": (8, "Empty")},
    "UnregisterSlaveMessage": {"slave_id": (1, "ID")},
    "SlaveRegisteredMessage": {"slave_id": (1, "ID"), "connection": (2, "Connection")},
    "SlaveReregisteredMessage": {"slave_id": (1, "ID"), "connection": (3, "Connection"),
                                 "reconciliations": (2, "ReconcileTasksMessage*")},
    "ReconcileTasksMessage": {"framework_id": (1, "ID"), "statuses": (2, "TaskStatus*"),
                              "framework": (3, "FrameworkInfo")},
    "PingSlaveMessage": {"connected": (1, "bool")},
    "PongSlaveMessage": {},
    "RunTaskMessage": {
        "framework": (2, "FrameworkInfo"), "pid": (3, "str"), "task": (4, "TaskInfo"),
        "resource_version_uuids": (5, "ResourceVersion*"), "launch_executor": (6, "bool")},
    "KillTaskMessage": {"framework_id": (1, "ID"), "task_id": (2, "ID")},
    "StatusUpdateMessage": {"update": (1, "StatusUpdate"), "pid": (2, "str")},
    "StatusUpdateAcknowledgementMessage": {
        "slave_id": (1, "ID"), "framework_id": (2, "ID"), "task_id": (3, "ID"),
        "uuid": (4, "bytes")},
    "UpdateFrameworkMessage": {"framework_id": (1, "ID"), "pid": (2, "str"),
                               "framework_info": (3, "FrameworkInfo")},
    "ShutdownFrameworkMessage": {"framework_id": (1, "ID")},
    "ExitedExecutorMessage": {"slave_id": (1, "ID"), "framework_id": (2, "ID"),
                              "executor_id": (3, "ID"), "status": (4, "int")},
    "CheckpointResourcesMessage": {"resources": (1, "Resource*")},
    "ShutdownMessage": {"message": (1, "str")},
    "ApplyOperationMessage": {
        "framework_id": (1, "ID"), "operation_info": (2, "OperationInfo"),
        "operation_uuid": (3, "UUID"), "resource_version_uuid": (4, "ResourceVersion")},
    "UpdateOperationStatusMessage": {
        "framework_id": (1, "ID"), "slave_id": (2, "ID"), "status": (3, "OperationStatus"),
        "latest_status": (4, "OperationStatus"), "operation_uuid": (5, "UUID")},
    "AcknowledgeOperationStatusMessage": {"status_uuid": (1, "UUID"), "operation_uuid": (2, "UUID")},
    # what scheduler drivers say and hear
    "Filters": {"refuse_seconds": (1, "double")},
    "Offer": {"id": (1, "ID"), "framework_id": (2, "ID"), "slave_id": (3, "ID"),
              "hostname": (4, "str"), "resources": (5, "Resource*")},
    "MasterInfo": {"id": (1, "str"), "ip": (2, "int"), "port": (3, "int"), "pid": (4, "str"),
                   "hostname": (5, "str"), "version": (6, "str")},
    "RegisterFrameworkMessage": {"framework": (1, "FrameworkInfo")},
    "ReregisterFrameworkMessage": {"framework": (2, "FrameworkInfo"), "failover": (3, "bool")},
    "UnregisterFrameworkMessage": {"framework_id": (1, "ID")},
    "DeactivateFrameworkMessage": {"framework_id": (1, "ID")},
    "LaunchTasksMessage": {"framework_id": (1, "ID"), "tasks": (3, "TaskInfo*"),
                           "filters": (5, "Filters"), "offer_ids": (6, "ID*")},
    "ReviveOffersMessage": {"framework_id": (1, "ID")},
    "FrameworkToExecutorMessage": {"slave_id": (1, "ID"), "framework_id": (2, "ID"),
                                   "executor_id": (3, "ID"), "data": (4, "bytes")},
    "FrameworkRegisteredMessage": {"framework_id": (1, "ID"), "master_info": (2, "MasterInfo")},
    "FrameworkReregisteredMessage": {"framework_id": (1, "ID"), "master_info": (2, "MasterInfo")},
    "FrameworkErrorMessage": {"message": (2, "str")},
    "ResourceOffersMessage": {"offers": (1, "Offer*"), "pids": (2, "str*")},
    "RescindResourceOfferMessage": {"offer_id": (1, "ID")},
    "LostSlaveMessage": {"slave_id": (1, "ID")},
    "ExecutorToFrameworkMessage": {"slave_id": (1, "ID"), "framework_id": (2, "ID"),
                                   "executor_id": (3, "ID"), "data": (4, "bytes")},
    # mesos.scheduler
    "Call": {"framework_id": (1, "ID"), "type": (2, "int"), "subscribe": (3, "Subscribe"),
             "accept": (4, "Accept"), "decline": (5, "Decline"), "kill": (6, "Kill"),
             "acknowledge": (8, "Acknowledge"), "reconcile": (9, "Reconcile"),
             "message": (10, "ToExecutor")},
    "Subscribe": {"framework_info": (1, "FrameworkInfo"), "force": (2, "bool")},
    "Launch": {"task_infos": (1, "TaskInfo*")},
    "Accepted": {"type": (1, "int"), "launch": (2, "Launch")},
    "Accept": {"offer_ids": (1, "ID*"), "operations": (2, "Accepted*"), "filters": (3, "Filters")},
    "Decline": {"offer_ids": (1, "ID*"), "filters": (2, "Filters")},
    "Kill": {"task_id": (1, "ID")},
    "Acknowledge": {"slave_id": (1, "ID"), "task_id": (2, "ID"), "uuid": (3, "bytes")},
    "Reconcile": {"tasks": (1, "TaskOf*")},
    "TaskOf": {"task_id": (1, "ID"), "slave_id": (2, "ID")},
    "ToExecutor": {"slave_id": (1, "ID"), "executor_id": (2, "ID"), "data": (3, "bytes")},
}


def _varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def _field(number, kind, value):
    if kind in ("int", "bool"):
        return _varint(number << 3) + _varint(int(value))
    if kind == "double":
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if kind == "str":
        value = value.encode()
    elif kind != "bytes":
        value = encode(kind, value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def encode(name, message):
    out = b""
    for key, (number, kind) in SCHEMA[name].items():
        if key in message:
            values = message[key] if kind.endswith("*") else [message[key]]
            out += b"".join(_field(number, kind.rstrip("*"), value) for value in values)
    assert not set(message) - set(SCHEMA[name]), (name, message)
    return out


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def decode(name, data):
    fields = {number: (key, kind) for key, (number, kind) in SCHEMA[name].items()}
    message, at = {}, 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        key, kind = fields.get(tag >> 3, ("#%d" % (tag >> 3), "bytes"))
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
            value = bool(value) if kind == "bool" else value
        elif tag & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        else:
            size, at = _read_varint(data, at)
            value, at = data[at:at + size], at + size
            plain = kind.rstrip("*")
            if plain == "str":
                value = value.decode()
            elif plain != "bytes":
                value = decode(plain, value)
        if kind.endswith("*"):
            message.setdefault(key, []).append(value)
        else:
            message[key] = value
    return message


class Message:
    def __init__(self, to, sender, name, headers, body):
        self.to, self.sender, self.name, self.headers = to, sender, name, headers
        self.body = decode(name, body) if name in SCHEMA else body

    def __repr__(self):
        return "%s -> %s %s %s" % (self.sender, self.to, self.name, self.body)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Daemons are killed in these tests, their connections with them."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Process:
    """One actor at an address of its own."""

    def __init__(self, actor):
        process = self
        self.received, self._condition = [], threading.Condition()
        self._connections = {}
        self._inbound = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                process._inbound.add(self.connection)

            def finish(self):
                process._inbound.discard(self.connection)
                super().finish()

            def do_POST(self):
                process._take(self)

            def do_GET(self):
                process.answer(self)

            def log_message(self, *_):
                pass

        self._server = _Server((IP, 0), Handler)
        self.address = self._server.server_address
        self.pid = "%s@%s:%d" % (actor, *self.address)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, request):
        """What GET requests get."""
        request.send_error(404)

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        for connection in self._connections.values():
            connection.close()

    def break_links(self):
        """Ends the connections that others made; new ones are taken as before."""
        for connection in list(self._inbound):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass            # ended by itself

    def _take(self, request):
        if request.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while True:
                size = int(request.rfile.readline(), 16)
                body += request.rfile.read(size)
                request.rfile.readline()
                if not size:
                    break
        else:
            body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        _, to, name = request.path.split("/")
        message = Message(to, request.headers["Libprocess-From"],
                          name.replace("mesos.internal.", ""), request.headers, body)
        with self._condition:
            self.received.append(message)
            self._condition.notify_all()
        request.send_response(202)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def expect(self, name, timeout=15):
        """Takes the first message of a name."""
        deadline = time.monotonic() + timeout * SCALE
        with self._condition:
            while True:
                for index, message in enumerate(self.received):
                    if message.name == name:
                        return self.received.pop(index)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Timeout("no %s came, but %s" % (name, self.received))
                self._condition.wait(left)

    def names(self):
        with self._condition:
            return [message.name for message in self.received]

    def send(self, address, to, name, message, sender=None, package="mesos.internal"):
        """Sends as libprocess does: chunked, on a connection that stays."""
        body = encode(name, message)
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = http.client.HTTPConnection(
                *address, timeout=10 * SCALE)
        sender = sender or self.pid
        headers = {"User-Agent": "libprocess/" + sender, "Libprocess-From": sender,
                   "Connection": "Keep-Alive"}
        if body:
            headers["Transfer-Encoding"] = "chunked"
        try:
            connection.request("POST", "/%s/%s.%s" % (to, package, name),
                               iter([body]) if body else None, headers,
                               encode_chunked=bool(body))
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            del self._connections[address]
            raise
        return answer.status
