"""Metadata of an Iceberg table: 100 manifests that list 100,000 files without data.

The table has ten columns and bounds of nine columns per file. Its partition columns are `day`, which ascends with the
file number, and `region`; each manifest has files of every region. Manifests are split into blocks as Iceberg's own
writer does.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.manifest import ManifestFile

PLACE = Path(".bench") / "iceberg_100000"
MANIFESTS, FILES_EACH = 100, 1_000
ROWS = 1_000
BLOCK = 64
FIRST_DAY = (dt.date(2024, 1, 1) - dt.date(1970, 1, 1)).days
FIRST_MS = FIRST_DAY * 86_400_000
REGIONS = ("DE", "FR", "US", "JP", "BR", "IN", "ZA", "AU")
SNAPSHOT = 1_000_001
# Every manifest has files of this region; only a few manifests have files of this day.
SCATTERED = "region = 'DE' AND id BETWEEN 5000000 AND 9000000 AND amount < 400"
CLUSTERED = "day = DATE '2024-02-10' AND id > 5000000 AND amount < 400"


def planned_here(metadata: str, where: str) -> int:
    """Return the number of files that remain after pruning with prune-assets."""
    from prune_assets.spark.lower_predicate import lower_predicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.opening import open_table

    table = open_table(metadata, semantics=SparkSemantics())
    return int(table.answers(lower_predicate(where, table, session=None).predicate).kept.sum())


def planned_by_pyiceberg(metadata: str, where: str) -> int:
    """Return the number of files that pyiceberg plans.

    The condition is rewritten because pyiceberg supports neither BETWEEN nor typed literals.
    """
    from pyiceberg.table import StaticTable

    where = where.replace("BETWEEN 5000000 AND", ">= 5000000 AND id <=").replace("DATE '", "'")
    return len(list(StaticTable.from_metadata(metadata).scan(row_filter=where).plan_files()))


def iceberg_files() -> Path:
    """Return the path of the table's metadata file; created once."""
    if not PLACE.is_dir():
        # Peak memory of a child process includes its parent's memory at the fork, so the table is created in another
        # process.
        subprocess.run([sys.executable, "-m", "benchmarks.iceberg"], check=True)
    return PLACE.absolute() / "metadata" / "v1.metadata.json"


def _make() -> None:
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.manifest import write_manifest_list

    part = PLACE.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "metadata").mkdir(parents=True)
    io, made = PyArrowFileIO(), [_manifest(i, part) for i in range(MANIFESTS)]
    listed = io.new_output(str((part / "metadata" / "snap-1.avro").absolute()))
    with write_manifest_list(2, listed, SNAPSHOT, None, 1, "deflate") as writer:
        writer.add_manifests(made)
    (part / "metadata" / "v1.metadata.json").write_text(json.dumps(_metadata()))
    (part / "metadata" / "version-hint.text").write_text("1")
    part.rename(PLACE)


def _metadata() -> dict[str, Any]:
    place = PLACE.absolute()
    kinds = {"id": "long", "ts": "timestamptz", "day": "date", "region": "string", "key": "string"}
    kinds |= {"amount": "decimal(12, 2)", "x": "double", "flag": "boolean", "a": "int", "b": "string"}
    fields = [{"id": i, "name": n, "required": False, "type": k} for i, (n, k) in enumerate(kinds.items(), 1)]
    by = [
        {"source-id": i, "field-id": 997 + i, "name": name, "transform": "identity"}
        for i, name in ((3, "day"), (4, "region"))
    ]
    snapshot = {
        "snapshot-id": SNAPSHOT,
        "sequence-number": 1,
        "timestamp-ms": FIRST_MS,
        "manifest-list": f"{place}/metadata/snap-1.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return {
        "format-version": 2,
        "table-uuid": str(uuid.UUID(int=1)),
        "location": str(place),
        "last-sequence-number": 1,
        "last-updated-ms": FIRST_MS,
        "last-column-id": len(fields),
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": by}],
        "default-spec-id": 0,
        "last-partition-id": 1001,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "snapshots": [snapshot],
        "current-snapshot-id": SNAPSHOT,
        "refs": {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}},
    }


