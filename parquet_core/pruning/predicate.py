"""Predicate tree, independent of SQL, that every kind of evidence evaluates.

Columns are leaf paths (tuples of names, never dotted strings). Literals are non-null Arrow scalars of exactly the
type of the column, so evidence never converts them. Lowering replaces a literal that the column cannot hold with an
equivalent comparison (`int_column > 2.5` becomes `> 2`). NaN equals itself and is larger than every other value; the
two zeros are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray, Outcomes


class Op(StrEnum):
    """A comparison operator; the result is NULL if either operand is NULL."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant condition: the same set of outcomes for every row."""

    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class Compare:
    """`column op value`."""

    column: Path
    op: Op
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class CompareColumns:
    """`left op right`; NULL if either column is null.

    Both columns have the same type, or both are numeric. Numeric columns of different types are compared as doubles if
    one is floating-point, else exactly.
    """

    left: Path
    op: Op
    right: Path


@dataclass(frozen=True, slots=True)
class Interval:
    """`low <= column <= high`, both ends included."""

    column: Path
    low: pa.Scalar
    high: pa.Scalar


@dataclass(frozen=True, slots=True)
class In:
    """`column IN values`; at least one value, all distinct and non-null."""

    column: Path
    values: pa.Array


@dataclass(frozen=True, slots=True)
class InTuples:
    """`(columns) IN tuples`; NULL if a column is null.

    `columns`: at least two, all distinct.
    `values`: one array per column, of the type of the column and without nulls. The i-th values of all arrays are a
    tuple. At least one tuple; all are distinct.
    """

    columns: tuple[Path, ...]
    values: tuple[pa.Array, ...]

    def __post_init__(self) -> None:
        if len(set(self.columns)) < 2 or len(set(self.columns)) != len(self.values):
            raise ValueError(f"{len(self.values)} arrays of values for the columns {self.columns}")
        if len(lengths := {len(array) for array in self.values}) != 1 or 0 in lengths:
            raise ValueError(f"arrays of {sorted(lengths)} values are no tuples")


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`; never NULL itself."""

    column: Path


@dataclass(frozen=True, slots=True)
class IsNaN:
    """`isnan(column)`: FALSE for null, so never NULL itself."""

    column: Path


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The bytes of `column` begin with `prefix`; an empty prefix always matches."""

    column: Path
    prefix: pa.Scalar


@dataclass(frozen=True, slots=True)
class EndsWith:
    """The bytes of `column` end with the bytes of `suffix`."""

    column: Path
    suffix: pa.Scalar


@dataclass(frozen=True, slots=True)
class Contains:
    """The bytes of `column` contain the bytes of `part` as one sequence."""

    column: Path
    part: pa.Scalar


class Wildcard(Enum):
    """A LIKE wildcard: any number of characters, or exactly one."""

    ANY = "%"
    ONE = "_"


@dataclass(frozen=True, slots=True)
class Like:
    """A LIKE pattern that the whole string matches.

    `parts`: non-empty literal texts and wildcards, in order. One character is one code point. For values that are not
    valid UTF-8 the result is unknown.
    """

    column: Path
    parts: tuple[str | Wildcard, ...]


class Cause(Enum):
    """Reasons why metadata cannot decide a condition, as far as other code depends on the reason."""

    TIME_ZONE = "time zone"
    """The part depends on the time zone of the session, which is not known."""
    FAR_YEARS = "far years"
    """Only values before the year 1583 or after 9999 are left in doubt."""
    CLOCKS_CHANGE = "clocks change"
    """Clocks change near a literal. Where a local time is skipped, Spark's answer depends on its optimizer."""


class SkippingRemedy(str):
    """Advice with which a condition can skip data, but still cannot be evaluated on rows."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A condition that metadata cannot decide; it never prunes.

    `rewrite`: alternative SQL that metadata can decide, "" if unknown.
    `exact`: True if the rewrite is NULL, TRUE and FALSE for the same rows as the condition.
    `null_with`: columns; the condition is NULL if one of them is null.
    `is_whole`: True if `sql` states exactly this condition, no more and no less.
    `may_raise`: True if the condition may raise on a row while Spark reads.
    `raises`: True if evaluating a constant of the condition is an error, so that Spark in ANSI mode always fails.
    `no_value`: True if the condition compares with a text that is not a value of the type. It selects no row, or fails.
    `cause`: the reason as a value, for reasons that other code tests for; else None.
    `source`: syntax tree, for the code that created the condition; None if unknown.
    """

    sql: str
    reason: str
    remedy: str = ""
    rewrite: str = ""
    exact: bool = False
    null_with: tuple[Path, ...] = ()
    is_whole: bool = False
    may_raise: bool = True
    raises: bool = False
    no_value: bool = False
    cause: Cause | None = None
    source: object = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[Unsupported], tuple[object, ...]]:
        """Pickle without `source`, the last field, which other processes do not need."""
        return Unsupported, tuple(getattr(self, it.name) for it in fields(self)[:-1])


class ValueTest(Protocol):
    """Evaluates a condition on values of the columns that it depends on."""

    def __call__(self, *values: pa.Array) -> OutcomeArray:
        """Return the outcome set of each value, including null.

        The set is UNKNOWN if the result is undecided or if evaluation may raise. `values`: one array per column, in
        the type of its bounds; the i-th values of all arrays belong together.
        """
        ...

    @property
    def limits(self) -> str:
        """Reason why some values were not tested, "" if all were."""
        ...

    @property
    def is_full(self) -> bool:
        """True if the test was given more values than it accepts."""
        ...


@dataclass(frozen=True, slots=True)
class OnValues:
    """A condition on one column, tested on known values.

    Bounds give a known value only if they are equal.
    """

    column: Path
    part: Unsupported
    test: ValueTest = field(compare=False)


@dataclass(frozen=True, slots=True)
class OnPartitions:
    """A condition on columns whose values are all known.

    The values come from directory names, from a log, or from rows that are read.
    """

    columns: tuple[Path, ...]
    part: Unsupported
    test: ValueTest


def _check_arity(children: tuple[Predicate, ...]) -> None:
    if len(children) < 2:
        raise ValueError(f"a connective of {len(children)} operands")


@dataclass(frozen=True, slots=True)
class And:
    """AND of at least two children."""

    children: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_arity(self.children)


@dataclass(frozen=True, slots=True)
class Or:
    """OR of at least two children."""

    children: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_arity(self.children)


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of `child`; NULL stays NULL."""

    child: Predicate


@dataclass(frozen=True, slots=True)
class IsTruth:
    """`child IS TRUE`, `IS FALSE` or, for NULL, `IS UNKNOWN`; never NULL."""

    child: Predicate
    truth: Outcomes


Pattern: TypeAlias = StartsWith | EndsWith | Contains | Like
ColumnLeaf: TypeAlias = Compare | Interval | In | IsNull | IsNaN | Pattern | OnValues
# Leaves that bounds of several columns decide together.
MultiColumnLeaf: TypeAlias = CompareColumns | InTuples
Leaf: TypeAlias = ColumnLeaf | MultiColumnLeaf | OnPartitions | Constant | Unsupported
Predicate: TypeAlias = Leaf | And | Or | Not | IsTruth


def children_of(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the operands of a connective, () for a leaf."""
    match predicate:
        case And(children) | Or(children):
            return children
        case Not(child) | IsTruth(child):
            return (child,)
        case _:
            return ()


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Yield the leaves from left to right, without recursion."""
    stack = [predicate]
    while stack:
        node = stack.pop()
        if isinstance(node, And | Or | Not | IsTruth):
            stack.extend(reversed(children_of(node)))
        else:
            yield node


def cause_of(leaf: Leaf) -> Cause | None:
    """Return the cause of an unsupported condition; None for other leaves."""
    return leaf.cause if isinstance(leaf, Unsupported) else None


def columns_of(predicate: Predicate) -> tuple[Path, ...]:
    """Return the columns of the leaves, each once, in order."""
    return tuple(dict.fromkeys(path for leaf in leaves(predicate) for path in columns_of_leaf(leaf)))


def columns_of_leaf(leaf: Leaf) -> tuple[Path, ...]:
    """Return the columns that a leaf names."""
    match leaf:
        case CompareColumns(left, _, right):
            return left, right
        case InTuples(columns) | OnPartitions(columns):
            return columns
        case Constant() | Unsupported():
            return ()
        case _:
            return (leaf.column,)


def conjuncts_of(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the operands of the topmost AND, or the predicate itself."""
    return predicate.children if isinstance(predicate, And) else (predicate,)


class PredicateNode(NamedTuple):
    """A node and the list indices of its operands; leaves have ()."""

    predicate: Predicate
    operands: tuple[int, ...]


def post_order(predicate: Predicate) -> list[PredicateNode]:
    """Return all nodes in post-order, without recursion; the predicate itself is last.

    >>> [node.operands for node in post_order(Not(Unsupported("a", "")))]
    [(), (0,)]
    """
    nodes: list[PredicateNode] = []
    done: list[int] = []
    stack: list[tuple[Predicate, bool]] = [(predicate, False)]
    while stack:
        node, ready = stack.pop()
        children = children_of(node)
        if children and not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children))
            continue
        operands = tuple(done[len(done) - len(children) :])
        del done[len(done) - len(children) :]
        done.append(len(nodes))
        nodes.append(PredicateNode(node, operands))
    return nodes


def replaced(predicate: Predicate, parts: Mapping[Unsupported, Predicate]) -> Predicate:
    """Return the predicate with unsupported conditions replaced as in `parts`."""
    if not parts:
        return predicate
    built: list[Predicate] = []
    for node, operands in post_order(predicate):
        children = tuple(built[i] for i in operands)
        match node:
            case And():
                built.append(And(children))
            case Or():
                built.append(Or(children))
            case Not():
                built.append(Not(children[0]))
            case IsTruth(_, truth):
                built.append(IsTruth(children[0], truth))
            case Unsupported():
                built.append(parts.get(node, node))
            case _:
                built.append(node)
    return built[-1]
