"""The messages of proto/messages, read from their text: what a test needs to make one of each."""

import glob
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/messages")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[\w.]+|[{}=;\[\],]', re.S)


class Message:
    def __init__(self, name):
        self.name, self.fields = name, []   # (label, type, name)


class Messages:
    """All of them, and all enums, by full name."""

    def __init__(self):
        self.messages, self.enums = {}, {}
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
            elif values is not None and tokens[at + 1] == "=":
                values.append(tokens[at])
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
