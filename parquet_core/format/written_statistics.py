"""Statistics as written, of column chunks (footers) and pages (column indexes)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.plain import PlainValues


@dataclass(frozen=True, slots=True)
class WrittenStatistics:
    """Statistics of successive column chunks or pages of one leaf, as written.

    `deprecated_min`, `deprecated_max`: None for pages.
    `all_null`: null_pages of the column index, None for column chunks.
    `null_count`, `nan_count`: `compact.MISSING` if not written.
    `min_exact`, `max_exact`: 1 for true, 0 for false, -1 if unknown.
    `num_values`: number of values of a chunk, nulls included, or number of rows of a page.
    """

    min_value: PlainValues
    max_value: PlainValues
    deprecated_min: PlainValues | None
    deprecated_max: PlainValues | None
    null_count: NDArray[np.int64]
    nan_count: NDArray[np.int64]
    min_exact: NDArray[np.int8]
    max_exact: NDArray[np.int8]
    num_values: NDArray[np.int64]
    row_count: NDArray[np.int64]
    all_null: NDArray[np.bool_] | None

    def __len__(self) -> int:
        return len(self.row_count)

    def __getitem__(self, entries: slice | NDArray[np.int64]) -> WrittenStatistics:
        parts: list[Any] = [getattr(self, part.name) for part in fields(self)]
        cut: list[Any] = [None if part is None else part[entries] for part in parts]
        return WrittenStatistics(*cut)
