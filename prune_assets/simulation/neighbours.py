"""Estimate the extremes of pages from their sampled rows and their neighbours.

A future page has n rows, and m of them are sampled. `narrow` is w = n / m: w pages together have n sampled rows. Each
value is replaced by its share, the part of all rows up to the value, so that values of any type have distances.

Similar pages. Two pages a and b are similar if chance explains how their sampled rows differ, within 3 standard errors:

    (mean_a - mean_b)^2 <= 9 * s2 * (1 / m_a + 1 / m_b)
    (variance_a - variance_b)^2 <= 9 * (k4 - s2^2) * (1 / (m_a - 1) + 1 / (m_b - 1))

where s2 is the variance inside pages and k4 their fourth moment, both over 64 neighbours. Rows of similar pages are
draws from one distribution. So the w * m = n sampled rows of w similar pages are n draws, like the rows of the page,
and their extremes estimate the extremes of the page for any distribution. If at least 90 % of the nearest pages are
similar, the w nearest pages are used, because a choice among them would favour narrow ones; otherwise the w nearest
similar pages of 128.

No w similar pages. Let E(k) be the mean distance, in spreads of a page, between a page's mean and the extreme of k of
its sampled rows, over 64 neighbours. With g1 = E(m/2) - E(m/4) and g2 = E(m) - E(m/2), each doubling of the rows
is taken to gain r = g2 / g1 times the gain before: r is 1/2 for uniform values and 1 for exponential tails.
The log2(w) doublings from m to n rows then gain g2 * (r + r^2 + ..), see `reach_of_doublings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Number of pages that a page is compared with, and the standard errors within which a difference counts as chance.
_NEIGHBOURS = 64
_CHANCE = 3.0
# Minimum number of nearest pages, and the share of similar pages that counts as nearly all.
_FEWEST = 8
_MOSTLY = 0.9
# An event with a smaller probability is not expected.
_RARE = 1e-3
_TINY = 1e-12
_AT_ONCE = 1 << 13
# Number of parts of a page's rows; the extremes of parts, halves and the whole are compared.
_PARTS = 4


class Neighbours:
    """Moments of sampled pages, and statistics of windows of neighbouring pages.

    A share is the part of all rows up to a value.

    `first`: first sampled row of each page.
    `codes`: code of each sampled row, -1 for null.
    `shares`: shares of null, of each value and of NaN.
    `low`, `high`: shares of the lowest and highest sampled value of each page, infinite if the page has no value.
    `narrow`: number of pages that together have as many sampled rows as one page has rows.
    """

    def __init__(
        self, first: Numbers, codes: Numbers, shares: Floats, low: Floats, high: Floats, *, narrow: int
    ) -> None:
        self.first, self.narrow, self._codes, self._shares = first, min(narrow, len(first)), codes, shares
        self._sampled = np.diff(first, append=len(codes))
        self.rows = np.maximum(self._sampled, 1)
        share, value = shares[codes + 1], (codes >= 0) & (codes < len(shares) - 2)
        self._value = None if value.all() else value
        share = share if self._value is None else np.where(value, share, 0.0)
        self.count = self._sampled.astype(np.float64) if self._value is None else self._by_page(value)
        total = self._by_page(share)
        self.mean = total / np.maximum(self.count, 1)
        square = (share - np.repeat(self.mean, self._sampled)) ** 2
        square = square if self._value is None else np.where(value, square, 0.0)
        self._low, self._high = low, high
        self._square = self._by_page(square)
        self._fourth = self._by_page(np.square(square, out=square))
        self._all = np.maximum(self._total(self.count), 1)
        self._centre = self._total(total) / self._all
        self._around = np.maximum(
            self._total(self._square + self.count * self.mean**2) / self._all - self._centre**2, 0
        )

    def _by_page(self, of_row: Floats | Flags) -> Floats:
        """Return the sums of row values per page."""
        return np.where(self._sampled > 0, np.add.reduceat(of_row, self.first, dtype=np.float64), 0.0)

    def _window(self, size: int) -> tuple[Numbers, Numbers]:
        begin = np.clip(np.arange(len(self.first)) - size // 2, 0, len(self.first) - size)
        return begin, begin + size

    def _total(self, of_page: Floats) -> Floats:
        begin, end = self._window(min(max(_NEIGHBOURS, self.narrow), len(self.first)))
        sums = np.concatenate([[0.0], np.cumsum(of_page)])
        total: Floats = sums[end] - sums[begin]
        return total

    def extremes(self) -> tuple[Floats, Floats]:
        """Estimate the lowest and highest value of each page; a value is given as the share of all rows up to it.

        The estimates are the extremes of `narrow` pages: of the nearest pages if nearly all are similar, else of the
        nearest similar pages. If too few are similar, the extremes are extrapolated from a quarter, a half and all of
        the page's sampled rows. The module docstring has the method.
        """
        low, high = self._low, self._high
        wide_low, wide_high = self._over_neighbours(low, np.minimum), self._over_neighbours(high, np.maximum)
        mean, scale, alike, of_alike = self._compare(low, high)
        far_low = low - scale * self._reach_beyond_sample(mean, scale, np.minimum)
        far_high = high + scale * self._reach_beyond_sample(mean, scale, np.maximum)
        enough = ~np.isnan(of_alike[0])
        return (
            np.where(alike, wide_low, np.where(enough, of_alike[0], far_low)),
            np.where(alike, wide_high, np.where(enough, of_alike[1], far_high)),
        )

    def _reach_beyond_sample(self, mean: Floats, scale: Floats, reduce: Any) -> Floats:
        """Estimate how far the extremes of a page are beyond those of its sampled rows.

        The unit is the page's standard deviation (`scale`).
        """
        quarters = np.array([self._extremes_of_part(reduce, part) for part in range(_PARTS)])
        quarters = (quarters - mean) / np.maximum(scale, _TINY)
        reach = []
        for extremes in (quarters, reduce(quarters[:2], quarters[2:]), reduce.reduce(quarters, keepdims=True)):
            parts = np.abs(extremes)
            full = np.all(np.isfinite(parts), axis=0)
            reach.append(self._total(np.where(full, np.mean(np.where(full, parts, 0.0), axis=0), 0.0)))
        pages = np.maximum(self._total((self.count > 3).astype(np.float64)), 1)
        return reach_of_doublings(reach[1] - reach[0], reach[2] - reach[1], float(np.log2(self.narrow))) / pages

    def _extremes_of_part(self, reduce: Any, part: int) -> Floats:
        """Return the extremes of pages over every fourth row; infinite for pages without such a row."""
        no_value, nothing = (len(self._shares) - 2, np.inf) if reduce is np.minimum else (-1, -np.inf)
        rows, first = self._codes[part::_PARTS], -((part - self.first) // _PARTS)
        if self._value is not None:
            rows = np.where(self._value[part::_PARTS], rows, no_value)
        codes = reduce.reduceat(np.append(rows, no_value), first)
        has_value = (np.diff(first, append=len(rows)) > 0) & (codes != no_value)
        return np.where(has_value, self._shares[codes + 1], nothing)

    def _compare(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Flags, tuple[Floats, Floats]]:
        """Compare each page with its neighbours.

        Returns per page: the mean and standard deviation of values over its similar pages; True if nearly all
        neighbours are similar; and the extremes of the `narrow` nearest similar pages, NaN if fewer are similar. Values
        are shares of all rows up to a value.
        """
        freedom = np.maximum(self.count - 1, 0)
        # Pages with at most one value say nothing about the spread inside pages.
        within = np.where(
            self._total(freedom) >= _NEIGHBOURS,
            self._total(self._square) / np.maximum(self._total(freedom), 1),
            self._around,
        )
        kurtosis = np.maximum(self._total(self._fourth) / self._all - within**2, 0.0)
        variance = self._square / np.maximum(freedom, 1)
        offsets = np.arange(2 * _NEIGHBOURS) // 2 * np.where(np.arange(2 * _NEIGHBOURS) % 2, -1, 1)
        offsets[1::2] -= 1
        result = [np.empty(len(self.first)) for _ in range(5)]
        for start in range(0, len(self.first), _AT_ONCE):
            own = np.arange(start, min(start + _AT_ONCE, len(self.first)))
            near = own[:, None] + offsets
            there = (near >= 0) & (near < len(self.first))
            near = np.clip(near, 0, len(self.first) - 1)
            near_mean = there & _by_chance(self.mean, within, self.count, own, near)
            near_scale = there & _by_chance(variance, kurtosis, freedom, own, near)
            both = near_mean & near_scale
            chosen = both & (np.cumsum(both, axis=1) <= self.narrow)
            few = chosen.sum(axis=1) < self.narrow
            nearest = there & (np.cumsum(there, axis=1) <= max(self.narrow, _FEWEST))
            values = (
                _mean_of(self.mean, self.count, own, near, near_mean),
                _mean_of(variance, freedom, own, near, near_scale),
                (both & nearest).sum(axis=1) / nearest.sum(axis=1),
                np.where(few, np.nan, np.where(chosen, low[near], np.inf).min(axis=1)),
                np.where(few, np.nan, np.where(chosen, high[near], -np.inf).max(axis=1)),
            )
            for whole, part in zip(result, values, strict=True):
                whole[own] = part
        return (result[0], np.sqrt(np.maximum(result[1], 0.0)), result[2] >= _MOSTLY, (result[3], result[4]))

    def _over_neighbours(self, of_page: Floats, reduce: Any) -> Floats:
        """Return the extremes of `of_page` over the `narrow` nearest pages of each page."""
        begin, end = self._window(self.narrow)
        length, level = 1, of_page
        while 2 * length <= self.narrow:
            level = reduce(level[:-length], level[length:])
            length *= 2
        extremes: Floats = reduce(level[begin], level[end - length])
        return extremes

    def occurs(self, flags: Flags, own: Flags) -> Flags:
        """Return the pages in which a flag occurs, or may occur in rows outside the sample.

        It may occur if neighbours have it, and chance explains why the sampled rows of the page do not.
        """
        if own.all() or not own.any():
            return own
        rate = self._total(self._by_page(flags)) / self._total(self.rows.astype(np.float64))
        met = self._over_neighbours(own.astype(np.float64), np.maximum) > 0
        pages: Flags = own | (met & ((1 - np.minimum(rate, 1)) ** self.rows > _RARE))
        return pages

    def is_sure(self, share: Floats) -> Flags:
        """Return whether a page with one sampled value holds no other value.

        True if another value of the neighbours would almost certainly have been sampled.
        """
        off = self._around + (self._centre - share) ** 2
        low = self._over_neighbours(self._low, np.minimum)
        high = self._over_neighbours(self._high, np.maximum)
        furthest = np.maximum(np.maximum(np.abs(share - low), np.abs(high - share)), _TINY)
        sure: Flags = (1 - np.minimum(off / furthest**2, 1)) ** self.count < _RARE
        return sure


def reach_of_doublings(before: Floats, last: Floats, doublings: float) -> Floats:
    """Return how much further doublings of the rows widen the extremes.

    `before`, `last`: gains of the last two doublings. `doublings`: number of further doublings.

    >>> reach_of_doublings(np.array([8.0, 4.0]), np.array([4.0, 0.0]), 2.0).tolist()
    [3.0, 0.0]
    """
    before, last = np.maximum(before, 0), np.maximum(last, 0)
    ratio = np.where(before > 0, np.minimum(last / np.maximum(before, _TINY), 1 - 1e-6), 0.0)
    reach: Floats = last * ratio * (1 - ratio**doublings) / (1 - ratio)
    return reach


def _by_chance(of_page: Floats, variance: Floats, weight: Floats, own: Numbers, near: Numbers) -> Flags:
    """Return which neighbours differ from a page only by chance; pages without rows always qualify."""
    parts = 1 / np.maximum(weight, _TINY)
    error = variance[own, None] * (parts[near] + parts[own, None])
    alike: Flags = (of_page[near] - of_page[own, None]) ** 2 <= _CHANCE**2 * error + _TINY
    return alike


def _mean_of(of_page: Floats, weight: Floats, own: Numbers, near: Numbers, chosen: Flags) -> Floats:
    weights = weight[near] * chosen
    total = weights.sum(axis=1)
    return np.where(total > 0, (weights * of_page[near]).sum(axis=1) / np.maximum(total, _TINY), of_page[own])
