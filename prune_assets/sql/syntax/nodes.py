"""Nodes that sqlglot's trees lack, and Spark's operators.

How tightly they bind is said by the rules booleanExpression and valueExpression of SqlBaseParser.g4.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from parquet_core.predicate import Op
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.number_literals import read_number
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from collections.abc import Mapping


class SparkLiteral(exp.Expression, exp.Condition):
    """A literal with its SparkValue as `this`."""

    arg_types = {"this": True}  # noqa: RUF012  (sqlglot's own way to declare a node)

    @property
    def spark_value(self) -> SparkValue:
        """Return the value."""
        value = self.args["this"]
        assert isinstance(value, SparkValue)
        return value


class Opaque(exp.Expression, exp.Condition):
    """A part that Spark understands and that is not looked into; `this` says why, `remedy` what to write.

    `call`: the name of the function, where it is a call.
    """

    arg_types = {"this": True, "remedy": False, "call": False}  # noqa: RUF012  (sqlglot's own way to declare a node)


class Parameter(Opaque):
    """`:name` or `?`: a place for a value that is not in the text."""


class LikeList(exp.Expression, exp.Condition):
    """`this LIKE ALL`, or where not `every` ANY, of several patterns; `negated` is each of them, not the whole."""

    arg_types = {"this": True, "expressions": True, "every": True, "negated": True}  # noqa: RUF012


class InList(exp.In):
    """`this IN (...)` with a long list of plain whole numbers, or of plain strings; `literals` is its source.

    `expressions` makes a node of each value: what can do without asks for `numbers` or `strings`.
    """

    arg_types = {"this": True, "literals": True}  # noqa: RUF012  (sqlglot's own way to declare a node)

    @property
    def numbers(self) -> list[int] | None:
        """Return the values of a list of whole numbers, None of strings."""
        text = self.args["literals"]
        if text.startswith("'"):
            return None
        return list(map(int, text.translate(_NO_SUFFIX).split(",")))

    @property
    def strings(self) -> list[str] | None:
        """Return the values of a list of strings, None of numbers."""
        text = self.args["literals"]
        return re.findall("'([^']*)'", text) if text.startswith("'") else None

    @property
    def expressions(self) -> list[exp.Expr]:
        """Return each value as a literal."""
        if (strings := self.strings) is not None:
            return [SparkLiteral(this=SparkValue(Kind.STRING, value)) for value in strings]
        sources = (source.strip() for source in self.args["literals"].split(","))
        values = (read_number(source.lstrip("-"), negative=source[0] == "-") for source in sources)
        return [SparkLiteral(this=value) for value in values]


_NO_SUFFIX = str.maketrans("", "", "lL")


class CastTo(exp.Expression, exp.Condition):
    """A cast of `this` to the SparkType `to`, None for one that is not looked into; `is_try`: errors become NULL."""

    arg_types = {"this": True, "to": False, "is_try": False}  # noqa: RUF012  (sqlglot's own way to declare a node)


class PropagatedConstant(exp.Expression, exp.Condition):
    """The value, a `pa.Scalar`, that has to be that of the column `this` wherever more than this part holds."""

    arg_types = {"this": True, "value": True}  # noqa: RUF012  (sqlglot's own way to declare a node)


class ColumnName(exp.Expression, exp.Condition):
    """A name as written, `this` its parts: a column, a field inside a struct, or a qualified column."""

    arg_types = {"this": True}  # noqa: RUF012  (sqlglot's own way to declare a node)

    @property
    def parts_of_name(self) -> tuple[str, ...]:
        """Return the parts from left to right, without back quotes."""
        parts = self.args["this"]
        assert isinstance(parts, tuple)
        return parts


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
