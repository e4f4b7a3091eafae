"""Checkpoints: manifest or parts, sidecars, and the hint `_last_checkpoint`.

The listing decides which checkpoint is read. The version in the hint is used only to report or repair a wrong hint:
writers leave stale hints, tables are recreated in the same directory, and some stores return partial files.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deltalog.errors import MalformedLog
from deltalog.log.allowed_locations import opened_place
from deltalog.log.checkpoint_file import CheckpointFile
from deltalog.log.commit_file import LINES, read_commits
from deltalog.log.paths import canonical_path, is_absolute
from parquet_core.errors import PruneError
from parquet_core.storage import find_file, read_whole
from parquet_core.storage.ranges import in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.log.actions import Line
    from deltalog.log.listing import Checkpoint, LogListing
    from parquet_core.storage import DataFile, Traffic


_SIDECARS = "_sidecars"
WITH_UUID = 2
# The hint may contain the checkpoint's schema, with a field for every column.
_MAX_BYTES = 16 << 20


class LoadedCheckpoint(NamedTuple):
    """A checkpoint's actions.

    `lines`: all actions except the file actions stored in Parquet files.
    `files`: the Parquet files, whose file actions are not read yet.
    """

    lines: list[Line]
    files: list[CheckpointFile]
    opened: list[DataFile]


def load_checkpoint(
    checkpoint: Checkpoint, *, location: str, traffic: Traffic, allow: Sequence[str] = ()
) -> LoadedCheckpoint:
    """Read the non-file actions of a checkpoint and find its files.

    `allow`: locations outside the table that may be opened. Raises MalformedLog, which names the damaged file.
    """
    lines: list[Line] = []
    files: list[CheckpointFile] = []
    for file in checkpoint.files:
        if file.path.endswith(".json"):
            lines += next(read_commits([file], LINES, traffic=traffic))
        else:
            files.append(CheckpointFile(file, traffic))
            lines += files[-1].other_actions()
    if checkpoint.kind == WITH_UUID:
        _check_manifest(lines, checkpoint)
    sidecars = _sidecars(lines, location, allow)
    sidecar_files = [CheckpointFile(file, traffic) for file in sidecars]
    return LoadedCheckpoint(lines, files + sidecar_files, [*checkpoint.files, *sidecars])


def _check_manifest(lines: Sequence[Line], checkpoint: Checkpoint) -> None:
    heads = [line.checkpoint_metadata for line in lines if line.checkpoint_metadata is not None]
    if len(heads) != 1 or heads[0].version != checkpoint.version:
        raise MalformedLog(
            f"{checkpoint.files[0].path}: {len(heads)} checkpointMetadata of version {checkpoint.version} instead of "
            "one; remove the checkpoint"
        )


def _sidecars(lines: Sequence[Line], location: str, allow: Sequence[str]) -> list[DataFile]:
    named = (line.sidecar.path for line in lines if line.sidecar is not None)
    paths = list(dict.fromkeys(_place_of(path, location, allow) for path in named))
    sidecars = list(in_flight(find_file, paths))
    missing = [path for path, file in zip(paths, sidecars, strict=True) if file is None]
    if missing:
        raise MalformedLog(f"{missing[0]}: this sidecar of the checkpoint is missing; remove the checkpoint")
    return [file for file in sidecars if file is not None]


def _place_of(path: str, location: str, allow: Sequence[str]) -> str:
    name = canonical_path(path)
    if is_absolute(name):
        return opened_place(posixpath.dirname(location), name, allow)
    if "/" in name or not name:
        raise MalformedLog(f"{location}: the sidecar {path!r} is not the name of a file; remove the checkpoint")
    return f"{location}/{_SIDECARS}/{name}"


class Hint(NamedTuple):
    """Version in the hint, None if unreadable.

    `complaint`: the problem with the hint; "" without one.
    """

    version: int | None
    complaint: str


class _LastCheckpoint(msgspec.Struct):
    version: int


def read_hint(listing: LogListing, *, traffic: Traffic) -> Hint:
    """Read the hint and compare it with the listing.

    Raises no error for a damaged hint; `complaint` of the result describes the problem.
    """
    if listing.hint is None:
        return Hint(None, "")
    version, complaint = hinted(listing.hint, traffic=traffic)
    if version is None:
        return Hint(None, f"_last_checkpoint {complaint}; the listing was used")
    newest = max(listing.checkpoints, default=None)
    if version not in listing.checkpoints:
        return Hint(version, f"_last_checkpoint names version {version}, which has no checkpoint")
    if newest is not None and newest > version:
        return Hint(version, f"_last_checkpoint names version {version}, but there is one of {newest}")
    return Hint(version, "")


def hinted(hint: DataFile, *, traffic: Traffic) -> Hint:
    """Return the version in the hint, or None and the problem if the hint cannot be read."""
    if not 0 < hint.size <= _MAX_BYTES:
        return Hint(None, f"has {hint.size} bytes")
    try:
        # The hint is replaced often, and any newer content is as good: ignore changes since the listing.
        newest = hint._replace(modified_ns=0, changed_ns=0)
        data = next(read_whole([newest], purpose="log", traffic=traffic))
        return Hint(msgspec.json.decode(data, type=_LastCheckpoint).version, "")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Hint(None, "is no JSON with a version")
    except PruneError as error:
        return Hint(None, f"cannot be read ({error})")
