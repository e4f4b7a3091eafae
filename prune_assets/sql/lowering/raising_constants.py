"""Constants for which Spark raises an error while it optimizes a query, whatever the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.syntax.nodes import spark_value
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from prune_assets.sql.refusal import Refusal

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg)


def constant_raises(operand: exp.Expr, refusal: Refusal) -> bool:
    """Return True if, with ansi.enabled, Spark certainly raises for this operand of a condition that was refused.

    Only literals and arithmetic with literals: in a call such as try_cast, or in CASE, an error may not be raised.
    """
    parts = list(operand.walk())
    if not all(isinstance(part, (exp.Literal, *_ARITHMETIC)) for part in parts):
        return False
    return refusal.raises or any(map(_divides_by_zero, parts))


def _divides_by_zero(node: exp.Expr) -> bool:
    if not isinstance(node, (exp.Div, exp.Mod, exp.IntDiv)):
        return False
    operands = (node.this, node.expression)
    if not all(isinstance(operand, exp.Literal) for operand in operands):
        return False
    dividend, divisor = map(spark_value, operands)
    return dividend.is_exact_number and dividend.value is not None and divisor.is_exact_number and divisor.value == 0
