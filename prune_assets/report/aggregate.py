"""Runs of successive row groups as one cell each: what the map and the strips of a large table are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.report.row_groups import placed_row_groups
from prune_assets.report.skip_report import MapCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.report.row_groups import PlacedRowGroup
    from prune_assets.report.skip_report import SkipReport


def map_cells(report: SkipReport, most: int) -> tuple[MapCell, ...]:
    """Return the whole table as at most `most` cells, each of as many row groups as the others or cells."""
    cells = report.map or _of_row_groups(report)
    if not cells:
        return ()
    run = -(-len(cells) // most)
    return tuple(_joined(cells[start : start + run]) for start in range(0, len(cells), run)) if run > 1 else cells


def _of_row_groups(report: SkipReport) -> tuple[MapCell, ...]:
    numbers: dict[str, int] = {level.level: i for i, level in enumerate(report.levels)}
    return tuple(_of_row_group(item, numbers, len(report.levels)) for item in placed_row_groups(report))


def _of_row_group(item: PlacedRowGroup, numbers: dict[str, int], levels: int) -> MapCell:
    path, group = item
    number = numbers.get(group.level)
    skipped = tuple(group.bytes - group.kept_bytes if i == number else 0 for i in range(levels))
    read = int(group.verdict != "skip")
    return MapCell(path, group.index, path, group.index, 1, read, group.bytes, group.kept_bytes, skipped)


def _joined(cells: Sequence[MapCell]) -> MapCell:
    first, last = cells[0], cells[-1]
    return MapCell(
        first_file=first.first_file,
        first_row_group=first.first_row_group,
        last_file=last.last_file,
        last_row_group=last.last_row_group,
        row_groups=sum(cell.row_groups for cell in cells),
        kept_row_groups=sum(cell.kept_row_groups for cell in cells),
        bytes=sum(cell.bytes for cell in cells),
        kept_bytes=sum(cell.kept_bytes for cell in cells),
        skipped_bytes=tuple(map(sum, zip(*(cell.skipped_bytes for cell in cells), strict=True))),
    )
