"""What is asked of an engine: what it reads by itself, what it keeps from its reader, and where that reads wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from parquet_core.access_plan import RangeList
    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import ReaderWarning


class PredictedScan(NamedTuple):
    """The rows that a reader would read; `why`: what was not looked at that may let it read less, empty for nothing."""

    ranges: RangeList
    why: str = ""


class EngineProfile(Protocol):
    """An engine that reads the files of a plan."""

    def scans(self, plan: Plan) -> dict[str, PredictedScan]:
        """Predict what it reads, by the name under which a report shows it: left alone, and with what it is handed.

        Reads the page indexes that it would look at and the plan did not.
        """

    def pushes_down(self, plan: Plan) -> list[bool]:
        """Tell of each conjunct of the predicate whether its reader of Parquet is asked all of it."""

    def reader_bugs(self, plan: Plan) -> tuple[ReaderWarning, ...]:
        """Return what its reader would skip wrongly in the row groups that survive, by the option that prevents it."""
