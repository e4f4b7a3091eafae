"""Open a version of a table from its log or the cache.

Damaged checkpoints are skipped if other files suffice to build the version.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from deltalog.errors import BrokenLog, MalformedLog, NoSuchVersion, NotADeltaTable
from deltalog.log.checkpoint import load_checkpoint, read_hint
from deltalog.log.commit_file import LINES
from deltalog.log.file_block import in_parallel
from deltalog.log.listing import last_version, list_log, segment_of
from deltalog.log.replay import Tail, live_blocks, read_tail, without_adds
from deltalog.snapshot.history import version_of_time
from deltalog.snapshot.snapshot import Snapshot
from deltalog.table.state import replayed_state
from parquet_core.errors import StorageFailure, TableNotFound
from parquet_core.storage import Traffic, address, is_remote, name_of
from parquet_core.storage.allowed_locations import addresses

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from deltalog.log.checkpoint_file import CheckpointFile
    from deltalog.log.listing import Checkpoint, LogListing, Segment
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.storage import DataFile

Opened = TypeVar("Opened")


def open_snapshot(
    table: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: dt.datetime | int | None = None,
    cache: MetadataCache | None = None,
    allow: Sequence[str | os.PathLike[str]] = (),
) -> Snapshot:
    """Read a version of a table, the latest by default.

    >>> import deltalog
    >>> snapshot = deltalog.open_snapshot(table)
    >>> snapshot.version, snapshot.file_count, [column.leaf.name for column in snapshot.schema.columns]
    (1, 1, ['id'])

    `table`: a directory or URI.
    `version`: number of the version.
    `timestamp`: opens the last version at a time: a datetime with a zone, or milliseconds.
    `cache`: caches versions on disk; the snapshot's `save` adds newly read and parsed data.
    `allow`: addresses below which the log may name files, in addition to the table's own and to PRUNE_DELTA_ALLOW. It
    applies to everything opened through this snapshot.

    Raises OutsideTable for a file outside these addresses, and NotADeltaTable, NoSuchVersion, BrokenLog, MalformedLog,
    UnsupportedTable and StorageFailure, each naming the file or version.
    """
    started = time.perf_counter()
    name = os.fspath(table)
    location = address(name)
    allowed = addresses(allow)
    if timestamp is not None:
        if version is not None:
            raise NoSuchVersion(f"{location}: give a version or a timestamp, not both")
        version = version_at(location, timestamp, cache=cache, allow=allowed)
    return read_with_retry(lambda: _open(location, version, started, cache, allowed))


def version_at(
    table: str | os.PathLike[str],
    moment: dt.datetime | int,
    *,
    cache: MetadataCache | None = None,
    allow: Sequence[str] = (),
) -> int:
    """Return the last version made at or before a time.

    >>> import deltalog
    >>> deltalog.version_at(table, deltalog.snapshot_time(snapshot))
    1

    `moment`: a datetime with a zone, or milliseconds.
    `cache`, `allow`: see `open_snapshot`.

    Raises NoSuchVersion for a time before the first readable version, or after the last version.
    """
    return version_of_time(open_snapshot(table, cache=cache, allow=allow), moment)


def read_with_retry(read: Callable[[], Opened]) -> Opened:
    """Call `read`; if a listed file is missing, call it once more.

    Log cleanup may have removed the file; the second listing has the files that cleanup keeps.
    """
    try:
        return read()
    except NotADeltaTable:
        raise
    except (TableNotFound, StorageFailure):
        return read()


def load_around(
    listing: LogListing,
    version: int | None,
    load: Callable[[Segment], Opened],
    *,
    passed_over: Callable[[MalformedLog], None] = lambda _: None,
) -> Opened:
    """Load a version from the newest checkpoint that is not damaged. If all are damaged, raises the first error."""
    damaged: frozenset[Checkpoint] = frozenset()
    first_error: MalformedLog | None = None
    while True:
        try:
            segment = segment_of(listing, version, without=damaged)
        except BrokenLog:
            if first_error is not None:
                raise first_error from None
            raise
        try:
            return load(segment)
        except MalformedLog as error:
            first_error = first_error or error
            if segment.checkpoint is None:
                raise first_error from None
            damaged |= {segment.checkpoint}
            passed_over(error)


def _open(
    table: str, version: int | None, started: float, cache: MetadataCache | None, allow: tuple[str, ...]
) -> Snapshot:
    listed_ns = time.time_ns()
    listing = list_log(table)
    if cache is None:
        return _read(table, listing, version, started, allow)
    from deltalog.snapshot.read_cache import read_cached
    from deltalog.snapshot.write_cache import with_cache

    cached = cache.of_table(table if is_remote(table) else os.path.abspath(table))
    last = last_version(listing)
    target = last if version is None else version
    snapshot = (
        read_cached(cached, table, listing, target, allow=allow, started=started) if 0 <= target <= last else None
    )
    if snapshot is not None:
        return snapshot
    return with_cache(_read(table, listing, version, started, allow), cached, listed_ns=listed_ns)


def _read(table: str, listing: LogListing, version: int | None, started: float, allow: tuple[str, ...]) -> Snapshot:
    traffic = Traffic()
    hint = read_hint(listing, traffic=traffic)
    notes = [hint.complaint] if hint.complaint else []
    notes += [f"{name_of(file)} is empty; it was ignored" for file in listing.empty]
    notes += [
        f"the checkpoint of version {checkpoint_version} lacks parts; it was ignored"
        for checkpoint_version in listing.partial
    ]
    return _Attempt(table, listing, traffic, notes, started, allow).run(version)


@dataclass(slots=True)
class _Attempt:
    """One attempt to read a snapshot from the log."""

    table: str
    listing: LogListing
    traffic: Traffic
    notes: list[str]
    started: float
    allow: tuple[str, ...]
    opened: list[DataFile] = field(default_factory=list)

    def run(self, version: int | None) -> Snapshot:
        def note(error: MalformedLog) -> None:
            self.notes.append(f"{error}; the files around it were used instead")

        return load_around(self.listing, version, self._load, passed_over=note)

    def _load(self, segment: Segment) -> Snapshot:
        if self.listing.hint is not None:
            self.opened = [self.listing.hint]
        tail = self._tail(segment)
        files = [] if segment.checkpoint is None else self._checkpoint(segment.checkpoint, tail)
        state = replayed_state(tail, f"{self.listing.location}, version {segment.version}")
        groups = [(file, group) for file in files for group in file.row_groups()]
        rows = sum(file.footer().num_rows for file in files)
        live = live_blocks(tail, in_parallel(lambda group: group[0].files(group[1]), groups, files=rows))
        notes = [*self.notes]
        if live.repeated_files:
            notes.append(f"the checkpoint lists {live.repeated_files} files twice; each was taken once")
        return Snapshot(
            table=self.table,
            version=segment.version,
            state=state,
            blocks=live.blocks,
            listing=self.listing,
            segment=segment,
            notes=tuple(notes),
            opened=tuple(self.opened),
            traffic=self.traffic,
            seconds=time.perf_counter() - self.started,
            allow=self.allow,
            _tail=without_adds(tail),
            _checkpoint=tuple(files),
        )

    def _tail(self, segment: Segment) -> Tail:
        self.opened += segment.tail
        return read_tail(segment.tail, LINES, self.traffic)

    def _checkpoint(self, checkpoint: Checkpoint, tail: Tail) -> list[CheckpointFile]:
        loaded = load_checkpoint(checkpoint, location=self.listing.location, traffic=self.traffic, allow=self.allow)
        self.opened += loaded.opened
        tail.take(loaded.lines)
        return loaded.files
