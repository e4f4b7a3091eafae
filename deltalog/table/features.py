"""Table features supported here, and features required by schemas and properties.

Source: the Delta protocol, "Table Features", and its RFCs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltalog.errors import MalformedLog, UnsupportedTable
from deltalog.log.actions import Protocol
from deltalog.table.constraints import FIELD_FEATURES
from deltalog.table.properties import (
    APPEND_ONLY,
    CHANGE_FEED,
    CHECKPOINT_POLICY,
    COLUMN_MAPPING,
    CONSTRAINT,
    DELETION_VECTORS,
    IN_COMMIT_TIMESTAMPS,
    ROW_IDS_ENABLED,
    is_true,
)
from deltalog.table.types import TYPE_CHANGES, inner_types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from deltalog.table.schema import TableSchema

# Reader features that this package supports when it lists live files, reads deletion vectors and skips data.
READER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "timestampWithoutTimezone",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
# Features that commits support; `check_change` checks the conditions of some.
_WRITER_FEATURES = READER_FEATURES | {
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
# Checkpoints and cleanup write no new data. They preserve the fields that these features have in file actions, and
# these features require nothing else. An unknown feature is refused, because data in its own fields would be lost.
_MAINTAINED_FEATURES = _WRITER_FEATURES | {
    "columnMappingUsageTracking",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "liquid",
    "materializePartitionColumns",
}
LAST_READER_VERSION, _LAST_WRITER_VERSION = 3, 7
_FEATURES_FROM_READER, _FEATURES_FROM_WRITER = 3, 7
# Features implied by the protocol versions that do not list features.
_OF_READER_VERSION = {2: ("columnMapping",)}
_OF_WRITER_VERSION = {
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: ("columnMapping",),
    6: ("identityColumns",),
}
_CATALOG = "its catalog decides which commits count; open the table through the catalog"
_MOVED = "the table has moved; give the path it moved to"
_COORDINATOR = "its coordinator decides which commits count; commit through it"
_SPARK = "commit with Spark, which does"
_ICEBERG = f"whether files meet the requirements of Iceberg is not checked here; {_SPARK}"
_WHY = {
    "catalogManaged": _CATALOG,
    "catalogOwned-preview": _CATALOG,
    "adaptiveMetadata-preview": "its files are listed in manifests, not in this log",
    "redirectReaderWriter-preview": _MOVED,
    "icebergCompatV1": _ICEBERG,
    "icebergCompatV2": _ICEBERG,
    "icebergCompatV3": _ICEBERG,
    "icebergWriterCompatV1": _ICEBERG,
    "materializePartitionColumns": f"whether files hold their partition columns is not checked here; {_SPARK}",
    "coordinatedCommits-preview": _COORDINATOR,
    "managedCommits-dev": _COORDINATOR,
    "redirectWriterOnly-preview": _MOVED,
}
# Protocol of a table that needs no features.
PLAIN = Protocol(1, 2)
_FEATURE = "delta.feature."
_OF_PROPERTY = {
    APPEND_ONLY: "appendOnly",
    CHANGE_FEED: "changeDataFeed",
    DELETION_VECTORS: "deletionVectors",
    "delta.enableIcebergCompatV1": "icebergCompatV1",
    "delta.enableIcebergCompatV2": "icebergCompatV2",
    "delta.enableIcebergCompatV3": "icebergCompatV3",
    IN_COMMIT_TIMESTAMPS: "inCommitTimestamp",
    ROW_IDS_ENABLED: "rowTracking",
    "delta.enableTypeWidening": "typeWidening",
    "delta.enableVariantShredding": "variantShredding",
}
_OF_TYPE = {
    "timestamp_ntz": "timestampNtz",
    "variant": "variantType",
    "geometry": "geospatial",
    "geography": "geospatial",
}
_REQUIRES = {
    "clustering": ("domainMetadata",),
    "icebergCompatV1": ("columnMapping",),
    "icebergCompatV2": ("columnMapping",),
    "rowTracking": ("domainMetadata",),
    "variantShredding": ("variantType",),
}
_OF_FIELD = {
    "CURRENT_DEFAULT": "allowColumnDefaults",
    TYPE_CHANGES: "typeWidening",
    **FIELD_FEATURES,
}
_PROTECTION, _PROTECTED_BEFORE = "checkpointProtection", "delta.requireCheckpointProtectionBeforeVersion"


class _Support(NamedTuple):
    """Features and highest protocol version that a reader, writer or maintainer supports, and texts for errors."""

    side: str
    last: int
    features: frozenset[str]
    by: str = ""
    otherwise: str = "use a newer release"


_READER = _Support("reader", LAST_READER_VERSION, READER_FEATURES)
_WRITER = _Support("writer", _LAST_WRITER_VERSION, _WRITER_FEATURES, " by this writer")
_MAINTAINER = _Support(
    "writer",
    _LAST_WRITER_VERSION,
    _MAINTAINED_FEATURES,
    " for the maintenance of tables",
    "use a newer release, or Spark",
)


def check_readable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming each feature, if a table must not be read.

    Raises MalformedLog for a contradictory protocol.
    """
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        raise MalformedLog(f"{location}: protocol ({reader}, {writer}) is not a pair of versions; the log is damaged")
    if reader <= LAST_READER_VERSION:
        _check_lists(protocol, location)
    _check(reader, reader_features(protocol), _READER, location)


def check_writable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming features, if this module cannot commit to a table."""
    _check(protocol.min_writer_version, writer_features(protocol), _WRITER, location)


def check_maintainable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming features, if checkpoints and deletions are not allowed."""
    _check(protocol.min_writer_version, writer_features(protocol), _MAINTAINER, location)


