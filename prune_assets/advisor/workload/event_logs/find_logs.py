"""Find event logs in directories, stores and zips, including rolling logs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile, TableNotFound, WrongUse
from parquet_core.storage import find_file, is_hidden, is_remote, local_path
from parquet_core.storage.globs import has_magic
from parquet_core.storage.remote import find_matches, look_into
from prune_assets.advisor.workload.event_logs.zips import is_zip, members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prune_assets.advisor.workload.event_logs.zips import LogFile

_ANY = re.compile(".+", re.DOTALL)
_ROLLING = re.compile(r"(?:^|/)eventlog_v2_[^/]*$")
_PART = re.compile(r"^events_([0-9]+)_(.*?)(?:\.(?!compact)[a-z0-9]+)?(\.compact)?$")
_STATUS = re.compile(r"^appstatus_(.*?)(\.inprogress)?$")
# Databricks delivers the current part as `eventlog`; the name of an earlier part has the time at which it ended.
_DATABRICKS = re.compile(r"^eventlog(?:-([0-9]{4}(?:-[0-9]{2}){2}--[0-9]{2}-[0-9]{2}).*)?$")
# A cluster's folder has its logs in `eventlog`; these other folders contain what its programs print.
_DATABRICKS_FOLDER, _DATABRICKS_OUTPUT = "eventlog", frozenset({"driver", "executor", "init_scripts"})
_LAST = "~"
_IN_PROGRESS = ".inprogress"
# In subfolders, files with other names are not read.
_LIKELY = re.compile(
    r"^(?!.*(?:stdout|stderr|log4j))[^.]+(?:\.(?:zstd|lz4|snappy|lzf|gz|bz2|zip|inprogress|compact))*$"
)
# Levels of subfolders: log delivery of Databricks has 4; stores may also have a folder for each hour.
_DEEPEST = 8
_MOST_FOLDERS = 10_000


class EventLog(NamedTuple):
    """The log of one application: its files in order.

    `is_finished`: True if Spark no longer writes to the log.
    """

    path: str
    files: tuple[LogFile, ...]
    is_finished: bool

    @property
    def size(self) -> int:
        """Total bytes of the log's files."""
        return sum(file.size for file in self.files)


def find_logs(paths: Sequence[str]) -> list[EventLog]:
    """Return the event logs at `paths`.

    `paths`: each is a file, a zip, an application folder, a directory that contains these, or a pattern. Parts of one
    log that are named separately form one log.

    Raises TableNotFound if a path does not exist or contains no log.
    """
    named: dict[str, list[LogFile]] = {}
    event_logs: list[EventLog] = []
    for path in dict.fromkeys(path.rstrip("/") or "/" for path in paths):
        there = False
        for location, file in _places(path):
            if file is not None:
                there = True
                named.setdefault(file.path.rpartition("/")[0], []).append(file)
            elif logs := _below(location):
                there = True
                event_logs += logs
        if not there:
            raise TableNotFound(
                f"{path}: no event log in this folder or below; give a file or the directory of spark.eventLog.dir"
            )
    event_logs += [log for directory, files in named.items() for log in _logs_of(directory, files)]
    # The same folder may be found under several names.
    return [*{_real(log.path): log for log in reversed(event_logs)}.values()][::-1]


def _real(path: str) -> str:
    return path if is_remote(path) else os.path.realpath(local_path(path))


def _places(path: str) -> Iterator[tuple[str, LogFile | None]]:
    """Yield the matches of a path or pattern, each with its file, or None if the match may be a directory."""
    if path.startswith("dbfs:"):
        raise WrongUse(
            f"{path}: only Databricks reads dbfs:/; copy it (`databricks fs cp -r {path} logs`), and name the copy"
        )
    file = find_file(path)
    if file is None and has_magic(path):
        yield from ((location.rstrip("/"), file) for location, file in sorted(find_matches(path)))
    else:
        yield path, file


