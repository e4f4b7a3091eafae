"""Readers side by side: each engine alone, with what is handed over to it, and what this plan can prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import make_access_plan, whole_groups
from prune_assets.planner.extents import kept_by
from prune_assets.report.skip_report import Engine

if TYPE_CHECKING:
    from prune_assets.planner.engines.profile import EngineProfile, PredictedScan
    from prune_assets.planner.plan import Plan

BEST = "best possible"


def compared(plan: Plan, engine: EngineProfile) -> tuple[Engine, ...]:
    """Predict what an engine reads, and what has to be read at least."""
    return (*(_read(plan, name, scan) for name, scan in engine.scans(plan).items()), best_possible(plan))


def best_possible(plan: Plan) -> Engine:
    """Return what has to be read by all that the plan can prove."""
    return Engine(BEST, plan.kept.extent(plan.index), estimated=plan.kept.estimated)


def _read(plan: Plan, name: str, scan: PredictedScan) -> Engine:
    nothing = whole_groups(np.zeros(0, np.int64), plan.index.row_count)
    access = make_access_plan(scan.ranges, nothing, plan.index.row_count)
    kept = kept_by(access, plan.index, plan.columns, plan.sizes)
    extent, why = kept.extent(plan.index), scan.why
    if extent.row_groups is None:
        why += "; a file that was not opened counts as one row"
    return Engine(name, extent, kept.estimated or bool(scan.why), why)
