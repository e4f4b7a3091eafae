"""Journals of writes that add and remove several files at once.

In a plain directory, files change one by one. A writer that changes several files first creates a small file,
`_prune_journal.json`, in the directory of the table. The write is committed as soon as the journal exists: readers
include the added files, whether still staged or already moved, and skip the removed files, whether or not they still
exist. The process that finishes the write deletes the journal last. Spark skips the journal and the staged files,
because their names begin with an underscore.

    {"schema": "write-journal/1", "staging": "_staging-<32 hexadecimal digits>",
     "added": ["part-1.parquet"], "removed": ["part-0.parquet"]}

Added files are in the folder `staging` until they are moved into the directory of the table, under the same name. Names
of files in partitions include the partition directory: `day=1/part-0.parquet`. That applies to added and to removed
files.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from parquet_core.errors import MalformedFile, StaleListing, StorageFailure, UnfinishedWrite
from parquet_core.fix import Fix, Step
from parquet_core.storage.files import JOURNAL, Traffic
from parquet_core.storage.ranges import read_whole
from parquet_core.storage.remote import find_file
from parquet_core.storage.stores import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage.files import DataFile

STAGING = re.compile(r"_staging-[0-9a-f]{32}")
# A name takes about 100 bytes, so the limit is beyond the files of any directory.
_MAX_BYTES = 1 << 30


class Ended(Exception):
    """The write of a listed journal has ended; the directory must be listed again."""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a write; the module docstring describes the names."""

    schema: Literal["write-journal/1"] = "write-journal/1"
    staging: str
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        return msgspec.json.encode(self)


def read_journal(path: str) -> Journal | None:
    """Read a journal; None if missing.

    Raises MalformedFile for a file that no writer of this project wrote.
    """
    file = find_file(path)
    if file is None:
        return None
    if file.size > _MAX_BYTES:
        raise _malformed(path, f"{file.size} bytes")
    try:
        data = next(read_whole([file], purpose="journal", traffic=Traffic()))
    except StaleListing:
        return read_journal(path)
    try:
        journal = msgspec.json.decode(data, type=Journal)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _malformed(path, str(error)) from None
    _check_names(path, journal)
    return journal


def _check_names(path: str, journal: Journal) -> None:
    """Refuse names outside of the table.

    The files that a journal names are moved and deleted.
    """
    if not STAGING.fullmatch(journal.staging):
        raise _malformed(path, f"staging is {journal.staging!r}")
    for what, names in (("added", journal.added), ("removed", journal.removed)):
        for name in names:
            if not _is_inside(name):
                raise _malformed(path, f"{what} {name!r}")


def _is_inside(name: str) -> bool:
    return "\0" not in name and all(part not in {"", ".", ".."} for part in name.split("/"))


def _malformed(path: str, what: str) -> MalformedFile:
    return MalformedFile(
        f"{path}: not a valid journal of a write ({what}); move it elsewhere, and check which files the table needs"
    )


def apply_journal(path: str, directories: dict[str, list[DataFile]]) -> dict[str, str]:
    """Apply a journal to listed files; return target directories by staging directory.

    `path`: the journal. `directories`: files by directory path, including the journal's directory; changed in place.
    Raises Ended if the journal no longer exists.
    """
    table = path.rpartition("/")[0]
    journal = _read_existing(path)
    _drop(directories, [f"{table}/{name}" for name in journal.removed])
    staged = {}
    for subdirectory, names in _by_place(journal.added).items():
        files = directories.setdefault(table + subdirectory, [])
        listed = {file.path for file in files}
        stage = f"{table}/{journal.staging}{subdirectory}"
        files += [
            _added(path, f"{stage}/{name}", f"{table}{subdirectory}/{name}")
            for name in names
            if f"{table}{subdirectory}/{name}" not in listed
        ]
        staged[stage] = table + subdirectory
    return staged


def _by_place(added: Sequence[str]) -> dict[str, list[str]]:
    """Group names by directory relative to the table, with a leading slash.

    >>> _by_place(["a.parquet", "day=1/b.parquet"])
    {'': ['a.parquet'], '/day=1': ['b.parquet']}
    """
    places: dict[str, list[str]] = {}
    for name in added:
        subdirectory, slash, last = name.rpartition("/")
        places.setdefault(slash + subdirectory, []).append(last)
    return places


def _read_existing(path: str) -> Journal:
    journal = read_journal(path)
    if journal is None:
        raise Ended
    return journal


def _drop(directories: dict[str, list[DataFile]], paths: Sequence[str]) -> None:
    gone = set(paths)
    for subdirectory in {path.rpartition("/")[0] for path in paths} & directories.keys():
        directories[subdirectory] = [file for file in directories[subdirectory] if file.path not in gone]


def _added(path: str, staged: str, moved: str) -> DataFile:
    # The staged path comes first, as the file may be moved between the two requests.
    added = find_file(staged) or find_file(moved)
    if added is not None:
        return added
    _read_existing(path)
    raise StorageFailure(
        f"{path}: names {moved}, which is neither in the table nor staged; put it back, or remove the journal and "
        f"the files "
        "that it adds"
    )


def apply_journals_above(
    roots: Sequence[str], files: Sequence[str], directories: dict[str, list[DataFile]], *, by_pattern: bool
) -> dict[str, str]:
    """Apply journals found in the directories above the given local paths.

    Returns the directories of these journals, mapped to themselves. Above directories in stores, and above the target
    of a symbolic link, no journals are searched, because each directory would take a request or a lookup. There, only
    journals in or below the given paths apply.

    `roots`, `files`: the directories and files that the user named. Raises UnfinishedWrite for a file that is about to
    be removed, and for files found by a pattern, which might match other files after the write.
    """
    whole = {root: os.path.abspath(root or "/") for root in roots if not is_remote(root)}
    parents = [parent for parent in {path.rpartition("/")[0] for path in files} if not is_remote(parent)]
    journaled = list(_with_journal([*map(os.path.dirname, whole.values()), *map(os.path.abspath, parents)]))
    for directory in journaled:
        journal = _read_existing(f"{directory}/{JOURNAL}")
        removed = [f"{directory}/{name}" for name in journal.removed]
        _refuse_parts(directory, set(removed), files, by_pattern=by_pattern)
        for root, absolute in whole.items():
            inside = [root + path[len(absolute) :] for path in removed if path.startswith(f"{absolute}/")]
            _drop(directories, inside)
    return dict(zip(journaled, journaled, strict=True))


def _with_journal(places: Sequence[str]) -> Iterator[str]:
    """Yield the given directories, and directories above them, that contain a journal.

    Each directory takes one call of the operating system.
    """
    seen: set[str] = set()
    for subdirectory in places:
        here = subdirectory
        while here not in seen:
            seen.add(here)
            if os.path.lexists(f"{here}/{JOURNAL}"):
                yield here
            here = os.path.dirname(here)


def _refuse_parts(directory: str, removed: set[str], files: Sequence[str], *, by_pattern: bool) -> None:
    for path in map(os.path.abspath, files):
        if path in removed or (by_pattern and path.startswith(f"{directory}/")):
            raise UnfinishedWrite(
                f"{path}: a write of {directory} is running or was interrupted",
                Fix(
                    "give the path of the table, which is read as if the write were finished, or finish the write "
                    "with ",
                    Step.FINISH_WRITE,
                    place=directory,
                ),
            )
