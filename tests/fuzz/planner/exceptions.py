"""Reasons for which a peer may skip rows that prune-assets keeps: its skip is wrong or rests on untrusted metadata.

The numbers are those of the list of traps that a sound planner has to know. A skip without a number is a failure.
"""

from __future__ import annotations

import numpy as np

from parquet_core.pruning.predicate import Compare, In, Interval, columns_of_leaf, leaves

from .planned import without_unseen_nan

NAN = float("nan")


UNSEEN_NAN = "4: bounds say nothing of NaN"


def case_number(ground, peer, lowered, extra):
    """Return the number of the trap that explains why a peer keeps less; None if no trap explains it."""
    found = []
    for file, rows in ground.planner.row_groups():
        here = extra & rows
        if np.any(here):
            found.append(_of_row_group(ground, peer, lowered, file, here))
    return None if None in found else found[0]


def _of_row_group(ground, peer, lowered, file, extra):
    asked = {path for leaf in leaves(lowered) for path in columns_of_leaf(leaf)}
    if differs := [found for path in asked if (found := ground.planner.differs(path, file))]:
        return f"23: {differs[0]}"
    if any(ground.holds_old_moments(path, extra) for path in asked) or ground.looks_up_old_moments(lowered):
        return "20: a setting decides in which calendar old dates are read"
    if any(ground.holds_nulls_only(path, extra) for path in asked):
        return "26: a filter or dictionary without a value says nothing"
    if any(ground.loses_values(peer, path, extra) for path in asked):
        return "8: bounds that a row group lacks are taken from the others of its file"
    floats = {path for path in asked if path in ground.columns and ground.columns[path].of.family == "float"}
    if any(ground.holds_nan_by_spark(path, file, extra) for path in floats):
        return "5: bounds among which NaN stands are ignored"
    if floats:
        if any(
            ground.could_be(lowered, extra, dict.fromkeys(each, NAN)) for each in [floats, *({it} for it in floats)]
        ) or rests_on_unseen_nan(ground, lowered, extra):
            return UNSEEN_NAN
        if any(_asks_for_zero(leaf) for leaf in leaves(lowered)):
            return "1: either zero is looked up"
    return None


def rests_on_unseen_nan(ground, lowered, extra):
    """True if rows are kept only because of NaN values that may exist."""
    with without_unseen_nan():
        return not np.any(extra & ground.planner.plan(lowered).ranges)


def _asks_for_zero(leaf):
    match leaf:
        case Compare(_, _, value):
            return value.as_py() == 0
        case In(_, values):
            return 0 in values.to_pylist()
        case Interval(_, low, high):
            return low.as_py() == high.as_py() == 0
    return False
