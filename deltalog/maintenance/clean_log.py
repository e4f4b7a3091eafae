"""Remove expired files of a log: those that a newer checkpoint replaces, of versions that are past their retention.

The cut is made at midnight: the last commit that was made before the day on which `delta.logRetentionDuration` ends
must stay readable, so the checkpoint at or before it stays, with its commit and all that follows. Older files go, the
oldest first, so that whatever stops it leaves a log without holes.

Source: the Delta protocol, "Metadata Cleanup".
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deltalog.errors import MalformedLog
from deltalog.log.checkpoint import load_checkpoint, read_hint
from deltalog.log.commit_file import LINES, in_commit_time, info_of, read_commits
from deltalog.maintenance.last_checkpoint import checkpoint_of, hint_of, write_hint
from deltalog.maintenance.log_state import open_state
from deltalog.table.features import check_maintainable, protected_before
from deltalog.table.properties import DAY_MS, duration_of
from parquet_core.storage import Traffic, address, check_deletable, delete_files, list_directory, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltalog.log.listing import LogListing
    from deltalog.maintenance.log_state import LogState
    from parquet_core.storage import DataFile

RETENTION, RETENTION_BY_DEFAULT = "delta.logRetentionDuration", "interval 30 days"
ENABLED = "delta.enableExpiredLogCleanup"
_SIDECARS = "_sidecars"
# Everything that names a version, the checksums that Hadoop puts beside files, and what a dead process left behind.
_OF_A_VERSION = re.compile(
    r"\.?([0-9]{20})\.(?:json|crc|checkpoint\.parquet|checkpoint\.[0-9]{10}\.[0-9]{10}\.parquet"
    r"|checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)|([0-9]{20})\.compacted\.json)(?:\.crc)?"
)
_STAGED = re.compile(r"\..+\.[0-9a-f-]{36}\.tmp")
_ANY = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CleanedLog:
    """What of a log went, or would go in a dry run.

    `checkpoint`: the version of the checkpoint that the oldest readable version stands on, None when nothing may go;
    `reason` says why then. `failed`: what could not be deleted, and why.
    """

    checkpoint: int | None
    files: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]
    reason: str = ""

    @property
    def bytes(self) -> int:
        """How many bytes went."""
        return sum(file.size for file in self.files)


def clean_log(table: str | os.PathLike[str], *, dry_run: bool = False, now: int | None = None) -> CleanedLog:
    """Remove the files of a log that have expired.

    >>> import deltalog
    >>> cleaned = deltalog.clean_log(table, dry_run=True)
    >>> cleaned.files, cleaned.reason
    ((), 'no commit has expired')

    `dry_run`: only tell which these are.
    `now`: the time from which the retention is counted back, in milliseconds; by default the present.

    Raises WrongUse for a retention that is none, UnsupportedTable for a table feature that is not understood, and what
    `open_state` raises.
    """
    location = address(os.fspath(table))
    check_deletable(location)
    return _clean(open_state(location), dry_run=dry_run, now=time.time_ns() // 1_000_000 if now is None else now)


def clean_after_checkpoint(table: str) -> tuple[str, ...]:
    """Remove what has expired if the table wants that; return what could not be deleted, and why."""
    state = open_state(table)
    if state.properties.get(ENABLED, "true").lower() == "false":
        return ()
    return tuple(why for _, why in _clean(state, dry_run=False, now=time.time_ns() // 1_000_000).failed)


def _clean(state: LogState, *, dry_run: bool, now: int) -> CleanedLog:
    check_maintainable(state.protocol, location=state.listing.location)
    midnight = (now - duration_of(state.properties, RETENTION, RETENTION_BY_DEFAULT)) // DAY_MS * DAY_MS
    commit = _last_commit_before(state, midnight)
    if commit is None:
        return CleanedLog(None, (), (), "no commit has expired")
    kept = _checkpoint_at(state.listing, commit)
    if kept is None:
        return CleanedLog(None, (), (), f"no checkpoint of version {commit} or before it can be read; write one")
    guarded = protected_before(state.protocol, state.properties)
    if guarded > min([*state.listing.commits, *state.listing.checkpoints]):
        return CleanedLog(None, (), (), f"the table requires all versions before {guarded} to be kept")
    expired = [*_expired(state.listing, kept), *_left_behind(state.listing, now), *_sidecars(state.listing, kept, now)]
    if dry_run:
        return CleanedLog(kept, tuple(expired), ())
    _point_at(state, kept)
    done = delete_files(expired)
    return CleanedLog(kept, done.deleted, done.failed)


def _point_at(state: LogState, kept: int) -> None:
    """Let the hint name no checkpoint that goes: some readers list from there on."""
    named = read_hint(state.listing, traffic=Traffic()).version
    checkpoint, _ = checkpoint_of(state.listing, kept)
    if named is not None and named < kept and checkpoint is not None:
        write_hint(state.table, state.listing.location, hint_of(checkpoint))


def _last_commit_before(state: LogState, moment: int) -> int | None:
    """Return the newest commit that was made at a moment or before it, of those that are there without a hole."""
    versions = sorted(state.listing.commits)
    times = np.array([state.listing.commits[version].modified_ns // 1_000_000 for version in versions], np.int64)
    # File times may run backwards, and a store may not tell them: then nothing is known to be old.
    if not len(times) or (times <= 0).any():
        return None
    count = int(np.searchsorted(np.maximum.accumulate(times), moment, side="right"))
    if not count:
        return None
    if not state.properties.in_commit_timestamps:
        return versions[count - 1]
    # Files that were copied look younger than they are, never older; what a commit says of itself grows with versions.
    first, stop = 0, count
    while first < stop:
        middle = (first + stop) // 2
        timestamp = _in_commit_time(state.listing.commits[versions[middle]])
        first, stop = (middle + 1, stop) if timestamp is None or timestamp <= moment else (first, middle)
    return versions[first - 1] if first else None


def _in_commit_time(file: DataFile) -> int | None:
    """Return the time that a commit gives itself; None of one from before the table had such times."""
    return in_commit_time(info_of(next(read_commits([file], LINES, traffic=Traffic()))))


def _checkpoint_at(listing: LogListing, commit: int) -> int | None:
    """Return the newest version up to a commit with a checkpoint that can be read."""
    for version in sorted((at for at in listing.checkpoints if at <= commit), reverse=True):
        for checkpoint in listing.checkpoints[version]:
            try:
                for file in load_checkpoint(checkpoint, location=listing.location, traffic=Traffic()).files:
                    file.footer()
            except MalformedLog:
                continue
            return version
    return None


def _expired(listing: LogListing, kept: int) -> list[DataFile]:
    """Return the files of versions before the checkpoint that stays, the oldest first."""
    expired = []
    for file in list_directory(listing.location, _OF_A_VERSION):
        match = _OF_A_VERSION.fullmatch(name_of(file))
        assert match is not None
        first = int(match[1])
        # A compaction that begins before what stays is of no use, even when it ends after it.
        if first < kept or (match[2] is not None and first <= kept):
            expired.append((first, file))
    return [file for _, file in sorted(expired, key=lambda item: (item[0], item[1].path))]


def _left_behind(listing: LogListing, now: int) -> Iterator[DataFile]:
    """Yield what a process that died was writing, a day ago at least."""
    for location in (listing.location, f"{listing.location}/{_SIDECARS}"):
        yield from (file for file in list_directory(location, _STAGED) if _is_a_day_old(file, now))


def _is_a_day_old(file: DataFile, now: int) -> bool:
    return 0 < file.modified_ns // 1_000_000 < (now // DAY_MS - 1) * DAY_MS


def _sidecars(listing: LogListing, kept: int, now: int) -> list[DataFile]:
    """Return the sidecars that no checkpoint that stays refers to, if each of those can be read."""
    files = [file for file in list_directory(f"{listing.location}/{_SIDECARS}", _ANY) if _is_a_day_old(file, now)]
    files = [file for file in files if not _STAGED.fullmatch(name_of(file))]
    if not files:
        return []
    used: set[str] = set()
    for version in (at for at in listing.checkpoints if at >= kept):
        for checkpoint in listing.checkpoints[version]:
            try:
                opened = load_checkpoint(checkpoint, location=listing.location, traffic=Traffic()).opened
            except MalformedLog:
                return []
            used.update(name_of(file) for file in opened)
    return [file for file in files if name_of(file) not in used]
