"""Prefix comparisons with every short string, including invalid UTF-8."""

from __future__ import annotations

import operator

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_core.pruning.predicate import Compare, Not, Op, Or, StartsWith
from prune_assets.sql.lowering.like import compare_start
from tests.prune_assets.sql.interpreter import comparable, holds
from tests.prune_assets.sql.table_columns import leaf

OPERATORS = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
TEXTS = st.text(["a", "b", "\x7f", "\x80", "é", "\u07ff", "\uffff", "\U0001f600", "\U0010ffff"], max_size=4)
BYTES = st.lists(st.sampled_from([b"\0", b"a", b"\xfe", b"\xff"]), max_size=4).map(b"".join)
BROKEN = st.lists(st.sampled_from([b"a", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f", b"\xff", b"\xa9"]), max_size=5)


def first_characters(value: bytes, count: int) -> bytes:
    """Cut as Spark's UTF8String does, which counts a character by its first byte alone."""
    end = 0
    for _ in range(count):
        if end >= len(value):
            break
        lead = value[end]
        end += 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 1
    return value[:end]


def interpret(predicate, value):
    match predicate:
        case Compare(_, op, literal):
            return OPERATORS[op](value, comparable(literal.as_py()))
        case StartsWith():
            return holds(predicate, value)
        case Not(child):
            return not interpret(child, value)
        case Or(children):
            return any(interpret(child, value) for child in children)
    raise AssertionError(predicate)


@settings(max_examples=20 * settings().max_examples)
@given(st.sampled_from(list(Op)), TEXTS, st.integers(-1, 4), st.one_of(TEXTS.map(str.encode), BROKEN.map(b"".join)))
@example(Op.LE, "\x7f", 1, b"\x80")
@example(Op.GT, "a\uffff", 2, b"a\xef\xbf\xc0")
def test_strings(op, literal, count, value):
    lowered = compare_start(leaf("s", type=pa.string()), count, op, literal)
    assert interpret(lowered, value) == OPERATORS[op](first_characters(value, count), literal.encode())


@settings(max_examples=10 * settings().max_examples)
@given(st.sampled_from(list(Op)), BYTES, st.integers(-1, 4), BYTES)
def test_bytes(op, literal, count, value):
    lowered = compare_start(leaf("bin", type=pa.binary()), count, op, literal)
    assert interpret(lowered, value) == OPERATORS[op](value[: max(count, 0)], literal)
