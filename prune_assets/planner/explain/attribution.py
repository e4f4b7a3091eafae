"""Attribute skipped data to each conjunct, evaluated alone, and to each comparison and level.

In tables of up to `MAX_ROW_GROUPS` row groups, every level evaluates each conjunct alone, which may read bloom filters,
dictionaries and page indexes that the plan did not need. In a larger table only partition values and statistics are
evaluated: the footers that contain them are read already.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning import prune, row_groups_left_for_free
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.predicate import OnPartitions, OnValues, Unsupported, leaves, replaced
from parquet_core.pruning.trees import open_outcomes, outcomes_to_refute
from parquet_core.ragged import distinct
from prune_assets.planner.extents import extent_of, kept_by
from prune_assets.report.skip_report import Conjunct, Denial, Leaf
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.pruning.outcomes import OutcomeArray, Outcomes
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.report.skip_report import Extent


MAX_ROW_GROUPS = 1_000
MAX_CONJUNCTS = 200
# Limit of the number of files in a log times the number of conjuncts.
MAX_LOGGED_FILES = 1_000_000


def conjuncts_alone(plan: PlannedRead, total: Extent) -> tuple[Conjunct, ...]:
    """Evaluate each conjunct alone, at most the first 200.

    If the predicate has a single conjunct, its figures are those of the plan.
    """
    if len(plan.lowered.conjuncts) == 1:
        sql, _ = plan.lowered.conjuncts[0]
        return (Conjunct(sql, total.bytes - plan.kept.extent(plan.index).bytes),)
    conjuncts = []
    most = MAX_CONJUNCTS
    if plan.evaluation.query.files.files_with_statistics is not None:
        # Each conjunct reads the statistics of the log again.
        most = min(most, max(1, MAX_LOGGED_FILES // max(1, len(plan.index.groups.files))))
    for sql, predicate in plan.lowered.conjuncts[:most]:
        extent, complete = kept_alone(plan, predicate)
        conjuncts.append(Conjunct(sql, total.bytes - extent.bytes, complete))
    return tuple(conjuncts)


def kept_alone(plan: PlannedRead, predicate: Predicate) -> tuple[Extent, bool]:
    """Return the extent that a predicate alone keeps, and True if every level was evaluated."""
    index, predicate = plan.index, replaced(predicate, plan.tests)
    if len(index) <= MAX_ROW_GROUPS:
        access = prune(predicate, index, pages=plan.depth == "pages", files=plan.table.answers(predicate)).access
        # Files that were not opened may have evidence that no level evaluated.
        complete = index.groups.opened is None or bool(
            index.groups.opened[index.groups.file[access.verdict != Verdict.SKIP]].all()
        )
        return kept_by(access, index, plan.columns, plan.sizes).extent(index), complete
    remaining = row_groups_left_for_free(predicate, index, plan.table.answers(predicate))
    return extent_of(index, plan.sizes, remaining & (index.groups.row_count > 0)), False


MAX_LEAVES = 200
# Maximum number of outcomes in memory at once; a leaf has one outcome per row group.
_MAX_OUTCOMES = 8_000_000


def leaf_attribution(plan: PlannedRead) -> tuple[Leaf, ...]:
    """Return the row groups that each leaf of the predicate excludes, for the first 200 leaves from left to right.

    Each leaf costs only a few array operations.
    """
    predicate, states = plan.evaluation.predicate, plan.evaluation.of_row_groups
    wanted, opened = outcomes_to_refute(predicate), _open_row_groups(plan)
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
    """Return why a leaf does not prune; "" if it does.

    A leaf that is tested on values has a reason only if it leaves row groups open.
    """
    if isinstance(leaf, OnValues | OnPartitions):
        return leaf.part.reason if open_row_groups else ""
    return leaf.reason if isinstance(leaf, Unsupported) else ""


def _open_row_groups(plan: PlannedRead) -> NDArray[np.int64]:
    """Return, for each leaf, figures of the row groups to read that it could not exclude.

    Columns of the result: number of these row groups, their bytes, and the number of them in which every row matches.
    """
    outcomes = plan.evaluation.row_groups.by_leaf
    read = np.flatnonzero(plan.kept.rows > 0)
    total = np.zeros((min(len(outcomes), MAX_LEAVES), 3), np.int64)
    step = max(1, _MAX_OUTCOMES // len(outcomes))
    for start in range(0, len(read), step):
        total += _open_among(plan, outcomes, read[start : start + step])
    return total


def _open_among(plan: PlannedRead, outcomes: OutcomeArray, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    here = list(outcomes[:, positions])
    opened = open_outcomes(plan.evaluation.predicate, here)[:MAX_LEAVES]
    size = plan.kept.bytes[positions]
    counted = [(int(np.count_nonzero(part)), int(size[part != 0].sum())) for part in opened]
    proven = [int(np.count_nonzero(part & (part == own))) for part, own in zip(opened, here, strict=False)]
    return np.array([(*both, whole) for both, whole in zip(counted, proven, strict=True)], np.int64)


def _denied(plan: PlannedRead, by_level: list[OutcomeArray], wanted: Outcomes) -> tuple[Denial, ...]:
    shares, before = [], plan.index.groups.row_count == 0
    for state, outcomes in zip(plan.evaluation.of_row_groups, by_level, strict=True):
        denied = ((outcomes & np.uint8(wanted)) == 0) & ~before
        before = before | denied
        if denied.any():
            size = int(plan.sizes.bytes[denied].sum())
            if state.unit == "file":
                shares.append(Denial(state.level, len(distinct(plan.index.groups.file[denied])), size, "file"))
            else:
                shares.append(Denial(state.level, int(denied.sum()), size))
    return tuple(shares)
