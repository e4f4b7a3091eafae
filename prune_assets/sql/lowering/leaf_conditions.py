"""Lower single conditions: comparisons, lists, ranges, null tests, and boolean calls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, Constant, IsNull, Not, Op, Unsupported
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.binding.bind import Binder, BindingContext, column_of, is_condition, test_of, why_not
from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import find
from prune_assets.sql.functions.terms import NULL, Fixed, literal_of
from prune_assets.sql.lowering.comparisons import Comparisons, beyond_bigint
from prune_assets.sql.lowering.plain_lists import in_plain_list
from prune_assets.sql.lowering.raising_constants import constant_raises
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.simplify.flatten import fold_truth_test
from prune_assets.sql.simplify.rules import all_of
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.nodes import MIRRORED
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.functions.terms import Term
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate
    from prune_assets.sql.types.zones import Clocks

ARITHMETIC = (nodes.Arithmetic, nodes.Negative, nodes.BitwiseNot)


@dataclass(slots=True)
class Guards:
    """Guards against rows on which Spark may raise an error.

    `count`: number of lowered conditions. If there are several, one may be FALSE on a row on which another raises.
    `raising`: for each condition that may raise, a predicate that is TRUE for the rows on which it does not.
    """

    count: int = 0
    raising: list[Predicate] = field(default_factory=list)

    def take(self) -> tuple[Predicate, ...]:
        """Return each guard once, and reset the guards and the count.

        Returns () for a single condition: its predicate includes its guard, and no other condition can hide its error.
        """
        guards: list[Predicate] = []
        for guard in self.raising if self.count > 1 else ():
            if guard not in guards:
                guards.append(guard)
        self.count = 0
        self.raising.clear()
        return tuple(guards)


class LoweringContext(NamedTuple):
    """Session, predicate with bound names, and the function that lowers nested conditions.

    `condition`: function that lowers a condition inside an operand.
    `on_rows`: if True, a condition that ranges of values cannot express is tested on rows; otherwise it is refused.
    """

    parsed: ParsedPredicate
    semantics: SparkSemantics
    clocks: Clocks
    condition: Callable[[nodes.SyntaxNode], Predicate]
    guards: Guards
    on_rows: bool


class LeafCondition:
    """Lowers a condition without connectives and truth tests, except inside its operands.

    `sql`: source of the condition.
    """

    def __init__(self, context: LoweringContext, sql: str) -> None:
        self._parsed, self._semantics, clocks, self._condition, self._guards, self._on_rows = context
        self.sql = sql
        binding = BindingContext(self._semantics, clocks, self._condition, self._equal_terms, self._is_null_term)
        self._bind = Binder(binding).operand

    def lower(self, node: nodes.SyntaxNode) -> Predicate:
        """Lower the condition to leaves. Raises Refusal and PredicateTypeError."""
        match node:
            case nodes.Comparison(left, right, op):
                return self._compared_with_truth(node) or self._compare(left, op, right)
            case nodes.Between():
                return self._between(node)
            case nodes.ListTest():
                return self._lower_list(node)
            case nodes.InSubquery():
                raise Refusal("a subquery is not run while planning", "write the values as a list")
            case nodes.NullTest(operand):
                return self._is_null(operand)
            case nodes.NullSafe(left, right, is_same):
                same = self._null_safe(left, right)
                return same if is_same else Not(same)
            case nodes.TruthTest(_, truth):
                problem = f"IS {nodes.TRUTH_NAMES[truth]} casts an operand that is not a condition"
                raise Refusal(problem, "write a comparison")
            case _:
                return self._single(node)

    def _single(self, node: nodes.SyntaxNode) -> Predicate:
        """Lower a condition without an operator, such as a boolean column or a call."""
        match node:
            case nodes.Call() if (test := test_of(node)) is not None:
                return self._test(test, node)
            case nodes.Call() if (function := find(node.name)) is not None and function.role is Role.RAISE:
                return Constant(Outcomes.UNKNOWN)
            case nodes.Column() if is_boolean(node):
                return Compare(column_of(node).path, Op.EQ, scalar_of(1, pa.bool_()))
            case nodes.Literal():
                return self._constant(node)
            case nodes.Case() | nodes.Cast() | nodes.Call():
                return self._terms().truth(self._bind(node))
            case _:
                raise self._no_condition(node)

    def _test(self, test: Role, node: nodes.Call) -> Predicate:
        (operand,) = node.arguments
        if test is Role.IS_NAN:
            return self._terms().is_nan(self._bind(operand))
        is_null = self._is_null(operand)
        return is_null if test is Role.IS_NULL else negated(node, is_null, self._parsed)

    # -- terms

    def _terms(self) -> Comparisons:
        return Comparisons(self.sql, self._guards.raising, self._semantics, on_rows=self._on_rows)

    def _equal_terms(self, left: Term, right: Term) -> Predicate:
        return self._terms().compare(left, Op.EQ, right)

    def _is_null_term(self, term: Term) -> Predicate:
        return self._terms().is_null(term)

    def constant(self, node: nodes.SyntaxNode) -> nodes.Literal | None:
        """Return the literal to which Spark folds an operand; None if it is not a constant."""
        try:
            value = self._bind(node).single
            return nodes.Literal(literal_of(value)) if isinstance(value, Fixed) else None
        except (Refusal, PredicateTypeError):
            return None

    # -- comparisons

    def _compare(self, left: nodes.SyntaxNode, op: Op, right: nodes.SyntaxNode) -> Predicate:
        for operand, order, other in ((left, op, right), (right, MIRRORED.get(op, op), left)):
            if (folded := _fold_beyond_bigint(order, other)) is not None and self._is_whole_number(operand):
                return folded
        if any(
            isinstance(operand, nodes.Column) and _is_null(other) for operand, other in ((left, right), (right, left))
        ):
            return NULL
        return self._terms().compare(self._bind(left), op, self._bind(right))

    def _compared_with_truth(self, node: nodes.Comparison) -> Predicate | None:
        """Lower `condition = TRUE` or `condition = FALSE`; None for other comparisons."""
        if (compared := compared_with_truth(node)) is None:
            return None
        condition, truth = compared
        inner = self._condition(condition)
        return inner if truth else negated(nodes.Negation(condition, span=node.span), inner, self._parsed)

    def _is_whole_number(self, node: nodes.SyntaxNode) -> bool:
        """Return whether an operand that is not a literal has an integer type in Spark."""
        if isinstance(node, nodes.Literal) or is_condition(node):
            return False
        return all(branch.value.type.kind is ValueKind.INTEGER for branch in self._bind(node).branches)

    def _between(self, node: nodes.Between) -> Predicate:
        value, least, most = node.operand, node.low, node.high
        beyond = [_fold_beyond_bigint(Op.LE, end) for end in (least, most)]
        if beyond == [None, None] and not any(end.has(nodes.Column) for end in (least, most)):
            # If one end is refused, the other end may prune.
            with suppress(Refusal):
                return self._terms().between(*map(self._bind, (value, least, most)))
        # A BETWEEN is two conditions: one may be FALSE where the other raises.
        self._guards.count += 1
        low, high = self._end(node, Op.GE, least), self._end(node, Op.LE, most)
        if Constant(Outcomes.TRUE) in (low, high):
            self._guards.count -= 1
            return high if low == Constant(Outcomes.TRUE) else low
        if isinstance(low, Unsupported) and isinstance(high, Unsupported):
            raise Refusal(low.reason, low.remedy, no_value=low.no_value or high.no_value, cause=low.cause)
        return all_of((low, high))

    def _end(self, node: nodes.Between, op: Op, end: nodes.SyntaxNode) -> Predicate:
        """Lower one half of a BETWEEN; a refused half becomes Unsupported, so that the other may prune."""
        try:
            return self._compare(node.operand, op, end)
        except Refusal as refusal:
            half = f"{self._operand_text(node.operand)} {op} {self._operand_text(end)}"
            raises = constant_raises(end, refusal)
            return Unsupported(
                *(half, refusal.reason, refusal.remedy),
                is_whole=True,
                raises=raises,
                no_value=refusal.no_value,
                cause=refusal.cause,
                source=self._parsed.part(nodes.Comparison(node.operand, end, op, span=node.span)),
            )

    def _operand_text(self, node: nodes.SyntaxNode) -> str:
        """Return the source of an operand of a comparison, in brackets if the operand has the form of a condition."""
        source = self._parsed.text(node)
        return f"({source})" if is_condition(node) else source

    def _lower_list(self, node: nodes.ListTest) -> Predicate:
        term = self._bind(node.operand)
        if (membership := in_plain_list(term, node)) is not None:
            return membership
        return self._terms().is_in(term, [self._bind(value) for value in node.listed()])

    def _is_null(self, node: nodes.SyntaxNode) -> Predicate:
        if is_condition(node) and not isinstance(inner := self._condition(node), Unsupported):
            return fold_truth_test(inner, Outcomes.NULL)
        if isinstance(node, nodes.Column) and (path := _null_path(node, on_rows=self._on_rows)) is not None:
            return IsNull(path)
        return self._terms().is_null(self._bind(node))

    def _null_safe(self, left: nodes.SyntaxNode, right: nodes.SyntaxNode) -> Predicate:
        return self._terms().null_safe(self._bind(left), self._bind(right))

    def _constant(self, node: nodes.Literal) -> Predicate:
        if node.value.kind is ValueKind.NULL:
            return NULL
        if node.value.kind is ValueKind.BOOLEAN:
            return Constant(Outcomes.TRUE if node.value.value else Outcomes.FALSE)
        raise self._no_condition(node)

    def _no_condition(self, node: nodes.SyntaxNode) -> Exception:
        """Return the exception for a value where a condition is required."""
        problem = PredicateTypeError(
            f"{self._parsed.text(node)} is a value, not a condition; compare it with something"
        )
        cast = Refusal("Spark casts a string to a condition here", "write a comparison")
        if isinstance(node, nodes.Column):
            return cast if pa.types.is_string(column_of(node).type) else problem
        if isinstance(node, nodes.Literal) and node.value.kind is ValueKind.STRING:
            return cast
        if isinstance(node, (nodes.Literal, nodes.Row, *ARITHMETIC)):
            return problem
        return why_not(node)


def is_boolean(name: nodes.Column) -> bool:
    """Return whether a name refers to a boolean column."""
    column = name.bound.column
    return column is not None and pa.types.is_boolean(column.type)


def _null_path(name: nodes.Column, *, on_rows: bool) -> Path | None:
    """Return the path that a null test of a name reads; None for a column of nulls.

    `on_rows`: if True, a struct, list or map has a path too.
    """
    bound = name.bound
    if on_rows and bound.group is not None:
        return bound.group
    column = column_of(name) if bound.nullable is None else bound.nullable
    return None if column.type is not None and pa.types.is_null(column.type) else column.path


def negated(node: nodes.SyntaxNode, inner: Predicate, parsed: ParsedPredicate) -> Predicate:
    """Return the opposite of a lowered condition.

    `node`: the negation as written.
    """
    match inner:
        case Not(child):
            return child
        case Unsupported(_, _, _, rewrite):
            # The source `s NOT LIKE 'a'` does not contain the text of the inner condition, `s LIKE 'a'`.
            opposite = f"NOT ({rewrite})" if rewrite else ""
            return replace(inner, sql=parsed.text(node), rewrite=opposite, source=parsed.part(node))
        case _:
            return Not(inner)


def _is_null(node: nodes.SyntaxNode) -> bool:
    return isinstance(node, nodes.Literal) and node.value.kind is ValueKind.NULL


def compared_with_truth(node: nodes.SyntaxNode) -> tuple[nodes.SyntaxNode, bool] | None:
    """Return the condition and the literal of `condition = TRUE` or `= FALSE`; None for other nodes."""
    match node:
        case nodes.Comparison(left, right, Op.EQ):
            for condition, other in ((left, right), (right, left)):
                if is_condition(condition) and (truth := _truth(other)) is not None:
                    return condition, truth
    return None


def _truth(node: nodes.SyntaxNode) -> bool | None:
    """Return the value of TRUE or FALSE; None for other nodes."""
    return bool(node.value.value) if isinstance(node, nodes.Literal) and node.value.kind is ValueKind.BOOLEAN else None


def _fold_beyond_bigint(op: Op, node: nodes.SyntaxNode) -> Constant | None:
    return beyond_bigint(op, node.value) if isinstance(node, nodes.Literal) else None
