"""Translate Spark SQL to the filters that Spark's optimizer passes to its data sources.

Spark pushes down only comparisons of plain columns with literals. It does not push down functions of a column, which
this project rewrites to prune. So a leaf is lowered as usual, but it becomes a filter only if it has that plain form.
Source: observed with Spark 3.5 to 4.3 (BooleanSimplification, OptimizeIn, UnwrapCastInBinaryComparison,
InferFiltersFromConstraints, DataSourceStrategy.translateFilter).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    Constant,
    Contains,
    EndsWith,
    In,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    StartsWith,
    Unsupported,
)
from prune_assets.planner.spark_reader.spark_filters import Filter, Opaque, Rel, Truth, Values, all_of, any_of, opposite
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.functions.entry import AFFIXES
from prune_assets.sql.functions.registry import find
from prune_assets.sql.lowering.conditions import Conditions
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.parsed import chain_of
from prune_assets.sql.types.domain import domain_of, is_at_end, scalar
from prune_assets.sql.types.spark_types import DATE, type_of_column
from prune_assets.sql.types.spark_values import DIGITS_OF_BITS, MAX_DIGITS, ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter
    from prune_assets.planner.spark_reader.spark_profile import SparkProfile
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate
    from prune_assets.sql.types.spark_values import SparkValue

# Nodes that are NULL if an operand is NULL; Spark calls them null intolerant.
_STRICT = (nodes.Comparison, nodes.Arithmetic, nodes.Negative, nodes.LikeTest, nodes.Between)
_TRUE = scalar_of(value=True, arrow_type=pa.bool_())
_PATTERNS: dict[type, Rel] = {StartsWith: Rel.PREFIX, EndsWith: Rel.SUFFIX, Contains: Rel.CONTAINS}
# Spark removes casts between these types from the column, in both directions.
_UNWRAPPED = ({ValueKind.DATE}, {ValueKind.DATE, ValueKind.TIMESTAMP}, {ValueKind.DATE, ValueKind.TIMESTAMP_NTZ})


def as_spark_filters(
    conjuncts: Sequence[ParsedPredicate | None], *, semantics: SparkSemantics, profile: SparkProfile
) -> SparkFilter:
    """Return the filters of Spark's data sources for bound conjuncts; a conjunct that was not parsed is None."""
    filters = [
        Opaque() if parsed is None else _Filters(Conditions(parsed, semantics), semantics, profile).of(parsed.tree)
        for parsed in conjuncts
    ]
    return filters[0] if len(filters) == 1 else all_of(filters)


# Deeper nodes count as not pushed down.
_MAX_DEPTH = 100


