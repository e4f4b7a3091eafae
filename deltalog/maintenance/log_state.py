"""All valid actions of a version, with every field.

Used to write checkpoints and to delete files.

A snapshot has only the data that planning needs. A log state also has tombstones and every field of an action. Rows of
a checkpoint are read in batches, so a million files need the memory of a few thousand.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.errors import MalformedLog
from deltalog.log.actions import FullAdd, FullLine, FullRemove, RecordCount
from deltalog.log.checkpoint import load_checkpoint
from deltalog.log.checkpoint_file import RESTORE
from deltalog.log.commit_file import read_commits
from deltalog.log.file_block import identities
from deltalog.log.listing import list_log
from deltalog.log.path_fingerprints import may_repeat
from deltalog.log.paths import canonical_paths, path_array
from deltalog.log.replay import Tail, read_tail
from deltalog.snapshot.opening import load_around, read_with_retry
from deltalog.table.state import TableVersion, replayed_state
from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.checkpoint_file import CheckpointFile
    from deltalog.log.listing import LogListing, Segment

    Key = tuple[str, str | None]
    Flags = NDArray[np.bool_]

# Number of checkpoint rows in memory at a time.
BATCH_ROWS = 1 << 15
_KEY = ("path", "deletionVector")
_LINES = msgspec.json.Decoder(FullLine)


class StoredActions(NamedTuple):
    """Valid file actions of a checkpoint, as stored.

    A field is None if the checkpoint file lacks its column.
    """

    adds: pa.StructArray | None
    removes: pa.StructArray | None


@dataclass(frozen=True, slots=True)
class LogState(TableVersion):
    """A version of a table with all its valid actions.

    `adds` and `removes` are actions of commits and of a JSON manifest; `stored` are the checkpoint's Parquet files.
    """

    adds: list[FullAdd]
    removes: list[FullRemove]
    stored: tuple[CheckpointFile, ...]
    _changed_files: dict[str, set[str | None]] = field(default_factory=dict)

    def stored_actions(self, *, adds: Sequence[str], removes: Sequence[str]) -> Iterator[StoredActions]:
        """Yield the checkpoint's valid file actions, with the wanted fields.

        An action is valid if no later commit replaces it. Path and deletion vector are always included. Raises
        MalformedLog.
        """
        doubtful = self._flag_repeated_files() if adds else None
        seen: set[Key] = set()
        wanted = {"add": (*_KEY, *adds) if adds else (), "remove": (*_KEY, *removes) if removes else ()}
        first = 0
        for file in self.stored:
            for batch in file.batches(wanted, BATCH_ROWS):
                with _convert_errors(file):
                    adds_left, count = _column(batch, "add"), 0
                    if adds_left is not None:
                        count = len(adds_left)
                        repeats = None if doubtful is None else doubtful[first : first + count]
                        adds_left = adds_left.filter(from_numpy(self._flag_current(adds_left, repeats, seen)))
                    first += count
                    gone = _column(batch, "remove")
                    if gone is not None:
                        gone = gone.filter(from_numpy(self._flag_current(gone, None, seen)))
                yield StoredActions(adds_left, gone)

    def _flag_current(self, actions: pa.StructArray, doubtful: Flags | None, seen: set[Key]) -> Flags:
        """Flag the actions that no newer action replaces.

        If the checkpoint repeats a file, only the file's first action is flagged.
        `doubtful`: flags of the actions whose file the checkpoint may list twice; None if it lists no file twice.
        `seen`: keys of the doubtful files found so far; this call adds further keys.
        """
        valid = np.ones(len(actions), np.bool_)
        if not self._changed_files and doubtful is None:
            return valid
        paths = canonical_paths(_paths(actions))
        changed = flags_from(pc.is_in(paths, value_set=path_array(list(self._changed_files))))
        rows = np.flatnonzero(changed if doubtful is None else changed | doubtful)
        for i, key in zip(rows.tolist(), _keys(actions, paths, rows), strict=True):
            valid[i] = key[1] not in self._changed_files.get(key[0], ()) and key not in seen
            if doubtful is not None and doubtful[i]:
                seen.add(key)
        return valid

    def _flag_repeated_files(self) -> Flags | None:
        """Flag files that the checkpoint may list twice, in the order of the checkpoint.

        None if the checkpoint certainly lists every file once.
        """
        paths = []
        for file in self.stored:
            for batch in file.batches({"add": ("path",)}, BATCH_ROWS):
                with _convert_errors(file):
                    adds = _column(batch, "add")
                    if adds is None:
                        continue
                    paths.append(canonical_paths(_paths(adds)))
        return may_repeat(paths)


@contextmanager
def _convert_errors(file: CheckpointFile) -> Iterator[None]:
    """Raise errors in rows of a checkpoint as MalformedLog."""
    try:
        yield
    except (pa.ArrowException, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise MalformedLog(f"{file.file.path}: {reason}", RESTORE) from None


def _column(batch: pa.RecordBatch, name: str) -> pa.StructArray | None:
    """Return the actions of one kind in a batch; None if the column is missing."""
    if name not in batch.schema.names:
        return None
    column = batch.column(name)
    if column.type.get_field_index("path") < 0:
        return None
    there = flags_from(pc.struct_field(column, "path").is_valid())
    return column if there.all() else column.filter(from_numpy(there))


def _paths(actions: pa.StructArray) -> pa.Array:
    paths = pc.struct_field(actions, "path")
    if not pa.types.is_string(paths.type):
        raise ValueError("a path is not a string")
    return paths


def _keys(actions: pa.StructArray, paths: pa.Array, rows: NDArray[np.int64]) -> list[Key]:
    row_array = from_numpy(rows)
    vectors: list[str | None] = [None] * len(rows)
    if actions.type.get_field_index("deletionVector") >= 0:
        vectors = identities(pc.struct_field(actions, "deletionVector").take(row_array)).to_pylist()
    return list(zip(paths.take(row_array).to_pylist(), vectors, strict=True))


def open_state(table: str, version: int | None = None) -> LogState:
    """Read all actions of a version, the latest by default.

    `table`: a local path or a URI. Raises NotADeltaTable, NoSuchVersion, BrokenLog, MalformedLog, UnsupportedTable and
    StorageFailure, each naming the file or version.
    """

    def read() -> LogState:
        listing = list_log(table)
        return load_around(listing, version, lambda segment: _load(table, listing, segment))

    return read_with_retry(read)


def _load(table: str, listing: LogListing, segment: Segment) -> LogState:
    traffic = Traffic()
    tail = read_tail(segment.tail, _LINES, traffic)
    stored: list[CheckpointFile] = []
    if segment.checkpoint is not None:
        checkpoint = load_checkpoint(segment.checkpoint, location=listing.location, traffic=traffic)
        stored = checkpoint.files
        tail.take([line for line in checkpoint.lines if line.add is None and line.remove is None])
        manifests = [file for file in segment.checkpoint.files if file.path.endswith(".json")]
        for lines in read_commits(manifests, _LINES, traffic=traffic):
            tail.take([*lines])
    spoken_of: dict[str, set[str | None]] = {}
    for path, identity in (*tail.added, *tail.removed):
        spoken_of.setdefault(path, set()).add(identity)
    return LogState(
        table=table,
        version=segment.version,
        listing=listing,
        segment=segment,
        state=replayed_state(tail, f"{listing.location}, version {segment.version}"),
        adds=_live(tail),
        removes=[cast("FullRemove", remove) for remove in tail.removed.values()],
        stored=tuple(stored),
        traffic=traffic,
        _changed_files=spoken_of,
    )


def _live(tail: Tail) -> list[FullAdd]:
    """Return the added files; statistics of files with restored rows are reduced to numRecords."""
    live = [cast("FullAdd", add) for add in tail.live()]
    before = [cast("FullAdd", add) for add in reversed(tail.added.values())]
    return [
        msgspec.structs.replace(now, stats=_count_alone(then.stats)) if now.stats is None else now
        for now, then in zip(live, before, strict=True)
    ]


def _count_alone(stats: object) -> str | None:
    # The protocol requires numRecords of a file with a deletion vector, even if other statistics are uncertain.
    try:
        return (
            msgspec.json.encode(msgspec.json.decode(stats, type=RecordCount)).decode()
            if isinstance(stats, str)
            else None
        )
    except (msgspec.DecodeError, RecursionError):
        return None
