"""Spark's operators and how tightly they bind (rules booleanExpression and valueExpression of SqlBaseParser.g4)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from parquet_core.predicate import Op
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPARISONS: Mapping[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
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


class UnsignedRightShift(exp.Expression, exp.Binary):
    """`>>>`, which sqlglot has no node for."""


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
