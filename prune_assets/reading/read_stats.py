"""Count the bytes and requests of reads without Spark."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.reading.arrow_scan import ArrowScan

_ROWS = "rows"


@dataclass(slots=True)
class ReadStats:
    """Statistics of the reads inside a `read_stats` block.

    >>> import prune_assets as pr
    >>> with pr.read_stats() as stats:
    ...     pass
    >>> (stats.requests, stats.bytes_read, stats.bytes_expected)
    (0, 0, 0)

    All figures are sums over these reads. Any thread may access them while a read is running.
    """

    _scans: list[ArrowScan] = field(default_factory=list)

    @property
    def files(self) -> int:
        """Number of files of the table."""
        return sum(len(scan.index.groups.files) for scan in self._scans)

    @property
    def files_kept(self) -> int:
        """Number of files that the plan did not skip."""
        return sum(len(np.unique(scan.index.groups.file[scan.kept()])) for scan in self._scans)

    @property
    def bytes_total(self) -> int:
        """Compressed bytes of the read columns in the whole table."""
        return sum(int(scan.sizes.sum()) for scan in self._scans)

    @property
    def bytes_expected(self) -> int:
        """Expected compressed bytes: the read columns in the planned rows.

        All rows are assumed to have the same size. A read fetches more if pages have other rows too, and less if the
        predicate selects few of these rows.
        """
        return sum(scan.expected_bytes() for scan in self._scans)

    @property
    def bytes_read(self) -> int:
        """Fetched bytes of pages, including gaps between pages that are cheaper than another request."""
        return sum(fetched.get(_ROWS, 0) for fetched in self._fetched())

    @property
    def metadata_bytes(self) -> int:
        """Fetched bytes of footers, page indexes and bloom filters."""
        return sum(size for fetched in self._fetched() for what, size in fetched.items() if what != _ROWS)

    @property
    def requests(self) -> int:
        """Number of requests."""
        return sum(scan.index.groups.traffic.requests for scan in self._scans)

    def note(self, scan: ArrowScan) -> None:
        """Add a read.

        A second read of the same plan shares its index and counters, so it is added only once.
        """
        if all(scan.index is not noted.index for noted in self._scans):
            self._scans.append(scan)

    def _fetched(self) -> list[dict[str, int]]:
        return [dict(scan.index.groups.traffic.bytes) for scan in self._scans]

    def __str__(self) -> str:
        return (
            f"read {bytes_text(self.bytes_read)} of {bytes_text(self.bytes_total)} "
            f"(expected {bytes_text(self.bytes_expected)}) and {bytes_text(self.metadata_bytes)} of metadata "
            f"in {counted(self.requests, 'request')}; kept {self.files_kept:,} of {counted(self.files, 'file')}"
        )


_current: ContextVar[ReadStats | None] = ContextVar("read_stats", default=None)


@contextmanager
def read_stats() -> Iterator[ReadStats]:
    """Collect statistics of `read_arrow`, `read_batches`, `count` and `min_max` inside the block.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> with pr.read_stats() as stats:
    ...     rows = pr.read_arrow(table, where="id = 150")
    >>> stats.files_kept, 0 < stats.bytes_read < stats.bytes_total
    (1, True)

    `print(stats)` shows the figures in one line. A stream of `read_batches` still adds to them after the block.
    """
    stats = ReadStats()
    token = _current.set(stats)
    try:
        yield stats
    finally:
        _current.reset(token)


def noted(scan: ArrowScan) -> ArrowScan:
    """Add a read to the enclosing `read_stats` block, if there is one."""
    if (stats := _current.get()) is not None:
        stats.note(scan)
    return scan
