"""List `_delta_log` and choose the files that make a version.

Names that do not match the protocol exactly (temporary files, Hadoop checksums, another number of digits) are ignored.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.errors import BrokenLog, NoSuchVersion, NotADeltaTable
from parquet_core.errors import UnsupportedFeature
from parquet_core.storage import is_remote, list_directory, name_of
from parquet_core.storage.spellings import step_where_missing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.storage import DataFile

LOG = "_delta_log"
HINT = "_last_checkpoint"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(
    rf"([0-9]{{20}})\.checkpoint\.(?:([0-9]{{10}})\.([0-9]{{10}})\.parquet|({_UUID})\.(?:json|parquet)|parquet)"
)
_WANTED = re.compile(r"[0-9]{20}\..*|_last_checkpoint")
# Versions are signed 64-bit integers.
_MAX_VERSION = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts in order."""

    version: int
    files: tuple[DataFile, ...]
    kind: int  # 0 classic, 1 multi-part, 2 with a UUID: the largest kind of a version wins


@dataclass(frozen=True, slots=True)
class LogListing:
    """Files of a log, by version.

    `partial`: versions with an incomplete multi-part checkpoint. `empty`: checkpoint files of 0 bytes.

    Compaction files are not read: they repeat the commits, which are listed too.
    """

    location: str
    commits: dict[int, DataFile]
    checkpoints: dict[int, tuple[Checkpoint, ...]]
    hint: DataFile | None
    partial: tuple[int, ...]
    empty: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """Files that make a version: a checkpoint (or None) and the commits after it, oldest first."""

    version: int
    checkpoint: Checkpoint | None
    tail: tuple[DataFile, ...]


def list_log(table: str) -> LogListing:
    """List the log of a table. Raises NotADeltaTable if it is missing."""
    location = f"{table.rstrip('/')}/{LOG}"
    files = list_directory(location, _WANTED)
    listing = _sorted_out(location, files)
    if not listing.commits and not listing.checkpoints:
        if not is_remote(table) and not os.path.lexists(table):
            raise NotADeltaTable(f"{table}: no such file or directory; {step_where_missing(table)}")
        raise NotADeltaTable(f"{table}: not a Delta table: no {LOG} with a commit or checkpoint in it; check the path")
    return listing


def holds_log(table: str) -> bool:
    """True if a directory has a log; False also if it cannot be listed (web servers)."""
    try:
        return bool(list_directory(f"{table.rstrip('/')}/{LOG}", _WANTED))
    except UnsupportedFeature:
        return False


def _sorted_out(location: str, files: Iterable[DataFile]) -> LogListing:
    commits: dict[int, DataFile] = {}
    candidates: list[tuple[re.Match[str], DataFile]] = []
    empty: list[DataFile] = []
    hint = None
    for file in files:
        name = name_of(file)
        if name == HINT:
            hint = file
        elif (match := _COMMIT.fullmatch(name)) and int(match[1]) <= _MAX_VERSION:
            commits[int(match[1])] = file
        elif (match := _CHECKPOINT.fullmatch(name)) and int(match[1]) <= _MAX_VERSION:
            if file.size:
                candidates.append((match, file))
            else:
                empty.append(file)
    checkpoints, partial = _checkpoints(candidates)
    return LogListing(
        location=location,
        commits=commits,
        checkpoints=checkpoints,
        hint=hint,
        partial=partial,
        empty=tuple(empty),
    )


def _checkpoints(
    candidates: list[tuple[re.Match[str], DataFile]],
) -> tuple[dict[int, tuple[Checkpoint, ...]], tuple[int, ...]]:
    """Assemble complete checkpoints, best first per version; also return versions with an incomplete checkpoint."""
    whole: defaultdict[int, list[Checkpoint]] = defaultdict(list)
    parts: defaultdict[tuple[int, int], dict[int, DataFile]] = defaultdict(dict)
    for pieces, file in candidates:
        version = int(pieces[1])
        if pieces[2] is not None:
            parts[version, int(pieces[3])][int(pieces[2])] = file
        else:
            whole[version].append(Checkpoint(version, (file,), 2 if pieces[4] else 0))
    partial = []
    for (version, count), found_parts in parts.items():
        # The existing parts are counted, because the name of a part may claim a billion parts.
        if len(found_parts) == count and min(found_parts) == 1 and max(found_parts) == count:
            files = tuple(found_parts[part] for part in sorted(found_parts))
            whole[version].append(Checkpoint(version, files, 1))
        else:
            partial.append(version)
    best = {version: tuple(sorted(pieces, key=_rank, reverse=True)) for version, pieces in whole.items()}
    return best, tuple(sorted(partial))


def _rank(checkpoint: Checkpoint) -> tuple[int, int, str]:
    return checkpoint.kind, len(checkpoint.files), name_of(checkpoint.files[0])


def last_version(listing: LogListing) -> int:
    """Return the newest version of a commit or checkpoint."""
    return max([*listing.commits, *listing.checkpoints])


def segment_of(listing: LogListing, version: int | None, *, without: frozenset[Checkpoint] = frozenset()) -> Segment:
    """Return the files that make a version, the latest by default.

    `without`: checkpoints known to be damaged. Raises NoSuchVersion, and BrokenLog naming the first missing version.
    """
    last = last_version(listing)
    target = last if version is None else version
    if not 0 <= target <= last:
        raise NoSuchVersion(f"{listing.location}: version {target} does not exist; the last version is {last}")
    checkpoint = next(
        (
            candidate
            for checkpoint_version in sorted(listing.checkpoints, reverse=True)
            if checkpoint_version <= target
            for candidate in listing.checkpoints[checkpoint_version]
            if candidate not in without
        ),
        None,
    )
    first = 0 if checkpoint is None else checkpoint.version + 1
    _check_contiguous(listing, first, target, checkpoint)
    return Segment(
        target, checkpoint, tuple(listing.commits[commit_version] for commit_version in range(first, target + 1))
    )


def _check_contiguous(listing: LogListing, first: int, target: int, checkpoint: Checkpoint | None) -> None:
    there = sorted(commit_version for commit_version in listing.commits if first <= commit_version <= target)
    if len(there) == target - first + 1:
        return
    missing = next(
        (commit_version for commit_version, present in enumerate(there, first) if commit_version != present),
        first + len(there),
    )
    after = "there is no checkpoint" if checkpoint is None else f"the checkpoint is of version {checkpoint.version}"
    partial = [commit_version for commit_version in listing.partial if commit_version <= target]
    parts = f"; the checkpoint of version {partial[-1]} lacks parts" if partial else ""
    raise BrokenLog(
        f"{listing.location}: version {target} cannot be rebuilt: commit {missing} is missing and {after}{parts}; "
        "restore the file, or open a version that is complete"
    )
