"""Check the health of a Delta log. Findings name what makes reads slow, and files that cannot be skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.layout.entry import Check, Code, by_fault
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted
from prune_assets.tables.delta.merge_health import MERGES_OPEN_FEW_FILES
from prune_assets.tables.examination import LAST_MERGES
from prune_assets.tables.small_files import small_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.inspection import DeltaInspection
    from deltalog.snapshot.row_changes import RowChange
    from prune_assets.tables.delta.table import DeltaTable
    from prune_assets.tables.examination import LogLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedLog:
    """A version of a Delta table as its log describes it.

    `size`, `partition`: bytes and partition number of each live file.
    `merges`: the last MERGEs, newest first.
    """

    name: str
    log: DeltaInspection
    size: NDArray[np.int64]
    partition: NDArray[np.int64]
    limits: LogLimits
    merges: Sequence[RowChange] = ()


def log_findings(table: DeltaTable, limits: LogLimits) -> list[Finding]:
    """Return the findings of all log checks for a version."""
    from deltalog.inspection import inspect_snapshot
    from deltalog.snapshot.row_changes import row_changes

    log, partition = inspect_snapshot(table.snapshot), table.rewrite_scope()
    size = np.concatenate([np.zeros(0, np.int64), *(block.size for block in table.snapshot.blocks)])
    merges = row_changes(table.snapshot, limit=LAST_MERGES, operations=["MERGE"])
    examined = ExaminedLog(name=table.name, log=log, size=size, partition=partition, limits=limits, merges=merges)
    return by_fault(finding for check in LOG_CHECKS for finding in check.run(examined))


def check_delta(examined: ExaminedLog) -> Iterator[Finding]:
    """Yield the findings about the log of a Delta table; no data file is opened."""
    log, location, limits = examined.log, f"{examined.name}, version {examined.log.version}", examined.limits
    yield from _commits(log, location, limits.max_commits)
    yield from small_files("log.small_files", location, examined.size, examined.partition, limits.max_small_files)
    yield from _statistics(log, location)


def _commits(inspection: DeltaInspection, location: str, most: int) -> Iterator[Finding]:
    count, checkpoint = inspection.log.commits_since_checkpoint, inspection.log.checkpoint
    if count > most:
        since = "and there is no checkpoint" if checkpoint is None else f"since the checkpoint of version {checkpoint}"
        message = f"each reader replays {counted(count, 'commit')} {since}, above the limit of {most:,}"
        yield Finding("log.commits", Severity.ERROR, location, message, "write a checkpoint: prune checkpoint TABLE")
    for note in inspection.log.notes:
        yield Finding(
            "log.notes", Severity.WARN, location, note, "check the writers of the log, and write a checkpoint"
        )


def _statistics(log: DeltaInspection, location: str) -> Iterator[Finding]:
    if log.files_without_rows:
        message = f"{log.files_without_rows:,} of {log.files:,} files have no statistics: no predicate skips them"
        by = "write them with statistics, and delta.dataSkippingNumIndexedCols other than 0: "
        yield Finding("log.statistics", Severity.ERROR, location, message, fix=Fix(by, Step.WRITE_TABLE))
    for column in log.columns:
        if column.name in log.clustered_by and column.bounds < log.files:
            message = f"it clusters the table, and {log.files - column.bounds:,} of {log.files:,} files lack bounds"
            column_location = f"{location}, column {column.name}"
            fix = Fix("name it in delta.dataSkippingStatsColumns, and write the files again: ", Step.WRITE_TABLE)
            yield Finding("log.clustering", Severity.ERROR, column_location, message, columns=(column.name,), fix=fix)


LOG_IS_HEALTHY = Check(
    "log_is_healthy",
    "The log is quick to read, and its files have statistics.",
    {
        "log.commits": Code(
            "Each reader replays more commits on top of the last checkpoint than are allowed.",
            "Write a checkpoint: `prune checkpoint TABLE`.",
        ),
        "log.notes": Code(
            "The log has a fault that did not affect its files.",
            "Check the writers of the log, and write a checkpoint.",
        ),
        "log.small_files": Code(
            "As `files.small`, of the live files.",
            "Write them together: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "log.statistics": Code(
            "Files have no statistics in the log, so each of them is opened for every predicate.",
            "Write them again, with `delta.dataSkippingNumIndexedCols` other than 0.",
        ),
        "log.clustering": Code(
            "A column clusters the table, and files have no bounds of it in the log.",
            "Name it in `delta.dataSkippingStatsColumns`, and write the files again.",
        ),
    },
    check_delta,
    reads="log",
)

# Log checks; add further ones here.
LOG_CHECKS = (LOG_IS_HEALTHY, MERGES_OPEN_FEW_FILES)
