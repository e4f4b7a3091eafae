"""Facts of the page indexes of one column, with the recomputed boundary order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.format.page_index import BoundaryOrder
from parquet_core.inspection.facts import PageFacts, PageIndexFacts
from parquet_core.inspection.values import plain_values
from parquet_core.ragged import any_in

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_core.arrays import Flags, Positions
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import Order, Value


_ORDERS: dict[int, Order] = {
    BoundaryOrder.UNORDERED: "unordered",
    BoundaryOrder.ASCENDING: "ascending",
    BoundaryOrder.DESCENDING: "descending",
}


@dataclass(frozen=True, slots=True)
class InspectedPages:
    """Page indexes of successive chunks.

    `lower`, `upper`: bounds by page. None unless single pages were requested.
    """

    batch: PageBatch
    locations: OffsetIndexes
    recomputed: Positions
    column_index: Positions
    offset_index: Positions
    lower: list[Value] | None
    upper: list[Value] | None

    @staticmethod
    def of(
        column: LeafColumn, index: MetadataIndex, positions: Positions, locations: OffsetIndexes, *, pages: bool
    ) -> InspectedPages:
        """Read the page indexes of a column at chosen row groups."""
        batch, footers = index.page_indexes.read(column, positions), index.footers.chunks(column)
        return InspectedPages(
            batch=batch,
            locations=locations,
            recomputed=recomputed_orders(batch),
            column_index=footers.column_index[positions, 1],
            offset_index=footers.offset_index[positions, 1],
            lower=plain_values(column, batch.bounds.lower) if pages else None,
            upper=plain_values(column, batch.bounds.upper) if pages else None,
        )

    def chunk(self, i: int) -> PageIndexFacts:
        """Return the facts of the i-th chunk."""
        located = self.locations.reason[i] == ""
        believed = self.batch.reason[i] == ""
        return PageIndexFacts(
            reason=str(self.batch.reason[i]),
            count=int(self.locations.first[i + 1] - self.locations.first[i]) if located else None,
            boundary_order=boundary_order_name(int(self.batch.boundary_order[i])) if believed else None,
            recomputed_order=boundary_order_name(int(self.recomputed[i])),
            bound_bytes=int(self.batch.bound_bytes[i]),
            column_index_bytes=_known(self.column_index[i]),
            offset_index_bytes=_known(self.offset_index[i]),
            pages=self._pages(i) if located else None,
        )

    def _pages(self, i: int) -> tuple[PageFacts, ...] | None:
        if self.lower is None or self.upper is None:
            return None
        indexed, located = (slice(*of.first[i : i + 2].tolist()) for of in (self.batch, self.locations))
        bounds = self.batch.bounds
        return tuple(
            map(
                PageFacts,
                self.batch.first_row[indexed].tolist(),
                bounds.row_count[indexed].tolist(),
                self.locations.offset[located].tolist(),
                self.locations.compressed_bytes[located].tolist(),
                self.lower[indexed],
                self.upper[indexed],
                bounds.null_count[indexed].to_pylist(),
                bounds.nan_count[indexed].to_pylist(),
            )
        )


def _known(value: np.int64) -> int | None:
    return None if value < 0 else int(value)


def recomputed_orders(batch: PageBatch) -> Positions:
    """Recompute the boundary order of each chunk, as `boundary_order` does for one chunk.

    The order is -1 if a page that may hold a value has no bounds, or if the column index is not trusted.
    """
    bounds, owner = batch.bounds, batch.row_group
    bounded = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()))
    all_null = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    silent = any_in(~bounded & ~all_null, owner, len(batch)) | (batch.reason != "")
    taken = np.flatnonzero(bounded)
    low, high, group = bounds.lower.take(taken), bounds.upper.take(taken), owner[taken]
    same = group[1:] == group[:-1]
    falls = same & (_steps(low, pc.greater) | _steps(high, pc.greater))
    rises = same & (_steps(low, pc.less) | _steps(high, pc.less))
    fallen, risen = (any_in(flags, group[1:], len(batch)) for flags in (falls, rises))
    order = np.where(
        fallen, np.where(risen, BoundaryOrder.UNORDERED, BoundaryOrder.DESCENDING), BoundaryOrder.ASCENDING
    )
    return np.where(silent, -1, order)


def _steps(values: pa.Array, compare: object) -> Flags:
    if len(values) < 2:
        return np.zeros(max(len(values) - 1, 0), np.bool_)
    return flags_from(compare(values[:-1], values[1:]))  # type: ignore[operator]  # an Arrow kernel


def boundary_order_name(order: int) -> Order | None:
    """Return the name of a boundary order; None if unknown."""
    return _ORDERS.get(order)
