"""Evaluate a condition on given column values, by the same rules that lower predicates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy, valid_flags
from parquet_core.errors import PruneError
from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.outcomes import Outcomes, unknown
from parquet_core.pruning.predicate import Unsupported, columns_of_leaf, leaves
from parquet_core.pruning.row_selection import outcomes_on_rows
from parquet_core.pruning.trees import fold
from prune_assets.sql.binding.bind import is_condition
from prune_assets.sql.functions.date_fields import CLOCK_FIELDS
from prune_assets.sql.functions.entry import CHOICES
from prune_assets.sql.functions.registry import find
from prune_assets.sql.lowering.conditions import Conditions
from prune_assets.sql.lowering.leaf_conditions import compared_with_truth
from prune_assets.sql.lowering.null_propagation import decides_every_value, null_with
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.nodes import (
    Arithmetic,
    Call,
    Case,
    Column,
    Comparison,
    Literal,
    Negation,
    OpaqueNode,
    Sign,
    SyntaxNode,
)
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate

# A condition is refused if all outcomes are unknown after this many lowered nodes (rows times nodes of the condition).
_TRIED_NODES = 1_000


def evaluate_on_values(
    parsed: ParsedPredicate, columns: Sequence[LeafColumn], semantics: SparkSemantics, values: Sequence[pa.Array]
) -> list[Outcomes]:
    """Return the possible outcomes of a condition for each row of values.

    If the condition may raise on a row, the outcomes of the row include NULL.
    `parsed`: the condition with bound names.
    `values`: one array per column.

    Raises Refusal if the outcomes of the first rows are all unknown.
    """
    conditions = partial(Conditions, parsed, semantics)
    condition = _strip_negation(parsed.tree)
    nulls = null_with(condition)
    may_raise = not nulls or not decides_every_value(condition)
    is_null = np.zeros(len(values[0]), np.bool_)
    for column, of in zip(columns, values, strict=True):
        is_null |= ~valid_flags(of) & (column.path in nulls)
    chosen = [of.filter(from_numpy(~is_null)) for of in values]
    settled = _evaluate_columns(parsed.tree, columns, conditions(on_rows=True), chosen)
    if settled is None:
        or_null = may_raise and not _evaluates_all(condition)
        settled = _evaluate_rows(parsed.tree, columns, conditions(), chosen, or_null=or_null)
    outcomes = np.full(len(is_null), Outcomes.NULL, np.uint8)
    outcomes[~is_null] = settled
    return list(map(Outcomes, outcomes.tolist()))


def lower_on_rows(parsed: ParsedPredicate, semantics: SparkSemantics) -> Predicate | None:
    """Lower a condition to a predicate that is evaluated on rows; None if Spark refuses the condition.

    Parts that are not supported become unsupported leaves.
    """
    try:
        return Conditions(parsed, semantics, on_rows=True).lower_part(parsed.tree)
    except PruneError:
        return None


def _evaluate_columns(
    tree: SyntaxNode, columns: Sequence[LeafColumn], lowering: Conditions, values: Sequence[pa.Array]
) -> OutcomeArray | None:
    """Return the outcome of each row, with all rows evaluated together.

    None if a part of the condition cannot be lowered for all rows.
    """
    try:
        lowered = lowering.lower_tree(tree)
    except PruneError:
        return None
    if any(isinstance(leaf, Unsupported) and leaf.is_whole for leaf in leaves(lowered)):
        return None
    outcomes = _folded(lowered, columns, values)
    for guard in lowering.raising:
        outcomes[_folded(guard, columns, values) != Outcomes.TRUE] |= np.uint8(Outcomes.NULL)
    return outcomes


def _evaluate_rows(
    tree: SyntaxNode,
    columns: Sequence[LeafColumn],
    conditions: Conditions,
    values: Sequence[pa.Array],
    *,
    or_null: bool,
) -> OutcomeArray:
    """Return the outcome of each row, evaluated one by one. Raises Refusal if the first outcomes are all unknown."""
    outcomes: list[Outcomes] = []
    tried = max(1, _TRIED_NODES // sum(1 for _ in tree.walk()))
    for row in zip(*values, strict=True):
        outcomes.append(_settle(tree, columns, conditions, row, or_null=or_null))
        if len(outcomes) in {tried, len(values[0])} and all(outcome == Outcomes.UNKNOWN for outcome in outcomes):
            raise Refusal("only a Spark session can test its values")
    return np.array(outcomes, np.uint8)


def divisor_of(tree: SyntaxNode) -> int | None:
    """Return the divisor if a one-column condition depends only on the column's remainder; otherwise None.

    >>> from prune_assets.sql.syntax.parsed import parse_predicate
    >>> divisor_of(parse_predicate("x % 100 IN (7, 8)").tree), divisor_of(parse_predicate("x % 100 = x").tree)
    (100, None)
    """
    divisors = set(map(_divisor, _parents(tree)))
    return divisors.pop() if len(divisors) == 1 else None


def depends_on_clock_fields(tree: SyntaxNode) -> bool:
    """Return whether a one-column condition depends only on the local hour and minute."""
    names = {part.name if isinstance(part, Call) and len(part.arguments) == 1 else "" for part in _parents(tree)}
    return bool(names) and names <= CLOCK_FIELDS


def _parents(tree: SyntaxNode) -> list[SyntaxNode]:
    """Return the parent node of each column; empty if an opaque part may name columns."""
    if isinstance(tree, Column) or any(part.columns != () for part in tree.all_of(OpaqueNode)):
        return []
    return [part for part in tree.walk() for child in part.children() if isinstance(child, Column)]


def _divisor(parent: SyntaxNode) -> int | None:
    match parent:
        case Arithmetic(Column(), Literal(value), Sign.REST) if value.kind is ValueKind.INTEGER:
            return abs(value.number) or None
        case _:
            return None


def _strip_negation(tree: SyntaxNode) -> SyntaxNode:
    """Return a condition without NOT, `= TRUE` and `= FALSE` around it.

    The inner condition is NULL for the same rows as the whole, and raises on the same rows.
    """
    while True:
        if isinstance(tree, Negation):
            tree = tree.operand
        elif (compared := compared_with_truth(tree)) is not None:
            tree, _ = compared
        else:
            return tree


def _evaluates_all(condition: SyntaxNode) -> bool:
    """Return whether Spark evaluates every part of a comparison, so that its outcome is known if no part raises.

    False if the comparison contains a condition or a choice such as CASE, because Spark may skip parts of these.
    """
    inner = list(condition.walk())[1:] if isinstance(condition, Comparison) else [condition]
    return not any(isinstance(part, Case) or is_condition(part) or _is_choice(part) for part in inner)


def _is_choice(part: SyntaxNode) -> bool:
    function = find(part.name) if isinstance(part, Call) else None
    return function is not None and function.role in CHOICES


def _settle(
    tree: SyntaxNode, columns: Sequence[LeafColumn], conditions: Conditions, row: Sequence[pa.Scalar], *, or_null: bool
) -> Outcomes:
    # A float column holds two zeros, +0.0 and -0.0, but a constant is only one of them.
    if any(pa.types.is_floating(value.type) and value.as_py() == 0 for value in row):
        return Outcomes.UNKNOWN
    constants = {column.path: value for column, value in zip(columns, row, strict=True)}
    try:
        lowered = conditions.lower_with_constants(tree, constants)
    except PruneError:
        return Outcomes.UNKNOWN
    if lowered is None:
        return Outcomes.UNKNOWN
    (outcome,) = _folded(lowered, columns, [pa.repeat(value, 1) for value in row])
    return Outcomes(int(outcome)) | (Outcomes.NULL if or_null else Outcomes.NONE)


def _folded(predicate: Predicate, columns: Sequence[LeafColumn], values: Sequence[pa.Array]) -> OutcomeArray:
    """Return the outcome of a predicate for each row of values."""
    compared = {column.path: of.cast(bounds_type(column)) for column, of in zip(columns, values, strict=True)}
    return fold(predicate, [_answers(leaf, compared, len(values[0])) for leaf in leaves(predicate)])


def _answers(leaf: Leaf, values: Mapping[Path, pa.Array], count: int) -> OutcomeArray:
    return outcomes_on_rows(leaf, values, count) if values.keys() >= set(columns_of_leaf(leaf)) else unknown(count)
