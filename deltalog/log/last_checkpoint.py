"""Read `_last_checkpoint`, the hint where the newest checkpoint may be; the listing decides.

What it says beside the version is not believed: writers let it grow stale, tables are made anew below it, and some
stores show half of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from parquet_core.errors import PruneError
from parquet_core.storage import read_whole

if TYPE_CHECKING:
    from deltalog.log.listing import LogListing
    from parquet_core.storage import Traffic

# The schema of the checkpoint stands in it, which has a field for every column.
_MAX_BYTES = 16 << 20


class Hint(NamedTuple):
    """What the hint says, and what is wrong with it: empty when nothing is."""

    version: int | None
    complaint: str


class _Said(msgspec.Struct):
    version: int


def read_hint(listing: LogListing, *, traffic: Traffic) -> Hint:  # noqa: PLR0911 - one for each lie
    """Read the hint and hold it against the listing. Never raises for its content."""
    if listing.hint is None:
        return Hint(None, "")
    if not 0 < listing.hint.size <= _MAX_BYTES:
        return Hint(None, f"_last_checkpoint has {listing.hint.size} bytes; the listing was used")
    try:
        said = msgspec.json.decode(next(read_whole([listing.hint], purpose="log", traffic=traffic)), type=_Said)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Hint(None, "_last_checkpoint is no JSON with a version; the listing was used")
    except PruneError as error:
        return Hint(None, f"_last_checkpoint cannot be read ({error}); the listing was used")
    newest = max(listing.checkpoints, default=None)
    if said.version not in listing.checkpoints:
        return Hint(said.version, f"_last_checkpoint names version {said.version}, of which there is no checkpoint")
    if newest is not None and newest > said.version:
        return Hint(said.version, f"_last_checkpoint names version {said.version}, but there is one of {newest}")
    return Hint(said.version, "")
