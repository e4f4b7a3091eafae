"""Existing checkpoints, and the hint `_last_checkpoint`, which names the latest checkpoint.

The hint is written atomically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deltalog.errors import MalformedLog
from deltalog.log.checkpoint import hinted, load_checkpoint
from deltalog.log.listing import HINT, list_log
from parquet_core.storage import Traffic, find_file, put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.listing import LogListing
    from parquet_core.storage import DataFile


_IN_PARTS = 1


class WrittenCheckpoint(NamedTuple):
    """An existing checkpoint.

    `written`: True if this call wrote it.
    `actions`: number of rows.
    `adds`: number of `add` actions; None if another writer wrote the checkpoint.
    `notes`: problems after writing that do not affect the checkpoint.
    """

    version: int
    files: tuple[str, ...]
    actions: int
    adds: int | None
    bytes: int
    written: bool
    parts: int | None = None
    notes: tuple[str, ...] = ()


def checkpoint_of(listing: LogListing, version: int) -> tuple[WrittenCheckpoint | None, bool]:
    """Return a version's readable checkpoint, and whether an unreadable one exists.

    The checkpoint is None if there is no readable one.
    """
    damaged = False
    for checkpoint in listing.checkpoints.get(version, ()):
        try:
            loaded = load_checkpoint(checkpoint, location=listing.location, traffic=Traffic())
            rows = sum(file.footer().num_rows for file in loaded.files)
        except MalformedLog:
            damaged = True
            continue
        # A Parquet manifest is among `loaded.files`; the rows of a JSON manifest are its lines.
        rows += len(loaded.lines) if checkpoint.files[0].path.endswith(".json") else 0
        written = WrittenCheckpoint(
            version=version,
            files=tuple(file.path for file in checkpoint.files),
            actions=rows,
            adds=None,
            bytes=sum(file.size for file in loaded.opened),
            written=False,
            parts=len(checkpoint.files) if checkpoint.kind == _IN_PARTS else None,
        )
        return written, damaged
    return None, damaged


def hint_of(written: WrittenCheckpoint) -> dict[str, Any]:
    """Return the fields of `_last_checkpoint`, without the optional checksum."""
    fields = {
        "version": written.version,
        "size": written.actions,
        "parts": written.parts,
        "sizeInBytes": written.bytes,
        "numOfAddFiles": written.adds,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write_hint(table: str, location: str, hint: Mapping[str, Any]) -> bool:
    """Write `_last_checkpoint` unless it names a newer checkpoint; return whether it was written.

    `hint`: the fields of the protocol, including `version` and `size`. With concurrent writers, the last one wins; an
    older hint costs readers a longer listing. Raises StorageFailure.
    """
    path = f"{location}/{HINT}"
    if _is_ahead(table, find_file(path), hint["version"]):
        return False
    put(path, msgspec.json.encode(hint))
    return True


def _is_ahead(table: str, hint: DataFile | None, version: int) -> bool:
    """True if a hint names a newer checkpoint that exists.

    If that checkpoint is missing, the hint is from an earlier table in the same directory.
    """
    named = None if hint is None else hinted(hint, traffic=Traffic()).version
    return named is not None and named > version and named in list_log(table).checkpoints
