"""What is kept because the session's time zone is not known, and what a plan that knows it would skip."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.predicate import Unsupported, leaves
from prune_assets.planner.attribution import kept_alone
from prune_assets.planner.extents import extent_of
from prune_assets.report.quantities import share_text
from prune_assets.sql.lower import lower
from prune_assets.sql.types.timestamps import ZONE_NEEDED

if TYPE_CHECKING:
    from parquet_core.predicate import Leaf
    from prune_assets.planner.plan import Plan


def is_for_want_of_zone(leaf: Leaf) -> bool:
    """Tell whether a leaf keeps data because the session's time zone is not known."""
    return isinstance(leaf, Unsupported) and leaf.reason.startswith(ZONE_NEEDED[0])


def depends_on_zone(plan: Plan) -> bool:
    """Tell whether a zone would make another plan."""
    return any(map(is_for_want_of_zone, leaves(plan.lowered.predicate)))


def zone_remedy(plan: Plan) -> str:
    """Say how to name the zone, and what would be skipped in UTC where that is more."""
    if plan.semantics.time_zone is not None:
        name = plan.semantics.time_zone
        return f"spark.sql.session.timeZone={name} is not known here: set a zone such as America/Los_Angeles or -08:00"
    semantics = replace(plan.semantics, time_zone="UTC")
    in_utc = lower(plan.lowered.sql, plan.table.columns, semantics=semantics, now=plan.lowered.now).predicate
    kept, complete = kept_alone(plan, in_utc)
    if kept.bytes >= plan.kept.extent(plan.index).bytes:
        return ZONE_NEEDED[1]
    total = extent_of(plan.index, plan.sizes, np.ones(len(plan.index), np.bool_)).bytes
    least = "" if complete else "at least "
    return f"{ZONE_NEEDED[1]} (would skip {least}{share_text(total - kept.bytes, total)} in UTC)"
