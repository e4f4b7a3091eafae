"""Remedies for conditions that do not prune: another wording, or the session's time zone."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.predicate import Cause
from prune_assets.planner.explain.attribution import kept_alone
from prune_assets.planner.extents import extent_of
from prune_assets.report.quantities import share_text
from prune_assets.sql.lower import lower
from prune_assets.sql.refusal import GIVE_ZONE

if TYPE_CHECKING:
    from parquet_core.pruning.predicate import Unsupported
    from prune_assets.planner.planned_read import PlannedRead


class Remedies:
    """Remedies for the unsupported conditions of one plan. The effect of a time zone is computed once."""

    def __init__(self, plan: PlannedRead) -> None:
        self._plan = plan

    def of(self, part: Unsupported) -> str:
        """Return the remedy for a condition; "" if unknown."""
        return self._zone if part.cause is Cause.TIME_ZONE and part.remedy else remedy_of(part)

    @cached_property
    def _zone(self) -> str:
        """Return the advice to set the session's time zone, with the share that UTC would skip if that is more."""
        plan = self._plan
        if plan.semantics.time_zone is not None:
            name = plan.semantics.time_zone
            return (
                f"spark.sql.session.timeZone={name} is unknown here; set a zone such as America/Los_Angeles or -08:00"
            )
        semantics = replace(plan.semantics, time_zone="UTC")
        in_utc = lower(plan.lowered.sql, plan.table.columns, semantics=semantics, now=plan.lowered.now).predicate
        extent, complete = kept_alone(plan, in_utc)
        if extent.bytes >= plan.kept.extent(plan.index).bytes:
            return GIVE_ZONE
        total = extent_of(plan.index, plan.sizes, np.ones(len(plan.index), np.bool_)).bytes
        least = "" if complete else "at least "
        return f"{GIVE_ZONE} (would skip {least}{share_text(total - extent.bytes, total)} in UTC)"


def remedy_of(part: Unsupported) -> str:
    """Return the replacement for a condition that does not prune; "" if unknown."""
    if not part.rewrite:
        return str(part.remedy)
    return f"write {part.rewrite}" if part.exact else f"write {part.rewrite}, if this is the intended condition"
