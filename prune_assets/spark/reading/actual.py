"""What Spark read of a table, put beside what its plan foretold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.planner.engines.spark import HANDED_OVER
from prune_assets.report.skip_report import Engine, Extent
from prune_assets.spark.reading.metrics import bytes_read, scan_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import SkipReport

READ = "Spark, as it ran"
# A larger share of rows than this more or fewer is worth a word.
TOLERANCE = 0.05


def report_after(plan: Plan, df: DataFrame) -> SkipReport:
    """Return the report of a plan with what Spark really read for `df`, which was read by that plan and collected.

    With `spark` a SparkSession:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> plan = pr.plan(table, where="id < 150", session=spark)
    >>> df = pr.read(spark, table, where="id < 150", plan=plan)
    >>> len(df.collect())
    150
    >>> actual = pr.report_after(plan, df).engines[-1]
    >>> actual.name, actual.kept.files, actual.kept.rows
    ('Spark, as it ran', 1, 200)

    The rows are those that came out of the scans; the bytes are all that tasks read, of footers and page indexes too,
    and on Spark Connect, which does not tell them, those of the whole files. Where rows or files differ by more than 5%
    from what was foretold, or are more by so much where that is an upper limit, it says so: the data changed, an action
    stopped early, or the prediction is wrong. `df` may be followed by more operations, such as an aggregate, as long
    as this table alone is scanned in it.

    Raises WrongUse where nothing was collected on this object: `count()` and `write` run another plan.
    """
    scans = [scan for scan in scan_metrics(df) if scan.files is not None]
    rows, files = (sum(values) for values in ([scan.rows for scan in scans], [scan.files or 0 for scan in scans]))
    read = bytes_read(df)
    size = sum(scan.bytes or 0 for scan in scans) if read is None else read
    why = "the bytes are those of whole files: Spark Connect does not tell more" if read is None else ""
    report = plan.report
    foretold = next(engine for engine in report.engines if engine.name == HANDED_OVER)
    said = [
        _difference("rows", rows, foretold.kept.rows, at_most=foretold.estimated),
        _difference("files", files, foretold.kept.files, at_most=foretold.estimated),
        why,
    ]
    actual = Engine(READ, Extent(files, None, None, rows, size), why="; ".join(filter(None, said)))
    return replace(report, engines=(*(engine for engine in report.engines if engine.name != READ), actual))


def _difference(unit: str, found: int, foretold: int, *, at_most: bool) -> str:
    """Put a difference into words; of a prediction that is an upper limit, only what is more."""
    if abs(found - foretold) <= TOLERANCE * foretold or (at_most and found < foretold):
        return ""
    share = f"{(found - foretold) / foretold:+.0%}" if foretold else "none foretold"
    return f"{found:,} {unit} where {foretold:,} were foretold ({share})"