class _Filters:
    """Translate a predicate tree; negations move down to the leaves."""

    def __init__(self, conditions: Conditions, semantics: SparkSemantics, profile: SparkProfile) -> None:
        self._conditions = conditions
        self._semantics = semantics
        self._profile = profile

    def of(self, node: nodes.SyntaxNode, *, negated: bool = False, depth: int = 0) -> SparkFilter:
        while isinstance(node, nodes.Negation):
            node, negated = node.operand, not negated
        if depth > _MAX_DEPTH:
            return Opaque()
        if isinstance(node, nodes.Conjunction | nodes.Disjunction):
            connective = nodes.Conjunction if isinstance(node, nodes.Conjunction) else nodes.Disjunction
            children = [self.of(child, negated=negated, depth=depth + 1) for child in chain_of(node, connective)]
            return all_of(children) if (connective is nodes.Conjunction) != negated else any_of(children)
        return self._leaf(node, negated=negated)

    def _leaf(self, node: nodes.SyntaxNode, *, negated: bool) -> SparkFilter:
        if isinstance(node, nodes.TruthTest):
            return self._is_truth(node, negated=negated)
        node = self._folded(node)
        if not (_is_plain(node, self._profile) or self._is_unwrapped(node)) or self._casts_column(node):
            return Opaque(tuple(self._strict_columns(node)))
        lowered = self._conditions.lower(node)
        if isinstance(node, nodes.Between) and isinstance(lowered, In):
            # The BETWEEN was lowered to a list of successive values, but Spark pushes it down as a range.
            lowered = Interval(lowered.column, lowered.values[0], lowered.values[-1])
        elif isinstance(node, nodes.Between) and isinstance(lowered, Compare) and lowered.op is Op.EQ:
            lowered = Interval(lowered.column, lowered.value, lowered.value)
        in_reverse = isinstance(node, nodes.Between) and not isinstance(lowered, Interval)
        if in_reverse or isinstance(lowered, Unsupported):
            return Opaque(tuple(self._strict_columns(node)))
        return filters_of(lowered, negated=negated)

    def _folded(self, node: nodes.SyntaxNode) -> nodes.SyntaxNode:
        """Replace constant operands of a condition by literals (ConstantFolding)."""
        if not isinstance(node, (nodes.Comparison, nodes.NullSafe, nodes.Between, nodes.ListTest)):
            return node
        return node.with_children([self._constant(it) or it for it in node.children()])

    def _constant(self, operand: nodes.SyntaxNode) -> nodes.SyntaxNode | None:
        literal = self._conditions.constant(operand) if _may_fold(operand) else None
        return None if literal is None else nodes.mark(literal, operand.span)

    def _is_unwrapped(self, node: nodes.SyntaxNode) -> bool:
        """Return True if Spark casts the literal instead of the column (UnwrapCastInBinaryComparison)."""
        if not isinstance(node, (nodes.Comparison, nodes.Between)):
            return False
        operands = list(node.children())
        casts = [it for it in operands if not isinstance(fold_constants(it), nodes.Literal)]
        return len(casts) == 1 and self._is_lossless_cast(casts[0])

    def _is_lossless_cast(self, node: nodes.SyntaxNode) -> bool:
        match node:
            case nodes.Cast(inner, to, is_try=False):
                pass
            case nodes.Call(name, [inner]) if (function := find(name)) and function.casts_to == DATE:
                to = DATE
            case _:
                return False
        column = inner.bound.column if isinstance(inner, nodes.Column) else None
        spark_type = None if column is None or column.type is None else type_of_column(column.type)
        if spark_type is None or to is None:
            return False
        if spark_type.kind is ValueKind.INTEGER and to.kind is ValueKind.INTEGER:
            return bool(spark_type.bits <= to.bits)
        if spark_type.kind is ValueKind.DATE and to.kind is not ValueKind.DATE and not self._profile.unwraps_dates:
            return False
        return {spark_type.kind, to.kind} in _UNWRAPPED

    def _casts_column(self, node: nodes.SyntaxNode) -> bool:
        """Return True if Spark compares a cast of the column, and not the column itself.

        Spark removes such a cast, unless the cast may lose digits or `_is_cast_for_good` is True for it.
        """
        operands = [fold_constants(operand) for operand in node.children()]
        columns = [it.bound.column for it in operands if isinstance(it, nodes.Column)]
        decimals = [column for column in columns if column is not None and pa.types.is_decimal(column.type)]
        if decimals and isinstance(node, nodes.ListTest) and node.source:
            operands += node.listed()
        values = [it.value for it in operands if isinstance(it, nodes.Literal)]
        if any(self._is_cast_for_good(node, column, values) for column in columns if column is not None):
            return True
        counts = self._semantics.minimum_precision and not isinstance(node, nodes.ListTest)
        if any(value.kind is ValueKind.DOUBLE for value in values) and any(map(_is_inexact_as_double, columns)):
            return True
        return any(_is_rounded(column.type, values, count_digits=counts) for column in decimals)

    def _is_cast_for_good(self, node: nodes.SyntaxNode, column: LeafColumn, values: Sequence[SparkValue]) -> bool:
        """Return True if Spark casts the column to a type from which it never removes the cast.

        These are the casts of a date to a timestamp, and of a column to string for a list that contains strings.
        """
        if column.type is None or pa.types.is_string(column.type):
            return False
        if isinstance(node, nodes.ListTest) and not self._semantics.ansi:
            return node.strings() is not None or any(value.kind is ValueKind.STRING for value in values)
        as_moment = any(value.kind in {ValueKind.TIMESTAMP, ValueKind.TIMESTAMP_NTZ} for value in values)
        return as_moment and pa.types.is_date32(column.type) and not self._profile.unwraps_dates

    def _is_truth(self, node: nodes.TruthTest, *, negated: bool) -> SparkFilter:
        """Return the filter of a truth test such as `flag IS TRUE`, which Spark pushes down as `flag <=> TRUE`.

        A truth test of anything but a plain column is not pushed down.
        """
        leaf = self._leaf(node.operand, negated=False) if isinstance(node.operand, nodes.Column) else Opaque()
        if not isinstance(leaf, Filter):
            return Opaque()
        same = (
            Filter(leaf.column, Rel.IS_NULL)
            if node.truth is Outcomes.NULL
            else Filter(leaf.column, Rel.EQ, (scalar_of(node.truth is Outcomes.TRUE, pa.bool_()),))
        )
        return opposite(same) if negated else same

    def _strict_columns(self, node: nodes.SyntaxNode) -> list[Path]:
        columns: list[Path] = []
        stack = [node]
        while stack:
            part = stack.pop()
            if isinstance(part, nodes.Column):
                column = part.bound.nullable
                columns += [] if column is None else [column.path]
            elif _is_strict(part):
                stack += reversed(list(part.children()))
        return columns


