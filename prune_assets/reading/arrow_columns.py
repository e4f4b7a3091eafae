"""Columns of an Arrow result: types, leaves and constants per file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.errors import UnsupportedFeature
from parquet_core.format.schema import Physical, in_any_case
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import lacks_column, leaf_as_read, reads_as_null
from parquet_core.spark_rules.type_promotion import is_wider
from parquet_core.values.page_file import schema_of
from prune_assets.tables.column_names import resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.table import DeletedRows

# Types as Spark reads them. Other types are kept, or refused in `as_spark`.
_AS_SPARK = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


class ColumnNotRead(UnsupportedFeature):
    """Raised for a column that is not read into Arrow; `why`: the reason."""

    def __init__(self, message: str, column: str = "", why: str = "") -> None:
        """Store the column and the reason next to the message."""
        super().__init__(message)
        self.column, self.why = column, why

    def __reduce__(self) -> tuple[type[ColumnNotRead], tuple[str, str, str]]:
        """Support pickling, because other processes raise this error too."""
        return ColumnNotRead, (str(self), self.column, self.why)


def not_read(column: str, why: str) -> ColumnNotRead:
    """Build the error for a column that is not read."""
    return ColumnNotRead(f"column {column!r}: {why}; name other columns, or let Spark read it", column, why)


class FileColumns(NamedTuple):
    """Columns of one file.

    `stored`: leaves per stored column. `constants`: values of columns that are constant in the file.
    """

    stored: Mapping[str, tuple[LeafColumn, ...]]
    constants: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """Top-level columns of a planned table; can be pickled.

    `types`: type in the result, by name.
    `leaves`: leaves to read, by name; partition columns have no entry.
    `compared`: every column that a predicate may refer to, by path.
    `in_files`: types of nested columns with the names that files use inside lists and maps.
    `filled`: columns that may have a default value, which rows of files without the column get.
    `null_tested`: columns that are only tested for null, so that any stored type is accepted.
    """

    types: Mapping[str, pa.DataType]
    leaves: Mapping[str, tuple[LeafColumn, ...]]
    compared: Mapping[Path, LeafColumn]
    in_files: Mapping[str, pa.DataType]
    filled: frozenset[str]
    null_tested: Collection[str] = ()

    @property
    def constant_names(self) -> set[str]:
        """Columns that files do not store."""
        return self.types.keys() - self.leaves.keys()

    def as_declared(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Convert a nested column of a file to the table's type.

        Missing fields become null. A column without fields is returned unchanged.
        """
        if name not in self.in_files:
            return values
        declared = self.types[name]
        stored = values.cast(self.in_files[name])
        return (
            stored if stored.type == declared else pa.chunked_array([c.view(declared) for c in stored.chunks], declared)
        )


def columns_of_files(plan: PlannedRead, columns: ArrowColumns) -> dict[int, FileColumns]:
    """Return the columns of the files to read, by file number.

    Raises UnsupportedFeature for an unreadable column.
    """
    index, file_indexes = plan.index, plan.surviving_numbers.tolist()
    by_schema: dict[tuple[int, frozenset[str]], tuple[dict[str, tuple[LeafColumn, ...]], dict[str, pa.Scalar]]] = {}
    columns_by_file = {}
    every = plan.table.constants(index, file_indexes, columns.types)
    for file_index, constants in zip(file_indexes, every, strict=True):
        for name, why in constants.unknown.items():
            raise not_read(name, why)
        key = int(index.groups.provenance_ids[file_index]), frozenset(constants.values)
        if key not in by_schema:
            by_schema[key] = _leaves_in_files(columns, index, file_index, given=key[1])
        stored, missing = by_schema[key]
        columns_by_file[file_index] = FileColumns(stored, {**missing, **constants.values}, constants.deleted)
    return columns_by_file


def _leaves_in_files(
    columns: ArrowColumns, index: MetadataIndex, file: int, given: Collection[str]
) -> tuple[dict[str, tuple[LeafColumn, ...]], dict[str, pa.Scalar]]:
    """Return the leaves of each column in the files of one schema, and nulls for missing columns.

    `file`: number of the first of these files.
    `given`: columns for which the table has a constant in these files.
    """
    provenance, path = index.groups.provenances[int(index.groups.provenance_ids[file])], index.groups.files[file].path
    stored: dict[str, tuple[LeafColumn, ...]] = {}
    missing: dict[str, pa.Scalar] = {}
    for name, leaves in columns.leaves.items():
        if name in given:
            continue
        if columns.types[name] == pa.null():
            stored_leaves: tuple[LeafColumn, ...] = ()
        elif name in columns.in_files:
            stored_leaves = _nested_in(name, columns, provenance, path)
        else:
            stored_leaves = _flat_in(leaves[0], index, file, any_type=name in columns.null_tested)
        if stored_leaves:
            stored[name] = stored_leaves
        else:
            missing[name] = pa.scalar(None, pa.null())
    return stored, missing


