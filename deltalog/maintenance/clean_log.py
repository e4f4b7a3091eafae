"""Remove expired log files that a newer checkpoint replaces.

The cutoff is at midnight. The last commit before the day on which `delta.logRetentionDuration` ends must stay readable,
so the newest checkpoint up to that commit is kept, with all files of its version and of later versions. Older files are
deleted oldest first, so that an interruption leaves a log without gaps.

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
# All names with a version, including Hadoop's checksum files and leftovers of dead processes.
_OF_A_VERSION = re.compile(
    r"\.?([0-9]{20})\.(?:json|crc|checkpoint\.parquet|checkpoint\.[0-9]{10}\.[0-9]{10}\.parquet"
    r"|checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)|([0-9]{20})\.compacted\.json)(?:\.crc)?"
)
_STAGED = re.compile(r"\..+\.[0-9a-f-]{36}\.tmp")
_ANY = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CleanedLog:
    """Files removed from a log, or removable in a dry run.

    `checkpoint`: version of the checkpoint that the oldest readable version starts from; None if nothing may be
    removed, and `reason` says why. `failed`: files that could not be deleted, with the error.
    """

    checkpoint: int | None
    files: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]
    reason: str = ""

    @property
    def bytes(self) -> int:
        """Total bytes of the removed files."""
        return sum(file.size for file in self.files)


def clean_log(table: str | os.PathLike[str], *, dry_run: bool = False, now: int | None = None) -> CleanedLog:
    """Remove the expired files of a log.

    >>> import deltalog
    >>> cleaned = deltalog.clean_log(table, dry_run=True)
    >>> cleaned.files, cleaned.reason
    ((), 'no commit has expired')

    `dry_run`: only return the files.
    `now`: end of the retention period, in milliseconds since 1970; by default the present.

    Raises WrongUse for an invalid retention, UnsupportedTable for an unsupported table feature, and the errors of
    `open_state`.
    """
    location = address(os.fspath(table))
    check_deletable(location)
    return _clean(open_state(location), dry_run=dry_run, now=time.time_ns() // 1_000_000 if now is None else now)


def clean_after_checkpoint(table: str) -> tuple[str, ...]:
    """Remove expired log files if the table enables it; return the errors of failed deletions."""
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
    oldest_version = _checkpoint_at(state.listing, commit)
    if oldest_version is None:
        return CleanedLog(
            None, (), (), f"no checkpoint of version {commit} or an earlier version can be read; write one"
        )
    guarded = protected_before(state.protocol, state.properties)
    if guarded > min([*state.listing.commits, *state.listing.checkpoints]):
        return CleanedLog(None, (), (), f"the table requires all versions before {guarded} to be kept")
    expired = [
        *_expired(state.listing, oldest_version),
        *_unfinished_files(state.listing, now),
        *_sidecars(state.listing, oldest_version, now),
    ]
    if dry_run:
        return CleanedLog(oldest_version, tuple(expired), ())
    _point_at(state, oldest_version)
    done = delete_files(expired)
    return CleanedLog(oldest_version, done.deleted, done.failed)


def _point_at(state: LogState, oldest_version: int) -> None:
    """Let the hint name a kept checkpoint: some readers list the log only from the version in the hint on."""
    named = read_hint(state.listing, traffic=Traffic()).version
    checkpoint, _ = checkpoint_of(state.listing, oldest_version)
    if named is not None and named < oldest_version and checkpoint is not None:
        write_hint(state.table, state.listing.location, hint_of(checkpoint))


def _last_commit_before(state: LogState, moment: int) -> int | None:
    """Return the newest commit made at or before a moment; None if there is none or a commit time is unknown."""
    versions = sorted(state.listing.commits)
    times = np.array([state.listing.commits[version].modified_ns // 1_000_000 for version in versions], np.int64)
    # If the store does not report file times, no commit is known to be old. File times may run backwards, so their
    # running maximum is used.
    if not len(times) or (times <= 0).any():
        return None
    count = int(np.searchsorted(np.maximum.accumulate(times), moment, side="right"))
    if not count:
        return None
    if not state.properties.in_commit_timestamps:
        return versions[count - 1]
    # Copied files look newer than they are, never older. In-commit timestamps increase with the version, so search
    # them.
    first, stop = 0, count
    while first < stop:
        middle = (first + stop) // 2
        timestamp = _in_commit_time(state.listing.commits[versions[middle]])
        first, stop = (middle + 1, stop) if timestamp is None or timestamp <= moment else (first, middle)
    return versions[first - 1] if first else None


def _in_commit_time(file: DataFile) -> int | None:
    """Return the in-commit timestamp of a commit; None if the commit has none."""
    return in_commit_time(info_of(next(read_commits([file], LINES, traffic=Traffic()))))


def _checkpoint_at(listing: LogListing, commit: int) -> int | None:
    """Return the newest version, up to `commit`, that has a readable checkpoint."""
    for version in sorted(
        (checkpoint_version for checkpoint_version in listing.checkpoints if checkpoint_version <= commit), reverse=True
    ):
        for checkpoint in listing.checkpoints[version]:
            try:
                for file in load_checkpoint(checkpoint, location=listing.location, traffic=Traffic()).files:
                    file.footer()
            except MalformedLog:
                continue
            return version
    return None


def _expired(listing: LogListing, oldest_version: int) -> list[DataFile]:
    """Return the files of versions before the kept checkpoint, oldest first."""
    expired = []
    for file in list_directory(listing.location, _OF_A_VERSION):
        match = _OF_A_VERSION.fullmatch(name_of(file))
        assert match is not None
        first = int(match[1])
        # A compaction that begins before the kept checkpoint is unusable, even if it ends after it.
        if first < oldest_version or (match[2] is not None and first <= oldest_version):
            expired.append((first, file))
    return [file for _, file in sorted(expired, key=lambda item: (item[0], item[1].path))]


def _unfinished_files(listing: LogListing, now: int) -> Iterator[DataFile]:
    """Yield unfinished files of dead processes, at least a day old."""
    for location in (listing.location, f"{listing.location}/{_SIDECARS}"):
        yield from (file for file in list_directory(location, _STAGED) if _is_a_day_old(file, now))


def _is_a_day_old(file: DataFile, now: int) -> bool:
    return 0 < file.modified_ns // 1_000_000 < (now // DAY_MS - 1) * DAY_MS


def _sidecars(listing: LogListing, oldest_version: int, now: int) -> list[DataFile]:
    """Return the sidecars that no kept checkpoint uses; empty if a kept checkpoint is unreadable."""
    files = [file for file in list_directory(f"{listing.location}/{_SIDECARS}", _ANY) if _is_a_day_old(file, now)]
    files = [file for file in files if not _STAGED.fullmatch(name_of(file))]
    if not files:
        return []
    used: set[str] = set()
    for version in (
        checkpoint_version for checkpoint_version in listing.checkpoints if checkpoint_version >= oldest_version
    ):
        for checkpoint in listing.checkpoints[version]:
            try:
                opened = load_checkpoint(checkpoint, location=listing.location, traffic=Traffic()).opened
            except MalformedLog:
                return []
            used.update(name_of(file) for file in opened)
    return [file for file in files if name_of(file) not in used]
