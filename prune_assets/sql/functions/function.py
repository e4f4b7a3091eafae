"""SQL functions of one argument: their results, and the ranges of arguments on which they are monotone.

Values are represented by integers, the ordinals of `spark_types.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.ranges import NOTHING, ValueRanges, complement, intersection, joined, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from prune_assets.sql.types.spark_types import SparkType

# Larger than every result of a function, including doubles as whole numbers.
_FAR = 1 << 2_000
EVERYTHING = ValueRanges(((-_FAR, _FAR),))


class Piece(NamedTuple):
    """Ordinals from `first` to `last` on which a function is monotone.

    `rises`: True if the function never falls on the piece, False if it never rises.
    """

    first: int
    last: int
    rises: bool = True


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one value, as Spark computes it.

    Arguments and results are ordinals: the integers that represent values, such as the days of a date (see
    `spark_types`).

    `value`: returns the result for each ordinal in the pieces. If the result exceeds the type `result`, Spark raises,
    or returns NULL with `overflows_to_null`.
    `pieces`: disjoint ranges of arguments on which the function is monotone. All other arguments are in `raises`, in
    `nulls`, or in `uncertain` if Spark's result is unknown.
    `image`: the set of results of a function that is not monotone, such as a periodic one; replaces `pieces`. The set
    decides a condition only if the condition has one outcome for all results. The function has a value at all
    arguments that are not `uncertain`.
    `why`: reason and next step to report if `image` does not decide.
    `steps`: functions that give the same result in succession, faster on many values; empty if unavailable.
    `each`: vectorized `value`, for arguments with a value. None if unavailable.
    `is_evaluated`: False if only the set of results is known.
    `needs_zone`: True if values would be known with a time zone.
    `doubt`: maximum error of the argument, such as an unknown zone offset.
    """

    name: str
    result: SparkType
    value: Callable[[int], int]
    pieces: tuple[Piece, ...]
    raises: ValueRanges = NOTHING
    nulls: ValueRanges = NOTHING
    uncertain: ValueRanges = NOTHING
    overflows_to_null: bool = False
    image: ValueRanges | None = None
    why: tuple[str, str] = ("", "")
    doubt: int = 0
    is_evaluated: bool = True
    needs_zone: bool = False
    steps: tuple[Function, ...] = ()
    each: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None

    def has_value(self, ordinal: int) -> bool:
        """Return whether `value` is defined at an ordinal."""
        if self.image is not None:
            return ordinal not in self.uncertain
        return any(piece.first <= ordinal <= piece.last for piece in self.pieces)

    def result_of(self, ordinal: int) -> int | None:
        """Return the result at an ordinal; None for NULL. Raises Refusal if it is an error or unknown."""
        if ordinal in self.nulls:
            return None
        if not self.has_value(ordinal):
            raise Refusal(f"Spark raises an error for {self.name} of this constant, or its result is not known")
        result = self.value(ordinal)
        if self.result.least <= result <= self.result.greatest:
            return result
        if self.overflows_to_null:
            return None
        raise Refusal(f"{self.name} of this constant overflows {self.result}", raises=True)

    @property
    def overflows(self) -> ValueRanges:
        """Ordinals at which the result is outside of its type."""
        least, greatest = self.result.least, self.result.greatest
        return preimage(self, ValueRanges(((-_FAR, least - 1), (greatest + 1, _FAR))))


class Preimage(NamedTuple):
    """Arguments of a function grouped by outcome: a result in the requested set, NULL, an error, or unknown."""

    chosen: ValueRanges
    nulls: ValueRanges = NOTHING
    raises: ValueRanges = NOTHING
    uncertain: ValueRanges = NOTHING


def preimage(function: Function, wanted: ValueRanges) -> ValueRanges:
    """Return the ordinals at which a function's value is in a set.

    Uses bisection: at most one evaluation per bit for each end of a range.
    """
    return joined(pair for piece in function.pieces for pair in _inverted(function.value, piece, wanted))


def recurring(
    name: str, result: SparkType, image: ValueRanges, why: tuple[str, str], value: Callable[[int], int] | None = None
) -> Function:
    """Return a periodic function with a known set of results. The function is NULL only for NULL.

    `value`: returns the result at each ordinal. None if unknown.
    """

    def refuse(_: int) -> int:
        raise Refusal(*why)

    is_evaluated = value is not None
    return Function(
        name, result, refuse if value is None else value, (), image=image, why=why, is_evaluated=is_evaluated
    )


