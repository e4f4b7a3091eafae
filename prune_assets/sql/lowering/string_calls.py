"""Prefix, length and position of a string column, compared with a literal as conditions on the column itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.predicate import And, Compare, Contains, Not, Op, StartsWith
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.lowering.prefixes import compare_start, every_value
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate, Unsupported
    from prune_assets.sql.types.spark_values import SparkValue


@dataclass(frozen=True, slots=True)
class Start:
    """The first `count` characters, or bytes, of a column; all of them when `count` is None."""

    column: LeafColumn
    count: int | None


@dataclass(frozen=True, slots=True)
class Length:
    """How many characters, bytes or bits a column has: 0 for what is empty and for nothing else."""

    column: LeafColumn


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text first begins in a column, counted from 1; 0 where it does not occur."""

    column: LeafColumn
    text: str


StringCall: TypeAlias = Start | Length | Place


def compare_call(call: StringCall, op: Op, value: SparkValue, unknown: Unsupported) -> Predicate:
    """Return `call op value`; `unknown` stands for what is left of it. Raises Refusal."""
    if value.kind is Kind.NULL:
        return NULL
    match call:
        case Start(column, count):
            literal = plain_text(column, value)
            if count is None:
                return Compare(column.path, op, scalar_of(literal, column.type))
            return compare_start(column, count, op, literal)
        case Length(column):
            return _length(column, op, _whole_number(value))
        case Place(column, text):
            return _place(column, text, op, _whole_number(value), unknown)


def plain_text(column: LeafColumn, value: SparkValue) -> str | bytes:
    """Return the value of a string for a column of strings, of bytes for one of bytes; raises Refusal for another."""
    if pa.types.is_binary(column.type):
        if value.kind is Kind.BINARY and isinstance(value.value, bytes):
            return value.value
        raise Refusal("Spark casts the bytes of the column here", "write X'1C07'")
    if value.kind is Kind.STRING and isinstance(value.value, str):
        return value.value
    raise Refusal(f"a string beside a {value.kind} is cast", "write a string")


def _whole_number(value: SparkValue) -> int:
    if value.kind is not Kind.INTEGER:
        raise Refusal(f"a whole number beside a {value.kind} is cast", "write a whole number")
    return value.number


def _asks_for_zero(op: Op, number: int) -> bool | None:
    """Tell which whole numbers from 0 on hold: 0 alone (True), all but 0 (False), or others (None)."""
    if (op, number) in {(Op.EQ, 0), (Op.LE, 0), (Op.LT, 1)}:
        return True
    return False if (op, number) in {(Op.NE, 0), (Op.GT, 0), (Op.GE, 1)} else None


def _length(column: LeafColumn, op: Op, number: int) -> Predicate:
    zero = _asks_for_zero(op, number)
    if zero is None:
        raise Refusal("a length says nothing about the order of values", "only a length of 0 can be asked for")
    empty = scalar_of(b"" if pa.types.is_binary(column.type) else "", column.type)
    return Compare(column.path, Op.EQ if zero else Op.GT, empty)


def _place(column: LeafColumn, text: str, op: Op, number: int, unknown: Unsupported) -> Predicate:
    if op is Op.EQ and number == 1:
        return StartsWith(column.path, scalar_of(text, pa.string()))
    zero = _asks_for_zero(op, number)
    if text == "":
        # An empty text begins every value at 1.
        if zero is None:
            raise Refusal("an empty text is found in every value")
        return every_value(column, holds=not zero)
    # In what is no UTF-8 a text may stand across characters, where Spark does not find it.
    found = And((Contains(column.path, scalar_of(text, pa.string())), unknown))
    if zero is not None:
        return Not(found) if zero else found
    if number > 0 and op in {Op.EQ, Op.GT, Op.GE}:
        return found
    raise Refusal("the place of a text says nothing about the order of values", "write contains()")
