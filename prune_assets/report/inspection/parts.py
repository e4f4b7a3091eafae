"""Parts and words that the forms of an inspection share."""

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
    """Show a bound: texts in quotes, unknown as a question mark, what is long clipped.

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
    """Show a bound with a mark when it is only near a value; a dash where there is no value to bound.

    >>> bound_text("a", exact=False), bound_text(None, valueless=True)
    ("~'a'", '-')
    """
    if value is None and valueless:
        return NOTHING
    return f"~{value_text(value)}" if exact is False and value is not None else value_text(value)


def number_text(number: int | None) -> str:
    """Show a count with thousands separated.

    >>> number_text(1234), number_text(None)
    ('1,234', '?')
    """
    return UNKNOWN if number is None else f"{number:,}"


def nulls_text(nulls: int | None, nans: int | None) -> str:
    """Show how many values are null, and how many NaN if some are.

    >>> nulls_text(0, None), nulls_text(0, 2), nulls_text(None, 0)
    ('0', '0, 2 NaN', '?')
    """
    return f"{number_text(nulls)}, {nans:,} NaN" if nans else number_text(nulls)


def is_valueless(values: int, nulls: int | None, nans: int | None) -> bool:
    """Tell whether there is surely no value to bound: nulls and NaN alone.

    >>> is_valueless(3, 3, None), is_valueless(3, 1, 2), is_valueless(3, None, None)
    (True, True, False)
    """
    return nulls is not None and nulls + (0 if nans is None else nans) == values


def coverage_text(part: int, whole: int) -> str:
    """Show in how many of the row groups something is.

    >>> coverage_text(0, 3), coverage_text(3, 3), coverage_text(1, 3)
    ('none', 'all', '1 of 3')
    """
    if part == 0:
        return "none"
    return "all" if part == whole else f"{part:,} of {whole:,}"


def sizes_text(rows: Spread | None, sizes: Spread | None) -> str:
    """Show how many rows and bytes row groups or pages have: the same each, or min, median and max.

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
    """Show the type of a column and how it is stored."""
    stored = column.physical if column.type_length is None else f"{column.physical}({column.type_length})"
    return stored if column.type is None else f"{column.type} as {stored}"


def order_text(index: PageIndexFacts) -> str:
    """Show the boundary order that is claimed, and the true one where it is another."""
    claimed, actual = index.boundary_order, index.recomputed_order
    if claimed is None:
        return UNKNOWN if actual is None else f"{actual}, not claimed"
    return claimed if actual in {None, claimed} else f"claims {claimed}, is {actual}"


def filter_text(bloom: BloomFacts) -> str:
    """Show the size of a filter, and what its filling tells."""
    if bloom.bytes is None or bloom.fill is None or bloom.estimated_fpp is None:
        return NOTHING
    distinct = (
        "full" if bloom.estimated_distinct is None else f"about {counted(bloom.estimated_distinct, 'distinct value')}"
    )
    share, chance = percent_text(bloom.fill), percent_text(bloom.estimated_fpp)
    return f"{bytes_text(bloom.bytes)}, about {chance} false positives, {share} of bits set, {distinct}"


def percent_text(share: float) -> str:
    """Show a share with three significant digits.

    >>> percent_text(0.5), percent_text(0.0000123)
    ('50 %', '0.00123 %')
    """
    return f"{100 * share:.3g} %"


def sorting_text(columns: tuple[SortingColumn, ...]) -> str:
    """Show by what a row group claims to be sorted."""
    parts = (
        f"{printable(clipped(column.column, 40))} {'descending' if column.descending else 'ascending'}, "
        f"nulls {'first' if column.nulls_first else 'last'}"
        for column in columns[:5]
    )
    return "; ".join(parts) if columns else NOTHING


_LONGEST_NAME = 60
_LONGEST_LINE = 400


def grid(rows: Iterable[tuple[str, str]]) -> Table:
    """Lay out names and what they stand for."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
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


def names_text(names: Sequence[str], most: int) -> str:
    """Show the first `most` names and count the others."""
    return listed_with_count([name_text(name) for name in names], most)


def sizes_table(sizes: Sequence[SizeClass]) -> RenderableType:
    """Lay out how many files there are of each size, and their bytes."""
    rows, last = [], 0
    for size in sizes:
        upper = "and more" if size.below is None else f"to {bytes_text(size.below)}"
        if size.files:
            rows.append((f"{bytes_text(last)} {upper}", f"{size.files:,}", bytes_text(size.bytes)))
        last = last if size.below is None else size.below
    return cells(("size", "files", "bytes"), rows, numbers=("files", "bytes")) if rows else line("no file")
