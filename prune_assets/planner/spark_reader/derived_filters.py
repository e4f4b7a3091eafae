"""Derived filters: plain conditions that follow from the predicate and the metadata, for Spark to push down.

Spark's reader evaluates conditions on plain columns only. It cannot use `year(day) = 2024`, but it can use the
implied range of days. It accepts no list of row groups to skip either, but it skips by ranges. So the plan adds two
kinds of conditions to the user's filter: implications of conjuncts that Spark does not push down, cut to the
bounds of the surviving row groups, and the ranges that cover all survivors (`survivors.py`).

Results are correct without derived filters. A derived filter contains only plain ranges, short lists, prefixes and null
tests of values inside the survivors' bounds; other conditions are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.evidence.listed_values import listed_values
from parquet_core.pruning.evidence.satisfiable import reaches_beyond_type
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    In,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    StartsWith,
    leaves,
    post_order,
)
from prune_assets.planner.spark_reader.as_spark_filters import as_spark_filters
from prune_assets.planner.spark_reader.spark_filters import Opaque, parts_of
from prune_assets.planner.spark_reader.survivors import SurvivorBounds, can_be_written, survivor_ranges, value_key

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.planner.spark_reader.opening import SparkScan
    from prune_assets.planner.spark_reader.spark_profile import SparkProfile

    # A condition restricted to the survivors: a simpler condition, "never" if no survivor matches, or None.
    _Cut: TypeAlias = Predicate | Literal["never"] | None


# Spark evaluates a derived filter on every row that it reads: more leaves or longer lists cost too much.
MAX_LEAVES = 36
MAX_VALUES = 100

_NEVER: Literal["never"] = "never"


def derived_filters(plan: PlannedRead, scan: SparkScan, profile: SparkProfile) -> tuple[Predicate, ...]:
    """Return the conditions to add to the user's filter with AND.

    Empty if the plan skips no row that Spark would read.
    """
    access, index = plan.evaluation.access, plan.index
    if not np.any(access.verdict != Verdict.SKIP) or not _skips_within_files(plan, scan):
        return ()
    bounds = SurvivorBounds(index, access)
    conditions = []
    for written, (_, conjunct) in zip(plan.lowered.parsed, plan.lowered.conjuncts, strict=True):
        pushed = as_spark_filters([written], semantics=plan.semantics, profile=profile)
        if any(isinstance(part, Opaque) for part in parts_of(pushed)):
            conditions.append(cut_to_survivors(necessary(conjunct), bounds))
    conditions.append(survivor_ranges(plan.evaluation, index))
    return tuple(part for part in conditions if part is not None and _is_short(part))


def _skips_within_files(plan: PlannedRead, scan: SparkScan) -> bool:
    """Return True if rows are skipped in files that Spark opens."""
    index, access = plan.index, plan.evaluation.access
    opened = scan.files[index.groups.file]
    remaining_rows = access.ranges.row_totals(len(index))
    return bool(np.any(remaining_rows[opened] < index.groups.row_count[opened]))


def necessary(predicate: Predicate) -> Predicate | None:
    """Return a condition on plain columns that the predicate implies, or None.

    >>> from parquet_core.pruning.predicate import IsNull, Unsupported
    >>> necessary(And((IsNull(("x",)), Unsupported("f(y)", "not known"))))
    IsNull(column=('x',))
    """
    conditions: list[Predicate | None] = []
    for node, operands in post_order(predicate):
        conditions.append(_necessary(node, [conditions[i] for i in operands]))
    return conditions[-1]


def _necessary(node: Predicate, operands: list[Predicate | None]) -> Predicate | None:
    parts = [part for part in operands if part is not None]
    match node:
        case Compare() | Interval() | In() | IsNull() | StartsWith() if _is_plain(node):
            return node
        case Not(IsNull()):
            return node
        case And():
            return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
        case Or() if len(parts) == len(operands):
            return Or(tuple(parts))
        case IsTruth(_, Outcomes.TRUE):
            return operands[0]
        case _:
            return None


def _is_plain(leaf: Leaf) -> bool:
    if isinstance(leaf, Compare) and leaf.op is Op.NE:
        return False  # excludes hardly anything
    return not reaches_beyond_type(leaf)  # may be false for stored values beyond the range of the type


def cut_to_survivors(predicate: Predicate | None, bounds: SurvivorBounds) -> Predicate | None:
    """Restrict a necessary condition to values inside the survivors' bounds; None if nothing remains.

    For example, `year(d) = 1994 OR year(d) = 1999` implies two ranges. A range without a surviving row is dropped, and
    so is an operand that every survivor satisfies.
    """
    if predicate is None:
        return None
    cuts: list[_Cut] = []
    for node, operands in post_order(predicate):
        cuts.append(_cut(node, [cuts[i] for i in operands], bounds))
    cut = cuts[-1]
    return None if isinstance(cut, str) else cut


def _cut(node: Predicate, operands: list[_Cut], bounds: SurvivorBounds) -> _Cut:
    match node:
        case And():
            return _connected(And, operands, neutral=None, decisive=_NEVER)
        case Or():
            return _connected(Or, operands, neutral=_NEVER, decisive=None)
        case Not(IsNull(column)):
            return node if bounds.is_known(column) and bounds.may_be_null(column) else None
        case Compare(column) | Interval(column) | In(column) | IsNull(column) | StartsWith(column) if bounds.is_known(
            column
        ):
            return _cut_leaf(node, bounds)
        case _:
            return None


def _cut_leaf(node: Predicate, bounds: SurvivorBounds) -> _Cut:
    match node:
        case IsNull(column):
            return node if bounds.may_be_null(column) else _NEVER
        case Compare(_, Op.EQ, value):
            return _cut_range(node, value, value, bounds)
        case Compare(_, op, value):
            low, high = (value, None) if op in {Op.GT, Op.GE} else (None, value)
            return _cut_range(node, low, high, bounds)
        case Interval(_, low, high):
            return _cut_range(node, low, high, bounds)
        case In():
            return _cut_list(node, bounds)
        case _:
            return node


def _connected(connective: type[And | Or], operands: list[_Cut], *, neutral: _Cut, decisive: _Cut) -> _Cut:
    """Connect operands with AND or OR.

    `neutral`: operand that is dropped. `decisive`: operand that alone is the result.
    """
    if any(operand is decisive for operand in operands):
        return decisive
    parts = tuple(part for part in operands if part is not None and not isinstance(part, str))
    if not parts:
        return neutral
    return parts[0] if len(parts) == 1 else connective(parts)


def _cut_range(node: Compare | Interval, low: pa.Scalar | None, high: pa.Scalar | None, bounds: SurvivorBounds) -> _Cut:
    """Keep the ends of a range that are inside the bounds; the other ends exclude nothing."""
    hull = bounds.of(node.column)
    ends = [end for end in (low, high) if end is not None]
    if hull is None:
        return node if all(map(can_be_written, ends)) else None
    least, most = map(value_key, hull)
    if (low is not None and value_key(low) > most) or (high is not None and value_key(high) < least):
        return _NEVER
    inside = [end for end in ends if least <= value_key(end) <= most and can_be_written(end)]
    if len(inside) == len(ends):
        return node
    if not inside:
        return None
    return Compare(node.column, Op.GE if inside[0] is low else Op.LE, inside[0])


def _cut_list(node: In, bounds: SurvivorBounds) -> _Cut:
    hull = bounds.of(node.column)
    listed = listed_values(node.values, node.values.type if hull is None else hull[0].type)
    inside = listed.ascending if hull is None else listed.between(*hull)
    if listed.has_nan:
        return None
    if not len(inside):
        return _NEVER
    values = inside.cast(node.values.type)
    # The values ascend, so if one has no literal in SQL, the first or the last value has none.
    if not (can_be_written(values[0]) and can_be_written(values[-1])):
        return None
    if len(values) == 1:
        return Compare(node.column, Op.EQ, values[0])
    return Interval(node.column, values[0], values[-1]) if len(values) > MAX_VALUES else In(node.column, values)


def _is_short(predicate: Predicate) -> bool:
    return sum(1 for _ in leaves(predicate)) <= MAX_LEAVES
