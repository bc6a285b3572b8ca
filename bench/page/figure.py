"""A measured figure with the limit beside it and the target that it should meet."""

import dataclasses

# Two runs of the same thing differ by so much on a machine that others use as well.
NOISE_RATE = 0.25
NOISE_LATENCY = 0.6
NOISE_MEMORY = 0.1


@dataclasses.dataclass
class Figure:
    """`group/row/key` is the name, by which two runs are compared.

    A figure with a `column` is shown in the table of its group, one line a row; one
    without has a line of its own. Targets: {"of": "value" or "ratio", "is": "<", "<=",
    ">" or ">=", "than": number}.
    """

    group: str
    row: str
    key: str
    label: str
    value: float
    unit: str = ""
    limit: float = None
    limit_of: str = ""
    more_is_better: bool = False
    noise: float = NOISE_RATE
    column: str = ""
    targets: list = dataclasses.field(default_factory=list)
    shown: bool = True          # on the page; kept and compared in any case
    compared: bool = True

    @property
    def name(self):
        return "/".join(part for part in (self.group, self.row, self.key) if part)

    @property
    def ratio(self):
        return self.value / self.limit if self.limit else None

    def to_json(self):
        entry = {"name": self.name, **dataclasses.asdict(self), "runs": 1}
        entry["low"] = entry["high"] = self.value
        entry["ratio"] = entry["ratio_low"] = entry["ratio_high"] = self.ratio
        entry["targets"] = [{**target, "met": met(target, self.value, self.ratio)}
                            for target in self.targets]
        return entry


def at_least(bound, of="value"):
    return {"of": of, "is": ">=", "than": bound}


def below(bound, of="value"):
    return {"of": of, "is": "<", "than": bound}


def at_most(bound, of="value"):
    return {"of": of, "is": "<=", "than": bound}


def met(target, value, ratio):
    """Whether the target is met; None where there is nothing to judge."""
    found = value if target["of"] == "value" else ratio
    if found is None:
        return None
    bound = target["than"]
    return {"<": found < bound, "<=": found <= bound,
            ">": found > bound, ">=": found >= bound}[target["is"]]
