"""The event logs in directories and stores: single files, and folders of files that follow one another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import TableNotFound
from parquet_core.printable import listed
from parquet_core.storage import find_file, is_hidden, name_of
from parquet_core.storage.remote import look_into

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage import DataFile

_ANY = re.compile(".+", re.DOTALL)
_ROLLING = re.compile(r"(?:^|/)eventlog_v2_[^/]*$")
_PART = re.compile(r"^events_([0-9]+)_.*?(\.compact)?$")
_IN_PROGRESS = ".inprogress"


class EventLog(NamedTuple):
    """The log of one application: its files in order; `is_finished`: Spark writes no more to it."""

    path: str
    files: tuple[DataFile, ...]
    is_finished: bool

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def find_logs(paths: Sequence[str]) -> list[EventLog]:
    """Return the logs at paths: a file, the folder of an application, or a directory that holds such.

    Raises TableNotFound for a path that is not there or holds none.
    """
    found = [log for path in paths for log in _at(path.rstrip("/") or "/")]
    return [*{log.path: log for log in found}.values()]


def _at(path: str) -> Iterator[EventLog]:
    file = find_file(path)
    if file is not None:
        yield EventLog(file.path, (file,), not file.path.endswith(_IN_PROGRESS))
        return
    if _ROLLING.search(path):
        yield _rolling(path)
        return
    directories, files = look_into(path, _ANY)
    rolling = [directory for directory in sorted(directories) if _ROLLING.search(directory)]
    single = [one for one in files if not is_hidden(name_of(one)) and one.size]
    if not rolling and not single:
        names = listed(sorted(one.rstrip("/").rpartition("/")[2] for one in directories))
        deeper = f" (not searched: its folders {names})" if names else ""
        raise TableNotFound(f"{path}: no event log there{deeper}; name a file or the directory of spark.eventLog.dir")
    yield from map(_rolling, rolling)
    for one in sorted(single, key=lambda file: file.path):
        yield EventLog(one.path, (one,), not one.path.endswith(_IN_PROGRESS))


def _rolling(path: str) -> EventLog:
    _, files = look_into(path, _ANY)
    parts = [(int(found[1]), bool(found[2]), file) for file in files if (found := _PART.match(name_of(file)))]
    # A compacted file has what is left of those up to its number.
    compacted = max((number for number, is_compact, _ in parts if is_compact), default=-1)
    kept = [part for part in parts if part[0] > compacted or (part[1] and part[0] == compacted)]
    ended = not any(name_of(file).endswith(_IN_PROGRESS) for file in files)
    return EventLog(path, tuple(file for _, _, file in sorted(kept, key=lambda part: part[:2])), ended)
