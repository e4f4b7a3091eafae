"""Normalize equivalent spellings of predicates (associativity, De Morgan, tests of truth).

`a AND (b AND c)` is `a AND b AND c`, `NOT (a OR b)` is `NOT a AND NOT b`; `p IS TRUE` is FALSE if p is never TRUE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.evidence.satisfiable import may_be_true
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    Constant,
    IsTruth,
    Not,
    Op,
    Or,
    Predicate,
    children_of,
    columns_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


# Predicates with more operands are not flattened, so that the cost grows only with the length of a predicate.
MOST = 100
_OPPOSITE_OPS = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}


def conjuncts(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Flatten the operands of an AND.

    Nested ANDs are replaced with their operands, and negated ORs with the inverses of their operands.
    """
    return _flat(operands, And, Or)


def disjuncts(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Flatten the operands of an OR.

    Nested ORs are replaced with their operands, and negated ANDs with the inverses of their operands.
    """
    return _flat(operands, Or, And)


def _flat(operands: Sequence[Predicate], own: type[And | Or], other: type[And | Or]) -> tuple[Predicate, ...]:
    flattened: list[Predicate] = []
    waiting = list(reversed(operands))
    while waiting:
        part = waiting.pop()
        if isinstance(part, own):
            waiting += reversed(part.children)
        elif isinstance(part, Not) and isinstance(part.child, other):
            waiting += [inverse(child) for child in reversed(part.child.children)]
        else:
            flattened.append(part)
        if len(flattened) + len(waiting) > max(MOST, len(operands)):
            return tuple(operands)
    return tuple(flattened)


def inverse(condition: Predicate) -> Predicate:
    """Return the negation of a condition, which is NULL where the condition is NULL.

    NaN is greater than all numbers, so every comparison has an opposite.

    >>> import pyarrow as pa
    >>> inverse(Compare(("x",), Op.LT, pa.scalar(5))).op
    <Op.GE: '>='>
    """
    match condition:
        case Not(child):
            return child
        case Compare(column, op, value):
            return Compare(column, _OPPOSITE_OPS[op], value)
        case Constant(Outcomes.NULL):
            return condition
        case _:
            return Not(condition)


# Larger conditions are not simplified, so that the cost grows only with the length of a predicate.
MOST_PARTS = 64


def fold_truth_test(condition: Predicate, truth: Outcomes) -> Predicate:
    """Return `condition IS truth`, or FALSE if the condition never has this truth."""
    test = IsTruth(condition, truth)
    inner = condition.child if isinstance(condition, Not) else condition
    is_choice = isinstance(inner, (And, Or)) and _is_small(inner) and len(columns_of(inner)) == 1
    return Constant(Outcomes.FALSE) if is_choice and not may_be_true(test) else test


def _is_small(condition: Predicate) -> bool:
    stack, count = [condition], 0
    while stack and count <= MOST_PARTS:
        stack.extend(children_of(stack.pop())[: MOST_PARTS + 1])
        count += 1
    return count <= MOST_PARTS
