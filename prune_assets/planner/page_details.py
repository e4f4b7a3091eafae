"""The pages of the predicate's columns in the row groups of which only some rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import Verdict
from parquet_core.row_ranges import overlaps
from prune_assets.report.skip_report import ColumnPages, Page
from prune_assets.report.value_text import value_text

if TYPE_CHECKING:
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.predicate import Path
    from prune_assets.planner.plan import Plan

MAX_ROW_GROUPS = 8
MAX_PAGES = 1_500


def page_details(plan: Plan) -> tuple[ColumnPages, ...]:
    """Return the pages of the costliest row groups that are read in part, at most `MAX_PAGES` in all."""
    answers = plan.evaluation.pages.of_pages
    if answers is None:
        return ()
    selected = np.flatnonzero(plan.evaluation.access.verdict == Verdict.SELECTION)
    costliest = selected[np.argsort(-plan.kept.bytes[selected], kind="stable")][:MAX_ROW_GROUPS]
    found, left = [], MAX_PAGES
    for position in costliest.tolist():
        for path, batch in answers.pages.items():
            place = int(np.searchsorted(answers.positions, position))
            count = int(batch.first[place + 1] - batch.first[place])
            if count <= left:
                left -= count
                found.append(_column(plan, path, batch, place, position))
    return tuple(found)


def _column(plan: Plan, path: Path, batch: PageBatch, place: int, position: int) -> ColumnPages:
    rows, reason = int(plan.index.row_count[position]), str(batch.reason[place])
    elements = np.arange(batch.first[place], batch.first[place + 1])
    start = batch.first_row[elements]
    stop = np.append(start[1:], rows)
    kept = overlaps(plan.evaluation.access.ranges.of(position), start, stop)
    bounds = batch.bounds.take(elements)
    pages = tuple(
        Page(
            first_row=int(start[i]),
            row_count=int(stop[i] - start[i]),
            lower=value_text(bounds.lower[i]) if bounds.lower[i].is_valid else None,
            upper=value_text(bounds.upper[i]) if bounds.upper[i].is_valid else None,
            null_count=bounds.null_count[i].as_py(),
            kept=bool(kept[i]),
        )
        for i in range(len(elements))
    )
    file = plan.index.files[int(plan.index.file[position])].path
    return ColumnPages(file, int(plan.index.ordinal[position]), rows, ".".join(path), reason, pages)
