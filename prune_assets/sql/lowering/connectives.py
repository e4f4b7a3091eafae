"""The operands of AND, OR and NOT in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.simplify.join_date_parts import join_date_parts
from prune_assets.sql.syntax.parsed import chain_of
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def operands_of(node: exp.Expr, is_own: Callable[[str], bool]) -> Sequence[exp.Expr]:
    """Return the operands of an AND, parts of one date as the date, of an OR or NOT; none of any other node.

    `is_own`: tells whether a call is one of Spark's own function.
    """
    match node:
        case exp.Not():
            return [_without_double_negation(node)]
        case exp.And():
            return join_date_parts(chain_of(node, exp.And), is_own)
        case exp.Or():
            return chain_of(node, exp.Or)
        case _:
            return []


def _without_double_negation(node: exp.Not) -> exp.Expr:
    child = node.this
    while isinstance(child, exp.Not) and isinstance(child.this, exp.Not):
        child = child.this.this
    assert isinstance(child, exp.Expr)
    return child
