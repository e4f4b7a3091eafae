"""Predict what a rewrite does: how many bytes a predicate keeps when the files picked are in the order of the key.

The values of a row group are taken to be spread evenly between its bounds. What the leading key and partition values
say of the new row groups is asked; of other columns they are taken to say what the old ones said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.evidence.min_max import outcomes_from_bounds
from parquet_core.outcomes import may_match, unknown
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, leaves
from parquet_core.pruning import constant_answers, fold
from parquet_core.trust.bounds import Bounds
from prune_assets.upkeep.pick import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf
    from prune_assets.planner.plan import Plan
    from prune_assets.upkeep.measure import Measured
    from prune_assets.upkeep.pick import Group

    Numbers = NDArray[np.int64]


class Pieces(NamedTuple):
    """Row groups that a rewrite would make: the group and a file of each, its bytes, the ranks of its bounds."""

    group: Numbers
    file: Numbers
    bytes: NDArray[np.float64]
    low: Numbers
    high: Numbers


def pieces_of(measured: Measured, groups: Sequence[Group], layout: LayoutSpec) -> Pieces:
    """Cut what is picked into row groups of the size that the layout asks for."""
    found = [_cut(measured, number, group, layout) for number, group in enumerate(groups)]
    return Pieces(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _cut(measured: Measured, number: int, group: Group, layout: LayoutSpec) -> Pieces:
    index, at = measured.index, list(group.files)
    live = float(measured.numbers.live_bytes()[at].sum())
    files = measured.at[at]
    here = np.flatnonzero(np.isin(index.file, files) & (index.row_count > 0))
    rows = int(index.row_count[here].sum())
    by_rows = 0 if layout.row_group_rows is None else -(-rows // layout.row_group_rows)
    count = max(group.outputs, by_rows, int(-(-live // layout.row_group_bytes)))
    low, high = (side[here] for side in measured.ranks)
    edges = _quantiles(low, high, index.row_count[here], count)
    same = np.ones(count, np.int64)
    return Pieces(number * same, files[0] * same, live / count * np.ones(count), edges[:-1], edges[1:])


def _quantiles(low: Numbers, high: Numbers, rows: Numbers, count: int) -> Numbers:
    """Return the ranks that cut rows, spread evenly over theirs, into `count` parts; all UNKNOWN where some are."""
    if not len(low) or (low == UNKNOWN).any():
        return np.full(count + 1, UNKNOWN)
    first = int(low.min())
    density = np.zeros(int(high.max()) - first + 2)
    share = rows / (high - low + 1)
    np.add.at(density, low - first, share)
    np.add.at(density, high - first + 1, -share)
    below = np.cumsum(np.cumsum(density)[:-1])
    wanted = np.linspace(0, float(below[-1]), count + 1)
    return first + np.minimum(np.searchsorted(below, wanted), len(below) - 1)


def predicted_bytes(plan: Plan, measured: Measured, groups: Sequence[Group], pieces: Pieces) -> int:
    """Return the bytes that a predicate keeps of the table after the rewrite."""
    kept = _kept_by_file(plan)
    left = sum(kept.values())
    alive = _may_hold(plan, measured, pieces)
    for number, group in enumerate(groups):
        before = sum(kept.get(measured.index.files[int(measured.at[file])].path, 0) for file in group.files)
        after = float(pieces.bytes[alive & (pieces.group == number)].sum())
        left += min(before, int(after)) - before
    return left


def _kept_by_file(plan: Plan) -> Mapping[str, int]:
    kept: dict[str, int] = {}
    for position in np.flatnonzero(plan.kept.bytes).tolist():
        path = plan.index.files[int(plan.index.file[position])].path
        kept[path] = kept.get(path, 0) + int(plan.kept.bytes[position])
    return kept


def _may_hold(plan: Plan, measured: Measured, pieces: Pieces) -> NDArray[np.bool_]:
    predicate = plan.evaluation.predicate
    files = plan.table.answers(predicate)
    bounds = _bounds(measured, pieces)
    answers = [
        _of_leaf(leaf, measured, bounds, of_file[pieces.file], frozenset(files.by_values))
        for leaf, of_file in zip(leaves(predicate), files.by_leaf, strict=True)
    ]
    return may_match(fold(predicate, answers))


def _of_leaf(
    leaf: Leaf, measured: Measured, bounds: Bounds, of_file: OutcomeArray, partitions: frozenset[tuple[str, ...]]
) -> OutcomeArray:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(bounds))
    if isinstance(leaf, OnPartitions) or (isinstance(leaf, ColumnLeaf) and leaf.column in partitions):
        return of_file
    if isinstance(leaf, ColumnLeaf) and measured.keys and leaf.column == measured.keys[0].path:
        return outcomes_from_bounds(leaf, bounds)
    return unknown(len(bounds))


def _bounds(measured: Measured, pieces: Pieces) -> Bounds:
    """Return the bounds of the leading key in each piece; ranks count from 1, and 0 stands for nulls."""
    sides = [
        measured.values.take(pa.array(np.maximum(side - 1, 0), mask=side < 1)) for side in (pieces.low, pieces.high)
    ]
    return Bounds(sides[0], sides[1], pa.nulls(len(pieces.low), pa.int64()), np.ones(len(pieces.low), np.int64))
