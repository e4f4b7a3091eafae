"""The map of a table with too many row groups to tell each: what every level took of runs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.redacted import redacted
from prune_assets.report.skip_report import MapCell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.planner.plan import Plan

MAX_CELLS = 1_500


def credited_level(plan: Plan) -> NDArray[np.int64]:
    """Return for each row group the number of the first level that drops it, or rows of it; -1 for none."""
    evaluation, rows = plan.evaluation, plan.index.row_count
    level = np.full(len(plan.index), -1, np.int64)
    for number, state in enumerate(evaluation.of_row_groups):
        level[(level < 0) & ~state.alive] = number
    level[(level < 0) & (plan.kept.rows < rows)] = len(evaluation.of_row_groups)
    level[rows == 0] = -1
    return level


def table_map(plan: Plan) -> tuple[MapCell, ...]:
    """Cut the row groups into at most `MAX_CELLS` runs of equal length, in file order."""
    index, count = plan.index, len(plan.index)
    run = max(-(-count // MAX_CELLS), 1)
    cell = np.arange(count) // run
    cells = int(cell[-1]) + 1 if count else 0
    first = np.arange(cells) * run
    last = np.minimum(first + run, count) - 1
    level, skipped = credited_level(plan), plan.sizes.bytes - plan.kept.bytes
    known = level >= 0
    width = len(plan.evaluation.states)
    by_level = _sums(cell[known] * width + level[known], skipped[known], cells * width).reshape(cells, width)
    size, kept = _sums(cell, plan.sizes.bytes, cells), _sums(cell, plan.kept.bytes, cells)
    read = np.bincount(cell, plan.kept.rows > 0, minlength=cells).astype(np.int64)
    return tuple(
        MapCell(
            first_file=redacted(index.files[index.file[a]].path),
            first_row_group=int(index.ordinal[a]),
            last_file=redacted(index.files[index.file[b]].path),
            last_row_group=int(index.ordinal[b]),
            row_groups=b - a + 1,
            kept_row_groups=int(read[i]),
            bytes=int(size[i]),
            kept_bytes=int(kept[i]),
            skipped_bytes=tuple(by_level[i].tolist()),
        )
        for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
    )


def _sums(cell: NDArray[np.int64], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    # Sums of integers: np.bincount would pass them through floats.
    total = np.zeros(count, np.int64)
    np.add.at(total, cell, values)
    return total
