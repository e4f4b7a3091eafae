"""Read a snapshot from the disk cache and newer commits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.errors import DeltaError
from deltalog.log.allowed_locations import opened_place
from deltalog.log.checkpoint_file import CheckpointFile, CheckpointStatistics
from deltalog.log.file_block import VECTOR_TYPE, FileBlock, JsonStatistics, Texts
from deltalog.log.listing import Checkpoint, Segment
from deltalog.log.replay import Tail
from deltalog.snapshot.cached_version import Head, latest_cached, version_name
from deltalog.snapshot.refresh import advance_to
from deltalog.snapshot.snapshot import Snapshot
from deltalog.snapshot.write_cache import CachedSnapshot, numbered
from deltalog.table.state import replayed_state
from parquet_core.dataset.arrow_form import array_at, numbers_at
from parquet_core.storage import Traffic, find_file
from parquet_core.storage.ranges import in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.listing import LogListing
    from parquet_core.dataset.metadata_cache import TableCache


def read_cached(
    cache: TableCache, table: str, listing: LogListing, version: int, *, allow: tuple[str, ...], started: float
) -> Snapshot | None:
    """Return a version from the latest cached version and the commits after it; None if that is impossible."""
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
        if head.version != version or not _are_unchanged(head, table, allow):
            return None
        return replace(_snapshot(head, batch, table, listing=listing, cache=cache, generation=generation), allow=allow)
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError, AttributeError, DeltaError):
        return None


def _are_unchanged(head: Head, table: str, allow: tuple[str, ...]) -> bool:
    """True if the version's files outside the log listing still exist, unchanged.

    Raises OutsideTable for files that may not be opened: the process that cached the version may have allowed more
    locations.
    """
    checkpoint = set() if head.checkpoint is None else set(head.checkpoint[2])
    elsewhere = [file for file in head.parts if file not in checkpoint]
    now = in_flight(find_file, [opened_place(table, file.path, allow) for file in elsewhere])
    return all(file == found for file, found in zip(elsewhere, now, strict=True))


def _snapshot(
    head: Head, batch: pa.RecordBatch, table: str, *, listing: LogListing, cache: TableCache, generation: str
) -> Snapshot:
    """Return the cached version. Statistics are read from the log when they are needed."""
    traffic, tail = Traffic(), _tail(head)
    parts = tuple(CheckpointFile(file, traffic) for file in head.parts)
    blocks = tuple(numbered(_block(batch, i, head.blocks[i], parts) for i in range(len(head.blocks))))
    return Snapshot(
        table=table,
        version=head.version,
        state=replayed_state(tail, f"{listing.location}, version {head.version}"),
        blocks=blocks,
        listing=listing,
        segment=Segment(head.version, _checkpoint(head), tuple(head.tail)),
        notes=tuple(head.notes),
        opened=(),
        traffic=traffic,
        seconds=0.0,
        _tail=tail,
        _checkpoint=parts,
        _cached=CachedSnapshot(cache, sum(map(len, blocks)), generation, head.version),
    )


def _block(
    batch: pa.RecordBatch, i: int, source: tuple[int, int, list[str]], parts: Sequence[CheckpointFile]
) -> FileBlock:
    def array(name: str) -> pa.Array:
        return array_at(batch, f"{i}.{name}") if f"{i}.{name}" in batch.schema.names else None

    def numbers(name: str) -> NDArray[Any]:
        return numbers_at(batch, f"{i}.{name}")

    part, group, partition = source
    vectors = array("vectors")
    return FileBlock(
        path=array("path"),
        written=array("written"),
        size=numbers("size"),
        modified=numbers("modified"),
        partition={name: Texts(numbers(f"codes.{k}"), array(f"values.{k}")) for k, name in enumerate(partition)},
        vectors=None if vectors is None else vectors.cast(VECTOR_TYPE),
        statistics=JsonStatistics(array("texts"))
        if part < 0
        else CheckpointStatistics(parts[part], group, numbers("rows")),
    )


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
