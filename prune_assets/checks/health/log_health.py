"""How the log of a Delta table stands, as findings: what makes each reader slow, or keeps files from being skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import WrongUse
from parquet_core.layout.faults import by_fault
from parquet_core.layout.spec import WRITE_ANEW, Finding, Severity
from parquet_core.quantities import counted
from prune_assets.checks.health.small_files import small_files
from prune_assets.tables.delta import delta_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from deltalog.inspection import DeltaInspection
    from prune_assets.tables.delta import DeltaTable

MAX_COMMITS = 100


def check_log(
    table: str | os.PathLike[str],
    *,
    max_commits: int = MAX_COMMITS,
    max_small_files: int | None = None,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Tell what is wrong with the log of a Delta table; no data file is opened.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> for first in (0, 10, 20):
    ...     written = deltalog.write_table(table, pa.table({"id": range(first, first + 10)}), mode="append")
    >>> check_log(table)
    []
    >>> [(finding.code, finding.remedy) for finding in check_log(table, max_commits=2)]
    [('log.commits', 'write a checkpoint: prune checkpoint TABLE')]

    `max_commits`: how many commits a reader may have to replay. `max_small_files`: how many live files may be smaller
    than 32 MiB; by default more than 1,000 are an error, and 50 that could be merged a warning. `allow`: addresses
    below which the log may name files, beside the table's own.

    Raises WrongUse for what is no Delta table, and as opening one does.
    """
    delta = delta_table(table, version=None, timestamp=None, allow=allow)
    if delta is None:
        raise WrongUse(f"{table}: not a Delta table, so it has no log; check its files with `prune check`")
    return check_delta(delta, max_commits=max_commits, max_small_files=max_small_files)[0]


def check_delta(
    delta: DeltaTable, *, max_commits: int = MAX_COMMITS, max_small_files: int | None = None
) -> tuple[list[Finding], DeltaInspection]:
    """Tell it of a version that is open; returns what was inspected as well."""
    from deltalog.inspection import inspect_snapshot

    found = inspect_snapshot(delta.snapshot)
    sizes = np.concatenate([np.zeros(0, np.int64), *(block.size for block in delta.snapshot.blocks)])
    place = f"{delta.name}, version {found.version}"
    findings = [
        *_commits(found, place, max_commits),
        *small_files("log.small_files", place, sizes, delta.partition_of_files(), max_small_files),
        *_statistics(found, place),
    ]
    return by_fault(findings), found


def _commits(found: DeltaInspection, place: str, most: int) -> Iterator[Finding]:
    count, checkpoint = found.log.commits_since_checkpoint, found.log.checkpoint
    if count > most:
        since = "and there is no checkpoint" if checkpoint is None else f"since the checkpoint of version {checkpoint}"
        message = f"each reader replays {counted(count, 'commit')} {since}, above the limit of {most:,}"
        yield Finding("log.commits", Severity.ERROR, place, message, "write a checkpoint: prune checkpoint TABLE")
    for note in found.log.notes:
        yield Finding("log.notes", Severity.WARN, place, note, "see what writes the log, and write a checkpoint")


def _statistics(found: DeltaInspection, place: str) -> Iterator[Finding]:
    if found.files_without_rows:
        message = f"{found.files_without_rows:,} of {found.files:,} files have no statistics: no predicate skips them"
        remedy = f"write them with statistics, and delta.dataSkippingNumIndexedCols other than 0: {WRITE_ANEW}"
        yield Finding("log.statistics", Severity.ERROR, place, message, remedy)
    for column in found.columns:
        if column.name in found.clustered_by and column.bounds < found.files:
            message = f"it clusters the table, and {found.files - column.bounds:,} of {found.files:,} files lack bounds"
            remedy = f"name it in delta.dataSkippingStatsColumns, and write the files again: {WRITE_ANEW}"
            yield Finding(
                "log.clustering", Severity.ERROR, f"{place}, column {column.name}", message, remedy, (column.name,)
            )
