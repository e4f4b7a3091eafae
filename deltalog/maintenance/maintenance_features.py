"""The table features that allow checkpoints to be written and files to be deleted by a writer that knows no others.

Both write nothing new: more features are understood than for a commit. What a feature keeps in fields of its own would
be lost in a checkpoint, so that one that is not known is refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import UnsupportedTable
from deltalog.table.reader_features import writer_features
from deltalog.table.writer_features import LAST_WRITER_VERSION, WRITER_FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.actions import Protocol

# Their fields of file actions are handed on, and nothing else is asked of a checkpoint.
_HANDED_ON = WRITER_FEATURES | {
    "columnMappingUsageTracking",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "liquid",
    "materializePartitionColumns",
    "rowTracking",
}
_PROTECTION, _PROTECTED_BEFORE = "checkpointProtection", "delta.requireCheckpointProtectionBeforeVersion"


def check_maintainable(protocol: Protocol, *, place: str) -> None:
    """Raise UnsupportedTable, naming each feature, when a table must be left alone."""
    version = protocol.min_writer_version
    if version > LAST_WRITER_VERSION:
        raise UnsupportedTable(
            f"{place}: writer version {version} is not known, {LAST_WRITER_VERSION} is the last; use a newer release"
        )
    unknown = sorted(set(writer_features(protocol)) - _HANDED_ON)
    if unknown:
        raise UnsupportedTable(
            f"{place}: table feature {', '.join(unknown)} is not understood by who maintains the table; use a newer "
            "release, or Spark"
        )


def protected_before(protocol: Protocol, properties: Mapping[str, str]) -> int:
    """Return the version before which the log must stay as it is, 0 when none must.

    What is no number protects everything.
    """
    if _PROTECTION not in writer_features(protocol):
        return 0
    try:
        return int(properties.get(_PROTECTED_BEFORE, "0"))
    except ValueError:
        return 1 << 63
