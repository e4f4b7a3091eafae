"""Small files as a finding: opening them costs more than reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# What is below is small to Spark's readers; an upper end of a class of `parquet_core.inspection.sizes`.
SMALL_BYTES = 32 << 20
TARGET_BYTES = 128 << 20
# So many files that a merge within their partitions would save are worth one.
SPARE_FILES = 10
MAX_SMALL_FILES = 1_000


def small_files(
    code: str, location: str, size: NDArray[np.int64], partition: NDArray[np.int64], most: int | None
) -> Iterator[Finding]:
    """Report small files: an error above the limit, a warning where a merge would save many.

    `size`, `partition`: bytes and the number of the partition of each file. `most`: how many may be small; None for
    the usual limits.
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
        if count - merged < SPARE_FILES:  # most are alone in their partitions, across which nothing is merged
            fix = Fix("partition by a column with fewer values, or by none: ", Step.WRITE_TABLE)
        yield Finding(code, severity, location, message, fix=fix)
