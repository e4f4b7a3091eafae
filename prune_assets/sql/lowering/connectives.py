"""The operands of AND, OR and NOT in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.simplify.join_date_parts import join_date_parts
from prune_assets.sql.syntax.parsed import chain_of
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Sequence


def conjuncts_of(node: exp.Expr) -> Sequence[exp.Expr]:
    """Return the operands of the topmost AND, parts of one date as the date; the node itself where there is none."""
    return join_date_parts(chain_of(node, exp.And)) if isinstance(node, exp.And) else [node]


def operands_of(node: exp.Expr) -> Sequence[exp.Expr]:
    """Return the operands of an AND, OR or NOT; none of any other node."""
    match node:
        case exp.Not():
            return [_without_double_negation(node)]
        case exp.And():
            return conjuncts_of(node)
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
