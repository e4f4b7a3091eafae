"""Count the bytes and requests of reads without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.reading.arrow_scan import ArrowScan

_ROWS = "rows"


@dataclass(slots=True)
class ReadStats:
    """Statistics of reads without Spark. Each read that gets this object as `stats=` adds its figures.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> stats = pr.ReadStats()
    >>> rows = pr.read_arrow(table, where="id = 150", stats=stats)
    >>> stats.files_kept, 0 < stats.bytes_read < stats.bytes_total
    (1, True)

    All figures are sums over these reads; `print(stats)` shows them in one line. Any thread may access them while a
    read is running: a stream of `read_batches` adds to them until its end.
    """

    _reads: list[tuple[ArrowScan, PlannedRead]] = field(default_factory=list)

    @property
    def _scans(self) -> list[ArrowScan]:
        """One scan per index, because reads of the same plan share an index and its counters."""
        return list({id(scan.index): scan for scan, _ in self._reads}.values())

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

    @property
    def rows_read(self) -> int:
        """Number of decoded rows, whether or not they match the predicate."""
        return sum(scan.rows_read for scan, _ in self._reads)

    def are_of(self, plan: PlannedRead) -> bool:
        """Return True if there is a read, and each read has the predicate and the files of `plan`."""
        return bool(self._reads) and all(
            one.predicate_sql == plan.predicate_sql and set(one.index.groups.files) == set(plan.index.groups.files)
            for _, one in self._reads
        )

    def note(self, scan: ArrowScan, plan: PlannedRead) -> None:
        """Add a read."""
        self._reads.append((scan, plan))

    def _fetched(self) -> list[dict[str, int]]:
        return [dict(scan.index.groups.traffic.bytes) for scan in self._scans]

    def __str__(self) -> str:
        return (
            f"read {bytes_text(self.bytes_read)} of {bytes_text(self.bytes_total)} "
            f"(expected {bytes_text(self.bytes_expected)}) and {bytes_text(self.metadata_bytes)} of metadata "
            f"in {counted(self.requests, 'request')}; kept {self.files_kept:,} of {counted(self.files, 'file')}"
        )
