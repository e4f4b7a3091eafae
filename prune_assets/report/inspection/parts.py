"""Pieces that the sections of the console form are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parquet_core.printable import printable
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

_LONGEST_NAME = 60
_NAME_WIDTH = 30
_LONGEST_LINE = 400


def grid(rows: Iterable[tuple[str, str]]) -> Table:
    """Lay out names and what they stand for."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def cells(titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> Table:
    """Lay out rows of cells under titles; the columns of `numbers` end at their right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    rows = list(rows)
    widest = max((cell_len(row[0]) for row in rows), default=0)
    for i, title in enumerate(titles):
        width = min(widest, _NAME_WIDTH) if i == 0 else None
        table.add_column(title, overflow="fold", min_width=width, justify="right" if title in numbers else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def section(title: str, *parts: RenderableType) -> list[RenderableType]:
    """Put a title over what is below it, indented."""
    return [Text(f"\n{title}", style="bold"), *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts)]


def line(text: str) -> Text:
    """Make a line that may fold."""
    return Text(printable(clipped(text, _LONGEST_LINE)), overflow="fold")


def more(count: int, what: str, how: str) -> list[RenderableType]:
    """Say how many are left out and how to see them; nothing when none is."""
    return [Text(f"… and {count:,} more {what}; {how}", style="dim")] if count > 0 else []


def name_text(name: str) -> str:
    """Show a name."""
    return printable(clipped(name, _LONGEST_NAME))
