"""Recognize an Iceberg table, and open one of its snapshots."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.fix import Fix, Setting
from parquet_core.printable import shown
from parquet_core.storage import Traffic, address, is_remote
from prune_assets.extras import needing
from prune_assets.tables.format import Format
from prune_assets.tables.iceberg.catalog import tables_of
from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.iceberg.metadata_files import is_metadata_file, listed, newest
from prune_assets.tables.iceberg.session_catalog import entry_in_session
from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyiceberg.table.snapshots import Snapshot

    from parquet_core.storage import DataFile
    from prune_assets.report.skip_report import TableSnapshot
    from prune_assets.tables.examination import Examination
    from prune_assets.tables.format import Location, OpenOptions
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.iceberg.table import IcebergTable
    from prune_assets.tables.writing import Writing

# numpy units of time transforms, which count since 1970.
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_IDENTITIES = {"date": "D", "timestamp": "us", "timestamptz": "us"}


# The metadata directory that is being listed ahead, and the future result.
_AHEAD: ContextVar[tuple[str, Future[list[DataFile]]] | None] = ContextVar("_AHEAD", default=None)


@contextmanager
def listing_in_background(location: Location) -> Iterator[None]:
    """List the metadata directory of a remote table in the background, while other formats check the location."""
    path = os.fspath(location) if isinstance(location, str | os.PathLike) else ""
    if not is_remote(path) or is_metadata_file(path):
        yield
        return
    with ThreadPoolExecutor(1) as pool:
        token = _AHEAD.set((path, pool.submit(lambda: listed(address(path)))))
        try:
            yield
        finally:
            _AHEAD.reset(token)


def find_metadata_file(location: Location) -> str | None:
    """Return the address of a table's current metadata file; None if missing.

    `location`: the table, or a metadata file, which is returned.
    """
    if not isinstance(location, str | os.PathLike):
        return None
    path = address(os.fspath(location))
    if is_metadata_file(path):
        return path if is_remote(path) else os.path.abspath(path)
    if not is_remote(path):
        # An invalid path does not raise here; the format that lists the files refuses it.
        if not os.path.isdir(os.path.join(path, "metadata")):
            return None
        path = os.path.abspath(path)
    ahead = _AHEAD.get()
    files = listed(path) if ahead is None or ahead[0] != os.fspath(location) else ahead[1].result()
    return newest(os.fspath(location), files, Traffic()) if files else None


def is_iceberg(location: Location) -> bool:
    """Return True if a location is an Iceberg table or its metadata file."""
    if not isinstance(location, str | os.PathLike):
        return False
    path = address(os.fspath(location))
    if is_metadata_file(path):
        return True
    return (is_remote(path) or os.path.isdir(os.path.join(path, "metadata"))) and bool(listed(path))


def _directory_of(location: str) -> str:
    """Return the directory of a table whose location may be a file in its metadata directory."""
    return location.rsplit("/", 2)[0] if is_metadata_file(location) else location


def _open(location: Location, options: OpenOptions) -> IcebergTable | None:
    metadata_path = find_metadata_file(location)
    if metadata_path is None:
        return None
    entry = options.entry
    if entry is not None and entry.format != "iceberg":
        raise UnsupportedFeature(
            f"{entry.name}: the catalog lists it as {entry.format}, but {entry.location} has an Iceberg table; "
            "name the table by its path"
        )
    check_installed(os.fspath(location))  # type: ignore[arg-type]  # a list is never an Iceberg table
    version = options.version
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise WrongUse(f"version={shown(version)}: must be the id of a snapshot")
    from prune_assets.tables.iceberg.snapshot import open_iceberg
    from prune_assets.tables.iceberg.table import IcebergTable

    allow = options.allow
    if allow:
        from parquet_core.storage.allowed_locations import addresses

        allow = addresses(allow)
    snapshot = open_iceberg(metadata_path, version=version, timestamp=options.timestamp, allow=allow)
    name = os.fspath(location) if entry is None else entry.name  # type: ignore[arg-type]
    return IcebergTable(
        os.fspath(location),  # type: ignore[arg-type]  # as above
        name,
        snapshot,
        options.semantics,
        options.cache,
        in_session=entry.name if entry is not None and entry.in_session else None,
        is_older=version is not None or options.timestamp is not None,
    )


def check_installed(name: str) -> None:
    """Raise MissingPackage if pyiceberg is not installed."""
    with needing(f"{name}: a table of Iceberg", otherwise="read it with Spark's own reader for Iceberg"):
        import pyiceberg  # noqa: F401


def _examination() -> Examination:
    from prune_assets.tables.iceberg.inspection import EXAMINATION

    return EXAMINATION


def _describe(*planned: Any, **figures: Any) -> TableSnapshot | None:
    from prune_assets.tables.iceberg.inspection import planned_snapshot

    return planned_snapshot(*planned, **figures)


def _writing() -> Writing:
    import pyiceberg  # noqa: F401

    from prune_assets.tables.iceberg.writes.writing import WRITING

    return WRITING


BY_NAME = "only its catalog writes an Iceberg table; use the table's name in the session, catalog.database.table"
# Iceberg's writer reads table properties instead of parquet-java's options, has no row limit per row group, and pyarrow
# files cannot replace its files.
_SETTINGS = {
    Setting.PAGE_ROWS: ", or write with the table property write.parquet.page-row-limit={value}",
    Setting.BLOOM_FILTER: ", or write with the table property write.parquet.bloom-filter-enabled.column.{value}=true; "
    "the spelling of the column is case-sensitive",
    Setting.NO_DICTIONARY: ", or write with the table property parquet.enable.dictionary=false, of all columns",
    Setting.STATISTICS: ": without the table property write.parquet.stats-enabled.column.NAME=false",
    Setting.PAGE_INDEX: "",
    Setting.LARGE_ROW_GROUPS: "",
    Setting.SMALL_ROW_GROUPS: "LayoutSpec(sort_by=.., row_group_bytes=.., page_rows=..)",
}


def _open_latest(table: str) -> IcebergSnapshot:
    check_installed(table)
    from prune_assets.tables.iceberg.snapshot import open_iceberg

    metadata_path = find_metadata_file(table)
    assert metadata_path is not None  # the table was recognized by this file
    return open_iceberg(metadata_path, version=None, timestamp=None, allow=())


def current_snapshot(table: str) -> int:
    """Return the id of the current snapshot; 0 for a table without snapshots."""
    snapshot = _open_latest(table).snapshot
    return 0 if snapshot is None else snapshot.snapshot_id


def snapshot_history(table: str, limit: int) -> list[tuple[int, int | None, dict[str, Any]]]:
    """Return id, time, operation and summary of the newest snapshots in the metadata."""
    snapshots = _open_latest(table).metadata.snapshots
    newest = sorted(snapshots, key=lambda each: (each.sequence_number or 0, each.timestamp_ms), reverse=True)
    return [(each.snapshot_id, each.timestamp_ms, _describe_snapshot(each)) for each in newest[:limit]]


def _describe_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.summary is None:
        return {}
    return {
        "operation": snapshot.summary.operation.value,
        "operationMetrics": dict(snapshot.summary.additional_properties),
    }


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the partition values and the identity of each file.

    The values belong to columns in the current spec. For year, month, day and hour transforms the value is the start of
    the interval. The identity is a string of the path and the delete files.
    """
    from prune_assets.tables.iceberg.deletes import FileDeletes, deletes_by_file

    snapshot = _open_latest(table)
    files = snapshot.open_all()
    deletes = deletes_by_file(snapshot)
    named = {column.field_id: column for column in snapshot.columns}
    fields = [field for field in snapshot.partition_fields if field.transform in {"identity", *_UNITS}]
    source_ids = {named[field.source].leaf.name: field.source for field in fields if field.source in named}
    sources = [source_ids[partition_named(column, source_ids)] for column in columns]
    for i, file in enumerate(files):
        values = {
            field.source: _directory_value(
                file.partition[field.position], field.transform, named[field.source].type_name
            )
            for field in fields
            if field.spec == file.spec_id and field.source in named
        }
        of_file = deletes.get(i, FileDeletes())
        identity = "\0".join([file.file_path, *(each.file_path for group in of_file for each in group)])
        yield tuple(values.get(source) for source in sources), identity


