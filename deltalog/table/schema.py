"""The schema of a table: leaf columns from Spark's JSON, with names in files and statistics.

With column mapping (by name or id), files, statistics and partition values use the physical name of a column.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deltalog.errors import MalformedLog, UnsupportedTable
from deltalog.table.types import (
    COLUMN_ID,
    DECLARED_LENGTH,
    PHYSICAL_NAME,
    TYPE_CHANGES,
    ArrayType,
    DataType,
    MapType,
    StructType,
    decimal_digits,
    inner_types,
    parse_struct,
    type_name,
)
from parquet_core.format.leaf_type import Physical, arrow_type, reason_against_pruning, sort_order
from parquet_core.format.schema import LeafColumn, SortOrder
from parquet_core.spark_rules.spark_schema import ComparedOtherwise, has_reliable_nulls
from parquet_core.spark_rules.stored_types import FIXED_BYTES, parquet_element

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.format.schema import Path

MAX_NESTING = 100
_COLLATIONS = "__COLLATIONS"
_PADDED = re.compile(r"(?<!var)char", re.IGNORECASE)
# Some writers write bounds of booleans; Spark does not.
_WITHOUT_BOUNDS = frozenset({"boolean", "binary"})
# Type changes whose old statistics can be read: (from, to).
_WIDENED = {
    ("byte", "short"),
    ("byte", "integer"),
    ("byte", "long"),
    ("short", "integer"),
    ("short", "long"),
    ("integer", "long"),
    ("float", "double"),
    ("byte", "double"),
    ("short", "double"),
    ("integer", "double"),
    ("date", "timestamp_ntz"),
}
_WIDENED_TO_DECIMAL = {"byte", "short", "integer", "long"}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A leaf column of the table, and its names in the log.

    `leaf`: logical path and type; its `unsupported` is the reason why predicates on it do not prune.
    `physical`: the path in statistics.
    `partition`: the key in `partitionValues`; None for a column stored in files.
    `field_id`: the id with column mapping, else None.
    `from_float`: True if some files may store the column as FLOAT.
    `delta_type`: Delta's name of the type.
    `refused`: the reason why the log's values of the column cannot be used; "" if they can.
    """

    leaf: LeafColumn
    physical: Path
    delta_type: str
    partition: str | None = None
    field_id: int | None = None
    from_float: bool = False
    refused: str = ""

    @property
    def bounded(self) -> bool:
        """True if bounds in statistics can be used; null counts may be usable without them."""
        return self.delta_type not in _WITHOUT_BOUNDS and not self.leaf.unsupported


