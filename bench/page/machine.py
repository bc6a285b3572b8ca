"""Facts of the machine and of the run: what a reader must know to believe the figures."""

import os
import platform
import resource
import subprocess


def processor_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
            for line in info:
                if line.startswith("model name"):
                    return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.machine()


def memory_total():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def revision(root):
    """Of the checkout, with a + when files are changed; "" outside of one."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    try:
        found = git("rev-parse", "--short", "HEAD")
        return found + ("+" if found and git("status", "--porcelain", "-uno") else "")
    except OSError:
        return ""


class Busy:
    """How much of the processors' time went to others while we ran."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        """(all processors' time, time not idle, our own and our ended children's), in seconds."""
        with open("/proc/stat", encoding="ascii") as stat:
            fields = [int(word) for word in stat.readline().split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        idle = fields[3] + fields[4]
        own = sum(usage.ru_utime + usage.ru_stime for usage in (
            resource.getrusage(resource.RUSAGE_SELF),
            resource.getrusage(resource.RUSAGE_CHILDREN)))
        return sum(fields) / tick, (sum(fields) - idle) / tick, own

    def others(self):
        """Share of the processors from 0 to 1 that others had since the start."""
        all_time, busy, own = (after - before
                               for after, before in zip(self.now(), self.before))
        return min(max((busy - own) / all_time, 0), 1) if all_time > 0 else 0


def facts(root, mesita):
    version = subprocess.run([mesita, "version"], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, check=False).stdout.split()
    return {"cores": len(os.sched_getaffinity(0)), "processor": processor_name(),
            "memory": memory_total(), "kernel": platform.release(), "system": platform.system(),
            "load": round(os.getloadavg()[0], 2), "revision": revision(root),
            "version": version[-1] if version else ""}
