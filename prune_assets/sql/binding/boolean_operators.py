"""Comparisons of two conditions, such as `(x > 5) = (y < 3)`, with AND, OR and NOT; FALSE is less than TRUE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Constant, IsTruth, Not, Op, Or
from prune_assets.sql.syntax.operators import MIRRORED

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate

NULL = Constant(Outcomes.NULL)


def compare_conditions(left: Predicate, op: Op, right: Predicate) -> Predicate:
    """Return `left op right`, NULL where either is."""
    if NULL in (left, right):
        return NULL
    if op in {Op.GT, Op.LE}:
        left, op, right = right, MIRRORED[op], left
    match op:
        case Op.EQ:
            return _same(left, right)
        case Op.NE:
            return negation(_same(left, right))
        case Op.LT:
            return _less(left, right)
        case _:
            return negation(_less(left, right))


def same_or_both_null(left: Predicate, right: Predicate) -> Predicate:
    """Return `left <=> right`, never NULL itself."""
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.outcomes in {Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL}:
            return IsTruth(one, other.outcomes)
    truths = (Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL)
    return Or(tuple(And((IsTruth(left, truth), IsTruth(right, truth))) for truth in truths))


def negation(condition: Predicate) -> Predicate:
    """Return NOT condition."""
    return condition.child if isinstance(condition, Not) else Not(condition)


def _same(left: Predicate, right: Predicate) -> Predicate:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.outcomes in {Outcomes.TRUE, Outcomes.FALSE}:
            return one if other.outcomes is Outcomes.TRUE else negation(one)
    return Or((And((left, right)), And((negation(left), negation(right)))))


def _less(left: Predicate, right: Predicate) -> Predicate:
    either_null = Or((IsTruth(left, Outcomes.NULL), IsTruth(right, Outcomes.NULL)))
    return Or((And((negation(left), right)), And((either_null, NULL))))
