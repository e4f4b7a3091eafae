"""Bounds of Iceberg tables whose metadata was converted from a Delta log.

Converters copy the statistics of the log. These need not enclose the values: times have only milliseconds, and long
numbers may have passed through a 64-bit float. Sources: https://github.com/delta-io/delta/issues/7444 (UniForm), and
DeltaStatsExtractor of Apache XTable, which Microsoft's OneLake uses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltalog.stats.conservative_bounds import Pair
from deltalog.stats.widened_bounds import widened_pair
from prune_assets.tables.iceberg.file_bounds import bounds_of

if TYPE_CHECKING:
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

# XTable moved its mark from the properties of the table to the summary of each snapshot.
_MARKS = frozenset({"delta-version", "XTABLE_METADATA"})


def is_converted(snapshot: IcebergSnapshot) -> bool:
    """True if a converter wrote metadata of the table from a Delta log."""
    summaries = (one.summary.additional_properties for one in snapshot.metadata.snapshots if one.summary is not None)
    return any(not _MARKS.isdisjoint(names) for names in (snapshot.metadata.properties, *summaries))


def enclosing_bounds(column: IcebergColumn, snapshot: IcebergSnapshot) -> Bounds:
    """Return the bounds of a column in each file, widened if they were converted from a Delta log."""
    bounds = bounds_of(column, snapshot.files)
    if not is_converted(snapshot):
        return bounds
    wide = widened_pair(Pair(bounds.lower, bounds.upper), from_float=False)
    return replace(bounds, lower=wide.lower, upper=wide.upper)
