"""Lower one condition, a part without AND, OR and NOT, to leaves of the owned predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from parquet_core.errors import PredicateTypeError
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, Interval, IsNaN, IsNull, IsTruth, Not, Op, Unsupported
from prune_assets.sql.comparisons import NULL, compare, is_in
from prune_assets.sql.nodes import ColumnName, Opaque, SparkLiteral
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.rewrites.fold_constants import fold_constants
from prune_assets.sql.times import Clocks, compare_times, in_order, is_about_times, is_in_times
from prune_assets.sql.scope import CLOCK_FUNCTIONS, NOW_IS_LATER, Scope
from prune_assets.sql.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.values import SparkValue

_OPS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_TRUTHS = {"TRUE": Outcomes.TRUE, "FALSE": Outcomes.FALSE, "UNKNOWN": Outcomes.NULL}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.BitwiseNot)
_NOT_LOWERED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Like: ("LIKE is not answered from metadata yet", "write the prefix as a range, e.g. s >= 'ab' AND s < 'ac'"),
    exp.ILike: ("ILIKE ignores case, and bounds do not", ""),
    exp.RegexpLike: ("a regular expression says nothing about bounds", ""),
}


class Conditions:
    """Lowers conditions on the columns of one table; `text` gives the source of a node."""

    def __init__(self, scope: Scope, text: Callable[[exp.Expr], str], semantics: SparkSemantics) -> None:
        self._scope = scope
        self._text = text
        self._ansi = semantics.ansi
        self._clocks = Clocks.of(semantics)
        self._binary_as_string = semantics.binary_as_string

    def lower(self, node: exp.Expr) -> Predicate:
        """Return the condition as leaves; raises PredicateTypeError and UnknownColumn."""
        self._check_names(node)
        try:
            return self._leaf(node)
        except Refusal as refusal:
            return Unsupported(self._text(node), refusal.reason, refusal.remedy)

    def negate(self, node: exp.Expr, inner: Predicate) -> Predicate:
        """Return the opposite of a lowered condition, `node` being the negation as written."""
        match inner:
            case Not(child):
                return child
            case Unsupported(_, reason, remedy):
                # The source of `s NOT LIKE 'a'` holds no text that is its operand alone.
                return Unsupported(self._text(node), reason, remedy)
            case _:
                return Not(inner)

    def asks_truth(self, node: exp.Is) -> bool:
        """Tell whether IS TRUE, FALSE or UNKNOWN is asked of a condition; of a value it is a cast."""
        asked = node.this
        if node.expression.name not in _TRUTHS:
            return False
        if isinstance(asked, ColumnName):
            return self._is_boolean(asked)
        if isinstance(asked, SparkLiteral):
            return asked.spark_value.kind in {Kind.NULL, Kind.BOOLEAN}
        return not isinstance(asked, (exp.Tuple, *_ARITHMETIC))

    def ask_truth(self, node: exp.Is, inner: Predicate) -> Predicate:
        """Return `inner IS TRUE`, `IS FALSE` or `IS UNKNOWN`, as `node` says."""
        if isinstance(inner, Unsupported):
            return Unsupported(self._text(node), inner.reason, inner.remedy)
        return IsTruth(inner, _TRUTHS[node.expression.name])

    def _leaf(self, node: exp.Expr) -> Predicate:
        op = _OPS.get(type(node))
        if op is not None:
            return self._compare(node.this, op, node.expression)
        match node:
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = self._null_safe(node.this, node.expression)
                return same if isinstance(node, exp.NullSafeEQ) else Not(same)
            case _:
                return self._single(node)

    def _single(self, node: exp.Expr) -> Predicate:
        """Lower what is a condition by itself, with no operator."""
        match node:
            case exp.Anonymous() if node.name == "isnan" and len(node.expressions) == 1:
                return self._is_nan(node.expressions[0])
            case ColumnName() if self._is_boolean(node):
                return Compare(self._column(node).path, Op.EQ, pa.scalar(value=True))
            case SparkLiteral():
                return self._constant(node)
            case _:
                raise self._no_condition(node)

    def _compare(self, left: exp.Expr, op: Op, right: exp.Expr) -> Predicate:
        left, right = fold_constants(left), fold_constants(right)
        if isinstance(left, SparkLiteral):
            left, op, right = right, _MIRRORED.get(op, op), left
        if not isinstance(right, SparkLiteral):
            raise _why_not(left, right)
        value = self._value(right)
        if value.kind is Kind.NULL and not isinstance(left, exp.Tuple):
            return NULL
        return self._compare_column(self._column(left), op, value)

    def _compare_column(self, column: LeafColumn, op: Op, value: SparkValue) -> Predicate:
        if is_about_times(column, [value]):
            return compare_times(column, op, value, self._clocks)
        return compare(column, op, value, ansi=self._ansi)

    def _between(self, node: exp.Between) -> Predicate:
        low = self._compare(node.this, Op.GE, node.args["low"])
        high = self._compare(node.this, Op.LE, node.args["high"])
        match low, high:
            case Compare(column, Op.GE, least), Compare(other, Op.LE, most) if (
                column == other and in_order(least, most)
            ):
                return Interval(column, least, most)
            case _:
                return And((low, high))

    def _in(self, node: exp.In) -> Predicate:
        if node.args.get("query") is not None:
            raise Refusal("a subquery is not run while planning", "write the values as a list")
        folded = [fold_constants(value) for value in node.expressions]
        literals = [value for value in folded if isinstance(value, SparkLiteral)]
        if len(literals) < len(folded):
            raise Refusal("the list of IN holds more than literals", "write literals")
        column, values = self._column(node.this), [self._value(literal) for literal in literals]
        if is_about_times(column, values):
            return is_in_times(column, values, self._clocks)
        return is_in(column, values, ansi=self._ansi)

    def _is(self, node: exp.Is) -> Predicate:
        if node.expression.name != "NULL":
            raise Refusal(f"IS {node.expression.name} of what is no condition is a cast", "write a comparison")
        operand = fold_constants(node.this)
        if isinstance(operand, SparkLiteral):
            is_null = self._value(operand).kind is Kind.NULL
            return Constant(Outcomes.TRUE if is_null else Outcomes.FALSE)
        return IsNull(self._column(operand).path)

    def _null_safe(self, left: exp.Expr, right: exp.Expr) -> Predicate:
        left, right = fold_constants(left), fold_constants(right)
        if isinstance(left, SparkLiteral):
            left, right = right, left
        if not isinstance(right, SparkLiteral):
            raise _why_not(left, right)
        column, value = self._column(left), self._value(right)
        if value.kind is Kind.NULL:
            return IsNull(column.path)
        return IsTruth(self._compare_column(column, Op.EQ, value), Outcomes.TRUE)

    def _is_nan(self, node: exp.Expr) -> Predicate:
        column = self._column(node)
        if not pa.types.is_floating(column.type):
            raise Refusal("isnan() of what is no float is a cast")
        return IsNaN(column.path)

    def _is_boolean(self, node: ColumnName) -> bool:
        column = self._scope.resolve(node.parts_of_name).column
        return column is not None and pa.types.is_boolean(column.type)

    def _constant(self, node: SparkLiteral) -> Predicate:
        value = self._value(node)
        if value.kind is Kind.NULL:
            return NULL
        if value.kind is Kind.BOOLEAN:
            return Constant(Outcomes.TRUE if value.value else Outcomes.FALSE)
        raise self._no_condition(node)

    def _column(self, node: exp.Expr) -> LeafColumn:
        if not isinstance(node, ColumnName):
            raise _why_not(node)
        bound = self._scope.resolve(node.parts_of_name)
        if bound.column is None:
            raise Refusal(bound.reason, bound.remedy)
        if self._binary_as_string and pa.types.is_binary(bound.column.type):
            raise Refusal("with spark.sql.parquet.binaryAsString Spark reads a string here")
        return bound.column

    def _value(self, node: SparkLiteral) -> SparkValue:
        value = node.spark_value
        if value.name is not None and self._scope.has(value.name):
            raise Refusal(
                "in double quotes this is a string or a column, as spark.sql.ansi.doubleQuotedIdentifiers says",
                "write 'string' or `column`",
            )
        return value

    def _check_names(self, node: exp.Expr) -> None:
        for name in node.find_all(ColumnName):
            self._scope.resolve(name.parts_of_name)

    def _no_condition(self, node: exp.Expr) -> Exception:
        """Return why a value stands where a condition is expected."""
        problem = PredicateTypeError(f"{self._text(node)} is a value, not a condition; compare it with something")
        if isinstance(node, ColumnName):
            self._column(node)
            return problem
        if isinstance(node, SparkLiteral) and node.spark_value.kind is Kind.STRING:
            return Refusal("Spark casts a string to a condition here", "write a comparison")
        if isinstance(node, (SparkLiteral, exp.Tuple, *_ARITHMETIC)):
            return problem
        return _why_not(node)


def _why_not(*nodes: exp.Expr) -> Refusal:
    """Return the reason why none of the operands is a plain column beside a literal."""
    asked = [node for node in nodes if not isinstance(node, (SparkLiteral, ColumnName))]
    if not asked:
        several = any(isinstance(node, ColumnName) for node in nodes)
        return Refusal("two columns are not compared yet" if several else "no column is asked about")
    node = asked[0]
    if type(node) in _NOT_LOWERED:
        return Refusal(*_NOT_LOWERED[type(node)])
    if isinstance(node, Opaque):
        remedy = node.args.get("remedy")
        return Refusal(node.this, "" if remedy is None else remedy)
    if isinstance(node, exp.Anonymous):
        if node.this in CLOCK_FUNCTIONS:
            return Refusal(*NOW_IS_LATER)
        return Refusal(f"{node.this}() is not turned into a range yet", "compare the plain column")
    if isinstance(node, _ARITHMETIC):
        return Refusal("arithmetic is not turned into a range yet", "move the arithmetic to the literal's side")
    return Refusal("this is not a plain column", "compare a plain column with a literal")
