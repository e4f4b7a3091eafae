"""What Spark is handed beside the predicate: conditions on plain columns that follow from parts it keeps to itself.

Spark's reader is asked about plain columns alone. `year(day) = 2024` says nothing to it, the range of days that it
comes to does. Whatever holds for every row that the part selects may be ANDed to the filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import (
    And,
    Compare,
    In,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Or,
    StartsWith,
    leaves,
)
from parquet_core.satisfiable import reaches_beyond_type
from prune_assets.planner.post_order import post_order
from prune_assets.spark_filters import Opaque, parts_of
from prune_assets.sql.as_spark_filters import as_spark_filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Leaf, Predicate
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.lowering import LoweredPredicate

# What has more is not written down for Spark.
MAX_LEAVES = 50
MAX_VALUES = 1_000


def handed_over(
    lowered: LoweredPredicate, columns: Sequence[LeafColumn], *, semantics: SparkSemantics
) -> tuple[Predicate, ...]:
    """Return what follows from the conjuncts of which Spark pushes nothing down, or not all."""
    found = []
    for text, conjunct in lowered.conjuncts:
        known = as_spark_filters(text, columns, semantics=semantics)
        if any(isinstance(part, Opaque) for part in parts_of(known)):
            found.append(necessary(conjunct))
    return tuple(part for part in found if part is not None and _is_short(part))


def necessary(predicate: Predicate) -> Predicate | None:
    """Return what holds wherever the predicate does and asks plain columns alone; None when nothing is known.

    >>> from parquet_core.predicate import IsNull, Unsupported
    >>> necessary(And((IsNull(("x",)), Unsupported("f(y)", "not known"))))
    IsNull(column=('x',))
    """
    known: list[Predicate | None] = []
    for node, operands in post_order(predicate):
        known.append(_necessary(node, [known[i] for i in operands]))
    return known[-1]


def _necessary(node: Predicate, operands: list[Predicate | None]) -> Predicate | None:
    parts = [part for part in operands if part is not None]
    match node:
        case Compare() | Interval() | In() | IsNull() | StartsWith() | Not() if _is_plain(node):
            return node
        case And():
            return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
        case Or() if len(parts) == len(operands):
            return Or(tuple(parts))
        case IsTruth(_, Outcomes.TRUE):
            return operands[0]
        case _:
            return None


def _is_plain(predicate: Predicate) -> bool:
    return all(map(_is_plain_leaf, leaves(predicate)))


def _is_plain_leaf(leaf: Leaf) -> bool:
    if reaches_beyond_type(leaf):
        return False  # of what a file holds beyond its type it may not be true
    return isinstance(leaf, Compare | Interval | In | IsNull | StartsWith)


def _is_short(predicate: Predicate) -> bool:
    parts = list(leaves(predicate))
    return len(parts) <= MAX_LEAVES and all(len(part.values) <= MAX_VALUES for part in parts if isinstance(part, In))