def arrow_columns(plan: PlannedRead, names: Sequence[str]) -> ArrowColumns:
    """Return columns of a planned table by name.

    Raises ColumnNotRead for a type that is not read.
    """
    partitions = {column.path[0]: column for column in plan.table.partitions}
    of_table, of_files = (
        _group_by_name(plan.index.groups.columns),
        _group_by_name(leaf for provenance in plan.index.groups.provenances for leaf in provenance.columns),
    )
    leaves: dict[str, tuple[LeafColumn, ...]] = {}
    types: dict[str, pa.DataType] = {}
    in_files: dict[str, pa.DataType] = {}
    for name in names:
        if name in partitions:
            types[name] = _flat_type(partitions[name], plan)
        elif _is_flat(of_table.get(name, ())):
            leaves[name] = tuple(of_table[name])
            types[name] = _flat_type(leaves[name][0], plan)
        else:
            leaves[name] = tuple({leaf.path: leaf for leaf in of_files.get(name, ())}.values())
            types[name], in_files[name] = _nested_types(name, of_table.get(name, ()), plan)
    compared = {column.path: column for column in (*plan.table.partitions, *plan.table.columns)}
    filled = frozenset(path[0] for path, column in compared.items() if column.may_be_filled)
    return ArrowColumns(types, leaves, compared, in_files, filled)


def _group_by_name(leaves: Iterable[LeafColumn]) -> dict[str, list[LeafColumn]]:
    leaves_by_name: dict[str, list[LeafColumn]] = {}
    for leaf in leaves:
        leaves_by_name.setdefault(leaf.path[0], []).append(leaf)
    return leaves_by_name


def _is_flat(leaves: Sequence[LeafColumn]) -> bool:
    return len(leaves) == 1 and len(leaves[0].path) == 1 and not leaves[0].max_repetition_level


def unread_columns(plan: PlannedRead, names: Sequence[str], *, in_files: bool) -> dict[str, str]:
    """Return the columns that are not read, each with the reason.

    The reason is the type of the column, or with `in_files` also how a file stores the column.
    """
    unread: dict[str, str] = {}
    while True:
        try:
            columns = arrow_columns(plan, [name for name in names if name not in unread])
            if in_files:
                columns_of_files(plan, columns)
        except ColumnNotRead as error:
            unread[error.column] = error.why
        else:
            return unread


def _nested_types(name: str, of_table: Sequence[LeafColumn], plan: PlannedRead) -> tuple[pa.DataType, pa.DataType]:
    """Return the type of a nested column to return, and its type in files.

    The second type has the field names that the files use inside lists and maps.
    """
    try:
        declared = plan.table.declared_type(name)
    except UnsupportedFeature as error:
        raise not_read(name, str(error)) from None
    if declared is not None:
        return as_spark(name, declared.declared), as_spark(name, declared.stored)
    for provenance in plan.index.groups.provenances:
        file_leaves = [provenance.by_path.get(leaf.path) for leaf in of_table]
        if all(leaf is not None for leaf in file_leaves):
            stored = _nested_type(name, [leaf for leaf in file_leaves if leaf is not None], provenance)
            return stored, stored
    raise not_read(name, "no file has all parts of the column")


def _nested_in(name: str, columns: ArrowColumns, provenance: Provenance, path: str) -> tuple[LeafColumn, ...]:
    """Return the leaves of a nested column in a file.

    Empty if the file lacks the column. Readers match by structure, because writers name list entries differently:
    `list.item`, `list.element`, `bag.array_element`, ..
    """
    leaves = tuple(leaf for leaf in provenance.by_any_case.get(in_any_case(name), ()) if leaf.path[0] == name)
    if not leaves and name not in columns.filled and lacks_column(name, provenance):
        return ()
    if not leaves or name in provenance.hidden:
        raise not_read(name, f"{path} has the column, or parts of it, under another name")
    if any(is_rebased(leaf, provenance) for leaf in leaves):
        raise not_read(name, f"{path} stores it in the hybrid Julian and Gregorian calendar")
    stored, wanted = _nested_type(name, leaves, provenance), columns.in_files[name]
    if not _is_read_as(stored, wanted, is_filled=name in columns.filled):
        raise not_read(name, f"{path} has it as {stored}, the table declares {columns.types[name]}")
    return leaves


def _is_read_as(stored: pa.DataType, wanted: pa.DataType, *, is_filled: bool) -> bool:
    """Return True if Spark reads a stored type as the table's type without changing values.

    `is_filled`: True if fields that a file lacks may have a default.
    """
    if pa.types.is_struct(wanted) and pa.types.is_struct(stored):
        types = {field.name: field.type for field in stored}
        spelled = {in_any_case(name) for name in types}
        missing = [field.name for field in wanted if field.name not in types]
        # Spark versions differ on a struct whose fields are all missing: null, or a struct of nulls.
        if len(missing) == wanted.num_fields or (missing and is_filled) or spelled & set(map(in_any_case, missing)):
            return False
        return all(_is_read_as(types[f.name], f.type, is_filled=is_filled) for f in wanted if f.name in types)
    if pa.types.is_map(wanted) and pa.types.is_map(stored):
        keys, values = (stored.key_type, wanted.key_type), (stored.item_type, wanted.item_type)
        return _is_read_as(*keys, is_filled=is_filled) and _is_read_as(*values, is_filled=is_filled)
    if pa.types.is_list(wanted) and pa.types.is_list(stored):
        return _is_read_as(stored.value_type, wanted.value_type, is_filled=is_filled)
    return bool(stored == wanted) or is_wider(wanted, stored)


