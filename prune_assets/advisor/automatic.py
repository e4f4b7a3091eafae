"""Apply layout advice automatically if the advice is certain, within a budget, at most once a month."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_core.errors import PruneError
from parquet_core.printable import redacted
from parquet_core.quantities import bytes_text
from prune_assets.advisor.advise import advise
from prune_assets.advisor.apply import beyond_budget
from prune_assets.advisor.layout_changes import LayoutChange, last_change, location_of, note_change

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.advisor.apply import AppliedAdvice
    from prune_assets.advisor.result import LayoutAdvice, RankedLayout
    from prune_assets.advisor.workload.query_shapes import Workload

AGAIN_AFTER = dt.timedelta(days=30)
# The advised layout must read less than this share of today's bytes, even at the upper limit of the sampling error. The
# advice check has the same default.
_MOST_OF_TODAY = 0.5
# Maximum number of workload runs after which a rewrite pays. A workload covers about a month, so people decide on a
# rewrite that takes more than a year to pay.
_MOST_RUNS = 12


class Followed(NamedTuple):
    """Result of following advice.

    `applied`: the new layout; None if the layout stays.
    `why`: why the layout stays, or what was done.
    """

    applied: AppliedAdvice | None
    why: str


def follow_advice(
    spark: SparkSession,
    table: str | os.PathLike[str],
    *,
    workload: Workload | Sequence[str],
    declared: LayoutSpec,
    budget: int,
) -> Followed:
    """Advise a layout, and change the table to it if that is safe.

    The change is recorded before the rewrite. After an interrupted rewrite, optimize continues with the recorded
    layout, and later runs do not change the layout again.
    `budget`: maximum bytes of files to rewrite; later runs rewrite the rest.
    """
    location, now = location_of(table, spark), dt.datetime.now(dt.UTC)
    count, last = last_change(location)
    if last is not None and now < last.at + AGAIN_AFTER:
        again = f"the next change is possible from {last.at + AGAIN_AFTER:%Y-%m-%d} on"
        return Followed(None, f"the layout was changed on {last.at:%Y-%m-%d} ({last.title}); {again}")
    advice = advise(table, workload=workload, session=spark, in_place=True)
    why = why_not(advice) or _why_not_now(spark, table, advice, budget)
    if why or advice.advised is None:
        return Followed(None, why)
    change = _change(now, advice, advice.advised, declared)
    if not note_change(location, count, change):
        return Followed(None, f"{redacted(location)}: another run changes the layout")
    applied = advice.apply(workload=workload, session=spark, budget=budget)
    return Followed(applied, str(applied))


def why_not(advice: LayoutAdvice) -> str:
    """Return why advice is not followed automatically; "" if the advice is certain and saves much."""
    best = advice.advised
    if best is None:
        return advice.verdict
    if best.high > _MOST_OF_TODAY * advice.today:
        size = f"up to {bytes_text(best.high)} of {bytes_text(advice.today)}"
        return f"{best.title}: queries may still read {size}, more than {_MOST_OF_TODAY:.0%}; change it by hand"
    if advice.dearer:
        return f"{best.title}: more than twice as expensive: {'; '.join(map(str, advice.dearer))}; change it by hand"
    if advice.runs_to_pay is None or advice.runs_to_pay > _MOST_RUNS:
        return f"{best.title}: the rewrite pays after {advice.runs_to_pay} runs of the workload, more than {_MOST_RUNS}"
    if sum(advice.skipped.values()) > len(advice.queries):
        return f"{best.title}: most predicates of the workload no longer apply to the table; advise from later queries"
    return ""


def _why_not_now(spark: SparkSession, table: str | os.PathLike[str], advice: LayoutAdvice, budget: int) -> str:
    """Return why `optimize` cannot give the table the advised layout now; "" if it can."""
    if advice.advised is None:
        return advice.verdict
    try:
        return beyond_budget(spark, table, advice.advised, budget)
    except PruneError as error:
        return str(error)


def _change(now: dt.datetime, advice: LayoutAdvice, best: RankedLayout, declared: LayoutSpec) -> LayoutChange:
    return LayoutChange(
        at=now,
        title=best.title,
        layout=_keys(best.layout),
        declared=_keys(declared),
        before=advice.today,
        promised=best.bytes,
    )


def _keys(layout: LayoutSpec) -> dict[str, Any]:
    return {key: value for key, value in asdict(layout).items() if value is not None}
