"""The owned predicate tree: what every kind of evidence answers, with no SQL in it.

Columns are leaf paths (tuples of names, never dotted strings). Literals are non-null Arrow scalars
of exactly the column's own type, so that no evidence has to convert: a literal that the column
cannot hold was turned into an equivalent comparison before (`int_column > 2.5` is `> 2`). NaN equals
itself and is larger than every other value; the two zeros are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray, Outcomes


class Op(StrEnum):
    """A comparison; NULL on either side makes it NULL."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Constant:
    """The same set of outcomes for every row."""

    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class Compare:
    """`column op value`."""

    column: Path
    op: Op
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class CompareColumns:
    """`left op right`; NULL where either is null.

    Two columns of the same type, or two of numbers: as doubles where one holds floats, else exactly.
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
    """`column IN values`: at least one value, distinct, none of them null."""

    column: Path
    values: pa.Array


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
    """The bytes of `column` begin with those of the prefix; an empty one begins every value."""

    column: Path
    prefix: pa.Scalar


@dataclass(frozen=True, slots=True)
class EndsWith:
    """The bytes of `column` end with those of the suffix."""

    column: Path
    suffix: pa.Scalar


@dataclass(frozen=True, slots=True)
class Contains:
    """The bytes of `part` stand somewhere in those of `column`, with no gap."""

    column: Path
    part: pa.Scalar


class Wildcard(Enum):
    """What stands for text in a pattern: any number of characters, or exactly one."""

    ANY = "%"
    ONE = "_"


@dataclass(frozen=True, slots=True)
class Like:
    """The whole of a string matches texts and wildcards, one after the other; no text is empty.

    One character is one code point. Of a value that is no UTF-8 nobody says what it matches.
    """

    column: Path
    parts: tuple[str | Wildcard, ...]


class Cause(Enum):
    """A reason why metadata cannot answer a part, for code that decides by it."""

    TIME_ZONE = "time zone"
    """The part depends on the time zone of the session, which is not known."""
    FAR_YEARS = "far years"
    """Only values before the year 1583 or after 9999 are left in doubt."""
    CLOCKS_CHANGE = "clocks change"
    """Clocks change near a literal. Where a local time is skipped, Spark's answer depends on its optimizer."""


class SkippingRemedy(str):
    """A remedy that helps metadata to skip, and does not help to evaluate the part on rows."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A part that no metadata is asked about: it keeps data.

    `rewrite`: SQL that metadata can be asked instead, empty when none is known; `exact`: it is NULL, TRUE and
    FALSE for the same rows. `null_with`: columns; where one of them is null it is NULL. `is_whole`: `sql` says all
    that this part does, and nothing else. `may_raise`: reading may fail on a row because of it.
    `raises`: a constant of the part is an error, so that with ANSI Spark fails whatever the rows are. `no_value`: it
    compares with a text that is no value of the type, so it selects no row, or fails. `cause`: None where nothing
    depends on the reason. `source`: the syntax tree of the part for the code that made it, None if unknown.
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
        """Leave out `source`, the last field, which processes that get a predicate do not need."""
        return Unsupported, tuple(getattr(self, it.name) for it in fields(self)[:-1])


class ValueTest(Protocol):
    """Tells what a part is for values of the columns that it depends on."""

    def __call__(self, *values: pa.Array) -> OutcomeArray:
        """Return the outcomes for each value, null included; all of them where they are not known, or it raises.

        `values` have the type of the column's bounds; of several columns the i-th of each belong together.
        """
        ...

    @property
    def limits(self) -> str:
        """Why some values were not asked about; empty while there were none."""
        ...

    @property
    def is_full(self) -> bool:
        """True after more values came than the test takes."""
        ...


@dataclass(frozen=True, slots=True)
class OnValues:
    """A part that no bounds answer, and that is asked of the values of its only column where these are known."""

    column: Path
    part: Unsupported
    test: ValueTest = field(compare=False)


@dataclass(frozen=True, slots=True)
class OnPartitions:
    """A part on columns whose values are all known: of directories, of a log, or of rows that are read."""

    columns: tuple[Path, ...]
    part: Unsupported
    test: ValueTest


def _check_arity(children: tuple[Predicate, ...]) -> None:
    if len(children) < 2:
        raise ValueError(f"a connective of {len(children)} operands")


@dataclass(frozen=True, slots=True)
class And:
    """All of at least two children."""

    children: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_arity(self.children)


@dataclass(frozen=True, slots=True)
class Or:
    """Any of at least two children."""

    children: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_arity(self.children)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; NULL stays NULL."""

    child: Predicate


@dataclass(frozen=True, slots=True)
class IsTruth:
    """`child IS TRUE`, `IS FALSE` or, for NULL, `IS UNKNOWN`; never NULL itself."""

    child: Predicate
    truth: Outcomes


Pattern: TypeAlias = StartsWith | EndsWith | Contains | Like
ColumnLeaf: TypeAlias = Compare | Interval | In | IsNull | IsNaN | Pattern | OnValues
Leaf: TypeAlias = ColumnLeaf | CompareColumns | OnPartitions | Constant | Unsupported
Predicate: TypeAlias = Leaf | And | Or | Not | IsTruth


def children_of(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the operands of a connective, nothing for a leaf."""
    match predicate:
        case And(children) | Or(children):
            return children
        case Not(child) | IsTruth(child):
            return (child,)
        case _:
            return ()


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Yield the leaves from left to right; depth costs no stack."""
    stack = [predicate]
    while stack:
        node = stack.pop()
        if isinstance(node, And | Or | Not | IsTruth):
            stack.extend(reversed(children_of(node)))
        else:
            yield node


def cause_of(leaf: Leaf) -> Cause | None:
    """Return the cause of an unsupported part; None for other leaves."""
    return leaf.cause if isinstance(leaf, Unsupported) else None


def columns_of(predicate: Predicate) -> tuple[Path, ...]:
    """Return the columns that the leaves name, each once, in order of appearance."""
    return tuple(dict.fromkeys(path for leaf in leaves(predicate) for path in columns_of_leaf(leaf)))


def columns_of_leaf(leaf: Leaf) -> tuple[Path, ...]:
    """Return the columns that a leaf names."""
    match leaf:
        case CompareColumns(left, _, right):
            return left, right
        case OnPartitions(columns):
            return columns
        case Constant() | Unsupported():
            return ()
        case _:
            return (leaf.column,)


def conjuncts_of(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the operands of the topmost AND, or the predicate itself."""
    return predicate.children if isinstance(predicate, And) else (predicate,)
