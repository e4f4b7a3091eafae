"""Columns of an Iceberg table. Files identify the leaves by field ids, and may name them differently."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parquet_core.dataset.logged import Numbered
from parquet_core.format.leaf_type import Physical, arrow_type, reason_against_pruning, sort_order
from parquet_core.format.schema import LeafColumn, SortOrder
from parquet_core.spark_rules.stored_types import parquet_element

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from pyiceberg.schema import Schema

    from parquet_core.format.schema import Path

_REPEATED = "a repeated column is not supported"
# Spark's name of each Iceberg type; decimals have the same name in both.
_SPARK_NAMES = {
    **{name: name for name in ("boolean", "long", "float", "double", "date", "string", "binary")},
    "int": "integer",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}


@dataclass(frozen=True, slots=True)
class IcebergColumn:
    """A leaf of the table.

    `type_name`: Iceberg's name of its type.
    """

    leaf: LeafColumn
    field_id: int
    type_name: str

    @property
    def physical(self) -> Path:
        """Path of the leaf in files with the table's current names; files written before a rename have older names."""
        return self.leaf.path


def spark_name(type_name: str) -> str | None:
    """Return Spark's name of a type; None if Spark lacks the type or stores it differently."""
    return type_name if type_name.startswith("decimal(") else _SPARK_NAMES.get(type_name)


def columns_of(schema: Schema, filled: Container[int]) -> tuple[IcebergColumn, ...]:
    """Return the leaves of a schema.

    `filled`: ids of columns that may have a non-null value for files that lack the column.

    Raises ValueError if two leaves have one id, because their values in files could be mixed up.
    """
    columns = list(_leaves(schema.fields, (), filled))
    if len({column.field_id for column in columns}) < len(columns):
        raise ValueError("two columns have one id")
    return tuple(replace(column, leaf=replace(column.leaf, index=i)) for i, column in enumerate(columns))


def _leaves(fields: Iterable[Any], above: Path, filled: Container[int]) -> Iterator[IcebergColumn]:
    for field in fields:
        path, iceberg_type = (*above, field.name), field.field_type
        if iceberg_type.is_struct:
            yield from _leaves(iceberg_type.fields, path, filled)
        else:
            # A default inside a list or map makes the values in older files unknown too.
            may_be_filled = field.field_id in filled or any(
                _has_default(each) for each in (field, *_fields_within(iceberg_type))
            )
            yield IcebergColumn(
                _leaf(path, iceberg_type, may_be_filled=may_be_filled), field.field_id, str(iceberg_type)
            )


def _leaf(path: Path, iceberg_type: Any, *, may_be_filled: bool) -> LeafColumn:
    name = spark_name(str(iceberg_type)) if iceberg_type.is_primitive else None
    element = None if name is None else parquet_element(name)
    physical, type_, order = Physical.BYTE_ARRAY, None, SortOrder.UNDEFINED
    unsupported = f"type {iceberg_type} is not supported" if iceberg_type.is_primitive else _REPEATED
    if element is not None:
        physical = Physical(element.physical or 0)
        type_ = arrow_type(element, physical)
        order, unsupported = sort_order(type_, physical), reason_against_pruning(element, physical)
    return LeafColumn(
        path=path,
        index=-1,
        physical=physical,
        type=type_,
        type_length=0 if element is None else element.type_length or 0,
        order=order,
        max_definition_level=len(path),
        max_repetition_level=int(not iceberg_type.is_primitive),
        unsupported=unsupported,
        may_be_filled=may_be_filled,
    )


def numbered(schema: Schema, columns: Iterable[IcebergColumn], schemas: Iterable[Schema], names: str) -> Numbered:
    """Return columns by the field ids of their leaves. Lists and maps whose parts were renamed are marked as `renamed`.

    `schemas`: all schemas of the table.
    `names`: the table's name mapping; "" if missing.
    """
    called = defaultdict(set)
    for each in schemas:
        for field_id in each.field_ids:
            called[field_id].add(each.find_column_name(field_id).rpartition(".")[2])
    by_id: dict[int, IcebergColumn] = {}
    renamed: set[int] = set()
    for column in columns:
        within = [field.field_id for field in _fields_within(schema.find_type(column.field_id))]
        if all(len(called[field_id]) < 2 for field_id in within):
            by_id |= dict.fromkeys([column.field_id, *within], column)
        else:
            renamed |= {column.field_id, *within}
    tops = {field.field_id: field.name for field in schema.fields}
    return Numbered(by_id, _mapped_field_ids(names) if names else {}, tops, frozenset(renamed))


def _has_default(field: Any) -> bool:
    return getattr(field, "initial_default", None) is not None


def _fields_within(iceberg_type: Any) -> Iterator[Any]:
    if iceberg_type.is_primitive:
        return
    parts = ("element_field",) if hasattr(iceberg_type, "element_field") else ("key_field", "value_field")
    for field in iceberg_type.fields if iceberg_type.is_struct else [getattr(iceberg_type, part) for part in parts]:
        yield field
        yield from _fields_within(field.field_type)


def _mapped_field_ids(names: str) -> dict[Path, int]:
    from pyiceberg.table.name_mapping import parse_mapping_from_json

    field_ids: dict[Path, int] = {}
    todo: list[tuple[Path, Any]] = [((), field) for field in parse_mapping_from_json(names).root]
    while todo:
        above, field = todo.pop()
        for name in field.names:
            if field.field_id is not None:
                field_ids[(*above, name)] = field.field_id
            todo += [((*above, name), child) for child in field.fields]
    return field_ids


def spark_type(iceberg_type: Any) -> Any:
    """Return a type in Spark's JSON. Raises ValueError, naming the type, if Spark's Parquet reader lacks it."""
    if iceberg_type.is_struct:
        fields = [
            {"name": field.name, "type": spark_type(field.field_type), "nullable": not field.required, "metadata": {}}
            for field in iceberg_type.fields
        ]
        return {"type": "struct", "fields": fields}
    if iceberg_type.is_primitive:
        name = spark_name(str(iceberg_type))
        if name is None:
            raise ValueError(str(iceberg_type))
        return name.replace(" ", "")
    if hasattr(iceberg_type, "element_type"):
        return {
            "type": "array",
            "elementType": spark_type(iceberg_type.element_type),
            "containsNull": not iceberg_type.element_required,
        }
    return {
        "type": "map",
        "keyType": spark_type(iceberg_type.key_type),
        "valueType": spark_type(iceberg_type.value_type),
        "valueContainsNull": not iceberg_type.value_required,
    }
