"""Small multiples: the table after each level, what was gone before, what this level took, what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prune_assets.report.aggregate import map_cells
from prune_assets.report.quantities import bytes_text, share_text
from prune_assets.report.wording import level_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prune_assets.report.skip_report import Level, MapCell, SkipReport

_MOST_COLUMNS = 200
HEIGHT = 40


class LevelStrip(NamedTuple):
    """One picture: a column for each run of row groups, in file order; `outlines`: colour class and SVG path."""

    title: str
    said: str
    width: int
    outlines: tuple[tuple[str, str], ...]


def level_strips(report: SkipReport, colours: Mapping[str, str]) -> tuple[LevelStrip, ...]:
    """Return a picture for each level that skips something."""
    cells = map_cells(report, _MOST_COLUMNS)
    shown = [i for i, level in enumerate(report.levels) if level.skipped_bytes and cells]
    return tuple(_strip(report.levels[i], i, cells, colours[report.levels[i].level]) for i in shown)


def _strip(level: Level, number: int, cells: Sequence[MapCell], colour: str) -> LevelStrip:
    columns = [_cuts(cell, number) for cell in cells]
    classes = ("gone", colour, "kept")
    paths = ("".join(_rectangles(columns, part)) for part in range(3))
    share = share_text(level.skipped_bytes, level.total.bytes)
    said = f"{share} skipped: {bytes_text(level.total.bytes)} → {bytes_text(level.kept.bytes)}"
    return LevelStrip(level_title(level.level), said, len(cells), tuple(zip(classes, paths, strict=True)))


def _cuts(cell: MapCell, number: int) -> tuple[int, int, int, int]:
    """Cut a column, from above, where earlier levels end, where this one does, and at its foot."""
    if cell.bytes == 0:
        return (0, HEIGHT, HEIGHT, HEIGHT)
    before = sum(cell.skipped_bytes[:number])
    after = before + cell.skipped_bytes[number]
    # What is left is rounded up: it is seen however small it is.
    return 0, before * HEIGHT // cell.bytes, after * HEIGHT // cell.bytes, HEIGHT


def _rectangles(columns: Sequence[tuple[int, int, int, int]], part: int) -> Iterator[str]:
    """Yield the rectangles of one part, neighbours of one height joined."""
    start = 0
    for i in range(1, len(columns) + 1):
        if i < len(columns) and columns[i][part : part + 2] == columns[start][part : part + 2]:
            continue
        top, foot = columns[start][part : part + 2]
        if foot > top:
            yield f"M{start} {top}h{i - start}v{foot - top}h{start - i}z"
        start = i
