"""The schema of a table: Spark's JSON turned into leaf columns, each with its name in files and in statistics.

With column mapping (by name or by id) files, statistics and partition values know a column by its physical name.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.errors import MalformedLog, UnsupportedTable
from parquet_core.format.leaf_type import Physical, arrow_type, reason_against_pruning, sort_order
from parquet_core.format.schema import LeafColumn, SchemaElement, SortOrder
from parquet_core.spark_rules.spark_schema import ComparedOtherwise, tells_nulls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.format.schema import Path

MAX_NESTING = 100
# Of a decimal that 64 bits do not hold.
_FIXED_BYTES = 16
_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_TYPE_CHANGES = "delta.typeChanges"
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATIONS = "__COLLATIONS"
_PADDED = re.compile(r"(?<!var)char", re.IGNORECASE)
# Some writers have bounds of booleans; Spark has none.
_WITHOUT_BOUNDS = frozenset({"boolean", "binary"})
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")

_BY_NAME: dict[str, SchemaElement] = {
    "string": SchemaElement("", Physical.BYTE_ARRAY, logical=(1, [])),
    "long": SchemaElement("", Physical.INT64),
    "bigint": SchemaElement("", Physical.INT64),
    "integer": SchemaElement("", Physical.INT32),
    "int": SchemaElement("", Physical.INT32),
    "short": SchemaElement("", Physical.INT32, converted=16),
    "byte": SchemaElement("", Physical.INT32, converted=15),
    "float": SchemaElement("", Physical.FLOAT),
    "double": SchemaElement("", Physical.DOUBLE),
    "boolean": SchemaElement("", Physical.BOOLEAN),
    "binary": SchemaElement("", Physical.BYTE_ARRAY),
    "date": SchemaElement("", Physical.INT32, logical=(6, [])),
    "timestamp": SchemaElement("", Physical.INT64, logical=(8, [True, (2, ())])),
    "timestamp_ntz": SchemaElement("", Physical.INT64, logical=(8, [False, (2, ())])),
}
# Changes of type whose old statistics are understood: from what to what.
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
    """A leaf of the table: what predicates name and what the log calls it.

    `leaf`: logical path and type; its `unsupported` says why predicates cannot prune on it. `physical`: the path in
    statistics. `partition`: the key in `partitionValues`, None for a column of the files. `field_id`: with column
    mapping. `from_float`: some files may hold it as float. `kind`: Delta's name of the type. `refused`: why the log
    says nothing of it.
    """

    leaf: LeafColumn
    physical: Path
    kind: str
    partition: str | None = None
    field_id: int | None = None
    from_float: bool = False
    refused: str = ""

    @property
    def bounded(self) -> bool:
        """Whether bounds in statistics say something of its values; null counts may where they do not."""
        return self.kind not in _WITHOUT_BOUNDS and not self.leaf.unsupported


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table, leaves in order; `mapping`: none, name or id; `text`: the JSON as it stands."""

    columns: tuple[TableColumn, ...]
    partition_columns: tuple[str, ...]
    mapping: str
    text: str

    @property
    def leaves(self) -> tuple[LeafColumn, ...]:
        """What predicates may name."""
        return tuple(column.leaf for column in self.columns)

    def by_path(self) -> dict[Path, TableColumn]:
        """Return the columns that the log may say something of the values of, by logical path."""
        return {column.leaf.path: column for column in self.nullable().values() if not column.leaf.unsupported}

    def nullable(self) -> dict[Path, TableColumn]:
        """Return the columns that the log may say of where they are null, by logical path."""
        return {column.leaf.path: column for column in self.columns if not column.refused and tells_nulls(column.leaf)}


def read_schema(schema_json: str, *, partition_columns: Sequence[str], mapping: str, location: str) -> TableSchema:
    """Read the schema of a `metaData` action.

    Raises MalformedLog for what is no schema, UnsupportedTable for a change of type that is not known; both name
    `location`.
    """
    if mapping not in {"none", "name", "id"}:
        raise UnsupportedTable(f"{location}: column mapping {mapping!r} is not understood; use a newer release")
    try:
        tree = msgspec.json.decode(schema_json)
        found = list(_leaves(tree, mapping=mapping != "none", location=location))
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError, UnicodeError):
        raise MalformedLog(f"{location}: the schema of the table is not a Spark schema; the log is damaged") from None
    columns = _partitioned(found, partition_columns, location)
    return TableSchema(tuple(_numbered(columns)), tuple(partition_columns), mapping, schema_json)


@dataclass(frozen=True, slots=True)
class _Place:
    logical: Path
    physical: Path
    reason: str = ""
    repeated: bool = False


