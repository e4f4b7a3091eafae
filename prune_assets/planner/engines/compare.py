"""Readers side by side: Spark alone, Spark with what is handed over to it, and what this plan can prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import make_access_plan, whole_groups
from parquet_core.predicate import Unsupported, columns_of, leaves
from parquet_core.trees.replaced import replaced
from prune_assets.planner.engines.spark_profile import spark_profile
from prune_assets.planner.extents import kept_by
from prune_assets.report.skip_report import Engine
from prune_assets.spark_filters import all_of
from prune_assets.sql.as_spark_filters import filters_of
from prune_assets.tables.parquet import answers_of_directories

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.planner.engines.spark_profile import Profile
    from prune_assets.planner.plan import Plan

ALONE, HANDED_OVER, BEST = "Spark 4.3 alone", "Spark 4.3 with the hand-over", "best possible"


def engines_of(plan: Plan) -> tuple[Engine, ...]:
    """Predict what each reader reads; reads the page indexes that Spark would and the plan did not."""
    tree, index, pages = plan.spark_filters, plan.index, plan.depth == "pages"
    listed, unjudged = _left_by_directories(plan)
    alone = spark_profile(tree, index, plan.columns, files=listed, pages=pages)
    handed = all_of([tree, *map(filters_of, plan.derived_filters)])
    off = {warning.option for warning in plan.warnings}
    with_plan = spark_profile(handed, index, plan.columns, files=listed & plan.spark_scan.files, pages=pages, off=off)
    return (
        _engine(ALONE, alone, plan, unjudged=unjudged),
        _engine(HANDED_OVER, with_plan, plan, unjudged=unjudged),
        best_possible(plan),
    )


def _left_by_directories(plan: Plan) -> tuple[NDArray[np.bool_], bool]:
    """Tell which files Spark lists, and whether only it can tell that of some: it evaluates any function there."""
    index = plan.index
    left, unjudged = np.ones(len(index.files), np.bool_), False
    of_directories = {column.path for column in index.partitions}
    for _, conjunct in plan.lowered.conjuncts:
        asked = replaced(conjunct, plan.tests)
        named = columns_of(asked)
        refused = [leaf.sql.casefold() for leaf in leaves(asked) if isinstance(leaf, Unsupported)]
        listed_by = ["_metadata", *(column.name.casefold() for column in index.partitions)]
        unjudged |= any(name in sql for sql in refused for name in listed_by)
        if named and of_directories.issuperset(named) and not refused:
            left &= answers_of_directories(asked, index).kept
    return left, unjudged


def best_possible(plan: Plan) -> Engine:
    """Return what has to be read by all that the plan can prove."""
    return Engine(BEST, plan.kept.extent(plan.index), estimated=plan.kept.estimated)


def _engine(name: str, profile: Profile, plan: Plan, *, unjudged: bool) -> Engine:
    nothing = whole_groups(np.zeros(0, np.int64), plan.index.row_count)
    access = make_access_plan(profile.ranges, nothing, plan.index.row_count)
    kept = kept_by(access, plan.index, plan.columns, plan.sizes)
    extent = kept.extent(plan.index)
    why = f"{' and '.join(profile.unread)} that it looks at were not read: it may read less" if profile.unread else ""
    if unjudged:
        why = why or "files that only Spark can judge by where they lie: it may read less"
    if extent.row_groups is None:
        why += "; a file that was not opened counts as one row"
    return Engine(name, extent, kept.estimated or bool(profile.unread) or unjudged, why)
