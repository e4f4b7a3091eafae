"""Recognize a Delta table, and open one of its versions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.printable import shown
from parquet_core.storage import address, is_remote
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.delta.table import DeltaTable
from prune_assets.tables.format import Format, moment_of
from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence
    from typing import Any

    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.layout.entry import Check
    from prune_assets.tables.examination import Examination
    from prune_assets.tables.format import Location, OpenOptions
    from prune_assets.tables.writing import Writing

_AS_WRITTEN = SparkSemantics(case_sensitive=True)


def delta_table(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    version: int | None,
    timestamp: dt.datetime | int | str | None,
    cache: MetadataCache | None = None,
    allow: Sequence[str] = (),
    semantics: SparkSemantics = _AS_WRITTEN,
) -> DeltaTable | None:
    """Open a version of a Delta table; None if the location has no Delta log.

    `timestamp`: a time with a zone; strings in ISO 8601.
    `cache`: cache of opened versions.
    `allow`: as in `open_snapshot`.
    """
    if allow:
        from parquet_core.storage.allowed_locations import addresses

        allow = addresses(allow)
    path = _with_log(table)
    if path is None:
        return None
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
        raise WrongUse(f"version={shown(version)}: must be a version number, at least 0")
    from deltalog.snapshot.opening import open_snapshot

    moment = None if timestamp is None else moment_of(timestamp)
    snapshot = open_snapshot(path, version=version, timestamp=moment, cache=cache, allow=allow)
    return table_of(path, snapshot, semantics=semantics, cache=cache)


def table_of(
    path: str, snapshot: Snapshot, *, semantics: SparkSemantics = _AS_WRITTEN, cache: MetadataCache | None = None
) -> DeltaTable:
    """Return the table of an open version."""
    from deltalog.log.deletion_vectors import deleted_rows

    return DeltaTable(path, snapshot, deleted_rows(snapshot.blocks), semantics, cache)


def has_log(table: str | os.PathLike[str] | Sequence[str]) -> bool:
    """Return True if a location is a directory with a Delta log."""
    return _with_log(table) is not None


def _with_log(table: str | os.PathLike[str] | Sequence[str]) -> str | None:
    """Return the path of a table that has a Delta log; None if it has no log."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = address(os.fspath(table))
    if not is_remote(path):
        # An invalid path does not raise here; the format that lists the files refuses it.
        return path if os.path.isdir(os.path.join(path, "_delta_log")) else None
    from deltalog.log.listing import holds_log

    return path if holds_log(path) else None


def _open(location: Location, options: OpenOptions) -> DeltaTable | None:
    table = delta_table(
        location,
        version=options.version,
        timestamp=options.timestamp,
        cache=options.cache,
        allow=options.allow,
        semantics=options.semantics,
    )
    entry = options.entry
    if table is not None and entry is not None and entry.format != "delta":
        raise UnsupportedFeature(
            f"{entry.name}: the catalog lists it as Parquet, but {entry.location} has a Delta log; register "
            "it as delta, or name the table by its path"
        )
    return table


def _log_checks() -> tuple[Check[Any], ...]:
    from prune_assets.tables.delta.health import LOG_CHECKS

    return LOG_CHECKS


def _examination() -> Examination:
    from prune_assets.tables.delta.inspection import EXAMINATION

    return EXAMINATION


def _writing() -> Writing:
    from prune_assets.tables.delta.writing import WRITING

    return WRITING


def latest_version(table: str) -> int:
    """Return the number of the latest version."""
    import deltalog

    return deltalog.versions(address(table))[-1]


def version_history(table: str, limit: int) -> list[tuple[int, int | None, dict[str, Any]]]:
    """Return number, time and commit information of the latest versions."""
    import deltalog

    commits = deltalog.history(deltalog.open_snapshot(address(table)), limit=limit)
    return [(commit.version, commit.timestamp, commit.info) for commit in commits]


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the partition values and the identity of each live file.

    The identity is a string of the path and the deletion vector, so that it changes with the file's rows.
    """
    import deltalog
    from deltalog.log.file_block import empty_codes

    snapshot = deltalog.open_snapshot(address(table))
    of_path = snapshot.schema.by_path().items()
    partition_keys = {path[0]: column.partition for path, column in of_path if column.partition is not None}
    names = [partition_named(column, partition_keys) for column in columns]
    for block in snapshot.blocks:
        parts = []
        for name in names:
            coded = block.partition.get(partition_keys[name], empty_codes(len(block)))
            values = coded.values.to_pylist()
            parts.append([values[code] if code >= 0 else None for code in coded.codes.tolist()])
        vectors = [None] * len(block) if block.vectors is None else block.vectors.to_pylist()
        for path, vector, *of_file in zip(block.path.to_pylist(), vectors, *parts, strict=True):
            yield tuple(of_file), f"{path}\0{vector}"


DELTA = Format(
    name="delta",
    is_at=has_log,
    open=_open,
    save=lambda table: table.snapshot.save(),
    describe=DeltaTable.describe,
    fingerprint=latest_version,
    partition_files=partition_files,
    is_in_listing=lambda _, directories, __: "_delta_log" in directories,
    keeps_deletes=True,
    storage_kind="deltalake",
    history=version_history,
    versions_grow=True,
    read_alone_by="Spark and delta-spark",
    log_checks=_log_checks,
    examination=_examination,
    writing=_writing,
    not_inspected=dict.fromkeys(
        ("pages", "bloom"), "is a Delta table, and only its log is shown; name one of its files"
    ),
)
