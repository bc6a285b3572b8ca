"""Runs are kept as JSON: build/bench/TIME.json, and `latest.json` is a link to the last one."""

import json
import os
import time

FORMAT = 2
KEPT_RUNS = 200                 # older files are removed


def file_name(seconds):
    return time.strftime("%Y%m%dT%H%M%SZ.json", time.gmtime(seconds))


def keep(run, directory):
    """Writes a run, whole or not at all, and returns the path."""
    os.makedirs(directory, exist_ok=True)
    name = file_name(run["time"])
    path, part = os.path.join(directory, name), os.path.join(directory, ".part")
    with open(part, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
        file.write("\n")
    os.replace(part, path)
    os.symlink(name, part)
    os.replace(part, os.path.join(directory, "latest.json"))
    drop_old(directory)
    return path


def drop_old(directory):
    runs = sorted(name for name in os.listdir(directory)
                  if name.endswith("Z.json") and name[:8].isdigit())
    for name in runs[:-KEPT_RUNS]:
        os.unlink(os.path.join(directory, name))


def read(path):
    """A run from its file, or from the directory where `latest.json` is. ValueError says what
    is wrong with it."""
    if os.path.isdir(path):
        path = os.path.join(path, "latest.json")
    with open(path, encoding="utf-8") as file:
        try:
            run = json.load(file)
        except ValueError as error:
            raise ValueError("%s: no JSON: %s" % (path, error)) from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise ValueError("%s: no run of bench/run of this version" % path)
    return run
