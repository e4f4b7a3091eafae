"""Proof of a Z-order or Hilbert curve: how many row groups an equality on each of its columns keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.layout.overlap import overlap_depth
from parquet_core.layout.spec import Finding, Severity
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn

# Fewer row groups tell nothing, and an equality that keeps more than this is not worth a curve.
_FEWEST, _MOST_KEPT = 16, 0.6
_REMEDY = "write through prune_assets.write, which puts rows along the curve, or choose columns of more values"


def check_clustering(
    index: MetadataIndex, columns: Sequence[LeafColumn], partition: NDArray[np.int64]
) -> Iterator[Finding]:
    """Report the overlap of row groups on each column, and what an equality on it keeps.

    The order of single columns is not asked: along a curve none of them ascends.
    """
    kept = [(column, *_kept(index, column, partition)) for column in columns]
    groups = int(np.count_nonzero(index.row_count > 0))
    lost = groups >= _FEWEST and all(share > _MOST_KEPT * groups for _, share, _ in kept)
    for column, share, depth in kept:
        yield Finding(
            "clustering.ineffective" if lost else "clustering.effective",
            Severity.ERROR if lost else Severity.INFO,
            f"column {column.name}",
            f"an equality on {column.name} keeps {share:.1f} of {groups} row groups on average, by their bounds; "
            f"overlap depth {depth:.2f}",
            _REMEDY if lost else "",
        )


def _kept(index: MetadataIndex, column: LeafColumn, partition: NDArray[np.int64]) -> tuple[float, float]:
    """Return how many row groups hold the middle of an average one, and the overlap depth within partitions."""
    bounds = index.page_indexes.filled_bounds(column)
    known = np.flatnonzero(flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid())))
    unknown = np.count_nonzero((index.row_count > 0) & ~flags_from(pc.equal(bounds.null_count, bounds.row_count)))
    unknown -= np.count_nonzero(index.row_count[known] > 0)
    if not len(known):
        return float(unknown), 0.0
    low, high = ranks(bounds.lower.take(known), bounds.upper.take(known))
    asked = (low + high) / 2
    begun = np.searchsorted(np.sort(low), asked, side="right")
    ended = np.searchsorted(np.sort(high), asked, side="left")
    apart = partition[index.file[known]] * (int(high.max(initial=0)) + 1)
    return float((begun - ended).mean()) + float(unknown), overlap_depth(low + apart, high + apart)
