"""Delete data files that no version within the retention needs, and find orphans: files that no version names.

A file stays while the latest version has it, while its tombstone is younger than the retention, while its deletion
vector is one of those, and while it is itself younger: who writes it may not have committed yet. The files are listed
before the log is read, so that what is committed meanwhile is known.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.maintenance.log_state import open_state
from deltalog.maintenance.table_files import LIVE, named_files, table_files
from deltalog.table.features import check_maintainable
from deltalog.table.properties import TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT, duration_of
from parquet_core.errors import WrongUse
from parquet_core.storage import address, check_deletable, delete_files

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from deltalog.maintenance.table_files import NamedFiles
    from parquet_core.storage import DataFile


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file that the latest version does not have, within the retention period.

    `removable_from`: milliseconds since 1970, None if the store does not say how old the file is. `removed`: True if a
    commit removed the file, False if no commit names it.
    """

    file: DataFile
    removable_from: int | None
    removed: bool


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """Files that were removed, or would be in a dry run, with their sizes; `failed`: what could not be, and why.

    `retention`: in milliseconds; `waiting`: files within the retention period.
    """

    version: int
    retention: int
    files: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]
    waiting: tuple[WaitingFile, ...]
    dry_run: bool

    @property
    def bytes(self) -> int:
        """How many bytes they have."""
        return sum(file.size for file in self.files)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the files within the retention period."""
        return sum(one.file.size for one in self.waiting)

    @property
    def young(self) -> int:
        """Number of files within the retention period that no commit names."""
        return sum(not one.removed for one in self.waiting)


def vacuum(
    table: str | os.PathLike[str],
    *,
    retention: dt.timedelta | None = None,
    dry_run: bool = True,
    allow_shorter: bool = False,
    now: int | None = None,
) -> Vacuumed:
    """Remove the files that no version within the retention needs; by default only tell which these are.

    A file that no commit names is left for a week, as its commit may still come. Eight days later it would go:

    >>> import time
    >>> import deltalog
    >>> deltalog.vacuum(table).files
    ()
    >>> found = deltalog.vacuum(table, now=(int(time.time()) + 8 * 86_400) * 1000)
    >>> [file.path.rpartition("/")[2] for file in found.files]
    ['part-1.parquet']

    `retention`: by default what the table says (`delta.deletedFileRetentionDuration`). With a longer one the files of
    older tombstones stay too, as far as the log still has these. A shorter one takes files from readers of older
    versions and from writers at work, and needs `allow_shorter`.
    `dry_run`: False removes the files.
    `now`: the time from which the retention is counted back, in milliseconds; by default the present.

    Raises WrongUse for a shorter retention without `allow_shorter`, UnsupportedTable for a table feature that is not
    understood, and what `open_state` raises.
    """
    location = _place(table)
    check_deletable(location)
    # First of all: a file that is older than this and is not listed is not deleted either.
    files = table_files(location, changes=True)
    state = open_state(location)
    check_maintainable(state.protocol, location=state.listing.location)
    kept = _retention(state.properties, retention, allow_shorter=allow_shorter, location=location)
    present = time.time_ns() // 1_000_000 if now is None else now
    idle = list(_idle(files, named_files(state), kept))
    old = [one.file for one in idle if one.removable_from is not None and one.removable_from <= present]
    waiting = tuple(one for one in idle if one.removable_from is None or one.removable_from > present)
    if dry_run:
        return Vacuumed(state.version, kept, tuple(old), (), waiting, dry_run=True)
    done = delete_files(old)
    return Vacuumed(state.version, kept, done.deleted, done.failed, waiting, dry_run=False)


def _idle(files: dict[str, DataFile], named: NamedFiles, retention: int) -> Iterator[WaitingFile]:
    """Yield the files that the version does not have, by path."""
    for path, file in sorted(files.items()):
        removed = named.removed(path)
        if removed == LIVE:
            continue
        modified = file.modified_ns // 1_000_000
        # A file stays through its retention: it goes one millisecond later.
        removable_from = int(max(modified, removed or 0)) + retention + 1 if modified > 0 else None
        yield WaitingFile(file, removable_from, removed is not None)


def _retention(
    properties: Mapping[str, str], requested: dt.timedelta | None, *, allow_shorter: bool, location: str
) -> int:
    wanted = duration_of(properties, TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT)
    if requested is None:
        return wanted
    kept = int(requested.total_seconds() * 1_000)
    if kept < 0:
        raise WrongUse(f"{location}: the retention is {requested}; give one that is not negative")
    if kept < wanted and not allow_shorter:
        raise WrongUse(
            f"{location}: a retention of {requested} is shorter than the "
            f"{properties.get(TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT)!r} of the table; it would remove files "
            f"that running readers and writers need. Give a longer one, set {TOMBSTONE_RETENTION}, or pass "
            "allow_shorter=True (--allow-shorter) when no other program uses the table"
        )
    return kept


def _place(table: str | os.PathLike[str]) -> str:
    """Return a table's address without slashes at the end; the root of the file system stays, and no text too."""
    location = address(os.fspath(table))
    return location.rstrip("/") or location[:1]


def orphans(table: str | os.PathLike[str]) -> tuple[DataFile, ...]:
    """Return the files in the directories of a table that neither its log nor its tombstones name, by path.

    >>> import deltalog
    >>> [file.path.rpartition("/")[2] for file in deltalog.orphans(table)]
    ['part-1.parquet']

    Those of the change data feed are not looked at. A young one may belong to a commit that is still to come.
    """
    location = _place(table)
    files = table_files(location)
    named = named_files(open_state(location))
    return tuple(file for path, file in sorted(files.items()) if named.removed(path) is None)
