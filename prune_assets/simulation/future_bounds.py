"""Estimate the page bounds of a candidate layout from a sample.

The sample is in the order of the layout. A page of 20,000 rows has 60 sampled rows, whose smallest and largest values
are too close together; `neighbours.py` widens them. The columns of the order need no neighbours. Along a sort key, a
page reaches up to the sampled row after the page. Along a curve, the m sampled values of a page are treated as uniform
draws from a range. The extremes of m uniform draws from a range of length d are d * (m - 1) / (m + 1) apart on average,
so each end of the range is 1 / (m - 1) of their distance further out. If all rows are sampled, the bounds are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, from_numpy
from parquet_core.trust.bounds import Bounds
from prune_assets.simulation.neighbours import Neighbours
from prune_assets.simulation.sample import NULL, values_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.simulation.cut import Cut
    from prune_assets.simulation.sample import SampledColumn

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# In a page where the previous keys change less often than this, the values of the next key are close together.
_FEW_RUNS = 2


class Codes(NamedTuple):
    """Lowest and highest code of each page, and flags of pages with nulls and with non-null values.

    A code is the index of a value among the column's distinct values.
    """

    low: Numbers
    high: Numbers
    null: Flags
    value: Flags


class FutureBounds(NamedTuple):
    """Bounds of a column in pages and row groups.

    `groups`: bounds with full texts; None if the bounds of pages are not truncated.
    """

    pages: Bounds
    groups: Bounds | None


def future_bounds(cut: Cut, column: SampledColumn, before: list[Numbers], most: int) -> FutureBounds:
    """Return the bounds of a column in a candidate layout.

    `before`: codes of the previous keys of the order, if the column is a key. `most`: bytes to which bounds of texts in
    pages are truncated. Writers do not count NaN, so each page of floats may have NaN.
    """
    codes, rows = _codes_of_pages(cut, column, before), np.diff(cut.pages, append=cut.total)
    if not pa.types.is_binary(column.values.type) or (pc.max(pc.binary_length(column.values)).as_py() or 0) <= most:
        return FutureBounds(_bounds(column.values, codes, rows), None)
    first = np.flatnonzero(np.diff(cut.group_of_page, prepend=-1))
    reduce = (np.minimum, np.maximum, np.logical_or, np.logical_or)
    of_groups = Codes(*(way.reduceat(side, first) for way, side in zip(reduce, codes, strict=True)))
    pages = _bounds(column.values, codes, rows)
    above = [None if it is None else _above(it, most) for it in pages.upper.to_pylist()]
    upper = array_of(above, pages.upper.type)
    pages = replace(pages, lower=pc.binary_slice(pages.lower, 0, most), upper=upper)
    return FutureBounds(pages, _bounds(column.values, of_groups, np.diff(cut.group, append=cut.total)))


def _above(text: bytes, most: int) -> bytes:
    """Return the shortest upper bound of a text in `most` bytes.

    Returns the text itself if no such bound exists.

    >>> _above(b"abcd", 2), _above(b"ab", 2)
    (b'ac', b'ab')
    """
    cut = text[:most].rstrip(b"\xff")
    return text if len(text) <= most or not cut else cut[:-1] + bytes([cut[-1] + 1])


def _bounds(values: pa.Array, codes: Codes, rows: Numbers) -> Bounds:
    has_value = codes.high >= codes.low
    null_count = np.where(codes.value, np.maximum(1, rows // 2), rows)
    return Bounds.of(
        lower=values_at(values, codes.low, has_value),
        upper=values_at(values, codes.high, has_value),
        null_count=from_numpy(np.where(codes.null, null_count, 0)),
        row_count=rows,
    )


def _codes_of_pages(cut: Cut, column: SampledColumn, before: list[Numbers]) -> Codes:
    codes, first = column.codes[cut.order], cut.sampled(cut.pages)
    own = _sampled(column, codes, first)
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
    spread = _spread(cut, column, own, codes, first)
    if not dense.any():
        return spread
    return Codes(*(np.where(dense, *both) for both in zip(_dense(cut, column, own, codes, first), spread, strict=True)))


def _sampled(column: SampledColumn, codes: Numbers, first: Numbers) -> Codes:
    """Return the lowest and highest codes of pages from their sampled rows."""
    value = (codes >= 0) & (codes < len(column.values))
    if value.all():
        low, high = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        return Codes(low, high, np.zeros(len(first), np.bool_), np.ones(len(first), np.bool_))
    return Codes(
        np.minimum.reduceat(np.where(value, codes, len(column.values)), first),
        np.maximum.reduceat(np.where(value, codes, NULL), first),
        np.logical_or.reduceat(codes == NULL, first),
        np.logical_or.reduceat(codes != NULL, first),
    )


def _dense(cut: Cut, column: SampledColumn, own: Codes, codes: Numbers, first: Numbers) -> Codes:
    """Widen the bounds of sampled rows to all rows of a page.

    Along a sort key a page reaches up to the next sampled row; along a curve rows are assumed to be evenly spread.
    """
    if not cut.is_curve:
        after = codes[np.append(first[1:], first[-1])]
        after = np.where((after >= own.low) & (after < len(column.values)), after, own.high)
        return own._replace(high=np.maximum(own.high, after))
    low, high = (_share(column, side) for side in (own.low, own.high))
    gap = (high - low) / np.maximum(np.diff(first, append=len(codes)) - 1, 1)
    return _enclosing(column, own, low - gap, high + gap)


def _share(column: SampledColumn, codes: Numbers) -> Floats:
    shares: Floats = column.share[codes + 1]
    return shares


def _enclosing(column: SampledColumn, own: Codes, low: Floats, high: Floats) -> Codes:
    """Convert the shares at which pages begin and end to codes.

    `low`, `high`: per page, shares of all rows up to its lowest and highest value.
    `own`: codes of the sampled rows, which the result encloses.
    """
    middles = (column.share[2:-1] + column.share[1:-2]) / 2
    lower, upper = np.searchsorted(middles, low), np.searchsorted(middles, high)
    return own._replace(low=np.minimum(own.low, lower), high=np.maximum(own.high, upper))


def _spread(cut: Cut, column: SampledColumn, own: Codes, codes: Numbers, first: Numbers) -> Codes:
    """Estimate the bounds of a column that is not in the sort order, from neighbouring pages.

    The neighbours together have as many sampled rows as a page has rows.
    """
    value = (codes >= 0) & (codes < len(column.values))
    has_value = own.high >= own.low
    sides = ((own.low, np.inf), (own.high, -np.inf))
    extremes = (np.where(has_value, _share(column, side), nothing) for side, nothing in sides)
    pages = Neighbours(first, codes, column.share, *extremes, narrow=cut.width)
    low, high = pages.extremes()
    wide = _enclosing(column, own, low, high)
    wide = wide._replace(null=pages.occurs(codes == NULL, own.null), value=own.value | pages.occurs(value, has_value))
    constant = own.value & (own.low == own.high) & pages.is_sure(_share(column, own.low))
    return wide._replace(low=np.where(constant, own.low, wide.low), high=np.where(constant, own.high, wide.high))
