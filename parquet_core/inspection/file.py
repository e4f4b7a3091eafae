"""Facts about one file and its row groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import StaleTable
from parquet_core.format.footer import read_footer
from parquet_core.inspection.chunks import read_chunks
from parquet_core.inspection.column import describe_column
from parquet_core.inspection.facts import FileInspection, KeyValue, RowGroupFacts, SortingColumn, Spread
from parquet_core.inspection.probe import probe_filters, probed_column
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn


def inspect_file(index: MetadataIndex, columns: Sequence[LeafColumn], *, bloom: str | None = None) -> FileInspection:
    """Describe the only file of an index and the chosen columns.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import inspect_file
    >>> path = f"{tempfile.mkdtemp()}/part-0.parquet"
    >>> pq.write_table(pa.table({"id": range(1000)}), path, row_group_size=100)
    >>> index = read_dataset(path)
    >>> inspect_file(index, index.groups.columns).rows
    1000

    `bloom`: a value to look up in the bloom filters of one column. `row_groups` of the result is empty, see
    `read_row_groups`. Raises WrongUse, MalformedFile and StorageFailure.
    """
    assert len(index.groups.files) == 1, "an index of one file"
    # The offset indexes of all columns are fetched together here, and used column by column below.
    index.page_indexes.locations(columns, np.arange(len(index)))
    footers, (footer_kind,) = _footers(index), index.groups.provenances
    return FileInspection(
        path=redacted(index.groups.files[0].path),
        bytes=index.groups.files[0].size,
        footer_bytes=int(footers.footer_bytes[0]),
        rows=int(index.groups.row_count.sum()),
        footer_rows=int(footers.num_rows[0]),
        created_by=footer_kind.created_by,
        key_values=tuple(KeyValue(key, len(value.encode()), value) for key, value in footer_kind.key_values.items()),
        row_group_count=len(index),
        row_group_rows=Spread.of(index.groups.row_count),
        row_group_bytes=Spread.of(_group_bytes(index)),
        all_columns=len(index.groups.columns),
        columns=tuple(describe_column(index, column, footers) for column in columns),
        probe=None if bloom is None else probe_filters(index, probed_column(index, columns), bloom),
        row_groups=(),
    )


def read_row_groups(
    index: MetadataIndex, columns: Sequence[LeafColumn], positions: NDArray[np.int64], *, pages: bool
) -> Iterator[RowGroupFacts]:
    """Read the metadata of chosen row groups of the only file; yield their facts.

    >>> import tempfile
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import read_row_groups
    >>> path = f"{tempfile.mkdtemp()}/part-0.parquet"
    >>> pq.write_table(pa.table({"id": range(1000)}), path, row_group_size=100)
    >>> index = read_dataset(path)
    >>> [group.rows for group in read_row_groups(index, index.groups.columns, np.array([0, 9]), pages=False)]
    [100, 100]

    `pages`: True to list single pages. Errors of the file are raised before the first result.
    """
    footers, sizes = _footers(index), _group_bytes(index)
    sortings = [_sorting_columns(footers, position) for position in positions.tolist()]
    chunks = read_chunks(index, columns, positions, footers, pages=pages)
    return (
        RowGroupFacts(
            index=position,
            rows=int(footers.row_count[position]),
            compressed_bytes=int(sizes[position]),
            sorting_columns=sorting,
            chunks=tuple(of_column.chunk(i) for of_column in chunks),
        )
        for i, (position, sorting) in enumerate(zip(positions.tolist(), sortings, strict=True))
    )


def _footers(index: MetadataIndex) -> Footers:
    footers = read_footer(index.groups.files[0], traffic=index.groups.traffic)
    if not index.groups.has_rows(footers.row_count, np.arange(len(index))):
        raise StaleTable(f"{index.groups.files[0].path}: the file changed while it was read; try again")
    return footers


def _group_bytes(index: MetadataIndex) -> NDArray[np.int64]:
    return index.footers.totals(index.groups.columns).bytes


def _sorting_columns(footers: Footers, position: int) -> tuple[SortingColumn, ...]:
    columns = footers.kinds[0].columns
    return tuple(
        SortingColumn(columns[leaf].name if 0 <= leaf < len(columns) else f"column {leaf}", descending, nulls_first)
        for leaf, descending, nulls_first in footers.sorted_by(position)
    )
