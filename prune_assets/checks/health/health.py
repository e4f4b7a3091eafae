"""Health of a table: its files, its deletes, and its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltalog.snapshot.row_changes import amplification
from parquet_core.errors import WrongUse
from parquet_core.layout.entry import by_fault
from parquet_core.printable import redacted
from prune_assets.checks.health.deletes import DELETES_ARE_APPLIED
from prune_assets.checks.health.file_health import FILES_ARE_HEALTHY, ExaminedFiles
from prune_assets.checks.remedies import with_catalog_name
from prune_assets.tables.examination import LAST_MERGES, MAX_COMMITS, LogLimits
from prune_assets.tables.opening import FORMATS, open_as_written, recognize

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deltalog.snapshot.row_changes import Amplification
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.spec import Finding
    from prune_assets.tables.delete_debt import DeleteDebt
    from prune_assets.tables.table import Table

# Health checks of files. To add a check, write a module next to this one and add its entry here. Table formats register
# their own checks of logs.
OF_FILES = (FILES_ARE_HEALTHY,)
OF_DELETES = (DELETES_ARE_APPLIED,)
OF_LOG = tuple(check for each in FORMATS for check in each.log_checks())


def check_health(table: Table, index: MetadataIndex, partition: NDArray[np.int64]) -> list[Finding]:
    """Check the health of a table whose footers are read already.

    `partition`: partition number of each file.
    """
    by_log, examination = table.version_number is not None, table.format.examination()
    clustered_by = examination.clustered_by(table)
    of_files = _findings_of_files(redacted(table.name), index, partition, clustered_by=clustered_by, by_log=by_log)
    # Drop the log's small-file finding: the files report the same sizes.
    of_log = [finding for finding in examination.log_findings(table, LogLimits()) if finding.code != "log.small_files"]
    return [*of_files, *of_log, *_findings_of_deletes(table)[1]]


def check_files(
    table: str | os.PathLike[str],
    *,
    columns: Sequence[str] = (),
    max_small_files: int | None = None,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Check the files of a table by their footers and a few bloom filters.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [1, 2], "x": ["a", "b"]}), f"{table}/0.parquet", write_statistics=["id"])
    >>> [(finding.code, finding.columns) for finding in check_files(table) if finding.severity == "error"]
    [('statistics.missing', ('x',))]

    `columns`: columns to check; by default all columns by which predicates prune.
    `max_small_files`: number of files that may be smaller than 32 MiB. By default, more than 1,000 small files are an
    error, and small files are a warning if compaction would save 10 files.
    `allow`: as in `plan`.

    Raises the errors of opening a table.
    """
    name, opened = redacted(str(table)), open_as_written(table, allow=allow)
    index, partition = opened.format.examination().read_partitioned(opened)
    by_log = opened.version_number is not None
    findings = _findings_of_files(
        name, index, partition, columns=columns, max_small_files=max_small_files, by_log=by_log
    )
    return [with_catalog_name(finding, opened) for finding in findings]


def _findings_of_files(name: str, index: MetadataIndex, partition: NDArray[np.int64], **options: Any) -> list[Finding]:
    files = ExaminedFiles(name=name, index=index, partition=partition, **options)
    return by_fault(finding for check in OF_FILES for finding in check.run(files))


def check_deletes(
    table: str | os.PathLike[str], *, allow: Sequence[str] = ()
) -> tuple[DeleteDebt | None, list[Finding]]:
    """Return the delete debt of a table and its findings.

    Only the log or the manifests are read.

    >>> import tempfile
    >>> import deltalake, pyarrow as pa
    >>> table = tempfile.mkdtemp()
    >>> deltalake.write_deltalake(table, pa.table({"id": range(10)}))
    >>> debt, findings = check_deletes(table)
    >>> debt.share, findings
    (0.0, [])

    The debt is None for plain Parquet, which has no deletes. `allow`: addresses outside the table where the log may
    refer to files. Raises the errors of opening a table.
    """
    opened = open_as_written(table, allow=allow)
    debt, findings = _findings_of_deletes(opened)
    return debt, [with_catalog_name(finding, opened) for finding in findings]


def _findings_of_deletes(table: Table) -> tuple[DeleteDebt | None, list[Finding]]:
    debt = table.format.examination().delete_debt(table)
    return debt, [finding for check in OF_DELETES for finding in check.run(redacted(table.name), debt)]


def last_merges(table: str | os.PathLike[str], *, allow: Sequence[str] = ()) -> Amplification | None:
    """Return the totals that the last 30 MERGEs opened and rewrote; None if the format does not record them.

    Only the log is read. MERGEs that may have skipped files do not count, because commits do not record which files
    were opened.

    >>> import tempfile
    >>> import deltalake, pyarrow as pa
    >>> table = tempfile.mkdtemp()
    >>> for first in (0, 10, 20, 30):
    ...     deltalake.write_deltalake(table, pa.table({"id": range(first, first + 10)}), mode="append")
    >>> source = pa.table({"id": [7]})
    >>> merge = deltalake.DeltaTable(table).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    >>> _ = merge.when_matched_update_all().execute()
    >>> merges = last_merges(table)
    >>> merges.opened.files, merges.rewritten.files, round(merges.ratio)
    (4, 1, 4)

    `allow`: as in `plan`. Raises the errors of opening a table.
    """
    opened = open_as_written(table, allow=allow)
    row_changes = opened.format.examination().row_changes
    return None if row_changes is None else amplification(row_changes(opened, LAST_MERGES, ["MERGE"]))


def check_log(
    table: str | os.PathLike[str],
    *,
    max_commits: int = MAX_COMMITS,
    max_small_files: int | None = None,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Check the log of a Delta table; no data file is opened.

    >>> import tempfile
    >>> import deltalake, pyarrow as pa
    >>> table = tempfile.mkdtemp()
    >>> for first in (0, 10, 20):
    ...     deltalake.write_deltalake(table, pa.table({"id": range(first, first + 10)}), mode="append")
    >>> check_log(table)
    []
    >>> [(finding.code, finding.remedy) for finding in check_log(table, max_commits=2)]
    [('log.commits', 'write a checkpoint: prune checkpoint TABLE')]

    `max_commits`: number of commits that a reader may have to replay.
    `max_small_files`: number of live files that may be smaller than 32 MiB. By default, more than 1,000 small files are
    an error, and small files are a warning if compaction would save 10 files.
    `allow`: addresses below which the log may refer to files, in addition to the table's own.

    Raises WrongUse for a table that is not a Delta table, and the errors of opening one.
    """
    if not recognize(table)[0].log_checks():
        raise WrongUse(f"{table}: not a Delta table, so it has no log; check its files with `prune check`")
    opened = open_as_written(table, allow=allow)
    return opened.format.examination().log_findings(opened, LogLimits(max_commits, max_small_files))
