"""Check a new `metaData` or `protocol` action before the commit is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.table.features import check_readable, check_writable, features_of, needed_features
from deltalog.table.properties import LAST_COLUMN_ID
from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME, inner_types, type_name
from deltalog.transaction.conflicts import isolation_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.log.actions import Metadata
    from deltalog.table.schema import Field
    from deltalog.table.state import TableState
    from deltalog.table.types import DataType
    from deltalog.transaction.change import CommitContext

_LAST_ID = "delta.columnMapping.maxColumnId"


def check_protocol(context: CommitContext) -> None:
    """Raise UnsupportedTable for an unsupported protocol, RefusedCommit if it drops features."""
    after, before = context.after.protocol, None if context.before is None else context.before.protocol
    if after is before:
        return
    check_readable(after, location=context.table)
    check_writable(after, location=context.table)
    if before is None:
        return
    lost = features_of(before) - features_of(after)
    lower = after.min_reader_version < before.min_reader_version or after.min_writer_version < before.min_writer_version
    if lost or lower:
        lost_parts = f"the features {', '.join(sorted(lost))}" if lost else "its versions"
        raise RefusedCommit(
            f"{context.table}: the protocol would lose {lost_parts}; drop features with Spark, which cleans up first"
        )


def check_metadata(context: CommitContext) -> None:
    """Raise RefusedCommit if remaining files would be misread under a new `metaData`."""
    after, location = context.after, context.table
    if context.change.metadata is None:
        return
    if after.metadata.schema_string is None:
        raise RefusedCommit(f"{location}: the metaData has no schema; give one")
    fields = after.schema.fields
    _check_names(fields, after.metadata, location)
    isolation_of(after.properties, location=location)
    missing = needed_features(after.schema, after.properties) - after.features
    if missing:
        raise RefusedCommit(
            f"{location}: the metaData needs the table features {', '.join(sorted(missing))}, which the protocol "
            "lacks; commit a protocol that lists them along with it"
        )
    if after.schema.mapping != "none":
        _check_mapping(fields, after.properties.last_column_id, location)
    if context.before is not None:
        _check_change(after, context.before, emptied=context.removes_all_files, location=location)


def _check_names(fields: Sequence[Field], metadata: Metadata, location: str) -> None:
    seen: set[tuple[str, ...]] = set()
    for field in fields:
        # Spark treats names that differ only in case as one column.
        key = tuple(name.lower() for name in field.path)
        if key in seen:
            raise RefusedCommit(f"{location}: the schema has column {field.name} twice; rename one of them")
        seen.add(key)
    partitions = set(metadata.partition_columns)
    if len(partitions) < len(metadata.partition_columns) or {field.path[0] for field in fields} == partitions:
        raise RefusedCommit(f"{location}: the partition columns repeat, or leave no column for files; remove some")
    nested = [field for field in fields if field.path[0] in partitions and not isinstance(field.type, str)]
    if nested:
        raise RefusedCommit(
            f"{location}: {nested[0].name} is nested, so it cannot be a partition column; partition by a plain column"
        )


def _check_mapping(fields: Sequence[Field], last: int | None, location: str) -> None:
    """Require an id and a physical name for every field; this function does not assign them."""
    field_ids = []
    for field in fields:
        field_id, name = field.metadata.get(COLUMN_ID), field.metadata.get(PHYSICAL_NAME)
        if not isinstance(field_id, int) or not isinstance(name, str):
            raise RefusedCommit(
                f"{location}: columnMapping: column {field.name} lacks {COLUMN_ID} or {PHYSICAL_NAME}; give both for "
                "each"
            )
        field_ids.append(field_id)
    if len(set(field_ids)) < len(field_ids) or last is None or max(field_ids, default=0) > last:
        raise RefusedCommit(f"{location}: columnMapping: ids repeat, or exceed {LAST_COLUMN_ID}; assign new ids")


def _check_change(after: TableState, before: TableState, *, emptied: bool, location: str) -> None:
    if after.metadata.id != before.metadata.id:
        raise RefusedCommit(f"{location}: the metaData has another table id; keep {before.metadata.id}")
    was = before.schema.mapping
    if after.schema.mapping != was or (was != "none" and not _keeps_mapping(after, before)):
        raise UnsupportedTable(
            f"{location}: columnMapping: this package changes neither the columns of a table with column mapping nor "
            f"the mapping; change them with Spark"
        )
    if emptied:
        return
    if after.schema.partition_columns != before.schema.partition_columns:
        raise RefusedCommit(
            f"{location}: the table keeps files, so the partition columns cannot change; overwrite the whole table "
            f"to change them"
        )
    after_fields = {field.path: field for field in after.schema.fields}
    for field in before.schema.fields:
        now = after_fields.pop(field.path, None)
        if now is None or _outline(now.type) != _outline(field.type):
            what = "is gone" if now is None else f"changes from {type_name(field.type)} to {type_name(now.type)}"
            raise RefusedCommit(
                f"{location}: the table keeps files, and column {field.name} {what}; overwrite the whole table, or "
                f"use Spark"
            )
        if field.nullable and not now.nullable:
            raise RefusedCommit(
                f"{location}: the table keeps files, which may have nulls in {field.name}; leave the column nullable"
            )
    for field in after_fields.values():
        if not field.nullable:
            raise RefusedCommit(
                f"{location}: the table keeps files, which lack the new column {field.name}; make the column nullable"
            )


def _keeps_mapping(after: TableState, before: TableState) -> bool:
    """True if old columns are unchanged and new columns have unused ids and names."""
    if after.schema.text == before.schema.text:
        return True
    fields, last = after.schema.fields, before.properties.last_column_id
    now = {field.path: field for field in fields}
    last = max(field.metadata[COLUMN_ID] for field in fields) if last is None else last
    for field in before.schema.fields:
        now_field = now.pop(field.path, None)
        if now_field is None or _stored(now_field) != _stored(field):
            return False
    names = [field.physical for field in fields]
    return len(set(names)) == len(names) and all(field.metadata[COLUMN_ID] > last for field in now.values())


def _stored(field: Field) -> object:
    return field.physical, field.metadata, _outline(field.type)


def _outline(type_: DataType) -> object:
    """Return the names of a type and of the types inside arrays and maps, without fields and nullability."""
    return type_name(type_), *map(_outline, inner_types(type_).values())
