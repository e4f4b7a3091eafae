"""What is asked of an engine, and engines side by side: alone, with what they are handed, and the best possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from parquet_core.access_plan import make_access_plan, whole_groups
from prune_assets.planner.extents import kept_by
from prune_assets.report.skip_report import Engine
from prune_assets.report.wording import reads_clearly_more

if TYPE_CHECKING:
    from parquet_core.access_plan import RangeList
    from parquet_core.predicate import Predicate
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.report.skip_report import ReaderWarning


class PredictedScan(NamedTuple):
    """The rows that a reader would read.

    `why`: what was not looked at that may let it read less, empty for nothing. `limit`: why it may skip less than is
    possible, for a report where it does by far.
    """

    ranges: RangeList
    why: str = ""
    limit: str = ""


class EngineRead(Protocol):
    """How an engine reads what a plan keeps; an engine's profile is what makes one of a plan."""

    @property
    def plan(self) -> PlannedRead:
        """The plan."""

    @property
    def derived_filters(self) -> tuple[Predicate, ...]:
        """Conditions that follow from predicate and metadata, to AND to the user's filter."""

    @property
    def warnings(self) -> tuple[ReaderWarning, ...]:
        """What its reader would skip wrongly in the row groups that survive, by the option that prevents it."""

    def scans(self) -> dict[str, PredictedScan]:
        """Predict what it reads, by the name under which a report shows it: left alone, and with what it is handed.

        Reads the page indexes that it would look at and the plan did not.
        """


BEST = "best possible"


def compared(read: EngineRead) -> tuple[Engine, ...]:
    """Predict what an engine reads, and what has to be read at least."""
    best = best_possible(read.plan)
    return (*(_predicted(read.plan, name, scan, best) for name, scan in read.scans().items()), best)


def best_possible(plan: PlannedRead) -> Engine:
    """Return the least that any engine has to read, by the plan."""
    return Engine(BEST, plan.kept.extent(plan.index), estimated=plan.kept.estimated)


def _predicted(plan: PlannedRead, name: str, scan: PredictedScan, best: Engine) -> Engine:
    nothing = whole_groups(np.zeros(0, np.int64), plan.index.row_count)
    access = make_access_plan(scan.ranges, nothing, plan.index.row_count)
    kept = kept_by(access, plan.index, plan.columns, plan.sizes)
    extent, why = kept.extent(plan.index), [scan.why]
    if not scan.why and reads_clearly_more(extent.bytes, best.kept.bytes, int(plan.sizes.bytes.sum())):
        why.append(scan.limit)
    return Engine(name, extent, kept.estimated or bool(scan.why), "; ".join(filter(None, why)))
