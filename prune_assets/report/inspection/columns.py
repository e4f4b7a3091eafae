"""Columns on the console: one line per column, and one block per chosen column."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from parquet_core.quantities import bytes_text, counted
from prune_assets.report.inspection.cells import cells
from prune_assets.report.inspection.parts import (
    bound_text,
    coverage_text,
    filter_text,
    is_valueless,
    line,
    more,
    name_text,
    names_text,
    nulls_text,
    number_text,
    order_text,
    section,
    sizes_text,
    type_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parquet_core.inspection.facts import ChunkFacts, ColumnFacts, PageFacts, RowGroupFacts, WriterFault

SHOWN_COLUMNS = 40
SHOWN_PAGES = 30
_SHOWN_NAMES = 5
_TITLES = ("column", "type", "values", "bytes", "lower", "upper", "nulls", "page index", "bloom", "overlap depth")
_CHUNK_TITLES = ("row group", "values", "bytes", "dictionary", "lower", "upper", "nulls", "pages", "boundary order")
_PAGE_TITLES = ("row group", "first row", "rows", "offset", "bytes", "lower", "upper", "nulls")
_NUMBERS = ("values", "bytes", "nulls", "pages", "first row", "rows", "offset", "overlap depth", "row group")
# If the width is too small, columns that say little about pruning are left out first.
_SPARE = ("offset", "nulls", "bytes", "type", "dictionary", "values", "upper", "lower")


def column_lines(columns: Sequence[ColumnFacts]) -> list[RenderableType]:
    """Show one line per column, and why bounds are ignored."""
    shown = columns[:SHOWN_COLUMNS]
    parts = section(
        f"Columns ({len(columns):,})",
        cells(_TITLES, map(_column_line, shown), numeric=_NUMBERS, spare=_SPARE),
        *more(len(columns) - len(shown), "columns", "--columns NAME shows one, --json all"),
    )
    return [*parts, *_notes(columns)]


def _column_line(column: ColumnFacts) -> tuple[str, ...]:
    valueless = is_valueless(column.values, column.null_count, column.nan_count)
    depth = "-" if column.overlap_depth is None else f"{column.overlap_depth:.2f}"
    return (
        name_text(column.name),
        f"{type_text(column)}, {column.repetition}",
        number_text(column.values),
        bytes_text(column.compressed_bytes),
        bound_text(column.lower, valueless=valueless),
        bound_text(column.upper, valueless=valueless),
        nulls_text(column.null_count, column.nan_count),
        coverage_text(column.with_column_index, column.row_groups),
        coverage_text(column.with_bloom_filter, column.row_groups),
        depth,
    )


def _notes(columns: Sequence[ColumnFacts]) -> list[RenderableType]:
    untrusted = [(_doubt(column, reason), column.name) for column in columns for reason in column.untrusted]
    unpruned = [(f"does not prune: {column.unsupported}", column.name) for column in columns if column.unsupported]
    encrypted = [("encrypted", column.name) for column in columns if column.encrypted]
    by_note: dict[str, list[str]] = {}
    faults = [(_fault(fault), column.name) for column in columns for fault in column.writer_faults]
    for note, name in [*untrusted, *faults, *unpruned, *encrypted]:
        by_note.setdefault(note, []).append(name)
    lines = [f"{note} ({names_text(names, _SHOWN_NAMES)})" for note, names in list(by_note.items())[:SHOWN_COLUMNS]]
    return section("Notes", *map(line, lines)) if lines else []


def _doubt(column: ColumnFacts, reason: str) -> str:
    # If a file's `min_value` and `max_value` are ignored, its deprecated `min` and `max` may be trusted.
    return f"{'some bounds are' if column.with_bounds else 'bounds are'} ignored: {reason}"


def _fault(fault: WriterFault) -> str:
    return f"{' and '.join(fault.untrusted)} by {fault.writer} not trusted: {fault.what} ({fault.code})"


def column_block(
    column: ColumnFacts, groups: Sequence[RowGroupFacts], position: int, *, pages: bool
) -> list[RenderableType]:
    """Show one column in the given row groups.

    `position`: position of the column's chunks in a row group.
    `pages`: if True, list the pages too.
    """
    chunks = [(group.index, group.chunks[position]) for group in groups]
    parts: list[RenderableType] = [line(text) for text in _summary(column)]
    if chunks:
        parts.append(cells(_CHUNK_TITLES, (_chunk_line(*chunk) for chunk in chunks), numeric=_NUMBERS, spare=_SPARE))
    parts += more(column.row_groups - len(chunks), "row groups", "--json shows all")
    parts += map(line, _filters(chunks))
    parts += map(line, _reasons([chunk for _, chunk in chunks]))
    if pages and column.pages is not None:
        listed = [(i, page) for i, chunk in chunks for page in chunk.page_index.pages or ()][:SHOWN_PAGES]
        table = cells(_PAGE_TITLES, (_page_line(*page) for page in listed), numeric=_NUMBERS, spare=_SPARE)
        parts.append(table if listed else line("no page index in the row groups above, so no page is listed"))
        parts += more(column.pages.count - len(listed), "pages", "--pages --json shows all")
    return section(f"Column {name_text(column.name)}", *parts)


def _summary(column: ColumnFacts) -> Iterator[str]:
    levels = f"levels {column.max_definition_level} / {column.max_repetition_level} (definition / repetition)"
    order = column.column_order or "no column order"
    yield f"{type_text(column)}, {column.repetition}, {levels}; {order}"
    codecs, encodings = ", ".join(column.codecs) or "?", ", ".join(column.encodings) or "?"
    size = f"{bytes_text(column.compressed_bytes)}{_ratio(column)}"
    yield f"{size} in {counted(column.row_groups, 'chunk')}: {codecs}; {encodings}"
    if column.pages is not None and column.pages.count:
        yield f"{counted(column.pages.count, 'page')} {sizes_text(column.pages.rows, column.pages.compressed_bytes)}"


def _ratio(column: ColumnFacts) -> str:
    if column.uncompressed_bytes is None or column.compressed_bytes == 0:
        return ""
    return f" ({bytes_text(column.uncompressed_bytes)} uncompressed)"


def _chunk_line(index: int, chunk: ChunkFacts) -> tuple[str, ...]:
    valueless = is_valueless(chunk.values, chunk.null_count, chunk.nan_count)
    return (
        f"{index:,}",
        number_text(chunk.values),
        bytes_text(chunk.compressed_bytes),
        chunk.dictionary or "?",
        bound_text(chunk.lower, exact=chunk.min_exact, valueless=valueless),
        bound_text(chunk.upper, exact=chunk.max_exact, valueless=valueless),
        nulls_text(chunk.null_count, chunk.nan_count),
        number_text(chunk.data_pages if chunk.page_index.count is None else chunk.page_index.count),
        "-" if chunk.page_index.reason else order_text(chunk.page_index),
    )


def _filters(chunks: Sequence[tuple[int, ChunkFacts]]) -> Iterator[str]:
    for index, chunk in chunks:
        if not chunk.bloom_filter.reason:
            yield f"bloom filter of row group {index:,}: {filter_text(chunk.bloom_filter)}"


def _reasons(chunks: Sequence[ChunkFacts]) -> Iterator[str]:
    if any(False in (chunk.min_exact, chunk.max_exact) for chunk in chunks):
        yield "~ marks an inexact bound: no value needs to equal it"
    for what, reasons in (
        ("page index", Counter(chunk.page_index.reason for chunk in chunks)),
        ("bloom filter", Counter(chunk.bloom_filter.reason for chunk in chunks)),
    ):
        for reason, count in reasons.items():
            if reason:
                yield f"no {what} in {count:,} of {counted(len(chunks), 'row group')} above: {reason}"


def _page_line(index: int, page: PageFacts) -> tuple[str, ...]:
    valueless = is_valueless(page.rows, page.null_count, page.nan_count)
    return (
        f"{index:,}",
        f"{page.first_row:,}",
        f"{page.rows:,}",
        f"{page.offset:,}",
        bytes_text(page.compressed_bytes),
        bound_text(page.lower, valueless=valueless),
        bound_text(page.upper, valueless=valueless),
        nulls_text(page.null_count, page.nan_count),
    )
