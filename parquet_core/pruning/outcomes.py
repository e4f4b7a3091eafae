"""Outcome sets: possible truth values of a predicate in a container.

An outcome set is the subset of {TRUE, FALSE, NULL} that cannot be ruled out, stored as three bits of a byte. The sets
of a batch of containers are one `uint8` array. Kleene's AND, OR and NOT are bit operations on these sets.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    OutcomeArray = NDArray[np.uint8]


class Outcomes(IntFlag):
    """A set of truth values, as bits."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    NULL = 4
    UNKNOWN = 7


# Plain integers: with an IntFlag numpy would widen the uint8 arrays.
_TRUE, _FALSE, _NULL = (int(flag) for flag in (Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL))


def unknown(count: int) -> OutcomeArray:
    """Return UNKNOWN for `count` containers."""
    return np.full(count, Outcomes.UNKNOWN, dtype=np.uint8)


def all_of(children: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
    """Combine children with AND along the second-to-last axis; at least one child.

    >>> [int(x) for x in all_of([np.array([1, 3], np.uint8), np.array([2, 4], np.uint8)])]
    [2, 6]
    """
    return _fold(np.asarray(children, np.uint8), weak=_TRUE, strong=_FALSE)


def any_of(children: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
    """Combine children with OR along the second-to-last axis; at least one child.

    >>> [int(x) for x in any_of([np.array([1, 2], np.uint8), np.array([2, 4], np.uint8)])]
    [1, 4]
    """
    return _fold(np.asarray(children, np.uint8), weak=_FALSE, strong=_TRUE)


def _fold(sets: OutcomeArray, *, weak: int, strong: int) -> OutcomeArray:
    """Combine outcome sets with AND or OR in Kleene's logic.

    `strong`: the truth value that decides the result if a child has it, even next to NULL. `weak`: the opposite value.
    The result is NONE if a child is NONE. Two reductions suffice for any number of children.
    """
    may_be_weak = sets >> weak - 1 & 1
    not_strong = may_be_weak | sets >> 2 & 1
    any_outcome = not_strong | sets >> strong - 1 & 1
    every = np.bitwise_and.reduce(may_be_weak | not_strong << 1 | any_outcome << 2, axis=-2)
    any_child = np.bitwise_or.reduce(sets, axis=-2)
    folded: OutcomeArray = (every & 1) << weak - 1
    folded |= any_child & (every << 1 & _NULL)
    folded |= any_child & (every >> 2) << strong - 1
    return folded


def negate(answers: OutcomeArray) -> OutcomeArray:
    """Swap TRUE and FALSE in every set; NULL stays.

    >>> [int(x) for x in negate(np.array([1, 2, 4, 5], np.uint8))]
    [2, 1, 4, 6]
    """
    negated: OutcomeArray = answers & np.uint8(_NULL)
    negated |= (answers & np.uint8(_TRUE)) << np.uint8(1)
    negated |= answers >> np.uint8(1) & np.uint8(_TRUE)
    return negated


def is_truth(answers: OutcomeArray, truth: Outcomes) -> OutcomeArray:
    """Evaluate `IS truth` on every outcome set; the result is never NULL.

    >>> [int(x) for x in is_truth(np.array([1, 3, 4, 7], np.uint8), Outcomes.TRUE)]
    [1, 3, 2, 3]
    """
    same, other = (answers & int(truth)) != 0, (answers & int(~truth & Outcomes.UNKNOWN)) != 0
    answer: OutcomeArray = same.view(np.uint8) | other.view(np.uint8) << 1
    return answer


def intersect(left: OutcomeArray, right: OutcomeArray) -> OutcomeArray:
    """Intersect two outcome sets of the same rows.

    Correct sets always share an outcome. If two sets are disjoint, one of them is wrong, so the result is UNKNOWN.

    >>> [int(x) for x in intersect(np.array([3, 1], np.uint8), np.array([6, 2], np.uint8))]
    [2, 7]
    """
    both = left & right
    both[both == 0] = Outcomes.UNKNOWN
    return both


def may_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Flag containers that may hold a matching row."""
    possible: NDArray[np.bool_] = (answers & _TRUE) != 0
    return possible


def must_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Flag containers in which every row matches."""
    selected: NDArray[np.bool_] = answers == _TRUE
    return selected
