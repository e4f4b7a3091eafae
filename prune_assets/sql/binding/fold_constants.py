"""Fold constants: sums, differences and signs of literals, with Spark's result types."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.sql.functions.entry import Role
from prune_assets.sql.functions.registry import find
from prune_assets.sql.functions.signs import SURE_DIGITS
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.nodes import Sign
from prune_assets.sql.types.date_literals import MAX_DAY, MIN_DAY, months_later
from prune_assets.sql.types.floats import named_float
from prune_assets.sql.types.spark_values import DIGITS_OF_BITS, MAX_DIGITS, SparkValue, ValueKind, computed, decimal
from prune_assets.sql.types.timestamps import INTERVALS, move_time

if TYPE_CHECKING:
    from collections.abc import Iterator


def fold_constants(node: nodes.SyntaxNode) -> nodes.SyntaxNode:
    """Fold sums, differences and signs of literals; return other nodes unchanged.

    Operands are exact numbers, or dates and timestamps plus or minus intervals. Inexact results, and results that
    overflow Spark's result type, are not folded.
    """
    if isinstance(node, (nodes.Literal, nodes.Column)):
        return node
    if isinstance(node, nodes.Call) and (bits := _float_bits(node.name)):
        return _named_float(node, bits)
    done: dict[int, SparkValue | None] = {}
    for part in _operands_first(node):
        done[id(part)] = _value(part, [done[id(operand)] for operand in _operands(part)])
    value = done[id(node)]
    return node if value is None or isinstance(node, nodes.Literal) else nodes.Literal(value)


def _float_bits(name: str) -> int:
    """Return the width in bits of the float type that a call casts to; 0 for other calls."""
    function = find(name)
    to = None if function is None else function.casts_to
    return to.bits if to is not None and to.kind is ValueKind.DOUBLE else 0


def _named_float(node: nodes.Call, bits: int) -> nodes.SyntaxNode:
    """Fold a call such as `double('NaN')`.

    Calls on other strings are not folded, because Spark may raise an error for them.
    """
    arguments = node.arguments
    if len(arguments) != 1 or not isinstance(arguments[0], nodes.Literal):
        return node
    value = arguments[0].value
    float_value = named_float(str(value.value)) if value.kind is ValueKind.STRING and value.name is None else None
    if float_value is None:
        return node
    return nodes.Literal(SparkValue(ValueKind.DOUBLE, float_value, bits=bits))


def _operands(node: nodes.SyntaxNode) -> list[nodes.SyntaxNode]:
    match node:
        case nodes.Arithmetic(left, right, Sign.PLUS | Sign.MINUS):
            return [left, right]
        case nodes.Negative(operand):
            return [operand]
        case nodes.Call(name, [argument]) if (function := find(name)) is not None and function.role is Role.IDENTITY:
            return [argument]
        case _:
            return []


def _operands_first(node: nodes.SyntaxNode) -> Iterator[nodes.SyntaxNode]:
    order, stack = [], [node]
    while stack:
        order.append(stack.pop())
        stack.extend(_operands(order[-1]))
    return reversed(order)


def _value(node: nodes.SyntaxNode, operands: list[SparkValue | None]) -> SparkValue | None:
    if isinstance(node, nodes.Literal):
        return node.value
    values = [operand for operand in operands if operand is not None and operand.value is not None]
    if not values or len(values) < len(operands):
        return None
    if len(values) == 1:
        return _signed(values[0], -1 if isinstance(node, nodes.Negative) else 1)
    sign = -1 if isinstance(node, nodes.Arithmetic) and node.sign is Sign.MINUS else 1
    left, right = values
    if left.is_exact_number and right.is_exact_number:
        return _sum(left, right, sign)
    if left.kind in INTERVALS and sign == 1:
        left, right = right, left
    if left.kind is ValueKind.DATE and right.kind in {ValueKind.MONTHS, ValueKind.DAYS}:
        return _moved(left, right, sign)
    return move_time(left, right, sign)


def _signed(value: SparkValue, sign: int) -> SparkValue | None:
    if not value.is_exact_number or (sign < 0 and value.digits > SURE_DIGITS):
        return None
    return _checked_integer(computed(replace(value, value=sign * value.number)))


def _sum(left: SparkValue, right: SparkValue, sign: int) -> SparkValue | None:
    if left.kind is ValueKind.INTEGER and right.kind is ValueKind.INTEGER:
        bits = max(left.bits, right.bits)
        total = left.number + sign * right.number
        return _checked_integer(SparkValue(ValueKind.INTEGER, total, bits=bits, digits=DIGITS_OF_BITS[bits]))
    scale = max(left.scale, right.scale)
    digits = max(left.digits - left.scale, right.digits - right.scale) + scale + 1
    if digits > MAX_DIGITS:
        return None
    return decimal(_rescaled(left, scale) + sign * _rescaled(right, scale), digits, scale)


def _rescaled(value: SparkValue, scale: int) -> int:
    return value.number * int(10 ** (scale - value.scale))


def _checked_integer(value: SparkValue) -> SparkValue | None:
    if value.kind is not ValueKind.INTEGER:
        return value
    return value if -(1 << value.bits - 1) <= value.number < 1 << value.bits - 1 else None


def _moved(day: SparkValue, interval: SparkValue, sign: int) -> SparkValue | None:
    step = sign * interval.number
    moved = day.number + step if interval.kind is ValueKind.DAYS else months_later(day.number, step)
    return SparkValue(ValueKind.DATE, moved) if moved is not None and MIN_DAY <= moved <= MAX_DAY else None