def _directory_value(value: Any, transform: str, type_name: str) -> str | None:
    """Return a partition value in the form of directory names."""
    if value is None or value is ABSENT:
        return None
    unit = _UNITS.get(transform) or _IDENTITIES.get(type_name)
    if unit is None:
        return str(value)
    import numpy as np

    from prune_assets.tables.iceberg.single_values import number_of

    began = np.array(number_of(value), np.int64).astype(f"datetime64[{unit}]")
    if type_name == "date":
        return str(began.astype("datetime64[D]"))
    return f"{began.astype('datetime64[us]')}{'+00:00' if type_name == 'timestamptz' else ''}"


ICEBERG = Format(
    name="iceberg",
    is_at=is_iceberg,
    look_ahead=listing_in_background,
    directory_of=_directory_of,
    open=_open,
    describe=_describe,
    fingerprint=current_snapshot,
    partition_files=partition_files,
    is_in_listing=lambda location, directories, _: "metadata" in directories and is_iceberg(location),
    found_in_catalog=tables_of,
    entry_in_session=entry_in_session,
    refused_provider="the catalog lists it as iceberg, which is read here by its path, or by its name in a catalog "
    "that pyiceberg is configured for (iceberg:catalog.database.table); write it with Spark and Iceberg",
    keeps_deletes=True,
    storage_kind="iceberg",
    history=snapshot_history,
    read_alone_by="Spark and Iceberg",
    examination=_examination,
    writing=_writing,
    by_catalog_alone=True,
    read_only=BY_NAME,
    settings=_SETTINGS,
    fixes={"size.row_groups": Fix("take row_group_rows out of the layout, and lower row_group_bytes")},
    not_inspected=dict.fromkeys(
        ("pages", "bloom", "orphans"), "is an Iceberg table, and only its metadata are shown; name one of its files"
    ),
)