def _below(path: str) -> list[EventLog]:
    """Return the logs in a directory and its subfolders."""
    logs: list[EventLog] = []
    waiting, seen = [path], 0
    while waiting:
        directory = waiting.pop()
        seen += 1
        if seen > _MOST_FOLDERS:
            raise WrongUse(f"{path}: more than {_MOST_FOLDERS:,} folders; name the folder of the event logs")
        folders, files = look_into(directory, _ANY)
        visible = [file for file in files if not is_hidden(_name(file)) and file.size]
        logs += _logs_of(directory, visible if directory == path else _likely(visible), every=files)
        if directory.count("/") - path.count("/") < _DEEPEST:
            waiting += sorted(_searched(folders), reverse=True)
    return logs


def _likely(files: Iterable[LogFile]) -> list[LogFile]:
    return [file for file in files if _LIKELY.match(_name(file))]


def _searched(folders: Sequence[str]) -> list[str]:
    names = {folder: folder.rpartition("/")[2] for folder in folders}
    left_out = _DATABRICKS_OUTPUT if _DATABRICKS_FOLDER in names.values() else frozenset()
    return [folder for folder, name in names.items() if not is_hidden(name) and name not in left_out]


def _logs_of(directory: str, files: Sequence[LogFile], *, every: Sequence[LogFile] = ()) -> list[EventLog]:
    """Return the logs that files of one directory form.

    `every`: all files of the directory, including empty ones.
    """
    if _ROLLING.search(directory):
        return [_rolling(directory, files, every or files)]
    rolling: dict[str, list[LogFile]] = {}
    delivered: list[LogFile] = []
    others: list[EventLog] = []
    for file in sorted(files, key=lambda file: file.path):
        if match := _PART.match(_name(file)):
            rolling.setdefault(match[2], []).append(file)
        elif _DATABRICKS.match(_name(file)):
            delivered.append(file)
        elif is_zip(file):
            others += _in_zip(file)
        elif not _STATUS.match(_name(file)):
            others.append(EventLog(file.path, (file,), not file.path.endswith(_IN_PROGRESS)))
    logs = [_rolling(f"{directory}/{app}", parts, every) for app, parts in rolling.items()]
    if delivered:
        # The current part grows until the cluster ends, and no file marks that end.
        logs.append(EventLog(f"{directory}/eventlog", tuple(sorted(delivered, key=_ended)), is_finished=False))
    return [*logs, *others]


def _in_zip(file: LogFile) -> list[EventLog]:
    """Return the logs in a zip, such as the zips of Spark's history server."""
    folders: dict[str, list[LogFile]] = {}
    try:
        members = members_of(file)
    except MalformedFile:
        # A damaged zip counts as one log; reading that log raises the error, which names the file.
        return [EventLog(file.path, (file,), is_finished=True)]
    for member in members:
        folders.setdefault(member.path.rpartition("/")[0], []).append(member)
    return [
        log
        for folder, inside in folders.items()
        for log in _logs_of(folder, [it for it in inside if it.size and not is_hidden(_name(it))], every=inside)
    ]


def _rolling(path: str, files: Sequence[LogFile], every: Sequence[LogFile]) -> EventLog:
    """Return the log of a folder with rolling files. A compacted file replaces the files up to its number."""
    parts = [(int(match[1]), bool(match[3]), file) for file in files if (match := _PART.match(_name(file)))]
    compacted = max((number for number, is_compact, _ in parts if is_compact), default=-1)
    remaining = [part for part in parts if part[0] > compacted or (part[1] and part[0] == compacted)]
    apps = {match[2] for file in files if (match := _PART.match(_name(file)))}
    marks = [match for file in every if (match := _STATUS.match(_name(file))) and (match[1] in apps or not apps)]
    ended = not any(mark[2] for mark in marks) and not any(file.path.endswith(_IN_PROGRESS) for file in files)
    return EventLog(path, tuple(file for _, _, file in sorted(remaining, key=lambda part: part[:2])), ended)


def _ended(file: LogFile) -> str:
    match = _DATABRICKS.match(_name(file))
    return _LAST if match is None or match[1] is None else match[1]


def _name(file: LogFile) -> str:
    return file.path.rpartition("/")[2]
