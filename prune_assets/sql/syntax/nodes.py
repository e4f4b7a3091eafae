"""The syntax tree of a predicate: one frozen class for each form of Spark's grammar.

sqlglot's classes do not fit: it lacks nodes for opaque parts, for a column with a known value, for `>>>` and for long
lists kept as text, and a compiled sqlglot (`sqlglot[c]`, `sqlglot[rs]`) does not allow subclasses.
The precedence of operators follows the rules booleanExpression and valueExpression of SqlBaseParser.g4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Op
from prune_assets.sql.types.number_literals import read_number
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias, TypeVar

    import pyarrow as pa

    from parquet_core.format.schema import LeafColumn, Path
    from prune_assets.sql.types.spark_types import SparkType

    Span: TypeAlias = tuple[int, int]
    Build: TypeAlias = Callable[["SyntaxNode", "SyntaxNode"], "SyntaxNode"]
    _Class = TypeVar("_Class", bound="SyntaxNode")

DEFAULT_ESCAPE = "\\"


class Sign(StrEnum):
    """An operator of two numbers."""

    PLUS = "+"
    MINUS = "-"
    TIMES = "*"
    OVER = "/"
    DIV = "div"
    REST = "%"


@dataclass(frozen=True, slots=True, eq=False)
class SyntaxNode:
    """A node of the syntax tree; nodes compare by identity.

    `span`: first and last token, including brackets around the node; None for a node that was not read from text.
    """

    span: Span | None = field(default=None, kw_only=True, repr=False)

    def children(self) -> tuple[SyntaxNode, ...]:
        """Return the operands from left to right, without the values of a long list."""
        operands: list[SyntaxNode] = []
        names: tuple[str, ...] = self.__match_args__
        for name in names:
            part = getattr(self, name)
            if isinstance(part, SyntaxNode):
                operands.append(part)
            elif isinstance(part, tuple):
                operands += [element for element in part if isinstance(element, SyntaxNode)]
        return tuple(operands)

    def walk(self) -> Iterator[SyntaxNode]:
        """Yield the node and all nodes below it, each before its operands."""
        stack: list[SyntaxNode] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children()))

    def all_of(self, *classes: type[_Class]) -> Iterator[_Class]:
        """Yield the nodes of the given classes, in the order of `walk`."""
        return (node for node in self.walk() if isinstance(node, classes))

    def has(self, *classes: type[SyntaxNode]) -> bool:
        """Return whether the tree contains a node of one of the classes."""
        return next(self.all_of(*classes), None) is not None

    def with_children(self, children: Sequence[SyntaxNode]) -> SyntaxNode:
        """Return the node with other operands, in the order of `children`."""
        left = iter(children)
        parts: dict[str, Any] = {}
        names: tuple[str, ...] = self.__match_args__
        for name in names:
            part = getattr(self, name)
            if isinstance(part, SyntaxNode):
                parts[name] = next(left)
            elif isinstance(part, tuple):
                parts[name] = tuple(next(left) if isinstance(element, SyntaxNode) else element for element in part)
        return replace(self, **parts)


def mark(node: SyntaxNode, span: Span | None) -> SyntaxNode:
    """Set the span of a new node, and return the node."""
    object.__setattr__(node, "span", span)
    return node


def rebuilt(root: SyntaxNode, replacement: Callable[[SyntaxNode], SyntaxNode | None]) -> SyntaxNode:
    """Return a copy of a tree in which nodes are replaced. Unchanged subtrees are shared with the original.

    `replacement`: returns the new node for a node; None to keep the node.
    """
    done: list[SyntaxNode] = []
    stack: list[tuple[SyntaxNode, int]] = [(root, 0)]
    while stack:
        node, count = stack.pop()
        if count:
            before, after = node.children(), done[-count:]
            is_same = all(original is other for original, other in zip(before, after, strict=True))
            done[-count:] = [node if is_same else node.with_children(after)]
            continue
        other = replacement(node)
        children = node.children() if other is None else ()
        if children:
            stack.append((node, len(children)))
            stack.extend((child, 0) for child in reversed(children))
        else:
            done.append(node if other is None else other)
    return done.pop()


@dataclass(frozen=True, slots=True, eq=False)
class Literal(SyntaxNode):
    """A constant with its Spark value."""

    value: SparkValue

    def children(self) -> tuple[SyntaxNode, ...]:
        """Return an empty tuple."""
        return ()


@dataclass(frozen=True, slots=True)
class Bound:
    """Meaning of a name: a column that prunes, or the reason why it does not.

    `column`: column whose metadata decides predicates on the name. None if such predicates do not prune.
    `leaf`: column with this name, whether predicates on it prune or not.
    `nullable`: column whose IS NULL prunes.
    `nested`: "an array", "a struct" or similar words; "" if the name may be a plain value.
    `group`: path of a struct, list or map, whose nulls are known where rows are read.
    `is_word`: True if the name is a function that is called without brackets.
    """

    column: LeafColumn | None
    reason: str = ""
    remedy: str = ""
    leaf: LeafColumn | None = None
    nullable: LeafColumn | None = None
    nested: str = ""
    group: Path | None = None
    is_word: bool = False


UNBOUND = Bound(None, "names are not bound yet")


@dataclass(frozen=True, slots=True, eq=False)
class Column(SyntaxNode):
    """A name without backquotes, by its parts, and its meaning in a table."""

    parts: tuple[str, ...]
    bound: Bound = field(default=UNBOUND, repr=False)

    def children(self) -> tuple[SyntaxNode, ...]:
        """Return an empty tuple."""
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumn(SyntaxNode):
    """A column replaced by a known value."""

    column: Column
    value: pa.Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(SyntaxNode):
    """`:name` or `?`: a value that is not in the text."""


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueNode(SyntaxNode):
    """A part that does not prune.

    `reason`: why the part does not prune.
    `remedy`: what to write instead; "" if unknown.
    `call`: name of the function if the part is a call.
    `columns`: columns named in the text of the part. None if unknown or not bound yet.
    """

    reason: str
    remedy: str = ""
    call: str = ""
    columns: tuple[LeafColumn, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Unary(SyntaxNode):
    """An operator before its operand."""

    operand: SyntaxNode

    def children(self) -> tuple[SyntaxNode, ...]:
        """Return the operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Negation(Unary):
    """NOT.

    In NOT IN, NOT BETWEEN and similar forms, the negation is a node around the condition.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Negative(Unary):
    """`-x`."""


@dataclass(frozen=True, slots=True, eq=False)
class BitwiseNot(Unary):
    """`~x`."""


@dataclass(frozen=True, slots=True, eq=False)
class NullTest(Unary):
    """`x IS NULL`."""


@dataclass(frozen=True, slots=True, eq=False)
class TruthTest(Unary):
    """`x IS TRUE`, `x IS FALSE` or `x IS UNKNOWN`; `truth` is NULL for UNKNOWN."""

    truth: Outcomes


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Unary):
    """CAST or TRY_CAST.

    `to`: the type. None if unsupported.
    """

    to: SparkType | None
    is_try: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Binary(SyntaxNode):
    """An operator between two operands."""

    left: SyntaxNode
    right: SyntaxNode

    def children(self) -> tuple[SyntaxNode, ...]:
        """Return the left and the right operand."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Conjunction(Binary):
    """AND."""


