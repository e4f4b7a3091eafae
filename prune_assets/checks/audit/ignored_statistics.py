"""Written statistics of row groups that plans do not trust, and the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy, valid_flags
from parquet_core.format.compact import MISSING
from parquet_core.format.comparable_values import comparable_values
from parquet_core.trust.bounds import Bounds, spread_bounds, unknown_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.written_statistics import WrittenStatistics
    from parquet_core.trust.trust_policy import Trust


class IgnoredStatistics(NamedTuple):
    """Written statistics that plans do not trust, per row group.

    `is_present`: flags of row groups that have such statistics.
    `reasons`: per provenance of files, why the statistics are not trusted.
    """

    bounds: Bounds
    is_present: NDArray[np.bool_]
    reasons: list[str]


def ignored_statistics(index: MetadataIndex, column: LeafColumn, believed: Bounds) -> IgnoredStatistics:
    """Return the written statistics that are not trusted."""
    trusts = index.groups.trusts(column)
    written = _as_written(index, column, trusts)
    lower, upper, nulls = (
        pc.if_else(pc.is_valid(getattr(believed, part)), pa.scalar(None, other.type), other)
        for part in ("lower", "upper", "null_count")
        for other in (getattr(written, part),)
    )
    silent = ~valid_flags(believed.lower) & ~valid_flags(believed.upper)
    # No reader can use NaN, or a value that the type cannot hold, as a bound, but it counts here as a written bound.
    there = valid_flags(lower) | valid_flags(upper) | valid_flags(nulls)
    there |= index.footers.chunks(column).has_bounds & silent
    return IgnoredStatistics(
        Bounds.of(lower, upper, nulls, believed.row_count), there, [trust.reason for trust in trusts]
    )


def _as_written(index: MetadataIndex, column: LeafColumn, trusts: list[Trust]) -> Bounds:
    parts, group = [], 0
    for footers in index.footers.source.read(np.arange(len(index.groups.files))):
        kind_indexes = index.groups.provenance_ids[index.groups.file[group : group + len(footers)]]
        # Statistics are not decoded if the type in the file differs from the type in the table.
        alike = np.array([trust.counts and trust.stored is None for trust in trusts], np.bool_)
        step = np.array([trust.step for trust in trusts], np.int64)
        bounds = unknown_bounds(column, footers.row_count)
        for path in index.groups.names.of(column.path):
            _, statistics, there = footers.chunks(path)
            positions = np.flatnonzero(alike[kind_indexes[there]])
            if statistics is not None and len(positions):
                decoded = _decoded(column, statistics[positions], step[kind_indexes[there[positions]]])
                bounds = spread_bounds(decoded, there[positions], footers.row_count)
                break
        parts.append(bounds)
        group += len(footers)
    return Bounds.concat(parts) if parts else unknown_bounds(column, np.zeros(0, np.int64))


def _decoded(column: LeafColumn, written: WrittenStatistics, step: NDArray[np.int64]) -> Bounds:
    """Decode written statistics like a reader that trusts every writer."""
    sides = [(written.min_value, written.deprecated_min), (written.max_value, written.deprecated_max)]
    lower, upper = (
        pc.coalesce(*(comparable_values(column, side, step=step) for side in pair if side is not None))
        for pair in sides
    )
    nulls = from_numpy(written.null_count, valid=written.null_count != MISSING)
    return Bounds.of(lower, upper, nulls, written.row_count)
