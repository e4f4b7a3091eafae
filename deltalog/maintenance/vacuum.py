"""Delete data files that no retained version needs, and find orphans.

Orphans are files that no version names. A data file is kept while it is live, and while its tombstone is younger than
the retention. The file of a deletion vector is kept with its data file. Every file younger than the retention is kept,
because its writer may not have committed yet. Files are listed before the log is read, so that commits made meanwhile
are seen.
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
    """A file that is not live, and not yet removable.

    `removable_from`: milliseconds since 1970; None if the store does not report the file's age.
    `removed`: True if a commit removed the file, False if no commit names it.
    """

    file: DataFile
    removable_from: int | None
    removed: bool


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """Files that were removed, or would be removed in a dry run.

    `retention`: in milliseconds.
    `failed`: files that could not be deleted, with the error.
    `waiting`: files within the retention period.
    """

    version: int
    retention: int
    files: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]
    waiting: tuple[WaitingFile, ...]
    dry_run: bool

    @property
    def bytes(self) -> int:
        """Total bytes of `files`."""
        return sum(file.size for file in self.files)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the files within the retention period."""
        return sum(waiting_file.file.size for waiting_file in self.waiting)

    @property
    def young(self) -> int:
        """Number of files within the retention period that no commit names."""
        return sum(not waiting_file.removed for waiting_file in self.waiting)


def vacuum(
    table: str | os.PathLike[str],
    *,
    retention: dt.timedelta | None = None,
    dry_run: bool = True,
    allow_shorter: bool = False,
    now: int | None = None,
) -> Vacuumed:
    """Remove files that no version within the retention needs; by default only return them.

    A file that no commit names is kept for a week, because its commit may still follow. Eight days later it would be
    removed:

    >>> import time
    >>> import deltalog
    >>> deltalog.vacuum(table).files
    ()
    >>> found = deltalog.vacuum(table, now=(int(time.time()) + 8 * 86_400) * 1000)
    >>> [file.path.rpartition("/")[2] for file in found.files]
    ['part-1.parquet']

    `retention`: by default the table's (`delta.deletedFileRetentionDuration`). A longer one also keeps files of older
    tombstones, if the log still has the tombstones. A shorter one removes files that readers of older versions and
    running writers need, and requires `allow_shorter`.
    `dry_run`: False removes the files.
    `now`: end of the retention period, in milliseconds since 1970; by default the present.

    Raises WrongUse for a shorter retention without `allow_shorter`, UnsupportedTable for an unsupported table feature,
    and the errors of `open_state`.
    """
    location = _place(table)
    check_deletable(location)
    # List the files before the log is read: files written later are then not candidates.
    files = table_files(location, changes=True)
    state = open_state(location)
    check_maintainable(state.protocol, location=state.listing.location)
    retention_ms = _retention(state.properties, retention, allow_shorter=allow_shorter, location=location)
    present = time.time_ns() // 1_000_000 if now is None else now
    idle = list(_idle(files, named_files(state), retention_ms))
    old = [
        waiting_file.file
        for waiting_file in idle
        if waiting_file.removable_from is not None and waiting_file.removable_from <= present
    ]
    waiting = tuple(
        waiting_file
        for waiting_file in idle
        if waiting_file.removable_from is None or waiting_file.removable_from > present
    )
    if dry_run:
        return Vacuumed(state.version, retention_ms, tuple(old), (), waiting, dry_run=True)
    done = delete_files(old)
    return Vacuumed(state.version, retention_ms, done.deleted, done.failed, waiting, dry_run=False)


def _idle(files: dict[str, DataFile], named: NamedFiles, retention: int) -> Iterator[WaitingFile]:
    """Yield the files that are not live, sorted by path."""
    for path, file in sorted(files.items()):
        removed = named.removed(path)
        if removed == LIVE:
            continue
        modified = file.modified_ns // 1_000_000
        # A file is kept through its retention and removable one millisecond later.
        removable_from = int(max(modified, removed or 0)) + retention + 1 if modified > 0 else None
        yield WaitingFile(file, removable_from, removed is not None)


def _retention(
    properties: Mapping[str, str], requested: dt.timedelta | None, *, allow_shorter: bool, location: str
) -> int:
    wanted = duration_of(properties, TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT)
    if requested is None:
        return wanted
    retention_ms = int(requested.total_seconds() * 1_000)
    if retention_ms < 0:
        raise WrongUse(f"{location}: the retention is {requested}; give one that is not negative")
    if retention_ms < wanted and not allow_shorter:
        raise WrongUse(
            f"{location}: a retention of {requested} is shorter than the "
            f"{properties.get(TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT)!r} of the table; it would remove files "
            f"that running readers and writers need. Give a longer one, set {TOMBSTONE_RETENTION}, or pass "
            "allow_shorter=True (--allow-shorter) when no other program uses the table"
        )
    return retention_ms


def _place(table: str | os.PathLike[str]) -> str:
    """Return a table's address without trailing slashes, except "/" itself."""
    location = address(os.fspath(table))
    return location.rstrip("/") or location[:1]


def orphans(table: str | os.PathLike[str]) -> tuple[DataFile, ...]:
    """Return files that neither a table's log nor its tombstones name, sorted by path.

    >>> import deltalog
    >>> [file.path.rpartition("/")[2] for file in deltalog.orphans(table)]
    ['part-1.parquet']

    Files of the change data feed are ignored. A young file may belong to a commit that is not written yet.
    """
    location = _place(table)
    files = table_files(location)
    named = named_files(open_state(location))
    return tuple(file for path, file in sorted(files.items()) if named.removed(path) is None)
