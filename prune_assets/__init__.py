"""Make Spark skip the data a query does not need, and prove it.

The public names resolve on first use, so that importing this package costs nothing and brings in
neither Spark nor Dagster, sqlglot, pyarrow or numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_core.errors import PruneError
    from parquet_core.layout.spec import Finding, LayoutSpec, Severity
    from prune_assets.layout_file import load_layout
    from prune_assets.layout_proof import check
    from prune_assets.metadata_audit.report import AuditReport
    from prune_assets.metadata_audit.run import audit
    from prune_assets.planner.plan import Plan, plan
    from prune_assets.report.skip_report import SkipReport
    from prune_assets.semantics import SparkSemantics
    from prune_assets.spark.reading.actual import report_after
    from prune_assets.spark.reading.reader import read
    from prune_assets.spark.reading.source import register_source
    from prune_assets.spark.writing.optimize import optimize
    from prune_assets.spark.writing.writer import write
    from prune_assets.upkeep.result import OptimizeResult

__version__ = "0.1.0"

_HOMES = {
    "AuditReport": "prune_assets.metadata_audit.report",
    "Finding": "parquet_core.layout.spec",
    "LayoutSpec": "parquet_core.layout.spec",
    "OptimizeResult": "prune_assets.upkeep.result",
    "Plan": "prune_assets.planner.plan",
    "PruneError": "parquet_core.errors",
    "Severity": "parquet_core.layout.spec",
    "SkipReport": "prune_assets.report.skip_report",
    "SparkSemantics": "prune_assets.semantics",
    "audit": "prune_assets.metadata_audit.run",
    "check": "prune_assets.layout_proof",
    "load_layout": "prune_assets.layout_file",
    "optimize": "prune_assets.spark.writing.optimize",
    "plan": "prune_assets.planner.plan",
    "read": "prune_assets.spark.reading.reader",
    "report_after": "prune_assets.spark.reading.actual",
    "register_source": "prune_assets.spark.reading.source",
    "write": "prune_assets.spark.writing.writer",
}

__all__ = [
    "AuditReport",
    "Finding",
    "LayoutSpec",
    "OptimizeResult",
    "Plan",
    "PruneError",
    "Severity",
    "SkipReport",
    "SparkSemantics",
    "audit",
    "check",
    "load_layout",
    "optimize",
    "plan",
    "read",
    "register_source",
    "report_after",
    "write",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
