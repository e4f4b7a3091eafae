"""A planned read in parts that other processes carry out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.access_plan import AccessPlan, Verdict
from parquet_core.errors import StaleTable
from parquet_core.ragged import distinct, spans
from parquet_core.storage import look_up
from prune_assets.reading.arrow_scan import WINDOW_BYTES, ArrowScan

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.storage import DataFile
    from prune_assets.reading.arrow_columns import ArrowColumns, FileColumns
    from prune_assets.reading.row_filter import Stage
    from prune_assets.tables.table import Table, TablePart


class ScanTask(NamedTuple):
    """Row groups of a scan; can be pickled. `access` and `sizes` are of all row groups of `files`, those of `part`."""

    part: TablePart
    files: tuple[DataFile, ...]
    of_files: tuple[FileColumns, ...]
    access: AccessPlan
    sizes: NDArray[np.int64]
    columns: ArrowColumns
    names: tuple[str, ...]
    stages: list[Stage]

    def tables(self) -> Iterator[pa.Table]:
        """Yield the selected rows; raises StaleTable where a file is no longer the planned one, and as reading does."""
        for planned, now in zip(self.files, look_up([file.path for file in self.files]), strict=True):
            if planned != now:
                raise StaleTable(f"{planned.path}: changed since it was planned; load it again")
        index = self.part.read_all()
        # Before the files may be the one that decides on the schema.
        before, groups = len(index.files) - len(self.files), len(index) - len(self.sizes)
        ranges, matches = (
            replace(it, row_group=it.row_group + groups) for it in (self.access.ranges, self.access.matches)
        )
        verdict = np.append(np.full(groups, Verdict.SKIP, np.uint8), self.access.verdict)
        sizes = np.append(np.zeros(groups, np.int64), self.sizes)
        files = dict(enumerate(self.of_files, before))
        access = AccessPlan(verdict, ranges, matches)
        scan = ArrowScan(index, access, sizes, files, self.columns, self.names, self.stages)
        return scan.tables(scan.kept())


def tasks_of(scan: ArrowScan, table: Table) -> Iterator[ScanTask]:
    """Put the row groups that a scan reads into tasks of about WINDOW_BYTES each."""
    for window in scan.windows(scan.kept(), WINDOW_BYTES):
        yield _task(scan, table, np.array(window, np.int64))


def _task(scan: ArrowScan, table: Table, window: NDArray[np.int64]) -> ScanTask:
    numbers = distinct(scan.index.file[window])
    first, stop = (np.searchsorted(scan.index.file, numbers, side) for side in ("left", "right"))
    positions = spans(first, stop - first)
    access = scan.access.take(positions)
    verdict = np.where(np.isin(positions, window), access.verdict, np.uint8(Verdict.SKIP))
    files = numbers.tolist()
    return ScanTask(
        table.part(numbers),
        tuple(scan.index.files[i] for i in files),
        tuple(scan.files[i] for i in files),
        replace(access, verdict=verdict),
        scan.sizes[positions],
        scan.columns,
        scan.names,
        scan.stages,
    )