def _check(version: int, features: Iterable[str], understood: _Support, location: str) -> None:
    if version > understood.last:
        raise UnsupportedTable(
            f"{location}: {understood.side} version {version} is not known, {understood.last} is the last; "
            "use a newer release"
        )
    unknown = sorted(set(features) - understood.features)
    if unknown:
        why = "; ".join(_WHY[name] for name in unknown if name in _WHY)
        raise UnsupportedTable(
            f"{location}: table feature {', '.join(unknown)} is not understood{understood.by}; "
            f"{why or understood.otherwise}"
        )


def _check_lists(protocol: Protocol, location: str) -> None:
    of_reader = protocol.min_reader_version >= _FEATURES_FROM_READER
    of_writer = protocol.min_writer_version >= _FEATURES_FROM_WRITER
    if of_reader and not of_writer:
        raise MalformedLog(f"{location}: reader version 3 needs writer version 7; the protocol action is damaged")
    for side, listed, features in (
        ("reader", of_reader, protocol.reader_features),
        ("writer", of_writer, protocol.writer_features),
    ):
        if listed and features is None:
            raise MalformedLog(f"{location}: the protocol lists no {side}Features; the protocol action is damaged")
        if not listed and features:
            raise MalformedLog(f"{location}: the protocol lists {side}Features below the version that has them")


def reader_features(protocol: Protocol) -> tuple[str, ...]:
    """Return the features that a reader must support, listed or implied."""
    if protocol.min_reader_version >= _FEATURES_FROM_READER:
        return tuple(protocol.reader_features or ())
    return _implied(_OF_READER_VERSION, protocol.min_reader_version)


def writer_features(protocol: Protocol) -> tuple[str, ...]:
    """Return the features that a writer must support, listed or implied."""
    if protocol.min_writer_version >= _FEATURES_FROM_WRITER:
        return tuple(protocol.writer_features or ())
    return _implied(_OF_WRITER_VERSION, protocol.min_writer_version)


def _implied(by_version: Mapping[int, tuple[str, ...]], version: int) -> tuple[str, ...]:
    return tuple(name for since, names in by_version.items() if since <= version for name in names)


def features_of(protocol: Protocol) -> set[str]:
    """Return the features that a protocol lists or implies."""
    return {*writer_features(protocol), *reader_features(protocol)}


def protected_before(protocol: Protocol, properties: Mapping[str, str]) -> int:
    """Return the version before which the log must not be changed; 0 if unprotected.

    A non-numeric property protects all versions.
    """
    if _PROTECTION not in writer_features(protocol):
        return 0
    try:
        return int(properties.get(_PROTECTED_BEFORE, "0"))
    except ValueError:
        return 1 << 63


def requested(properties: Mapping[str, str]) -> tuple[set[str], dict[str, str]]:
    """Split `delta.feature.NAME` properties off; return these features and the other properties.

    >>> requested({"delta.feature.deletionVectors": "supported", "a": "b"})
    ({'deletionVectors'}, {'a': 'b'})
    """
    features = {name.removeprefix(_FEATURE) for name in properties if name.startswith(_FEATURE)}
    return features, {name: value for name, value in properties.items() if not name.startswith(_FEATURE)}


def needed_features(schema: TableSchema, properties: Mapping[str, str]) -> set[str]:
    """Return the features that a schema and properties require."""
    return with_required({*_features_of_properties(properties), *_features_of_schema(schema)})


def with_required(features: Collection[str]) -> set[str]:
    """Return features and the features that they require.

    >>> sorted(with_required({"rowTracking"}))
    ['domainMetadata', 'rowTracking']
    """
    return {*features, *(other for feature in features for other in _REQUIRES.get(feature, ()))}


def _features_of_properties(properties: Mapping[str, str]) -> Iterator[str]:
    yield from (feature for name, feature in _OF_PROPERTY.items() if is_true(properties, name))
    if properties.get(COLUMN_MAPPING, "none").lower() != "none":
        yield "columnMapping"
    if properties.get(CHECKPOINT_POLICY, "classic").lower() == "v2":
        yield "v2Checkpoint"
    if any(name.startswith(CONSTRAINT) for name in properties):
        yield "checkConstraints"


def _features_of_schema(schema: TableSchema) -> Iterator[str]:
    for field in schema.fields:
        for type_ in (field.type, *inner_types(field.type).values()):
            if isinstance(type_, str) and type_.partition("(")[0] in _OF_TYPE:
                yield _OF_TYPE[type_.partition("(")[0]]
        yield from (feature for key, feature in _OF_FIELD.items() if key in field.metadata)
        if not field.nullable:
            yield "invariants"


def protocol_with(features: Collection[str], before: Protocol = PLAIN) -> Protocol:
    """Add features to a protocol; returns the same object if it has all of them.

    >>> protocol_with({"deletionVectors"}).writer_features
    ['appendOnly', 'deletionVectors', 'invariants']
    """
    features = with_required(features)
    had = set(writer_features(before)), set(reader_features(before))
    if set(features) <= had[0] and set(features) & READER_FEATURES <= had[1]:
        return before
    writer = had[0] | had[1] | set(features)
    reader = had[1] | (set(features) & READER_FEATURES)
    listed = before.min_reader_version >= 3 or not reader <= had[1]
    return Protocol(
        min_reader_version=3 if listed else before.min_reader_version,
        min_writer_version=7,
        reader_features=sorted(reader) if listed else None,
        writer_features=sorted(writer),
    )
