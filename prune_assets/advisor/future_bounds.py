"""The bounds that pages of a layout to come would have, estimated from a sample in the order of that layout.

A page of 20,000 rows has 60 sampled ones, whose smallest and largest values lie too close together. So the residuals of
neighbouring pages, as many rows as the page will have, are put together: what is left of each row's value when the
mean and the spread of its page are taken out. Mean and spread are those of the page as far as pages differ by more than
chance would make them, and those of its neighbours otherwise (empirical Bayes: James and Stein, 1961). The columns of
the order itself are dense in each page: there its own rows tell, and the row after it. With all rows sampled, the
bounds are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.trust.bounds import Bounds
from prune_assets.advisor.sample import NULL

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from prune_assets.advisor.cut import Cut
    from prune_assets.advisor.sample import SampledColumn

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Pages that are compared to tell what they differ in from what chance makes.
_NEIGHBOURS = 64
# An event so rare is not expected.
_RARE = 1e-3
# A page within so few runs of equal values of the keys before has a dense range of the next key.
_FEW_RUNS = 2
_TINY = 1e-12


class Codes(NamedTuple):
    """The lowest and highest value of each page by their numbers, and whether it holds nulls, and what is not null."""

    low: Numbers
    high: Numbers
    null: Flags
    value: Flags


def future_bounds(cut: Cut, column: SampledColumn, before: list[Numbers]) -> Bounds:
    """Return the bounds of a column in each page; `before`: codes of the keys before it in the order, if it is a key.

    No writer counts NaN, so that each page of floats may have some.
    """
    rows = np.diff(cut.pages, append=cut.total)
    found = _codes_of_pages(cut, column, before)
    known = found.high >= found.low
    some = np.where(found.value, np.maximum(1, rows // 2), rows)
    return Bounds(
        lower=_values(column.values, found.low, known),
        upper=_values(column.values, found.high, known),
        null_count=from_numpy(np.where(found.null, some, 0)),
        row_count=rows,
    )


def _values(values: pa.Array, codes: Numbers, known: Flags) -> pa.Array:
    return values.take(from_numpy(np.where(known, codes, 0), valid=known))


def _codes_of_pages(cut: Cut, column: SampledColumn, before: list[Numbers]) -> Codes:
    codes, first = column.codes[cut.order], cut.sampled(cut.pages)
    value = (codes >= 0) & (codes < len(column.values))
    own = Codes(
        np.minimum.reduceat(np.where(value, codes, len(column.values)), first),
        np.maximum.reduceat(np.where(value, codes, NULL), first),
        np.logical_or.reduceat(codes == NULL, first),
        np.logical_or.reduceat(codes != NULL, first),
    )
    if cut.rate >= 1:
        return own
    is_key = column.column.path in cut.keys
    dense = np.full(len(first), is_key)
    if is_key and not cut.is_curve and before:
        changes = np.zeros(len(codes), np.int64)
        for key in before:
            changes[1:] |= np.diff(key[cut.order]) != 0
        changes[first] = 0
        dense = np.add.reduceat(changes, first) < _FEW_RUNS
    if dense.all():
        return _dense(cut, column, own, codes, first)
    spread = _spread(cut, column, own, codes, first, value)
    if not dense.any():
        return spread
    return Codes(*(np.where(dense, *both) for both in zip(_dense(cut, column, own, codes, first), spread, strict=True)))


def _dense(cut: Cut, column: SampledColumn, own: Codes, codes: Numbers, first: Numbers) -> Codes:
    """Widen the bounds of sampled rows to those of evenly spread ones; along a sort key, up to the row that follows."""
    if not cut.is_curve:
        after = codes[np.append(first[1:], first[-1])]
        after = np.where((after >= own.low) & (after < len(column.values)), after, own.high)
        return own._replace(high=np.maximum(own.high, after))
    low, high = (_share(column, side) for side in (own.low, own.high))
    gap = (high - low) / np.maximum(np.diff(first, append=len(codes)) - 1, 1)
    return _enclosing(column, own, low - gap, high + gap)


def _share(column: SampledColumn, codes: Numbers) -> Floats:
    shares: Floats = np.concatenate([[0.0], column.share, [1.0]])[codes + 1]
    return shares


def _enclosing(column: SampledColumn, own: Codes, low: Floats, high: Floats) -> Codes:
    """Return the values nearest to shares of the rows, which enclose those that were sampled."""
    middles = (column.share[1:] + column.share[:-1]) / 2
    lower, upper = np.searchsorted(middles, low), np.searchsorted(middles, high)
    return own._replace(low=np.minimum(own.low, lower), high=np.maximum(own.high, upper))


def _spread(cut: Cut, column: SampledColumn, own: Codes, codes: Numbers, first: Numbers, value: Flags) -> Codes:
    """Return the bounds of a column that the order does not sort: those of as many neighbours as the page has rows."""
    share = np.where(value, _share(column, codes), 0.0)
    pages = _Pages(first, value, share, wide=max(_NEIGHBOURS, cut.width), narrow=cut.width)
    mean, scale = pages.mean_and_scale()
    page = np.repeat(np.arange(len(first)), np.diff(first, append=len(codes))) if len(first) > 1 else 0
    residual = np.where(value, (share - mean[page]) / np.maximum(scale[page], _TINY), 0.0)
    low = pages.extreme(np.minimum.reduceat(residual, first), np.minimum)
    high = pages.extreme(np.maximum.reduceat(residual, first), np.maximum)
    null = pages.occurs(codes == NULL, own.null)
    found = _enclosing(column, own, mean + scale * low, mean + scale * high)
    return found._replace(null=null, value=pages.occurs(codes != NULL, own.value))


class _Pages:
    """Sampled pages: sums over each, and over windows of neighbours."""

    def __init__(self, first: Numbers, value: Flags, share: Floats, *, wide: int, narrow: int) -> None:
        self.first, self.narrow = first, min(narrow, len(first))
        self.wide = min(wide, len(first))
        self.rows = np.maximum(np.diff(first, append=len(value)), 1)
        self.count = np.add.reduceat(value.astype(np.float64), first)
        self.sum = np.add.reduceat(share, first)
        self.mean = self.sum / np.maximum(self.count, 1)
        self.page_of_row = np.repeat(np.arange(len(first)), np.diff(first, append=len(value)))
        centred = np.where(value, share - self.mean[self.page_of_row], 0.0) if len(first) > 1 else share - self.mean[0]
        self.centred = np.where(value, centred, 0.0)

    def _window(self, size: int) -> tuple[Numbers, Numbers]:
        begin = np.clip(np.arange(len(self.first)) - size // 2, 0, len(self.first) - size)
        return begin, begin + size

    def _total(self, values: Floats) -> Floats:
        begin, end = self._window(self.wide)
        sums = np.concatenate([[0.0], np.cumsum(values)])
        total: Floats = sums[end] - sums[begin]
        return total

    def mean_and_scale(self) -> tuple[Floats, Floats]:
        """Return the mean and the spread of each page, shrunk to those of its neighbours as far as chance explains."""
        square = np.add.reduceat(self.centred**2, self.first)
        fourth = np.add.reduceat(self.centred**4, self.first)
        count = self.count
        freedom = np.maximum(count - 1, 1)
        variance = square / freedom
        rows = np.maximum(self._total(count), 1)
        pooled = self._total(square) / np.maximum(self._total(np.maximum(count - 1, 0)), 1)
        smooth = self._line()
        mean = _shrunk(self.mean, smooth, self._average(variance / np.maximum(count, 1)), self)
        kurtosis = np.maximum(self._total(fourth) / rows - pooled**2, 0.0)
        noise = kurtosis * self._average(1 / np.maximum(count, 1))
        return mean, np.sqrt(np.maximum(_shrunk(variance, pooled, noise, self), 0.0))

    def _average(self, values: Floats) -> Floats:
        weights = (self.count > 0).astype(np.float64)
        average: Floats = self._total(values * weights) / np.maximum(self._total(weights), 1)
        return average

    def _line(self) -> Floats:
        """Return the means that a line through the means of neighbours has."""
        at, weight = np.arange(len(self.first), dtype=np.float64), self.count
        total = np.maximum(self._total(weight), 1)
        centre, level = self._total(weight * at) / total, self._total(self.sum) / total
        across = self._total(weight * at**2) / total - centre**2
        along = self._total(self.sum * at) / total - centre * level
        slope = np.where(across > 1e-3, along / np.maximum(across, 1e-3), 0.0)
        line: Floats = level + slope * (at - centre)
        return line

    def extreme(self, of_page: Floats, reduce: Any) -> Floats:
        """Return the extremes over as many neighbours as together have the rows of a page."""
        begin, end = self._window(self.narrow)
        length, level = 1, of_page
        while 2 * length <= self.narrow:
            level = reduce(level[:-length], level[length:])
            length *= 2
        found: Floats = reduce(level[begin], level[end - length])
        return found

    def occurs(self, flags: Flags, own: Flags) -> Flags:
        """Tell in which pages something is met: it was, or neighbours have it and its absence can be chance."""
        each = np.add.reduceat(flags.astype(np.float64), self.first)
        rate = self._total(each) / np.maximum(self._total(self.rows.astype(np.float64)), 1)
        met = self.extreme(own.astype(np.float64), np.maximum) > 0
        by_chance = (1 - np.minimum(rate, 1)) ** self.rows > _RARE
        found: Flags = own | (met & by_chance)
        return found


def _shrunk(own: Floats, pooled: Floats, noise: Floats, pages: _Pages) -> Floats:
    """Return values between those of pages and the pooled ones, by how much they differ beyond noise."""
    deviation = pages._average((own - pooled) ** 2)  # noqa: SLF001 - a part of the same estimate
    certain = deviation > noise * (1 + 4 * np.sqrt(2 / max(pages.wide, 1)))
    weight = np.where(certain, 1 - noise / np.maximum(deviation, _TINY**2), 0.0)
    return np.where(pages.count > 0, pooled + weight * (own - pooled), pooled)
