"""The page: groups of figures, each with its limit, its ratio and its target, in 120 columns.

Beside what was measured several times stand the lowest and the highest."""

import time

from .figure import met

WIDTH = 120
TITLES = {
    "start": "START",
    "launch": "LAUNCH, agents x schedulers: as fast as the offers allow; accept to TASK_RUNNING in ms",
    "latency": "LATENCY of 1,000 agents x 10 schedulers, in ms; half load is half of their top rate",
    "paper": "ONE MORE FRAMEWORK, as in NSDI 2011, 6.5",
    "failover": "FAILOVER: kill -9 of the master",
    "reads": "READS",
    "memory": "MEMORY of the master",
    "guard": "WITH CARE: 1,000 agents x 10 schedulers, and operators who watch",
    "masters": "THREE MASTERS with a ZooKeeper",
    "tasks": "REAL TASKS `true` on one agent",
    "jvm": "JVM: Mesos' jars on libmesos.so",
    "allocator": "ALLOCATOR",
}


def number(value):
    """Three digits that matter, and commas."""
    if value is None:
        return ""
    size = abs(value)
    if size >= 100 or value == int(value):
        return "{:,.0f}".format(value)
    if size < 0.001:
        return "%.1e" % value
    return "%.*f" % (1 if size >= 10 else 2 if size >= 0.1 else 3, value)


def clock(seconds):
    return "%d:%02d" % divmod(round(seconds), 60)


def cut(text, width):
    return text if len(text) <= width else text[:width - 1] + "~"


def target_words(target, unit):
    words = "%s %s" % (target["is"], number(target["than"]))
    if target["of"] == "ratio":
        return words + " x"
    return words + (" " + unit if unit in ("ms", "s", "MB", "us") else "")


def verdict(target, figure):
    found = met(target, figure["value"], figure["ratio"])
    return {True: "met", False: "MISSED", None: "unknown"}[found]


def verdict_words(target, figure):
    return "%s %s" % (verdict(target, figure), target_words(target, figure["unit"]))


# ---- a line a figure ----------------------------------------------------------------

LINE = "  %-33s %8s %-8s %-15s %-23s %6s  %s"


def short(value):
    """As number(), with k for thousands."""
    return "%.1fk" % (value / 1e3) if abs(value) >= 10000 else number(value)


def spread(figure):
    if figure["runs"] < 2 or figure["low"] == figure["high"]:
        return ""
    return "%s..%s" % (short(figure["low"]), short(figure["high"]))


def limit_words(figure):
    if figure["limit"] is None:
        return ""
    return "%s %s" % (number(figure["limit"]), figure["limit_of"])


def line(figure):
    marks = [verdict_words(target, figure) for target in figure["targets"]] or [""]
    yield (LINE % (cut(figure["label"], 33), number(figure["value"]), cut(figure["unit"], 8),
                   cut(spread(figure), 15), cut(limit_words(figure), 23),
                   number(figure["ratio"]), marks[0])).rstrip()
    for mark in marks[1:]:
        yield LINE % ("", "", "", "", "", "", mark)


# ---- a table for a group --------------------------------------------------------------

def columns_of(figures):
    """Titles in the order of their first appearance, with whether a limit stands beside."""
    found = {}
    for figure in figures:
        found[figure["column"]] = found.get(figure["column"], False) or bool(figure["limit"])
    return found


LABEL = 36                      # of a row of a table


def table(figures):
    columns, rows = columns_of(figures), {}
    for figure in figures:
        rows.setdefault(figure["row"], {})[figure["column"]] = figure
    for part in (0, 2):
        text = " " * (LABEL + 2)
        for title, limited in columns.items():
            # Two lines, "offer to|launch"; one that is short is on the second.
            lines = title.partition("|") if "|" in title else ("", "", title)
            text += " %7s" % cut(lines[part], 7)
            text += (" %7s %5s" % ("limit", "ratio") if part else " " * 14) if limited else ""
        yield text.rstrip()
    for cells in rows.values():
        yield table_row(cells, columns)
        if any(spread(cell) for cell in cells.values()):
            yield table_spread(cells, columns)


def table_row(cells, columns):
    text = "  %-*s" % (LABEL, cut(next(iter(cells.values()))["label"], LABEL))
    for title, limited in columns.items():
        cell = cells.get(title)
        text += " %7s" % (number(cell["value"]) if cell else "")
        if limited:
            text += " %7s %5s" % ((number(cell["limit"]), number(cell["ratio"])) if cell
                                  else ("", ""))
    return text.rstrip()


def table_spread(cells, columns):
    """Below a row: how far its values were from one another, of the median."""
    text = " " * (LABEL + 2)
    for title, limited in columns.items():
        cell = cells.get(title)
        text += " %7s" % (percents(cell) if cell else "")
        text += " " * 14 if limited else ""
    return text.rstrip()


