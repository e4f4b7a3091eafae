"""Auxiliary leaves: additional tests that narrow the outcomes of a predicate's leaves.

Each value of a short list is tested separately. If a row group lacks the value 1, then `a IN (1, 7)` is `a = 7` there,
and pages need not be kept for 1. The filter, the dictionary or the row group's bounds, which may be narrower than those
of its pages, prove that the value is absent.
Unsupported conditions get null tests of their columns: `month(day) = 5` is NULL where `day` is null.
`isnan(f)` gets the comparison `f = double('NaN')`, because `isnan` maps both NULL and FALSE to FALSE.
Callers see only the leaves of the predicate; `AuxiliaryLeaves.joined` merges the outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.outcomes import Outcomes, any_of, intersect, is_truth
from parquet_core.pruning.predicate import Compare, In, IsNaN, IsNull, OnPartitions, OnValues, Op, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf, Leaf

# A longer list has a value in almost every row group.
MAX_VALUES = 20
# Limit for all auxiliary leaves of a predicate.
MAX_VALUES_IN_ALL = 200


@dataclass(frozen=True, slots=True)
class AuxiliaryLeaves:
    """Leaves that are appended to the leaves of a predicate.

    `leaves`: number of leaves of the predicate.
    `extra`: the appended leaves.
    `lists`, `nulls`, `nans`: pairs of a leaf's index and the slice of its auxiliary leaves, counted over all leaves.
    The auxiliary leaves are one equality per value of the leaf's list (`lists`), null tests of the leaf's columns
    (`nulls`), or the comparison of the leaf's column with NaN (`nans`).
    """

    leaves: int
    extra: tuple[ColumnLeaf, ...] = ()
    lists: tuple[tuple[int, slice], ...] = ()
    nulls: tuple[tuple[int, slice], ...] = ()
    nans: tuple[tuple[int, slice], ...] = ()

    def joined(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Return the outcomes of the predicate's leaves, narrowed by auxiliary leaves."""
        narrowed = outcomes[: self.leaves]
        if not self.extra:
            return narrowed
        narrowed = narrowed.copy()
        for leaf, rows in self.lists:
            narrowed[leaf] = intersect(narrowed[leaf], any_of(outcomes[rows]))
        for leaf, rows in self.nulls:
            narrowed[leaf, (outcomes[rows] == Outcomes.TRUE).any(axis=0)] &= np.uint8(Outcomes.NULL)
        for leaf, rows in self.nans:
            (equal,) = outcomes[rows]
            narrowed[leaf] = intersect(narrowed[leaf], is_truth(equal, Outcomes.TRUE))
        return narrowed

    def wanted(self, of_leaves: Sequence[Outcomes]) -> list[Outcomes | None]:
        """Return the relevant outcomes of the predicate's leaves and of the auxiliary leaves.

        `of_leaves`: relevant outcomes of the predicate's leaves.

        The result is None for leaves whose outcomes are not relevant by themselves: values of lists, null tests, and an
        `isnan` test, which its comparison with NaN replaces.
        """
        wanted = [*of_leaves, *[None] * len(self.extra)]
        for leaf, rows in self.nans:
            counts = of_leaves[leaf]
            equal = Outcomes.TRUE if counts & Outcomes.TRUE else Outcomes.NONE
            wanted[rows.start] = equal | (Outcomes.FALSE | Outcomes.NULL if counts & Outcomes.FALSE else Outcomes.NONE)
            wanted[leaf] = None
        return wanted

    def null_columns(self) -> tuple[tuple[int, Path], ...]:
        """Return the columns of null tests, with the index of each test.

        Indices count all leaves.
        """
        positions = [i for _, rows in self.nulls for i in range(rows.start, rows.stop)]
        return tuple((i, self.extra[i - self.leaves].column) for i in positions)


def auxiliary_leaves(leaves: Sequence[Leaf], columns: Mapping[Path, LeafColumn]) -> AuxiliaryLeaves:
    """Return the auxiliary leaves for leaves on the given file columns."""
    extra: list[ColumnLeaf] = []
    lists: list[tuple[int, slice]] = []
    nulls: list[tuple[int, slice]] = []
    nans: list[tuple[int, slice]] = []
    for i, leaf in enumerate(leaves):
        match leaf:
            case In():
                added, places = _values(leaf, columns), lists
            case IsNaN():
                added, places = _nan(leaf, columns), nans
            case (
                Unsupported(null_with=null_with)
                | OnValues(part=Unsupported(null_with=null_with))
                | OnPartitions(part=Unsupported(null_with=null_with))
            ):
                added, places = [IsNull(path) for path in null_with if path in columns], nulls
            case _:
                continue
        if added and len(extra) + len(added) <= MAX_VALUES_IN_ALL:
            first = len(leaves) + len(extra)
            extra += added
            places.append((i, slice(first, len(leaves) + len(extra))))
    return AuxiliaryLeaves(len(leaves), tuple(extra), tuple(lists), tuple(nulls), tuple(nans))


def _values(leaf: In, columns: Mapping[Path, LeafColumn]) -> list[ColumnLeaf]:
    if not 1 < len(leaf.values) <= MAX_VALUES or pa.types.is_boolean(leaf.values.type) or leaf.column not in columns:
        return []
    return [Compare(leaf.column, Op.EQ, value) for value in leaf.values]


def _nan(leaf: IsNaN, columns: Mapping[Path, LeafColumn]) -> list[ColumnLeaf]:
    column = columns.get(leaf.column)
    if column is None or not pa.types.is_floating(column.type):
        return []
    return [Compare(leaf.column, Op.EQ, scalar_of(math.nan, column.type))]
