"""Apply layout advice, and compare the result with the promised bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text
from prune_assets.advisor.reads import workload_reads
from prune_assets.report.quantities import share_text
from prune_assets.spark.spark_session import given_or_active
from prune_assets.writing.optimize import optimize

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.advisor.result import LayoutAdvice, RankedLayout
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.writing.result import OptimizeResult


@dataclass(frozen=True, slots=True)
class AppliedAdvice:
    """Bytes that one run of the workload reads: before, promised, and planned now.

    `optimized`: result of the rewrite.

    >>> print(AppliedAdvice("lake/orders", optimized=None, before=1000, promised=100, now=120))
    lake/orders: one run of the workload read 1.0 KiB; promised 100 B (90.0 % less), now 120 B (88.0 % less)
    """

    table: str
    optimized: OptimizeResult
    before: int
    promised: int
    now: int

    def __str__(self) -> str:
        saved = [share_text(max(self.before - size, 0), self.before) for size in (self.promised, self.now)]
        return (
            f"{printable(redacted(self.table))}: one run of the workload read {bytes_text(self.before)}; promised "
            f"{bytes_text(self.promised)} ({saved[0]} less), now {bytes_text(self.now)} ({saved[1]} less)"
        )


def apply(
    advice: LayoutAdvice, workload: Workload | Sequence[str], *, session: SparkSession | None, budget: int | None
) -> AppliedAdvice:
    """Carry out `LayoutAdvice.apply`, which documents the arguments and errors."""
    if advice.advised is None:
        raise WrongUse(f"{redacted(advice.table)}: nothing to apply; {advice.verdict}")
    if advice.advised.refused:
        remedy = "advise with in_place=True for the best layout that optimize can make"
        raise WrongUse(f"{advice.advised.refused}; {remedy}")
    spark, table, layout = given_or_active(session), advice.named, advice.advised.layout
    if why := "" if budget is None else beyond_budget(spark, table, advice.advised, budget):
        raise WrongUse(f"{redacted(advice.table)}: {why}")
    done = optimize(table, layout=layout, session=spark, rows=True, budget=budget, full=is_full(layout, budget))
    now = workload_reads(table, workload, advice.semantics).today
    return AppliedAdvice(advice.table, done, advice.today, advice.advised.bytes, now)


def is_full(layout: LayoutSpec, budget: int | None) -> bool:
    """Return True if a layout must be applied to all files in one run.

    `budget`: bytes that one run may rewrite. A later run can continue only with a sort key, because no other order
    shows which files lack the layout.
    """
    return budget is None or not layout.sort_by


def beyond_budget(spark: SparkSession, table: str | os.PathLike[str], best: RankedLayout, budget: int) -> str:
    """Return why a layout does not fit the budget, with the next step; "" if it fits."""
    full = is_full(best.layout, budget)

    def forecast(budget: int | None) -> OptimizeResult:
        return optimize(table, layout=best.layout, session=spark, dry_run=True, budget=budget, full=full)

    needed = forecast(None).picked_bytes
    if needed <= budget or (not full and forecast(budget).picked):
        return ""
    # A later run cannot detect which files lack a curve.
    why = "it is made in one rewrite of all files" if full else "files that overlap are rewritten together"
    enough = f"{-(-needed // (1 << 20))}MiB"
    return f"{best.title}: {why}, {bytes_text(needed)}, and the budget is {bytes_text(budget)}; give {enough} or more"
