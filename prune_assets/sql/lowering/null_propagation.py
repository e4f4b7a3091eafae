"""The columns whose null makes a condition NULL."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

from parquet_core.errors import UnknownColumn
from parquet_core.predicate import Op
from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import field_of_call, find
from prune_assets.sql.lowering.comparisons import beyond_bigint
from prune_assets.sql.syntax.nodes import name_parts, spark_value
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path
    from prune_assets.sql.binding.scope import Scope
    from prune_assets.sql.functions.entry import SqlFunction

    _Types: TypeAlias = Mapping[Callable[[pa.DataType], bool], bool]

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg)
_KEEP_FRACTIONS = (exp.Neg, exp.Paren, exp.Add, exp.Sub, exp.Mul)
# NULL where any operand is.
_OF_ALL = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.RegexpLike),
    *(*_ARITHMETIC, exp.DPipe),
)
# NULL where the first operand is: `5 BETWEEN NULL AND 3` is FALSE.
_OF_FIRST = (exp.Between, exp.In, exp.Cast)
# Among more parts that may raise nothing is told.
MOST_RAISING = 50
_COMPARED_WITH_LITERALS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_COLUMN_TYPES: _Types = {pa.types.is_string: True, pa.types.is_integer: False}
_FIELD_TYPES: _Types = {pa.types.is_date: False, pa.types.is_timestamp: False}
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def null_with(node: exp.Expr, scope: Scope) -> tuple[Path, ...]:
    """Return the columns that make a condition NULL by being null, each once; functions are taken for Spark's own.

    Not those beside which another operand may raise all the same.
    """
    candidates = tuple(dict.fromkeys(_columns(node, scope)))
    above = _above_columns(node) if candidates else frozenset()
    raising = list(
        islice((part for part in _evaluated(node) if id(part) in above and _may_raise(part)), MOST_RAISING + 1)
    )
    if len(raising) > MOST_RAISING or (candidates and _casts_strings(node, scope)):
        return ()
    harmless = [set(_columns(part, scope)) for part in raising]
    return tuple(column for column in candidates if all(column in columns for columns in harmless))


def decides_every_value(node: exp.Expr, scope: Scope) -> bool:
    """Tell whether a condition is TRUE or FALSE, and raises nothing, for every value of its columns but null.

    Known of comparisons of a column, a field of its date, a text without a cast, or a remainder with literals.
    """
    if not isinstance(node, _COMPARED_WITH_LITERALS) or node.args.get("query") is not None:
        return False
    operand, *others = node.iter_expressions()
    is_text = _is_text(operand, scope)
    return is_text is not None and all(_is_literal(other, is_text=is_text) for other in others)


def _is_literal(node: exp.Expr, *, is_text: bool) -> bool:
    kinds = {Kind.STRING} if is_text else {Kind.INTEGER, Kind.DECIMAL}
    return isinstance(node, exp.Literal) and spark_value(node).kind in kinds


def _is_text(node: exp.Expr, scope: Scope) -> bool | None:
    """Return whether a value is a text; None for one that is neither text nor number, may raise, or may be NULL."""
    levels: list[_Level] = []
    kinds = _COLUMN_TYPES
    while kinds is _COLUMN_TYPES and (level := _operand_of(node)) is not None:
        levels.append(level)
        node, kinds = level.operand, level.types
    is_text = _kind_of(_without_brackets(node), scope, kinds)
    for level in reversed(levels):
        is_text = level.is_text if is_text is level.operand_is_text else None
    return is_text


class _Level(NamedTuple):
    """A function of one operand, whether its operand and its result are texts, and the column types in its scope."""

    operand: exp.Expr
    operand_is_text: bool
    is_text: bool
    types: _Types


def _operand_of(node: exp.Expr) -> _Level | None:
    node = _without_brackets(node)
    if isinstance(node, exp.Mod) and isinstance(node.expression, exp.Literal):
        divisor = spark_value(node.expression)
        is_exact = divisor.kind is Kind.INTEGER and divisor.value
        return _Level(node.this, operand_is_text=False, is_text=False, types=_COLUMN_TYPES) if is_exact else None
    function, arguments = _function(node), list(node.iter_expressions())
    if function is None or len(arguments) != 1:
        return None
    if field_of_call(node.name) is not None:
        return _Level(arguments[0], operand_is_text=False, is_text=False, types=_FIELD_TYPES)
    if not function.null_strict or function.may_raise:
        return None
    is_text = function.role is not Role.LENGTH
    return _Level(arguments[0], operand_is_text=True, is_text=is_text, types=_COLUMN_TYPES)


def _without_brackets(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _kind_of(node: exp.Expr, scope: Scope, kinds: _Types) -> bool | None:
    bound = _bound(node, scope) if isinstance(node, exp.Column) else []
    return next((is_text for is_kind, is_text in kinds.items() if bound and is_kind(bound[0].type)), None)


def _evaluated(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts that are looked at whatever is null: not those that come after a null first operand."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack += [part.this] if isinstance(part, (exp.Between, exp.In)) else list(part.iter_expressions())


def _above_columns(node: exp.Expr) -> frozenset[int]:
    """Return the ids of the parts that name a column."""
    above: set[int] = set()
    for name in node.find_all(exp.Column):
        part: exp.Expr | None = name
        while part is not None and id(part) not in above:
            above.add(id(part))
            part = None if part is node else part.parent
    return frozenset(above)


def _may_raise(part: exp.Expr) -> bool:
    """Tell whether a part that names a column may raise for some rows alone."""
    if isinstance(part, exp.Cast):
        return not isinstance(part, exp.TryCast)
    function = _function(part)
    fails = function is None or function.may_raise
    return isinstance(part, _ARITHMETIC) or (isinstance(part, exp.Anonymous) and fails)


def _casts_strings(node: exp.Expr, scope: Scope) -> bool:
    """Tell whether columns of strings stand beside others, for which Spark may cast them and fail."""
    types = [column.type for name in node.find_all(exp.Column) for column in _bound(name, scope)]
    return len({pa.types.is_string(kind) for kind in types if kind is not None}) > 1


def _columns(node: exp.Expr, scope: Scope) -> list[Path]:
    paths: list[Path] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Column):
            paths += [column.path for column in _bound(part, scope)]
        elif isinstance(part, exp.In) and part.args.get("query") is not None:
            continue  # nothing is NULL IN (no row)
        elif isinstance(part, _ORDERS) and _may_ignore_null(part, scope):
            continue
        elif isinstance(part, _OF_FIRST):
            stack.append(part.this)
        elif isinstance(part, _OF_ALL) or ((function := _function(part)) is not None and function.null_strict):
            stack += list(part.iter_expressions())
    return paths


def _may_ignore_null(comparison: exp.Expr, scope: Scope) -> bool:
    """Tell whether Spark may take a whole number for less or greater than a literal beyond bigint, null or not."""
    operands = list(comparison.iter_expressions())
    literals = [operand for operand in operands if isinstance(operand, exp.Literal) and _is_beyond_bigint(operand)]
    compared = operands[:1] if isinstance(comparison, exp.Between) else operands
    others = [operand for operand in compared if operand not in literals]
    return bool(literals) and not any(_has_fractions(operand, scope) for operand in others)


def _has_fractions(node: exp.Expr, scope: Scope) -> bool:
    """Tell whether the type of a value is surely none of whole numbers."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Cast):
            to = part.args.get("to")
            if to is not None and to.kind in {Kind.DECIMAL, Kind.DOUBLE}:
                return True
        elif isinstance(part, exp.Column):
            if any(pa.types.is_decimal(it.type) or pa.types.is_floating(it.type) for it in _bound(part, scope)):
                return True
        elif isinstance(part, _KEEP_FRACTIONS) or ((function := _function(part)) and function.keeps_fractions):
            stack += list(part.iter_expressions())
    return False


def _is_beyond_bigint(literal: exp.Literal) -> bool:
    return beyond_bigint(Op.LE, spark_value(literal)) is not None


def _function(node: exp.Expr) -> SqlFunction | None:
    return find(node.name) if isinstance(node, exp.Anonymous) else None


def _bound(name: exp.Column, scope: Scope) -> list[LeafColumn]:
    try:
        column = scope.resolve(name_parts(name)).nullable
    except UnknownColumn:
        return []
    return [] if column is None else [column]
