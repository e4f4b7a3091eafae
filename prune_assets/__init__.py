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
    from prune_assets.checks.audit.report import AuditReport
    from prune_assets.checks.audit.run import audit
    from prune_assets.checks.layout_proof import check
    from prune_assets.explain.plan import Plan, plan
    from prune_assets.layout_file import load_layout
    from prune_assets.maintenance.optimize import optimize
    from prune_assets.maintenance.result import OptimizeResult
    from prune_assets.reading.actual import report_after
    from prune_assets.reading.reader import read
    from prune_assets.reading.source import register_source
    from prune_assets.report.skip_report import SkipReport
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.writing.writer import write

__version__ = "0.1.0"

_HOMES = {
    "AuditReport": "prune_assets.checks.audit.report",
    "Finding": "parquet_core.layout.spec",
    "LayoutSpec": "parquet_core.layout.spec",
    "OptimizeResult": "prune_assets.maintenance.result",
    "Plan": "prune_assets.explain.plan",
    "PruneError": "parquet_core.errors",
    "Severity": "parquet_core.layout.spec",
    "SkipReport": "prune_assets.report.skip_report",
    "SparkSemantics": "prune_assets.sql.semantics",
    "audit": "prune_assets.checks.audit.run",
    "check": "prune_assets.checks.layout_proof",
    "load_layout": "prune_assets.layout_file",
    "optimize": "prune_assets.maintenance.optimize",
    "plan": "prune_assets.explain.plan",
    "read": "prune_assets.reading.reader",
    "report_after": "prune_assets.reading.actual",
    "register_source": "prune_assets.reading.source",
    "write": "prune_assets.writing.writer",
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
