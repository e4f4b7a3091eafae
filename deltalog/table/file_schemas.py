"""Check the schemas of added files against the table's; files that Spark cannot read are refused.

Spark checks files only when it reads them. The read then fails for the whole table, or returns null for a column that
has another name in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from deltalog.errors import RefusedCommit
from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME, ArrayType, MapType, StructType, type_name
from parquet_core.format.leaf_type import Physical, arrow_type, sort_order
from parquet_core.format.schema import LeafColumn, Repetition, SchemaElement, in_any_case
from parquet_core.spark_rules.stored_types import parquet_element
from parquet_core.spark_rules.type_promotion import is_read_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltalog.table.schema import TableSchema
    from deltalog.table.types import DataType, StructField
    from parquet_core.dataset.metadata_index import MetadataIndex

# Members of the LogicalType union, and the ConvertedType values that match them. Old writers annotate maps with 2,
# which is meant for the repeated group of a map.
_MAP, _LIST = 2, 3
_CONVERTED = {1: _MAP, 2: _MAP, 3: _LIST}
_KEY_AND_VALUE = 2
# Old writers give this name to the repeated group of a list if the group is the list's element.
_IS_ELEMENT = "array"


class _Node(NamedTuple):
    """An element of a file's schema with its children."""

    element: SchemaElement
    inside: list[_Node]

    @property
    def name(self) -> str:
        return self.element.name

    @property
    def repeated(self) -> bool:
        return self.element.repetition == Repetition.REPEATED

    @property
    def annotation(self) -> int | None:
        """Annotation of a group; None for structs and plain values."""
        if self.element.logical is not None:
            return self.element.logical[0]
        return None if self.element.converted is None else _CONVERTED.get(self.element.converted, -1)

    def is_group(self, annotation: int | None) -> bool:
        """True if this is an unrepeated group with the annotation."""
        return self.element.physical is None and not self.repeated and self.annotation == annotation


class _Complaint(NamedTuple):
    column: tuple[str, ...]
    what: str


def check_file_schemas(index: MetadataIndex, schema: TableSchema) -> None:
    """Raise RefusedCommit, naming file and column, if Spark would misread a file."""
    fields = [field for field in schema.tree.fields if field.name not in schema.partition_columns]
    for footer_kind in np.unique(index.groups.provenance_ids).tolist():
        complaint = next(_File(schema.mapping).complaints(index.groups.provenances[footer_kind].elements, fields), None)
        if complaint is not None:
            path = index.groups.files[int(np.argmax(index.groups.provenance_ids == footer_kind))].path
            raise RefusedCommit(f"{path}: column {'.'.join(complaint.column)} {complaint.what}")