def names_of(plan: PlannedRead, columns: Sequence[str] | None) -> list[str]:
    """Return top-level columns in the spelling of the table, by default all. Raises UnknownColumn."""
    every = [*plan.table.columns, *plan.table.partitions]
    if columns is None:
        return list(dict.fromkeys(column.path[0] for column in every))
    return [resolve(name, every) for name in columns]


def _nested_type(name: str, leaves: Sequence[LeafColumn], provenance: Provenance) -> pa.DataType:
    from parquet_core.values.page_file import empty_table

    leaf_indexes = sorted(leaf.index for leaf in leaves)
    try:
        stored = empty_table(provenance, schema_of(provenance, leaf_indexes), leaf_indexes).schema.field(0).type
    except (pa.ArrowException, OSError) as error:
        raise not_read(name, f"Arrow cannot read its type ({' '.join(str(error).split())})") from None
    return as_spark(name, stored, is_int96=any(leaf.physical is Physical.INT96 for leaf in leaves))


def _flat_type(column: LeafColumn, plan: PlannedRead) -> pa.DataType:
    name = column.path[0]
    if column.type is None and _is_void(name, plan):
        return pa.null()
    if column.type is None or column.unsupported:
        # Annotated binary columns are refused here too: Spark reads them as strings.
        raise not_read(name, column.unsupported or "its type is not known")
    return as_spark(name, column.type, is_int96=column.physical is Physical.INT96)


def _is_void(name: str, plan: PlannedRead) -> bool:
    """Return True if the table declares a VOID column, which files need not store."""
    try:
        declared = plan.table.declared_type(name)
    except UnsupportedFeature:
        return False
    return declared is not None and bool(pa.types.is_null(declared.declared))


def as_spark(name: str, arrow_type: pa.DataType, *, is_int96: bool = False) -> pa.DataType:
    """Return the Arrow type of the values that Spark reads from a stored type.

    Raises ColumnNotRead for an unsupported type.
    """
    if pa.types.is_struct(arrow_type):
        return pa.struct([as_spark_field(name, child, is_int96=is_int96) for child in arrow_type])
    if pa.types.is_map(arrow_type):
        return pa.map_(
            as_spark(name, arrow_type.key_type, is_int96=is_int96),
            as_spark_field(name, arrow_type.item_field, is_int96=is_int96),
        )
    if pa.types.is_list(arrow_type):
        return pa.list_(as_spark_field(name, arrow_type.value_field, is_int96=is_int96))
    if pa.types.is_timestamp(arrow_type):
        if arrow_type.unit == "ns" and not is_int96:
            raise not_read(name, "Spark does not read timestamps of nanoseconds")
        return pa.timestamp("us", arrow_type.tz)
    if pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if pa.types.is_time(arrow_type) or pa.types.is_float16(arrow_type):
        raise not_read(name, f"Spark does not read type {arrow_type} in all files")
    return _AS_SPARK.get(arrow_type, arrow_type)


def as_spark_field(name: str, child: pa.Field, *, is_int96: bool) -> pa.Field:
    """Return a field of a nested column, nullable, with the type that Spark reads."""
    return pa.field(child.name, as_spark(name, child.type, is_int96=is_int96), nullable=True)


def _flat_in(column: LeafColumn, index: MetadataIndex, file: int, *, any_type: bool) -> tuple[LeafColumn, ...]:
    """Return the leaf of a flat column in a file.

    Empty if the column is null in all rows of the file.
    `any_type`: accept any stored type.
    """
    provenance, name, path = (
        index.groups.provenances[int(index.groups.provenance_ids[file])],
        column.path[0],
        index.groups.files[file].path,
    )
    leaf = provenance.by_path.get(column.path) if any_type else leaf_as_read(column, provenance)
    if leaf is None:
        if reads_as_null(column, provenance):
            return ()
        if column.always_null and (stored := provenance.by_path.get(column.path)) is not None:
            untyped = index.groups.files[_untyped_file(column, index)].path
            raise not_read(
                name,
                f"{path} stores it as {stored.type}, {untyped} as null, a type without values; write {untyped} again "
                f"with the column as {stored.type}",
            )
        raise not_read(name, f"{path} stores it as another type, under another name, or not at all")
    if is_rebased(leaf, provenance) and not any_type:
        raise not_read(name, f"{path} stores it in the hybrid Julian and Gregorian calendar")
    return (leaf,)


def _untyped_file(column: LeafColumn, index: MetadataIndex) -> int:
    """Return the first file that declares a column as always null."""
    stored = [provenance.by_path.get(column.path) for provenance in index.groups.provenances]
    untyped = np.array([leaf is not None and leaf.always_null for leaf in stored], np.bool_)
    return int(np.argmax(untyped[index.groups.provenance_ids]))
