"""Lower a condition by itself: comparisons, lists, ranges, nulls, and calls that are TRUE or FALSE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, IsNaN, IsNull, IsTruth, Not, Op, Unsupported
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.binding.bind import BindingContext, bind, is_condition, test_of, why_not
from prune_assets.sql.binding.boolean_operators import compare_conditions, same_or_both_null
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import find
from prune_assets.sql.functions.terms import Fixed, literal_of
from prune_assets.sql.lowering.column_comparisons import compare_columns, same_columns
from prune_assets.sql.lowering.comparisons import NULL, beyond_bigint, compare, is_in, is_rounded, is_whole
from prune_assets.sql.lowering.term_comparisons import TermComparisons
from prune_assets.sql.lowering.time_comparisons import compare_times, is_about_times, is_in_times
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.simplify.fold_truth_test import fold_truth_test
from prune_assets.sql.simplify.join_conditions import join_conditions
from prune_assets.sql.simplify.join_ranges import interval
from prune_assets.sql.syntax.nodes import CastTo, ColumnName, SparkLiteral
from prune_assets.sql.syntax.operators import COMPARISONS, MIRRORED
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.domain import domain_of
from prune_assets.sql.types.floats import named_float
from prune_assets.sql.types.spark_values import Kind
from prune_assets.sql.types.timestamps import TIMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.binding.name_resolution import NameResolver
    from prune_assets.sql.functions.terms import Term
    from prune_assets.sql.types.session_clocks import Clocks
    from prune_assets.sql.types.spark_values import SparkValue

ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.BitwiseNot)


class LeafConditions:
    """Lowers what holds no AND, OR, NOT nor truth but inside its operands, which `condition` lowers.

    `sql`: the source of what is lowered. `count`: how many conditions were, of which one may be FALSE where another
    raises. `raising`: what is TRUE for every row on which none does.
    """

    def __init__(
        self,
        names: NameResolver,
        text: Callable[..., str],
        clocks: Clocks,
        condition: Callable[[exp.Expr], Predicate],
        semantics: SparkSemantics,
    ) -> None:
        self._names = names
        self._text = text
        self._clocks = clocks
        self._semantics = semantics
        self._ansi = semantics.ansi
        self._condition = condition
        named = (names.column, names.value)
        self._context = BindingContext(semantics, clocks, *named, condition, self._equal_terms, self._is_null_term)
        self.sql = ""
        self.count = 0
        self.raising: list[Predicate] = []

    def lower(self, node: exp.Expr) -> Predicate:
        """Return the condition as leaves; raises Refusal, PredicateTypeError and UnknownColumn."""
        op = COMPARISONS.get(type(node))
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
            case exp.Anonymous() if (test := test_of(node)) is not None:
                return self._test(test, node.expressions[0])
            case exp.Anonymous() if (function := find(node.name)) is not None and function.role is Role.RAISE:
                return Constant(Outcomes.UNKNOWN)
            case ColumnName() if self._names.is_boolean(node):
                return Compare(self._names.column(node).path, Op.EQ, scalar_of(1, pa.bool_()))
            case SparkLiteral():
                return self._constant(node)
            case exp.Case() | CastTo() | exp.Anonymous():
                return self._terms().truth(self._bind(node))
            case _:
                raise self._no_condition(node)

    def _test(self, test: Role, operand: exp.Expr) -> Predicate:
        if test is Role.IS_NAN:
            return self._is_nan(operand)
        is_null = self._is_null(operand)
        return is_null if test is Role.IS_NULL else negated(operand, is_null, self._text)

    # -- terms

    def _bind(self, node: exp.Expr) -> Term:
        return bind(node, self._context)

    def _terms(self) -> TermComparisons:
        return TermComparisons(self.sql, self.raising, self._semantics)

    def _equal_terms(self, left: Term, right: Term) -> Predicate:
        return self._terms().compare(left, Op.EQ, right)

    def _is_null_term(self, term: Term) -> Predicate:
        return self._terms().is_null(term)

    def constant(self, node: exp.Expr) -> SparkLiteral | None:
        """Return an operand as the literal that Spark folds it to, None where there is none."""
        try:
            value = self._bind(node).single
        except (Refusal, PredicateTypeError):
            return None
        return SparkLiteral(this=literal_of(value)) if isinstance(value, Fixed) else None

    # -- comparisons

    def _compare(self, left: exp.Expr, op: Op, right: exp.Expr) -> Predicate:
        for one, order, other in ((left, op, right), (right, MIRRORED.get(op, op), left)):
            if (known := _beyond_bigint(order, other)) is not None and self._is_whole_number(one):
                return known
        written = op in MIRRORED and SparkLiteral in {type(left), type(right)}
        left, right = fold_constants(left), fold_constants(right)
        left, right = self._literal_time(left, right), self._literal_time(right, left)
        if is_condition(left) or is_condition(right):
            return self._compare_conditions(left, op, right)
        if isinstance(left, ColumnName) and isinstance(right, ColumnName):
            return compare_columns(self._names.column(left), op, self._names.column(right), ansi=self._ansi)
        if isinstance(left, SparkLiteral):
            left, op, right = right, MIRRORED.get(op, op), left
        if not self._is_plain(left, [right], are_written_ends=written):
            return self._terms().compare(self._bind(left), op, self._bind(right))
        value = self._names.value(right)
        if value.kind is Kind.NULL:
            return NULL
        return self._compare_column(self._names.column(left), op, value)

    def _literal_time(self, node: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Return a constant timestamp beside a column as a literal, with which dates are compared as days."""
        if not isinstance(other, ColumnName) or isinstance(node, SparkLiteral) or node.find(ColumnName) is not None:
            return node
        found = self.constant(node)
        return node if found is None or found.spark_value.kind not in TIMES else found

    def _is_whole_number(self, node: exp.Expr) -> bool:
        """Tell whether Spark has a type of whole numbers for what is no literal."""
        if isinstance(node, SparkLiteral) or is_condition(node):
            return False
        if isinstance(node, ColumnName):
            return is_whole(self._names.column(node))
        return all(branch.value.type.kind is Kind.INTEGER for branch in self._bind(node).branches)

    def _compare_column(self, column: LeafColumn, op: Op, value: SparkValue) -> Predicate:
        if is_about_times(column, [value]):
            return compare_times(column, op, value, self._clocks)
        return compare(column, op, value, ansi=self._ansi)

    def _is_plain(
        self, operand: exp.Expr, others: Sequence[exp.Expr], *, are_listed: bool = False, are_written_ends: bool = False
    ) -> bool:
        """Tell whether a plain column meets literals that are not cast, nor make Spark cast the column.

        `are_written_ends`: each is a literal, not folded, beside one of `< <= > >=`.
        """
        if not all(isinstance(other, SparkLiteral) for other in others) or isinstance(operand, (SparkLiteral, CastTo)):
            return False
        if isinstance(operand, exp.Tuple):
            raise Refusal("rows are not compared", "compare their parts")
        if not isinstance(operand, ColumnName):
            return False
        column = self._names.column_of(operand.parts_of_name)
        if column is None or column.type is None:
            return True
        values = [self._names.value(other) for other in others]
        kinds = {value.kind for value in values}
        if domain_of(column.type) is not None:
            counts = not are_listed and self._semantics.minimum_precision
            are_cast = kinds & ({Kind.DOUBLE, Kind.STRING} if self._ansi else {Kind.DOUBLE})
            return not are_cast and not is_rounded(
                column, values, count_digits=counts, are_written_ends=are_written_ends
            )
        if not self._ansi or pa.types.is_date32(column.type):
            return not self._ansi or len(kinds) == 1
        named = all(value.kind is not Kind.STRING or _is_named(value) for value in values)
        return not pa.types.is_floating(column.type) or (named and (len(others) == 1 or Kind.STRING not in kinds))

    def _compare_conditions(self, left: exp.Expr, op: Op | None, right: exp.Expr) -> Predicate:
        """Compare two conditions; without an operator by `<=>`."""
        try:
            one, other = self._condition(left), self._condition(right)
        except PredicateTypeError as error:
            raise Refusal("Spark casts, or refuses, what is compared with a condition", "write a condition") from error
        for part in (one, other):
            if isinstance(part, Unsupported):
                raise Refusal(part.reason, part.remedy)
        return same_or_both_null(one, other) if op is None else compare_conditions(one, op, other)

    def _between(self, node: exp.Between) -> Predicate:
        value, least, most = (fold_constants(node.args[name]) for name in ("this", "low", "high"))
        if not any(map(is_condition, (value, least, most))) and isinstance(value, exp.Expr):
            ends = isinstance(least, SparkLiteral) and isinstance(most, SparkLiteral)
            beyond = [_beyond_bigint(Op.LE, node.args[name]) for name in ("low", "high")]
            written = all(isinstance(node.args[name], SparkLiteral) for name in ("low", "high"))
            if ends and beyond == [None, None] and not self._is_plain(value, [least, most], are_written_ends=written):
                return self._terms().between(self._bind(value), self._bind(least), self._bind(most))
        # Two conditions: one may be FALSE where the other raises.
        self.count += 1
        low, high = (self._end(node, op, node.args[name]) for op, name in ((Op.GE, "low"), (Op.LE, "high")))
        match low, high:
            case (part, Constant(Outcomes.TRUE)) | (Constant(Outcomes.TRUE), part):
                self.count -= 1
                return part
            case Unsupported(_, reason, remedy), Unsupported():
                raise Refusal(reason, remedy)
            case Compare(column, Op.GE, low_end), Compare(other, Op.LE, high_end) if column == other:
                return interval(column, low_end, high_end)
            case _:
                both = join_conditions((low, high))
                return And(both) if len(both) > 1 else both[0]

    def _end(self, node: exp.Between, op: Op, end: exp.Expr) -> Predicate:
        """Lower one half of a BETWEEN; one that is refused leaves the other."""
        try:
            return self._compare(node.this, op, end)
        except Refusal as refusal:
            half = f"{self._text(node.this)} {op} {self._text(end)}"
            return Unsupported(half, refusal.reason, refusal.remedy, is_whole=True)

    def _in(self, node: exp.In) -> Predicate:
        if node.args.get("query") is not None:
            raise Refusal("a subquery is not run while planning", "write the values as a list")
        operand = fold_constants(node.this)
        folded = [fold_constants(value) for value in node.expressions]
        if is_condition(operand) or any(map(is_condition, folded)):
            raise Refusal("conditions are not looked for in lists", "write the cases with OR")
        literals = [value for value in folded if isinstance(value, SparkLiteral)]
        if isinstance(operand, ColumnName) and self._is_plain(operand, folded, are_listed=True):
            column, values = self._names.column(operand), [self._names.value(literal) for literal in literals]
            if is_about_times(column, values):
                return is_in_times(column, values, self._clocks)
            return is_in(column, values, ansi=self._ansi)
        return self._terms().is_in(self._bind(operand), [self._bind(value) for value in folded])

    def _is(self, node: exp.Is) -> Predicate:
        if node.expression.name != "NULL":
            raise Refusal(f"IS {node.expression.name} of what is no condition is a cast", "write a comparison")
        return self._is_null(node.this)

    def _is_null(self, node: exp.Expr) -> Predicate:
        operand = fold_constants(node)
        if isinstance(operand, SparkLiteral):
            is_null = self._names.value(operand).kind is Kind.NULL
            return Constant(Outcomes.TRUE if is_null else Outcomes.FALSE)
        if is_condition(operand):
            inner = self._condition(operand)
            if isinstance(inner, Unsupported):
                raise Refusal(inner.reason, inner.remedy)
            return fold_truth_test(inner, Outcomes.NULL)
        if isinstance(operand, ColumnName):
            return IsNull(self._names.nullable(operand).path)
        return self._terms().is_null(self._bind(operand))

    def _null_safe(self, left: exp.Expr, right: exp.Expr) -> Predicate:
        left, right = fold_constants(left), fold_constants(right)
        if is_condition(left) or is_condition(right):
            return self._compare_conditions(left, None, right)
        if isinstance(left, ColumnName) and isinstance(right, ColumnName):
            return same_columns(self._names.column(left), self._names.column(right), ansi=self._ansi)
        if isinstance(left, SparkLiteral):
            left, right = right, left
        if not isinstance(left, ColumnName) or not self._is_plain(left, [right]):
            return self._terms().null_safe(self._bind(left), self._bind(right))
        column, value = self._names.column(left), self._names.value(right)
        if value.kind is Kind.NULL:
            return IsNull(column.path)
        return IsTruth(self._compare_column(column, Op.EQ, value), Outcomes.TRUE)

    def _is_nan(self, node: exp.Expr) -> Predicate:
        if not isinstance(node, ColumnName):
            return self._terms().is_nan(self._bind(node))
        column = self._names.column(node)
        if not pa.types.is_floating(column.type):
            raise Refusal("isnan() of what is no float is a cast")
        return IsNaN(column.path)

    def _constant(self, node: SparkLiteral) -> Predicate:
        value = self._names.value(node)
        if value.kind is Kind.NULL:
            return NULL
        if value.kind is Kind.BOOLEAN:
            return Constant(Outcomes.TRUE if value.value else Outcomes.FALSE)
        raise self._no_condition(node)

    def _no_condition(self, node: exp.Expr) -> Exception:
        """Return why a value stands where a condition is expected."""
        problem = PredicateTypeError(f"{self._text(node)} is a value, not a condition; compare it with something")
        cast = Refusal("Spark casts a string to a condition here", "write a comparison")
        if isinstance(node, ColumnName):
            return cast if pa.types.is_string(self._names.column(node).type) else problem
        if isinstance(node, SparkLiteral) and node.spark_value.kind is Kind.STRING:
            return cast
        if isinstance(node, (SparkLiteral, exp.Tuple, *ARITHMETIC)):
            return problem
        return why_not(node)


def negated(node: exp.Expr, inner: Predicate, text: Callable[..., str]) -> Predicate:
    """Return the opposite of a lowered condition, `node` being the negation as written."""
    match inner:
        case Not(child):
            return child
        case Unsupported(_, _, _, rewrite):
            # The source of `s NOT LIKE 'a'` holds no text that is its operand alone.
            opposite = f"NOT ({rewrite})" if rewrite else ""
            return replace(inner, sql=text(node), rewrite=opposite)
        case _:
            return Not(inner)


def _beyond_bigint(op: Op, node: exp.Expr) -> Constant | None:
    return beyond_bigint(op, node.spark_value) if isinstance(node, SparkLiteral) else None


def _is_named(text: SparkValue) -> bool:
    """Tell whether a string is what NaN or an infinity is called."""
    return named_float(str(text.value)) is not None
