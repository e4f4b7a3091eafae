"""Evaluate a part of a predicate on given values of its columns, by the rules that lower predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import PruneError
from parquet_core.evidence.many_leaves import outcomes_of_values
from parquet_core.format.comparable_values import bounds_type
from parquet_core.outcomes import Outcomes, unknown
from parquet_core.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning import constant_answers, fold
from prune_assets.sql.binding.scope import Scope
from prune_assets.sql.lowering.conditions import Conditions
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate
    from prune_assets.sql.syntax.sqlglot_nodes import exp


def evaluate_on_values(
    parsed: ParsedPredicate,
    columns: Sequence[LeafColumn],
    semantics: SparkSemantics,
    is_builtin: Callable[[str], bool] | None,
    values: Sequence[pa.Array],
) -> list[Outcomes]:
    """Return the possible outcomes of a part for each row of values; NULL is always one, as a part may raise.

    `values`: an array for each column.
    Raises Refusal where they say nothing of any value.
    """
    scope = Scope(columns, case_sensitive=semantics.case_sensitive)
    conditions = Conditions(scope, parsed, semantics, is_builtin)
    outcomes = [_settle(parsed.tree, columns, conditions, row) for row in zip(*values, strict=True)]
    if outcomes and all(outcome == Outcomes.UNKNOWN for outcome in outcomes):
        raise Refusal("that needs Spark; pass a session")
    return outcomes


def _settle(
    tree: exp.Expr, columns: Sequence[LeafColumn], conditions: Conditions, row: Sequence[pa.Scalar]
) -> Outcomes:
    # Of floats there are two zeros, of which a constant is one.
    if any(not value.is_valid or (pa.types.is_floating(value.type) and value.as_py() == 0) for value in row):
        return Outcomes.UNKNOWN
    known = {column.path: value for column, value in zip(columns, row, strict=True)}
    try:
        lowered = conditions.lower_with_constants(tree, known)
    except PruneError:
        return Outcomes.UNKNOWN
    if lowered is None:
        return Outcomes.UNKNOWN
    by_path = {column.path: column for column in columns}
    (found,) = fold(lowered, [_answer(leaf, by_path, known) for leaf in leaves(lowered)])
    return Outcomes(int(found)) | Outcomes.NULL


def _answer(leaf: Leaf, columns: Mapping[Path, LeafColumn], known: Mapping[Path, pa.Scalar]) -> OutcomeArray:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, 1)
    if isinstance(leaf, ColumnLeaf) and leaf.column in known:
        return outcomes_of_values(leaf, pa.repeat(known[leaf.column], 1).cast(bounds_type(columns[leaf.column])))
    return unknown(1)
