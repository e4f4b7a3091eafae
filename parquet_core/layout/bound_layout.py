"""A layout bound to the columns of a table.

Bound layouts are the input of layout checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import LayoutError
from parquet_core.format.page_index import BoundaryOrder
from parquet_core.layout.places import partition_of_files
from parquet_core.layout.sort_key import direction_hint
from parquet_core.printable import listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.sort_key import SortKey
    from parquet_core.layout.spec import LayoutSpec


class OrderedColumn(NamedTuple):
    """A column of the table and how the sort key orders it."""

    column: LeafColumn
    key: SortKey

    @property
    def order(self) -> BoundaryOrder:
        """Boundary order of the column index if the rows are sorted by the key."""
        return BoundaryOrder.DESCENDING if self.key.descending else BoundaryOrder.ASCENDING


@dataclass(frozen=True, slots=True)
class BoundLayout:
    """A layout with its columns in a table whose footers were read.

    `partition`: a partition number per file.
    `read_values`: True allows reading values if metadata prove nothing.
    `sort_key`: columns of the sort key, without partition columns.
    `partition_columns`: partition columns of the sort key.
    `curve`: columns of the Z-order or Hilbert curve.
    `bloom`: columns with bloom filters.
    """

    index: MetadataIndex
    layout: LayoutSpec
    partition: NDArray[np.int64]
    read_values: bool
    sort_key: tuple[OrderedColumn, ...]
    partition_columns: tuple[LeafColumn, ...]
    curve: tuple[LeafColumn, ...]
    bloom: tuple[LeafColumn, ...]


def bind(
    layout: LayoutSpec, index: MetadataIndex, *, partition: NDArray[np.int64] | None, read_values: bool
) -> BoundLayout:
    """Bind a layout to the columns of a table.

    `partition`: a partition number per file; None to derive it from directories. Raises LayoutError for a column that
    the table lacks.
    """
    by_partition = {
        name: column for name in layout.sort_columns if (column := _partition_column(name, index)) is not None
    }
    keys = [key for key in layout.sort_keys if key.column not in by_partition]
    curve = "zorder_by" if layout.zorder_by else "hilbert_by"
    return BoundLayout(
        index,
        layout,
        partition_of_files(index) if partition is None else partition,
        read_values,
        sort_key=tuple(OrderedColumn(_sort_column(key.column, index), key) for key in keys),
        partition_columns=tuple(by_partition.values()),
        curve=tuple(find_column(name, index, curve) for name in layout.curve_by),
        bloom=tuple(find_column(name, index, "bloom") for name in layout.bloom),
    )


def _partition_column(name: str, index: MetadataIndex) -> LeafColumn | None:
    """Return the partition column with this name; None if missing.

    Case is ignored.
    """
    return next((column for column in index.groups.partitions if column.name.casefold() == name.casefold()), None)


def _sort_column(name: str, index: MetadataIndex) -> LeafColumn:
    column = find_column(name, index, "sort_by")
    if len(column.path) > 1:
        raise LayoutError(f"sort_by: {name} is inside of {column.path[0]}; a table is sorted by top-level columns")
    return column


def find_column(name: str, index: MetadataIndex, layout_key: str) -> LeafColumn:
    """Find a column by its dotted path.

    Case is ignored if that is unambiguous. `layout_key`: the key of the layout that names the column, for messages.
    Raises LayoutError, which suggests similar names, if the column is missing, ambiguous, a partition column or nested.
    """
    exact = [column for column in index.groups.columns if column.name == name]
    matching = exact or [column for column in index.groups.columns if column.name.casefold() == name.casefold()]
    if len(matching) == 1:
        return matching[0]
    if any(column.name.casefold() == name.casefold() for column in index.groups.partitions):
        raise LayoutError(
            f"{layout_key}: {name} is a partition column: its values are in directory names, not in files"
        )
    if any(column.path[0].casefold() == name.casefold() for column in index.groups.columns):
        raise LayoutError(f"{layout_key}: {name} is a struct, list or map; name a column of values")
    names = [column.name for column in index.groups.columns]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    meant = direction_hint(name, names) or (f"did you mean {near[0]}?" if near else "")
    raise LayoutError(
        f"{layout_key}: the table has no column {name}" + (f": {meant}" if meant else f"; it has {listed(names)}")
    )
