"""What each comparison of a predicate rules out, level by level, and what is read because it could not."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.predicate import OnPartitions, OnValues, Unsupported, leaves
from parquet_core.ragged import distinct
from parquet_core.trees.open_leaves import asked_outcomes, open_outcomes
from prune_assets.report.skip_report import Denial, Leaf
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray, Outcomes
    from parquet_core.predicate import Predicate
    from prune_assets.planner.plan import Plan

MAX_LEAVES = 200
# Answers that are held at once, by leaf and row group.
_MAX_ANSWERS = 8_000_000


def leaf_attribution(plan: Plan) -> tuple[Leaf, ...]:
    """Return the leaves of the predicate from left to right, of many the first 200; a few array operations each."""
    predicate, states = plan.evaluation.predicate, plan.evaluation.of_row_groups
    wanted, opened = asked_outcomes(predicate), _open(plan)
    return tuple(
        Leaf(
            sql=render(leaf),
            denied=_denied(plan, [state.by_leaf[i] for state in states], wanted[i]),
            open_row_groups=int(opened[i, 0]),
            open_bytes=int(opened[i, 1]),
            proven_row_groups=int(opened[i, 2]),
            why=_why(leaf, int(opened[i, 0])),
        )
        for i, leaf in enumerate(islice(leaves(predicate), MAX_LEAVES))
    )


def _why(leaf: Predicate, open_row_groups: int) -> str:
    """Say why a leaf is not looked into; of one that is asked of values only where it rules out too little."""
    if isinstance(leaf, OnValues | OnPartitions):
        return leaf.part.reason if open_row_groups else ""
    return leaf.reason if isinstance(leaf, Unsupported) else ""


def _open(plan: Plan) -> NDArray[np.int64]:
    """Return by leaf the row groups that are read and it could not rule out, their bytes, those it holds in wholly."""
    answers = plan.evaluation.row_groups.by_leaf
    read = np.flatnonzero(plan.kept.rows > 0)
    total = np.zeros((min(len(answers), MAX_LEAVES), 3), np.int64)
    step = max(1, _MAX_ANSWERS // len(answers))
    for start in range(0, len(read), step):
        total += _open_of(plan, answers, read[start : start + step])
    return total


def _open_of(plan: Plan, answers: OutcomeArray, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    here = list(answers[:, positions])
    opened = open_outcomes(plan.evaluation.predicate, here)[:MAX_LEAVES]
    size = plan.kept.bytes[positions]
    counted = [(int(np.count_nonzero(part)), int(size[part != 0].sum())) for part in opened]
    proven = [int(np.count_nonzero(part & (part == own))) for part, own in zip(opened, here, strict=False)]
    return np.array([(*both, whole) for both, whole in zip(counted, proven, strict=True)], np.int64)


def _denied(plan: Plan, by_level: list[OutcomeArray], wanted: Outcomes) -> tuple[Denial, ...]:
    shares, before = [], plan.index.row_count == 0
    for state, answers in zip(plan.evaluation.of_row_groups, by_level, strict=True):
        denied = ((answers & np.uint8(wanted)) == 0) & ~before
        before = before | denied
        if denied.any():
            size = int(plan.sizes.bytes[denied].sum())
            if state.unit == "file":
                shares.append(Denial(state.level, len(distinct(plan.index.file[denied])), size, "file"))
            else:
                shares.append(Denial(state.level, int(denied.sum()), size))
    return tuple(shares)
