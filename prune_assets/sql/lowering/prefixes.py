"""Comparisons of the first characters of a column, as ranges of the column itself."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.evidence.patterns import successor
from parquet_core.predicate import Compare, Not, Op, Or, StartsWith

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate

_PYTHON = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
# A beginning of n characters is below a longer literal when it is not above the literal's own beginning.
_OF_LONGER = {Op.LT: Op.LE, Op.GE: Op.GT}


def compare_start(column: LeafColumn, count: int, op: Op, literal: str | bytes) -> Predicate:
    """Return `substr(column, 1, count) op literal`: `count` characters of a string, or bytes.

    Exact for strings that are no UTF-8 too, of which Spark counts characters by their first bytes.
    """
    if count <= 0:
        return every_value(column, holds=_PYTHON[op](b"", literal if isinstance(literal, bytes) else literal.encode()))
    if len(literal) > count:
        if op in {Op.EQ, Op.NE}:
            return every_value(column, holds=op is Op.NE)
        op, literal = _OF_LONGER.get(op, op), literal[:count]
    elif len(literal) < count:
        return Compare(column.path, op, scalar_of(literal, column.type))
    return _as_long(column, op, literal)


def _as_long(column: LeafColumn, op: Op, literal: str | bytes) -> Predicate:
    """Return the comparison of as many first characters as the literal has."""
    begins = StartsWith(column.path, scalar_of(literal, column.type))
    match op:
        case Op.EQ:
            return begins
        case Op.NE:
            return Not(begins)
        case Op.LT | Op.GE:
            return Compare(column.path, op, begins.prefix)
        case Op.LE:
            return _up_to(column, literal, Op.LT)
        case Op.GT:
            return _up_to(column, literal, Op.GE)


def every_value(column: LeafColumn, *, holds: bool) -> Predicate:
    """Return what is TRUE, or FALSE, for every value and NULL for null."""
    always = StartsWith(column.path, scalar_of(b"" if pa.types.is_binary(column.type) else "", column.type))
    return always if holds else Not(always)


def _up_to(column: LeafColumn, prefix: str | bytes, op: Op) -> Predicate:
    """Return that a value is below all (`<`) or above all (`>=`) that begin with the prefix, or begins with it."""
    above = successor(prefix if isinstance(prefix, bytes) else prefix.encode())
    if above is None:
        return every_value(column, holds=op is Op.LT)
    try:
        return Compare(column.path, op, scalar_of(above if isinstance(prefix, bytes) else above.decode(), column.type))
    except UnicodeDecodeError:
        # No string is the least one above: the character after has another first byte.
        value = scalar_of(prefix, column.type)
        reached = Or((Compare(column.path, Op.LT, value), StartsWith(column.path, value)))
        return reached if op is Op.LT else Not(reached)
