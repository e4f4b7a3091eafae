"""Small row groups as a finding: what a footer says of each costs more than it lets a reader skip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.dataset.metadata_index import MetadataIndex

# A row group is small that has fewer rows and fewer bytes.
SMALL_ROWS, SMALL_BYTES = 10_000, 1 << 20
# So many row groups that a merge inside of their files would save are worth one.
SPARE_ROW_GROUPS = 100


def small_row_groups(location: str, index: MetadataIndex) -> Iterator[Finding]:
    """Warn of files whose row groups are small on average, where merging these inside of the files would save many."""
    filled, files = index.row_count > 0, len(index.files)
    groups = np.bincount(index.file[filled], minlength=files)
    rows, size = np.bincount(index.file, index.row_count, minlength=files), index.sizes_of_files()
    small = (groups > 1) & (rows < SMALL_ROWS * groups) & (size < SMALL_BYTES * groups)
    count = int(groups[small].sum())
    enough = np.maximum(1, np.maximum(rows // SMALL_ROWS, size // SMALL_BYTES)[small])
    if count - int(enough.sum()) < SPARE_ROW_GROUPS:
        return
    message = (
        f"{count:,} row groups in {counted(int(small.sum()), 'file')} are small, on average "
        f"{counted(int(rows[small].sum()) // count, 'row')} and {bytes_text(int(size[small].sum()) // count)}"
    )
    fix = Fix(
        "write larger row groups: ",
        Step.WRITE_TABLE,
        ", or pass min_rows_per_group=100_000 to write_to_dataset or write_dataset of pyarrow",
    )
    yield Finding("files.small_row_groups", Severity.WARN, location, message, fix=fix)
