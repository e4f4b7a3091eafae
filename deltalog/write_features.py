"""Table features: what a writer must understand, and what is refused by name.

Source: the Delta protocol, "Table Features" and what it asks of writers, and its RFCs. Files of a commit are written
elsewhere, so that what a feature asks of their rows cannot be looked at here: it must follow from statistics, or the
commit is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.protocol import READER_FEATURES, writer_features
from deltalog.schema_fields import schema_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalog.actions import Protocol
    from deltalog.change import Change
    from deltalog.schema_fields import Field

LAST_WRITER_VERSION = 7
# What a commit here complies with; of some the conditions are looked at in this module.
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
_CONSTRAINT = "delta.constraints."
# What a field's metadata may say that rows must be held against, and the feature it belongs to.
_ON_ROWS = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.identity.step": "identityColumns",
}


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


def check_rules(
    change: Change, *, protocol: Protocol, properties: Mapping[str, str], schema: str, mapped: bool, place: str
) -> None:
    """Raise what the features of a table have against a change: UnsupportedTable, or RefusedCommit."""
    features = set(writer_features(protocol))
    if change.removes and change.data_change and is_true(properties, APPEND_ONLY):
        raise RefusedCommit(
            f"{place}: the table is append-only and {len(change.removes)} files would be removed; "
            f"unset {APPEND_ONLY} if rows may go"
        )
    if (
        change.adds
        and change.removes
        and change.data_change
        and not change.replaces
        and is_true(properties, CHANGE_FEED)
    ):
        raise UnsupportedTable(
            f"{place}: changeDataFeed: rows are carried from removed files to added ones, and which of them changed is "
            f"not written here; {_SPARK}, or unset {CHANGE_FEED}"
        )
    allowed = "deletionVectors" in features and is_true(properties, DELETION_VECTORS)
    if any(add.deletion_vector is not None for add in change.adds) and not allowed:
        raise RefusedCommit(
            f"{place}: a file has a deletion vector, which the table does not allow; set {DELETION_VECTORS}=true first"
        )
    if change.adds and change.data_change:
        _check_rows(properties, schema_fields(schema, mapped=mapped, place=place), place)


def _check_rows(properties: Mapping[str, str], fields: Sequence[Field], place: str) -> None:
    """Refuse files whose rows would have to be looked at."""
    constraints = sorted(name for name in properties if name.startswith(_CONSTRAINT))
    if constraints:
        raise UnsupportedTable(
            f"{place}: checkConstraints: that rows obey {constraints[0].removeprefix(_CONSTRAINT)} is not checked "
            f"here; {_SPARK}, or drop the constraint"
        )
    for field in fields:
        found = next((feature for key, feature in _ON_ROWS.items() if key in field.metadata), None)
        if found is not None:
            raise UnsupportedTable(f"{place}: {found}: what column {field.name} may hold is not checked here; {_SPARK}")


def not_null(fields: Sequence[Field]) -> Iterator[Field]:
    """Yield the fields that must not be null, outside of arrays and maps.

    Inside of them Delta's writers enforce nothing either.
    """
    return (field for field in fields if not field.nullable and not field.repeated)
