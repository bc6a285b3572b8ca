"""The messages of proto/messages, read from their text: what a test needs to make one of each."""

import glob
import os
import re
import struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/messages")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[\w.]+|[{}=;\[\],]', re.S)


class Message:
    def __init__(self, name):
        self.name, self.fields = name, []   # (label, type, name)
        self.numbers = {}                   # by the name of the field


class Messages:
    """All of them, and all enums, by full name."""

    def __init__(self):
        self.messages, self.enums, self.numbers = {}, {}, {}
        for path in sorted(glob.glob(os.path.join(FOLDER, "*.proto"))):
            with open(path, encoding="utf-8") as file:
                tokens = [t for t in TOKEN.findall(file.read()) if not t.startswith(("//", "/*"))]
            self._file(tokens)

    def _file(self, tokens):
        package, at = "", 0
        while at < len(tokens):
            if tokens[at] == "package":
                package = tokens[at + 1]
            if tokens[at] in ("message", "enum") and tokens[at + 2] == "{":
                at = self._block(tokens, at, package)
            else:
                at += 1

    def _block(self, tokens, at, scope):
        kind, name = tokens[at], "%s.%s" % (scope, tokens[at + 1])
        at += 3
        message = self.messages.setdefault(name, Message(name)) if kind == "message" else None
        values = self.enums.setdefault(name, []) if kind == "enum" else None
        while tokens[at] != "}":
            if tokens[at] in ("message", "enum") and tokens[at + 2] == "{":
                at = self._block(tokens, at, name)
                continue
            end = tokens.index(";", at)
            if message and tokens[at] in ("optional", "required", "repeated"):
                message.fields.append(tuple(tokens[at:at + 3]))
                message.numbers[tokens[at + 2]] = int(tokens[at + 4])
            elif values is not None and tokens[at + 1] == "=":
                values.append(tokens[at])
                self.numbers[name, tokens[at]] = int(tokens[at + 2])
            at = end + 1
        return at + 1

    def resolve(self, name, scope):
        """The full name of a type that is named in a message."""
        while scope:
            full = "%s.%s" % (scope, name)
            if full in self.messages or full in self.enums:
                return full
            scope = scope.rpartition(".")[0]
        return name if name in self.messages or name in self.enums else None

    def encode(self, name, made):
        """The bytes of a message, from values by field."""
        out = b""
        for label, kind, field in self.messages[name].fields:
            if field in made:
                for one in made[field] if label == "repeated" else [made[field]]:
                    out += self._field(name, kind, self.messages[name].numbers[field], one)
        return out

    def _field(self, scope, kind, number, value):
        full = self.resolve(kind, scope)
        if full in self.enums:
            value = self.numbers[full, value]
        elif full in self.messages:
            value = self.encode(full, value)
        if kind == "double":
            return varint(number << 3 | 1) + struct.pack("<d", value)
        if kind == "float":
            return varint(number << 3 | 5) + struct.pack("<f", max(min(value, 3e38), -3e38))
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        value = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    value &= 2 ** 64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])
