"""Sets of truth values: which a predicate may take over the rows of a container.

An answer is the subset of {TRUE, FALSE, NULL} that cannot be ruled out, three bits in a byte, so
that the answers for a whole batch of containers are one `uint8` array. Kleene's AND, OR and NOT are lifted
to these sets as operations on the bits.
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


# As plain numbers: with a flag numpy would make every byte a word.
_TRUE, _FALSE, _NULL = (int(flag) for flag in (Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL))


def unknown(count: int) -> OutcomeArray:
    """Return the answer that rules nothing out, for `count` containers."""
    return np.full(count, Outcomes.UNKNOWN, dtype=np.uint8)


def all_of(children: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
    """Fold AND over the answers of at least one child; the last axis but one counts children.

    >>> [int(x) for x in all_of([np.array([1, 3], np.uint8), np.array([2, 4], np.uint8)])]
    [2, 6]
    """
    return _fold(np.asarray(children, np.uint8), weak=_TRUE, strong=_FALSE)


def any_of(children: Sequence[OutcomeArray] | OutcomeArray) -> OutcomeArray:
    """Fold OR over the answers of at least one child; the last axis but one counts children.

    >>> [int(x) for x in any_of([np.array([1, 2], np.uint8), np.array([2, 4], np.uint8)])]
    [1, 4]
    """
    return _fold(np.asarray(children, np.uint8), weak=_FALSE, strong=_TRUE)


def _fold(sets: OutcomeArray, *, weak: int, strong: int) -> OutcomeArray:
    """Fold sets under Kleene's connective to which NULL gives way only where a child is `strong`.

    A child without an outcome leaves none. Two reductions do for any number of children.
    """
    may_be_weak = sets >> weak - 1 & 1
    not_strong = may_be_weak | sets >> 2 & 1
    any_outcome = not_strong | sets >> strong - 1 & 1
    every = np.bitwise_and.reduce(may_be_weak | not_strong << 1 | any_outcome << 2, axis=-2)
    some = np.bitwise_or.reduce(sets, axis=-2)
    folded: OutcomeArray = (every & 1) << weak - 1
    folded |= some & (every << 1 & _NULL)
    folded |= some & (every >> 2) << strong - 1
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
    """Ask of every set whether an outcome is this one: TRUE where it may be, FALSE where it may be another.

    >>> [int(x) for x in is_truth(np.array([1, 3, 4, 7], np.uint8), Outcomes.TRUE)]
    [1, 3, 2, 3]
    """
    same, other = (answers & int(truth)) != 0, (answers & int(~truth & Outcomes.UNKNOWN)) != 0
    answer: OutcomeArray = same.view(np.uint8) | other.view(np.uint8) << 1
    return answer


def intersect(left: OutcomeArray, right: OutcomeArray) -> OutcomeArray:
    """Join two answers about the same rows.

    Two true answers always share an outcome; where they do not, one of them lies, and neither is believed.

    >>> [int(x) for x in intersect(np.array([3, 1], np.uint8), np.array([6, 2], np.uint8))]
    [2, 7]
    """
    both = left & right
    both[both == 0] = Outcomes.UNKNOWN
    return both


def may_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Tell for which containers a row may be selected."""
    possible: NDArray[np.bool_] = (answers & _TRUE) != 0
    return possible


def must_match(answers: OutcomeArray) -> NDArray[np.bool_]:
    """Tell for which containers every row is selected."""
    selected: NDArray[np.bool_] = answers == _TRUE
    return selected