def _is_strict(node: nodes.SyntaxNode) -> bool:
    """Return True if the expression is NULL whenever an operand is NULL."""
    return (
        isinstance(node, _STRICT)
        or (isinstance(node, nodes.Call) and (function := find(node.name)) is not None and function.infers_not_null)
        or (isinstance(node, nodes.ListTest) and len(node.values) == 1)
    )


def _is_rounded(arrow_type: pa.DataType, values: Sequence[SparkValue], *, count_digits: bool) -> bool:
    """Return True if Spark rounds a decimal to compare it.

    `count_digits`: if True, an integer literal has only its written digits; otherwise those of its type.
    """
    exact = [value for value in values if value.is_exact_number]
    whole = [
        value.digits - value.scale if count_digits or not value.bits else DIGITS_OF_BITS[value.bits] for value in exact
    ]
    return bool(max(whole, default=0) + arrow_type.scale > MAX_DIGITS)


def _is_inexact_as_double(column: LeafColumn | None) -> bool:
    if column is None or column.type is None:
        return False
    return bool(pa.types.is_decimal(column.type) or pa.types.is_int64(column.type))


def _is_plain(node: nodes.SyntaxNode, profile: SparkProfile) -> bool:
    """Return True if the condition has only plain columns and literals as operands."""
    match node:
        case nodes.Column() | nodes.Literal():
            return True
        case nodes.LikeTest():
            # Spark does not simplify LIKE if the pattern contains the escape character.
            if not _is_simplified(node, profile):
                return False
            operands: Sequence[nodes.SyntaxNode] = [node.left]
        case nodes.Call(name) if (function := find(name)) is not None and function.role in AFFIXES:
            operands = node.arguments
        case (
            nodes.Between()
            | nodes.ListTest()
            | nodes.NullTest()
            | nodes.TruthTest()
            | nodes.Comparison()
            | nodes.NullSafe()
        ):
            operands = node.children()
        case _:
            return False
    return all(isinstance(fold_constants(operand), (nodes.Column, nodes.Literal)) for operand in operands)


def _may_fold(operand: nodes.SyntaxNode) -> bool:
    """Return True if an operand may be a constant to fold: it has no column and is not a literal yet."""
    return not isinstance(fold_constants(operand), nodes.Literal) and not operand.has(nodes.Column)


def _is_simplified(like: nodes.LikeTest, profile: SparkProfile) -> bool:
    """Return True if Spark simplifies LIKE, which it does unless the pattern contains the escape character."""
    pattern = like.right
    if not isinstance(pattern, nodes.Literal):
        return False
    pattern_string = str(pattern.value.value)
    return like.escape not in pattern_string and (profile.joins_wildcards or "%%" not in pattern_string)


