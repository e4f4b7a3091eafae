"""What a sort would bring, without reading rows: they are taken to be spread evenly between today's bounds.

Numbers and times are spread as they are, other values by their ranks among the bounds. Rows that are drawn so are a
sample like any other, which is sorted, cut, and given the bounds that a writer would make.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.ranks import ranks
from prune_assets.simulation.cut import Cut
from prune_assets.simulation.future_bounds import future_bounds
from prune_assets.simulation.sample import NULL, sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds
    from prune_assets.simulation.sample import SampledColumn

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]

# Rows that are drawn: from an average container, and from all of them at least and at most.
_OF_ONE, _FEWEST, _MOST = 64, 4_096, 100_000
# Containers that they are cut into at most; finer ones tell no more of the whole.
_MOST_CONTAINERS = 10_000
_LARGEST = 9e18


class Drawn(NamedTuple):
    """Rows of one column, and the container that each was drawn from, ascending."""

    column: SampledColumn
    at: Numbers

    def of(self, containers: Numbers) -> SampledColumn | None:
        """Return the rows of some containers; None where one of them has none."""
        begins, ends = (np.searchsorted(self.at, containers, side) for side in ("left", "right"))
        if (begins == ends).any():
            return None
        rows = np.concatenate([np.arange(*both) for both in zip(begins.tolist(), ends.tolist(), strict=True)])
        return replace(self.column, codes=self.column.codes[rows])


def draw(column: LeafColumn, bounds: Bounds) -> Drawn:
    """Draw rows of containers: values between the bounds, and as many nulls as they count.

    A container with neither bounds nor a count of nulls gives no rows.
    """
    low, high = _scale(bounds)
    nulls = np.nan_to_num(numbers_from(filled(bounds.null_count.cast(pa.float64()), 0.0)))
    known = np.isfinite(low) & np.isfinite(high)
    at = np.flatnonzero((bounds.row_count > 0) & (known | (nulls == bounds.row_count)))
    rows, known = bounds.row_count[at], known[at]
    drawn = np.clip(_OF_ONE * len(at), _FEWEST, _MOST) * rows / max(int(rows.sum()), 1)
    drawn = np.maximum(np.round(drawn), 2).astype(np.int64)
    # What is rare is there nevertheless.
    least, most = (nulls[at] > 0).astype(np.int64), np.where(known, drawn - 1, drawn)
    of_null = np.clip(np.round(nulls[at] / rows * drawn), least, most).astype(np.int64)
    with_value, with_null = np.repeat(at, drawn - of_null), np.repeat(at, of_null)
    points = _spread(low[at], high[at], drawn - of_null, _unit(bounds.lower.type))
    values, codes = _coded(points, bounds)
    at, codes = np.concatenate([with_value, with_null]), np.append(codes, np.full(len(with_null), NULL))
    order = np.argsort(at, kind="stable")
    return Drawn(sampled(column, values, codes[order]), at[order])


def sorted_bounds(column: SampledColumn, total: int, count: int) -> Bounds:
    """Return the bounds of about `count` containers of equal size, which `total` rows fill in the order of a column.

    Of very many, fewer and larger ones stand for all.
    """
    first = np.zeros(1, np.int64)
    order = np.argsort(column.codes, kind="stable")
    cut = Cut(
        order,
        (column.column.path,),
        is_curve=False,
        file=first,
        group=first,
        total=total,
        page_rows=-(-total // min(count, _MOST_CONTAINERS)),
    )
    return future_bounds(cut, column, [], np.iinfo(np.int64).max).pages


def _spread(low: Floats, high: Floats, count: Numbers, unit: float) -> Floats:
    """Return so many points between ends, which the first and the last are; inside, each unit has as many."""
    number = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    begin, end, of = np.repeat(low, count), np.repeat(high, count), np.repeat(count, count)
    inside = np.minimum(begin + (end - begin + unit) * (number + 0.5) / of, end)
    points: Floats = np.where(number == 0, begin, np.where(number == of - 1, end, inside))
    return points


def _scale(bounds: Bounds) -> tuple[Floats, Floats]:
    """Return bounds as numbers, of what is no number ranks; NaN where one is unknown."""
    low, high = doubles(bounds.lower), doubles(bounds.upper)
    if low is None or high is None:
        known = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()))
        low, high = (np.where(known, side - 1.0, np.nan) for side in ranks(bounds.lower, bounds.upper))
    return low, high


def _unit(kind: pa.DataType) -> float:
    """Return how far values are apart: one whole number, day, microsecond or rank is one value."""
    return 0.0 if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else 1.0


def _coded(points: Floats, bounds: Bounds) -> tuple[pa.Array, Numbers]:
    """Return the distinct values at points, ascending, and the number of each point's."""
    if doubles(bounds.lower) is None:
        known = pc.unique(pa.concat_arrays([bounds.lower, bounds.upper])).drop_null()
        return known.take(pc.sort_indices(known)), np.floor(points).astype(np.int64)
    distinct, codes = np.unique(points if _unit(bounds.lower.type) == 0 else np.floor(points), return_inverse=True)
    return values_at(distinct, bounds.lower.type), codes.astype(np.int64)


def values_at(points: Floats, kind: pa.DataType) -> pa.Array:
    """Return doubles as numbers, days or ticks; whole ones are those before the points."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return from_numpy(points).cast(kind, safe=False)
    whole = from_numpy(np.floor(np.clip(points, -_LARGEST, _LARGEST)).astype(np.int64))
    return whole.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else whole.cast(kind, safe=False)


def doubles(values: pa.Array) -> Floats | None:
    """Return numbers, days or ticks as doubles, NaN where unknown; None for what is no number."""
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return numbers_from(filled(pc.cast(values, pa.float64(), safe=False), np.nan))