class Field(NamedTuple):
    """A field at any depth, with its logical and physical path.

    `nullable`: True if the field itself may be null.
    `repeated`: True if the field is inside an array or map.
    `collation`: the reason why its values do not compare as bytes; "" if they do.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: DataType
    nullable: bool
    metadata: dict[str, Any]
    repeated: bool
    collation: str = ""

    @property
    def name(self) -> str:
        """The path as text for messages."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table.

    `columns`: leaves in order.
    `mapping`: none, name or id.
    `text`: the JSON as written.
    `tree`: the parsed JSON.
    `fields`: fields at any depth, parents before children.
    """

    columns: tuple[TableColumn, ...]
    partition_columns: tuple[str, ...]
    mapping: str
    text: str
    tree: StructType
    fields: tuple[Field, ...]

    @property
    def leaves(self) -> tuple[LeafColumn, ...]:
        """The leaves that predicates may name."""
        return tuple(column.leaf for column in self.columns)

    def by_path(self) -> dict[Path, TableColumn]:
        """Return the columns whose values the log can bound, by logical path."""
        return {column.leaf.path: column for column in self.nullable().values() if not column.leaf.unsupported}

    def nullable(self) -> dict[Path, TableColumn]:
        """Return the columns whose nulls the log can count, by logical path."""
        return {
            column.leaf.path: column
            for column in self.columns
            if not column.refused and has_reliable_nulls(column.leaf)
        }


def read_schema(schema_json: str, *, partition_columns: Sequence[str], mapping: str, location: str) -> TableSchema:
    """Parse the schema of a `metaData` action.

    Raises MalformedLog if the JSON is not a schema, and UnsupportedTable for an unknown change of type; both name
    `location`.
    """
    if mapping not in {"none", "name", "id"}:
        raise UnsupportedTable(f"{location}: column mapping {mapping!r} is not understood; use a newer release")
    try:
        tree = parse_struct(schema_json)
        fields = tuple(_fields(tree, _Above((), ()), mapped=mapping != "none", location=location))
    except (msgspec.DecodeError, RecursionError, TypeError, AttributeError, UnicodeError):
        raise MalformedLog(f"{location}: the schema of the table is not a Spark schema; the log is damaged") from None
    columns = tuple(_columns(fields, partition_columns, location))
    return TableSchema(columns, tuple(partition_columns), mapping, schema_json, tree, fields)


class _Above(NamedTuple):
    """Path and properties that fields inherit from the enclosing type."""

    path: Path
    physical: Path
    repeated: bool = False
    collation: str = ""


def _fields(type_: DataType, above: _Above, *, mapped: bool, location: str) -> Iterator[Field]:
    if len(above.path) > MAX_NESTING:
        raise MalformedLog(f"{location}: the schema is nested deeper than {MAX_NESTING} levels; the log is damaged")
    for name, inner in inner_types(type_).items():
        inside = _Above((*above.path, name), (*above.physical, name), repeated=True, collation=above.collation)
        yield from _fields(inner, inside, mapped=mapped, location=location)
    for child in type_.fields if isinstance(type_, StructType) else ():
        name = child.metadata.get(PHYSICAL_NAME, child.name) if mapped else child.name
        if not isinstance(name, str):
            raise TypeError
        path, physical = (*above.path, child.name), (*above.physical, name)
        collation = _collation(child.metadata) or above.collation
        if not above.repeated:
            _check_changes(child.metadata.get(TYPE_CHANGES), path, location)
        yield Field(path, physical, child.type, child.nullable, child.metadata, above.repeated, collation)
        inside = _Above(path, physical, above.repeated, collation)
        yield from _fields(child.type, inside, mapped=mapped, location=location)


def _collation(metadata: Mapping[str, Any]) -> str:
    # A struct holds the collation entries of its fields. None of its fields then counts as compared by bytes.
    if _COLLATIONS in metadata:
        return ComparedOtherwise.COLLATION
    return ComparedOtherwise.CHAR if _PADDED.search(str(metadata.get(DECLARED_LENGTH, ""))) else ""


def _columns(fields: Sequence[Field], partitions: Sequence[str], location: str) -> Iterator[TableColumn]:
    leaves = [field for field in fields if not field.repeated and not isinstance(field.type, StructType)]
    tops = {field.path[0] for field in leaves}
    unknown = [name for name in partitions if name not in tops]
    if unknown:
        raise MalformedLog(
            f"{location}: the table is partitioned by {unknown[0]!r}, which it lacks; the log is damaged"
        )
    counts = Counter(field.path for field in leaves)
    for index, field in enumerate(leaves):
        is_partition = len(field.path) == 1 and field.path[0] in partitions
        twice = "" if counts[field.path] == 1 else "the table has this column twice"
        yield _column(field, index, partition=field.physical[0] if is_partition else None, twice=twice)


def _column(field: Field, index: int, *, partition: str | None, twice: str) -> TableColumn:
    name = type_name(field.type)
    field_id, changes = field.metadata.get(COLUMN_ID), field.metadata.get(TYPE_CHANGES) or ()
    element, repeated = parquet_element(name), isinstance(field.type, ArrayType | MapType)
    refused = ""
    physical, type_, order, unsupported = Physical.BYTE_ARRAY, None, SortOrder.UNDEFINED, ""
    if element is None:
        refused = "lists and maps are not supported" if repeated else f"type {name} is not supported"
    else:
        assert element.physical is not None
        physical = Physical(element.physical)
        type_ = arrow_type(element, physical)
        order, unsupported = sort_order(type_, physical), reason_against_pruning(element, physical)
    return TableColumn(
        leaf=LeafColumn(
            path=field.path,
            index=index,
            physical=physical,
            type=type_,
            type_length=FIXED_BYTES if physical is Physical.FIXED_LEN_BYTE_ARRAY else 0,
            order=order,
            max_definition_level=len(field.path),
            max_repetition_level=int(repeated),
            unsupported=twice or refused or field.collation or unsupported,
        ),
        physical=field.physical,
        delta_type=name,
        partition=partition,
        field_id=field_id if isinstance(field_id, int) else None,
        from_float=any(change.get("fromType") == "float" for change in changes),
        refused=twice or refused,
    )


def _check_changes(changes: Any, column: Path, location: str) -> None:
    for change in changes or ():
        old, new = str(change.get("fromType")), str(change.get("toType"))
        is_known = (old, new) in _WIDENED or (new.startswith("decimal") and _grows(old, new))
        if not is_known:
            raise UnsupportedTable(
                f"{location}: column {'.'.join(column)} was changed from {old} to {new}, which is not understood; "
                "use a newer release"
            )


def _grows(old: str, new: str) -> bool:
    """True if a decimal type holds all values of another type."""
    before, after = decimal_digits(old), decimal_digits(new)
    if before is None or after is None:
        return old in _WIDENED_TO_DECIMAL
    return after[0] - after[1] >= before[0] - before[1] and after[1] >= before[1]
