"""Compare what Spark read of a table with the prediction of its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.reading.metrics import VECTORED, bytes_read, counts_bytes, scan_metrics
from prune_assets.report.skip_report import Caveat, Engine, Extent, Reading
from prune_assets.report.wording import engine_that

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from prune_assets.planner.explain.plan import Plan
    from prune_assets.report.skip_report import SkipReport

READ = "Spark, as it ran"
# Relative difference in rows or files above which a note names it.
TOLERANCE = 0.05


def report_after(plan: Plan, df: DataFrame) -> SkipReport:
    """Return the plan's report with what Spark read for `df`.

    `df` must be read with that plan and collected.
    `spark` is a SparkSession here:

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

    The rows are the output rows of the scans. The bytes are all bytes that tasks read, including footers and page
    indexes. Spark does not count bytes in vectored reads (its default) and on Spark Connect. The report then has the
    predicted bytes if rows and files match the prediction, else the bytes of whole files without a share, and says so.
    A note names rows or files that differ from the prediction by more than 5%, or exceed it by more
    than 5% if it is an upper limit: the data changed, an action stopped early, or the prediction is wrong.
    `df` may have further operations, such as an aggregate, if it scans no other table.

    Raises WrongUse if nothing was collected on this object: `count()` and `write` execute another plan.
    """
    scans = [scan for scan in scan_metrics(df) if scan.files is not None]
    rows, files = (sum(values) for values in ([scan.rows for scan in scans], [scan.files or 0 for scan in scans]))
    report = plan.report
    foretold = engine_that(Reading.WITH_PLAN, report)
    assert foretold is not None, "every plan predicts it"
    differences = [
        _difference("rows", rows, foretold.kept.rows, at_most=foretold.estimated),
        _difference("files", files, foretold.kept.files, at_most=foretold.estimated),
    ]
    size, why, caveat = bytes_read(df), "", None
    is_counted = size is not None
    if size is None:
        as_predicted = (rows, files) == (foretold.kept.rows, foretold.kept.files)
        size = foretold.kept.bytes if as_predicted else sum(scan.bytes or 0 for scan in scans)
        caveat = None if as_predicted else Caveat.WHOLE_FILES
        why = f"the bytes are {'predicted' if as_predicted else 'the sizes of whole files'}: {_uncounted(df)}"
    reasons = "; ".join(filter(None, [*differences, why]))
    actual = Engine(READ, Extent(files, None, None, rows, size), not is_counted, reasons, Reading.AS_IT_RAN, caveat)
    return replace(
        report, engines=(*(engine for engine in report.engines if engine.reading is not Reading.AS_IT_RAN), actual)
    )


def _uncounted(df: DataFrame) -> str:
    if not hasattr(df, "_jdf"):
        return "Spark Connect does not report bytes read"
    if counts_bytes(df.sparkSession):
        return "Spark no longer has the number of bytes read"
    return f"Spark does not count bytes of vectored reads; it counts all bytes with {VECTORED}=false"


def _difference(unit: str, actual: int, predicted: int | None, *, at_most: bool) -> str:
    """Describe a difference.

    "" within the tolerance, or if an upper limit was not reached.
    """
    if predicted is None or abs(actual - predicted) <= TOLERANCE * predicted or (at_most and actual < predicted):
        return ""
    share = f"{(actual - predicted) / predicted:+.0%}" if predicted else "none predicted"
    return f"{actual:,} {unit} where {predicted:,} were predicted ({share})"
