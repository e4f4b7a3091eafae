"""What a sort key of few distinct values costs: rows with equal keys lie in one file, in no order among themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.layout.places import file_name
from parquet_core.layout.spec import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.layout.bound_layout import BoundLayout


def check_low_cardinality(bound: BoundLayout) -> Iterator[Finding]:
    """Report a key, the only one, whose single values fill most of the row groups over and over."""
    index = bound.index
    for column, _ in bound.sort_key if len(bound.layout.sort_by) == 1 else ():
        bounds = index.page_indexes.filled_bounds(column)
        one_value = flags_from(pc.equal(bounds.lower, bounds.upper))
        again = np.zeros(len(index), np.bool_)
        again[1:] = flags_from(pc.equal(bounds.lower[1:], bounds.lower[:-1])) & (np.diff(index.file) == 0)
        again[1:] &= one_value[1:] & one_value[:-1]
        if 2 * np.count_nonzero(again) > len(index):
            largest = int(np.argmax(np.bincount(index.file, weights=index.row_count)))
            rows = int(index.row_count[index.file == largest].sum())
            yield Finding(
                "order.low_cardinality",
                Severity.WARN,
                f"column {column.name}",
                f"{np.count_nonzero(again)} of {len(index)} row groups repeat the one value of {column.name} that the "
                f"row group before holds, and rows with equal keys stay in one file, the largest of which has {rows:,} "
                f"rows ({file_name(index, largest)}): sorting does not separate them",
                "add a second column to sort_by, one that queries filter by",
            )
