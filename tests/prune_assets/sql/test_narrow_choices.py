"""Choices that are narrowed leave the AND what it was, for every row and below NOT too."""

from __future__ import annotations

import random
from itertools import product

import pyarrow as pa
import pytest
from interpreter import outcomes_of

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, In, Interval, IsNull, IsTruth, Not, Op, Or
from prune_assets.sql.rewrites.narrow_choices import narrow_choices

VALUES = [None, 1, 2, 3, 4, 5]
ROWS = [{"x": x, "y": y} for x, y in product(VALUES, VALUES)]


def number(draw):
    return pa.scalar(draw.randint(1, 5), pa.int32())


def leaf(draw, column):
    match draw.randrange(5):
        case 0:
            return IsNull((column,))
        case 1:
            low, high = sorted([number(draw), number(draw)], key=lambda it: it.as_py())
            return Interval((column,), low, high)
        case 2:
            return In((column,), pa.array(draw.sample(range(1, 6), 2), pa.int32()))
        case _:
            return Compare((column,), draw.choice(list(Op)), number(draw))


def tree(draw, columns, depth):
    if depth == 0 or draw.random() < 0.3:
        return leaf(draw, draw.choice(columns))
    match draw.randrange(4):
        case 0:
            return Not(tree(draw, columns, depth - 1))
        case 1:
            truth = draw.choice([Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL])
            return IsTruth(tree(draw, columns, depth - 1), truth)
        case kind:
            return (And if kind == 2 else Or)(tuple(tree(draw, columns, depth - 1) for _ in range(draw.randint(2, 3))))


def known(draw):
    found = draw.choice([leaf(draw, "x"), Compare(("x",), Op.EQ, number(draw))])
    return IsTruth(found, Outcomes.TRUE) if draw.random() < 0.4 else found


@pytest.mark.parametrize("seed", range(2))
def test_the_and_is_what_it_was(seed):
    draw, changed, smaller = random.Random(f"choices {seed}"), 0, 0
    for _ in range(500):
        choices = [tree(draw, draw.choice(["x", "y", "xy"]), draw.randint(0, 3)) for _ in range(draw.randint(2, 3))]
        operands = [known(draw), Or(tuple(choices)), *([known(draw)] if draw.random() < 0.3 else [])]
        draw.shuffle(operands)
        narrowed = narrow_choices(operands)
        changed += narrowed != tuple(operands)
        smaller += len(narrowed) < len(operands)
        before, after = And(tuple(operands)), And(narrowed) if len(narrowed) > 1 else narrowed[0]
        wrong = [(row, outcomes_of(before, row), outcomes_of(after, row)) for row in ROWS]
        wrong = [it for it in wrong if it[1] != it[2]]
        assert wrong == [], (before, after)
    assert changed > 100
    assert smaller > 10
