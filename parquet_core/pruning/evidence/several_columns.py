"""Bounds of several columns as evidence for one leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.evidence.listed_tuples import outcomes_from_bounds_of_columns
from parquet_core.pruning.evidence.two_columns import outcomes_from_two_bounds
from parquet_core.pruning.outcomes import unknown
from parquet_core.pruning.predicate import CompareColumns, InTuples, MultiColumnLeaf, columns_of_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf
    from parquet_core.trust.bounds import Bounds


def outcomes_from_several_bounds(leaf: MultiColumnLeaf, bounds: Mapping[Path, Bounds], count: int) -> OutcomeArray:
    """Return the outcome set of each of `count` containers.

    `bounds`: bounds by column. A column without bounds excludes nothing; other columns of the mapping are ignored.
    """
    match leaf:
        case CompareColumns(left, op, right) if left in bounds and right in bounds:
            return outcomes_from_two_bounds(op, bounds[left], bounds[right])
        case InTuples(columns) if not bounds.keys().isdisjoint(columns):
            return outcomes_from_bounds_of_columns(leaf, bounds)
    return unknown(count)


def columns_in_several(leaves: Sequence[Leaf]) -> frozenset[Path]:
    """Return the columns that occur in a leaf on several columns."""
    return frozenset(path for leaf in leaves if isinstance(leaf, MultiColumnLeaf) for path in columns_of_leaf(leaf))
