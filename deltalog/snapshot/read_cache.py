"""Read a snapshot from the disk cache and newer commits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from deltalog.errors import DeltaError
from deltalog.log.allowed_locations import opened_place
from deltalog.log.checkpoint_file import CheckpointFile, CheckpointStatistics
from deltalog.log.file_block import VECTOR_TYPE, FileBlock, JsonStatistics, Texts
from deltalog.log.listing import Checkpoint, Segment
from deltalog.log.replay import Tail
from deltalog.snapshot.cached_statistics import CachedColumn, CachedStatistics, StatisticsStore
from deltalog.snapshot.cached_version import Head, bounds_name, latest_cached, version_name
from deltalog.snapshot.refresh import advance_to
from deltalog.snapshot.snapshot import Snapshot
from deltalog.snapshot.write_cache import CachedSnapshot
from deltalog.table.state import replayed_state
from parquet_core.dataset.arrow_form import array_at, from_batch, numbers_at
from parquet_core.storage import Traffic, find_file
from parquet_core.storage.ranges import in_flight
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.file_block import StatisticsSource
    from deltalog.log.listing import LogListing
    from parquet_core.dataset.metadata_cache import TableCache


def read_cached(
    cache: TableCache, table: str, listing: LogListing, version: int, *, allow: tuple[str, ...], started: float
) -> Snapshot | None:
    """Return a version from a cached version and the commits since; None if that fails."""
    for cached in dict.fromkeys([version, latest_cached(cache)]):
        if cached is not None and cached <= version:
            restored = _restored(cache, table, listing, cached, allow)
            if restored is not None:
                later = advance_to(restored, listing, version, started=started)
                if later is not None:
                    return later
    return None


def _restored(
    cache: TableCache, table: str, listing: LogListing, version: int, allow: tuple[str, ...]
) -> Snapshot | None:
    stored = cache.read(version_name(version))
    if stored is None:
        return None
    generation, batch = stored
    try:
        head = msgspec.json.decode(array_at(batch, "head")[0].as_buffer(), type=Head)
        if head.version != version or not _are_there(head, table, allow):
            return None
        return replace(_Cached(cache, generation, head, batch).snapshot(table, listing), allow=allow)
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError, AttributeError, DeltaError):
        return None


def _are_there(head: Head, table: str, allow: tuple[str, ...]) -> bool:
    """True if the version's files outside the log listing are unchanged.

    Raises OutsideTable for files that may not be opened: the writer of the cache entry may have allowed more.
    """
    checkpoint = set() if head.checkpoint is None else set(head.checkpoint[2])
    elsewhere = [file for file in head.parts if file not in checkpoint]
    now = in_flight(find_file, [opened_place(table, file.path, allow) for file in elsewhere])
    return all(file == found for file, found in zip(elsewhere, now, strict=True))


@dataclass(frozen=True, slots=True)
class _Cached:
    """A version as read from the disk cache."""

    cache: TableCache
    generation: str
    head: Head
    batch: pa.RecordBatch

    def snapshot(self, table: str, listing: LogListing) -> Snapshot:
        """Return the snapshot; its statistics are read from their source when needed."""
        head, traffic = self.head, Traffic()
        parts = tuple(CheckpointFile(file, traffic) for file in head.parts)
        firsts = np.cumsum([0, *(len(self.numbers(i, "size")) for i in range(len(head.blocks)))]).tolist()
        count = firsts[-1]
        store = StatisticsStore(count, lambda key: _column(self.cache, self.generation, key, count))
        blocks = [self.block(i, store, firsts[i], parts) for i in range(len(head.blocks))]
        tail = _tail(head)
        return Snapshot(
            table=table,
            version=head.version,
            state=replayed_state(tail, f"{listing.location}, version {head.version}"),
            blocks=tuple(blocks),
            listing=listing,
            segment=Segment(head.version, _checkpoint(head), tuple(head.tail)),
            notes=tuple(head.notes),
            opened=(),
            traffic=traffic,
            seconds=0.0,
            _tail=tail,
            _checkpoint=parts,
            _cached=CachedSnapshot(self.cache, store, self.generation, head.version),
        )

    def block(self, i: int, store: StatisticsStore, first: int, parts: Sequence[CheckpointFile]) -> FileBlock:
        block = self.head.blocks[i]
        source: StatisticsSource
        if block.part < 0:
            source = JsonStatistics(self.array(i, "texts"))
        else:
            source = CheckpointStatistics(parts[block.part], block.group, self.numbers(i, "rows"))
        return FileBlock(
            path=self.array(i, "path"),
            written=self.array(i, "written") if block.written else None,
            size=self.numbers(i, "size"),
            modified=self.numbers(i, "modified"),
            partition={
                name: Texts(self.numbers(i, f"codes.{k}"), self.array(i, f"values.{k}"))
                for k, name in enumerate(block.partition)
            },
            vectors=self.array(i, "vectors").cast(VECTOR_TYPE) if block.vectors else None,
            statistics=CachedStatistics(store, first, source),
        )

    def array(self, i: int, name: str) -> pa.Array:
        return array_at(self.batch, f"{i}.{name}")

    def numbers(self, i: int, name: str) -> NDArray[Any]:
        return numbers_at(self.batch, f"{i}.{name}")


def _checkpoint(head: Head) -> Checkpoint | None:
    if head.checkpoint is None:
        return None
    version, kind, files = head.checkpoint
    return Checkpoint(version, tuple(files), kind)


def _tail(head: Head) -> Tail:
    return Tail(
        protocol=head.protocol,
        metadata=head.metadata,
        transactions={action.app_id: action for action in head.transactions},
        domains={action.domain: action for action in head.domains},
        most_deleted=head.most_deleted,
    )


def _column(cache: TableCache, generation: str, key: str, count: int) -> CachedColumn | None:
    stored = cache.read(bounds_name(generation, key))
    if stored is None or stored[0] != generation:
        return None
    try:
        if array_at(stored[1], "key")[0].as_py() != key:
            return None
        column = CachedColumn(numbers_at(stored[1], "cached"), from_batch(stored[1], "bounds", Bounds))
    except (KeyError, TypeError):
        return None
    return column if len(column.cached) == count and np.count_nonzero(column.cached) == len(column.bounds) else None
