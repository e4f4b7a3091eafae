"""Substitute known constants in other operands.

`x = c AND p(x)` is `x = c AND p(c)`. This helps where p of a column cannot be lowered, but p of a constant can.
`month(d) = 4` has no range, but in `d = DATE '2024-03-05' AND month(d) = 4` it can be computed, and is FALSE.
`d = DATE '2024-03-05' AND t >= d + INTERVAL 1 DAY` gives a range of `t`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.pruning.evidence.satisfiable import may_be_true
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, CompareColumns, Constant, Op, Or, Unsupported, leaves
from parquet_core.pruning.trees import constant_answers, fold
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.simplify.flatten import inverse
from prune_assets.sql.simplify.join_conditions import bare
from prune_assets.sql.syntax.nodes import Column, KnownColumn, SyntaxNode, rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Leaf, Predicate

    Known = Mapping[Path, pa.Scalar]

# Larger conditions are not lowered a second time, nor are the operands of longer ANDs, to limit the cost.
MOST_NODES = 200
MOST_OPERANDS = 64


def propagate_constants(
    operands: Callable[[], Sequence[SyntaxNode]],
    lowered: Sequence[Predicate],
    again: Callable[[SyntaxNode, Known], Predicate | None],
    *,
    of_or: bool = False,
) -> list[tuple[Predicate, ...]]:
    """Return each operand of an AND or OR, and a copy with known constants if the copy prunes more.

    `operands`: returns the trees of the operands.
    `again`: lowers a tree with the constants; returns None if the result is no better.
    `of_or`: True for the operands of an OR.

    A copy of an AND's operand is TRUE or NULL, because the operand itself decides for rows with other values. A copy of
    an OR's operand is FALSE or NULL, because an OR is FALSE only if all operands are FALSE.
    """
    replacements: list[tuple[Predicate, ...]] = [(operand,) for operand in lowered]
    constants = _constants_of(map(inverse, lowered) if of_or else lowered) if len(lowered) <= MOST_OPERANDS else {}
    for i, node in enumerate(operands() if constants else ()):
        small = _is_small(node) and any(map(may_be_refined, leaves(lowered[i])))
        instead = again(node, constants) if small else None
        more = None if instead is None else _other_outcomes_to_null(instead, of_or=of_or)
        if more is not None and more not in lowered:
            replacements[i] = _answered(lowered[i]), more
    return replacements


def _answered(operand: Predicate) -> Predicate:
    """Return an unsupported operand whose reason says that a copy with known constants is evaluated instead."""
    if not isinstance(operand, Unsupported):
        return operand
    return replace(
        operand,
        reason=f"{operand.reason}; another condition fixes the value of the column, and this condition is evaluated "
        f"with it",
        remedy="",
    )


def may_be_refined(leaf: Leaf) -> bool:
    """Return whether a known column value may refine a leaf: an unsupported leaf, or a comparison of two columns."""
    return isinstance(leaf, (Unsupported, CompareColumns))


def substitute_constants(node: SyntaxNode, constants: Known) -> SyntaxNode | None:
    """Return a condition with known values in place of columns; None if no such column occurs."""
    if isinstance(node, Column) or not _is_small(node):
        return None

    def value_of(name: SyntaxNode) -> SyntaxNode | None:
        if not isinstance(name, Column):
            return name if isinstance(name, KnownColumn) else None
        column = name.bound.column
        value = None if column is None else constants.get(column.path)
        return None if value is None else KnownColumn(name, value, span=name.span)

    replaced = rebuilt(node, value_of)
    return None if replaced is node else replaced


def _constants_of(operands: Iterable[Predicate]) -> Known:
    """Return, for each column that can have only one value, this value. The two zeros of floats count as two values."""
    equalities = [part for part in map(bare, operands) if isinstance(part, Compare) and part.op is Op.EQ]
    return {
        part.column: part.value
        for part in equalities
        if not pa.types.is_floating(part.value.type) or part.value.as_py() != 0
    }


def _other_outcomes_to_null(instead: Predicate, *, of_or: bool) -> Predicate | None:
    """Replace all outcomes except TRUE (`of_or`: except FALSE) with NULL.

    None if the condition is a constant that may have another outcome.
    """
    wanted = Outcomes.FALSE if of_or else Outcomes.TRUE
    parts = list(leaves(instead))
    if all(isinstance(part, Constant) for part in parts):
        (outcomes,) = fold(instead, [constant_answers(part, 1) for part in parts if isinstance(part, Constant)])
        return None if outcomes & wanted else NULL
    if not may_be_true(inverse(instead) if of_or else instead):
        return NULL
    return And((instead, NULL)) if of_or else Or((instead, NULL))


def _is_small(node: SyntaxNode) -> bool:
    return next(islice(node.walk(), MOST_NODES, None), None) is None
