"""How sqlglot's nodes hold what Spark's grammar knows, and Spark's operators.

Every node is of a class of sqlglot: where that is compiled (`sqlglot[rs]`), a derived class has no instances.
How tightly operators bind is said by the rules booleanExpression and valueExpression of SqlBaseParser.g4.
"""

from __future__ import annotations

import re
from enum import IntEnum
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from parquet_core.predicate import Op
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.number_literals import read_number
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


# A part that Spark understands and that is not looked into: `this` says why, `remedy` what to write, and `call` is the
# name of the function, where it is a call.
Opaque = exp.Command
# `:name` or `?`: a place for a value that is not in the text.
Parameter = exp.Placeholder
# `LIKE ALL` and `LIKE ANY` of several patterns, `expressions`; `negated` is each of them, not the whole.
LIKE_LISTS = (exp.All, exp.Any)
# The value (`expression`, a `pa.Scalar`) that has to be that of the column `this` wherever more than this part holds.
PropagatedConstant = exp.Kwarg


def spark_literal(value: SparkValue) -> exp.Literal:
    """Return a literal, whose `this` is its value in Spark."""
    return exp.Literal(this=value, is_string=value.kind is Kind.STRING)


def spark_value(literal: exp.Literal) -> SparkValue:
    """Return the value of a literal."""
    value = literal.args["this"]
    assert isinstance(value, SparkValue)
    return value


def column_name(parts: Sequence[str]) -> exp.Column:
    """Return a name as written, without back quotes: a column, a field inside a struct, or a qualified column."""
    return exp.Column(this=tuple(parts))


def name_parts(column: exp.Column) -> tuple[str, ...]:
    """Return the parts of a name from left to right."""
    parts = column.args["this"]
    assert isinstance(parts, tuple)
    return parts


def long_list(value: exp.Expr, source: str) -> exp.In:
    """Return `value IN (...)` with a long list of plain whole numbers, or of plain strings, which stay text."""
    return exp.In(this=value, literals=source)


def is_long_list(node: exp.In) -> bool:
    """Tell whether the values stay text: `listed_values` makes a node of each, what can do without does not ask."""
    return "literals" in node.args


def listed_numbers(node: exp.In) -> list[int] | None:
    """Return the values of a long list of whole numbers, None of another list."""
    text = node.args.get("literals", "'")
    return None if text.startswith("'") else list(map(int, text.translate(_NO_SUFFIX).split(",")))


def listed_strings(node: exp.In) -> list[str] | None:
    """Return the values of a long list of strings, None of another list."""
    text = node.args.get("literals", "")
    return re.findall("'([^']*)'", text) if text.startswith("'") else None


def listed_values(node: exp.In) -> list[exp.Expr]:
    """Return each value of a list as a node; of a subquery none."""
    if not is_long_list(node):
        return list(node.expressions)
    if (strings := listed_strings(node)) is not None:
        return [spark_literal(SparkValue(Kind.STRING, value)) for value in strings]
    sources = (source.strip() for source in node.args["literals"].split(","))
    return [spark_literal(read_number(source.lstrip("-"), negative=source[0] == "-")) for source in sources]


_NO_SUFFIX = str.maketrans("", "", "lL")


COMPARISONS: Mapping[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
HOLDS: Mapping[Op, Callable[[Any, Any], bool]] = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}
# What the operators that tell which operand is more become when the operands change sides.
MIRRORED: Mapping[str, Op] = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}


class Binding(IntEnum):
    """How tightly an operator binds; all that take two operands associate to the left."""

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


# `>>>`, for which sqlglot has no node of its own.
UnsignedRightShift = exp.Operator
BINARY: Mapping[str, tuple[Binding, type[exp.Binary]]] = {
    "OR": (Binding.OR, exp.Or),
    "AND": (Binding.AND, exp.And),
    "=": (Binding.COMPARISON, exp.EQ),
    "==": (Binding.COMPARISON, exp.EQ),
    "<=>": (Binding.COMPARISON, exp.NullSafeEQ),
    "<>": (Binding.COMPARISON, exp.NEQ),
    "!=": (Binding.COMPARISON, exp.NEQ),
    "<": (Binding.COMPARISON, exp.LT),
    "<=": (Binding.COMPARISON, exp.LTE),
    "!>": (Binding.COMPARISON, exp.LTE),
    ">": (Binding.COMPARISON, exp.GT),
    ">=": (Binding.COMPARISON, exp.GTE),
    "!<": (Binding.COMPARISON, exp.GTE),
    "|": (Binding.BIT_OR, exp.BitwiseOr),
    "^": (Binding.BIT_XOR, exp.BitwiseXor),
    "&": (Binding.BIT_AND, exp.BitwiseAnd),
    "<<": (Binding.SHIFT, exp.BitwiseLeftShift),
    ">>": (Binding.SHIFT, exp.BitwiseRightShift),
    ">>>": (Binding.SHIFT, UnsignedRightShift),
    "+": (Binding.SUM, exp.Add),
    "-": (Binding.SUM, exp.Sub),
    "||": (Binding.SUM, exp.DPipe),
    "*": (Binding.PRODUCT, exp.Mul),
    "/": (Binding.PRODUCT, exp.Div),
    "%": (Binding.PRODUCT, exp.Mod),
    "DIV": (Binding.PRODUCT, exp.IntDiv),
}
PATTERNS: Mapping[str, type[exp.Binary]] = {
    "LIKE": exp.Like,
    "ILIKE": exp.ILike,
    "RLIKE": exp.RegexpLike,
    "REGEXP": exp.RegexpLike,
}