def invert(function: Function, results: Preimage) -> Preimage:
    """Return the arguments that lead to the given results. Raises Refusal if they cannot be determined."""
    if function.image is not None:
        return _preimage_of_unordered(function, function.image, results)
    overflows = function.overflows
    lost = NOTHING if function.overflows_to_null else overflows
    exact = Preimage(
        preimage(function, results.chosen),
        union(function.nulls, preimage(function, results.nulls), overflows if function.overflows_to_null else NOTHING),
        union(function.raises, preimage(function, results.raises), lost),
        union(function.uncertain, preimage(function, results.uncertain)),
    )
    if not function.doubt:
        return exact
    return doubted(exact, function.doubt, function.pieces[0].first, function.pieces[-1].last)


def doubted(exact: Preimage, doubt: int, least: int, greatest: int) -> Preimage:
    """Return the preimage for values with an error of up to `doubt`; ambiguous values become uncertain.

    All values are between `least` and `greatest`.

    >>> doubted(Preimage(ValueRanges(((10, 99),))), 3, 0, 99)
    Preimage(chosen=ValueRanges(pairs=((13, 99),)), nulls=ValueRanges(pairs=()), raises=ValueRanges(pairs=()), \
uncertain=ValueRanges(pairs=((7, 12),)))
    """
    if not doubt:
        return exact
    chosen, nulls, raises = (_shrunk(part, doubt, least, greatest) for part in exact[:3])
    rest = complement(union(chosen, nulls, raises), least, greatest)
    possible = joined((first - doubt, last + doubt) for part in exact for first, last in part.pairs)
    return Preimage(chosen, nulls, raises, intersection(rest, possible))


def _shrunk(part: ValueRanges, doubt: int, least: int, greatest: int) -> ValueRanges:
    """Return the values that stay in the set if moved by up to `doubt`."""
    ends = ((a if a <= least else a + doubt, b if b >= greatest else b - doubt) for a, b in part.pairs)
    return joined((a, b) for a, b in ends if a <= b)


def _preimage_of_unordered(function: Function, image: ValueRanges, results: Preimage) -> Preimage:
    certain = complement(function.uncertain, -_FAR, _FAR) if function.uncertain else EVERYTHING
    chosen, nulls, raises, uncertain = (
        intersection(_all_or_nothing(image, part, function.why), certain) for part in results
    )
    return Preimage(chosen, nulls, raises, union(uncertain, function.uncertain))


def _all_or_nothing(image: ValueRanges, part: ValueRanges, why: tuple[str, str]) -> ValueRanges:
    met = intersection(image, part)
    if met and met != image:
        raise Refusal(*why)
    return EVERYTHING if met else NOTHING


def _inverted(value: Callable[[int], int], piece: Piece, wanted: ValueRanges) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a piece whose values are in `wanted`."""
    sign = 1 if piece.rises else -1

    def rising(ordinal: int) -> int:
        return sign * value(ordinal)

    least, greatest = rising(piece.first), rising(piece.last)
    for low, high in wanted.pairs:
        bottom, top = (low, high) if piece.rises else (-high, -low)
        if top < least or bottom > greatest:
            continue
        first = _first(rising, bottom, piece, least, greatest)
        stop = _first(rising, top + 1, piece, least, greatest)
        if first < stop:
            yield first, stop - 1


def _first(value: Callable[[int], int], target: int, piece: Piece, least: int, greatest: int) -> int:
    """Return the first ordinal of a piece whose value is at least `target`; one past the last ordinal if there is none.

    The value rises over the piece from `least` to `greatest`.
    """
    first, last = piece.first, piece.last
    if least >= target:
        return first
    if greatest < target:
        return last + 1
    # Most functions are linear in the ordinal, up to rounding.
    guess = first + (target - least) * (last - first) // (greatest - least)
    for ordinal in (guess, guess + 1):
        if first < ordinal <= last and value(ordinal) >= target > value(ordinal - 1):
            return ordinal
    while last - first > 1:
        middle = (first + last) // 2
        if value(middle) >= target:
            last = middle
        else:
            first = middle
    return last
