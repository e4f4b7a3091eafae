"""Write a snapshot and its parsed bounds to the disk cache."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa

from deltalog.log.checkpoint_file import CheckpointStatistics
from deltalog.log.file_block import ChosenStatistics, JsonStatistics
from deltalog.snapshot.cached_statistics import CachedColumn, CachedStatistics, StatisticsStore
from deltalog.snapshot.cached_version import (
    LATEST,
    CachedBlock,
    Head,
    bounds_name,
    latest_cached,
    version_name,
)
from parquet_core.arrow_arrays import array_of, from_numpy
from parquet_core.dataset.metadata_cache import is_settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock, StatisticsSource
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.dataset.metadata_cache import TableCache

# Shorter logs are read as fast as the cache.
_LEAST_BYTES = 1 << 20
# Up to this number of commits is read again each time on top of a cached version; beyond it, the newer version is
# cached.
_MOST_COMMITS = 32


@dataclass(slots=True)
class CachedSnapshot:
    """Location of a snapshot in the disk cache.

    `version`: the version whose files `store` covers; None before it is written.

    `later`: version and generation written since. `listed_ns`: time when the log was listed.
    """

    cache: TableCache
    store: StatisticsStore
    generation: str = ""
    version: int | None = None
    later: tuple[int, str] | None = None
    listed_ns: int = field(default_factory=time.time_ns)

    def save(self, snapshot: Snapshot) -> None:
        """Write new data of a snapshot and its statistics to the cache.

        Logs that are short or still changing are not cached.
        """
        known = self.store.known()
        far = self.version is None or snapshot.version - self.version > _MOST_COMMITS
        if far and (self.later is None or self.later[0] != snapshot.version):
            _save_version(snapshot, self, known)
            return
        changed, self.store.changed = self.store.changed, set()
        if not changed:
            return
        if far and self.later is not None:
            _save_moved(snapshot, self.later[1], self, {key: known[key] for key in changed})
        else:
            for key in changed:
                _save_column(self.cache, self.generation, key, known[key])
        self.cache.cache.make_room()


def with_cache(snapshot: Snapshot, cache: TableCache, *, listed_ns: int) -> Snapshot:
    """Return a snapshot that collects parsed statistics for `save`."""
    store = StatisticsStore(snapshot.file_count, lambda _: None)
    firsts = np.cumsum([0, *map(len, snapshot.blocks)]).tolist()
    blocks = tuple(
        replace(block, statistics=CachedStatistics(store, first, block.statistics))
        for block, first in zip(snapshot.blocks, firsts, strict=False)
    )
    return replace(snapshot, blocks=blocks, _cached=CachedSnapshot(cache, store, listed_ns=listed_ns))


def _save_moved(snapshot: Snapshot, generation: str, cached: CachedSnapshot, known: dict[str, CachedColumn]) -> None:
    origins = [_origin(block.statistics, len(block)) for block in snapshot.blocks]
    for key, column in known.items():
        moved = _moved(column, origins)
        if moved is not None:
            _save_column(cached.cache, generation, key, moved)


def _save_column(cache: TableCache, generation: str, key: str, column: CachedColumn) -> None:
    cache.write(
        bounds_name(generation, key),
        generation,
        {"key": array_of([key], pa.string()), "cached": column.cached, "bounds": column.bounds},
    )


def _save_version(snapshot: Snapshot, cached: CachedSnapshot, known: dict[str, CachedColumn]) -> None:
    origins = [_origin(block.statistics, len(block)) for block in snapshot.blocks]
    head = _head(snapshot, origins)
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
    for i, (block, origin) in enumerate(zip(snapshot.blocks, origins, strict=True)):
        values |= {f"{i}.{name}": value for name, value in _arrays(block, origin)}
    cached.cache.write(version_name(snapshot.version), generation, values)
    _save_moved(snapshot, generation, cached, known)
    latest = latest_cached(cached.cache)
    if latest is None or latest <= snapshot.version or latest not in snapshot.listing.commits:
        cached.cache.write(LATEST, generation, {"version": np.array([snapshot.version])})
    cached.cache.cache.make_room()
    cached.later = snapshot.version, generation
    cached.store.changed.clear()
    if cached.version is None:
        cached.version, cached.generation = snapshot.version, generation


class _Origin(NamedTuple):
    """Source of a block's statistics, and the files' positions in the store.

    `positions`: None if the store does not contain the files.
    """

    source: JsonStatistics | CheckpointStatistics
    rows: NDArray[np.int64]
    positions: NDArray[np.int64] | None
    files: int


def _origin(source: StatisticsSource, count: int) -> _Origin:
    chosen, first = np.arange(count), None
    while True:
        match source:
            case ChosenStatistics(inner, some, _):
                # CachedStatistics wraps the choice made when the log was read; later choices wrap it.
                source, chosen = inner, some[chosen]
            case CachedStatistics(inner=inner):
                first, source = source.first + chosen, inner
            case _:
                assert isinstance(source, JsonStatistics | CheckpointStatistics)
                return _Origin(source, chosen, first, count)


def _head(snapshot: Snapshot, origins: Sequence[_Origin]) -> Head:
    parts = {file.file: i for i, file in enumerate(snapshot._checkpoint)}  # noqa: SLF001 - its own
    tail, checkpoint = snapshot._tail, snapshot.segment.checkpoint  # noqa: SLF001 - its own
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
        blocks=[
            CachedBlock(
                part=-1 if isinstance(origin.source, JsonStatistics) else parts[origin.source.source.file],
                group=-1 if isinstance(origin.source, JsonStatistics) else origin.source.group,
                partition=list(block.partition),
                vectors=block.vectors is not None,
                written=block.written is not None,
            )
            for block, origin in zip(snapshot.blocks, origins, strict=True)
        ],
    )


def _arrays(block: FileBlock, origin: _Origin) -> Iterator[tuple[str, Any]]:
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
    match origin.source:
        case JsonStatistics(texts):
            yield "texts", texts.take(from_numpy(origin.rows))
        case _:
            yield "rows", origin.source.rows[origin.rows]


def _moved(column: CachedColumn, origins: Sequence[_Origin]) -> CachedColumn | None:
    """Return the cached column for the files of a later version; None if no file is cached."""
    before = np.concatenate([_positions(origin) for origin in origins]) if origins else np.zeros(0, np.int64)
    cached, there = np.zeros(len(before), np.bool_), before >= 0
    cached[there] = column.cached[before[there]]
    if not cached.any():
        return None
    slot = np.cumsum(column.cached) - 1
    at = slot[before[cached]]
    whole = len(at) == len(column.bounds) and bool((at == np.arange(len(at))).all())
    return CachedColumn(cached, column.bounds if whole else column.bounds.take(at))


def _positions(origin: _Origin) -> NDArray[np.int64]:
    return np.full(origin.files, -1, np.int64) if origin.positions is None else origin.positions
