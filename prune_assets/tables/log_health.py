"""How the log of a Delta table stands, as findings: what makes each reader slow, or keeps files from being skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import bytes_text
from prune_assets.tables.delta import delta_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from deltalog.inspection import DeltaInspection

# What is below is small to Spark's readers; an upper end of a class of `deltalog.inspection`.
SMALL_BYTES = 32 << 20
MAX_COMMITS = 100
MAX_SMALL_FILES = 1_000


def check_log(
    table: str | os.PathLike[str],
    *,
    max_commits: int = MAX_COMMITS,
    max_small_files: int = MAX_SMALL_FILES,
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
    than 32 MiB. `allow`: addresses below which the log may name files, beside the table's own.

    Raises WrongUse for what is no Delta table, and as opening one does.
    """
    from deltalog.inspection import inspect_snapshot

    delta = delta_table(table, version=None, timestamp=None, allow=allow)
    if delta is None:
        raise WrongUse(f"{table}: not a Delta table, and only those have a log; check its files by their layout")
    found = inspect_snapshot(delta.snapshot)
    place = f"{delta.name}, version {found.version}"
    return [*_commits(found, place, max_commits), *_sizes(found, place, max_small_files), *_statistics(found, place)]


def _commits(found: DeltaInspection, place: str, most: int) -> Iterator[Finding]:
    count, checkpoint = found.log.commits_since_checkpoint, found.log.checkpoint
    if count > most:
        since = "and there is no checkpoint" if checkpoint is None else f"since the checkpoint of version {checkpoint}"
        message = f"each reader replays {count:,} commits {since}, {most:,} are allowed"
        yield Finding("log.commits", Severity.ERROR, place, message, "write a checkpoint: prune checkpoint TABLE")
    for note in found.log.notes:
        yield Finding("log.notes", Severity.WARN, place, note, "see what writes the log, and write a checkpoint")


def _sizes(found: DeltaInspection, place: str, most: int) -> Iterator[Finding]:
    small = [part for part in found.sizes if part.below is not None and part.below <= SMALL_BYTES]
    count, size = sum(part.files for part in small), sum(part.bytes for part in small)
    if count > most:
        message = (
            f"{count:,} of {found.files:,} files are smaller than {bytes_text(SMALL_BYTES)}, {bytes_text(size)} "
            f"together; {most:,} are allowed"
        )
        yield Finding("log.small_files", Severity.ERROR, place, message, "write them together: prune optimize TABLE")


def _statistics(found: DeltaInspection, place: str) -> Iterator[Finding]:
    if found.files_without_rows:
        message = f"{found.files_without_rows:,} of {found.files:,} files have no statistics: no predicate skips them"
        remedy = "write these files again, with delta.dataSkippingNumIndexedCols other than 0"
        yield Finding("log.statistics", Severity.ERROR, place, message, remedy)
    for column in found.columns:
        if column.name in found.clustered_by and column.bounds < found.files:
            message = f"it clusters the table, and {found.files - column.bounds:,} of {found.files:,} files lack bounds"
            remedy = "name it in delta.dataSkippingStatsColumns, and write the files again"
            yield Finding("log.clustering", Severity.ERROR, f"{place}, column {column.name}", message, remedy)
