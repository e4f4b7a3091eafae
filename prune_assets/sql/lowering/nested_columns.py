"""Refuse comparisons of an array, map or struct with a plain constant, as Spark always does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.errors import PredicateTypeError
from prune_assets.sql.syntax import nodes
from prune_assets.sql.types.spark_values import ValueKind, kind_text
from prune_assets.sql.types.zones import UncertainTime

if TYPE_CHECKING:
    from collections.abc import Callable

    Constant = Callable[[nodes.SyntaxNode], nodes.Literal | None]

_COMPARED = (nodes.Comparison, nodes.NullSafe, nodes.Between)


def refuse_nested(node: nodes.SyntaxNode, constant: Constant) -> None:
    """Raise PredicateTypeError if a condition compares a nested column with a constant except NULL."""
    operands = _operands(node)
    for column in (operand for operand in operands if isinstance(operand, nodes.Column)):
        nested = column.bound.nested
        kind = next(filter(None, (_value_kind(operand, constant) for operand in operands)), None) if nested else None
        if kind is not None:
            raise PredicateTypeError(
                f"column {'.'.join(column.parts)} is {nested} and cannot be compared with {kind_text(kind)}; "
                "compare an element or a field of it"
            )


def _operands(node: nodes.SyntaxNode) -> list[nodes.SyntaxNode]:
    if isinstance(node, nodes.ListTest):
        return [node.operand, *node.listed()]
    return [*node.children()] if isinstance(node, _COMPARED) else []


def _value_kind(operand: nodes.SyntaxNode, constant: Constant) -> ValueKind | None:
    """Return the kind of a constant; None for NULL, and if the operand is not surely a constant."""
    try:
        value = constant(operand)
    except UncertainTime:
        return None
    kind = None if value is None else value.value.kind
    return None if kind is ValueKind.NULL else kind