@dataclass(frozen=True, slots=True, eq=False)
class Disjunction(Binary):
    """OR."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Binary):
    """`=`, `<>`, `<`, `<=`, `>` or `>=`."""

    op: Op


@dataclass(frozen=True, slots=True, eq=False)
class NullSafe(Binary):
    """`<=>`, or IS DISTINCT FROM if `is_same` is False."""

    is_same: bool


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic(Binary):
    """A sum, difference, product, quotient or remainder."""

    sign: Sign


@dataclass(frozen=True, slots=True, eq=False)
class Bitwise(Binary):
    """`&`, `|`, `^` or a shift."""

    sign: str


@dataclass(frozen=True, slots=True, eq=False)
class Concat(Binary):
    """`||`."""


@dataclass(frozen=True, slots=True, eq=False)
class LikeTest(Binary):
    """LIKE."""

    escape: str = DEFAULT_ESCAPE


@dataclass(frozen=True, slots=True, eq=False)
class ILike(Binary):
    """ILIKE."""


@dataclass(frozen=True, slots=True, eq=False)
class RLike(Binary):
    """RLIKE.

    `within_not`: True if written as NOT RLIKE, so that the source of the node includes the NOT.
    """

    within_not: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LikeList(SyntaxNode):
    """LIKE ALL of several patterns, or LIKE ANY if `is_all` is False.

    `negated`: True if NOT applies to each pattern, not to the whole.
    """

    operand: SyntaxNode
    patterns: tuple[SyntaxNode, ...]
    is_all: bool
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Between(SyntaxNode):
    """BETWEEN.

    `is_call`: True if written as `between(x, low, high)`, as Spark prints it.
    """

    operand: SyntaxNode
    low: SyntaxNode
    high: SyntaxNode
    is_call: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ListTest(SyntaxNode):
    """IN with a list.

    `source`: text of a long list of plain whole numbers or plain strings; "" for other lists.
    """

    operand: SyntaxNode
    values: tuple[SyntaxNode, ...] = ()
    source: str = ""

    def numbers(self) -> list[int] | None:
        """Return the values of a long list of whole numbers; None for other lists."""
        is_long = self.source and self.source[0] != "'"
        return list(map(int, self.source.translate(_NO_SUFFIX).split(","))) if is_long else None

    def strings(self) -> list[str] | None:
        """Return the values of a long list of strings; None for other lists."""
        return re.findall("'([^']*)'", self.source) if self.source.startswith("'") else None

    def listed(self) -> Sequence[SyntaxNode]:
        """Return each value as a node; the nodes of a long list are created here."""
        if not self.source:
            return self.values
        if (strings := self.strings()) is not None:
            return [Literal(SparkValue(ValueKind.STRING, value)) for value in strings]
        sources = (source.strip() for source in self.source.split(","))
        return [Literal(read_number(source.lstrip("-"), negative=source[0] == "-")) for source in sources]


@dataclass(frozen=True, slots=True, eq=False)
class InSubquery(Unary):
    """IN with a subquery."""


@dataclass(frozen=True, slots=True, eq=False)
class Case(SyntaxNode):
    """CASE.

    `operand`: the value compared with each test. None if the tests are conditions.
    """

    operand: SyntaxNode | None
    tests: tuple[SyntaxNode, ...]
    results: tuple[SyntaxNode, ...]
    default: SyntaxNode | None


@dataclass(frozen=True, slots=True, eq=False)
class Call(SyntaxNode):
    """A call of a function.

    `name`: in lower case, including a unit or field that is read as a word.
    """

    name: str
    arguments: tuple[SyntaxNode, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class UserCall(SyntaxNode):
    """A call of a function that is not Spark's own in the session."""

    name: str
    arguments: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Row(SyntaxNode):
    """Several values in brackets, such as `(a, b)`."""

    values: tuple[SyntaxNode, ...]


