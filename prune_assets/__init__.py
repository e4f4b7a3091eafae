"""Make Spark skip the data a query does not need, and prove it.

Public names are imported on first use, so that importing this package is fast and does not import Spark, Dagster,
sqlglot, pyarrow or numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.fix import WORDS as _WORDS
from parquet_core.public_names import on_first_use
from prune_assets.step_words import SHELL as _SHELL

__version__ = "0.2.0"

# Errors and findings of the lower packages name commands of this package.
_WORDS.update(_SHELL)

if TYPE_CHECKING:
    from parquet_core.errors import PruneError as PruneError
    from parquet_core.layout.spec import Finding as Finding
    from parquet_core.layout.spec import LayoutSpec as LayoutSpec
    from parquet_core.layout.spec import Severity as Severity
    from prune_assets.advisor.advise import advise as advise
    from prune_assets.advisor.result import LayoutAdvice as LayoutAdvice
    from prune_assets.advisor.workload.query_shapes import Workload as Workload
    from prune_assets.checks.audit.run import audit as audit
    from prune_assets.checks.layout_proof import check as check
    from prune_assets.merging.plan_merge import plan_merge as plan_merge
    from prune_assets.merging.run_merge import merge as merge
    from prune_assets.planner.explain.plan import Plan as Plan
    from prune_assets.planner.explain.plan import plan as plan
    from prune_assets.reading.aggregates import count as count
    from prune_assets.reading.aggregates import min_max as min_max
    from prune_assets.reading.read_arrow import read_arrow as read_arrow
    from prune_assets.reading.read_arrow import read_batches as read_batches
    from prune_assets.reading.read_stats import ReadStats as ReadStats
    from prune_assets.reading.reader import read as read
    from prune_assets.report.skip_report import SkipReport as SkipReport
    from prune_assets.sql.semantics import SparkSemantics as SparkSemantics
    from prune_assets.writing.layout_file import load_layout as load_layout
    from prune_assets.writing.optimize import optimize as optimize
    from prune_assets.writing.write import write as write
else:

    def _failure(error: Exception) -> Exception:
        from prune_assets.spark.java_message import failure_of

        return failure_of(error)

    def _makers() -> dict[str, str]:
        from prune_assets.extras import after_install

        return {
            "DataFrame": after_install("pyspark", "spark.createDataFrame(..) or spark.read"),
            "LayoutAdvice": "pr.advise(table, workload=..)",
            "Plan": "pr.plan(table, where=..)",
            "ReadStats": "stats = pr.ReadStats()",
            "SparkSemantics": "pr.SparkSemantics(time_zone=..) without Spark",
            "SparkSession": after_install("pyspark", "SparkSession.builder.getOrCreate()"),
            "Workload": "pr.Workload.read(event_logs)",
        }

    __all__, __getattr__, __dir__ = on_first_use(__name__, makers=_makers, failure=_failure)
