"""Table features: what a writer must understand, and what is refused by name.

Source: the Delta protocol, "Table Features", and its RFCs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import UnsupportedTable
from deltalog.table.reader_features import READER_FEATURES, writer_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalog.log.actions import Protocol
    from deltalog.table.schema_fields import Field

LAST_WRITER_VERSION = 7
# What a commit here complies with; of some the conditions are looked at by `check_features`.
WRITER_FEATURES = READER_FEATURES | {
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "inCommitTimestamp-preview",
    "invariants",
    "rowTracking",
}
_SPARK = "commit with Spark, which does"
_WHY = {
    "icebergCompatV1": f"what Iceberg asks of files is not checked here; {_SPARK}",
    "icebergCompatV2": f"what Iceberg asks of files is not checked here; {_SPARK}",
    "icebergCompatV3": f"what Iceberg asks of files is not checked here; {_SPARK}",
    "icebergWriterCompatV1": f"what Iceberg asks of files is not checked here; {_SPARK}",
    "materializePartitionColumns": f"that files hold their partition columns is not checked here; {_SPARK}",
    "coordinatedCommits-preview": "its coordinator decides which commits count; commit through it",
    "managedCommits-dev": "its coordinator decides which commits count; commit through it",
    "redirectWriterOnly-preview": "the table has moved; give the path it moved to",
}
APPEND_ONLY, CHANGE_FEED = "delta.appendOnly", "delta.enableChangeDataFeed"
DELETION_VECTORS = "delta.enableDeletionVectors"


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Tell whether a property is set to true.

    >>> is_true({"delta.appendOnly": "True"}, "delta.appendOnly")
    True
    """
    return properties.get(name, "").lower() == "true"


def check_writable(protocol: Protocol, *, place: str) -> None:
    """Raise UnsupportedTable, naming each feature, when nobody who knows no more than this module may commit."""
    version = protocol.min_writer_version
    if version > LAST_WRITER_VERSION:
        raise UnsupportedTable(
            f"{place}: writer version {version} is not known, {LAST_WRITER_VERSION} is the last; use a newer release"
        )
    unknown = sorted(set(writer_features(protocol)) - WRITER_FEATURES)
    if unknown:
        why = "; ".join(_WHY[name] for name in unknown if name in _WHY)
        raise UnsupportedTable(
            f"{place}: table feature {', '.join(unknown)} is not understood by this writer; "
            f"{why or 'use a newer release'}"
        )


def not_null(fields: Sequence[Field]) -> Iterator[Field]:
    """Yield the fields that must not be null, outside of arrays and maps.

    Inside of them Delta's writers enforce nothing either.
    """
    return (field for field in fields if not field.nullable and not field.repeated)
