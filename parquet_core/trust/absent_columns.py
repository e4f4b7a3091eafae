"""Columns that a file lacks: Spark reads null for them in every row.

Whether names that differ in case alone are one depends on the session; a file that has such a name is left open.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.schema import in_any_case

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path
    from parquet_core.trust.bounds import Bounds
    from parquet_core.trust.statistics import Provenance


def reads_as_null(column: LeafColumn, provenance: Provenance) -> bool:
    """Tell whether every row of such files is null in a column of the table, since nothing there has its name."""
    if column.unsupported or column.may_be_filled or not provenance.columns:
        return False
    wanted = folded(column.path)
    alike = provenance.by_any_case.get(wanted[0], [])
    for depth in range(1, len(wanted) + 1):
        within = [leaf for leaf in alike if folded(leaf.path[:depth]) == wanted[:depth]]
        if not within:
            return True
        # A value stands where a struct is expected, or a list or the like, whose leaves are not pruned on.
        if any(len(leaf.path) == depth for leaf in within) or all(leaf.unsupported for leaf in within):
            return False
    return False


def folded(path: Path) -> Path:
    """Return a path that is the same for all that may be one: alike in more letters than to Spark, never in fewer."""
    return tuple(map(in_any_case, path))


def with_nulls(bounds: Bounds, absent: NDArray[np.bool_]) -> Bounds:
    """Return bounds by which the containers at the flags, of which nothing is known yet, hold nulls alone."""
    if not absent.any():
        return bounds
    flags = from_numpy(absent)
    return replace(
        bounds,
        null_count=pc.if_else(flags, from_numpy(bounds.row_count), bounds.null_count),
        nan_count=pc.if_else(flags, from_numpy(np.zeros(len(bounds), np.int64)), bounds.nan_count),
    )
