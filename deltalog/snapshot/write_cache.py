"""Write a snapshot and its parsed bounds to the disk cache."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa

from deltalog.log.checkpoint_file import CheckpointStatistics
from deltalog.log.file_block import JsonStatistics
from deltalog.snapshot.cached_version import LATEST, Head, bounds_name, latest_cached, version_name
from parquet_core.arrow_arrays import array_of
from parquet_core.dataset.column_store import column_from, empty_column
from parquet_core.dataset.metadata_cache import is_settled
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock, StatisticsSource
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.dataset.column_store import StoredColumn
    from parquet_core.dataset.metadata_cache import TableCache
    from parquet_core.storage import DataFile

# Shorter logs are read as fast as the cache.
_LEAST_BYTES = 1 << 20
# Up to this number of commits is read again each time on top of a cached version; beyond it, the newer version is
# cached.
_MOST_COMMITS = 32


@dataclass(slots=True)
class CachedSnapshot:
    """Bounds of a snapshot's files in memory, and their location in the disk cache.

    A column has bounds only for files that queries examined: partition values exclude most files; later queries add
    more.
    `count`: number of files.
    `generation`: generation of the entries in the disk cache.
    `version`: the cached version of these files; None before the cache is written.
    `later`: version and generation of a later version in the cache; None if there is none.
    `listed_ns`: time when the log was listed.
    """

    cache: TableCache
    count: int
    generation: str = ""
    version: int | None = None
    later: tuple[int, str] | None = None
    listed_ns: int = field(default_factory=time.time_ns)
    _columns: dict[str, StoredColumn[Bounds]] = field(default_factory=dict)
    _noted: list[tuple[str, NDArray[np.int64], Bounds]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def column(self, key: str) -> StoredColumn[Bounds]:
        """Return the bounds of a key, without bounds noted since the last `settle`."""
        with self._lock:
            return self._column(key)

    def note(self, key: str, positions: NDArray[np.int64], bounds: Bounds) -> None:
        """Add bounds of files, which the next `settle` makes available to queries."""
        self._noted.append((key, positions, bounds))

    def settle(self) -> None:
        """Make the noted bounds available to queries."""
        with self._lock:
            noted, self._noted = self._noted, []
            by_key: dict[str, list[tuple[NDArray[np.int64], Bounds]]] = {}
            for key, positions, bounds in noted:
                by_key.setdefault(key, []).append((positions, bounds))
            for key, parts in by_key.items():
                positions, bounds = np.concatenate([at for at, _ in parts]), Bounds.concat([part for _, part in parts])
                order = np.argsort(positions, kind="stable")
                # Concurrent queries may note the bounds of a file twice.
                once = np.diff(positions[order], prepend=-1) > 0
                new = order[once & (self._column(key).slot[positions[order]] < 0)]
                if len(new):
                    bounds = bounds if np.array_equal(new, np.arange(len(bounds))) else bounds.take(new)
                    self._columns[key] = self._column(key).added(positions[new], bounds).sorted()

    def _column(self, key: str) -> StoredColumn[Bounds]:
        if key not in self._columns:
            self._columns[key] = self._read(key)
        return self._columns[key]

    def _read(self, key: str) -> StoredColumn[Bounds]:
        stored = self.cache.read(bounds_name(self.generation, key)) if self.generation else None
        if stored is not None:
            with contextlib.suppress(KeyError, TypeError):
                column = column_from(stored[1], Bounds)
                if len(column.slot) == self.count:
                    return column
        return empty_column(self.count)

    def save(self, snapshot: Snapshot) -> None:
        """Write new data of a snapshot and its statistics to the cache, unless the log is short or still changing."""
        self.settle()
        far = self.version is None or snapshot.version - self.version > _MOST_COMMITS
        if far and (self.later is None or self.later[0] != snapshot.version):
            _save_version(snapshot, self)
            return
        changed = [key for key, column in list(self._columns.items()) if column.is_new]
        if changed:
            generation = self.later[1] if far and self.later is not None else self.generation
            self.save_columns(snapshot if far else None, generation, changed)
            self.cache.cache.make_room()

    def save_columns(self, moved: Snapshot | None, generation: str, keys: Iterable[str] | None = None) -> None:
        """Write the bounds of columns to the cache.

        `moved`: later version for whose files the bounds are written; None for the files of the cached version.
        `keys`: keys of the columns. None for all columns.
        """
        for key in list(self._columns if keys is None else keys):
            column = self._columns[key] = replace(self._columns[key], is_new=False)
            if moved is not None:
                column = _moved(column, moved).sorted()
            if column.values is not None and len(column.values):
                values = {"cached": column.slot >= 0, "values": column.values}
                self.cache.write(bounds_name(generation, key), generation, values)


def with_cache(snapshot: Snapshot, cache: TableCache, *, listed_ns: int) -> Snapshot:
    """Return a snapshot that collects the statistics that queries parse, for `save`."""
    return replace(
        snapshot,
        blocks=tuple(numbered(snapshot.blocks)),
        _cached=CachedSnapshot(cache, snapshot.file_count, listed_ns=listed_ns),
    )


def numbered(blocks: Iterable[FileBlock]) -> Iterator[FileBlock]:
    """Yield blocks with the position of each file in a cached snapshot."""
    first = 0
    for block in blocks:
        yield replace(block, position=np.arange(first, first + len(block)))
        first += len(block)


def _save_version(snapshot: Snapshot, cached: CachedSnapshot) -> None:
    head = _head(snapshot)
    files = head.files()
    if sum(file.size for file in files) < _LEAST_BYTES:
        return
    if not all(is_settled(file, cached.listed_ns) for file in files):
        return  # a further change may leave size and times unchanged
    # Bounds are stored by file position, so they are valid only for this write of the version.
    generation = uuid4().hex
    try:
        encoded = msgspec.json.encode(head)
    except UnicodeEncodeError:
        return  # a path that is not valid text
    values: dict[str, Any] = {"head": array_of([encoded], pa.binary())}
    for i, block in enumerate(snapshot.blocks):
        values |= {f"{i}.{name}": value for name, value in _arrays(block)}
    cached.cache.write(version_name(snapshot.version), generation, values)
    cached.save_columns(snapshot, generation)
    latest = latest_cached(cached.cache)
    if latest is None or latest <= snapshot.version or latest not in snapshot.listing.commits:
        cached.cache.write(LATEST, generation, {"version": np.array([snapshot.version])})
    cached.cache.cache.make_room()
    cached.later = snapshot.version, generation
    if cached.version is None:
        cached.version, cached.generation = snapshot.version, generation


def _head(snapshot: Snapshot) -> Head:
    parts = {file.file: i for i, file in enumerate(snapshot._checkpoint)}  # noqa: SLF001 - same package
    tail, checkpoint = snapshot._tail, snapshot.segment.checkpoint  # noqa: SLF001 - same package
    return Head(
        version=snapshot.version,
        checkpoint=None if checkpoint is None else (checkpoint.version, checkpoint.kind, list(checkpoint.files)),
        tail=list(snapshot.segment.tail),
        parts=list(parts),
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        transactions=list(tail.transactions.values()),
        domains=list(tail.domains.values()),
        most_deleted=tail.most_deleted,
        notes=list(snapshot.notes),
        blocks=[(*_source(block.statistics, parts), list(block.partition)) for block in snapshot.blocks],
    )


def _source(statistics: StatisticsSource, parts: dict[DataFile, int]) -> tuple[int, int]:
    """Return the file and the row group of a checkpoint that contain statistics; -1 for JSON."""
    if isinstance(statistics, CheckpointStatistics):
        return parts[statistics.source.file], statistics.group
    return -1, -1


def _arrays(block: FileBlock) -> Iterator[tuple[str, Any]]:
    yield "path", block.path
    if block.written is not None:
        yield "written", block.written
    yield "size", block.size
    yield "modified", block.modified
    for k, texts in enumerate(block.partition.values()):
        yield f"codes.{k}", texts.codes
        yield f"values.{k}", texts.values
    if block.vectors is not None:
        yield "vectors", block.vectors
    match block.statistics:
        case JsonStatistics() as statistics:
            yield "texts", statistics.chosen()
        case CheckpointStatistics(rows=rows):
            yield "rows", rows


def _moved(column: StoredColumn[Bounds], snapshot: Snapshot) -> StoredColumn[Bounds]:
    """Return a cached column for the files of a later version."""
    before = [np.full(len(it), -1, np.int64) if it.position is None else it.position for it in snapshot.blocks]
    position = np.concatenate([np.zeros(0, np.int64), *before])
    return replace(column, slot=np.where(position < 0, -1, column.slot[position]))
