"""Check that files named by a log may be opened; a refusal raises a DeltaError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import MalformedLog, OutsideTable
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.storage.allowed_locations import allowed_place

if TYPE_CHECKING:
    from collections.abc import Sequence


def opened_place(table: str, location: str, allow: Sequence[str] = ()) -> str:
    """Return the location of a file that the log names. Raises OutsideTable and MalformedLog."""
    try:
        return allowed_place(table, location, allow)
    except MalformedFile as error:
        raise MalformedLog(*error.args) from None
    except UnsupportedFeature as error:
        raise OutsideTable(*error.args) from None
