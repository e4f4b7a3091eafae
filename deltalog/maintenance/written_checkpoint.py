"""A checkpoint that exists: its files and sizes, as `write_checkpoint` answers and as `_last_checkpoint` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.errors import MalformedLog
from deltalog.log.checkpoint import load_checkpoint
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from deltalog.log.listing import LogListing

_IN_PARTS = 1


class WrittenCheckpoint(NamedTuple):
    """A checkpoint that is there; `written`: by this call.

    `actions`: its rows, `adds`: those of them that are files of the table, None when others wrote it. `notes`: what
    went wrong with what follows a checkpoint and does not matter for it.
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
    """Return the checkpoint of a version that is there, and whether there is one that cannot be read."""
    damaged = False
    for checkpoint in listing.checkpoints.get(version, ()):
        try:
            loaded = load_checkpoint(checkpoint, place=listing.place, traffic=Traffic())
            rows = sum(file.footer().num_rows for file in loaded.files)
        except MalformedLog:
            damaged = True
            continue
        # A Parquet manifest is among its files; of one in JSON the lines are its rows.
        rows += len(loaded.lines) if checkpoint.files[0].path.endswith(".json") else 0
        found = WrittenCheckpoint(
            version=version,
            files=tuple(file.path for file in checkpoint.files),
            actions=rows,
            adds=None,
            bytes=sum(file.size for file in loaded.opened),
            written=False,
            parts=len(checkpoint.files) if checkpoint.kind == _IN_PARTS else None,
        )
        return found, damaged
    return None, damaged


def hint_of(found: WrittenCheckpoint) -> dict[str, Any]:
    """Return what `_last_checkpoint` says of it, but the checksum."""
    said = {
        "version": found.version,
        "size": found.actions,
        "parts": found.parts,
        "sizeInBytes": found.bytes,
        "numOfAddFiles": found.adds,
    }
    return {name: value for name, value in said.items() if value is not None}
