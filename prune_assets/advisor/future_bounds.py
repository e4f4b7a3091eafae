"""The bounds that pages of a layout to come would have, estimated from a sample in the order of that layout.

A page of 20,000 rows has 60 sampled ones, whose smallest and largest values lie too close together. So the residuals of
neighbouring pages, as many rows as the page will have, are put together: what is left of each row's value when the
mean and the spread of its page are taken out. Mean and spread are those of the neighbours from which the page differs
by chance alone, so that they follow trends and steps, and no noise. The columns of the order itself are dense in each
page: there its own rows tell, and the row after it. With all rows sampled, the bounds are exact.
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

# Pages that are compared with a page, and so many standard errors by which chance lets two of them differ.
_NEIGHBOURS = 64
_FEWEST = 8
_MOSTLY = 0.9
_CHANCE = 3.0
_AT_ONCE = 1 << 13
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
    pages = _Pages(first, value, np.where(value, _share(column, codes), 0.0), narrow=cut.width)
    low, high = pages.extremes()
    found = _enclosing(column, own, low, high)
    found = found._replace(
        null=pages.occurs(codes == NULL, own.null), value=own.value | pages.occurs(value, own.high >= own.low)
    )
    constant = own.value & (own.low == own.high) & pages.is_sure(_share(column, np.clip(own.low, 0, len(column.share))))
    return found._replace(low=np.where(constant, own.low, found.low), high=np.where(constant, own.high, found.high))


class _Pages:
    """Sampled pages: moments of each, and what windows of neighbours have."""

    def __init__(self, first: Numbers, value: Flags, share: Floats, *, narrow: int) -> None:
        self.first, self.narrow, self._share, self._value = first, min(narrow, len(first)), share, value
        self.page = np.repeat(np.arange(len(first)), np.diff(first, append=len(value)))
        self.rows = np.maximum(np.bincount(self.page, minlength=len(first)), 1)
        self.count, total = np.bincount(self.page, value, len(first)), np.bincount(self.page, share, len(first))
        self.mean = total / np.maximum(self.count, 1)
        square = np.where(value, share - self.mean[self.page], 0.0) ** 2
        self._square, self._fourth = (np.bincount(self.page, it, len(first)) for it in (square, square * square))
        self._all = np.maximum(self._total(self.count), 1)
        self._centre = self._total(total) / self._all
        self._around = np.maximum(self._total(self._square + self.count * self.mean**2) / self._all - self._centre**2, 0)

    def _window(self, size: int) -> tuple[Numbers, Numbers]:
        begin = np.clip(np.arange(len(self.first)) - size // 2, 0, len(self.first) - size)
        return begin, begin + size

    def _total(self, of_page: Floats) -> Floats:
        begin, end = self._window(min(max(_NEIGHBOURS, self.narrow), len(self.first)))
        sums = np.concatenate([[0.0], np.cumsum(of_page)])
        total: Floats = sums[end] - sums[begin]
        return total

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the lowest and highest share of each page to come.

        Where neighbours differ by chance alone, their rows are those of the page. Elsewhere its own rows reach as much
        further as doubling their number, from a quarter and from a half of them, moves the extremes.
        """
        low, high = (self._of_pages(reduce, self._share) for reduce in (np.minimum, np.maximum))
        wide_low, wide_high = self._over_neighbours(low, np.minimum), self._over_neighbours(high, np.maximum)
        mean, scale, alike, of_alike = self._compare(low, high)
        far_low, far_high = low - scale * self._further(mean, scale, np.minimum), high + scale * self._further(mean, scale, np.maximum)
        enough = ~np.isnan(of_alike[0])
        return (
            np.where(alike, wide_low, np.where(enough, of_alike[0], far_low)),
            np.where(alike, wide_high, np.where(enough, of_alike[1], far_high)),
        )

    def _further(self, mean: Floats, scale: Floats, reduce: Any) -> Floats:
        """Return by how many spreads all rows of a page reach beyond the sampled ones."""
        distance = (self._share - mean[self.page]) / np.maximum(scale[self.page], _TINY)
        turn, reach = np.arange(len(distance)), []
        for step in (4, 2, 1):
            parts = [np.abs(self._of_pages(reduce, distance, turn % step == part)) for part in range(step)]
            full = np.all(np.isfinite(parts), axis=0)
            reach.append(self._total(np.where(full, np.mean(np.where(full, parts, 0.0), axis=0), 0.0)))
        before, last = np.maximum(reach[1] - reach[0], 0), np.maximum(reach[2] - reach[1], 0)
        ratio = np.where(before > 0, np.minimum(last / np.maximum(before, _TINY), 1 - 1e-6), 0.0)
        doublings = np.log2(self.narrow)
        further: Floats = last * ratio * (1 - ratio**doublings) / (1 - ratio) / np.maximum(self._total(self.count > 3), 1)
        return further

    def _of_pages(self, reduce: Any, values: Floats, chosen: Flags | bool = True) -> Floats:  # noqa: FBT001, FBT002 - a mask
        nothing = np.inf if reduce is np.minimum else -np.inf
        found: Floats = reduce.reduceat(np.where(self._value & chosen, values, nothing), self.first)
        return found

    def _compare(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Flags, tuple[Floats, Floats]]:
        """Compare each page with those around it.

        Returns mean and spread of those that are alike, whether nearly all are, and the lowest and highest share of as
        many as a page has rows, NaN where fewer are alike.
        """
        freedom = np.maximum(self.count - 1, 0)
        # Pages with a value or none tell nothing of the spread inside of them.
        within = np.where(
            self._total(freedom) >= _NEIGHBOURS, self._total(self._square) / np.maximum(self._total(freedom), 1), self._around
        )
        kurtosis = np.maximum(self._total(self._fourth) / self._all - within**2, 0.0)
        variance = self._square / np.maximum(freedom, 1)
        offsets = np.arange(2 * _NEIGHBOURS) // 2 * np.where(np.arange(2 * _NEIGHBOURS) % 2, -1, 1)
        offsets[1::2] -= 1
        found = [np.empty(len(self.first)) for _ in range(5)]
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
            for whole, part in zip(found, values, strict=True):
                whole[own] = part
        return found[0], np.sqrt(np.maximum(found[1], 0.0)), found[2] >= _MOSTLY, (found[3], found[4])

    def _over_neighbours(self, of_page: Floats, reduce: Any) -> Floats:
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
        rate = self._total(np.bincount(self.page, flags, len(self.first))) / self._total(self.rows.astype(np.float64))
        met = self._over_neighbours(own.astype(np.float64), np.maximum) > 0
        found: Flags = own | (met & ((1 - np.minimum(rate, 1)) ** self.rows > _RARE))
        return found

    def is_sure(self, share: Floats) -> Flags:
        """Tell of pages whose sampled rows have one value whether chance would have shown another that neighbours have."""
        off = self._around + (self._centre - share) ** 2
        most = np.maximum(np.abs(share - self._over_neighbours(self._of_pages(np.minimum, self._share), np.minimum)), _TINY)
        most = np.maximum(
            most, np.abs(self._over_neighbours(self._of_pages(np.maximum, self._share), np.maximum) - share)
        )
        sure: Flags = (1 - np.minimum(off / most**2, 1)) ** self.count < _RARE
        return sure


def _by_chance(of_page: Floats, variance: Floats, weight: Floats, own: Numbers, near: Numbers) -> Flags:
    """Tell which neighbours differ from a page by no more than chance explains; those without rows may be like any."""
    parts = 1 / np.maximum(weight, _TINY)
    error = variance[own, None] * (parts[near] + parts[own, None])
    alike: Flags = (of_page[near] - of_page[own, None]) ** 2 <= _CHANCE**2 * error + _TINY
    return alike


def _mean_of(of_page: Floats, weight: Floats, own: Numbers, near: Numbers, chosen: Flags) -> Floats:
    weights = weight[near] * chosen
    total = weights.sum(axis=1)
    return np.where(total > 0, (weights * of_page[near]).sum(axis=1) / np.maximum(total, _TINY), of_page[own])
