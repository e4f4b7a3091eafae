"""Compare the figures of a read with the prediction of its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from parquet_core.errors import WrongUse
from prune_assets.report.skip_report import Caveat, Engine, Extent, Reading
from prune_assets.report.wording import engine_of
from prune_assets.spark.scan_metrics import VECTORED, bytes_read, counts_bytes, scan_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.report.skip_report import SkipReport

READ, READ_BY_ARROW = "Spark, as it ran", "Arrow, as it ran"
# A note names a difference in rows or files that is above this share of the prediction.
TOLERANCE = 0.05


@runtime_checkable
class ArrowReads(Protocol):
    """Figures of reads without Spark."""

    @property
    def files_kept(self) -> int:
        """Number of files that the plan did not skip."""

    @property
    def rows_read(self) -> int:
        """Number of decoded rows, whether or not they match the predicate."""

    @property
    def bytes_read(self) -> int:
        """Fetched bytes of pages."""

    def are_of(self, plan: PlannedRead) -> bool:
        """Return True if at least one read is recorded, and `plan` predicts every recorded read."""


def report_after(report: SkipReport, plan: PlannedRead, result: DataFrame | ArrowReads) -> SkipReport:
    """Return `report`, the prediction of `plan`, with the figures of a read.

    `Plan.report_after` documents the figures and errors.
    """
    actual = _engine_of_arrow(plan, result) if isinstance(result, ArrowReads) else _engine_of_spark(report, result)
    others = (engine for engine in report.engines if engine.reading is not Reading.AS_IT_RAN)
    return replace(report, engines=(*others, actual))


def _engine_of_arrow(plan: PlannedRead, reads: ArrowReads) -> Engine:
    if not reads.are_of(plan):
        raise WrongUse(
            "report_after: the statistics are not of reads of this table, version and predicate alone; pass stats= to "
            "one read with the plan's arguments"
        )
    extent = Extent(reads.files_kept, None, None, reads.rows_read, reads.bytes_read)
    return Engine(READ_BY_ARROW, extent, reading=Reading.AS_IT_RAN)


def _engine_of_spark(report: SkipReport, df: DataFrame) -> Engine:
    scans = [scan for scan in scan_metrics(df) if scan.files is not None]
    rows, files = (sum(values) for values in ([scan.rows for scan in scans], [scan.files or 0 for scan in scans]))
    foretold = engine_of(Reading.WITH_PLAN, report)
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
    return Engine(READ, Extent(files, None, None, rows, size), not is_counted, reasons, Reading.AS_IT_RAN, caveat)


def _uncounted(df: DataFrame) -> str:
    if not hasattr(df, "_jdf"):
        return "Spark Connect does not report bytes read"
    if counts_bytes(df.sparkSession):
        return "Spark no longer has the number of bytes read"
    return f"Spark does not count bytes of vectored reads; it counts all bytes with {VECTORED}=false"


def _difference(unit: str, actual: int, predicted: int | None, *, at_most: bool) -> str:
    """Describe by how much a figure differs from its prediction.

    Returns "" if the difference is within the tolerance, or if the prediction is an upper limit (`at_most`) and the
    figure is below it.
    """
    if predicted is None or abs(actual - predicted) <= TOLERANCE * predicted or (at_most and actual < predicted):
        return ""
    share = f"{(actual - predicted) / predicted:+.0%}" if predicted else "none predicted"
    return f"{actual:,} {unit} where {predicted:,} were predicted ({share})"