def _leaves(tree: Mapping[str, Any], *, mapping: bool, location: str) -> Iterator[TableColumn]:
    if tree["type"] != "struct":
        raise TypeError
    stack = [(field, _Place((), ())) for field in reversed(tree["fields"])]
    while stack:
        described, above = stack.pop()
        metadata = described.get("metadata") or {}
        here = _below(above, described["name"], metadata, mapping=mapping)
        kind = described["type"]
        if len(here.logical) > MAX_NESTING:
            raise MalformedLog(f"{location}: the schema is nested deeper than {MAX_NESTING} levels; the log is damaged")
        _check_changes(metadata.get(_TYPE_CHANGES), here.logical, location)
        if isinstance(kind, dict) and kind["type"] == "struct":
            stack.extend((child, here) for child in reversed(kind["fields"]))
        else:
            yield _column(kind, metadata, here)


def _below(above: _Place, name: str, metadata: Mapping[str, Any], *, mapping: bool) -> _Place:
    physical = metadata.get(_PHYSICAL_NAME, name) if mapping else name
    if not isinstance(name, str) or not isinstance(physical, str):
        raise TypeError
    reason = above.reason
    # Of a struct it stands at the top: which of its fields are meant is not looked at.
    if _PADDED.search(str(metadata.get(_CHAR, ""))):
        reason = ComparedOtherwise.CHAR
    if _COLLATIONS in metadata:
        reason = ComparedOtherwise.COLLATION
    return _Place((*above.logical, name), (*above.physical, physical), reason, above.repeated)


def _column(kind: Any, metadata: Mapping[str, Any], here: _Place) -> TableColumn:
    name = kind if isinstance(kind, str) else kind["type"]
    if not isinstance(name, str):
        raise TypeError
    element = parquet_element(name)
    refused = ""
    physical, type_, order, unsupported = Physical.BYTE_ARRAY, None, SortOrder.UNDEFINED, ""
    repeated = not isinstance(kind, str) and name in {"array", "map"}
    if element is None:
        refused = "lists and maps are not looked into" if repeated else f"type {name} is not pruned on"
    else:
        assert element.physical is not None
        physical = Physical(element.physical)
        type_, order = arrow_type(element, physical), sort_order(arrow_type(element, physical), physical)
        unsupported = reason_against_pruning(element, physical)
    field_id = metadata.get(_ID)
    return TableColumn(
        leaf=LeafColumn(
            path=here.logical,
            index=-1,
            physical=physical,
            type=type_,
            type_length=_FIXED_BYTES if physical is Physical.FIXED_LEN_BYTE_ARRAY else 0,
            order=order,
            max_definition_level=len(here.logical),
            max_repetition_level=int(repeated),
            unsupported=refused or here.reason or unsupported,
        ),
        physical=here.physical,
        kind=name,
        field_id=field_id if isinstance(field_id, int) else None,
        from_float=any(change.get("fromType") == "float" for change in metadata.get(_TYPE_CHANGES) or ()),
        refused=refused,
    )


def parquet_element(name: str) -> SchemaElement | None:
    """Return how Parquet would describe a type, None for what has no order or is not known."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    decimal = _DECIMAL.fullmatch(name)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal else (10, 0)
    if not decimal and name != "decimal":
        return None
    # As Spark stores them.
    stored = Physical.INT32 if precision <= 9 else Physical.INT64 if precision <= 18 else Physical.FIXED_LEN_BYTE_ARRAY
    return SchemaElement("", stored, type_length=_FIXED_BYTES, logical=(5, [scale, precision]))


def _check_changes(changes: Any, column: Path, location: str) -> None:
    for change in changes or ():
        old, new = str(change.get("fromType")), str(change.get("toType"))
        known = (old, new) in _WIDENED or (new.startswith("decimal") and _grows(old, new))
        if not known:
            raise UnsupportedTable(
                f"{location}: column {'.'.join(column)} was changed from {old} to {new}, which is not understood; "
                "use a newer release"
            )


def _grows(old: str, new: str) -> bool:
    """Tell whether a decimal type holds all that another type holds."""
    before, after = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    if before is None or after is None:
        return old in _WIDENED_TO_DECIMAL
    whole = int(after[1]) - int(after[2]) >= int(before[1]) - int(before[2])
    return whole and int(after[2]) >= int(before[2])


def _partitioned(columns: Sequence[TableColumn], names: Sequence[str], location: str) -> list[TableColumn]:
    tops = {column.leaf.path[0] for column in columns}
    unknown = [name for name in names if name not in tops]
    if unknown:
        raise MalformedLog(
            f"{location}: the table is partitioned by {unknown[0]!r}, which it lacks; the log is damaged"
        )
    return [
        replace(column, partition=column.physical[0])
        if column.leaf.path[0] in set(names) and len(column.leaf.path) == 1
        else column
        for column in columns
    ]


def _numbered(columns: Sequence[TableColumn]) -> Iterator[TableColumn]:
    counts = Counter(column.leaf.path for column in columns)
    for number, column in enumerate(columns):
        twice = "" if counts[column.leaf.path] == 1 else "the table has this column twice"
        leaf = replace(column.leaf, index=number, unsupported=twice or column.leaf.unsupported)
        yield replace(column, leaf=leaf, refused=twice or column.refused)
