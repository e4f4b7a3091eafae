"""The level of bloom filters: they are read only where every one of them saying "absent" would rule something out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.evidence.bloom import outcomes_from_filters, probes
from parquet_core.outcomes import Outcomes, intersect, may_match
from parquet_core.predicate import Compare, Op
from prune_assets.planner.question import LevelState

if TYPE_CHECKING:
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf
    from prune_assets.planner.question import Question
    from prune_assets.report.skip_report import Status


def bloom_level(question: Question, before: LevelState) -> LevelState:
    """Ask the filters of row groups that their absence of values could rule out."""
    answers = before.by_leaf
    best = [_best_case(leaf, answer) for leaf, answer in zip(question.parts, answers, strict=True)]
    # Where even "absent everywhere" would change nothing, no filter is fetched.
    helpful = before.alive & ~may_match(question.fold(best))
    if not helpful.any():
        equality = any(probes(leaf) is not None for leaf in question.parts)
        why = "nothing is left that a filter could rule out" if equality else "no equality or IN to look up"
        return LevelState("bloom_filter", before.answers, answers, "not_applicable", why)
    refined: list[OutcomeArray] = []
    found, reasons = 0, dict[str, None]()
    for leaf, answer, lowest in zip(question.parts, answers, best, strict=True):
        asked = np.flatnonzero(helpful & (answer != lowest))
        column = question.column_of(leaf)
        if column is None or len(asked) == 0:
            refined.append(answer)
            continue
        filters = question.index.bloom_filters(column, asked)
        found += sum(not isinstance(blocks, str) for blocks in filters)
        reasons.update({f"{column.name}: {blocks}": None for blocks in filters if isinstance(blocks, str)})
        usable = [None if isinstance(blocks, str) else blocks for blocks in filters]
        better = answer.copy()
        better[asked] = intersect(answer[asked], outcomes_from_filters(leaf, column, usable))
        refined.append(better)
    status: Status = "consulted" if found else "absent"
    folded, why = question.fold(refined), "; ".join(list(reasons)[:3])
    return LevelState("bloom_filter", folded, tuple(refined), status, why)


def _best_case(leaf: Leaf, answer: OutcomeArray) -> OutcomeArray:
    """Return the answer if every filter denied every value."""
    if probes(leaf) is None:
        return answer
    never = Outcomes.FALSE if isinstance(leaf, Compare) and leaf.op is Op.NE else Outcomes.TRUE
    return answer & np.uint8(Outcomes.UNKNOWN & ~never)
