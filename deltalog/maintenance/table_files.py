"""Files below a table's directory: files on disk, and files that its log names.

The listing includes some files that Spark ignores: unfinished files of interrupted writes and, on request, the change
data feed. Directories whose names begin with `_` or `.` are skipped unless they are partitions. Links are skipped
because they lead out of the table. Tables inside the table are skipped because they have their own log.

Named files are live files, tombstones and their deletion vectors. An absolute path may lead into the table by another
spelling (a link, another scheme), so every file with the same ending counts as named.
"""

from __future__ import annotations

import math
import os
import posixpath
import re
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.actions import DeletionVector
from deltalog.log.deletion_vectors import vector_path
from deltalog.log.listing import LOG
from deltalog.log.paths import canonical_path, is_absolute
from parquet_core.arrow_arrays import filled
from parquet_core.errors import StorageFailure
from parquet_core.storage import DataFile, is_hidden, is_remote
from parquet_core.storage.remote import remote_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltalog.log.actions import FullAdd, FullRemove
    from deltalog.maintenance.log_state import LogState


CHANGES = "_change_data"
# Removal time of a live file.
LIVE = math.inf
_HERE = "here"
# Unfinished files of an interrupted write of this package.
_CUT_OFF = re.compile(r"write-[0-9a-f]{32}/_temporary(/|$)")


def table_files(table: str, *, changes: bool = False) -> dict[str, DataFile]:
    """Return the files of a table, keyed by their path below it.

    `changes`: include files of the change data feed.

    Raises StorageFailure if a directory cannot be listed.
    """
    files = _remote(table) if is_remote(table) else dict(_local(table))
    return {path: file for path, file in files.items() if _counts(path, changes=changes)}


def _counts(path: str, *, changes: bool) -> bool:
    if _CUT_OFF.match(path):
        return True
    names = path.split("/")
    if names[0] == CHANGES and len(names) > 1:
        return changes and not any(map(is_hidden, names[1:]))
    return not any(map(is_hidden, names))


def _local(table: str) -> Iterator[tuple[str, DataFile]]:
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        directory = os.path.join(table, inside)
        try:
            entries = list(os.scandir(directory))
            if inside and any(entry.name == LOG for entry in entries):
                continue
            for entry in entries:
                path = f"{inside}/{entry.name}" if inside else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if path == CHANGES or not is_hidden(entry.name) or _CUT_OFF.match(path):
                        waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    where = os.path.join(table, path)
                    yield path, DataFile(where, status.st_size, status.st_mtime_ns, None, status.st_ctime_ns)
        except FileNotFoundError:
            # The file was deleted after its name was listed, so nothing is left to do.
            continue
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the path is not valid on any file system"
            raise StorageFailure(
                f"{directory}: cannot be listed ({reason}); check the path and its permissions"
            ) from None


def _remote(table: str) -> dict[str, DataFile]:
    base = f"{table.rstrip('/')}/"
    files = {file.path[len(base) :]: file for file in remote_of(table).walk(table) if file.path.startswith(base)}
    inner = {path.partition(f"/{LOG}/")[0] + "/" for path in files if f"/{LOG}/" in path}
    return {path: file for path, file in files.items() if not any(path.startswith(directory) for directory in inner)}


class NamedFiles:
    """Paths below the table that a log names, with their removal times (milliseconds)."""

    def __init__(self) -> None:
        self._paths: dict[str, float] = {}
        self._endings: dict[str, float] = {}

    def add(self, path: str, removed: float) -> None:
        """Add a path as written in an action, and its decoded form.

        `removed`: removal time in milliseconds since 1970; LIVE for a live file.
        """
        for spelling in {path, canonical_path(path)}:
            if is_absolute(spelling):
                parts = [part for part in spelling.split("/") if part]
                for first in range(len(parts)):
                    _latest(self._endings, "/".join(parts[first:]), removed)
            else:
                _latest(self._paths, posixpath.normpath(spelling), removed)

    def removed(self, path: str) -> float | None:
        """Return the removal time of a file: LIVE if it is live, None if the log does not name it."""
        times = [time for names in (self._paths, self._endings) if (time := names.get(path)) is not None]
        return max(times, default=None)


def _latest(names: dict[str, float], name: str, removed: float) -> None:
    names[name] = max(removed, names.get(name, removed))


def named_files(state: LogState) -> NamedFiles:
    """Return the files that a version and its tombstones name."""
    named = NamedFiles()
    actions: Iterable[tuple[FullAdd | FullRemove, float]] = [
        *((add, LIVE) for add in state.adds),
        *((remove, remove.deletion_timestamp or 0) for remove in state.removes),
    ]
    for action, removed in actions:
        vector = None if action.deletion_vector is None else msgspec.to_builtins(action.deletion_vector)
        _take(named, action.path, vector, removed)
    for stored in state.stored_actions(adds=("size",), removes=("deletionTimestamp",)):
        for rows in (stored.adds, stored.removes):
            if rows is not None:
                times = repeat(LIVE) if rows is stored.adds else _removal_times(rows)
                for (path, vector), removed in zip(_paths_and_vectors(rows), times, strict=False):
                    _take(named, path, vector, removed)
    return named


def _removal_times(rows: pa.StructArray) -> list[int]:
    """Return the removal times of tombstones; 0 if missing."""
    field = rows.type.get_field_index("deletionTimestamp")
    if field < 0:
        return [0] * len(rows)
    times: list[int] = filled(pc.struct_field(rows, field).cast(pa.int64()), 0).to_pylist()
    return times


def _paths_and_vectors(rows: pa.StructArray) -> Iterator[tuple[str, dict[str, object] | None]]:
    paths = pc.struct_field(rows, "path").to_pylist()
    field = rows.type.get_field_index("deletionVector")
    if field < 0:
        return ((path, None) for path in paths)
    vectors = pc.struct_field(rows, field)
    return zip(paths, vectors.to_pylist() if vectors.null_count < len(vectors) else [None] * len(paths), strict=True)


def _take(named: NamedFiles, path: str, vector: dict[str, object] | None, removed: float) -> None:
    named.add(path, removed)
    if vector is None:
        return
    storage_type, path_or_inline = str(vector.get("storageType")), str(vector.get("pathOrInlineDv"))
    if storage_type == "p":
        named.add(path_or_inline, removed)
    elif storage_type == "u":
        try:
            own = vector_path(DeletionVector("u", path_or_inline, 0, 0), _HERE).removeprefix(f"{_HERE}/")
            named.add(own, removed)
        except ValueError:
            # An invalid vector names no file to keep; reading the table reports it.
            return
