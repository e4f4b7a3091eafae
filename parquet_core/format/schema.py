"""Leaf columns of a schema, with their physical and logical types."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.leaf_type import (
    Physical,
    SortOrder,
    arrow_type,
    is_always_null,
    reason_against_pruning,
    sort_order,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa


__all__ = ["LeafColumn", "Path", "Physical", "Repetition", "SchemaElement", "SortOrder", "in_any_case", "leaf_columns"]

# Field names from the root of a schema to a column.
Path: TypeAlias = tuple[str, ...]
MAX_NESTING = 100
_MOST_BYTES = (1 << 31) - 1  # limit of a fixed length, which has 32 bits


@lru_cache(maxsize=1 << 14)
def in_any_case(name: str) -> str:
    """Fold case at least as far as any reader does.

    Names that some reader treats as equal have the same result; distinct names may share a result too.
    """
    return name.upper().casefold()


class Repetition(IntEnum):
    """Repetition of a field, numbered as in parquet.thrift."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


@dataclass(frozen=True, slots=True)
class SchemaElement:
    """A node of the flattened schema tree, as written.

    Fields that the writer left out are None. `logical`: the field id of the set LogicalType member, and its slots.
    """

    name: str
    physical: int | None = None
    type_length: int | None = None
    repetition: int | None = None
    children: int | None = None
    converted: int | None = None
    scale: int | None = None
    precision: int | None = None
    field_id: int | None = None
    logical: tuple[int, list[Any]] | None = None


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A leaf of the schema tree.

    `index`: position among the leaves, and among the column chunks of every row group.
    `type`: the Arrow type of the values, None if unknown.
    `order`: sort order of its bounds.
    `unsupported`: why predicates on this column do not prune, "" if they do; its bounds may be known nevertheless.
    `type_length`: in bytes, as written; some writers give one for other types than FIXED_LEN_BYTE_ARRAY, and Spark
    pushes down no filter on such columns.
    `may_be_filled`: True if Spark may read other values than null from a file that lacks the column.
    `field_id`: as written, None if missing.
    `always_null`: True if the writer declared the null type, whose physical type is meaningless.
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
    may_be_filled: bool = False
    field_id: int | None = None
    always_null: bool = False

    @property
    def byte_width(self) -> int:
        """Width of FIXED_LEN_BYTE_ARRAY values in bytes, 0 for other types."""
        return self.type_length if self.physical is Physical.FIXED_LEN_BYTE_ARRAY else 0

    @property
    def name(self) -> str:
        """Dotted path, for messages only."""
        return ".".join(self.path)


def leaf_columns(elements: Iterable[SchemaElement], *, place: str) -> tuple[LeafColumn, ...]:
    """Return the leaves of a schema tree.

    `elements`: depth first, with the root first. Raises MalformedFile for an invalid tree, and UnsupportedFeature for
    unsupported types and for two leaves with the same path. Errors name `place`.
    """
    walk = iter(elements)
    root = next(walk, None)
    if root is None:
        raise MalformedFile(f"{place}: the footer has an empty schema; the file is damaged")
    leaves: list[LeafColumn] = []
    cached: dict[object, _Values] = {}
    groups = [_Group((), _child_count(root, place))]
    for element in walk:
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
            leaves.append(_leaf(element, group, len(leaves), cached, place))
    if any(group.remaining for group in groups):
        raise MalformedFile(f"{place}: the schema tree ends early; the footer is damaged")
    _refuse_same_paths(leaves, place)
    return _without_name_clashes(leaves)


@dataclass(slots=True)
class _Group:
    """An open group of the tree walk.

    `remaining`: number of children still to read.
    """

    path: Path
    remaining: int
    definition: int = 0
    repetition: int = 0
    annotated: bool = False

    def child(self, element: SchemaElement, place: str) -> _Group:
        return _Group(
            path=(*self.path, element.name),
            remaining=_child_count(element, place),
            definition=self.definition + (element.repetition in {Repetition.OPTIONAL, Repetition.REPEATED}),
            repetition=self.repetition + (element.repetition == Repetition.REPEATED),
            annotated=self.annotated or (element.physical is None and _is_annotated(element)),
        )


def _refuse_same_paths(leaves: list[LeafColumn], place: str) -> None:
    # Columns are identified by path: if two columns had the same path, one would get the bounds of the other.
    seen: set[Path] = set()
    for leaf in leaves:
        if leaf.path in seen:
            raise UnsupportedFeature(f"{place}: two columns are named {leaf.name!r}; Spark reads no such file either")
        seen.add(leaf.path)


def _is_annotated(element: SchemaElement) -> bool:
    return element.logical is not None or element.converted is not None


def _without_name_clashes(leaves: list[LeafColumn]) -> tuple[LeafColumn, ...]:
    # parquet-java keys bloom filters by dotted path: column `a.b` and field b of struct a may get each other's filter.
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


class _Values(NamedTuple):
    """Properties of a leaf's values that depend only on its type."""

    type: pa.DataType | None
    order: SortOrder
    reason: str


def _values_of(element: SchemaElement, physical: Physical, cached: dict[object, _Values]) -> _Values:
    # Cached by type, since a schema with thousands of columns has few types.
    logical = None if element.logical is None else repr(element.logical)
    key = (physical, element.type_length, element.converted, element.scale, element.precision, logical)
    if key not in cached:
        values = arrow_type(element, physical)
        cached[key] = _Values(values, sort_order(values, physical), reason_against_pruning(element, physical))
    return cached[key]


def _leaf(element: SchemaElement, group: _Group, index: int, cached: dict[object, _Values], place: str) -> LeafColumn:
    if element.physical is not None and element.physical > Physical.FIXED_LEN_BYTE_ARRAY:
        reason = f"column {element.name!r} has physical type {element.physical}, which is not supported by this version"
        raise UnsupportedFeature(f"{place}: {reason}; write it again as another type")
    if element.physical is None or element.physical < 0:
        raise MalformedFile(f"{place}: column {element.name!r} has unknown physical type {element.physical}")
    physical = Physical(element.physical)
    length = element.type_length
    if physical is Physical.FIXED_LEN_BYTE_ARRAY and (length is None or not 0 <= length <= _MOST_BYTES):
        raise MalformedFile(f"{place}: column {element.name!r} has fixed length {length}; the footer is damaged")
    values, order, reason = _values_of(element, physical, cached)
    if group.repetition:
        reason = "lists and maps are not supported"
    elif group.annotated:
        reason = "fields of a group that queries do not read as a struct are not supported"
    return LeafColumn(
        path=group.path,
        index=index,
        physical=physical,
        type=values,
        order=order,
        type_length=0 if length is None else length,
        max_definition_level=group.definition,
        max_repetition_level=group.repetition,
        unsupported=reason,
        field_id=element.field_id,
        always_null=is_always_null(element),
    )
