"""Predicates as Spark's optimizer passes them to data sources, with negations at the leaves and constants folded.

This module has no SQL: `as_spark_filters.py` builds such trees, `predicted_scan.py` predicts what Spark skips by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, overload

from parquet_core.arrow_arrays import array_of_scalars

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_core.format.schema import Path


class Rel(StrEnum):
    """Relation of a column to the values of a filter."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "IN"
    NOT_IN = "NOT IN"
    IS_NULL = "IS NULL"
    NOT_NULL = "IS NOT NULL"
    PREFIX = "starts with"
    NOT_PREFIX = "does not start with"
    SUFFIX = "ends with"
    NOT_SUFFIX = "does not end with"
    CONTAINS = "contains"
    NOT_CONTAINS = "does not contain"


OPPOSITE = {
    one: other
    for pair in (
        (Rel.EQ, Rel.NE),
        (Rel.LT, Rel.GE),
        (Rel.LE, Rel.GT),
        (Rel.IN, Rel.NOT_IN),
        (Rel.IS_NULL, Rel.NOT_NULL),
        (Rel.PREFIX, Rel.NOT_PREFIX),
        (Rel.SUFFIX, Rel.NOT_SUFFIX),
        (Rel.CONTAINS, Rel.NOT_CONTAINS),
    )
    for one, other in (pair, pair[::-1])
}


class Values(Sequence["pa.Scalar"]):
    """The values of an IN list, at least one, as an Arrow array, so that long lists need no work per value.

    >>> import pyarrow as pa
    >>> Values(pa.array([7, 8])) == (pa.scalar(7), pa.scalar(8))
    True
    """

    __slots__ = ("array",)

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> pa.Scalar: ...

    @overload
    def __getitem__(self, index: slice) -> Values: ...

    def __getitem__(self, index: int | slice) -> pa.Scalar | Values:
        return Values(self.array[index]) if isinstance(index, slice) else self.array[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and bool(self.array.equals(array_of_values(other)))

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))

    def __repr__(self) -> str:
        return repr(tuple(self))


def array_of_values(values: Sequence[pa.Scalar]) -> pa.Array:
    """Return the values of a filter, at least one, as an Arrow array."""
    return values.array if isinstance(values, Values) else array_of_scalars(values)


@dataclass(frozen=True, slots=True)
class Filter:
    """A relation of one column to values: `column rel values`.

    `with_null`: True if the IN list contains NULL.
    `strict`: True if the filter is NULL for null; Spark then adds `column IS NOT NULL` in the topmost AND.
    """

    column: Path
    rel: Rel
    values: Sequence[pa.Scalar] = ()
    with_null: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that Spark does not push down.

    `not_null`: columns; the condition is NULL if one of them is null.
    """

    not_null: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant filter: TRUE (`holds`), or FALSE or NULL, which both select no row."""

    holds: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND of its children."""

    children: tuple[SparkFilter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR of its children."""

    children: tuple[SparkFilter, ...]


SparkFilter: TypeAlias = Filter | Opaque | Truth | AllOf | AnyOf


def opposite(leaf: Filter) -> Filter | Truth:
    """Negate a leaf.

    >>> opposite(Filter(("a",), Rel.LT)).rel
    <Rel.GE: '>='>
    """
    # The negated list includes `x <> NULL`, which is never true.
    return Truth(holds=False) if leaf.with_null else replace(leaf, rel=OPPOSITE[leaf.rel])


def all_of(children: list[SparkFilter]) -> SparkFilter:
    """Join children by AND; nested ANDs are flattened and constants dropped.

    >>> all_of([Truth(True), Opaque()])
    Opaque(not_null=())
    """
    flat = _flattened(children, AllOf)
    if any(child == Truth(holds=False) for child in flat):
        return Truth(holds=False)
    left = _distinct([child for child in flat if not isinstance(child, Truth)])
    return _joined(left, AllOf) if left else Truth(holds=True)


def any_of(children: list[SparkFilter]) -> SparkFilter:
    """Join children by OR; conjuncts common to all children are moved in front."""
    flat = _flattened(children, AnyOf)
    if any(child == Truth(holds=True) for child in flat):
        return Truth(holds=True)
    left = _distinct([child for child in flat if not isinstance(child, Truth)])
    if not left:
        return Truth(holds=False)
    arms = [conjuncts(child) for child in left]
    shared = [part for part in arms[0] if not isinstance(part, Opaque) and all(part in arm for arm in arms[1:])]
    if len(arms) == 1 or not shared:
        return _joined(left, AnyOf)
    rests = [all_of([part for part in arm if part not in shared]) for arm in arms]
    return all_of([*shared, any_of(rests)])


def conjuncts(tree: SparkFilter) -> tuple[SparkFilter, ...]:
    """Return the operands of the topmost AND, or the tree itself."""
    return tree.children if isinstance(tree, AllOf) else (tree,)


def leaves_of(tree: SparkFilter) -> list[Filter]:
    """Return the conditions on columns, from left to right."""
    return [part for part in parts_of(tree) if isinstance(part, Filter)]


def parts_of(tree: SparkFilter) -> list[Filter | Opaque | Truth]:
    """Return the leaves of the connectives, from left to right."""
    match tree:
        case AllOf(children) | AnyOf(children):
            return [part for child in children for part in parts_of(child)]
        case _:
            return [tree]


def _flattened(children: list[SparkFilter], connective: type[AllOf | AnyOf]) -> list[SparkFilter]:
    flat: list[SparkFilter] = []
    for child in children:
        flat += child.children if isinstance(child, connective) else (child,)
    return flat


def _distinct(children: list[SparkFilter]) -> list[SparkFilter]:
    unique: list[SparkFilter] = []
    seen: set[SparkFilter] = set()
    for child in children:
        if isinstance(child, Opaque) or child not in seen:
            unique.append(child)
        seen.add(child)
    return unique


def _joined(children: list[SparkFilter], connective: type[AllOf | AnyOf]) -> SparkFilter:
    return children[0] if len(children) == 1 else connective(tuple(children))
