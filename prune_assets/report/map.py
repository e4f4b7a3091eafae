"""Map of a table: one cell per row group, in the color of the level that removed the row group.

The size of the table decides the form. `strips`: one line per file, with widths proportional to bytes. `cells`: equal
cells in file order. `bins`: equal cells for runs of successive row groups, split by bytes. So the picture stays below
a few megabytes for any number of row groups.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from parquet_core.printable import printable
from parquet_core.pruning.known_levels import level_title
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import clipped, short_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prune_assets.report.skip_report import FileReport, MapCell, RowGroupReport, SkipReport

KEPT = "kept"
MATCHED = "matched"
OTHER = "other"
_MOST_STRIPS = 40
_MOST_CELLS_OF_A_STRIP = 200
_CELLS_A_LINE = 60
_LONGEST_PATH = 60
_LONGEST_LABEL = 44
_LONGEST_REASON = 240

STRIP_WIDTH = 1_000
STRIP_HEIGHT = 16
CELL_WIDTH = 16
CELL_HEIGHT = 14
_PITCH_X, _PITCH_Y = 18, 18
_GAP = 2
_BIN_RESOLUTION = 28
_NARROWEST = 3.0

Kind: TypeAlias = Literal["strips", "cells", "bins"]
Spans: TypeAlias = tuple[tuple[int, int], ...]


class Cell(NamedTuple):
    """A rectangle of the map, divided along one side into `resolution` units.

    `colours`: CSS color classes in painting order, each with the ranges of units that it fills.
    """

    title: str
    resolution: int
    colours: tuple[tuple[str, Spans], ...]


class PlacedCell(NamedTuple):
    """A cell and the position of its rectangle, in units of the drawing.

    `upright`: if True, the cell is divided into units from the bottom up; otherwise from left to right.
    """

    cell: Cell
    x: float
    y: float
    width: float
    height: float
    upright: bool = False

    def outlines(self) -> Iterator[tuple[str, str]]:
        """Yield each color class and the SVG path of all its rectangles."""
        for colour, spans in self.cell.colours:
            yield colour, "".join(self._rectangle(start, stop) for start, stop in spans)

    def _rectangle(self, start: int, stop: int) -> str:
        unit = (self.height if self.upright else self.width) / self.cell.resolution
        if self.upright:
            y = self.y + self.height - stop * unit
            return f"M{self.x:g} {y:g}h{self.width:g}v{(stop - start) * unit:g}h{-self.width:g}z"
        width = (stop - start) * unit
        return f"M{self.x + start * unit:g} {self.y:g}h{width:g}v{self.height:g}h{-width:g}z"


class Strip(NamedTuple):
    """One line of the map: one file."""

    label: str
    size: str
    cells: tuple[PlacedCell, ...]


class Map(NamedTuple):
    """The whole map.

    `strips`: one line per file, for few files; otherwise empty.
    `cells`: cells of one drawing of `width` x `height`, for many files.
    """

    kind: Kind
    strips: tuple[Strip, ...]
    cells: tuple[PlacedCell, ...]
    width: int
    height: int
    per_cell: int


def map_of(report: SkipReport, colours: Mapping[str, str]) -> Map:
    """Draw the map of a report.

    `colours`: color class of each level.
    """
    table = report.table
    if not report.files_complete:
        # Runs of row groups are drawn next to each other, like the bars of a histogram.
        bins = [bin_cell(run, table, colours, _BIN_RESOLUTION) for run in report.map]
        return _grid("bins", bins, max((run.row_groups for run in report.map), default=1))
    files = report.files
    if len(files) <= _MOST_STRIPS and all(len(file.row_groups) <= _MOST_CELLS_OF_A_STRIP for file in files):
        return Map("strips", _strips(report, colours), (), STRIP_WIDTH, STRIP_HEIGHT, 1)
    groups = ((file.path, group) for file in files for group in file.row_groups)
    return _grid("cells", [row_group_cell(path, group, table, colours, CELL_WIDTH) for path, group in groups], 1)


def _strips(report: SkipReport, colours: Mapping[str, str]) -> tuple[Strip, ...]:
    sizes = [sum(group.bytes for group in file.row_groups) for file in report.files]
    largest = max(sizes, default=0)
    return tuple(_strip(file, report.table, colours, largest) for file in report.files)


def _strip(file: FileReport, table: str, colours: Mapping[str, str], largest: int) -> Strip:
    cells, x = [], 0.0
    for group in file.row_groups:
        # A row group whose columns have no bytes stays visible.
        width = max(STRIP_WIDTH * group.bytes / largest if largest else 0.0, _NARROWEST)
        cell = row_group_cell(file.path, group, table, colours, STRIP_WIDTH)
        cells.append(PlacedCell(cell, round(x, 2), 0, round(max(width - _GAP, _NARROWEST / 2), 2), STRIP_HEIGHT))
        x += width
    size = bytes_text(sum(group.bytes for group in file.row_groups))
    return Strip(printable(short_path(file.path, table, _LONGEST_LABEL)), size, tuple(cells))


def _grid(kind: Kind, cells: Sequence[Cell], per_cell: int) -> Map:
    upright = kind == "bins"
    width = _PITCH_X - 0.5 if upright else CELL_WIDTH
    places = (divmod(i, _CELLS_A_LINE) for i in range(len(cells)))
    placed = tuple(
        PlacedCell(cell, column * _PITCH_X, line * _PITCH_Y, width, CELL_HEIGHT, upright)
        for cell, (line, column) in zip(cells, places, strict=True)
    )
    lines = -(-len(cells) // _CELLS_A_LINE)
    return Map(kind, (), placed, _CELLS_A_LINE * _PITCH_X, lines * _PITCH_Y, per_cell)


def row_group_cell(path: str, group: RowGroupReport, table: str, colours: Mapping[str, str], resolution: int) -> Cell:
    """Paint one row group in layers: the color of its level, the rows read, the rows proven to match."""
    whole = ((0, resolution),)
    painted: list[tuple[str, Spans]] = []
    if group.verdict != "scan":
        painted.append((colours.get(group.level, OTHER), whole))
    if group.verdict != "skip":
        ranges = whole if group.verdict == "scan" else spans(group.ranges, group.row_count, resolution)
        painted.append((KEPT, ranges))
        painted.append((MATCHED, spans(group.matches, group.row_count, resolution)))
    return Cell(_title(path, group, table), resolution, tuple(entry for entry in painted if entry[1]))


def bin_cell(cell: MapCell, table: str, colours: Mapping[str, str], resolution: int) -> Cell:
    """Paint a run of row groups as one cell, split into the bytes read and the bytes that each level skips.

    `colours`: color class of each level, in the order of `cell.skipped_bytes`.
    """
    parts = [(KEPT, cell.kept_bytes), *zip(colours.values(), cell.skipped_bytes, strict=True)]
    attributed = sum(size for _, size in parts)
    parts.append((OTHER, cell.bytes - attributed))
    return Cell(_bin_title(cell, table, list(colours)), resolution, _split(parts, resolution))


def spans(ranges: Iterable[tuple[int, int]], row_count: int, resolution: int) -> Spans:
    """Scale row ranges to units, rounding outwards, so that every row read stays visible.

    >>> spans([(0, 1), (500, 510), (990, 1000)], 1000, 20)
    ((0, 1), (10, 11), (19, 20))
    """
    if row_count == 0:
        return ()
    merged: list[tuple[int, int]] = []
    for first, last in ranges:
        start, stop = first * resolution // row_count, -(-last * resolution // row_count)
        if merged and merged[-1][1] >= start:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif stop > start:
            merged.append((start, stop))
    return tuple(merged)


def _split(parts: Sequence[tuple[str, int]], resolution: int) -> tuple[tuple[str, Spans], ...]:
    total = sum(size for _, size in parts)
    if total == 0:
        return ((OTHER, ((0, resolution),)),)
    # Cut points are rounded up, so that the first part, the bytes read, stays visible however small it is.
    cuts = [-(-done * resolution // total) for done in accumulate((size for _, size in parts), initial=0)]
    return tuple((colour, (cut,)) for (colour, _), cut in zip(parts, pairwise(cuts), strict=True) if cut[1] > cut[0])


def _title(path: str, group: RowGroupReport, table: str) -> str:
    # The row count of an unopened file is unknown without its footer.
    rows = f"{group.kept_rows:,} of {counted(group.row_count, 'row')}, " if group.index >= 0 else ""
    size = f"{bytes_text(group.kept_bytes)} of {bytes_text(group.bytes)}"
    lines = [_format_location(path, group.index, table), f"{group.verdict}: reads {rows}{size}"]
    if group.level:
        lines.append(f"by {level_title(group.level)}")
    if group.reason:
        lines.append(printable(clipped(group.reason, _LONGEST_REASON)))
    return "\n".join(lines)


def _bin_title(cell: MapCell, table: str, levels: Sequence[str]) -> str:
    skipped = zip(levels, cell.skipped_bytes, strict=True)
    lines = [
        f"{counted(cell.row_groups, 'row group')}, {cell.kept_row_groups:,} read",
        f"from {_format_location(cell.first_file, cell.first_row_group, table)}",
        f"to {_format_location(cell.last_file, cell.last_row_group, table)}",
        f"reads {bytes_text(cell.kept_bytes)} of {bytes_text(cell.bytes)}",
        *(f"{level_title(level)} skips {bytes_text(size)}" for level, size in skipped if size),
    ]
    return "\n".join(lines)


def _format_location(path: str, row_group: int, table: str) -> str:
    name = printable(short_path(path, table, _LONGEST_PATH))
    return f"{name} (not opened)" if row_group < 0 else f"{name} row group {row_group}"
