"""Console form of an inspection: a few screens for any file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.inspection.cells import cells
from prune_assets.report.inspection.columns import column_block, column_lines
from prune_assets.report.inspection.parts import (
    grid,
    line,
    more,
    name_text,
    number_text,
    section,
    sizes_table,
    sizes_text,
    sorting_text,
)
from prune_assets.report.quantities import clipped, short_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from parquet_core.inspection.facts import (
        BloomProbe,
        FileInspection,
        ProbeFacts,
        RowGroupFacts,
        TableInspection,
        Verdict,
    )

SHOWN_ROW_GROUPS = 10
SHOWN_BLOCKS = 8
_SHOWN = 10
_SHOWN_PROBES = 20
_LONGEST_PATH = 70
_LONGEST_VALUE = 60
_VERDICTS: dict[Verdict, str] = {"maybe": "may contain it", "unknown": "unknown", "absent": "without it"}


def print_file(file: FileInspection, groups: Sequence[RowGroupFacts], console: Console, *, pages: bool) -> None:
    """Print a file, its first row groups, and a block for each column that `groups` contain."""
    parts: list[RenderableType] = [grid(_file_header(file))]
    if file.probe is not None:
        parts += _probe(file.probe, file.path)
    else:
        parts += column_lines(file.columns) + _row_groups(file, groups)
        chunks = len(groups[0].chunks) if groups else 0
        for position, column in enumerate(file.columns[:chunks]):
            parts += column_block(column, groups, position, pages=pages)
        parts += _rest(len(file.columns) - chunks, is_first=not chunks) if file.row_group_count else []
    _print(parts, console)


def _rest(columns: int, *, is_first: bool) -> list[RenderableType]:
    """Explain how to print a block for each column that is only listed in one line."""
    how = "--columns NAME shows one, --json all"
    return section("Columns by row group", line(how)) if is_first else more(columns, "columns by row group", how)


def print_table(table: TableInspection, console: Console) -> None:
    """Print a table: its columns over all files, and how to inspect one file."""
    parts: list[RenderableType] = [grid(_table_header(table))]
    if table.probe is not None:
        parts += _probe(table.probe, table.path)
    else:
        parts += section("Differences", *map(line, table.differences[:_SHOWN])) if table.differences else []
        parts += more(len(table.differences) - _SHOWN, "differences", "--json shows all")
        parts += section("Files by size", sizes_table(table.sizes)) + column_lines(table.columns) + _files(table)
    _print(parts, console)


def _print(parts: Sequence[RenderableType], console: Console) -> None:
    for part in parts:
        console.print(part, highlight=False, soft_wrap=False)


def _file_header(file: FileInspection) -> Iterator[tuple[str, str]]:
    yield "File", printable(file.path)
    yield "Size", f"{bytes_text(file.bytes)}, including a footer of {bytes_text(file.footer_bytes)}"
    other = "" if file.rows == file.footer_rows else f"; the footer claims {file.footer_rows:,}"
    yield "Rows", f"{file.rows:,}{other}"
    yield "Row groups", f"{file.row_group_count:,} {sizes_text(file.row_group_rows, file.row_group_bytes)}"
    yield "Written by", printable(clipped(file.created_by, 200)) or "?"
    for entry in file.key_values[:_SHOWN]:
        value = printable(clipped(entry.value, _LONGEST_VALUE))
        yield "Key-value", f"{name_text(entry.key)}, {bytes_text(entry.bytes)}: {value}"
    if len(file.key_values) > _SHOWN:
        yield "", f"… and {len(file.key_values) - _SHOWN:,} more; --json shows all"


def _table_header(table: TableInspection) -> Iterator[tuple[str, str]]:
    yield "Table", printable(table.path)
    yield "Files", f"{len(table.files):,}, {bytes_text(table.bytes)}"
    yield "Rows", f"{table.rows:,} in {counted(table.row_groups, 'row group')}"
    for writer in table.writers[:_SHOWN]:
        yield "Written by", f"{printable(clipped(writer.created_by, 200)) or '?'} ({counted(writer.files, 'file')})"
    if len(table.writers) > _SHOWN:
        yield "", f"… and {len(table.writers) - _SHOWN:,} more; --json shows all"
    if table.partitions:
        yield "Partitioned by", ", ".join(map(name_text, table.partitions[:_SHOWN]))
    if table.schema_file is not None:
        yield "Schema from", printable(table.schema_file)


def _row_groups(file: FileInspection, groups: Sequence[RowGroupFacts]) -> list[RenderableType]:
    rows = (
        (
            f"{group.index:,}",
            number_text(group.rows),
            bytes_text(group.compressed_bytes),
            sorting_text(group.sorting_columns),
        )
        for group in groups
    )
    titles = ("row group", "rows", "bytes", "declared sort order")
    return section(
        f"Row groups ({file.row_group_count:,})",
        cells(titles, rows, numeric=titles[:3]),
        *more(file.row_group_count - len(groups), "row groups", "--json shows all"),
    )


def _files(table: TableInspection) -> list[RenderableType]:
    shown = table.files[:_SHOWN]
    rows = (
        (
            printable(short_path(file.path, table.path, _LONGEST_PATH)),
            number_text(file.rows),
            number_text(file.row_groups),
            bytes_text(file.bytes),
        )
        for file in shown
    )
    titles = ("file", "rows", "row groups", "bytes")
    return section(
        f"Files ({len(table.files):,})",
        cells(titles, rows, numeric=titles[1:]),
        *more(len(table.files) - len(shown), "files", "--json shows all"),
        line(f"one file with its row groups and pages: prune inspect {shown[0].path}"),
    )


def _probe(probe: BloomProbe, target: str) -> list[RenderableType]:
    counts = Counter(fact.verdict for fact in probe.row_groups)
    total = len(probe.row_groups)
    summary = ", ".join(f"{counts[verdict]:,} {words}" for verdict, words in _VERDICTS.items() if counts[verdict])
    condition = f"{name_text(probe.column)} = {printable(clipped(probe.value, _LONGEST_VALUE))}"
    headings = ("file", "row group", "result")
    decided = [fact for fact in probe.row_groups if fact.verdict != "unknown"]
    ranked = sorted(decided, key=lambda fact: list(_VERDICTS).index(fact.verdict))[:_SHOWN_PROBES]
    reasons = Counter(fact.reason for fact in probe.row_groups if fact.verdict == "unknown").most_common()
    return section(
        f"Bloom filters probed for {condition}",
        line(f"{counted(total, 'row group')}: {summary}" if total else "the file has no row groups"),
        *(
            line(f"{counted(count, 'row group')} unknown: {printable(clipped(reason, 200))}")
            for reason, count in reasons[:_SHOWN_PROBES]
        ),
        *([cells(headings, (_probe_line(fact, target) for fact in ranked), numeric=("row group",))] if decided else []),
        *more(len(decided) - len(ranked), "row groups", "--json shows all"),
    )


def _probe_line(fact: ProbeFacts, target: str) -> tuple[str, ...]:
    path = short_path(fact.file, target, _LONGEST_PATH)
    return printable(path), f"{fact.row_group:,}", _VERDICTS[fact.verdict]
