"""The leaf columns of a schema: how values are stored and what they are to a query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.predicate import Path

MAX_NESTING = 100


class Physical(IntEnum):
    """Physical types, numbered as in parquet.thrift."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class SortOrder(StrEnum):
    """How bounds of a column compare."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    UNDEFINED = "undefined"


class Repetition(IntEnum):
    """How often a field occurs, numbered as in parquet.thrift."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


@dataclass(frozen=True, slots=True)
class SchemaElement:
    """A node of the flattened schema tree as written; None where the writer left a field out.

    `logical` is the member of the union LogicalType that is set, with its slots.
    """

    name: str
    physical: int | None = None
    type_length: int | None = None
    repetition: int | None = None
    children: int | None = None
    converted: int | None = None
    scale: int | None = None
    precision: int | None = None
    logical: tuple[int, list[Any]] | None = None


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A leaf of the schema tree.

    `index`: position among the leaves, the same as in every row group. `type`: the Arrow type of the
    values, None when it is not understood. `unsupported`: why predicates on this column cannot
    prune, empty when they can. `type_length` is in bytes, for FIXED_LEN_BYTE_ARRAY alone.
    """

    path: Path
    index: int
    physical: Physical
    type: pa.DataType | None
    order: SortOrder
    type_length: int = 0
    max_definition_level: int = 0
    max_repetition_level: int = 0
    unsupported: str = ""

    @property
    def name(self) -> str:
        """The path as text, for messages only."""
        return ".".join(self.path)


# Members of the union LogicalType and values of the enum ConvertedType.
_STRING, _DECIMAL, _DATE, _TIME, _TIMESTAMP, _INTEGER, _UNKNOWN = 1, 5, 6, 7, 8, 10, 11
_CONVERTED_UTF8, _CONVERTED_DECIMAL, _CONVERTED_DATE = 0, 5, 6
_CONVERTED_INTEGERS = {
    11: pa.uint8(),
    12: pa.uint16(),
    13: pa.uint32(),
    14: pa.uint64(),
    15: pa.int8(),
    16: pa.int16(),
    17: pa.int32(),
    18: pa.int64(),
}
_INTEGERS = {
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
    (8, False): pa.uint8(),
    (16, False): pa.uint16(),
    (32, False): pa.uint32(),
    (64, False): pa.uint64(),
}
_INTEGER_BYTES = {Physical.INT32: 4, Physical.INT64: 8}
_INTEGER_BITS = {Physical.INT32: (8, 16, 32), Physical.INT64: (64,)}


def leaf_columns(elements: Sequence[SchemaElement], *, place: str) -> tuple[LeafColumn, ...]:
    """Flatten the schema tree (depth first, root first) into its leaves; MalformedFile names `place`."""
    if not elements:
        raise MalformedFile(f"{place}: the footer has an empty schema; the file is damaged")
    leaves: list[LeafColumn] = []
    groups = [_Group((), _child_count(elements[0], place))]
    for element in elements[1:]:
        while groups and groups[-1].remaining == 0:
            groups.pop()
        if not groups or len(groups) > MAX_NESTING:
            raise MalformedFile(f"{place}: the schema tree does not add up at {element.name!r}; the footer is damaged")
        if element.repetition is None or not 0 <= element.repetition <= Repetition.REPEATED:
            raise MalformedFile(f"{place}: column {element.name!r} has no known repetition; the footer is damaged")
        groups[-1].remaining -= 1
        group = groups[-1].child(element, place)
        if element.physical is None:
            groups.append(group)
        else:
            leaves.append(_leaf(element, group, len(leaves), place))
    if any(group.remaining for group in groups):
        raise MalformedFile(f"{place}: the schema tree ends early; the footer is damaged")
    return _without_name_clashes(leaves)


@dataclass(slots=True)
class _Group:
    """An open group of the tree walk; `remaining`: how many children are still to come."""

    path: Path
    remaining: int
    definition: int = 0
    repetition: int = 0

    def child(self, element: SchemaElement, place: str) -> _Group:
        return _Group(
            path=(*self.path, element.name),
            remaining=_child_count(element, place),
            definition=self.definition + (element.repetition in {Repetition.OPTIONAL, Repetition.REPEATED}),
            repetition=self.repetition + (element.repetition == Repetition.REPEATED),
        )


def _without_name_clashes(leaves: list[LeafColumn]) -> tuple[LeafColumn, ...]:
    # parquet-java keys bloom filters by the dotted path: of `a.b` and a struct's a -> b, one gets the other's.
    if not any("." in part for leaf in leaves for part in leaf.path):
        return tuple(leaves)
    counts = Counter(leaf.name for leaf in leaves)
    reason = "another column has the same dotted path, and writers mix such columns up"
    return tuple(leaf if counts[leaf.name] == 1 else replace(leaf, unsupported=reason) for leaf in leaves)


def _child_count(element: SchemaElement, place: str) -> int:
    count = element.children
    if count is not None and count < 0:
        raise MalformedFile(f"{place}: schema element {element.name!r} has {count} children; the footer is damaged")
    return 0 if count is None else count


def _leaf(element: SchemaElement, group: _Group, index: int, place: str) -> LeafColumn:
    name = repr(element.name)
    if element.physical is None or not 0 <= element.physical <= Physical.FIXED_LEN_BYTE_ARRAY:
        raise MalformedFile(f"{place}: column {name} has unknown physical type {element.physical}")
    physical = Physical(element.physical)
    length = element.type_length
    if physical is Physical.FIXED_LEN_BYTE_ARRAY and (length is None or length < 0):
        raise MalformedFile(f"{place}: column {name} has fixed length {length}; the footer is damaged")
    arrow_type, reason = _arrow_type(element, physical)
    if group.repetition:
        reason = "a repeated column is not pruned on"
    elif len(group.path) > 1:
        reason = "a field inside a struct is not pruned on yet"
    return LeafColumn(
        path=group.path,
        index=index,
        physical=physical,
        type=arrow_type,
        order=_sort_order(arrow_type),
        type_length=0 if length is None else length,
        max_definition_level=group.definition,
        max_repetition_level=group.repetition,
        unsupported=reason,
    )


def _sort_order(arrow_type: pa.DataType | None) -> SortOrder:
    if arrow_type is None:
        return SortOrder.UNDEFINED
    unsigned = pa.types.is_unsigned_integer(arrow_type) or pa.types.is_string(arrow_type)
    return SortOrder.UNSIGNED if unsigned else SortOrder.SIGNED


def _arrow_type(element: SchemaElement, physical: Physical) -> tuple[pa.DataType | None, str]:
    """Return the type, or None and why predicates on such a column cannot prune."""
    if element.logical is not None:
        return _from_logical(element.logical, physical, element)
    if element.converted is not None:
        return _from_converted(element.converted, physical, element)
    match physical:
        case Physical.INT32:
            return pa.int32(), ""
        case Physical.INT64:
            return pa.int64(), ""
        case _:
            return None, f"type {physical.name} is not pruned on yet"


def _from_logical(
    logical: tuple[int, list[Any]], physical: Physical, element: SchemaElement
) -> tuple[pa.DataType | None, str]:
    member, slots = logical
    if member == _STRING and physical is Physical.BYTE_ARRAY:
        return pa.string(), ""
    if member == _DATE and physical is Physical.INT32:
        return pa.date32(), ""
    if member == _INTEGER and len(slots) == 2 and slots[0] in _INTEGER_BITS.get(physical, ()):
        return _INTEGERS[slots[0], slots[1] is True], ""
    if member == _DECIMAL and len(slots) == 2:
        return _decimal(slots[1], slots[0], physical, element)
    names = {_TIME: "TIME", _TIMESTAMP: "TIMESTAMP"}
    return None, f"type {names.get(member, f'of logical type {member}')} is not pruned on yet"


def _from_converted(converted: int, physical: Physical, element: SchemaElement) -> tuple[pa.DataType | None, str]:
    if converted == _CONVERTED_UTF8 and physical is Physical.BYTE_ARRAY:
        return pa.string(), ""
    if converted == _CONVERTED_DATE and physical is Physical.INT32:
        return pa.date32(), ""
    integer = _CONVERTED_INTEGERS.get(converted)
    if integer is not None and integer.bit_width in _INTEGER_BITS.get(physical, ()):
        return integer, ""
    if converted == _CONVERTED_DECIMAL:
        return _decimal(element.precision, 0 if element.scale is None else element.scale, physical, element)
    return None, f"converted type {converted} is not pruned on yet"


def _decimal(
    precision: int | None, scale: int | None, physical: Physical, element: SchemaElement
) -> tuple[pa.DataType | None, str]:
    if precision is None or scale is None or not 1 <= precision <= 38 or not 0 <= scale <= precision:
        return None, f"decimal({precision},{scale}) is outside of what Spark knows"
    if physical is Physical.BYTE_ARRAY:
        # Its encoding is not unique, and some writers cut its bounds like strings.
        return None, "a decimal stored as BYTE_ARRAY has no bounds that may be trusted"
    length = element.type_length if physical is Physical.FIXED_LEN_BYTE_ARRAY else _INTEGER_BYTES.get(physical)
    if length is None or not 1 <= length <= 16:
        return None, f"a decimal stored as {physical.name} of {length} bytes is not pruned on"
    if 10**precision > 1 << (8 * length - 1):
        return None, f"{length} bytes cannot hold decimal({precision},{scale})"
    return pa.decimal128(precision, scale), ""
