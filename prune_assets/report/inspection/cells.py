"""Tables of an inspection that fit the width.

Numbers are never cut: a column of numbers that does not fit is left out and named. Texts wrap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

_GAP = 2
_NAME_WIDTH = 30
_TEXT_WIDTH = 12
_NUMBER = re.compile(r"~?'?[-+]?[\d,.]+(e[-+]?\d+)?'?")


def cells(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Collection[str] = (), spare: Sequence[str] = ()
) -> RenderableType:
    """Lay out rows of cells under titles.

    `numeric`: titles of columns that are right-aligned and never wrap.
    `spare`: titles of the columns that are left out first, in this order, if the width is too small. Then columns are
    left out from the right. The output names the columns that are left out.
    """
    rows = list(rows)
    columns = [
        _column(title, [row[i] for row in rows], is_number=title in numeric, is_first=i == 0)
        for i, title in enumerate(titles)
    ]
    return _Cells(columns, spare)


@dataclass(frozen=True, slots=True, eq=False)
class _CellColumn:
    """A column: its cells and its widths in characters.

    `least`: smallest width of the column.
    `content`: width at which each cell is on one line.
    `whole`: width at which each cell and the title are on one line.
    """

    title: str
    values: Sequence[str]
    is_number: bool
    least: int
    content: int
    whole: int


def _column(title: str, values: Sequence[str], *, is_number: bool, is_first: bool) -> _CellColumn:
    content = max(map(cell_len, [*title.split(), *values]))
    words = [word for value in values for word in value.split()]
    uncut = [*title.split(), *filter(_NUMBER.fullmatch, words)]
    least = max(*map(cell_len, uncut), min(_TEXT_WIDTH, max(map(cell_len, words), default=0)))
    if is_number:
        least = content
    elif is_first:
        least = max(least, min(content, _NAME_WIDTH))
    return _CellColumn(title, values, is_number, least, content, max(content, cell_len(title)))


@dataclass(frozen=True, slots=True)
class _Cells:
    """A table that adapts to the available width."""

    columns: Sequence[_CellColumn]
    spare: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        visible = self._fit_columns(options.max_width)
        yield _table(visible, options.max_width)
        left_out = [column.title for column in self.columns if column not in visible]
        if left_out:
            width = console.width - options.max_width + _least(self.columns)
            how = f"a width of {width} (COLUMNS={width}) or --json shows {'it' if len(left_out) == 1 else 'them'}"
            yield Text(f"left out: {', '.join(left_out)}; {how}", style="dim")

    def _fit_columns(self, width: int) -> list[_CellColumn]:
        first, *others = self.columns
        spare = [column for title in self.spare for column in others if column.title == title]
        visible = [first]
        for column in [*(column for column in others if column not in spare), *spare[::-1]]:
            if _least([*visible, column]) <= width:
                visible.append(column)
        return [column for column in self.columns if column in visible]


def _least(columns: Sequence[_CellColumn]) -> int:
    return sum(column.least for column in columns) + _GAP * (len(columns) - 1)


def _table(columns: Sequence[_CellColumn], width: int) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    for column, own in zip(columns, _widths(columns, width), strict=True):
        table.add_column(column.title, overflow="fold", width=own, justify="right" if column.is_number else "left")
    for row in zip(*(column.values for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _widths(columns: Sequence[_CellColumn], width: int) -> list[int]:
    """Distribute the width that remains after each column has its minimum width.

    The narrowest column grows first. Columns grow until their cells fit, and only then until their titles fit.
    """
    widths = [column.least for column in columns]
    left = width - _least(columns)
    for wanted in ([column.content for column in columns], [column.whole for column in columns]):
        while left > 0 and (growing := [i for i, own in enumerate(widths) if own < wanted[i]]):
            widths[min(growing, key=widths.__getitem__)] += 1
            left -= 1
    return widths if left >= 0 else [width]
