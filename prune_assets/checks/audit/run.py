"""Audit of a table: compares its metadata with its values."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.column_store import ColumnStore
from parquet_core.dataset.page_indexes import PageIndexes
from parquet_core.errors import StaleTable, WrongUse
from parquet_core.layout.bound_layout import find_column
from parquet_core.layout.places import file_name
from parquet_core.printable import redacted
from parquet_core.quantities import refuse_no_share
from parquet_core.spark_rules.spark_schema import has_reliable_nulls
from parquet_core.storage import Traffic
from parquet_core.values import open_values
from prune_assets.checks.audit.file import AuditedColumn, FileAudit, audit_file, report_errors
from prune_assets.checks.audit.findings import Findings
from prune_assets.checks.audit.ignored_statistics import ignored_statistics
from prune_assets.checks.audit.report import AuditReport
from prune_assets.sql.semantics import SparkSemantics

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.values import ValueReader


def audit(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    sample: float = 1.0,
    files: int | None = None,
    columns: Sequence[str] | None = None,
    session: SparkSession | None = None,
    allow: Sequence[str] = (),
) -> AuditReport:
    """Compare the values of a table with the claims of its metadata.

    Every claim that plans rely on is compared.
    The claims are bounds and null counts of pages, row groups and the log, bloom filters, dictionaries, partition
    values and row counts. If a claim is wrong, every engine that skips by it loses rows without an error.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", write_page_index=True)
    >>> report = pr.audit(table)
    >>> report.is_true, report.findings, report.claims["row_group_bounds"], report.rows
    (True, (), 2, 1000)

    Wrong claims that plans do not rely on, such as bounds of a writer with a known fault, are reported too; they lose
    no rows.
    Columns in lists are skipped, because no plan skips by them. One column of one row group is read at a time.

    `sample`: share of row groups to read, from 0 to 1; the same row groups each time, spread over the files.
    `files`: number of files to read instead of a share of row groups; the files are evenly spread.
    `columns`: columns to read, all by default.
    `session`: a Spark session, for a table name of its catalogs; `glue:..` and `unity:..` need no session.
    `allow`: addresses below which the log of a Delta table may refer to files, in addition to the table's own.

    Raises LayoutError for a column that the table lacks, WrongUse for an invalid share, TableNotFound,
    MalformedFile for a damaged footer, and StorageFailure.
    """
    from prune_assets.tables.opening import open_table

    begun = time.perf_counter()
    refuse_no_share("sample", sample, "the row groups", example=0.1)
    if files is not None and files < 1:
        raise WrongUse(f"files={files}: must be a number of files, at least 1")
    opened = open_table(table, semantics=SparkSemantics(), session=session, allow=allow)
    index, claims = opened.read_all(), opened.format.examination().claims(opened)
    chosen = _chosen(index, sample, files)
    findings, traffic, skipped = Findings(), Traffic(), dict[str, str]()
    audited_columns = [_with_statistics(index, column) for column in _audited(index, columns, skipped)]
    partitions = [column for column in index.groups.partitions if columns is None or column.name in columns]
    audited = np.unique(index.groups.file[chosen]).tolist()
    for file in audited:
        positions = np.flatnonzero(index.groups.file == file)
        here = chosen[index.groups.file[chosen] == file]
        live = claims.live(file, int(index.groups.row_count[positions].sum()))
        store, name = ColumnStore(index.groups, index.store.stored), file_name(index, file)
        pages = PageIndexes(index.groups, index.footers, store)
        with (
            report_errors(findings, skipped, what=name, location=name, key=str(file)),
            open_values(index.groups.files[file], traffic=traffic) as values,
        ):
            _check_same(index, positions, values)
            file_audit = FileAudit(
                index, claims, file, positions, here, values, pages, live, findings, skipped, traffic
            )
            audit_file(file_audit, audited_columns, partitions)
    return AuditReport(
        table=redacted(str(table)),
        findings=findings.all(),
        claims={claim: count for claim, count in sorted(findings.claims.items()) if count},
        files=len(index.groups.files),
        audited_files=len(audited),
        row_groups=len(index),
        audited_row_groups=len(chosen),
        rows=int(index.groups.row_count[chosen].sum()),
        read_bytes=traffic.bytes.get("rows", 0),
        seconds=time.perf_counter() - begun,
        skipped=skipped,
    )


def _check_same(index: MetadataIndex, positions: NDArray[np.int64], values: ValueReader) -> None:
    """Raise StaleTable if the footer has changed since it was read."""
    rows = np.array(values.footer.row_counts, np.int64)
    if not index.groups.has_rows(rows, positions):
        raise StaleTable(f"{values.file.path}: the file changed while it was read; try again")


def _chosen(index: MetadataIndex, sample: float, files: int | None) -> NDArray[np.int64]:
    """Return the row groups to read."""
    if files is not None:
        return np.flatnonzero(np.isin(index.groups.file, _spread(len(index.groups.files), files)))
    return _spread(len(index), max(1, round(sample * len(index)))) if len(index) else np.zeros(0, np.int64)


def _spread(count: int, chosen: int) -> NDArray[np.int64]:
    """Return `chosen` evenly spread numbers from 0 to `count` - 1.

    All numbers if there are fewer than `chosen`.

    >>> _spread(10, 3).tolist(), _spread(2, 5).tolist()
    ([0, 3, 6], [0, 1])
    """
    chosen = min(chosen, count)
    return np.arange(chosen, dtype=np.int64) * count // max(chosen, 1)


def _audited(index: MetadataIndex, names: Sequence[str] | None, skipped: dict[str, str]) -> list[LeafColumn]:
    """Return the columns whose metadata plans rely on.

    The reasons to leave out other columns are added to `skipped`.
    """
    in_directories = {column.name for column in index.groups.partitions}
    wanted = (
        index.groups.columns
        if names is None
        else [find_column(name, index, "columns") for name in names if name not in in_directories]
    )
    skipped.update({column.name: column.unsupported for column in wanted if column.unsupported})
    return [column for column in wanted if has_reliable_nulls(column) and not column.max_repetition_level]


def _with_statistics(index: MetadataIndex, column: LeafColumn) -> AuditedColumn:
    # Bounds that a plan trusts from the footers alone, without further reads.
    believed = index.footers.bounds(column)
    return AuditedColumn(column, believed, ignored_statistics(index, column, believed))
