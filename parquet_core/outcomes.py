"""Which truth values a predicate may take over the rows of a container.

An answer is the subset of {TRUE, FALSE, NULL} that cannot be ruled out, three bits in a byte, so
that the answers for a whole batch of containers are one `uint8` array. The Kleene tables of AND, OR
and NOT are lifted to these sets once, into 8 x 8 lookup tables.
"""

from __future__ import annotations

from enum import IntFlag
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    OutcomeArray = NDArray[np.uint8]


class Outcomes(IntFlag):
    """A set of truth values, as bits."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    NULL = 4
    UNKNOWN = 7


# Kleene's order FALSE < NULL < TRUE: AND is the minimum, OR the maximum.
_RANK = {Outcomes.FALSE: 0, Outcomes.NULL: 1, Outcomes.TRUE: 2}
_BY_RANK = {rank: value for value, rank in _RANK.items()}


def _members(bits: int) -> list[Outcomes]:
    return [value for value in _RANK if bits & value]


def _lift(combine: Callable[[int, int], int]) -> OutcomeArray:
    table = np.zeros((8, 8), dtype=np.uint8)
    for left, right in product(range(8), repeat=2):
        for a, b in product(_members(left), _members(right)):
            table[left, right] |= _BY_RANK[combine(_RANK[a], _RANK[b])]
    return table


_AND = _lift(min)
_OR = _lift(max)
_NOT = np.array([sum(_BY_RANK[2 - _RANK[value]] for value in _members(bits)) for bits in range(8)], dtype=np.uint8)


def unknown(count: int) -> OutcomeArray:
    """Return the answer that rules nothing out, for `count` containers."""
    return np.full(count, Outcomes.UNKNOWN, dtype=np.uint8)


def all_of(children: Iterable[OutcomeArray]) -> OutcomeArray:
    """Fold AND over the answers of at least one child.

    >>> [int(x) for x in all_of([np.array([1, 3], np.uint8), np.array([2, 4], np.uint8)])]
    [2, 6]
    """
    return reduce(lambda left, right: _AND[left, right], children)


def any_of(children: Iterable[OutcomeArray]) -> OutcomeArray:
    """Fold OR over the answers of at least one child.

    >>> [int(x) for x in any_of([np.array([1, 2], np.uint8), np.array([2, 4], np.uint8)])]
    [1, 4]
    """
    return reduce(lambda left, right: _OR[left, right], children)


def negate(answers: OutcomeArray) -> OutcomeArray:
    """Swap TRUE and FALSE in every set; NULL stays.

    >>> [int(x) for x in negate(np.array([1, 2, 4, 5], np.uint8))]
    [2, 1, 4, 6]
    """
    negated: OutcomeArray = _NOT[answers]
    return negated


def is_truth(answers: OutcomeArray, truth: Outcomes) -> OutcomeArray:
    """Ask of every set whether an outcome is this one: TRUE where it may be, FALSE where it may be another.

    >>> [int(x) for x in is_truth(np.array([1, 3, 4, 7], np.uint8), Outcomes.TRUE)]
    [1, 3, 2, 3]
    """
    same, other = (answers & truth) != 0, (answers & ~truth & Outcomes.UNKNOWN) != 0
    asked: OutcomeArray = (same * Outcomes.TRUE.value + other * Outcomes.FALSE.value).astype(np.uint8)
    return asked


def intersect(left: OutcomeArray, right: OutcomeArray) -> OutcomeArray:
    """Join two answers about the same rows.

    Two true answers always share an outcome; where they do not, one of them lies, and neither is believed.

    >>> [int(x) for x in intersect(np.array([3, 1], np.uint8), np.array([6, 2], np.uint8))]
    [2, 7]
    """
    both = left & right
    return np.where(both == 0, np.uint8(Outcomes.UNKNOWN), both)


def may_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Tell for which containers a row may be selected."""
    possible: NDArray[np.bool_] = (answers & Outcomes.TRUE) != 0
    return possible


def must_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Tell for which containers every row is selected."""
    selected: NDArray[np.bool_] = answers == Outcomes.TRUE
    return selected
