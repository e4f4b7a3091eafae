"""Operands of string conditions: a column or its first characters, compared with literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.predicate import Compare, Op
from prune_assets.sql.binding.bind import column_of, why_not
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import find
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.functions.texts import JOINED
from prune_assets.sql.lowering.like import compare_start
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax import nodes
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.types.spark_values import SparkValue


@dataclass(frozen=True, slots=True)
class Start:
    """The first `count` characters or bytes of a column; the whole value if `count` is None."""

    column: LeafColumn
    count: int | None


def compare_call(start: Start, op: Op, value: SparkValue) -> Predicate:
    """Return `start op value`. Raises Refusal."""
    if value.kind is ValueKind.NULL:
        return NULL
    literal = plain_text(start.column, value)
    if start.count is None:
        return Compare(start.column.path, op, scalar_of(literal, start.column.type))
    return compare_start(start.column, start.count, op, literal)


def plain_text(column: LeafColumn, value: SparkValue) -> str | bytes:
    """Return the str or bytes of a literal for a string or binary column. Raises Refusal."""
    if pa.types.is_binary(column.type):
        if value.kind is ValueKind.BINARY and isinstance(value.value, bytes):
            return value.value
        raise Refusal("Spark casts the bytes of the column here", "write X'1C07'")
    if value.kind is ValueKind.STRING and isinstance(value.value, str):
        return value.value
    raise Refusal(f"Spark casts a string that is compared with a {value.kind}", "write a string")


_PREFIXES = frozenset({Role.PREFIX, Role.LEFT})


def read_call(node: nodes.SyntaxNode) -> Start | None:
    """Read a call that returns the start of a column's value, such as `left(name, 3)`; None for other nodes.

    Raises Refusal for any other string function of a column.
    """
    if isinstance(node, (nodes.Call, nodes.Concat)) and not node.has(nodes.Column):
        return None
    _refuse_call(node)
    return read_start(node) if role_of(node) in _PREFIXES else None


def role_of(node: nodes.SyntaxNode) -> Role | None:
    """Return the role of the function that a node calls; None for other nodes."""
    function = find(node.name) if isinstance(node, nodes.Call) else None
    return None if function is None else function.role


def read_start(node: nodes.SyntaxNode) -> Start:
    """Return a string or binary column, or the first characters of one, as a Start. Raises Refusal."""
    role = role_of(node)
    if not isinstance(node, nodes.Call) or role not in _PREFIXES:
        _refuse_call(node)
        return Start(_text_column(node), None)
    if not node.arguments:
        raise Refusal(f"{node.name}() has no arguments")
    column, *rest = node.arguments
    bounds = [_character_count(operand) for operand in rest]
    if role is Role.LEFT:
        bounds = [1, *bounds] if len(bounds) == 1 else []
    # Spark counts from 1, and reads 0 as 1.
    if len(bounds) not in {1, 2} or bounds[0] not in {0, 1}:
        raise Refusal(
            "a substring that does not begin at the first character has no bounds", "begin at 1 or compare the column"
        )
    return Start(_text_column(column), bounds[1] if len(bounds) == 2 else None)


def read_string_start(node: nodes.SyntaxNode) -> Start:
    """Return a string column, or the first characters of one. Raises Refusal, also for binary columns."""
    start = read_start(node)
    if pa.types.is_binary(start.column.type):
        raise Refusal("Spark casts the bytes of the column to a string here", "write startswith(column, X'1C07')")
    return start


def read_value(node: nodes.SyntaxNode) -> SparkValue:
    """Return the value of a literal. Raises Refusal for other nodes."""
    folded = fold_constants(node)
    if isinstance(folded, (nodes.OpaqueNode, nodes.UserCall)):
        raise why_not(folded)
    if not isinstance(folded, nodes.Literal):
        raise Refusal("the string is not compared with a literal", "write a literal")
    return folded.value


def read_text(node: nodes.SyntaxNode) -> str | None:
    """Return the text of a string literal; None for NULL. Raises Refusal."""
    value = read_value(node)
    if value.kind is ValueKind.NULL:
        return None
    if value.kind is not ValueKind.STRING or not isinstance(value.value, str):
        raise Refusal(f"Spark casts a pattern that is a {value.kind}", "write a string")
    return value.value


def _refuse_call(node: nodes.SyntaxNode) -> None:
    if isinstance(node, nodes.Concat):
        raise Refusal(*JOINED)
    function = find(node.name) if isinstance(node, nodes.Call) else None
    if function is not None and function.refusal is not None:
        raise Refusal(*function.refusal)


def _text_column(node: nodes.SyntaxNode) -> LeafColumn:
    column = column_of(node)
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        raise Refusal(f"Spark casts a column of type {column.type} to a string here", "compare the column itself")
    return column


def _character_count(node: nodes.SyntaxNode) -> int:
    value = read_value(node)
    if value.kind is not ValueKind.INTEGER or not -(1 << 31) <= value.number < 1 << 31:
        raise Refusal("the position or count of characters is not an integer literal", "write integer literals")
    return value.number
