"""Predict the bytes that a predicate keeps after a rewrite.

The picked files are assumed to be sorted by the key. Rows are sampled from the bounds of the current row groups, as for
the hints of a plan. Conditions on the leading key and on partition values are evaluated for the predicted pages.
Conditions on other columns are assumed to be as selective as today. The kept bytes are rounded up to whole pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.layout.overlap import Intervals, overlap_depth
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import may_match, unknown
from parquet_core.pruning.predicate import ColumnLeaf, Constant, OnPartitions, leaves
from parquet_core.pruning.trees import constant_answers, fold
from parquet_core.trust.bounds import Bounds, unknown_bounds
from prune_assets.simulation.from_bounds import draw, sorted_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.simulation.from_bounds import Drawn
    from prune_assets.writing.measure import Measured
    from prune_assets.writing.pick import Group

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Pieces(NamedTuple):
    """Pages that a rewrite would make.

    `group`, `file`: the group, and one of its files.
    `share`: share of the group's bytes.
    `bounds`: bounds of the key.
    """

    group: Numbers
    file: Numbers
    share: Floats
    bounds: Bounds | None


def pieces_of(measured: Measured, groups: Sequence[Group], layout: LayoutSpec) -> Pieces:
    """Divide the picked files into row groups, and these into pages."""
    drawn = None if measured.key_bounds is None else draw(measured.keys[0], measured.key_bounds)
    parts = [_cut(measured, group_index, group, layout, drawn) for group_index, group in enumerate(groups)]
    bounds = [it.bounds for it in parts if it.bounds is not None]
    return Pieces(
        np.concatenate([it.group for it in parts]),
        np.concatenate([it.file for it in parts]),
        np.concatenate([it.share for it in parts]),
        Bounds.concat(bounds) if bounds else None,
    )


def _cut(measured: Measured, group_index: int, group: Group, layout: LayoutSpec, drawn: Drawn | None) -> Pieces:
    index, positions = measured.index, list(group.files)
    live, size = float(measured.figures.live_bytes()[positions].sum()), float(measured.figures.size[positions].sum())
    files = measured.file_indexes[positions]
    here = np.flatnonzero(np.isin(index.groups.file, files) & (index.groups.row_count > 0))
    rows = int(index.groups.row_count[here].sum())
    limit = layout.rows_of_row_group(rows)
    by_rows = 0 if limit is None else -(-rows // limit)
    row_groups = max(group.outputs, by_rows, int(-(-live // layout.row_group_bytes)))
    count = row_groups * -(-rows // (row_groups * layout.page_rows))
    bounds = None if drawn is None else _sorted(drawn, here, index.groups.row_count[here], count)
    count = count if bounds is None else len(bounds)
    same = np.ones(count, np.int64)
    return Pieces(group_index * same, files[0] * same, live / size / count * np.ones(count), bounds)


def _sorted(drawn: Drawn, here: Numbers, rows: Numbers, count: int) -> Bounds:
    """Return the bounds of the key in the predicted pages.

    Unknown if a current row group has unknown bounds.
    """
    column = drawn.of(here)
    if column is None:
        return unknown_bounds(drawn.column.column, np.full(count, rows.sum() // count))
    return sorted_bounds(column, int(rows.sum()), count)


def predicted_bytes(plan: PlannedRead, measured: Measured, groups: Sequence[Group], pieces: Pieces) -> int | None:
    """Return the bytes that a predicate keeps after the rewrite.

    None if the predicate has no condition on the leading key.
    """
    if not _is_on_key(plan, measured):
        return None
    kept_by_file, whole = _by_file(plan, plan.kept.bytes), _by_file(plan, plan.sizes.bytes)
    left = sum(kept_by_file.values())
    alive = _may_hold(plan, measured, pieces)
    for group_index, group in enumerate(groups):
        paths = [measured.index.groups.files[int(measured.file_indexes[file])].path for file in group.files]
        before = sum(kept_by_file.get(path, 0) for path in paths)
        mine = pieces.group == group_index
        share, size = float(pieces.share[alive & mine].sum()), sum(whole.get(path, 0) for path in paths)
        left += min(_in_whole_pieces(before, size, int(mine.sum())), int(share * size)) - before
    return left


def _is_on_key(plan: PlannedRead, measured: Measured) -> bool:
    """Return True if a predicate refers to the leading key, or to partition columns only."""
    predicate = plan.evaluation.predicate
    named = {leaf.column for leaf in leaves(predicate) if isinstance(leaf, ColumnLeaf)}
    in_files = named - frozenset(plan.table.answers(predicate).by_values)
    return not in_files or (bool(measured.keys) and measured.keys[0].path in in_files)


def _in_whole_pieces(kept_bytes: int, size: int, pieces: int) -> int:
    """Round the kept bytes up to whole pages of equal size."""
    return size * -(-kept_bytes * pieces // size) // pieces if size else 0


def predicted_depth(measured: Measured, groups: Sequence[Group]) -> float | None:
    """Return the overlap depth of the files after the rewrite.

    New files of one group are assumed not to overlap.
    """
    intervals = measured.intervals()
    if intervals is None or not groups:
        return measured.depth()
    group = np.full(len(measured.file_indexes), -1)
    for group_index, each in enumerate(groups):
        group[list(each.files)] = group_index
    group = group[intervals.at]
    picked = np.flatnonzero(group >= 0)
    groups_picked, first = np.unique(group[picked], return_index=True)
    lowest, highest = np.full(len(groups), intervals.high.max(initial=0)), np.zeros(len(groups), np.int64)
    np.minimum.at(lowest, group[picked], intervals.low[picked])
    np.maximum.at(highest, group[picked], intervals.high[picked])
    low, high = lowest[groups_picked], highest[groups_picked]
    # Rows with one value stay in one file.
    outputs = np.where(low < high, np.array([each.outputs for each in groups], np.int64)[groups_picked], 1)
    # Each file of a group except the last gets a rank of its own. These ranks are inserted between two existing ranks.
    scale = int(outputs.max(initial=1))
    new = np.repeat(np.arange(len(groups_picked)), outputs)
    ordinal = np.arange(len(new)) - np.repeat(np.cumsum(outputs) - outputs, outputs)
    new_low = low[new] * scale + ordinal
    new_high = np.where(ordinal == outputs[new] - 1, high[new] * scale, new_low)
    left = np.flatnonzero(group < 0)
    return overlap_depth(
        Intervals(
            at=np.concatenate([left, new]),
            low=np.concatenate([intervals.low[left] * scale, new_low]),
            high=np.concatenate([intervals.high[left] * scale, new_high]),
            partition=np.concatenate([intervals.partition[left], intervals.partition[picked][first][new]]),
            unknown=intervals.unknown,
        )
    )


def _by_file(plan: PlannedRead, of_groups: Numbers) -> Mapping[str, int]:
    """Sum a value of row groups by the path of their file."""
    sums = np.zeros(len(plan.index.groups.files), np.int64)
    np.add.at(sums, plan.index.groups.file, of_groups)
    return {plan.index.groups.files[file].path: int(sums[file]) for file in np.flatnonzero(sums).tolist()}


def _may_hold(plan: PlannedRead, measured: Measured, pieces: Pieces) -> NDArray[np.bool_]:
    predicate = plan.evaluation.predicate
    files = plan.table.answers(predicate)
    answers = [
        _outcomes_of_leaf(leaf, measured, pieces, of_file[pieces.file], frozenset(files.by_values))
        for leaf, of_file in zip(leaves(predicate), files.by_leaf, strict=True)
    ]
    return may_match(fold(predicate, answers))


def _outcomes_of_leaf(
    leaf: Leaf, measured: Measured, pieces: Pieces, of_file: OutcomeArray, partitions: frozenset[tuple[str, ...]]
) -> OutcomeArray:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(of_file))
    if isinstance(leaf, OnPartitions) or (isinstance(leaf, ColumnLeaf) and leaf.column in partitions):
        return of_file
    if isinstance(leaf, ColumnLeaf) and pieces.bounds is not None and leaf.column == measured.keys[0].path:
        return outcomes_from_bounds(leaf, pieces.bounds)
    return unknown(len(of_file))
