"""Sets of values found by bisection, compared with the results of the functions for each value."""

from __future__ import annotations

import random

import pytest

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Constant, Op
from prune_assets.sql.binding.bind import Binder, BindingContext
from prune_assets.sql.binding.scope import bind_names
from prune_assets.sql.functions.function import Function, Piece, preimage
from prune_assets.sql.functions.terms import Chain
from prune_assets.sql.lowering.column_values import classify_values, ordinals_satisfying
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.syntax.parsed import parse_predicate
from prune_assets.sql.types.floats import half_up, ordinal_of_ratio, towards_zero
from prune_assets.sql.types.ranges import ValueRanges, complement, intersection, joined, span, union
from prune_assets.sql.types.spark_types import DOUBLE, FLOAT, INT, TINYINT, float_of_ordinal, ordinal_of_float
from prune_assets.sql.types.zones import Clocks
from tests.prune_assets.sql.random_expressions import expression
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS

UNKNOWN = Constant(Outcomes.UNKNOWN)
ASKED = BindingContext(
    SparkSemantics(),
    Clocks.of(SparkSemantics()),
    lambda _: UNKNOWN,
    lambda *_: UNKNOWN,
    lambda _: UNKNOWN,
)


def fate_of(chain, at):
    """Return the result of a chain for an ordinal, or "raises", "nulls" or "uncertain"."""
    for function in chain.functions:
        for name in ("raises", "nulls", "uncertain"):
            if at in getattr(function, name):
                return name
        pieces = [piece for piece in function.pieces if piece.first <= at <= piece.last]
        assert len(pieces) == 1, "every ordinal is in one piece or in one of the sets"
        at = function.value(at)
        if not function.result.least <= at <= function.result.greatest:
            return "nulls" if function.overflows_to_null else "raises"
    return at


@pytest.mark.parametrize("column", ["i8", "u8", "i16", "x", "i64", "u64", "d", "wide", "f", "g"])
def test_each_value_is_sorted_as_the_functions_say(column):
    draw = random.Random(column)
    tried = 0
    while tried < 60:
        try:
            text = expression(draw, column, draw.randint(1, 3))
            term = Binder(ASKED).operand(bind_names(parse_predicate(text), FIXTURE_COLUMNS, SparkSemantics()).tree)
        except Refusal:
            continue
        chain = term.single
        if not isinstance(chain, Chain):
            continue
        tried += 1
        least, greatest = chain.type.least, chain.type.greatest
        limit = draw.choice([draw.randint(least, greatest), min(draw.randint(-200, 200), greatest), greatest])
        wanted = ordinals_satisfying(draw.choice(list(Op)), max(limit, least), least, greatest)
        found = classify_values(chain, wanted)
        for at in values_to_try(draw, found):
            fate = fate_of(chain, at)
            assert (at in found.true) == (isinstance(fate, int) and fate in wanted)
            assert (at in found.null, at in found.raises, at in found.uncertain) == (
                fate == "nulls",
                fate == "raises",
                fate == "uncertain",
            )


def values_to_try(draw, found):
    """All of a small type; of a large one some, and those next to every limit."""
    least, greatest = found.column.least, found.column.greatest
    if greatest - least < 300:
        return range(least, greatest + 1)
    ends = {end for part in found[1:5] for pair in part.pairs for end in pair}
    near = {end + step for end in ends for step in (-1, 0, 1)}
    near |= {draw.randint(least, greatest) for _ in range(40)} | set(range(-40, 40))
    return [at for at in near if least <= at <= greatest]


def test_a_step_is_found_wherever_it_is():
    for step in (-128, -100, 0, 1, 126, 127):
        rising = Function("step", INT, lambda at, step=step: 5 if at >= step else -5, (Piece(-128, 127),))
        assert preimage(rising, span(0, 9)) == span(step, 127)
        assert preimage(rising, span(-9, 0)) == span(-128, step - 1)
        falling = Function("step", INT, lambda at, step=step: -5 if at >= step else 5, (Piece(-128, 127, rises=False),))
        assert preimage(falling, span(0, 9)) == span(-128, step - 1)
        assert preimage(falling, span(6, 9)) == ValueRanges()


def test_sets_of_ordinals():
    draw = random.Random(3)
    for _ in range(300):
        left, right = ({draw.randint(0, 30) for _ in range(draw.randint(0, 20))} for _ in range(2))
        one, other = (joined((at, at) for at in members) for members in (left, right))
        everything = range(-1, 32)
        assert [at for at in everything if at in union(one, other)] == sorted(left | right)
        assert [at for at in everything if at in intersection(one, other)] == sorted(left & right)
        assert [at for at in everything if at in complement(one, 0, 30)] == sorted(set(range(31)) - left)
        for found in (one, union(one, other), complement(one, 0, 30)):
            assert all(first <= last for first, last in found.pairs)
            assert all(last + 1 < first for (_, last), (first, _) in zip(found.pairs, found.pairs[1:], strict=False))


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_floats_keep_their_order_as_ordinals(type_):
    draw = random.Random(4)
    ordinals = sorted({draw.randint(type_.least, type_.infinity) for _ in range(200)} | {-1, 0, 1, type_.infinity})
    floats = [float_of_ordinal(at, type_.bits) for at in ordinals]
    assert floats == sorted(floats)
    assert [ordinal_of_float(value, type_.bits) for value in floats] == ordinals
    assert ordinal_of_float(-0.0, type_.bits) == ordinal_of_float(0.0, type_.bits) == 0
    assert ordinal_of_float(float("nan"), type_.bits) == type_.nan == type_.greatest
    for value in floats[1:-1]:
        assert ordinal_of_ratio(*value.as_integer_ratio(), type_.bits) == ordinal_of_float(value, type_.bits)


def test_ratios_are_rounded_once():
    draw = random.Random(5)
    for _ in range(2_000):
        top, bottom = draw.getrandbits(draw.randint(1, 150)), 10 ** draw.randint(0, 38)
        assert ordinal_of_ratio(top, bottom, 64) == ordinal_of_float(top / bottom)
        assert half_up(top, bottom) == (2 * top + bottom) // (2 * bottom)
        assert towards_zero(-top, bottom) == -(top // bottom)
    assert ordinal_of_ratio(16777217, 1, 32) == ordinal_of_float(16777216.0, 32)
    assert TINYINT.least == -128
