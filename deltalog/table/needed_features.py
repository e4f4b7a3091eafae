"""The table features that a schema and properties need, and the protocol that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.log.actions import Protocol
from deltalog.table.constraints import FIELD_FEATURES
from deltalog.table.features import READER_FEATURES, reader_features, writer_features
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
    from collections.abc import Collection, Iterator, Mapping

    from deltalog.table.schema import TableSchema

# What every table has that asks for nothing.
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


def requested(properties: Mapping[str, str]) -> tuple[set[str], dict[str, str]]:
    """Take `delta.feature.NAME` out of properties: return those features and the other properties.

    >>> requested({"delta.feature.deletionVectors": "supported", "a": "b"})
    ({'deletionVectors'}, {'a': 'b'})
    """
    features = {name.removeprefix(_FEATURE) for name in properties if name.startswith(_FEATURE)}
    return features, {name: value for name, value in properties.items() if not name.startswith(_FEATURE)}


def needed_features(schema: TableSchema, properties: Mapping[str, str]) -> set[str]:
    """Return the features without which a table of this schema and these properties is not to be read or written."""
    return with_required({*_of_properties(properties), *_of_schema(schema)})


def with_required(features: Collection[str]) -> set[str]:
    """Return features and those that they stand on.

    >>> sorted(with_required({"rowTracking"}))
    ['domainMetadata', 'rowTracking']
    """
    return {*features, *(other for feature in features for other in _REQUIRES.get(feature, ()))}


def _of_properties(properties: Mapping[str, str]) -> Iterator[str]:
    yield from (feature for name, feature in _OF_PROPERTY.items() if is_true(properties, name))
    if properties.get(COLUMN_MAPPING, "none").lower() != "none":
        yield "columnMapping"
    if properties.get(CHECKPOINT_POLICY, "classic").lower() == "v2":
        yield "v2Checkpoint"
    if any(name.startswith(CONSTRAINT) for name in properties):
        yield "checkConstraints"


def _of_schema(schema: TableSchema) -> Iterator[str]:
    for field in schema.fields:
        for type_ in (field.type, *inner_types(field.type).values()):
            if isinstance(type_, str) and type_.partition("(")[0] in _OF_TYPE:
                yield _OF_TYPE[type_.partition("(")[0]]
        yield from (feature for key, feature in _OF_FIELD.items() if key in field.metadata)
        if not field.nullable:
            yield "invariants"


def protocol_with(features: Collection[str], before: Protocol = PLAIN) -> Protocol:
    """Return a protocol that lists features beside those that it had; the same one when it has them all.

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
