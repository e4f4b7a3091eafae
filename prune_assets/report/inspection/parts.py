"""Parts and texts shared by the forms of an inspection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parquet_core.inspection.facts import Hex
from parquet_core.printable import listed_with_count, printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.inspection.cells import cells
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import RenderableType

    from parquet_core.inspection.facts import (
        BloomFacts,
        ColumnFacts,
        PageIndexFacts,
        SortingColumn,
        Spread,
        Value,
    )
    from parquet_core.inspection.sizes import SizeClass


# A timestamp with microseconds and a zone has 27 characters.
_LONGEST_BOUND = 32
UNKNOWN = "?"
NOTHING = "-"


def value_text(value: Value) -> str:
    """Format a bound: strings in quotes, unknown as a question mark, long values clipped.

    >>> value_text("a"), value_text(Hex("00ff")), value_text(None), value_text(0), value_text("x" * 40)
    ("'a'", '0x00ff', '?', '0', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (40 characters)")
    """
    match value:
        case None:
            return UNKNOWN
        case Hex(digits):
            return clipped(f"0x{digits}", _LONGEST_BOUND)
        case str() if len(value) > _LONGEST_BOUND:
            return printable(f"'{clipped(value, _LONGEST_BOUND)}")
        case str():
            return printable(f"'{value}'")
        case _:
            return str(value)


def bound_text(value: Value, *, exact: bool | None = None, valueless: bool = False) -> str:
    """Format a bound, with `~` if it is inexact.

    `valueless`: if True, there are no values to bound, and the result is a dash.

    >>> bound_text("a", exact=False), bound_text(None, valueless=True)
    ("~'a'", '-')
    """
    if value is None and valueless:
        return NOTHING
    return f"~{value_text(value)}" if exact is False and value is not None else value_text(value)


def number_text(count: int | None) -> str:
    """Format a count with thousands separators.

    >>> number_text(1234), number_text(None)
    ('1,234', '?')
    """
    return UNKNOWN if count is None else f"{count:,}"


def nulls_text(nulls: int | None, nans: int | None) -> str:
    """Format the number of nulls, followed by the number of NaN if there are any.

    >>> nulls_text(0, None), nulls_text(0, 2), nulls_text(None, 0)
    ('0', '0, 2 NaN', '?')
    """
    return f"{number_text(nulls)}, {nans:,} NaN" if nans else number_text(nulls)


def is_valueless(values: int, nulls: int | None, nans: int | None) -> bool:
    """Return True if all values are certainly null or NaN, so that there is no value to bound.

    >>> is_valueless(3, 3, None), is_valueless(3, 1, 2), is_valueless(3, None, None)
    (True, True, False)
    """
    return nulls is not None and nulls + (0 if nans is None else nans) == values


def coverage_text(part: int, whole: int) -> str:
    """Format how many of the row groups have a property.

    >>> coverage_text(0, 3), coverage_text(3, 3), coverage_text(1, 3)
    ('none', 'all', '1 of 3')
    """
    if part == 0:
        return "none"
    return "all" if part == whole else f"{part:,} of {whole:,}"


def sizes_text(rows: Spread | None, sizes: Spread | None) -> str:
    """Format the rows and bytes of row groups or pages: one figure if all are equal, otherwise min, median and max.

    >>> from parquet_core.inspection.facts import Spread
    >>> sizes_text(Spread(5, 5, 5), Spread(10, 20, 900))
    'of 5 rows, 10 B / 20 B / 900 B (min / median / max)'
    """
    if rows is None or sizes is None:
        return ""
    several = rows.min != rows.max or sizes.min != sizes.max
    legend = " (min / median / max)" if several else ""
    return f"of {_spread(rows, '{:,}'.format)} rows, {_spread(sizes, bytes_text)}{legend}"


def _spread(spread: Spread, show: Callable[[int], str]) -> str:
    if spread.min == spread.max:
        return show(spread.min)
    return " / ".join(map(show, (spread.min, spread.median, spread.max)))


def type_text(column: ColumnFacts) -> str:
    """Format the logical and the physical type of a column."""
    stored = column.physical if column.type_length is None else f"{column.physical}({column.type_length})"
    return stored if column.type is None else f"{column.type} as {stored}"


def order_text(index: PageIndexFacts) -> str:
    """Format the claimed boundary order, and the actual one if it differs."""
    claimed, actual = index.boundary_order, index.recomputed_order
    if claimed is None:
        return UNKNOWN if actual is None else f"{actual}, not claimed"
    return claimed if actual in {None, claimed} else f"claims {claimed}, is {actual}"


def filter_text(bloom: BloomFacts) -> str:
    """Format the size of a bloom filter, with the estimates that follow from its share of set bits."""
    if bloom.bytes is None or bloom.fill is None or bloom.estimated_fpp is None:
        return NOTHING
    distinct = (
        "full" if bloom.estimated_distinct is None else f"about {counted(bloom.estimated_distinct, 'distinct value')}"
    )
    share, chance = percent_text(bloom.fill), percent_text(bloom.estimated_fpp)
    return f"{bytes_text(bloom.bytes)}, about {chance} false positives, {share} of bits set, {distinct}"


def percent_text(share: float) -> str:
    """Format a share with three significant digits.

    >>> percent_text(0.5), percent_text(0.0000123)
    ('50 %', '0.00123 %')
    """
    return f"{100 * share:.3g} %"


def sorting_text(columns: tuple[SortingColumn, ...]) -> str:
    """Format the declared sort order of a row group."""
    parts = (
        f"{printable(clipped(column.column, 40))} {'descending' if column.descending else 'ascending'}, "
        f"nulls {'first' if column.nulls_first else 'last'}"
        for column in columns[:5]
    )
    return "; ".join(parts) if columns else NOTHING


_LONGEST_NAME = 60
_LONGEST_LINE = 400


def grid(rows: Iterable[tuple[str, str]]) -> Table:
    """Lay out names and their values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def section(title: str, *parts: RenderableType) -> list[RenderableType]:
    """Put a title above indented parts."""
    return [Text(f"\n{title}", style="bold"), *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts)]


def line(text: str) -> Text:
    """Return a line that may wrap."""
    return Text(printable(clipped(text, _LONGEST_LINE)), overflow="fold")


def more(count: int, what: str, how: str) -> list[RenderableType]:
    """Return a note that `count` items are omitted, and how to see them; empty if none are omitted."""
    return [Text(f"… and {count:,} more {what}; {how}", style="dim")] if count > 0 else []


def name_text(name: str) -> str:
    """Format a name."""
    return printable(clipped(name, _LONGEST_NAME))


def names_text(names: Sequence[str], most: int) -> str:
    """Format the first `most` names and the number of the others."""
    return listed_with_count([name_text(name) for name in names], most)


def sizes_table(sizes: Sequence[SizeClass]) -> RenderableType:
    """Lay out the number of files per size class, and their bytes."""
    rows, last = [], 0
    for size in sizes:
        upper = "and more" if size.below is None else f"to {bytes_text(size.below)}"
        if size.files:
            rows.append((f"{bytes_text(last)} {upper}", f"{size.files:,}", bytes_text(size.bytes)))
        last = last if size.below is None else size.below
    return cells(("size", "files", "bytes"), rows, numeric=("files", "bytes")) if rows else line("no file")
