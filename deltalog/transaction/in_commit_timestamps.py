"""In-commit timestamps: each is later than that of the commit before, whatever the clocks say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.errors import RefusedCommit
from deltalog.table.writer_features import is_true

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.actions import Metadata

ENABLED = "delta.enableInCommitTimestamps"
SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
SINCE_TIME = "delta.inCommitTimestampEnablementTimestamp"
IN_COMMIT = "inCommitTimestamp"


def next_time(before: Mapping[str, Any], *, now: int, place: str) -> int:
    """Return the time of a commit after one with the `commitInfo` `before`, in milliseconds.

    >>> next_time({"inCommitTimestamp": 1000}, now=900, place="t")
    1001
    """
    last = before.get(IN_COMMIT)
    if not isinstance(last, int):
        raise RefusedCommit(
            f"{place}: the last commit has no {IN_COMMIT} though the table has them; its writer must be mended, or "
            f"{ENABLED} be unset"
        )
    return max(now, last + 1)


def newly_enabled(metadata: Metadata | None, properties: Mapping[str, str]) -> bool:
    """Tell whether a `metaData` turns in-commit timestamps on."""
    if metadata is None or is_true(properties, ENABLED):
        return False
    return str((metadata.configuration or {}).get(ENABLED)).lower() == "true"


def with_enablement(metadata: Metadata, *, version: int, at: int) -> Metadata:
    """Return a `metaData` that says since when the table has in-commit timestamps."""
    since = {SINCE_VERSION: str(version), SINCE_TIME: str(at)}
    return msgspec.structs.replace(metadata, configuration={**(metadata.configuration or {}), **since})
