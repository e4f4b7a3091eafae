"""Snapshot of an Iceberg table, as data and on the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from parquet_core.inspection.facts import SCHEMA
from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.inspection.cells import cells
from prune_assets.report.inspection.parts import grid, more, name_text, section
from prune_assets.report.quantities import clipped, share_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

_SHOWN = 10
_SHOWN_COLUMNS = 60
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class IcebergColumnCoverage:
    """Number of files for which manifests have bounds of a column, and number for which they have null counts."""

    name: str
    type: str
    bounds: int
    null_counts: int


@dataclass(frozen=True, slots=True)
class IcebergPartitionField:
    """A field of a partition spec, and the number of files with this spec."""

    spec: int
    name: str
    column: str
    transform: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergInspection:
    """Snapshot of an Iceberg table according to its metadata.

    `snapshot_id`: id of the snapshot. None for a table without rows.
    `snapshots`: the latest retained snapshots, newest first.
    `rows`: rows as written, including rows that delete files delete.
    """

    schema: str = SCHEMA
    kind: Literal["iceberg"] = "iceberg"
    path: str
    metadata: str
    format_version: int
    snapshot_id: int | None
    snapshots: tuple[int, ...]
    partitions: tuple[IcebergPartitionField, ...]
    sorted_by: tuple[str, ...]
    files: int
    bytes: int
    rows: int
    files_with_position_deletes: int
    files_with_equality_deletes: int
    columns: tuple[IcebergColumnCoverage, ...]


def print_iceberg(inspection: IcebergInspection, console: Console) -> None:
    """Print a snapshot of an Iceberg table."""
    parts: list[RenderableType] = [grid(_header(inspection))]
    if inspection.columns:
        parts += section("File statistics by column", _columns(inspection))
        parts += more(len(inspection.columns) - _SHOWN_COLUMNS, "columns", "--json shows all, --column NAME one")
    for part in parts:
        console.print(part, highlight=False, soft_wrap=False)


def _header(inspection: IcebergInspection) -> Iterator[tuple[str, str]]:
    yield "Iceberg table", printable(inspection.path)
    yield "Metadata", f"{printable(inspection.metadata)}, format {inspection.format_version}"
    yield "Snapshot", "none: the table is empty" if inspection.snapshot_id is None else str(inspection.snapshot_id)
    for snapshot in inspection.snapshots[1:_SHOWN]:
        yield "Before", str(snapshot)
    for field in inspection.partitions[:_SHOWN]:
        of = counted(field.files, "file")
        yield "Partitioned by", f"{field.transform} of {name_text(field.column)} (spec {field.spec}, {of})"
    if inspection.sorted_by:
        yield "Sorted by", ", ".join(map(name_text, inspection.sorted_by))
    yield "Files", f"{inspection.files:,}, {bytes_text(inspection.bytes)}"
    yield "Rows", f"{inspection.rows:,}"
    if inspection.files_with_position_deletes:
        yield (
            "Position deletes",
            f"of {counted(inspection.files_with_position_deletes, 'file')}, whose rows count above",
        )
    if inspection.files_with_equality_deletes:
        yield (
            "Equality deletes",
            f"of {counted(inspection.files_with_equality_deletes, 'file')}, whose rows count above",
        )


def _columns(inspection: IcebergInspection) -> RenderableType:
    rows = [
        (
            name_text(column.name),
            printable(clipped(column.type, _LONGEST)),
            share_text(column.bounds, inspection.files),
            share_text(column.null_counts, inspection.files),
        )
        for column in inspection.columns[:_SHOWN_COLUMNS]
    ]
    return cells(("column", "type", "bounds", "null counts"), rows, numeric=("bounds", "null counts"))
