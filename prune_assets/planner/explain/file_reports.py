"""Reports of files and row groups; for tables with too many row groups, a map of runs of row groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from parquet_core.printable import redacted
from parquet_core.pruning.access_plan import RangeList, Verdict
from parquet_core.ragged import distinct
from prune_assets.planner.explain.reasons import Reasons
from prune_assets.report.skip_report import FileReport, MapCell, RowGroupReport
from prune_assets.report.skip_report import Verdict as VerdictName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.planner.planned_read import PlannedRead


# Up to this many row groups, a report describes each of them; else only the costliest ones that are read.
MAX_DETAILED = 2_000
MAX_CELLS = 1_500

_VERDICTS: tuple[VerdictName, ...] = ("skip", "scan", "selection")  # by number of Verdict


def describes_every_row_group(plan: PlannedRead) -> bool:
    """Return True if the report describes each row group."""
    return len(plan.index) <= MAX_DETAILED


def costliest_files(plan: PlannedRead) -> tuple[FileReport, ...]:
    """Describe the costliest row groups to read, in table order."""
    read = np.flatnonzero(plan.kept.rows > 0)
    costliest = np.sort(read[np.argsort(-plan.kept.bytes[read], kind="stable")][:MAX_DETAILED])
    reasons, levels = Reasons(plan.evaluation, plan.index, plan.table), credited_level(plan)
    files = plan.index.groups.file[costliest]
    return tuple(
        _file(plan, file, costliest[files == file].tolist(), reasons, levels) for file in distinct(files).tolist()
    )


class FileReports(Sequence[FileReport]):
    """Reports of all files: the rows read of each row group, and the reason. Each report is built on access."""

    def __init__(self, plan: PlannedRead) -> None:
        self._plan = plan
        self._reasons, self._levels = Reasons(plan.evaluation, plan.index, plan.table), credited_level(plan)
        self._first = np.searchsorted(plan.index.groups.file, np.arange(len(plan.index.groups.files) + 1)).tolist()

    def __len__(self) -> int:
        return len(self._plan.index.groups.files)

    @overload
    def __getitem__(self, key: int) -> FileReport: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[FileReport, ...]: ...

    def __getitem__(self, key: int | slice) -> FileReport | tuple[FileReport, ...]:
        """Describe one file, or the files of a slice."""
        index = range(len(self))[key]
        if not isinstance(index, int):
            return tuple(map(self.__getitem__, index))
        positions = range(self._first[index], self._first[index + 1])
        return _file(self._plan, index, positions, self._reasons, self._levels)


def _file(
    plan: PlannedRead, file: int, positions: Sequence[int], reasons: Reasons, levels: NDArray[np.int64]
) -> FileReport:
    """Describe a file by some or all of its row groups."""
    first, stop = np.searchsorted(plan.index.groups.file, [file, file + 1])
    groups = tuple(_row_group(plan, i, int(levels[i]), reasons) for i in positions)
    return FileReport(
        redacted(plan.index.groups.files[file].path), _file_verdict(plan.evaluation.access.verdict[first:stop]), groups
    )


def _file_verdict(verdicts: NDArray[np.uint8]) -> VerdictName:
    # A file without row groups counts as skipped.
    unique = set(verdicts.tolist()) or {int(Verdict.SKIP)}
    return _VERDICTS[unique.pop()] if len(unique) == 1 else "selection"


def _row_group(plan: PlannedRead, position: int, credited: int, reasons: Reasons) -> RowGroupReport:
    evaluation, rows = plan.evaluation, int(plan.index.groups.row_count[position])
    verdict = _VERDICTS[evaluation.access.verdict[position]]
    level, reason = _attribute(plan, position, credited, reasons)
    consulted = [state.level for state in evaluation.states if state.status == "consulted"]
    return RowGroupReport(
        index=int(plan.index.groups.ordinal[position]),
        row_count=rows,
        verdict=verdict,
        ranges=() if verdict == "skip" else _pairs(evaluation.access.ranges, position),
        matches=() if verdict == "skip" else _pairs(evaluation.access.matches, position),
        evidence=tuple(consulted[: consulted.index(level) + 1]) if level in consulted else tuple(consulted),
        reason=reason,
        level=level,
        bytes=int(plan.sizes.bytes[position]),
        kept_bytes=int(plan.kept.bytes[position]),
        kept_by=reasons.kept_by(position) if plan.kept.rows[position] else (),
    )


def _attribute(plan: PlannedRead, position: int, credited: int, reasons: Reasons) -> tuple[str, str]:
    """Return the first level that drops rows of a row group, and the reason for it."""
    evaluation = plan.evaluation
    rows, remaining_rows = int(plan.index.groups.row_count[position]), int(plan.kept.rows[position])
    if rows == 0:
        return "", "it has no rows"
    if credited < 0:
        return "", f"may match: {reasons.kept(position)}"
    if credited < len(evaluation.of_row_groups):
        state = evaluation.of_row_groups[credited]
        return state.level, reasons.skipped_by(state, position)
    skipped = f"page bounds skip {rows - remaining_rows:,} of {rows:,} rows"
    return (
        evaluation.pages.level,
        skipped if remaining_rows == 0 else f"{skipped}; the others may match: {reasons.kept(position)}",
    )


def _pairs(ranges: RangeList, position: int) -> tuple[tuple[int, int], ...]:
    first, last = np.searchsorted(ranges.row_group, (position, position + 1))
    return tuple(zip(ranges.start[first:last].tolist(), ranges.stop[first:last].tolist(), strict=True))


def credited_level(plan: PlannedRead) -> NDArray[np.int64]:
    """Return, for each row group, the number of the first level that drops rows of it; -1 if none does."""
    evaluation, rows = plan.evaluation, plan.index.groups.row_count
    level = np.full(len(plan.index), -1, np.int64)
    for level_index, state in enumerate(evaluation.of_row_groups):
        level[(level < 0) & ~state.remaining] = level_index
    level[(level < 0) & (plan.kept.rows < rows)] = len(evaluation.of_row_groups)
    level[rows == 0] = -1
    return level


def table_map(plan: PlannedRead) -> tuple[MapCell, ...]:
    """Split the row groups into at most `MAX_CELLS` runs of equal length, in file order."""
    index, count = plan.index, len(plan.index)
    run = max(-(-count // MAX_CELLS), 1)
    cell = np.arange(count) // run
    cells = int(cell[-1]) + 1 if count else 0
    first = np.arange(cells) * run
    last = np.minimum(first + run, count) - 1
    level, skipped = credited_level(plan), plan.sizes.bytes - plan.kept.bytes
    is_credited = level >= 0
    width = len(plan.evaluation.states)
    by_level = _sums(cell[is_credited] * width + level[is_credited], skipped[is_credited], cells * width).reshape(
        cells, width
    )
    size, kept_bytes = _sums(cell, plan.sizes.bytes, cells), _sums(cell, plan.kept.bytes, cells)
    read = np.bincount(cell, plan.kept.rows > 0, minlength=cells).astype(np.int64)
    return tuple(
        MapCell(
            first_file=redacted(index.groups.files[index.groups.file[a]].path),
            first_row_group=int(index.groups.ordinal[a]),
            last_file=redacted(index.groups.files[index.groups.file[b]].path),
            last_row_group=int(index.groups.ordinal[b]),
            row_groups=b - a + 1,
            kept_row_groups=int(read[i]),
            bytes=int(size[i]),
            kept_bytes=int(kept_bytes[i]),
            skipped_bytes=tuple(by_level[i].tolist()),
        )
        for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
    )


def _sums(cell: NDArray[np.int64], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    # np.add.at sums integers exactly; np.bincount would convert them to floats.
    total = np.zeros(count, np.int64)
    np.add.at(total, cell, values)
    return total
