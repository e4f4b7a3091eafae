"""Spark 4.3: what it pushes down and is handed, what it reads then, where it reads wrongly, how it opens survivors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.engines.spark.as_spark_filters import filters_of
from prune_assets.engines.spark.derived_filters import derived_filters
from prune_assets.engines.spark.predicted_scan import listed_files, predicted_scan
from prune_assets.engines.spark.reader_bugs import reader_bugs
from prune_assets.engines.spark.spark_filters import all_of
from prune_assets.engines.spark.version import reader_name
from prune_assets.planner.unknown_zone import depends_on_zone
from prune_assets.report.wording import DEPENDS_ON_ZONE

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate
    from prune_assets.engines.profile import PredictedScan
    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import ReaderWarning

# How the names of its readings end, behind that of the version: `Spark 4.3 alone`.
ALONE, WITH_PLAN = " alone", " with this plan"
# Reads Delta tables by itself with the package delta-spark alone.
DELTA_ALONE = "Spark and delta-spark alone"


class Spark:
    """Spark 4.3 with its own reader of Parquet, as `EngineProfile` has it."""

    def scans(self, plan: Plan) -> dict[str, PredictedScan]:
        """Predict what Spark reads alone, and with the files, derived filters and switches that a plan hands over."""
        plan.table.count_rows(plan.index)
        listed, why = listed_files(plan)
        handed = all_of([plan.spark_filters, *map(filters_of, plan.derived_filters)])
        off = {warning.option for warning in plan.warnings}
        alone = predicted_scan(plan, plan.spark_filters, files=listed)
        with_plan = predicted_scan(plan, handed, files=listed & plan.spark_scan.files, off=off)
        if depends_on_zone(plan):
            why = f"{DEPENDS_ON_ZONE}: the figures are upper limits"
            alone, with_plan = alone._replace(why=why), with_plan._replace(why=why)
        reader = reader_name(plan.semantics.spark_version)
        names = f"{reader}{ALONE}" if plan.table.is_plain else DELTA_ALONE, f"{reader}{WITH_PLAN}"
        return {key: scan._replace(why=scan.why or why) for key, scan in zip(names, (alone, with_plan), strict=True)}

    def derived_filters(self, plan: Plan) -> tuple[Predicate, ...]:
        """Return plain conditions to AND to the user's filter, for the reader to skip by."""
        return derived_filters(plan)

    def reader_bugs(self, plan: Plan) -> tuple[ReaderWarning, ...]:
        """Return what Spark's reader would skip wrongly, by the option that prevents it."""
        reader = reader_name(plan.semantics.spark_version)
        return tuple(replace(warning, reader=reader) for warning in reader_bugs(plan))


SPARK = Spark()
