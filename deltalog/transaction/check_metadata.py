"""Check a new `metaData` or `protocol` action against the table, before the commit is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.table.features import check_readable, check_writable
from deltalog.table.needed_features import MAPPING, features_of, needed_features
from deltalog.table.schema import read_schema
from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME, inner_types, type_name
from deltalog.transaction.conflicts import isolation_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.log.actions import Metadata, Protocol
    from deltalog.table.schema import Field, TableSchema
    from deltalog.table.types import DataType

_LAST_ID = "delta.columnMapping.maxColumnId"


def properties_of(metadata: Metadata) -> dict[str, str]:
    """Return the properties that have a value."""
    return {name: value for name, value in (metadata.configuration or {}).items() if value is not None}


def schema_of(metadata: Metadata, *, location: str) -> TableSchema:
    """Read the schema of a `metaData` that is to be written; RefusedCommit without one."""
    if metadata.schema_string is None:
        raise RefusedCommit(f"{location}: the metaData has no schema; give one")
    mapping = properties_of(metadata).get(MAPPING, "none").lower()
    return read_schema(
        metadata.schema_string, partition_columns=metadata.partition_columns, mapping=mapping, location=location
    )


def check_protocol(protocol: Protocol, before: Protocol | None, *, location: str) -> None:
    """Raise UnsupportedTable for a protocol that is not understood, RefusedCommit for one that takes features away."""
    check_readable(protocol, location=location)
    check_writable(protocol, location=location)
    if before is None:
        return
    lost = features_of(before) - features_of(protocol)
    lower = (
        protocol.min_reader_version < before.min_reader_version
        or protocol.min_writer_version < before.min_writer_version
    )
    if lost or lower:
        lost_parts = f"the features {', '.join(sorted(lost))}" if lost else "its versions"
        raise RefusedCommit(
            f"{location}: the protocol would lose {lost_parts}; drop features with Spark, which cleans up first"
        )


def check_metadata(
    metadata: Metadata, *, protocol: Protocol, before: Metadata | None, emptied: bool, location: str
) -> None:
    """Raise RefusedCommit for a `metaData` under which files that stay would be misread.

    `protocol`: the one that holds after the commit. `emptied`: no file stays.
    """
    schema = schema_of(metadata, location=location)
    fields = schema.fields
    _check_names(fields, metadata, location)
    isolation_of(properties_of(metadata), location=location)
    missing = needed_features(schema, properties_of(metadata))
    missing -= features_of(protocol)
    if missing:
        raise RefusedCommit(
            f"{location}: the metaData needs the table features {', '.join(sorted(missing))}, which the protocol "
            "lacks; commit a protocol that lists them along with it"
        )
    if schema.mapping != "none":
        _check_mapping(fields, metadata, location)
    if before is not None:
        _check_change(metadata, before, fields, emptied=emptied, location=location)


def _check_names(fields: Sequence[Field], metadata: Metadata, location: str) -> None:
    seen: set[tuple[str, ...]] = set()
    for field in fields:
        # Names that differ in case alone are one column to Spark.
        key = tuple(name.lower() for name in field.path)
        if key in seen:
            raise RefusedCommit(f"{location}: the schema has column {field.name} twice; name columns apart")
        seen.add(key)
    partitions = set(metadata.partition_columns)
    if len(partitions) < len(metadata.partition_columns) or {field.path[0] for field in fields} == partitions:
        raise RefusedCommit(f"{location}: the partition columns leave no column for files, or repeat; name fewer")
    nested = [field for field in fields if field.path[0] in partitions and not isinstance(field.type, str)]
    if nested:
        raise RefusedCommit(
            f"{location}: {nested[0].name} is nested, so no partition column; partition by a plain column"
        )


def _check_mapping(fields: Sequence[Field], metadata: Metadata, location: str) -> None:
    """Ask for what column mapping needs of every field; nothing is assigned here."""
    highest = properties_of(metadata).get(_LAST_ID, "")
    field_ids = []
    for field in fields:
        field_id, name = field.metadata.get(COLUMN_ID), field.metadata.get(PHYSICAL_NAME)
        if not isinstance(field_id, int) or not isinstance(name, str):
            raise RefusedCommit(
                f"{location}: columnMapping: column {field.name} lacks {COLUMN_ID} or {PHYSICAL_NAME}; give both for "
                "each"
            )
        field_ids.append(field_id)
    if len(set(field_ids)) < len(field_ids) or not highest.isdigit() or max(field_ids, default=0) > int(highest):
        raise RefusedCommit(f"{location}: columnMapping: ids repeat, or go beyond {_LAST_ID}; number the fields anew")


def _check_change(
    metadata: Metadata, before: Metadata, fields: Sequence[Field], *, emptied: bool, location: str
) -> None:
    if metadata.id != before.id:
        raise RefusedCommit(f"{location}: the metaData has another table id; keep {before.id}")
    mapping, was = (properties_of(each).get(MAPPING, "none").lower() for each in (metadata, before))
    if mapping != was or (was != "none" and not _keeps_mapping(metadata, before, fields, location)):
        raise UnsupportedTable(
            f"{location}: columnMapping: columns of a table with column mapping are not changed here, nor is the "
            "mapping; change them with Spark"
        )
    if emptied:
        return
    if list(metadata.partition_columns) != list(before.partition_columns):
        raise RefusedCommit(
            f"{location}: files stay, so the partition columns must; overwrite the whole table to change them"
        )
    known = {field.path: field for field in fields}
    for field in schema_of(before, location=location).fields:
        now = known.pop(field.path, None)
        if now is None or _outline(now.type) != _outline(field.type):
            what = "is gone" if now is None else f"turned from {type_name(field.type)} to {type_name(now.type)}"
            raise RefusedCommit(
                f"{location}: files stay, and column {field.name} {what}; overwrite the whole table, or use Spark"
            )
        if field.nullable and not now.nullable:
            raise RefusedCommit(f"{location}: files stay, which may have nulls in {field.name}; leave it nullable")
    for field in known.values():
        if not field.nullable:
            raise RefusedCommit(f"{location}: files stay, which lack the new column {field.name}; make it nullable")


def _keeps_mapping(metadata: Metadata, before: Metadata, fields: Sequence[Field], location: str) -> bool:
    """Tell whether all columns stay as they are, and new ones have numbers and names that no other ever had."""
    if metadata.schema_string == before.schema_string:
        return True
    now = {field.path: field for field in fields}
    last_id = properties_of(before).get(_LAST_ID, "")
    last = int(last_id) if last_id.isdigit() else max(field.metadata[COLUMN_ID] for field in fields)
    for field in schema_of(before, location=location).fields:
        kept = now.pop(field.path, None)
        if kept is None or _stored(kept) != _stored(field):
            return False
    names = [field.physical for field in fields]
    return len(set(names)) == len(names) and all(field.metadata[COLUMN_ID] > last for field in now.values())


def _stored(field: Field) -> object:
    return field.physical, field.metadata, _outline(field.type)


def _outline(type_: DataType) -> object:
    """Return the names of a type and of the types in it, without fields and nullability."""
    return type_name(type_), *map(_outline, inner_types(type_).values())
