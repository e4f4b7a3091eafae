"""Console form of a Delta log: features, files by size, statistics by column, and log health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.inspection.cells import cells
from prune_assets.report.inspection.parts import grid, more, name_text, names_text, section, sizes_table
from prune_assets.report.quantities import clipped, share_text, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from deltalog.inspection import DeltaInspection, Orphans

_SHOWN_COLUMNS = 60
_SHOWN = 10
_LONGEST = 200
_DEMANDS = {
    "checkConstraints": "Check",
    "invariants": "Invariant",
    "generatedColumns": "Generated",
    "identityColumns": "Identity from",
}


def print_delta(log: DeltaInspection, console: Console) -> None:
    """Print a version of a Delta table."""
    parts: list[RenderableType] = [grid(_header(log))]
    parts += section("Log", grid(_log(log)))
    parts += section("Files by size", sizes_table(log.sizes))
    if log.columns:
        parts += section("File statistics by column", _columns(log))
        parts += more(len(log.columns) - _SHOWN_COLUMNS, "columns", "--json shows all, --column NAME one")
    if log.orphans is not None:
        parts += section("Files that no version references", grid(_orphans(log.orphans)))
    for part in parts:
        console.print(part, highlight=False, soft_wrap=False)


def _header(log: DeltaInspection) -> Iterator[tuple[str, str]]:
    yield "Delta table", printable(log.path)
    made = "" if log.time is None else f", committed at {utc_text(log.time)}"
    yield "Version", f"{log.version:,}{made}"
    yield "Protocol", f"reader {log.reader_version}, writer {log.writer_version}"
    for who, features in (("Reader", log.reader_features), ("Writer", log.writer_features)):
        if features:
            yield f"{who} features", printable(clipped(", ".join(features), _LONGEST))
    if log.column_mapping != "none":
        yield "Column mapping", f"by {log.column_mapping}"
    if log.partitions:
        yield "Partitioned by", names_text(log.partitions, _SHOWN)
    if log.clustered_by:
        yield "Clustered by", names_text(log.clustered_by, _SHOWN)
    yield from _demands(log)
    yield "Files", f"{log.files:,}, {bytes_text(log.bytes)}"
    yield "Rows", _rows(log)
    for name, value in list(log.properties.items())[:_SHOWN]:
        yield "Property", f"{name_text(name)} = {printable(clipped(value, _LONGEST))}"
    if len(log.properties) > _SHOWN:
        yield "", f"… and {len(log.properties) - _SHOWN:,} more; --json shows all"


def _demands(log: DeltaInspection) -> Iterator[tuple[str, str]]:
    if log.not_null:
        yield "Not null", names_text(log.not_null, _SHOWN)
    for demand in log.constraints[:_SHOWN]:
        yield _DEMANDS[demand.feature], f"{name_text(demand.name)}: {printable(clipped(demand.sql, _LONGEST))}"
    if len(log.constraints) > _SHOWN:
        yield "", f"… and {len(log.constraints) - _SHOWN:,} more; --json shows all"


def _rows(log: DeltaInspection) -> str:
    unknown = f"not known: the log has no row count for {counted(log.files_without_rows, 'file')}"
    rows = unknown if log.rows is None else f"{log.rows:,}"
    if not log.deletion_vectors:
        return rows
    return f"{rows}; deletion vectors of {counted(log.deletion_vectors, 'file')} hide {log.deleted_rows:,} more"


def _log(inspection: DeltaInspection) -> Iterator[tuple[str, str]]:
    log = inspection.log
    yield "Checkpoint", "none" if log.checkpoint is None else f"of version {log.checkpoint:,}"
    yield "Commits since", f"{log.commits_since_checkpoint:,}"
    yield "Opened", f"{counted(log.opened_files, 'file')}, {bytes_text(log.opened_bytes)}"
    for note in log.notes[:_SHOWN]:
        yield "Note", printable(clipped(note, _LONGEST))


def _orphans(orphans: Orphans) -> Iterator[tuple[str, str]]:
    yield "Orphans", f"{counted(orphans.files, 'file')}, {bytes_text(orphans.bytes)}" if orphans.files else "none"
    for path in orphans.first[:_SHOWN]:
        yield "", printable(clipped(path, _LONGEST))
    if orphans.files > _SHOWN:
        yield "", f"… and {orphans.files - _SHOWN:,} more"


def _columns(log: DeltaInspection) -> RenderableType:
    rows = [
        (
            name_text(column.name),
            printable(clipped(column.type, 40)),
            share_text(column.bounds, log.files),
            share_text(column.null_counts, log.files),
            printable(clipped(column.why, _LONGEST)),
        )
        for column in log.columns[:_SHOWN_COLUMNS]
    ]
    return cells(("column", "type", "bounds", "null counts", "reason"), rows, numeric=("bounds", "null counts"))
