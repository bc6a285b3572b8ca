"""Several runs of a case as one: of each figure the median, with the lowest and the highest.

What must be nothing (figures without noise, such as what was lost) and what is told as the
longest are the highest of all runs: a median would hide the one that counts.
"""

import statistics

from .figure import met


def _take(entry):
    if entry["noise"] == 0 or entry["key"].endswith("_max"):
        return max
    return statistics.median


def _known(values):
    return [value for value in values if value is not None]


def _merge(entries):
    first = entries[0]
    merged, take = dict(first), _take(first)
    merged["runs"] = len(entries)
    for key in ("value", "limit", "ratio"):
        values = _known(entry[key] for entry in entries)
        merged[key] = take(values) if values else None
    for key, low, high in (("value", "low", "high"), ("ratio", "ratio_low", "ratio_high")):
        values = _known(entry[key] for entry in entries)
        merged[low], merged[high] = (min(values), max(values)) if values else (None, None)
    merged["targets"] = [
        {**target, "met": met(target, merged["value"], merged["ratio"])}
        for target in first["targets"]]
    return merged


def merge(runs):
    """Figures (as they are kept) of several runs of a case, in the order of their appearance."""
    found = {}
    for figures in runs:
        for entry in figures:
            found.setdefault(entry["name"], []).append(entry)
    return [_merge(entries) for entries in found.values()]
