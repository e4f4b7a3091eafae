"""Which leaves of a predicate leave a container open: had one of these ruled it out, it would be closer to a skip."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.outcomes import Outcomes, negate
from parquet_core.predicate import IsTruth, Not, children_of, leaves
from parquet_core.pruning import combine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Predicate


class _Node(NamedTuple):
    predicate: Predicate
    answers: OutcomeArray
    children: tuple[_Node, ...]


def open_outcomes(predicate: Predicate, answers: Sequence[OutcomeArray]) -> list[OutcomeArray]:
    """Return for each leaf the outcomes that let the predicate be TRUE, by container; none where it is no obstacle.

    `answers`: those of the leaves from left to right, one array entry a container. Of an AND every child is in the
    way of a skip, of an OR those that may be TRUE; below NOT it is FALSE that counts.

    >>> from parquet_core.predicate import Or, Unsupported
    >>> either = Or((Unsupported("a", ""), Unsupported("b", "")))
    >>> [part.tolist() for part in open_outcomes(either, [np.array([7, 2], np.uint8), np.array([7, 3], np.uint8)])]
    [[1, 0], [1, 1]]
    """
    root = _answered(predicate, iter(answers))
    return list(_spread(root, np.full(len(root.answers), Outcomes.TRUE, np.uint8)))


def asked_outcomes(predicate: Predicate) -> list[Outcomes]:
    """Return for each leaf the outcomes that count, whatever the data: FALSE below NOT, else TRUE."""
    unknown = np.full(1, Outcomes.UNKNOWN, np.uint8)
    count = sum(1 for _ in leaves(predicate))
    return [Outcomes(int(part[0])) for part in open_outcomes(predicate, [unknown] * count)]


def _answered(predicate: Predicate, waiting: Iterator[OutcomeArray]) -> _Node:
    children = tuple(_answered(child, waiting) for child in children_of(predicate))
    if not children:
        return _Node(predicate, next(waiting), ())
    return _Node(predicate, combine(predicate, [child.answers for child in children]), children)


def _spread(node: _Node, wanted: OutcomeArray) -> Iterator[OutcomeArray]:
    possible: OutcomeArray = wanted & node.answers
    if not node.children:
        yield possible
    for child in node.children:
        yield from _spread(child, _wanted_of_child(node.predicate, possible))


def _wanted_of_child(node: Predicate, wanted: OutcomeArray) -> OutcomeArray:
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
