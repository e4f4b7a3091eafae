"""Open a version of a table: its files, its metadata, and what reading it took."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltalog.errors import BrokenLog, MalformedLog, NoSuchVersion, NotADeltaTable
from deltalog.log.allowed_places import addresses
from deltalog.log.checkpoint import load_checkpoint
from deltalog.log.commit_file import LINES, read_commits
from deltalog.log.in_parallel import in_parallel
from deltalog.log.last_checkpoint import read_hint
from deltalog.log.listing import last_version, list_log, segment_of
from deltalog.log.path_fingerprints import fingerprints
from deltalog.log.paths import canonical_path
from deltalog.log.replay import Tail, contradiction, live_blocks, without_adds
from deltalog.snapshot.history import version_at
from deltalog.table.reader_features import check_readable
from deltalog.table.schema import read_schema
from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import StorageFailure, TableNotFound
from parquet_core.storage import Traffic, is_remote, local_path, name_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.actions import Line, Metadata, Protocol, Transaction
    from deltalog.log.checkpoint_file import CheckpointFile
    from deltalog.log.file_block import FileBlock
    from deltalog.log.listing import Checkpoint, LogListing, Segment
    from deltalog.log.path_fingerprints import Fingerprints
    from deltalog.snapshot.cached_version import CachedSnapshot
    from deltalog.table.schema import TableSchema
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.storage import DataFile

_MAPPING = "delta.columnMapping.mode"
# What a table has whose metaData says nothing of its columns.
_NO_COLUMNS = '{"type":"struct","fields":[]}'


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table.

    `blocks` hold the live files; positions over all of them count from 0 in their order. `notes`: what was found
    wrong with the log on the way and did not matter for the files. `opened`: the files of the log that were read.
    `allow`: where files may lie other than below the table.
    """

    table: str
    version: int
    protocol: Protocol
    metadata: Metadata
    schema: TableSchema
    properties: dict[str, str]
    transactions: dict[str, Transaction]
    domains: dict[str, str]
    blocks: tuple[FileBlock, ...]
    listing: LogListing
    segment: Segment
    notes: tuple[str, ...]
    opened: tuple[DataFile, ...]
    traffic: Traffic
    seconds: float
    allow: tuple[str, ...] = ()
    _tail: Tail = field(default_factory=Tail)
    _marks: tuple[Fingerprints, ...] = ()
    _checkpoint: tuple[CheckpointFile, ...] = ()
    _cached: CachedSnapshot | None = None

    @property
    def file_count(self) -> int:
        """How many files are live."""
        return sum(map(len, self.blocks))

    @property
    def total_bytes(self) -> int:
        """How many bytes they have, as the log says."""
        return sum(int(block.size.sum()) for block in self.blocks)

    def paths(self, kept: NDArray[np.bool_] | None = None) -> list[str]:
        """Return canonical paths, of the files that are kept."""
        return [path for array in self._each_path(kept) for path in array.to_pylist()]

    def _each_path(self, kept: NDArray[np.bool_] | None) -> list[pa.Array]:
        if kept is None:
            return [block.path for block in self.blocks]
        ends = np.cumsum([len(block) for block in self.blocks])[:-1]
        parts = np.split(kept, ends) if self.blocks else []
        return [block.path.filter(from_numpy(part)) for block, part in zip(self.blocks, parts, strict=True)]

    def settle(self) -> None:
        """Let what was found of statistics be known to who asks next."""
        if self._cached is not None:
            self._cached.store.settle()

    def save(self) -> None:
        """Keep on disk what was read since the last time, where there is a cache."""
        from deltalog.snapshot.write_cache import save

        save(self)

    def marks(self) -> tuple[Fingerprints, ...]:
        """Return the fingerprints of the paths, block by block."""
        if len(self._marks) == len(self.blocks):
            return self._marks
        return tuple(fingerprints(block.path) for block in self.blocks)

    def refreshed(self) -> Snapshot:
        """Return the latest version, reading the commits since this one alone where nothing else changed.

        Raises what `open_snapshot` does.
        """
        from deltalog.snapshot.refresh import refresh

        return refresh(self)

    def tombstones(self) -> dict[str, int]:
        """Return the removed files that the log still names: canonical path and time of deletion in ms, 0 unknown."""
        found = {canonical_path(path): _or_zero(at) for file in self._checkpoint for path, at in file.removed()}
        found |= {path: _or_zero(remove.deletion_timestamp) for (path, _), remove in self._tail.removed.items()}
        live = set(self.paths()) if found else set()
        return {path: at for path, at in found.items() if path not in live}


def _or_zero(at: int | None) -> int:
    return 0 if at is None else at


class Described(NamedTuple):
    """What a log says of a table beside its files."""

    protocol: Protocol
    metadata: Metadata
    schema: TableSchema
    properties: dict[str, str]
    transactions: dict[str, Transaction]
    domains: dict[str, str]


def describe(tail: Tail, place: str) -> Described:
    """Return what is said of a table; raises UnsupportedTable, and MalformedLog for what is not said."""
    if tail.protocol is None:
        raise MalformedLog(f"{place}: the log has no protocol action; it is not whole")
    check_readable(tail.protocol, place=place)
    if tail.metadata is None:
        raise MalformedLog(f"{place}: the log has no metaData action; it is not whole")
    properties = {key: value for key, value in (tail.metadata.configuration or {}).items() if value is not None}
    schema = read_schema(
        _NO_COLUMNS if tail.metadata.schema_string is None else tail.metadata.schema_string,
        partition_columns=tail.metadata.partition_columns,
        mapping=properties.get(_MAPPING, "none").lower(),
        place=place,
    )
    domains = {name: said.configuration for name, said in tail.domains.items() if not said.removed}
    return Described(tail.protocol, tail.metadata, schema, properties, tail.transactions, domains)


