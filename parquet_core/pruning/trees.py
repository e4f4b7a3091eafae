"""Fold the outcomes of leaves to the outcome of a predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.outcomes import Outcomes, all_of, any_of, is_truth, negate
from parquet_core.pruning.predicate import And, Constant, IsTruth, Not, Or, leaves, post_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Predicate, PredicateNode


def fold(predicate: Predicate, answers: Iterable[OutcomeArray]) -> OutcomeArray:
    """Combine the outcomes of the leaves into the outcome of the predicate.

    `answers`: one array per leaf, from left to right, with one entry per container. Does not recurse, so trees may be
    deep.

    >>> from parquet_core.pruning.predicate import Or, Unsupported
    >>> either = Or((Unsupported("a", ""), Unsupported("b", "")))
    >>> fold(either, [np.array([2, 1], np.uint8), np.array([2, 2], np.uint8)]).tolist()
    [2, 1]
    """
    return fold_nodes(post_order(predicate), answers)


def fold_nodes(nodes: Sequence[PredicateNode], answers: Iterable[OutcomeArray]) -> OutcomeArray:
    """Combine outcomes as `fold` does, with the nodes of `post_order(predicate)`.

    Callers with many batches of containers compute the nodes once.
    """
    return np.array(_outcomes_of_nodes(nodes, answers)[-1], np.uint8)


def _outcomes_of_nodes(nodes: Sequence[PredicateNode], answers: Iterable[OutcomeArray]) -> list[OutcomeArray]:
    waiting = iter(answers)
    outcomes: list[OutcomeArray] = []
    for node, operands in nodes:
        outcomes.append(_combine(node, [outcomes[i] for i in operands]) if operands else next(waiting))
    return outcomes


def constant_answers(leaf: Constant, count: int) -> OutcomeArray:
    """Repeat the outcomes of a constant for `count` containers."""
    return np.full(count, leaf.outcomes, dtype=np.uint8)


def open_outcomes(predicate: Predicate, answers: Sequence[OutcomeArray]) -> list[OutcomeArray]:
    """Return the outcomes of each leaf that keep a container from being skipped.

    Returns one array per leaf, with a mask of `Outcomes` bits per container: NONE if the leaf keeps nothing. A
    container is kept while the predicate may be TRUE. An AND may be TRUE only if all of its operands may be, so each
    operand keeps the container. In an OR, each operand that may be TRUE keeps it. Below NOT, FALSE replaces TRUE.

    `answers`: possible outcomes of the leaves from left to right, in the same form. Does not recurse, so trees may be
    deep.

    >>> from parquet_core.pruning.predicate import Or, Unsupported
    >>> either = Or((Unsupported("a", ""), Unsupported("b", "")))
    >>> [part.tolist() for part in open_outcomes(either, [np.array([7, 2], np.uint8), np.array([7, 3], np.uint8)])]
    [[1, 0], [1, 1]]
    """
    nodes = post_order(predicate)
    node_outcomes = _outcomes_of_nodes(nodes, answers)
    wanted: list[OutcomeArray] = [node_outcomes[-1]] * len(nodes)
    wanted[-1] = np.full(len(node_outcomes[-1]), Outcomes.TRUE, np.uint8)
    outcomes: list[OutcomeArray] = []
    for ordinal in reversed(range(len(nodes))):
        node, operands = nodes[ordinal]
        possible = wanted[ordinal] & node_outcomes[ordinal]
        if not operands:
            outcomes.append(possible)
            continue
        below = _wanted_of_operands(node, possible)
        for i in operands:
            wanted[i] = below
    return outcomes[::-1]


def outcomes_to_refute(predicate: Predicate) -> list[Outcomes]:
    """Return the outcomes of each leaf that can make the predicate TRUE.

    They do not depend on data: FALSE below NOT, else TRUE.
    """
    unknown = np.full(1, Outcomes.UNKNOWN, np.uint8)
    count = sum(1 for _ in leaves(predicate))
    return [Outcomes(int(part[0])) for part in open_outcomes(predicate, [unknown] * count)]


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


def _wanted_of_operands(node: Predicate, wanted: OutcomeArray) -> OutcomeArray:
    match node:
        case Not():
            return negate(wanted)
        case IsTruth(_, truth):
            others = np.uint8(Outcomes.UNKNOWN & ~truth)
            is_it = np.where(wanted & np.uint8(Outcomes.TRUE), np.uint8(truth), np.uint8(0))
            is_other = np.where(wanted & np.uint8(Outcomes.FALSE), others, np.uint8(0))
            return (is_it | is_other).astype(np.uint8)
        case _:
            return wanted
