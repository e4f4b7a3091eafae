"""Find the columns whose null makes a condition NULL."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

from parquet_core.pruning.predicate import Op
from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import field_of_call, find
from prune_assets.sql.lowering.comparisons import beyond_bigint
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.nodes import MIRRORED, Sign
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_core.format.schema import LeafColumn, Path
    from prune_assets.sql.functions.entry import SqlFunction

    _Types: TypeAlias = Mapping[Callable[[pa.DataType], bool], bool]

_ARITHMETIC = (nodes.Arithmetic, nodes.Negative)
# NULL if any operand is NULL.
_OF_ALL = (
    *(nodes.Comparison, nodes.LikeTest, nodes.ILike, nodes.RLike),
    *(*_ARITHMETIC, nodes.Concat),
)
# NULL if the first operand is NULL; `5 BETWEEN NULL AND 3` is FALSE. IN with a subquery is not listed: it is never NULL
# if the subquery returns no rows.
_OF_FIRST = (nodes.Between, nodes.ListTest, nodes.Cast)
# If more parts than this may raise, report no column.
MOST_RAISING = 50
_COLUMN_TYPES: _Types = {pa.types.is_string: True, pa.types.is_integer: False}
_FIELD_TYPES: _Types = {pa.types.is_date: False, pa.types.is_timestamp: False}


def null_with(node: nodes.SyntaxNode) -> tuple[Path, ...]:
    """Return the columns that make a condition NULL if they are null; empty if the condition calls a user's function.

    A column is left out if another operand may raise an error although the column is null.
    """
    if node.has(nodes.UserCall):
        return ()
    candidates = tuple(dict.fromkeys(_columns(node)))
    above = _above_columns(node) if candidates else frozenset()
    raising = list(
        islice((part for part in _evaluated(node) if id(part) in above and _may_raise(part)), MOST_RAISING + 1)
    )
    if len(raising) > MOST_RAISING or (candidates and _casts_strings(node)):
        return ()
    harmless = [set(_columns(part)) for part in raising]
    return tuple(column for column in candidates if all(column in columns for columns in harmless))


def decides_every_value(node: nodes.SyntaxNode) -> bool:
    """Return whether a condition is TRUE or FALSE for all non-null values, so that it never raises.

    This is known for comparisons of literals with a column, a field of a date column, a text without a cast, or a
    remainder.
    """
    if not isinstance(node, (nodes.Comparison, nodes.Between, nodes.ListTest)):
        return False
    operand, *others = node.children()
    is_text = _is_text(operand)
    return is_text is not None and all(_is_literal(other, is_text=is_text) for other in others)


def _is_literal(node: nodes.SyntaxNode, *, is_text: bool) -> bool:
    kinds = {ValueKind.STRING} if is_text else {ValueKind.INTEGER, ValueKind.DECIMAL}
    return isinstance(node, nodes.Literal) and node.value.kind in kinds


def _is_text(node: nodes.SyntaxNode) -> bool | None:
    """Return whether a value is a text; False for a number.

    None for values of other types, and for values that may raise or may be NULL.
    """
    levels: list[_Level] = []
    kinds = _COLUMN_TYPES
    while kinds is _COLUMN_TYPES and (level := _operand_of(node)) is not None:
        levels.append(level)
        node, kinds = level.operand, level.types
    is_text = _is_text_node(node, kinds)
    for level in reversed(levels):
        is_text = level.is_text if is_text is level.operand_is_text else None
    return is_text


class _Level(NamedTuple):
    """A function of one operand.

    `operand_is_text`, `is_text`: True if the operand, or the result, is a text; False if it is a number.
    `types`: column types that the operand may have.
    """

    operand: nodes.SyntaxNode
    operand_is_text: bool
    is_text: bool
    types: _Types


def _operand_of(node: nodes.SyntaxNode) -> _Level | None:
    if isinstance(node, nodes.Arithmetic) and node.sign is Sign.REST and isinstance(node.right, nodes.Literal):
        divisor = node.right.value
        is_exact = divisor.kind is ValueKind.INTEGER and divisor.value
        return _Level(node.left, operand_is_text=False, is_text=False, types=_COLUMN_TYPES) if is_exact else None
    function, arguments = _function(node), node.children()
    if not isinstance(node, nodes.Call) or function is None or len(arguments) != 1:
        return None
    if field_of_call(node.name) is not None:
        return _Level(arguments[0], operand_is_text=False, is_text=False, types=_FIELD_TYPES)
    if not function.null_strict or function.may_raise:
        return None
    is_text = function.role is not Role.LENGTH
    return _Level(arguments[0], operand_is_text=True, is_text=is_text, types=_COLUMN_TYPES)


def _is_text_node(node: nodes.SyntaxNode, kinds: _Types) -> bool | None:
    bound = _bound(node) if isinstance(node, nodes.Column) else []
    return next((is_text for is_kind, is_text in kinds.items() if bound and is_kind(bound[0].type)), None)


def _evaluated(node: nodes.SyntaxNode) -> Iterator[nodes.SyntaxNode]:
    """Yield the nodes that Spark evaluates even if operands are null.

    Spark does not evaluate the operands after a first operand that is null.
    """
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack += [part.operand] if isinstance(part, (nodes.Between, nodes.ListTest)) else part.children()


def _above_columns(node: nodes.SyntaxNode) -> frozenset[int]:
    """Return the ids of the nodes that contain a column."""
    above: set[int] = set()
    for part in reversed(list(node.walk())):
        if isinstance(part, nodes.Column) or any(id(child) in above for child in part.children()):
            above.add(id(part))
    return frozenset(above)


def _may_raise(part: nodes.SyntaxNode) -> bool:
    """Return whether a node that contains a column may raise for some rows only."""
    if isinstance(part, nodes.Cast):
        return not part.is_try
    function = _function(part)
    fails = function is None or function.may_raise
    return isinstance(part, _ARITHMETIC) or (isinstance(part, nodes.Call) and fails)


def _casts_strings(node: nodes.SyntaxNode) -> bool:
    """Return whether a string column occurs next to a column of another type, where Spark may cast it and fail."""
    types = [column.type for name in node.all_of(nodes.Column) for column in _bound(name)]
    return len({pa.types.is_string(arrow_type) for arrow_type in types if arrow_type is not None}) > 1


def _columns(node: nodes.SyntaxNode) -> list[Path]:
    paths: list[Path] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, nodes.Column):
            paths += [column.path for column in _bound(part)]
        elif _is_order(part) and _may_ignore_null(part):
            continue
        elif isinstance(part, _OF_FIRST):
            stack.append(part.operand)
        elif isinstance(part, _OF_ALL) or ((function := _function(part)) is not None and function.null_strict):
            stack += list(part.children())
    return paths


def _is_order(node: nodes.SyntaxNode) -> bool:
    return isinstance(node, nodes.Between) or (isinstance(node, nodes.Comparison) and node.op in MIRRORED)


def _may_ignore_null(comparison: nodes.SyntaxNode) -> bool:
    """Return whether Spark may decide a comparison with a literal beyond bigint even if the operand is null."""
    operands = list(comparison.children())
    literals = [operand for operand in operands if isinstance(operand, nodes.Literal) and _is_beyond_bigint(operand)]
    compared = operands[:1] if isinstance(comparison, nodes.Between) else operands
    others = [operand for operand in compared if operand not in literals]
    return bool(literals) and not any(_has_fractions(operand) for operand in others)


def _has_fractions(node: nodes.SyntaxNode) -> bool:
    """Return whether the type of a value is certainly not an integer type."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, nodes.Cast):
            if part.to is not None and part.to.kind in {ValueKind.DECIMAL, ValueKind.DOUBLE}:
                return True
        elif isinstance(part, nodes.Column):
            if any(pa.types.is_decimal(it.type) or pa.types.is_floating(it.type) for it in _bound(part)):
                return True
        elif _keeps_fractions(part):
            stack += part.children()
    return False


def _keeps_fractions(node: nodes.SyntaxNode) -> bool:
    if isinstance(node, nodes.Arithmetic):
        return node.sign in {Sign.PLUS, Sign.MINUS, Sign.TIMES}
    function = _function(node)
    return isinstance(node, nodes.Negative) or (function is not None and function.keeps_fractions)


def _is_beyond_bigint(literal: nodes.Literal) -> bool:
    return beyond_bigint(Op.LE, literal.value) is not None


def _function(node: nodes.SyntaxNode) -> SqlFunction | None:
    return find(node.name) if isinstance(node, nodes.Call) else None


def _bound(name: nodes.Column) -> list[LeafColumn]:
    return [] if name.bound.nullable is None else [name.bound.nullable]