def _manifest(number: int, part: Path) -> ManifestFile:
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, write_manifest
    from pyiceberg.table.metadata import TableMetadataUtil

    metadata = TableMetadataUtil.parse_obj(_metadata())
    at = str((part / "metadata" / f"m{number}.avro").absolute())
    writer = write_manifest(2, metadata.spec(), metadata.schema(), PyArrowFileIO().new_output(at), SNAPSHOT, "deflate")
    with writer:
        entries: list[ManifestEntry] = []
        flush = writer._writer.write_block
        writer._writer.write_block = entries.extend  # type: ignore[method-assign]
        for file in _files(number):
            status = ManifestEntryStatus.ADDED
            writer.add(
                ManifestEntry.from_args(status=status, sequence_number=1, file_sequence_number=1, data_file=file)
            )
        for first in range(0, len(entries), BLOCK):
            flush(entries[first : first + BLOCK])
    made = writer.to_manifest_file()
    made._data[0] = at.replace(".part/", "/")
    made.sequence_number = made.min_sequence_number = 1
    return made


def _files(manifest: int) -> Iterator[Any]:
    from pyiceberg.conversions import to_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record
    from pyiceberg.types import DateType, DecimalType, DoubleType, IntegerType, LongType, StringType, TimestamptzType

    from benchmarks.delta_logs import SCATTER

    kinds = {1: LongType(), 2: TimestamptzType(), 3: DateType(), 4: StringType(), 5: StringType()}
    kinds |= {6: DecimalType(12, 2), 7: DoubleType(), 9: IntegerType(), 10: StringType()}
    for i in range(manifest * FILES_EACH, (manifest + 1) * FILES_EACH):
        sign = f"{(i * SCATTER) % (1 << 64):016x}"
        day, region, first = FIRST_DAY + i // 400, REGIONS[i % len(REGIONS)], i * ROWS
        amount = amount_of(i * 7_919 % 1_000_000)
        low = {1: first, 2: (FIRST_MS + 37 * first) * 1000, 3: day, 4: region, 5: f"k{sign[:15]}", 6: amount}
        low |= {7: i % 997 / 10, 9: i % 5_000, 10: f"b{sign[:4]}"}
        high = low | {1: first + ROWS - 1, 2: (FIRST_MS + 37 * (first + ROWS)) * 1000, 5: f"z{sign[:15]}"}
        high |= {6: amount + 500, 7: i % 997 / 10 + 5.5, 9: i % 5_000 + 250, 10: f"y{sign[4:8]}"}
        name = f"{i % 100_000:05d}-{sign[:8]}-4{sign[8:11]}-8{sign[11:14]}-00001.parquet"
        yield DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{PLACE.absolute()}/data/day={day}/region={region}/{name}",
            file_format=FileFormat.PARQUET,
            partition=Record(day, region),
            record_count=ROWS,
            file_size_in_bytes=1_000_000 + i * 31 % 9_000_000,
            column_sizes=dict.fromkeys(range(1, 11), 100_000 + i % 1000),
            value_counts=dict.fromkeys(range(1, 11), ROWS),
            null_value_counts=dict.fromkeys(range(1, 11), 0) | {5: i % 3, 7: i % 11},
            nan_value_counts={7: 0},
            lower_bounds={field: to_bytes(kinds[field], value) for field, value in low.items()},
            upper_bounds={field: to_bytes(kinds[field], value) for field, value in high.items()},
            split_offsets=[4, 500_000],
            sort_order_id=0,
        )


def amount_of(cents: int) -> Any:
    """Return an amount as a decimal with two fractional digits."""
    from decimal import Decimal

    return Decimal(cents).scaleb(-2)


if __name__ == "__main__":
    _make()
