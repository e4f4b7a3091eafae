"""`p IS TRUE` is FALSE where p is never TRUE, and so for FALSE and UNKNOWN.

`(coalesce(x, 5) > 3) IS UNKNOWN` is FALSE for every row, though in a row group there may be nulls, for which `x > 3` is
NULL.
"""

from __future__ import annotations

from parquet_core.evidence.satisfiable import may_be_true
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Constant, IsTruth, Not, Or, Predicate, children_of, columns_of

# Larger conditions are asked as they stand, so that what is nested deeply costs no more than it is long.
MOST_PARTS = 64


def fold_truth_test(condition: Predicate, truth: Outcomes) -> Predicate:
    """Return whether a condition comes to a truth, FALSE where it never does."""
    asked = IsTruth(condition, truth)
    inner = condition.child if isinstance(condition, Not) else condition
    is_choice = isinstance(inner, (And, Or)) and _is_small(inner) and len(columns_of(inner)) == 1
    return Constant(Outcomes.FALSE) if is_choice and not may_be_true(asked) else asked


def _is_small(condition: Predicate) -> bool:
    stack, count = [condition], 0
    while stack and count <= MOST_PARTS:
        stack.extend(children_of(stack.pop())[: MOST_PARTS + 1])
        count += 1
    return count <= MOST_PARTS
