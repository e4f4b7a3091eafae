"""Estimate bounds after a sort without reading rows, from the current bounds.

Rows are assumed to be spread evenly between the bounds: numbers and times by value, other values by their ranks among
the bounds. Rows drawn in this way are a sample. The sample is sorted and cut, and the parts get the bounds that a
writer would write.
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

# Number of drawn rows: per container on average, and the minimum and maximum of all containers together.
_OF_ONE, _FEWEST, _MOST = 64, 4_096, 100_000
# Maximum number of containers in the result; finer ones do not change the result as a whole.
_MOST_CONTAINERS = 10_000
_LARGEST = 9e18


class Drawn(NamedTuple):
    """Drawn rows of one column, and the ascending number of the row group or page that contains each row."""

    column: SampledColumn
    containers: Numbers

    def of(self, containers: Numbers) -> SampledColumn | None:
        """Return the rows of the given containers; None if one of them has no rows."""
        begins, ends = (np.searchsorted(self.containers, containers, side) for side in ("left", "right"))
        if (begins == ends).any():
            return None
        rows = np.concatenate([np.arange(*both) for both in zip(begins.tolist(), ends.tolist(), strict=True)])
        return replace(self.column, codes=self.column.codes[rows])


def draw(column: LeafColumn, bounds: Bounds) -> Drawn:
    """Draw rows of containers: values between the bounds, and some nulls.

    The share of nulls follows their count. A container without bounds gives no rows, unless it counts only nulls.
    """
    low, high = _scale(bounds)
    nulls = np.nan_to_num(numbers_from(filled(bounds.null_count.cast(pa.float64()), 0.0)))
    bounded = np.isfinite(low) & np.isfinite(high)
    containers = np.flatnonzero((bounds.row_count > 0) & (bounded | (nulls == bounds.row_count)))
    rows, bounded = bounds.row_count[containers], bounded[containers]
    drawn = np.clip(_OF_ONE * len(containers), _FEWEST, _MOST) * rows / max(int(rows.sum()), 1)
    drawn = np.maximum(np.round(drawn), 2).astype(np.int64)
    # Draw at least one null if a container has nulls, and at least one value if it has bounds.
    least, most = (nulls[containers] > 0).astype(np.int64), np.where(bounded, drawn - 1, drawn)
    of_null = np.clip(np.round(nulls[containers] / rows * drawn), least, most).astype(np.int64)
    with_value, with_null = np.repeat(containers, drawn - of_null), np.repeat(containers, of_null)
    points = _spread(low[containers], high[containers], drawn - of_null, _unit(bounds.lower.type))
    values, codes = _coded(points, bounds)
    containers, codes = np.concatenate([with_value, with_null]), np.append(codes, np.full(len(with_null), NULL))
    order = np.argsort(containers, kind="stable")
    return Drawn(sampled(column, values, codes[order]), containers[order])


def sorted_bounds(column: SampledColumn, total: int, count: int) -> Bounds:
    """Return the bounds of about `count` equal containers of sorted rows.

    `total`: rows in all containers. For a very large `count`, `_MOST_CONTAINERS` larger containers represent the whole.
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
    """Return `count` evenly spaced points per range, including both ends.

    Inside a range, each unit has equally many points.
    """
    index = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    begin, end, of = np.repeat(low, count), np.repeat(high, count), np.repeat(count, count)
    inside = np.minimum(begin + (end - begin + unit) * (index + 0.5) / of, end)
    points: Floats = np.where(index == 0, begin, np.where(index == of - 1, end, inside))
    return points


def _scale(bounds: Bounds) -> tuple[Floats, Floats]:
    """Return bounds as numbers, non-numeric bounds as ranks; NaN if unknown."""
    low, high = doubles(bounds.lower), doubles(bounds.upper)
    if low is None or high is None:
        bounded = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()))
        low, high = (np.where(bounded, side - 1.0, np.nan) for side in ranks(bounds.lower, bounds.upper))
    return low, high


def _unit(arrow_type: pa.DataType) -> float:
    """Return the distance between adjacent values: 1 for whole numbers, days, ticks and ranks; 0 if continuous."""
    return 0.0 if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type) else 1.0


def _coded(points: Floats, bounds: Bounds) -> tuple[pa.Array, Numbers]:
    """Return the distinct values at points, ascending, and the index of each point's value."""
    if doubles(bounds.lower) is None:
        values = pc.unique(pa.concat_arrays([bounds.lower, bounds.upper])).drop_null()
        return values.take(pc.sort_indices(values)), np.floor(points).astype(np.int64)
    distinct, codes = np.unique(points if _unit(bounds.lower.type) == 0 else np.floor(points), return_inverse=True)
    return values_at(distinct, bounds.lower.type), codes.astype(np.int64)


def values_at(points: Floats, arrow_type: pa.DataType) -> pa.Array:
    """Return doubles as numbers, days or ticks, rounded down for whole-number types."""
    if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        return from_numpy(points).cast(arrow_type, safe=False)
    whole = from_numpy(np.floor(np.clip(points, -_LARGEST, _LARGEST)).astype(np.int64))
    return (
        whole.cast(pa.int32()).cast(arrow_type)
        if pa.types.is_date32(arrow_type)
        else whole.cast(arrow_type, safe=False)
    )


def doubles(values: pa.Array) -> Floats | None:
    """Return numbers, days or ticks as doubles, NaN if unknown; None for non-numeric types."""
    arrow_type = values.type
    if pa.types.is_date32(arrow_type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(arrow_type):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)):
        return None
    return numbers_from(filled(pc.cast(values, pa.float64(), safe=False), np.nan))