def filters_of(lowered: Predicate, *, negated: bool = False) -> SparkFilter:
    """Return Spark's data source filter for a lowered condition, or for its negation."""
    match lowered:
        case Or((Compare() | In() as found, Constant(Outcomes.NULL))):
            return _convert_null_list(found, negated=negated)
        case And(children) | Or(children):
            operands = [filters_of(child, negated=negated) for child in children]
            return all_of(operands) if isinstance(lowered, And) != negated else any_of(operands)
        case Not(child):
            return filters_of(child, negated=not negated)
        case Interval(column, low, high):
            return filters_of(And((Compare(column, Op.GE, low), Compare(column, Op.LE, high))), negated=negated)
        case IsTruth(Compare() as same, Outcomes.TRUE):
            return _null_safe(same, negated=negated)
        case _:
            return _convert_leaf(lowered, negated=negated)


def _convert_leaf(leaf: Predicate, *, negated: bool) -> SparkFilter:
    match leaf:
        case Compare():
            return _compare(leaf, negated=negated)
        case In(column, values):
            return _signed(Filter(column, Rel.IN, Values(values)), negated=negated)
        case IsNull(column):
            return _signed(Filter(column, Rel.IS_NULL), negated=negated)
        case StartsWith(column, text) | EndsWith(column, text) | Contains(column, text) if pa.types.is_string(
            text.type
        ):
            return _signed(Filter(column, _PATTERNS[type(leaf)], (text,), strict=True), negated=negated)
        case Constant(outcomes):
            return Truth(holds=outcomes is (Outcomes.FALSE if negated else Outcomes.TRUE))
        case _:
            return Opaque()


def _signed(leaf: Filter, *, negated: bool) -> SparkFilter:
    return opposite(leaf) if negated else leaf


def _null_safe(same: Compare, *, negated: bool) -> SparkFilter:
    compared = _compare(same, negated=False)
    if isinstance(compared, Filter) and same.op is Op.EQ:
        return _signed(Filter(same.column, Rel.EQ, (same.value,)), negated=negated)
    return Truth(holds=negated) if isinstance(compared, Truth) else Opaque()


def _convert_null_list(condition: Compare | In, *, negated: bool) -> SparkFilter:
    if negated:
        return Truth(holds=False)
    leaf = filters_of(condition)
    return replace(leaf, rel=Rel.IN, with_null=True, strict=False) if isinstance(leaf, Filter) else leaf


def _compare(leaf: Compare, *, negated: bool) -> SparkFilter:
    if pa.types.is_unsigned_integer(leaf.value.type):
        return Opaque()  # never pushed down, and Spark reads the column as another type
    if pa.types.is_decimal(leaf.value.type):
        if is_at_end(leaf):
            return Opaque((leaf.column,))  # compared as a wider decimal, so the column is cast
    elif leaf.op in {Op.LT, Op.GE} and leaf.value == _least(leaf.value):
        # Spark folds comparisons that are always or never true for the type before it pushes filters down.
        holds = (leaf.op is Op.GE) != negated
        return Filter(leaf.column, Rel.NOT_NULL) if holds else Truth(holds=False)
    if pa.types.is_boolean(leaf.value.type) and leaf.op in {Op.EQ, Op.NE} and not leaf.value.as_py():
        # Spark rewrites `flag = FALSE` as NOT flag, which becomes `flag <> TRUE`.
        leaf, negated = Compare(leaf.column, leaf.op, _TRUE), not negated
    return _signed(Filter(leaf.column, Rel(leaf.op.value), (leaf.value,), strict=True), negated=negated)


def _least(value: pa.Scalar) -> pa.Scalar | None:
    if pa.types.is_floating(value.type):
        return scalar_of(-math.inf, value.type)
    domain = domain_of(value.type)
    return None if domain is None else scalar(domain, domain.low)
