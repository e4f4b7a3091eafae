"""A predicate as Spark's optimizer leaves it for its data sources: negations at the leaves, constants folded.

No SQL here: `sql/as_spark_filters.py` makes such trees, `planner/engines/` asks what Spark skips for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_core.predicate import Path


class Rel(StrEnum):
    """What is asked of a column."""

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


@dataclass(frozen=True, slots=True)
class Filter:
    """`column rel values`; `with_null`: the list of IN holds a NULL.

    `strict`: it is NULL for null, so that Spark adds `column IS NOT NULL` where it stands in the topmost AND.
    """

    column: Path
    rel: Rel
    values: tuple[pa.Scalar, ...] = ()
    with_null: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """What Spark asks of no data source; it is NULL where one of the columns `not_null` is null."""

    not_null: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """TRUE, or what selects as little: FALSE and NULL are the same to a filter."""

    holds: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of its children."""

    children: tuple[SparkFilter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any of its children."""

    children: tuple[SparkFilter, ...]


SparkFilter: TypeAlias = Filter | Opaque | Truth | AllOf | AnyOf


def opposite(leaf: Filter) -> Filter | Truth:
    """Return the negation of a leaf.

    >>> opposite(Filter(("a",), Rel.LT)).rel
    <Rel.GE: '>='>
    """
    # Whatever is not in the list leaves `x <> NULL`, which is never true.
    return Truth(holds=False) if leaf.with_null else replace(leaf, rel=OPPOSITE[leaf.rel])


def all_of(children: list[SparkFilter]) -> SparkFilter:
    """Join children by AND, nested ones flattened and constants left out.

    >>> all_of([Truth(True), Opaque()])
    Opaque(not_null=())
    """
    flat = _flattened(children, AllOf)
    if any(child == Truth(holds=False) for child in flat):
        return Truth(holds=False)
    left = _distinct([child for child in flat if not isinstance(child, Truth)])
    return _joined(left, AllOf) if left else Truth(holds=True)


def any_of(children: list[SparkFilter]) -> SparkFilter:
    """Join children by OR likewise; what all of them demand is demanded once, in front."""
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
    """Return what the connectives join, from left to right."""
    match tree:
        case AllOf(children) | AnyOf(children):
            return [part for child in children for part in parts_of(child)]
        case _:
            return [tree]


def _flattened(children: list[SparkFilter], connective: type[AllOf | AnyOf]) -> list[SparkFilter]:
    found: list[SparkFilter] = []
    for child in children:
        found += child.children if isinstance(child, connective) else (child,)
    return found


def _distinct(children: list[SparkFilter]) -> list[SparkFilter]:
    found: list[SparkFilter] = []
    seen: set[SparkFilter] = set()
    for child in children:
        if isinstance(child, Opaque) or child not in seen:
            found.append(child)
        seen.add(child)
    return found


def _joined(children: list[SparkFilter], connective: type[AllOf | AnyOf]) -> SparkFilter:
    return children[0] if len(children) == 1 else connective(tuple(children))