def percents(figure):
    """"-5+12%": so much less and more than the median were the lowest and the highest."""
    middle = figure["value"]
    if not spread(figure) or not middle:
        return ""
    low, high = (round(100 * abs(figure[key] - middle) / abs(middle)) for key in ("low", "high"))
    return "-%d+%d%%" % (low, high) if low < 100 and high < 100 else "-%d+%d" % (low, high)


def table_targets(figures):
    """The targets of a table's cells, below it; nothing is said of a 0 that should be one."""
    for figure in figures:
        for target in figure["targets"]:
            if verdict(target, figure) == "met" and target["than"] == 0:
                continue
            of_ratio = target["of"] == "ratio"
            yield LINE % (
                cut("%s: %s" % (figure["label"], figure["column"].replace("|", " ")), 33),
                number(figure["value"]), cut(figure["unit"], 8),
                cut(spread(figure), 15), cut(limit_words(figure) if of_ratio else "", 23),
                number(figure["ratio"]) if of_ratio else "", verdict_words(target, figure))


# ---- the page -------------------------------------------------------------------------

def heading(run):
    machine = run["machine"]
    yield "mesita %s %s   %s" % (machine["version"], machine["revision"], time.strftime(
        "%Y-%m-%d %H:%M", time.localtime(run["time"])))
    yield cut("%d x %s, %s %s, load %.1f before; others had %.0f%% of the processors" % (
        machine["cores"], machine["processor"], machine["system"], machine["kernel"],
        machine["load"], 100 * run["others"]), WIDTH)
    waited = max((figure["value"] for figure in run["figures"] if figure["key"] == "waited"),
                 default=0)
    if run["others"] > 0.1 or waited > 0.2:
        yield "Others were busy here: times are noise, ratios are less so."
    if waited > 0.2:
        yield "The master waited for a processor up to %.0f%% of a case." % (100 * waited)
    if run["master"]:
        yield "Against the master at %s." % run["master"]
    if run["times"] > 1:
        yield "Each case ran %d times: medians; beside or below them lowest and highest." % (
            run["times"])
    if run["quick"]:
        yield "With --quick: a trial of the programs, no measurement."


def group_lines(group, figures):
    yield ""
    title = TITLES.get(group, group)
    cells = [figure for figure in figures if figure["column"]]
    if cells:
        yield title
        yield from table(cells)
        yield from table_targets(cells)
    else:
        yield cut(title, 52).ljust(55) + "spread".ljust(16) + "limit" + " " * 21 + "ratio  target"
    for figure in figures:
        if not figure["column"]:
            yield from line(figure)


def summary(run):
    targets = [target["met"] for figure in run["figures"] for target in figure["targets"]]
    troubles = [case for case in run["cases"] if case["status"] != "ok"]
    yield ""
    for case in troubles:
        yield cut("%s: %s: %s" % (case["name"], case["status"], case["reason"]), WIDTH)
    yield "%d of %d targets met, %d cases in %s" % (
        targets.count(True), len(targets), len(run["cases"]), clock(run["seconds"]))


def page(run):
    """The lines of the page of a kept run."""
    groups = {}
    for figure in run["figures"]:
        if figure["shown"]:
            groups.setdefault(figure["group"], []).append(figure)
    yield from heading(run)
    for group, figures in groups.items():
        yield from group_lines(group, figures)
    yield from summary(run)


# ---- two runs -------------------------------------------------------------------------

def percent(change):
    if change is None:
        return ""
    return "%+.0f%%" % (100 * change) if abs(change) < 10 else "x %.0f" % (change + 1)


def comparison(old, new, rows, everything):
    """Lines of two runs beside each other; what did not change only with `everything`."""
    for name, run in (("old", old), ("new", new)):
        machine = run["machine"]
        yield cut("%s: %s %s, %d x %s, others had %.0f%%" % (
            name, time.strftime("%Y-%m-%d %H:%M", time.localtime(run["time"])),
            machine["revision"], machine["cores"], machine["processor"],
            100 * run["others"]), WIDTH)
    if old["machine"]["processor"] != new["machine"]["processor"] or old["quick"] != new["quick"]:
        yield "These were not measured alike: compare with care."
    yield ""
    yield "%-52s %10s %10s %-8s %7s  %s" % ("", "old", "new", "", "change", "")
    for row in rows:
        if row.verdict or everything:
            yield ("%-52s %10s %10s %-8s %7s%s %s" % (
                cut(row.name, 52), number(row.old), number(row.new), cut(row.unit, 8),
                percent(row.change), "*" if row.by_ratio else " ", row.verdict)).rstrip()
    yield ""
    counts = {word: sum(row.verdict == word for row in rows)
              for word in ("worse", "better", "failed", "new", "gone")}
    same = sum(row.verdict == "" for row in rows)
    yield ", ".join("%d %s" % (count, word) for word, count in counts.items() if count or
                    word == "worse") + ", %d within noise" % same
    yield "* the change is that of the ratio to the limit, which was measured in the same run"
