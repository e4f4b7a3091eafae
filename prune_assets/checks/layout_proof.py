"""Check the layout of a table in its files.

For a Delta table, the files that its log lists are checked, and findings have the column names of the table.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import WrongUse
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import Finding, LayoutSpec
    from prune_assets.tables.table import Table
    from prune_assets.writing.layout_file import LayoutSource


class Proof(NamedTuple):
    """Findings of a check, and the number of files checked."""

    findings: list[Finding]
    files: int


def check(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    layout: LayoutSource | None = None,
    where: str | None = None,
    rows: bool = True,
    session: SparkSession | None = None,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Check in the written files whether a table has its layout.

    Without a layout, check the table's health. In this example the rows are sorted, and the bloom filter is missing:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", write_page_index=True)
    >>> findings = pr.check(table, layout=pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01}))
    >>> [(finding.code, finding.location) for finding in findings if finding.severity == "error"]
    [('bloom_filter.absent', 'part-0.parquet, row group 0, column id')]

    Without a layout: small files, missing or untrusted statistics, INT96 and nanoseconds, page indexes, bloom filters,
    the clustering that the metadata suggest and, for a Delta table, the health of its log:

    >>> pq.write_table(pa.table({"id": range(9)}), f"{table}/part-0.parquet", write_statistics=False)
    >>> [(finding.code, finding.message) for finding in pr.check(table) if finding.severity == "error"]
    [('statistics.missing', '1 of 1 row groups have no bounds, so no predicate on it skips them')]

    Passed checks are reported too, with severity `info`. Only the files of the latest version of a Delta
    table are checked. Files are compared within a partition, and a partition column of the sort key is always in order.

    `layout`: a LayoutSpec, its keys, or the path of a `layout.yaml`, as in `load_layout`; None to check health.
    `where`: check only files that may have matching rows, by their partition values or by the statistics of a Delta
    log: for example the files of one day in a large table.
    `rows`: also read the sort key, and columns without a column index, to prove what bounds alone cannot prove.
    `session`: a Spark session, for a table name of its catalogs; `glue:..` and `unity:..` need no session.
    `allow`: addresses below which the log of a Delta table may refer to files, in addition to the table's own.

    Raises LayoutError for a column that the table lacks, WrongUse for a `where` that does not fit it or leaves no file,
    TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure.
    """
    proof = prove(table, layout=layout, where=where, rows=rows, session=session, allow=allow)
    if where is not None and not proof.files:
        name = table if isinstance(table, str) else str(table)
        raise WrongUse(f"where={where!r}: no file of {name} can hold matching rows; change the condition")
    return proof.findings


def prove(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    layout: LayoutSource | None = None,
    where: str | None = None,
    rows: bool = True,
    session: SparkSession | None = None,
    allow: Sequence[str] = (),
) -> Proof:
    """Check as `check` does.

    If no file matches `where`, return a proof over 0 files.
    """
    from parquet_core.layout import check_index
    from prune_assets.checks.health.health import check_health
    from prune_assets.checks.remedies import with_catalog_name
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.opening import open_as_written, open_table
    from prune_assets.tables.same_partitions import are_same_partitions
    from prune_assets.writing.layout_file import load_layout, naming_layout_file

    spec = None if layout is None else load_layout(layout)
    if where is None:
        opened = open_as_written(table, session=session, allow=allow)
        index, partition = opened.format.examination().read_partitioned(opened)
    else:
        opened = open_table(table, semantics=SparkSemantics(), session=session, allow=allow)
        selected = _selected(opened, where)
        if not len(selected):
            return Proof([], 0)
        index, partition = opened.format.examination().read_partitioned(opened, selected)
    if spec is None:
        findings = check_health(opened, index, partition)
        return Proof([with_catalog_name(finding, opened) for finding in findings], len(index.groups.files))
    with naming_layout_file(layout):
        findings = check_index(index, layout=spec, rows=rows, partition=partition)
    if spec.partition_by and not are_same_partitions(spec.partition_by, opened.partition_names()):
        # A rewrite keeps the partitions of the table.
        findings = [_with_new_table(finding) for finding in findings]
    findings += _partitions(opened, spec)
    return Proof([with_catalog_name(finding, opened) for finding in findings], len(index.groups.files))


def _partitions(table: Table, layout: LayoutSpec) -> list[Finding]:
    """Compare the partition columns of the table with the layout.

    Nothing is compared if the layout has no `partition_by`.
    """
    from parquet_core.fix import Fix, Step
    from parquet_core.layout.spec import Finding, Severity
    from prune_assets.tables.same_partitions import are_same_partitions

    mine, location = list(table.partition_names()), redacted(table.name)
    if not layout.partition_by or _is_part(table, layout.partition_by):
        return []
    by = f"partitioned by {', '.join(mine)}" if mine else "not partitioned"
    if are_same_partitions(layout.partition_by, mine):
        return [Finding("partitions.columns", Severity.INFO, location, by)]
    message = f"{by}, where the layout has {', '.join(layout.partition_by)}"
    fix = Fix("write the table again: ", Step.WRITE_TABLE, ", or change `partition_by` of the layout")
    return [Finding("partitions.columns", Severity.ERROR, location, message, fix=fix)]


def _is_part(table: Table, partition_by: Sequence[str]) -> bool:
    """Return True if the table was given as a list of files, or as the directory of a partition."""
    if not isinstance(table.given, str | os.PathLike):
        return True
    named = {part.partition("=")[0].casefold() for part in os.fspath(table.given).split("/") if "=" in part}
    return any(name.casefold() in named for name in partition_by)


def _with_new_table(finding: Finding) -> Finding:
    """Return a finding whose remedy writes a new table instead of rewriting the files."""
    from parquet_core.fix import OPTIMIZES, Step

    if finding.fix is None or finding.fix.step not in OPTIMIZES:
        return finding
    return finding.with_fix(replace(finding.fix, step=Step.WRITE_TABLE))


def prefix_of_names(prefix: str) -> str:
    """Return the prefix of check names, with an underscore at its end.

    >>> prefix_of_names("by_day"), prefix_of_names("by_day_"), prefix_of_names("")
    ('by_day_', 'by_day_', '')
    """
    return f"{prefix}_" if prefix and not prefix.endswith("_") else prefix


def _selected(table: Table, where: str) -> NDArray[np.int64]:
    """Return the numbers of the files that match a condition.

    Only partition values and log statistics are evaluated.
    """
    import numpy as np

    from parquet_core.pruning.predicate import Constant, Unsupported, columns_of, leaves
    from prune_assets.spark.lower_predicate import lower_predicate

    lowered = lower_predicate(where, table, session=None)
    for leaf in leaves(lowered.predicate):
        if isinstance(leaf, Unsupported) and leaf.no_value:
            remedy = leaf.remedy or "give a value"
            raise WrongUse(f"where={where!r}: {leaf.sql} selects no files, because {leaf.reason}; {remedy}")
    answers = table.answers(lowered.predicate)
    is_constant = isinstance(lowered.predicate, Constant)
    partitions = [column.path for column in table.partitions]
    if (
        answers.files_with_statistics is None
        and not is_constant
        and not set(partitions) & set(columns_of(lowered.predicate))
    ):
        paths = ", ".join(path[0] for path in partitions)
        choice = (
            f"; name one of them: {paths}"
            if paths
            else f", which {table.name} lacks; check the whole table, without where (--where)"
        )
        raise WrongUse(f"where={where!r}: a condition selects files of a plain table by its partition columns{choice}")
    return np.flatnonzero(answers.kept)
