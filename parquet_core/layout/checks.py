"""Check a table against a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import LayoutError
from parquet_core.fix import Fix, Step
from parquet_core.layout.bloom_filters import BLOOM_FILTERS_PRESENT
from parquet_core.layout.bound_layout import bind
from parquet_core.layout.column_indexes import COLUMN_INDEX_PRESENT
from parquet_core.layout.entry import by_fault
from parquet_core.layout.order import SORTED_ORDER
from parquet_core.layout.overlap import FILES_DO_NOT_OVERLAP
from parquet_core.layout.sizes import SIZES_WITHIN_LIMITS
from parquet_core.layout.spec import LayoutSpec
from parquet_core.printable import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.spec import Finding

# All checks of a layout. A new check is a module in this package and an entry in this tuple.
CHECKS = (COLUMN_INDEX_PRESENT, BLOOM_FILTERS_PRESENT, FILES_DO_NOT_OVERLAP, SORTED_ORDER, SIZES_WITHIN_LIMITS)


def check(table: str | os.PathLike[str] | Sequence[str], *, layout: LayoutSpec, rows: bool = True) -> list[Finding]:
    """Check the layout of a plain Parquet table from its bytes.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.layout import LayoutSpec, check
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [2, 1]}), f"{table}/part-0.parquet", write_page_index=True)
    >>> [finding.message for finding in check(table, layout=LayoutSpec(sort_by=["id"])) if finding.code == "order.rows"]
    ['rows are not sorted by id: first break at row 1']

    With `rows`, the sort key and columns without a column index are read too, to prove what bounds cannot. Files are
    compared within a partition. The order of a partition column of the sort key follows from the directories. Findings
    of severity `info` report what fulfills the layout. Raises LayoutError for a column that the table lacks,
    TableNotFound, MalformedFile and StorageFailure.
    """
    _check_spec(layout)
    return check_index(read_dataset(table), layout=layout, rows=rows)


def _check_spec(layout: LayoutSpec) -> None:
    if not isinstance(layout, LayoutSpec):
        raise LayoutError(f"layout = {shown(layout)}: give a LayoutSpec", Fix(step=Step.LOAD_LAYOUT))


def check_index(
    index: MetadataIndex, *, layout: LayoutSpec, rows: bool = True, partition: NDArray[np.int64] | None = None
) -> list[Finding]:
    """Check a layout as `check` does, for files whose footers were read.

    `partition`: a partition number per file; None to derive it from directories.
    """
    _check_spec(layout)
    bound = bind(layout, index, partition=partition, read_values=rows)
    return by_fault(finding for check in CHECKS for finding in check.run(bound))