_NO_SUFFIX = str.maketrans("", "", "lL")

HOLDS: Mapping[Op, Callable[[Any, Any], bool]] = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}
# Comparison operators, keyed by the operator before the operands are swapped.
MIRRORED: Mapping[str, Op] = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
TRUTHS: Mapping[str, Outcomes] = {"TRUE": Outcomes.TRUE, "FALSE": Outcomes.FALSE, "UNKNOWN": Outcomes.NULL}
TRUTH_NAMES: Mapping[Outcomes, str] = {truth: name for name, truth in TRUTHS.items()}


class Binding(IntEnum):
    """Precedence of an operator; all binary operators associate to the left."""

    OR = 1
    AND = 2
    NOT = 3
    PREDICATE = 4
    COMPARISON = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12


_SPELLINGS = {"==": Op.EQ, "!=": Op.NE, "!>": Op.LE, "!<": Op.GE} | {op.value: op for op in Op}
_SUMS = (Sign.PLUS, Sign.MINUS)
_SHIFTS = dict.fromkeys(("<<", ">>", ">>>"), Binding.SHIFT)
_BITWISE = {"|": Binding.BIT_OR, "^": Binding.BIT_XOR, "&": Binding.BIT_AND, **_SHIFTS}
BINARY: Mapping[str, tuple[Binding, Build]] = {
    "OR": (Binding.OR, Disjunction),
    "AND": (Binding.AND, Conjunction),
    "<=>": (Binding.COMPARISON, partial(NullSafe, is_same=True)),
    "||": (Binding.SUM, Concat),
    **{text: (Binding.COMPARISON, partial(Comparison, op=op)) for text, op in _SPELLINGS.items()},
    **{
        sign.value.upper(): (Binding.SUM if sign in _SUMS else Binding.PRODUCT, partial(Arithmetic, sign=sign))
        for sign in Sign
    },
    **{sign: (binding, partial(Bitwise, sign=sign)) for sign, binding in _BITWISE.items()},
}
PATTERNS: Mapping[str, Build] = {"LIKE": LikeTest, "ILIKE": ILike, "RLIKE": RLike, "REGEXP": RLike}
PATTERNS_OF_NOT: Mapping[str, Build] = {
    **PATTERNS,
    **dict.fromkeys(("RLIKE", "REGEXP"), partial(RLike, within_not=True)),
}
