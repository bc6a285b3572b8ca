"""Whether what clients saw of a register could have come of one that does one thing at a time.

An operation is (invoked, returned, wrote, value): `returned` is None when nobody knows whether a
write was done; then it may take effect at any time after it was invoked, or never. Reads that
failed are left out. The search is Wing and Gong's: of the operations that were invoked before any
of the rest returned one is taken as the next; what was taken so far and the value then name a
state, and no state is tried twice.
"""

import math


def bound(operation):
    return math.inf if operation[1] is None else operation[1]


def is_linearizable(history, value=None):
    """Whether the operations of one register, which holds `value` at first, have an order."""
    rest = sorted(history, key=lambda operation: operation[0])
    done = sum(1 << at for at, operation in enumerate(rest) if operation[1] is not None)
    stack, seen = [(0, value)], set()
    while stack:
        taken, held = stack.pop()
        if taken & done == done:
            return True
        if (taken, held) in seen:
            continue
        seen.add((taken, held))
        stack.extend(steps(rest, taken, held))
    return False


def steps(rest, taken, held):
    """The states that may follow."""
    limit = math.inf
    for at, operation in enumerate(rest):
        if not taken >> at & 1:
            limit = min(limit, bound(operation))
    for at, (invoked, _, wrote, value) in enumerate(rest):
        if invoked > limit:
            break
        if not taken >> at & 1 and (wrote or value == held):
            yield taken | 1 << at, value if wrote else held
