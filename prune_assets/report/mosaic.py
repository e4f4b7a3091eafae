"""The map of a table: every row group as a cell, coloured by the level that removed it.

Three sizes of table, three forms of one thing: `strips`, a line for each file with widths by bytes;
`cells`, equal cells in file order; `bins`, equal cells that each stand for some successive row
groups, split by bytes. So the picture stays below a few megabytes for any number of row groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from parquet_core.printable import printable
from prune_assets.report.aggregate import map_cells
from prune_assets.report.cells import Cell, bin_cell, row_group_cell
from prune_assets.report.file_names import short_path
from prune_assets.report.quantities import bytes_text
from prune_assets.report.row_groups import PlacedRowGroup, placed_row_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prune_assets.report.skip_report import FileReport, SkipReport

_MOST_CELLS = 2_000
_MOST_BINS = 1_500
_MOST_STRIPS = 40
_MOST_CELLS_OF_A_STRIP = 200
_CELLS_A_LINE = 60
_LONGEST_LABEL = 44

STRIP_WIDTH = 1_000
STRIP_HEIGHT = 16
CELL_WIDTH = 16
CELL_HEIGHT = 14
_PITCH_X, _PITCH_Y = 18, 21
_GAP = 2
_BIN_RESOLUTION = 28
_NARROWEST = 3.0

Kind: TypeAlias = Literal["strips", "cells", "bins"]


class Placed(NamedTuple):
    """A cell and where its rectangle lies, in units of the drawing; `upright`: its spans count from its foot up."""

    cell: Cell
    x: float
    y: float
    width: float
    height: float
    upright: bool = False

    def outlines(self) -> Iterator[tuple[str, str]]:
        """Yield a colour class and the SVG path of all rectangles of that colour."""
        for colour, spans in self.cell.colours:
            yield colour, "".join(self._rectangle(start, stop) for start, stop in spans)

    def _rectangle(self, start: int, stop: int) -> str:
        unit = (self.height if self.upright else self.width) / self.cell.resolution
        if self.upright:
            y = self.y + self.height - stop * unit
            return f"M{self.x:g} {y:g}h{self.width:g}v{(stop - start) * unit:g}h{-self.width:g}z"
        width = (stop - start) * unit
        return f"M{self.x + start * unit:g} {self.y:g}h{width:g}v{self.height:g}h{-width:g}z"


class Underline(NamedTuple):
    """The cells of one file on one line of the grid: files are told apart by alternate shades."""

    x: float
    y: float
    width: float
    shade: int


class Strip(NamedTuple):
    """A line of the map: one file."""

    label: str
    size: str
    cells: tuple[Placed, ...]


class Mosaic(NamedTuple):
    """The whole map; `strips` for few files, else `cells` on one drawing of `width` x `height`."""

    kind: Kind
    strips: tuple[Strip, ...]
    cells: tuple[Placed, ...]
    underlines: tuple[Underline, ...]
    width: int
    height: int
    per_cell: int


def mosaic(report: SkipReport, colours: Mapping[str, str]) -> Mosaic:
    """Draw the map of a report; `colours`: the colour class of each level."""
    if report.files_complete and _fits_strips(report.files):
        return Mosaic("strips", _strips(report, colours), (), (), STRIP_WIDTH, STRIP_HEIGHT, 1)
    placed = list(placed_row_groups(report))
    if report.files_complete and len(placed) <= _MOST_CELLS:
        cells = [row_group_cell(item, report.table, colours, CELL_WIDTH) for item in placed]
        return _grid("cells", cells, _underlines(report.files), 1)
    runs = map_cells(report, _MOST_BINS)
    per_cell = max((run.row_groups for run in runs), default=1)
    return _grid("bins", [bin_cell(run, report.table, colours, _BIN_RESOLUTION) for run in runs], (), per_cell)


def _fits_strips(files: Sequence[FileReport]) -> bool:
    return len(files) <= _MOST_STRIPS and all(len(file.row_groups) <= _MOST_CELLS_OF_A_STRIP for file in files)


def _strips(report: SkipReport, colours: Mapping[str, str]) -> tuple[Strip, ...]:
    sizes = [sum(group.bytes for group in file.row_groups) for file in report.files]
    largest = max(sizes, default=0)
    return tuple(_strip(file, report.table, colours, largest) for file in report.files)


def _strip(file: FileReport, table: str, colours: Mapping[str, str], largest: int) -> Strip:
    cells, x = [], 0.0
    for group in file.row_groups:
        # Columns may hold no bytes at all; the row group is there none the less.
        width = max(STRIP_WIDTH * group.bytes / largest if largest else 0.0, _NARROWEST)
        cell = row_group_cell(PlacedRowGroup(file.path, group), table, colours, STRIP_WIDTH)
        cells.append(Placed(cell, round(x, 2), 0, round(max(width - _GAP, _NARROWEST / 2), 2), STRIP_HEIGHT))
        x += width
    size = bytes_text(sum(group.bytes for group in file.row_groups))
    return Strip(printable(short_path(file.path, table, _LONGEST_LABEL)), size, tuple(cells))


def _grid(kind: Kind, cells: Sequence[Cell], underlines: tuple[Underline, ...], per_cell: int) -> Mosaic:
    # Runs of row groups stand side by side like the bars of a histogram.
    upright = kind == "bins"
    width = _PITCH_X - 0.5 if upright else CELL_WIDTH
    placed = tuple(Placed(cell, *_place(i), width, CELL_HEIGHT, upright) for i, cell in enumerate(cells))
    lines = -(-len(cells) // _CELLS_A_LINE)
    return Mosaic(kind, (), placed, underlines, _CELLS_A_LINE * _PITCH_X, lines * _PITCH_Y, per_cell)


def _place(position: int) -> tuple[int, int]:
    line, column = divmod(position, _CELLS_A_LINE)
    return column * _PITCH_X, line * _PITCH_Y


def _underlines(files: Sequence[FileReport]) -> tuple[Underline, ...]:
    lines, first = [], 0
    for shade, file in enumerate(files):
        after = first + len(file.row_groups)
        while first < after:
            stop = min(after, (first // _CELLS_A_LINE + 1) * _CELLS_A_LINE)
            x, y = _place(first)
            lines.append(Underline(x, y + CELL_HEIGHT + 1, (stop - first) * _PITCH_X - _GAP, shade % 2))
            first = stop
    return tuple(lines)
