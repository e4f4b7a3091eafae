"""The columns of an Arrow result: their types, where each file has them, and values that a file has for all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from parquet_core.errors import UnsupportedFeature
from parquet_core.format.schema import Physical, in_any_case
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read, reads_as_null
from parquet_core.values.page_file import schema_of
from prune_assets.tables.column_names import resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.table import DeletedRows

# As Spark reads them; types that are not here stay as they are, or are refused.
_AS_SPARK = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def refused(name: str, why: str) -> UnsupportedFeature:
    """Return the error for a column that is not read into Arrow."""
    return UnsupportedFeature(f"column {name!r}: {why}; name other columns, or let Spark read it")


class FileColumns(NamedTuple):
    """Of one file: the leaves that hold each column, the value of columns that it has for all rows, deleted rows."""

    stored: Mapping[str, tuple[LeafColumn, ...]]
    constants: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """Top-level columns of a planned table; can be pickled.

    `types`: by name that in the result; `leaves`: by name what is read of files, nothing for partition columns.
    `compared`: by path every column that a predicate may name.
    """

    types: Mapping[str, pa.DataType]
    leaves: Mapping[str, tuple[LeafColumn, ...]]
    compared: Mapping[Path, LeafColumn]

    @property
    def constant_names(self) -> set[str]:
        """The columns that files do not store."""
        return self.types.keys() - self.leaves.keys()


def columns_of_files(plan: PlannedRead, columns: ArrowColumns) -> dict[int, FileColumns]:
    """Return the columns in files that are read, by their numbers in the index; UnsupportedFeature names one."""
    index, numbers = plan.index, plan.surviving_numbers.tolist()
    kinds: dict[tuple[int, frozenset[str]], tuple[dict[str, tuple[LeafColumn, ...]], dict[str, pa.Scalar]]] = {}
    found = {}
    every = plan.table.constants(index, numbers, columns.types)
    for number, constants in zip(numbers, every, strict=True):
        for name, why in constants.unknown.items():
            raise refused(name, why)
        key = int(index.kind[number]), frozenset(constants.values)
        if key not in kinds:
            kinds[key] = _in_files_of_kind(columns, index.kinds[key[0]], index.files[number].path, given=key[1])
        stored, missing = kinds[key]
        found[number] = FileColumns(stored, {**missing, **constants.values}, constants.deleted)
    return found


def _in_files_of_kind(
    columns: ArrowColumns, kind: Provenance, path: str, given: Collection[str]
) -> tuple[dict[str, tuple[LeafColumn, ...]], dict[str, pa.Scalar]]:
    """Return the leaves of each column in files of a kind, and null for columns that they lack.

    `given`: columns that the table gives values of for all rows.
    """
    stored: dict[str, tuple[LeafColumn, ...]] = {}
    missing: dict[str, pa.Scalar] = {}
    for name, leaves in columns.leaves.items():
        if name in given:
            continue
        if renamed := _with_entries_renamed(name, leaves, columns.types[name], kind):
            stored[name] = renamed
            continue
        found = [_leaf_in(name, leaf, kind, path) for leaf in leaves]
        if all(leaf is None for leaf in found):
            missing[name] = pa.scalar(None, pa.null())
        elif None in found:
            raise refused(name, f"{path} lacks a part of it")
        else:
            stored[name] = tuple(leaf for leaf in found if leaf is not None)
    return stored, missing


def arrow_columns(plan: PlannedRead, names: Sequence[str]) -> ArrowColumns:
    """Return columns of a planned table by their names; UnsupportedFeature for one whose type is not read."""
    partitions = {column.path[0]: column for column in plan.table.partitions}
    leaves: dict[str, tuple[LeafColumn, ...]] = {}
    types: dict[str, pa.DataType] = {}
    for name in names:
        if name in partitions:
            types[name] = _flat_type(partitions[name])
            continue
        leaves[name] = _leaves_of(name, plan)
        types[name] = _type_of(name, leaves[name], plan)
        if any(leaf.max_repetition_level for leaf in leaves[name]):
            _check_declared(name, types[name], plan)
    compared = {column.path: column for column in (*plan.table.partitions, *plan.table.columns)}
    return ArrowColumns(types, leaves, compared)


def _leaves_of(name: str, plan: PlannedRead) -> tuple[LeafColumn, ...]:
    """Return the leaves of a column; a table format declares lists and maps without those that files have of them."""
    in_files = {column.path: column for column in plan.index.columns}
    declared = tuple(in_files.get(c.path, c) for c in plan.table.columns if c.path[0] == name)
    if not any(leaf.max_repetition_level and leaf.path not in in_files for leaf in declared):
        return declared
    stored = (tuple(leaf for leaf in kind.columns if leaf.path[0] == name) for kind in plan.index.kinds)
    return next((leaves for leaves in stored if leaves), declared)


def _check_declared(name: str, kind: pa.DataType, plan: PlannedRead) -> None:
    """Refuse a column that files have in another shape than the table declares, such as under physical names."""
    schema = plan.table.declared_schema()
    if schema is None or name not in schema.names:
        return
    from prune_assets.session.spark_versions import arrow_schema

    declared = arrow_schema(schema).field(name).type
    if _shape(declared) != _shape(kind):
        raise refused(name, f"files have it as {kind}, the table declares {declared}")


def _shape(kind: pa.DataType) -> object:
    """Return a type without what writers name the entries of lists and maps, and say of nulls."""
    if pa.types.is_struct(kind):
        return tuple((child.name, _shape(child.type)) for child in kind)
    if pa.types.is_map(kind):
        return "map", _shape(kind.key_type), _shape(kind.item_type)
    return ("list", _shape(kind.value_type)) if pa.types.is_list(kind) else kind


def names_of(plan: PlannedRead, columns: Sequence[str] | None) -> list[str]:
    """Return top-level columns of a planned table as it spells them, by default all; UnknownColumn for another."""
    every = [*plan.table.columns, *plan.table.partitions]
    if columns is None:
        return list(dict.fromkeys(column.path[0] for column in every))
    return [resolve(name, every) for name in columns]


def _type_of(name: str, leaves: tuple[LeafColumn, ...], plan: PlannedRead) -> pa.DataType:
    if len(leaves) == 1 and len(leaves[0].path) == 1:
        return _flat_type(leaves[0])
    for kind in plan.index.kinds:
        found = [kind.by_path.get(leaf.path) for leaf in leaves]
        if all(leaf is not None for leaf in found):
            return _nested_type(name, [leaf for leaf in found if leaf is not None], kind)
    schema = plan.table.declared_schema()
    if schema is not None and name in schema.names:
        from prune_assets.session.spark_versions import arrow_schema

        return arrow_schema(schema).field(name).type
    raise refused(name, "no file has all parts of it")


def _nested_type(name: str, leaves: Sequence[LeafColumn], kind: Provenance) -> pa.DataType:
    from parquet_core.values.page_file import empty_table

    numbers = sorted(leaf.index for leaf in leaves)
    try:
        stored = empty_table(kind, schema_of(kind, numbers), numbers).schema.field(0).type
    except (pa.ArrowException, OSError) as error:
        raise refused(name, f"Arrow does not read its type ({' '.join(str(error).split())})") from None
    return as_spark(name, stored, is_int96=any(leaf.physical is Physical.INT96 for leaf in leaves))


def _with_entries_renamed(
    name: str, leaves: Sequence[LeafColumn], type_: pa.DataType, kind: Provenance
) -> tuple[LeafColumn, ...]:
    """Return the leaves of a file whose lists or maps have other names for their entries, where nothing else differs.

    Writers say `list.item`, `list.element`, `bag.array_element` and more; readers go by the structure.
    """
    found = tuple(leaf for leaf in kind.columns if leaf.path[0] == name)
    is_other = {leaf.path for leaf in found} != {leaf.path for leaf in leaves}
    if not is_other or not any(leaf.max_repetition_level for leaf in leaves) or len(found) != len(leaves):
        return ()
    if any(is_rebased(leaf, kind) for leaf in found) or _shape(_nested_type(name, found, kind)) != _shape(type_):
        return ()
    return found


def _flat_type(column: LeafColumn) -> pa.DataType:
    name = column.path[0]
    if column.type is None or column.unsupported:
        # Annotated bytes among them, of which Spark makes strings.
        raise refused(name, column.unsupported or "its type is not known")
    return as_spark(name, column.type, is_int96=column.physical is Physical.INT96)


def as_spark(name: str, kind: pa.DataType, *, is_int96: bool = False) -> pa.DataType:
    """Return the Arrow type of the values that Spark reads from a stored type; UnsupportedFeature if it reads none."""
    if pa.types.is_struct(kind):
        return pa.struct([as_spark_field(name, child, is_int96=is_int96) for child in kind])
    if pa.types.is_map(kind):
        return pa.map_(
            as_spark(name, kind.key_type, is_int96=is_int96), as_spark_field(name, kind.item_field, is_int96=is_int96)
        )
    if pa.types.is_list(kind):
        return pa.list_(as_spark_field(name, kind.value_field, is_int96=is_int96))
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns" and not is_int96:
            raise refused(name, "Spark does not read timestamps of nanoseconds")
        return pa.timestamp("us", kind.tz)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_time(kind) or pa.types.is_float16(kind):
        raise refused(name, f"Spark does not read type {kind} everywhere")
    return _AS_SPARK.get(kind, kind)


def as_spark_field(name: str, child: pa.Field, *, is_int96: bool) -> pa.Field:
    """Return a field of a nested column with the type that Spark reads."""
    return pa.field(child.name, as_spark(name, child.type, is_int96=is_int96), nullable=True)


def _leaf_in(name: str, column: LeafColumn, kind: Provenance, path: str) -> LeafColumn | None:
    found = leaf_as_read(column, kind)
    if found is None:
        # Of a column that the file has in another shape, a list written in the old form say, Spark reads values.
        is_nested = len(column.path) > 1
        lacks_it = in_any_case(name) not in kind.by_any_case if is_nested else reads_as_null(column, kind)
        if lacks_it and kind.columns and not column.may_be_filled and not kind.is_unnamed:
            return None
        raise refused(name, f"{path} stores it as another type, under another name, or not at all")
    if is_rebased(found, kind):
        raise refused(name, f"{path} stores it in the hybrid Julian and Gregorian calendar")
    return found
