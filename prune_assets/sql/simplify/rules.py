"""Rules that simplify the operands of a connective, and their order.

Each of `RULES` takes the operands of an AND and returns operands that together are TRUE, FALSE and NULL for the same
rows. An OR is the negation of an AND of negations (De Morgan), so the same rules apply to it.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import And, Or
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.simplify.flatten import MOST, conjuncts, disjuncts, inverse
from prune_assets.sql.simplify.join_conditions import join_conditions
from prune_assets.sql.simplify.join_ranges import join_equalities, join_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from parquet_core.pruning.predicate import Predicate

    Rule: TypeAlias = Callable[[Sequence[Predicate]], tuple[Predicate, ...]]

RULES: tuple[Rule, ...] = (join_ranges, join_conditions, join_equalities)


def all_of(operands: Sequence[Predicate]) -> Predicate:
    """Return the simplified AND of operands."""
    simplified = _simplified(conjuncts(operands))
    return _connected(And, operands if simplified is None else simplified)


def any_of(operands: Sequence[Predicate]) -> Predicate:
    """Return the simplified OR of operands."""
    simplified = _simplified(tuple(map(inverse, disjuncts(operands))))
    return _connected(Or, operands if simplified is None else tuple(map(inverse, simplified)))


def _simplified(operands: tuple[Predicate, ...]) -> tuple[Predicate, ...] | None:
    """Apply every rule to the operands of an AND; None if no rule changes them."""
    simplified = operands
    for rule in RULES:
        simplified = rule(simplified)
    same = len(simplified) == len(operands) and all(map(is_, simplified, operands))
    return None if same else simplified


def _connected(connective: type[And | Or], operands: Sequence[Predicate]) -> Predicate:
    """Connect operands, and flatten nested operands of the same connective.

    A NULL operand states that an AND is never TRUE, or an OR never FALSE; only the first one is kept.
    """
    parts_left: list[Predicate] = []
    for operand in operands:
        match operand:
            case And(parts) | Or(parts) if type(operand) is connective and len(parts) <= MOST:
                parts_left += parts
            case _:
                parts_left.append(operand)
    nulls = [i for i, part in enumerate(parts_left) if part == NULL]
    for i in reversed(nulls[1:]):
        del parts_left[i]
    return connective(tuple(parts_left)) if len(parts_left) > 1 else parts_left[0]
