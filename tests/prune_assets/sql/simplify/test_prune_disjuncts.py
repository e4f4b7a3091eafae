"""Choices that are narrowed leave the AND what it was, for every row and below NOT too."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, In, Interval, IsNaN, IsNull, IsTruth, Not, Op, Or
from prune_assets.sql.simplify.prune_disjuncts import prune_disjuncts
from tests.prune_assets.sql.interpreter import outcomes_of

END = Decimal(f"{'9' * 28}.{'9' * 10}")
# In ascending order.
VALUES = {
    pa.int32(): [1, 2, 3, 4, 5],
    pa.float64(): [-math.inf, -0.0, 1.5, math.inf, math.nan],
    pa.decimal128(38, 10): [END.copy_negate(), Decimal(0), Decimal(1), END],
    pa.date32(): [-1, 0, 1, 2],
}


class Trees:
    """Draws predicates on columns of one type."""

    def __init__(self, draw, kind):
        self.draw = draw
        self.kind = kind
        self.values = [pa.scalar(value, kind) for value in VALUES[kind]]

    def leaf(self, column):
        draw = self.draw
        match draw.randrange(6 if pa.types.is_floating(self.kind) else 5):
            case 0:
                return IsNull((column,))
            case 1:
                low, high = sorted(draw.choices(range(len(self.values)), k=2))
                return Interval((column,), self.values[low], self.values[high])
            case 2:
                return In((column,), pa.array(draw.sample(VALUES[self.kind], 2), self.kind))
            case 5:
                return IsNaN((column,))
            case _:
                return Compare((column,), draw.choice(list(Op)), draw.choice(self.values))

    def tree(self, columns, depth):
        draw = self.draw
        if depth == 0 or draw.random() < 0.3:
            return self.leaf(draw.choice(columns))
        match draw.randrange(4):
            case 0:
                return Not(self.tree(columns, depth - 1))
            case 1:
                truth = draw.choice([Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL])
                return IsTruth(self.tree(columns, depth - 1), truth)
            case connective:
                children = tuple(self.tree(columns, depth - 1) for _ in range(draw.randint(2, 3)))
                return And(children) if connective == 2 else Or(children)

    def known(self):
        found = self.draw.choice([self.leaf("x"), Compare(("x",), Op.EQ, self.draw.choice(self.values))])
        return IsTruth(found, Outcomes.TRUE) if self.draw.random() < 0.4 else found

    def choices(self):
        columns = self.draw.choice(["x", "y", "xy"])
        return Or(tuple(self.tree(columns, self.draw.randint(0, 3)) for _ in range(self.draw.randint(2, 3))))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_the_and_is_what_it_was(kind):
    draw, changed, smaller = random.Random(f"choices {kind}"), 0, 0
    trees = Trees(draw, kind)
    plain = [None, *(value.as_py() for value in trees.values)]
    rows = [{"x": x, "y": y} for x, y in product(plain, plain)]
    for _ in range(300):
        operands = [trees.known(), trees.choices(), *([trees.known()] if draw.random() < 0.3 else [])]
        draw.shuffle(operands)
        narrowed = prune_disjuncts(operands)
        changed += narrowed != tuple(operands)
        smaller += len(narrowed) < len(operands)
        before, after = And(tuple(operands)), And(narrowed) if len(narrowed) > 1 else narrowed[0]
        wrong = [row for row in rows if outcomes_of(before, row) != outcomes_of(after, row)]
        assert wrong == [], (before, after)
    assert changed > 50
    assert smaller > 5
