"""Lower the tree of a predicate: connectives, truth tests, and conditions with propagated constants."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import And, Cause, Not, Or, Unsupported, leaves
from prune_assets.errors import PredicateSyntaxError, PredicateTypeError
from prune_assets.sql.functions.terms import check_size
from prune_assets.sql.lowering.formatted_dates import date_condition
from prune_assets.sql.lowering.leaf_conditions import (
    ARITHMETIC,
    Guards,
    LeafCondition,
    LoweringContext,
    is_boolean,
    negated,
)
from prune_assets.sql.lowering.nested_columns import refuse_nested
from prune_assets.sql.lowering.null_propagation import null_with
from prune_assets.sql.lowering.patterns import lower_pattern
from prune_assets.sql.lowering.raising_constants import constant_raises
from prune_assets.sql.lowering.rewrite_of import rewrite_of
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.simplify.flatten import fold_truth_test
from prune_assets.sql.simplify.join_date_parts import join_date_parts
from prune_assets.sql.simplify.propagate_constants import may_be_refined, propagate_constants, substitute_constants
from prune_assets.sql.simplify.rules import all_of, any_of
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.parsed import MAX_DEPTH, chain_of
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import UNCERTAIN_TIME
from prune_assets.sql.types.zones import Clocks, UncertainTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.simplify.propagate_constants import Known
    from prune_assets.sql.syntax.parsed import ParsedPredicate


_FAR_YEARS = "the condition is evaluated only for dates from 1583 to 9999"


def operands_of(node: nodes.SyntaxNode) -> Sequence[nodes.SyntaxNode]:
    """Return the operands of an AND, OR or NOT; empty for other nodes.

    In an AND, conditions on parts of one date are joined.
    """
    match node:
        case nodes.Negation(operand):
            return [_drop_double_negation(operand)]
        case nodes.Conjunction():
            return join_date_parts(chain_of(node, nodes.Conjunction))
        case nodes.Disjunction():
            return chain_of(node, nodes.Disjunction)
        case _:
            return []


def _drop_double_negation(node: nodes.SyntaxNode) -> nodes.SyntaxNode:
    while isinstance(node, nodes.Negation) and isinstance(node.operand, nodes.Negation):
        node = node.operand.operand
    return node


_MAX_DEPTH = 20


class Conditions:
    """Lowers conditions on the columns of one table.

    `parsed`: the predicate that contains the conditions, with bound names.
    `on_rows`: if True, a condition that ranges of values cannot express is tested on rows; otherwise it is refused.
    `constants`: known values of columns. If a condition is refused, it is lowered again with these values.
    `written`: for each node that lowering built, the parsed node that it replaces.
    """

    def __init__(
        self,
        parsed: ParsedPredicate,
        semantics: SparkSemantics,
        *,
        on_rows: bool = False,
        constants: Known | None = None,
        written: dict[nodes.SyntaxNode, nodes.SyntaxNode] | None = None,
    ) -> None:
        self._parsed = parsed
        # Parsed node of each node that lowering built; messages show its text.
        self._written = {} if written is None else written
        self._guards = Guards()
        self._context = LoweringContext(
            parsed, semantics, Clocks.of(semantics), self._nested, self._guards, on_rows=on_rows
        )
        self._depth = 0
        self._constants = constants
        self._substituted = 0

    def lower_conjuncts(self, tree: nodes.SyntaxNode) -> list[tuple[Predicate, ...]]:
        """Lower each operand of the topmost AND, or the whole predicate.

        Each result is followed by a copy with known constants substituted, if the copy prunes more. A row on which a
        part raises never counts as TRUE. Raises PredicateTypeError, and PredicateSyntaxError if the predicate is nested
        too deeply.
        """
        operands = self._operands_of(tree) if isinstance(tree, nodes.Conjunction) else [tree]
        lowered = [self._lower_conjunct(operand) for operand in operands]
        return propagate_constants(lambda: operands, lowered, self.lower_with_constants)

    def lower_part(self, root: nodes.SyntaxNode) -> Predicate:
        """Lower a part of a conjunct. The result is unknown for rows on which Spark raises an error.

        Raises PredicateTypeError and PredicateSyntaxError as `lower_conjuncts`.
        """
        lowered, guards = self.lower_tree(root), self._guards.take()
        return Or((And((lowered, *guards)), Not(all_of(guards)))) if guards else lowered

    def _lower_conjunct(self, root: nodes.SyntaxNode) -> Predicate:
        lowered = self.lower_tree(root)
        guards = self._guards.take()
        return And((lowered, *guards)) if guards else lowered

    def lower_tree(self, root: nodes.SyntaxNode) -> Predicate:
        """Lower a tree bottom-up, chains of one connective as one node. Raises as `lower_conjuncts`."""
        done: list[Predicate] = []
        stack: list[tuple[nodes.SyntaxNode, int, int]] = [(root, 0, 1)]
        while stack:
            node, count, depth = stack.pop()
            children = [] if count else self._operands_of(node)
            if count:
                operands = tuple(done[-count:])
                done[-count:] = [self._connect(node, operands)]
            elif children:
                if depth > MAX_DEPTH:
                    raise PredicateSyntaxError(
                        f"predicate: AND, OR and NOT are nested deeper than {MAX_DEPTH:,} levels"
                    )
                stack.append((node, len(children), depth))
                stack.extend((child, 0, depth + 1) for child in reversed(children))
            else:
                done.append(self.lower(node))
        return done.pop()

    def _operands_of(self, node: nodes.SyntaxNode) -> Sequence[nodes.SyntaxNode]:
        if isinstance(node, nodes.TruthTest) and self._is_truth_test(node.operand):
            return [node.operand]
        operands = operands_of(node)
        if isinstance(node, nodes.Conjunction):
            self._written |= dict(zip(operands, chain_of(node, nodes.Conjunction), strict=True))
        return operands

    def _source(self, node: nodes.SyntaxNode) -> ParsedPredicate:
        """Return the source of a node; for a node that lowering built, of the parsed node that it replaces."""
        return self._parsed.part(self._written.get(node, node))

    def _connect(self, node: nodes.SyntaxNode, operands: tuple[Predicate, ...]) -> Predicate:
        if isinstance(node, nodes.Negation):
            return negated(node, operands[0], self._parsed)
        if isinstance(node, nodes.TruthTest):
            return self._lower_truth_test(node, operands[0])
        is_or = isinstance(node, nodes.Disjunction)
        parts = propagate_constants(lambda: self._operands_of(node), operands, self.lower_with_constants, of_or=is_or)
        return (any_of if is_or else all_of)([*chain.from_iterable(parts)])

    def lower(self, node: nodes.SyntaxNode) -> Predicate:
        """Lower a condition to leaves. Raises PredicateTypeError."""
        self._guards.count += 1
        leaf = LeafCondition(self._context, self._parsed.text(node))
        try:
            pattern = lower_pattern(node, self._parsed)
            lowered = leaf.lower(node) if pattern is None else pattern
            check_size([lowered])
        except UncertainTime:
            unknown = Unsupported(
                *(leaf.sql, *UNCERTAIN_TIME),
                null_with=null_with(node),
                is_whole=True,
                cause=Cause.CLOCKS_CHANGE,
                source=self._source(node),
            )
            return self._lower_constants(node, leaf) or unknown
        except Refusal as refusal:
            refuse_nested(node, self.constant)
            if (refined := self._lower_constants(node, leaf)) is not None:
                return refined
            sql, exact = rewrite_of(node) or ("", False)
            operands = (node.operand, *node.listed()) if isinstance(node, nodes.ListTest) else node.children()
            raises = any(constant_raises(operand, refusal) for operand in operands)
            unsupported = Unsupported(
                *(leaf.sql, refusal.reason, refusal.remedy, sql, exact, null_with(node)),
                is_whole=True,
                raises=raises,
                no_value=refusal.no_value,
                cause=refusal.cause,
                source=self._source(node),
            )
            return self._lower_date_format(node, unsupported, leaf) or unsupported
        else:
            is_refined = self._constants and any(map(may_be_refined, leaves(lowered)))
            return (self._lower_constants(node, leaf) if is_refined else None) or lowered

    @property
    def raising(self) -> Sequence[Predicate]:
        """Predicates that are all TRUE for every row on which no lowered condition raises."""
        return tuple(self._guards.raising)

    def lower_with_constants(self, node: nodes.SyntaxNode, constants: Known) -> Predicate | None:
        """Lower a part again with known constants in place of columns; None if that changes nothing.

        The caller adds the result to the part. The part itself still decides whether a row may raise.
        """
        if self._constants is not None:
            return None
        _, semantics, *_, on_rows = self._context
        again = Conditions(self._parsed, semantics, on_rows=on_rows, constants=constants, written=self._written)
        lowered = again.lower_tree(node)
        return lowered if again._substituted else None

    def _lower_constants(self, node: nodes.SyntaxNode, leaf: LeafCondition) -> Predicate | None:
        """Lower a refused condition with constants in place of columns; None if it is still refused."""
        instead = substitute_constants(node, self._constants) if self._constants else None
        if instead is None:
            return None
        try:
            lowered = leaf.lower(instead)
            check_size([lowered])
        except (Refusal, UncertainTime, PredicateTypeError):
            return None
        self._substituted += 1
        return lowered

    def _lower_date_format(
        self, node: nodes.SyntaxNode, unsupported: Unsupported, leaf: LeafCondition
    ) -> Predicate | None:
        """Lower a condition on a formatted date to a condition on the date.

        The predicate is `unsupported` for dates in years in which the two conditions differ. Returns None for a node
        that is not a condition on a formatted date.
        """
        dates = date_condition(node)
        if dates is None:
            return None
        raising = len(self._guards.raising)
        try:
            in_range, *one_of = (leaf.lower(part) for part in (dates.in_range, *dates.one_of))
        except (Refusal, UncertainTime, PredicateTypeError):
            del self._guards.raising[raising:]
            return None
        meaning = all_of([in_range, Not(any_of(one_of))]) if dates.negated else any_of(one_of)
        # `is_whole` is False, because tests on column values are slow, and the conditions on dates already decide all
        # except far years.
        far = replace(unsupported, is_whole=False, reason=_FAR_YEARS, remedy="", cause=Cause.FAR_YEARS)
        return any_of([meaning, all_of([Not(in_range), far])])

    def constant(self, node: nodes.SyntaxNode) -> nodes.Literal | None:
        """Return the literal to which Spark folds an operand; None if it is not a constant."""
        return LeafCondition(self._context, "").constant(node)

    def _is_truth_test(self, operand: nodes.SyntaxNode) -> bool:
        """Return whether the operand of IS TRUE, FALSE or UNKNOWN is boolean; Spark casts other operands to boolean."""
        if isinstance(operand, nodes.Column):
            return is_boolean(operand)
        if isinstance(operand, nodes.Literal):
            return operand.value.kind in {ValueKind.NULL, ValueKind.BOOLEAN}
        return not isinstance(operand, (nodes.Row, *ARITHMETIC))

    def _lower_truth_test(self, node: nodes.TruthTest, inner: Predicate) -> Predicate:
        """Return `inner IS TRUE`, `IS FALSE` or `IS UNKNOWN`, as `node` states."""
        if isinstance(inner, Unsupported) and not inner.null_with:
            rewrite = f"({inner.rewrite}) IS {nodes.TRUTH_NAMES[node.truth]}" if inner.rewrite else ""
            source = self._source(node)
            return replace(inner, sql=self._parsed.text(node), rewrite=rewrite, source=source)
        if isinstance(inner, Unsupported):
            inner = replace(inner, sql=self._parsed.text(node.operand, brackets=False))
        return fold_truth_test(inner, node.truth)

    def _nested(self, node: nodes.SyntaxNode) -> Predicate:
        """Lower a condition inside an operand."""
        if self._depth >= _MAX_DEPTH:
            raise Refusal(f"conditions inside operands deeper than {_MAX_DEPTH} levels are not supported")
        self._depth += 1
        try:
            return self.lower_tree(node)
        finally:
            self._depth -= 1
