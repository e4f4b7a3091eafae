"""Check a table against the layout it should have."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import LayoutError
from parquet_core.layout.bloom_filters import check_bloom_filters
from parquet_core.layout.clustering import check_clustering
from parquet_core.layout.column_indexes import check_column_indexes
from parquet_core.layout.faults import by_fault
from parquet_core.layout.low_cardinality import check_low_cardinality
from parquet_core.layout.order import OrderedColumn, check_order
from parquet_core.layout.overlap import check_overlap
from parquet_core.layout.places import partition_findings, partition_of_files
from parquet_core.layout.sizes import check_sizes
from parquet_core.layout.sort_key import direction_hint
from parquet_core.layout.spec import LayoutSpec
from parquet_core.printable import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.spec import Finding


def check(table: str | os.PathLike[str] | Sequence[str], *, layout: LayoutSpec, rows: bool = True) -> list[Finding]:
    """Prove from the written bytes that a table of plain Parquet has its layout; `prune_assets.check` takes any table.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.layout import LayoutSpec, check
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [2, 1]}), f"{table}/part-0.parquet", write_page_index=True)
    >>> [finding.message for finding in check(table, layout=LayoutSpec(sort_by=["id"])) if finding.code == "order.rows"]
    ['rows are not sorted by id: first break at row 1']

    `rows` also reads the sort key (and columns without a column index) to prove what bounds alone
    cannot. Files are compared within a partition, and a partition column of the sort key holds by its directories.
    What holds is reported too, as severity `info`. Raises LayoutError for a column that the
    table lacks, TableNotFound, MalformedFile and StorageFailure.
    """
    _check_spec(layout)
    return check_index(read_dataset(table), layout=layout, rows=rows)


def _check_spec(layout: LayoutSpec) -> None:
    if not isinstance(layout, LayoutSpec):
        raise LayoutError(f"layout = {shown(layout)}: give a LayoutSpec; `prune check` reads one from a file")


def check_index(
    index: MetadataIndex, *, layout: LayoutSpec, rows: bool = True, partition: NDArray[np.int64] | None = None
) -> list[Finding]:
    """Prove it of files whose footers are read already, as `check` does.

    `partition`: a number for the partition of each file; None where their directories tell.
    """
    _check_spec(layout)
    by_partition = {
        name: column for name in layout.sort_columns if (column := _partition_column(name, index)) is not None
    }
    keys = [key for key in layout.sort_keys if key.column not in by_partition]
    sort_key = [OrderedColumn(_sort_column(key.column, index), key) for key in keys]
    leading = [each.column for each in sort_key[:1]]
    curve = [find_column(name, index, "zorder_by" if layout.zorder_by else "hilbert_by") for name in layout.curve_by]
    parts = partition_of_files(index) if partition is None else partition
    bloom = [find_column(name, index, "bloom") for name in layout.bloom]
    found = [
        *check_column_indexes(
            index,
            read_values=rows,
            named={name.casefold() for name in (*layout.sort_columns, *layout.curve_by, *layout.bloom)},
        ),
        *check_bloom_filters(index, bloom),
        *check_overlap(index, leading, parts),
        *check_clustering(index, curve, parts),
        *partition_findings(by_partition.values()),
        *check_order(index, sort_key, read_rows=rows),
        *check_low_cardinality(index, leading if len(layout.sort_by) == 1 else []),
        *check_sizes(index, layout),
    ]
    return by_fault(found)


def _partition_column(name: str, index: MetadataIndex) -> LeafColumn | None:
    """Find a column of the sort key that directories, all of them, give."""
    return next((column for column in index.partitions if column.name.casefold() == name.casefold()), None)


def _sort_column(name: str, index: MetadataIndex) -> LeafColumn:
    column = find_column(name, index, "sort_by")
    if len(column.path) > 1:
        raise LayoutError(f"sort_by: {name} is inside of {column.path[0]}; a table is sorted by top-level columns")
    return column


def find_column(name: str, index: MetadataIndex, place: str) -> LeafColumn:
    """Find a column by its dotted path, in any case where that is unambiguous.

    Raises LayoutError, which says which may be meant.
    """
    exact = [column for column in index.columns if column.name == name]
    found = exact or [column for column in index.columns if column.name.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    if any(column.name.casefold() == name.casefold() for column in index.partitions):
        raise LayoutError(f"{place}: {name} is a partition column: its values are in directory names, not in files")
    if any(column.path[0].casefold() == name.casefold() for column in index.columns):
        raise LayoutError(f"{place}: {name} is a struct, list or map; name a column of values")
    names = [column.name for column in index.columns]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"the table has {', '.join(names[:10])}"
    raise LayoutError(f"{place}: the table has no column {name}: {direction_hint(name, names) or hint}")
