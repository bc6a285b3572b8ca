"""Two runs beside each other: what got worse by more than noise.

Where both runs know the limit of a figure the ratios to it are compared, as the limit of each
was measured beside it; otherwise the values are. A change counts when it is bigger than the
noise that the figure is known to have, times a tolerance. Where both runs measured it three times
or more, what they found is the noise: it changed if all that one run found is beyond all that the
other found, by more than a twentieth of the medians.
"""

import dataclasses

WORSE, BETTER, SAME = "worse", "better", ""
GONE, NEW, FAILED, REPAIRED = "gone", "new", "failed", "repaired"
FLOOR = 1e-9
RUNS_MIN = 3                    # that tell the noise
LEAST = 0.05                    # a change that nobody minds


@dataclasses.dataclass
class Row:
    name: str
    unit: str
    old: float = None
    new: float = None
    change: float = None        # of the ratio, or of the value: 0.1 is 10% more
    by_ratio: bool = False
    verdict: str = SAME


def change_of(old, new):
    """Relative; a rise from nothing is endless, which is honest for what must be 0."""
    if abs(old) < FLOOR:
        return 0.0 if abs(new) < FLOOR else float("inf")
    return (new - old) / abs(old)


def judge(change, more_is_better, noise):
    """For what shrinks, a factor is compared: half as much is as far as twice as much."""
    far = change if change >= 0 else (1 / max(1 + change, FLOOR) - 1)
    if far <= noise:
        return SAME
    return BETTER if (change > 0) == more_is_better else WORSE


def reach(figure, of):
    """How far from its median what was found lies, relative: (below, above)."""
    low, high = ("low", "high") if of == "value" else ("ratio_low", "ratio_high")
    middle = max(abs(figure[of]), FLOOR)
    return (figure[of] - figure[low]) / middle, (figure[high] - figure[of]) / middle


def noise_of(old, new, of):
    """So much may the new one differ from the old one by chance, relative to the smaller."""
    known = max(old["noise"], new["noise"])
    if not known or min(old["runs"], new["runs"]) < RUNS_MIN:
        return known
    less, more = sorted((old, new), key=lambda figure: figure[of])
    above, below = reach(less, of)[1], reach(more, of)[0]
    # Their ranges touch if the greater, at its lowest, is what the lesser was at its highest.
    return max((1 + above) / max(1 - below, FLOOR) - 1, LEAST)


def compare_figures(old, new, tolerance):
    by_ratio = old.get("ratio") is not None and new.get("ratio") is not None
    of = "ratio" if by_ratio else "value"
    change = change_of(old[of], new[of])
    noise = noise_of(old, new, of) * tolerance
    verdict = judge(change, new.get("more_is_better", False), noise)
    return Row(new["name"], new["unit"], old["value"], new["value"], change, by_ratio, verdict)


def failures(run):
    return {case["name"]: case["status"] == "failed" for case in run["cases"]}


def compare_cases(old, new):
    """Rows of cases whose success changed."""
    before = failures(old)
    for name, failed in failures(new).items():
        if failed != before.get(name, False):
            yield Row(name, "case", verdict=FAILED if failed else REPAIRED)


def compare(old, new, tolerance=1.0):
    """Rows in the order of the new run; what only the old one has comes last."""
    rows = list(compare_cases(old, new))
    figures = {figure["name"]: figure for figure in old["figures"]}
    for figure in new["figures"]:
        before = figures.pop(figure["name"], None)
        if not figure.get("compared", True):
            continue
        if before is None:
            rows.append(Row(figure["name"], figure["unit"], new=figure["value"], verdict=NEW))
        else:
            rows.append(compare_figures(before, figure, tolerance))
    rows += [Row(name, figure["unit"], old=figure["value"], verdict=GONE)
             for name, figure in figures.items() if figure.get("compared", True)]
    return rows


def is_worse(rows):
    return any(row.verdict in (WORSE, FAILED) for row in rows)
