"""What each comparison of a predicate rules out, level by level, and what is read because it could not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.predicate import Unsupported, leaves
from prune_assets.planner.open_leaves import asked_outcomes, open_outcomes
from prune_assets.report.skip_report import Denial, Leaf
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from parquet_core.outcomes import OutcomeArray, Outcomes
    from prune_assets.planner.plan import Plan


def leaf_attribution(plan: Plan) -> tuple[Leaf, ...]:
    """Return every leaf of the predicate, from left to right; a few array operations for each."""
    predicate, states = plan.evaluation.predicate, plan.evaluation.of_row_groups
    opened = open_outcomes(predicate, plan.evaluation.row_groups.by_leaf)
    wanted = asked_outcomes(predicate)
    read = plan.kept.rows > 0
    found = []
    for i, leaf in enumerate(leaves(predicate)):
        answers = plan.evaluation.row_groups.by_leaf[i]
        here = read & (opened[i] != 0)
        found.append(
            Leaf(
                sql=render(leaf),
                denied=_denied(plan, [state.by_leaf[i] for state in states], wanted[i]),
                open_row_groups=int(here.sum()),
                open_bytes=int(plan.kept.bytes[here].sum()),
                proven_row_groups=int(np.sum(here & (answers == opened[i]))),
                why=leaf.reason if isinstance(leaf, Unsupported) else "",
            )
        )
    return tuple(found)


def _denied(plan: Plan, by_level: list[OutcomeArray], wanted: Outcomes) -> tuple[Denial, ...]:
    shares, before = [], plan.index.row_count == 0
    for state, answers in zip(plan.evaluation.of_row_groups, by_level, strict=True):
        denied = ((answers & np.uint8(wanted)) == 0) & ~before
        before = before | denied
        if denied.any():
            shares.append(Denial(state.level, int(denied.sum()), int(plan.sizes.bytes[denied].sum())))
    return tuple(shares)