class _File(NamedTuple):
    """Checks of one file schema; `mapping`: the table's column mapping (none, name or id)."""

    mapping: str

    def complaints(self, elements: Sequence[SchemaElement], fields: Sequence[StructField]) -> Iterator[_Complaint]:
        """Yield the columns that Spark cannot read, with reasons."""
        root = _tree(iter(elements))
        if self.mapping == "id" and fields and all(element.field_id is None for element in elements):
            reason = (
                "has no field id in the file, unlike the other columns; write the field ids of the table's column "
                "mapping"
            )
            yield _Complaint((fields[0].name,), reason)
        yield from self._check_fields(root, fields, ())

    def _check_fields(
        self, group: _Node, fields: Sequence[StructField], above: tuple[str, ...]
    ) -> Iterator[_Complaint]:
        by_name = {node.name: node for node in group.inside}
        spelled: dict[str, list[str]] = {}
        for node in group.inside:
            spelled.setdefault(in_any_case(node.name), []).append(node.name)
        by_field_id = {node.element.field_id: node.name for node in group.inside if node.element.field_id is not None}
        stored = {self._stored(field) for field in fields}
        for field in fields:
            column, name = (*above, field.name), self._stored(field)
            other = next((other for other in spelled.get(in_any_case(name), ()) if other != name), None)
            if other is None and name not in by_name:
                other = self._by_another_name(field, by_name.keys() - stored, by_field_id)
            if other is not None:
                yield _Complaint(column, f"is named {other!r} in the file; name it {name!r}, as the log does")
            elif name in by_name:
                yield from self._check_column(by_name[name], field, column)

    def _stored(self, field: StructField) -> str:
        return field.name if self.mapping == "none" else str(field.metadata.get(PHYSICAL_NAME, field.name))

    def _by_another_name(self, field: StructField, names: set[str], by_field_id: dict[int, str]) -> str | None:
        if self.mapping == "id" and (name := by_field_id.get(_number(field))) is not None:
            return name
        return field.name if self.mapping != "none" and field.name in names else None

    def _check_column(self, node: _Node, field: StructField, column: tuple[str, ...]) -> Iterator[_Complaint]:
        field_id = _number(field)
        if self.mapping == "id" and node.element.field_id != field_id:
            reason = f"has the field id {node.element.field_id} in the file; write the field id {field_id} of the table"
            yield _Complaint(column, reason)
        else:
            yield from self._check_value(node, field.type, column)

    def _check_value(self, node: _Node, type_: DataType, column: tuple[str, ...]) -> Iterator[_Complaint]:
        match type_:
            case StructType(fields) if node.is_group(None):
                yield from self._check_fields(node, fields, column)
            case ArrayType(inner) if node.is_group(_LIST) and (element := _element_of(node)) is not None:
                yield from self._check_value(element, inner, (*column, "element"))
            case MapType(key, value) if node.is_group(_MAP) and (pair := _pair_of(node)) is not None:
                yield from self._check_value(pair[0], key, (*column, "key"))
                yield from self._check_value(pair[1], value, (*column, "value"))
            case _ if not isinstance(type_, str) or not _is_read(node, type_):
                reason = (
                    f"is {_shown(node)} in the file, which Spark does not read as {type_name(type_)}; cast it before "
                    "it is written"
                )
                yield _Complaint(column, reason)


def _tree(elements: Iterator[SchemaElement]) -> _Node:
    element = next(elements)
    return _Node(element, [_tree(elements) for _ in range(element.children or 0)])


def _number(field: StructField) -> int:
    return int(field.metadata.get(COLUMN_ID, -1))


def _element_of(node: _Node) -> _Node | None:
    """Return the element of a three-level list, as current writers make; None for other lists."""
    if len(node.inside) != 1 or not node.inside[0].repeated or len(node.inside[0].inside) != 1:
        return None
    middle = node.inside[0]
    two_levels = middle.name in {_IS_ELEMENT, f"{node.name}_tuple"}
    return None if two_levels or middle.inside[0].repeated else middle.inside[0]


def _pair_of(node: _Node) -> list[_Node] | None:
    pairs = node.inside[0].inside if len(node.inside) == 1 and node.inside[0].repeated else []
    return pairs if len(pairs) == _KEY_AND_VALUE else None


def _is_read(node: _Node, delta_type: str) -> bool:
    """True if Spark can read a file's plain value as the type of the table's column."""
    if delta_type == "variant":
        return node.element.physical is None and not node.repeated
    wanted = parquet_element(delta_type)
    if wanted is None:
        return True  # `void` and other types that no reader reads from files
    if node.repeated or node.element.physical is None:
        return False
    leaf, column = _leaf(node.element), _leaf(wanted)
    if leaf.type is None or column.type is None:
        return False
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(leaf.type):
        return (leaf.type.tz is None) == (column.type.tz is None) and (
            leaf.type.unit != "ns" or leaf.physical is Physical.INT96
        )
    return bool(leaf.type == column.type) or is_read_as(leaf, column)


def _leaf(element: SchemaElement) -> LeafColumn:
    assert element.physical is not None
    physical = Physical(element.physical)
    stored = arrow_type(element, physical)
    return LeafColumn((), 0, physical, stored, sort_order(stored, physical))


def _shown(node: _Node) -> str:
    if node.element.physical is None:
        return {_MAP: "a map", _LIST: "a list", None: "a struct"}.get(node.annotation, "a group")
    stored_type = _leaf(node.element).type
    stored = Physical(node.element.physical).name
    shown = stored if stored_type is None else f"{stored_type} ({stored})"
    return f"repeated {shown}" if node.repeated else shown
