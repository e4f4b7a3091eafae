"""What other predicates would read of the planned table: conjuncts alone, and rewrites of what cannot be answered.

Up to `MAX_ROW_GROUPS` every level is asked, which may read filters, dictionaries and page indexes that the plan had
no need of. In a larger table only partition values and statistics are: the footers that hold them are read already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.access_plan import Verdict
from parquet_core.trees.replaced import replaced
from prune_assets.planner.evaluation import evaluate, row_groups_left_for_free
from prune_assets.planner.extents import extent_of, kept_by
from prune_assets.report.skip_report import Conjunct, Rewrite
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate
    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import Extent

MAX_ROW_GROUPS = 1_000
MAX_CONJUNCTS = 200
# Files of a log times conjuncts.
MAX_LOGGED_FILES = 1_000_000


def conjuncts_alone(plan: Plan, total: Extent) -> tuple[Conjunct, ...]:
    """Ask each conjunct alone, of many the first 200; the predicate itself when there is only one."""
    if len(plan.lowered.conjuncts) == 1:
        sql, _ = plan.lowered.conjuncts[0]
        return (Conjunct(sql, total.bytes - plan.kept.extent(plan.index).bytes),)
    found = []
    most = MAX_CONJUNCTS
    if plan.evaluation.question.files.told is not None:
        # Each has the log asked anew.
        most = min(most, max(1, MAX_LOGGED_FILES // max(1, len(plan.index.files))))
    for sql, predicate in plan.lowered.conjuncts[:most]:
        kept, complete = _kept(plan, predicate)
        found.append(Conjunct(sql, total.bytes - kept.bytes, complete))
    return tuple(found)


def rewrites(plan: Plan) -> tuple[Rewrite, ...]:
    """Plan again with each rewrite in place of its part and, where there are several, with all of them."""
    known = plan.lowered.rewrites
    found = [
        Rewrite(part.sql, part.rewrite, part.exact, *_kept(plan, replaced(plan.lowered.predicate, {part: instead})))
        for part, instead in known
    ]
    if len(known) > 1:
        together = replaced(plan.lowered.predicate, dict(known))
        exact = all(part.exact for part, _ in known)
        found.append(Rewrite(plan.lowered.sql, render(together), exact, *_kept(plan, together)))
    return tuple(found)


def _kept(plan: Plan, predicate: Predicate) -> tuple[Extent, bool]:
    """Return what a predicate would keep, and whether every level was asked."""
    index, predicate = plan.index, replaced(predicate, plan.tests)
    if len(index) <= MAX_ROW_GROUPS:
        access = evaluate(predicate, index, pages=plan.depth == "pages", files=plan.table.answers(predicate)).access
        # Of files that were not opened there is more to ask.
        complete = index.opened is None or bool(index.opened[index.file[access.verdict != Verdict.SKIP]].all())
        return kept_by(access, index, plan.columns, plan.sizes).extent(index), complete
    alive = row_groups_left_for_free(predicate, index, plan.table.answers(predicate))
    return extent_of(index, plan.sizes, alive & (index.row_count > 0)), False
