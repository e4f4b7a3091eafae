"""Constants for which Spark raises an error while it optimizes a query, whatever the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.syntax.nodes import Arithmetic, Literal, Negative, Sign, SyntaxNode

if TYPE_CHECKING:
    from prune_assets.sql.refusal import Refusal


def constant_raises(operand: SyntaxNode, refusal: Refusal) -> bool:
    """Return whether Spark certainly raises an error for an operand of a refused condition, with ansi.enabled.

    Only literals and arithmetic with literals count: in a call such as try_cast, or in CASE, an error may not be
    raised.
    """
    parts = list(operand.walk())
    if not all(isinstance(part, (Literal, Arithmetic, Negative)) for part in parts):
        return False
    return refusal.raises or any(map(_divides_by_zero, parts))


def _divides_by_zero(node: SyntaxNode) -> bool:
    match node:
        case Arithmetic(Literal(dividend), Literal(divisor), Sign.OVER | Sign.REST | Sign.DIV):
            is_number = dividend.is_exact_number and dividend.value is not None
            return is_number and divisor.is_exact_number and divisor.value == 0
        case _:
            return False
