"""Advance a snapshot to a later version by reading the commits in between.

Each commit adds a small block, and each block costs time per predicate. If there are many small blocks, they are
merged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltalog.errors import MalformedLog, UnsupportedTable
from deltalog.log.commit_file import LINES
from deltalog.log.file_block import ABSENT, VECTOR_TYPE, FileBlock, JsonStatistics, Texts
from deltalog.log.listing import Segment, last_version
from deltalog.log.replay import apply_commits, read_tail, without_adds
from deltalog.table.state import replayed_state
from parquet_core.errors import StorageFailure, TableNotFound
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.log.listing import LogListing
    from deltalog.snapshot.snapshot import Snapshot

# Blocks with fewer than `_LARGE` files are small. Up to `_MOST` small blocks stay unmerged.
_LARGE = 4096
_MOST = 16


def advance_to(snapshot: Snapshot, listing: LogListing, version: int, *, started: float) -> Snapshot | None:
    """Return the snapshot at the same or a later version; None if that is impossible.

    The commits in between are read. The log must still have the snapshot's log files, unchanged, and every later
    commit.
    """
    if not _continues(snapshot, listing) or not all(
        commit_version in listing.commits for commit_version in _since(snapshot, version)
    ):
        return None
    if version == snapshot.version:
        return replace(snapshot, listing=listing, seconds=time.perf_counter() - started)
    try:
        return _later(snapshot, listing, version, started)
    except (MalformedLog, UnsupportedTable, StorageFailure, TableNotFound):
        # The version may be readable in another way; if not, that attempt reports the error.
        return None


def _since(snapshot: Snapshot, version: int) -> range:
    return range(snapshot.version + 1, version + 1)


def _continues(snapshot: Snapshot, listing: LogListing) -> bool:
    """True if a log still has all log files of a snapshot, unchanged."""
    checkpoint, tail = snapshot.segment.checkpoint, snapshot.segment.tail
    if checkpoint is not None and checkpoint not in listing.checkpoints.get(checkpoint.version, ()):
        return False
    return last_version(listing) >= snapshot.version and all(
        file == listing.commits.get(commit_version)
        for commit_version, file in enumerate(tail, snapshot.version - len(tail) + 1)
    )


def _later(snapshot: Snapshot, listing: LogListing, version: int, started: float) -> Snapshot | None:
    files = [listing.commits[commit_version] for commit_version in _since(snapshot, version)]
    traffic = Traffic(snapshot.traffic.requests, {**snapshot.traffic.bytes})
    tail = read_tail(files, LINES, traffic)
    blocks = apply_commits(tail, snapshot.blocks, snapshot._tail)  # noqa: SLF001 - same package
    if blocks is None:
        return None
    return replace(
        snapshot,
        version=version,
        state=replayed_state(tail, f"{listing.location}, version {version}"),
        blocks=merge_small_blocks(blocks),
        listing=listing,
        segment=Segment(version, snapshot.segment.checkpoint, snapshot.segment.tail + tuple(files)),
        opened=snapshot.opened + tuple(files),
        traffic=traffic,
        seconds=time.perf_counter() - started,
        _tail=without_adds(tail),
    )


def merge_small_blocks(blocks: Sequence[FileBlock]) -> tuple[FileBlock, ...]:
    """Merge neighbouring small blocks of commits if there are many. Files keep their order."""
    if sum(map(_is_small, blocks)) <= _MOST:
        return tuple(blocks)
    merged: list[FileBlock] = []
    for small, group in groupby(blocks, key=_is_small):
        some = list(group)
        merged += [_joined(some)] if small and len(some) > 1 else some
    return tuple(merged)


def _is_small(block: FileBlock) -> bool:
    return len(block) < _LARGE and block.position is None and isinstance(block.statistics, JsonStatistics)


def _texts_of(block: FileBlock) -> pa.Array:
    assert isinstance(block.statistics, JsonStatistics)
    return block.statistics.chosen()


def _joined(blocks: Sequence[FileBlock]) -> FileBlock:
    names = dict.fromkeys(name for block in blocks for name in block.partition)
    vectors = None
    if any(block.vectors is not None for block in blocks):
        none = [pa.nulls(len(block), VECTOR_TYPE) if block.vectors is None else block.vectors for block in blocks]
        vectors = pa.concat_arrays(none)
    return FileBlock(
        path=pa.concat_arrays([block.path for block in blocks]),
        written=pa.concat_arrays([block.written_paths() for block in blocks]),
        size=np.concatenate([block.size for block in blocks]),
        modified=np.concatenate([block.modified for block in blocks]),
        partition={name: _joined_texts(name, blocks) for name in names},
        vectors=vectors,
        statistics=JsonStatistics(pa.concat_arrays([_texts_of(block) for block in blocks])),
    )


def _joined_texts(name: str, blocks: Sequence[FileBlock]) -> Texts:
    codes: list[NDArray[np.int32]] = []
    values: list[pa.Array] = []
    first = 0
    for block in blocks:
        texts = block.partition.get(name)
        if texts is None:
            codes.append(np.full(len(block), ABSENT, np.int32))
            continue
        codes.append(np.where(texts.codes < 0, texts.codes, texts.codes + first).astype(np.int32))
        values.append(texts.values)
        first += len(texts.values)
    encoded = pa.concat_arrays(values).dictionary_encode()
    codes_of_all = (
        np.frombuffer(encoded.indices.buffers()[1], np.int32, len(encoded)) if len(encoded) else np.zeros(0, np.int32)
    )
    joined = np.concatenate(codes)
    return Texts(
        np.where(joined < 0, joined, codes_of_all[joined] if len(codes_of_all) else joined).astype(np.int32),
        encoded.dictionary,
    )
