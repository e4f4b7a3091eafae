"""Columns whose filters must not be pushed to Iceberg.

Iceberg would skip rows that Spark selects:

- Floats: in Spark, NaN is greater than every number, and 0.0 equals -0.0. Iceberg's bounds exclude NaN, and Iceberg
  orders -0.0 before 0.0.
- UUIDs: Iceberg orders them as signed numbers, Spark as strings.
- Columns with an initial default: Iceberg treats row groups of files that lack such a column as nulls.
- Tables converted from Delta: their bounds may exclude values, and Iceberg skips files by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import scalar_of
from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import may_match, unknown
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    Compare,
    In,
    Interval,
    IsNaN,
    IsNull,
    Unsupported,
    columns_of,
    columns_of_leaf,
    leaves,
)
from parquet_core.pruning.trees import fold
from parquet_core.trust.bounds import Bounds
from prune_assets.tables.iceberg.file_bounds import bounds_of, enclosing_bounds, is_converted

if TYPE_CHECKING:
    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

_FLOATS = frozenset({"float", "double"})
# Casts that Spark moves to a literal round smaller values to zero.
_LEAST = 1e-30


def doubted_columns(snapshot: IcebergSnapshot, predicate: Predicate) -> frozenset[Path]:
    """Return the columns by which Iceberg may skip rows that a predicate selects.

    For a float column, `x > 5` returns `x`, because this condition selects NaN; `x < 5` returns nothing. An unsupported
    condition may refer to any column.
    """
    named, parts = set(columns_of(predicate)), list(leaves(predicate))
    unseen = any(isinstance(leaf, Unsupported) for leaf in parts)
    return frozenset(
        column.leaf.path
        for column in snapshot.columns
        if (unseen or column.leaf.path in named) and _is_doubted(column, snapshot, predicate, parts, unseen=unseen)
    )


def trusted_part(conjuncts: tuple[tuple[str, Predicate], ...], doubted: frozenset[Path]) -> str | None:
    """Return the operands of an AND that use no doubted column, as SQL; None if there is no such operand."""
    trusted = [
        f"({sql})"
        for sql, tree in conjuncts
        if doubted.isdisjoint(columns_of(tree)) and not any(isinstance(leaf, Unsupported) for leaf in leaves(tree))
    ]
    return " AND ".join(trusted) or None


def _is_doubted(
    column: IcebergColumn, snapshot: IcebergSnapshot, predicate: Predicate, parts: list[Leaf], *, unseen: bool
) -> bool:
    if column.type_name in _FLOATS:
        path = column.leaf.path
        column_leaves = [leaf for leaf in parts if path in columns_of_leaf(leaf)]
        return unseen or not all(map(_is_plain, column_leaves)) or _may_select_nan(column, predicate, parts)
    field: Any = snapshot.schema.find_field(column.field_id)
    if column.type_name == "uuid" or getattr(field, "initial_default", None) is not None:
        return True
    return is_converted(snapshot) and (unseen or _is_lost(column, snapshot, parts))


def _is_lost(column: IcebergColumn, snapshot: IcebergSnapshot, parts: list[Leaf]) -> bool:
    """Return True if bounds that were converted from Delta may exclude matching files.

    Compares the outcomes that follow from the bounds as written with those that follow from the widened bounds.
    """
    column_leaves = [leaf for leaf in parts if column.leaf.path in columns_of_leaf(leaf)]
    if column.leaf.unsupported or not all(isinstance(leaf, ColumnLeaf) for leaf in column_leaves):
        return True
    written, wide = bounds_of(column, snapshot.files), enclosing_bounds(column, snapshot)
    return any(
        not np.array_equal(outcomes_from_bounds(leaf, written), outcomes_from_bounds(leaf, wide))
        for leaf in column_leaves
        if isinstance(leaf, ColumnLeaf)
    )


def _is_plain(leaf: Leaf) -> bool:
    """Return True if a leaf tests for null or NaN, or compares only with numbers that are not close to zero."""
    match leaf:
        case Compare(_, _, value):
            values = [value]
        case Interval(_, low, high):
            values = [low, high]
        case In(_, listed):
            return not pc.any(pc.less(pc.abs(listed), scalar_of(_LEAST, listed.type))).as_py()
        case _:
            return isinstance(leaf, IsNull | IsNaN)
    return not any(abs(value.as_py()) < _LEAST for value in values)


def _may_select_nan(column: IcebergColumn, predicate: Predicate, parts: list[Leaf]) -> bool:
    nothing = pa.nulls(1, bounds_type(column.leaf))
    nan = Bounds.of(nothing, nothing, pa.array([0], pa.int64()), np.ones(1, np.int64), pa.array([1], pa.int64()))
    path = column.leaf.path
    answers = [
        outcomes_from_bounds(leaf, nan) if isinstance(leaf, ColumnLeaf) and leaf.column == path else unknown(1)
        for leaf in parts
    ]
    return bool(may_match(fold(predicate, answers))[0])
