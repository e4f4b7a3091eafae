"""Create a table with its first files, unless another writer was faster.

If several writers start without a table, one of them creates it. Each of the other writers then appends to this table,
or overwrites it, according to its mode. A write that would remove rows is a conflict, because these rows were added
after the writer found no table. Files fit the new table if it has the columns and partition columns that they were
written for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from deltalog.errors import ConcurrentAppend, MetadataChanged, TableExists
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.footer_statistics import adds_of
from deltalog.stats.partition_match import partition_columns
from deltalog.table.types import ArrayType, MapType, StructType, inner_types, type_name
from deltalog.transaction.change import WHOLE_TABLE
from deltalog.transaction.check_change import check_appendable
from deltalog.transaction.conflicts import may_have_read
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append, overwrite, reads_of_partitions, replace_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltalog.log.actions import Add
    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.footer_statistics import NewFile
    from deltalog.table.schema import TableSchema
    from deltalog.table.types import DataType, StructField
    from deltalog.transaction.commit import Committed

WriteMode = Literal["error", "append", "overwrite", "replace_partitions"]
_OPERATIONS: Mapping[str, Callable[..., Committed]] = {
    "append": append,
    "overwrite": overwrite,
    "replace_partitions": replace_partitions,
}


def create_with_files(location: str, schema: TableSchema, files: Sequence[NewFile], *, mode: WriteMode) -> Committed:
    """Create a table with files, or write them to the existing table.

    The files are already in the table's directory.

    `schema`: the result of `check_create`, for which the files were written.
    `mode`: operation of the write if the table exists; "error" raises TableExists.

    Raises MetadataChanged if the files do not fit a table that another writer created, and ConcurrentAppend if the
    write would replace rows of that table; nothing was committed then. Else raises as `commit`.
    """
    try:
        adds = adds_of(location, schema, files)
        return create_table(location, schema.text, partition_by=schema.partition_columns, adds=adds)
    except TableExists:
        if mode == "error":
            raise
    snapshot = open_snapshot(location)
    _check_fit(schema, snapshot)
    check_appendable(snapshot)
    adds = adds_of(location, snapshot.schema, files, properties=snapshot.properties, domains=snapshot.domains)
    _check_replaces_nothing(snapshot, adds, mode)
    return _OPERATIONS[mode](snapshot, adds)


def _check_replaces_nothing(snapshot: Snapshot, adds: Sequence[Add], mode: WriteMode) -> None:
    """Raise ConcurrentAppend if a write would replace another writer's files."""
    if mode == "append":
        return
    reads = WHOLE_TABLE if mode == "overwrite" else reads_of_partitions(snapshot, adds)
    for block in snapshot.blocks:
        replaced = np.flatnonzero(may_have_read(reads, snapshot.schema, block))
        if len(replaced):
            what = (
                "rows" if reads.everything else f"the partition {_partition(snapshot.schema, block, replaced[0])} too"
            )
            raise ConcurrentAppend(
                f"{snapshot.table}: another writer created the table meanwhile and wrote {what}, which mode={mode!r} "
                "would replace; write again to replace them"
            )


def _partition(schema: TableSchema, block: FileBlock, file: int) -> str:
    """Return the name of a file's partition."""
    values_by_name = [
        (column.leaf.name, block.partition.get(name)) for name, column in partition_columns(schema).items()
    ]
    return ", ".join(
        f"{name}={'null' if coded is None or coded.codes[file] < 0 else coded.values[coded.codes[file]].as_py()}"
        for name, coded in values_by_name
    )


def _check_fit(schema: TableSchema, snapshot: Snapshot) -> None:
    """Raise MetadataChanged if files written for `schema` do not fit the table."""
    if (misfit := _misfit(schema, snapshot.schema)) is not None:
        raise MetadataChanged(
            f"{snapshot.table}: another writer created the table meanwhile, and {misfit}; nothing was committed, "
            f"write again in the form of that table, or to another path"
        )


def _misfit(mine: TableSchema, theirs: TableSchema) -> str | None:
    if theirs.mapping != "none":
        return "its files use other column names (columnMapping)"
    if mine.partition_columns != theirs.partition_columns:
        by, my = (", ".join(schema.partition_columns) or "nothing" for schema in (theirs, mine))
        return f"it is partitioned by {by}, and the rows here are partitioned by {my}"
    return _other_column(mine.tree, theirs.tree)


def _other_column(mine: StructType, theirs: StructType) -> str | None:
    here, there = ({field.name: field for field in struct.fields} for struct in (mine, theirs))
    if there.keys() - here:
        return f"it has the column {min(there.keys() - here)}, which the rows here lack"
    if here.keys() - there:
        return f"it lacks the column {min(here.keys() - there)} of the rows here"
    for name, field in there.items():
        if _shape(here[name].type) != _shape(field.type):
            return f"its column {name} is {_shown(field)} and not {_shown(here[name])} as here"
        if not _may_hold_field(here[name], field):
            return f"its column {name} is NOT NULL or has other rules, which were not checked for the rows here"
    return None


def _shown(field: StructField) -> str:
    return field.type if isinstance(field.type, str) else f"another {type_name(field.type)}"


def _shape(type_: DataType) -> object:
    """Return the names in a type, ignoring nullability and field order."""
    if isinstance(type_, StructType):
        return {field.name: _shape(field.type) for field in type_.fields}
    return type_name(type_), *map(_shape, inner_types(type_).values())


def _may_hold_field(mine: StructField, theirs: StructField) -> bool:
    """True if `theirs` accepts every value of `mine`.

    Nullability and rules in the metadata are compared too.
    """
    rules = [{key: value for key, value in field.metadata.items() if key != "comment"} for field in (mine, theirs)]
    nullable = theirs.nullable or not mine.nullable
    return nullable and rules[0] == rules[1] and _may_hold(mine.type, theirs.type)


def _may_hold(mine: DataType, theirs: DataType) -> bool:
    """True if the type `theirs` accepts every value of `mine`; they may differ only in nullability."""
    match mine, theirs:
        case StructType(fields), StructType(their_fields):
            there = {field.name: field for field in their_fields}
            return all(_may_hold_field(field, there[field.name]) for field in fields)
        case ArrayType(element, nulls), ArrayType(their_element, their_nulls):
            return (their_nulls or not nulls) and _may_hold(element, their_element)
        case MapType(key, value, nulls), MapType(their_key, their_value, their_nulls):
            return (their_nulls or not nulls) and _may_hold(key, their_key) and _may_hold(value, their_value)
    return True
