"""History of a table: commit information, times of versions, and the version at a time.

The time of a commit is its in-commit timestamp if the table has them, otherwise the modification time of its file. If
the file time of a version is not later than that of the previous version, it counts as one millisecond later.
"""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.errors import NoSuchVersion
from deltalog.log.commit_file import LINES, in_commit_time, info_of, read_commits
from deltalog.log.listing import list_log
from deltalog.table.properties import SINCE_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltalog.log.listing import LogListing
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.storage import DataFile, Traffic


class CommitInfo(NamedTuple):
    """A commit.

    `timestamp`: milliseconds since 1970 UTC.
    `info`: commitInfo as written; empty if missing.
    """

    version: int
    timestamp: int
    info: dict[str, Any]


def history(snapshot: Snapshot, *, limit: int | None = None) -> list[CommitInfo]:
    """Return the commit information of a version and the versions before it, newest first.

    >>> import deltalog
    >>> for commit in deltalog.history(snapshot):
    ...     print(commit.version, commit.info["operation"])
    1 WRITE
    0 CREATE TABLE

    `limit`: maximum number of commits. Commits that log cleanup removed are missing.
    """
    listing = snapshot.listing
    versions = sorted((version for version in listing.commits if version <= snapshot.version), reverse=True)[:limit]
    infos = dict(
        zip(versions, _infos([listing.commits[version] for version in versions], snapshot.traffic), strict=True)
    )
    times = commit_times(snapshot, infos)
    return [CommitInfo(version, times[version], info) for version, info in infos.items()]


def commit_times(snapshot: Snapshot, infos: Mapping[int, Mapping[str, Any]]) -> dict[int, int]:
    """Return the times of versions in milliseconds since 1970; `infos`: the commitInfo of each."""
    times, enabled = _file_times(snapshot.listing), _enabled(snapshot)
    return {version: _time_of(version, info, times, enabled) for version, info in infos.items()}


def snapshot_time(snapshot: Snapshot) -> int | None:
    """Return the time of a version in milliseconds since 1970; None if its commit was removed.

    >>> import time
    >>> import deltalog
    >>> deltalog.snapshot_time(snapshot) <= time.time() * 1000
    True
    """
    if snapshot.version not in snapshot.listing.commits:
        return None
    return history(snapshot, limit=1)[0].timestamp


def listed_time(snapshot: Snapshot) -> int | None:
    """Return the time of a version in milliseconds since 1970, from the listing of the log alone.

    None if the commit was removed, or would have to be read.
    """
    commit = snapshot.listing.commits.get(snapshot.version)
    if commit is None or not commit.modified_ns or _enabled(snapshot) is not None:
        return None
    return commit.modified_ns // 1_000_000


def version_of_time(latest: Snapshot, moment: dt.datetime | int) -> int:
    """Return the last version made at or before a time. Raises as `version_at`."""
    wanted = moment if isinstance(moment, int) else _milliseconds(moment)
    table, times = latest.table, _readable_times(latest)
    if not times:
        raise NoSuchVersion(f"{table}: its log has no commit left, so no version has a time; give a version instead")
    earlier = [version for version, commit_time in times if commit_time <= wanted]
    if not earlier:
        first, commit_time = times[0]
        raise NoSuchVersion(
            f"{table}: no version at {_shown(wanted)}; the first is {first}, made at {_shown(commit_time)}"
        )
    last, commit_time = times[-1]
    if wanted > commit_time:
        raise NoSuchVersion(
            f"{table}: {_shown(wanted)} is after the last version, {last}, made at {_shown(commit_time)}"
        )
    return max(earlier)


def _milliseconds(moment: dt.datetime) -> int:
    if moment.tzinfo is None:
        raise NoSuchVersion(f"the time {moment} has no zone; give one, as in 2024-01-01T00:00:00+00:00")
    return round(moment.timestamp() * 1000)


def _shown(milliseconds: int) -> str:
    try:
        return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def _readable_times(latest: Snapshot) -> list[tuple[int, int]]:
    """Return the readable versions with their times, in ascending order."""
    listing = latest.listing
    readable = _readable(listing)
    enabled = _enabled(latest)
    times = _file_times(listing)
    new = [version for version in readable if enabled is not None and version >= enabled]
    infos = dict(zip(new, _infos([listing.commits[version] for version in new], latest.traffic), strict=True))
    return [(version, _time_of(version, infos.get(version, {}), times, enabled)) for version in readable]


def _readable(listing: LogListing) -> list[int]:
    """Return the versions with a commit that are reachable, without a gap, from a checkpoint or the first commit."""
    readable, last = [], -1
    for version in sorted({*listing.commits, *listing.checkpoints}):
        if version in listing.checkpoints or version == last + 1:
            last = version
            if version in listing.commits:
                readable.append(version)
    return readable


def _file_times(listing: LogListing) -> dict[int, int]:
    times: dict[int, int] = {}
    before: int | None = None
    for version in sorted(listing.commits):
        file_time = listing.commits[version].modified_ns // 1_000_000
        before = file_time if before is None or file_time > before else before + 1
        times[version] = before
    return times


def _time_of(version: int, info: Mapping[str, Any], times: dict[int, int], enabled: int | None) -> int:
    timestamp = in_commit_time(info)
    if enabled is not None and version >= enabled and timestamp is not None:
        return timestamp
    return times[version]


def _enabled(snapshot: Snapshot) -> int | None:
    """Return the first version with in-commit timestamps; None if they are not enabled."""
    if not snapshot.properties.in_commit_timestamps:
        return None
    try:
        return int(snapshot.properties.get(SINCE_VERSION, "0"))
    except ValueError:
        return None


def _infos(files: Sequence[DataFile], traffic: Traffic) -> list[dict[str, Any]]:
    return [info_of(lines) for lines in read_commits(files, LINES, traffic=traffic)]


def versions(table: str | os.PathLike[str]) -> list[int]:
    """Return the readable versions of a table.

    >>> import deltalog
    >>> deltalog.versions(table)
    [0, 1]
    """
    return _readable(list_log(os.fspath(table)))
