"""The fold of a predicate tree: answers at the leaves in, one answer per container out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.outcomes import Outcomes, all_of, any_of, is_truth, negate
from parquet_core.predicate import And, Constant, IsTruth, Not, Or, children_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Predicate

# Connectives by number: the truth asked for by IsTruth comes on top of the last.
_AND, _OR, _NOT, _IS = range(4)


class _Node(NamedTuple):
    """A connective: the longest way down to a leaf, which one it is, its operands (an inner node i is ~i)."""

    height: int
    connective: int
    arity: int
    operands: list[int]


@dataclass(frozen=True, slots=True)
class _Step:
    """Nodes of one height, connective and arity, one a row of `operands`, whose results begin at slot `first`."""

    connective: int
    operands: NDArray[np.int64]
    first: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A predicate made ready to be folded: alike nodes at once, so the calls grow with its depth, not its size."""

    leaves: int
    steps: tuple[_Step, ...]

    def __call__(self, answers: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
        """Combine the answers of the leaves, from left to right, each with one entry per container."""
        if not self.steps:
            only: OutcomeArray = np.array(answers[0], np.uint8)
            return only
        last = self.steps[-1]
        slots = np.empty((last.first + len(last.operands), len(answers[0])), np.uint8)
        slots[: self.leaves] = answers
        for step in self.steps:
            count, arity = step.operands.shape
            low = int(step.operands[0, 0])
            together = np.array_equal(step.operands.ravel(), np.arange(low, low + count * arity))
            operands = slots[low : low + count * arity] if together else slots[step.operands.ravel()]
            slots[step.first : step.first + count] = _combine(step.connective, operands.reshape(count, arity, -1))
        folded: OutcomeArray = slots[-1].copy()
        return folded


def fold(predicate: Predicate, answers: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
    """Combine the answers of the leaves, given in the order of `leaves(predicate)`.

    Every array has one entry per container. Depth costs no stack.
    """
    return prepare(predicate)(answers)


def prepare(predicate: Predicate) -> Fold:
    """Return the fold of a predicate, to be used on many batches of containers."""
    count, nodes = _nodes(predicate)
    order = sorted(range(len(nodes)), key=lambda i: nodes[i][:3])
    slot = np.empty(len(nodes), np.int64)
    slot[order] = count + np.arange(len(nodes))
    steps: list[_Step] = []
    first = count
    for (_, connective, _), alike in groupby(order, key=lambda i: nodes[i][:3]):
        operands = np.array([nodes[i].operands for i in alike], np.int64)
        inner = operands < 0
        operands[inner] = slot[~operands[inner]]
        steps.append(_Step(connective, operands, first))
        first += len(operands)
    return Fold(count, tuple(steps))


def _nodes(predicate: Predicate) -> tuple[int, list[_Node]]:
    """Return the number of leaves and the connectives, operands before what they belong to."""
    count = 0
    nodes: list[_Node] = []
    done: list[tuple[int, int]] = []
    stack: list[tuple[Predicate, bool]] = [(predicate, False)]
    while stack:
        node, ready = stack.pop()
        children = children_of(node)
        if not children:
            done.append((0, count))
            count += 1
        elif not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children))
        else:
            operands = done[-len(children) :]
            del done[-len(children) :]
            height = 1 + max(map(itemgetter(0), operands))
            nodes.append(_Node(height, _connective(node), len(operands), [number for _, number in operands]))
            done.append((height, ~(len(nodes) - 1)))
    return count, nodes


def _connective(node: Predicate) -> int:
    match node:
        case And():
            return _AND
        case Or():
            return _OR
        case Not():
            return _NOT
        case IsTruth(_, truth):
            return _IS + int(truth)
    raise TypeError(f"{type(node).__name__} has no operands")


def _combine(connective: int, operands: OutcomeArray) -> OutcomeArray:
    if connective == _AND:
        return all_of(operands)
    if connective == _OR:
        return any_of(operands)
    return negate(operands[:, 0]) if connective == _NOT else is_truth(operands[:, 0], Outcomes(connective - _IS))


def constant_answers(leaf: Constant, count: int) -> OutcomeArray:
    """Repeat the outcomes of a constant for `count` containers."""
    return np.full(count, leaf.outcomes, dtype=np.uint8)
