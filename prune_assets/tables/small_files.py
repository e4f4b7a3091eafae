"""Report small files, which cost more to open than to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Files below this size are small for Spark's readers; the end of a size class in `parquet_core.inspection.sizes`.
SMALL_BYTES = 32 << 20
TARGET_BYTES = 128 << 20
# Merge when it removes at least this many files.
SPARE_FILES = 10
MAX_SMALL_FILES = 1_000


def small_files(
    code: str, location: str, size: NDArray[np.int64], partition: NDArray[np.int64], most: int | None
) -> Iterator[Finding]:
    """Report small files: an error above the limit, a warning if a merge would remove many files.

    `size`, `partition`: bytes and partition number of each file.
    `most`: allowed number of small files. None for the default limits.
    """
    small = size < SMALL_BYTES
    count, total = int(small.sum()), int(size[small].sum())
    held = np.bincount(partition[small], weights=size[small])
    merged = int(np.ceil(held / TARGET_BYTES).sum())
    limit = MAX_SMALL_FILES if most is None else most
    severity = Severity.ERROR if count > limit else Severity.WARN
    if count > limit or (most is None and count - merged >= SPARE_FILES):
        message = (
            f"{count:,} of {len(size):,} files are smaller than {bytes_text(SMALL_BYTES)}, "
            f"{bytes_text(total)} together, which {counted(merged, 'file')} would hold"
            + (f"; {limit:,} are allowed" if severity is Severity.ERROR else "")
        )
        fix = Fix("merge them: ", Step.OPTIMIZE)
        if count - merged < SPARE_FILES:  # most are their partition's only small file; no merge crosses partitions
            fix = Fix("partition by a column with fewer values, or do not partition: ", Step.WRITE_TABLE)
        yield Finding(code, severity, location, message, fix=fix)
