"""A function of one value, known by its value at every ordinal and by where it rises and falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.sql.ranges import NOTHING, Ranges, joined, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from prune_assets.sql.types import SparkType

# Beyond all that any function comes to, doubles as whole numbers included.
_FAR = 1 << 2_000


class Piece(NamedTuple):
    """Ordinals from `first` to `last` over which a function never falls, or never rises."""

    first: int
    last: int
    rises: bool = True


@dataclass(frozen=True, slots=True)
class Function:
    """What Spark computes from one value.

    `value` gives the ordinal of the result for every ordinal in the pieces; where it lies outside of the type `result`,
    Spark raises, or with `overflows_to_null` answers NULL. The pieces are disjoint; ordinals in none of them are in one
    of the others: `raises`, `nulls`, or `uncertain` where it is not known what Spark does.
    """

    name: str
    result: SparkType
    value: Callable[[int], int]
    pieces: tuple[Piece, ...]
    raises: Ranges = NOTHING
    nulls: Ranges = NOTHING
    uncertain: Ranges = NOTHING
    overflows_to_null: bool = False

    @property
    def overflows(self) -> Ranges:
        """The ordinals at which the result is outside of its type."""
        least, greatest = self.result.least, self.result.greatest
        return preimage(self, Ranges(((-_FAR, least - 1), (greatest + 1, _FAR))))


class Fate(NamedTuple):
    """What becomes of values that a chain of functions is applied to: those in `chosen`, and those without a result."""

    chosen: Ranges
    nulls: Ranges = NOTHING
    raises: Ranges = NOTHING
    uncertain: Ranges = NOTHING


def preimage(function: Function, wanted: Ranges) -> Ranges:
    """Return the ordinals whose value is in the set: by bisection, so one evaluation a bit and end."""
    pairs = wanted.pairs
    return joined(
        found
        for piece in function.pieces
        for low, high in (pairs if piece.rises else reversed(pairs))
        if (found := _between(function.value, piece, low, high)) is not None
    )


def before(function: Function, fate: Fate) -> Fate:
    """Return the fate of the arguments of a function from that of its results."""
    overflows = function.overflows
    lost = NOTHING if function.overflows_to_null else overflows
    return Fate(
        preimage(function, fate.chosen),
        union(function.nulls, preimage(function, fate.nulls), overflows if function.overflows_to_null else NOTHING),
        union(function.raises, preimage(function, fate.raises), lost),
        union(function.uncertain, preimage(function, fate.uncertain)),
    )


def _between(value: Callable[[int], int], piece: Piece, low: int, high: int) -> tuple[int, int] | None:
    ends = value(piece.first), value(piece.last)
    if max(ends) < low or min(ends) > high:
        return None
    if piece.rises:
        first = _first(lambda at: value(at) >= low, piece.first, piece.last)
        stop = _first(lambda at: value(at) > high, first, piece.last)
    else:
        first = _first(lambda at: value(at) <= high, piece.first, piece.last)
        stop = _first(lambda at: value(at) < low, first, piece.last)
    return (first, stop - 1) if first < stop else None


def _first(holds: Callable[[int], bool], first: int, last: int) -> int:
    """Return the first ordinal from which on it holds, one past the last when it never does."""
    stop = last + 1
    while first < stop:
        middle = (first + stop) // 2
        if holds(middle):
            stop = middle
        else:
            first = middle + 1
    return first
