"""The level of bloom filters: they are read only where every one of them saying "absent" would rule something out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from parquet_core.evidence.bloom import outcomes_of_each_from_filters, probes
from parquet_core.outcomes import Outcomes, intersect, may_match
from parquet_core.predicate import Compare, Op
from prune_assets.planner.levels.question import Level, LevelState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.planner.levels.question import Question
    from prune_assets.report.skip_report import Status

_NAME: Final = "bloom_filter"


def ask(question: Question, before: LevelState) -> LevelState:
    """Ask the filters of row groups that their absence of values could rule out."""
    answers = before.by_leaf
    equality = [i for i, leaf in enumerate(question.parts) if probes(leaf) is not None]
    best = _best_case(question, answers, equality)
    # Where even "absent everywhere" would change nothing, no filter is fetched.
    helpful = before.alive & ~may_match(question.fold(best)) if equality else np.zeros(len(question.index), np.bool_)
    if not helpful.any():
        why = "a bloom filter could skip nothing more" if equality else "no equality or IN to look up"
        return LevelState(_NAME, before.answers, answers, "not_applicable", why)
    refined = answers.copy()
    found, reasons = 0, dict[str, None]()
    wanted = frozenset(equality)
    for column, numbers in question.by_column():
        asking = [i for i in numbers if i in wanted]
        asked = np.flatnonzero(helpful & (answers[asking] != best[asking]).any(axis=0))
        there = question.index.bloom_filters.may_exist(column)[asked]
        if not there.all():
            some = " in some row groups" if there.any() else ""
            reasons[f"no bloom filter on {column.name}{some}"] = None
        asked = asked[there]
        if len(asked) == 0:
            continue
        for stored, positions in question.index.stored_as(column, asked):
            filters = question.index.bloom_filters.read(column, positions)
            found += sum(not isinstance(blocks, str) for blocks in filters)
            reasons.update({f"{column.name}: {blocks}": None for blocks in filters if isinstance(blocks, str)})
            usable = [None if isinstance(blocks, str) else blocks for blocks in filters]
            denied = outcomes_of_each_from_filters([question.parts[i] for i in asking], stored, usable)
            at = np.ix_(np.array(asking), positions)
            refined[at] = intersect(refined[at], denied)
    status: Status = "consulted" if found else "absent"
    folded, why = question.fold(refined), "; ".join(list(reasons)[:3])
    return LevelState(_NAME, folded, refined, status, why)


def _best_case(question: Question, answers: OutcomeArray, equality: Sequence[int]) -> OutcomeArray:
    """Return the answers if every filter denied every value."""
    unequal = [i for i in equality if isinstance(leaf := question.parts[i], Compare) and leaf.op is Op.NE]
    best = answers.copy()
    best[sorted(set(equality).difference(unequal))] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.TRUE)
    best[unequal] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.FALSE)
    return best


def explain(_: LevelState, question: Question, leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Say why filters did not rule a value out; they are asked for equality alone."""
    if probes(leaf) is None:
        return ""
    if int(question.index.footers.chunks(column).bloom_filter[position, 0]) <= 0:
        return "no bloom filter"
    (known,) = question.index.bloom_filters.at_hand(column, np.array([position]))
    if isinstance(known, str):
        return f"bloom filter: {known}"
    return "the bloom filter was not read" if known is None else "the bloom filter may contain it"


BLOOM_FILTERS = Level(_NAME, ask, denies="the bloom filter does not contain the value; ", explain=explain)
