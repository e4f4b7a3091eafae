"""Bring a snapshot to the latest version by reading the commits since, or by opening it anew."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from deltalog.errors import MalformedLog, UnsupportedTable
from deltalog.log.commit_file import LINES, read_commits
from deltalog.log.listing import Segment, last_version, list_log
from deltalog.log.replay import Live, Tail, later_blocks, without_adds
from deltalog.snapshot.merge_blocks import merge_small_blocks
from parquet_core.errors import StorageFailure, TableNotFound
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from deltalog.log.listing import LogListing
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.storage import DataFile


def refresh(snapshot: Snapshot) -> Snapshot:
    """Return the latest version of a snapshot's table; raises what `open_snapshot` does."""
    from deltalog.snapshot.snapshot import open_snapshot

    started = time.perf_counter()
    listing = list_log(snapshot.table)
    found = brought_to(snapshot, listing, last_version(listing), started=started)
    cached = snapshot._cached  # noqa: SLF001 - its own
    if found is not None:
        return found
    return open_snapshot(snapshot.table, cache=None if cached is None else cached.cache.cache, allow=snapshot.allow)


def brought_to(snapshot: Snapshot, listing: LogListing, version: int, *, started: float) -> Snapshot | None:
    """Return a later version, or the same, by reading the commits since; None when that is not enough.

    It is enough when the log still holds what made the snapshot, unchanged, and every commit since, whole.
    """
    if not _continues(snapshot, listing) or not all(at in listing.commits for at in _since(snapshot, version)):
        return None
    if version == snapshot.version:
        return replace(snapshot, listing=listing, seconds=time.perf_counter() - started)
    try:
        return _later(snapshot, listing, version, started)
    except (MalformedLog, UnsupportedTable, StorageFailure, TableNotFound):
        # Another way to the version may exist; if none does, it tells what is wrong.
        return None


def _since(snapshot: Snapshot, version: int) -> range:
    return range(snapshot.version + 1, version + 1)


def _continues(snapshot: Snapshot, listing: LogListing) -> bool:
    """Tell whether a log still holds, unchanged, all that a snapshot was made of."""
    checkpoint, tail = snapshot.segment.checkpoint, snapshot.segment.tail
    if checkpoint is not None and checkpoint not in listing.checkpoints.get(checkpoint.version, ()):
        return False
    return last_version(listing) >= snapshot.version and all(
        file == listing.commits.get(first) if first == last else (last, file) in listing.compactions.get(first, ())
        for first, last, file in tail
    )


def _later(snapshot: Snapshot, listing: LogListing, version: int, started: float) -> Snapshot | None:
    from deltalog.snapshot.snapshot import describe

    files = [listing.commits[at] for at in _since(snapshot, version)]
    traffic = Traffic(snapshot.traffic.requests, {**snapshot.traffic.bytes})
    tail = _tail(files, traffic)
    live = later_blocks(tail, Live(snapshot.blocks, snapshot.marks()), snapshot._tail)  # noqa: SLF001 - what it keeps for this
    if live is None:
        return None
    live = merge_small_blocks(live)
    commits = tuple((at, at, file) for at, file in zip(_since(snapshot, version), files, strict=True))
    return replace(
        snapshot,
        version=version,
        **describe(tail, f"{listing.place}, version {version}")._asdict(),
        blocks=live.blocks,
        listing=listing,
        segment=Segment(version, snapshot.segment.checkpoint, snapshot.segment.tail + commits),
        opened=snapshot.opened + tuple(files),
        traffic=traffic,
        seconds=time.perf_counter() - started,
        _tail=without_adds(tail),
        _marks=live.marks,
    )


def _tail(files: list[DataFile], traffic: Traffic) -> Tail:
    tail = Tail()
    for lines in read_commits(files[::-1], LINES, traffic=traffic):
        tail.take([*lines])
    return tail
