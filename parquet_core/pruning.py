"""The fold: answers at the leaves in, one answer per container out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.outcomes import all_of, any_of, is_truth, negate
from parquet_core.predicate import And, Constant, IsTruth, Not, Or, children_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Predicate


def fold(predicate: Predicate, answers: Sequence[OutcomeArray]) -> OutcomeArray:
    """Combine the answers of the leaves, given in the order of `leaves(predicate)`.

    Every array has one entry per container. Depth costs no stack.
    """
    waiting = iter(answers)
    done: list[OutcomeArray] = []
    stack: list[tuple[Predicate, bool]] = [(predicate, False)]
    while stack:
        node, ready = stack.pop()
        children = children_of(node)
        if not children:
            done.append(next(waiting))
        elif not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children))
        else:
            operands = done[-len(children) :]
            del done[-len(children) :]
            done.append(_combine(node, operands))
    return done.pop()


def _combine(node: Predicate, operands: list[OutcomeArray]) -> OutcomeArray:
    match node:
        case And():
            return all_of(operands)
        case Or():
            return any_of(operands)
        case Not():
            return negate(operands[0])
        case IsTruth(_, truth):
            return is_truth(operands[0], truth)
    raise TypeError(f"{type(node).__name__} has no operands")


def constant_answers(leaf: Constant, count: int) -> OutcomeArray:
    """Repeat the outcomes of a constant for `count` containers."""
    return np.full(count, leaf.outcomes, dtype=np.uint8)