def open_snapshot(
    table: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: dt.datetime | int | None = None,
    cache: MetadataCache | None = None,
    allow: Sequence[str | os.PathLike[str]] = (),
) -> Snapshot:
    """Read a version of a table, the latest by default.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64(), "name": pa.string()}))
    >>> snapshot = deltalog.open_snapshot(table)
    >>> snapshot.version, snapshot.file_count, [column.leaf.name for column in snapshot.schema.columns]
    (0, 0, ['id', 'name'])

    `table`: a directory or URI.
    `version`: the number of an older version.
    `timestamp`: for the version that was the last at a time: a datetime with a zone, or milliseconds.
    `cache`: where versions are kept on disk; the snapshot's `save` adds what was read and parsed.
    `allow`: addresses below which the log may name files, beside the table's own and those of PRUNE_DELTA_ALLOW; it
    holds for all that is opened of this snapshot.

    Raises OutsideTable for a file elsewhere, and NotADeltaTable, NoSuchVersion, BrokenLog, MalformedLog,
    UnsupportedTable and StorageFailure, each naming the file or version.
    """
    started = time.perf_counter()
    name = os.fspath(table)
    place = name if is_remote(name) else local_path(name)
    allowed = addresses(allow)
    if timestamp is not None:
        if version is not None:
            raise NoSuchVersion(f"{place}: give a version or a timestamp, not both")
        version = version_at(place, timestamp, cache=cache, allow=allowed)
    try:
        return _open(place, version, started, cache, allowed)
    except NotADeltaTable:
        raise
    except (TableNotFound, StorageFailure):
        # Log cleanup took a file that was listed: what it left makes every version that it means to keep.
        return _open(place, version, started, cache, allowed)


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
    found = read_cached(cached, table, listing, target, allow=allow, started=started) if 0 <= target <= last else None
    if found is not None:
        return found
    return with_cache(_read(table, listing, version, started, allow), cached, listed_ns=listed_ns)


def _read(table: str, listing: LogListing, version: int | None, started: float, allow: tuple[str, ...]) -> Snapshot:
    traffic = Traffic()
    hint = read_hint(listing, traffic=traffic)
    notes = [hint.complaint] if hint.complaint else []
    notes += [f"{name_of(file)} is empty; it was passed over" for file in listing.empty]
    notes += [f"the checkpoint of version {at} lacks parts; it was passed over" for at in listing.partial]
    return _Attempt(table, listing, traffic, notes, started, allow).run(version)


@dataclass(slots=True)
class _Attempt:
    """The way to a snapshot; damaged checkpoints and compactions are gone around where others do."""

    table: str
    listing: LogListing
    traffic: Traffic
    notes: list[str]
    started: float
    allow: tuple[str, ...]
    opened: list[DataFile] = field(default_factory=list)

    def run(self, version: int | None) -> Snapshot:
        damaged: frozenset[Checkpoint] = frozenset()
        compactions, first_error = True, None
        while True:
            try:
                segment = segment_of(self.listing, version, without=damaged, compactions=compactions)
            except BrokenLog:
                if first_error is not None:
                    raise first_error from None
                raise
            try:
                return self._load(segment)
            except MalformedLog as error:
                first_error = first_error or error
                if compactions and any(first < last for first, last, _ in segment.tail):
                    compactions = False
                elif segment.checkpoint is not None:
                    damaged |= {segment.checkpoint}
                else:
                    raise first_error from None
                self.notes.append(f"{error}; the files around it were used instead")

    def _load(self, segment: Segment) -> Snapshot:
        if self.listing.hint is not None:
            self.opened = [self.listing.hint]
        tail = self._tail(segment)
        files = [] if segment.checkpoint is None else self._checkpoint(segment.checkpoint, tail)
        described = describe(tail, f"{self.listing.place}, version {segment.version}")
        groups = [(file, group) for file in files for group in file.row_groups()]
        rows = sum(file.footer().num_rows for file in files)
        live = live_blocks(tail, in_parallel(lambda at: at[0].files(at[1]), groups, files=rows))
        notes = [*self.notes]
        if live.twice:
            notes.append(f"the checkpoint lists {live.twice} files twice; each was taken once")
        return Snapshot(
            table=self.table,
            version=segment.version,
            **described._asdict(),
            blocks=live.blocks,
            listing=self.listing,
            segment=segment,
            notes=tuple(notes),
            opened=tuple(self.opened),
            traffic=self.traffic,
            seconds=time.perf_counter() - self.started,
            allow=self.allow,
            _tail=without_adds(tail),
            _marks=live.marks,
            _checkpoint=tuple(files),
        )

    def _tail(self, segment: Segment) -> Tail:
        tail = Tail()
        for lines in self._commits(segment):
            tail.take(lines)
        return tail

    def _commits(self, segment: Segment) -> Iterator[list[Line]]:
        """Read commits and compactions, the newest first."""
        newest_first = segment.tail[::-1]
        files = [file for _, _, file in newest_first]
        self.opened += files
        whole = map(list, read_commits(files, LINES, traffic=self.traffic))
        for (first, last, file), lines in zip(newest_first, whole, strict=True):
            if first < last and (path := contradiction(lines)):
                raise MalformedLog(f"{file.path}: the compaction speaks twice of {path}; remove it")
            yield lines

    def _checkpoint(self, checkpoint: Checkpoint, tail: Tail) -> list[CheckpointFile]:
        found = load_checkpoint(checkpoint, place=self.listing.place, traffic=self.traffic, allow=self.allow)
        self.opened += found.opened
        tail.take(found.lines)
        return found.files
