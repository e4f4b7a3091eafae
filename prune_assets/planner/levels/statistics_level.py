"""The level of row-group statistics: the footers that hold them are read anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_core.evidence.many_leaves import outcomes_of_each
from parquet_core.evidence.two_columns import outcomes_from_two_bounds
from parquet_core.outcomes import intersect
from parquet_core.predicate import Constant
from parquet_core.pruning import constant_answers
from prune_assets.planner.levels.question import Level, LevelState

if TYPE_CHECKING:
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.planner.levels.question import Question
    from prune_assets.report.skip_report import Status

_NAME: Final = "row_group_statistics"


def ask(question: Question, before: LevelState) -> LevelState:
    """Ask the statistics of every row group."""
    answers = before.by_leaf.copy()
    for i, leaf in enumerate(question.parts):
        if isinstance(leaf, Constant):
            answers[i] = intersect(answers[i], constant_answers(leaf, len(question.index)))
    for column, numbers in question.by_column():
        found = outcomes_of_each(question.column_leaves(numbers), question.index.footers.bounds(column))
        answers[numbers] = intersect(answers[numbers], found)
    for i, pair in question.pairs():
        left, right = (question.index.footers.bounds(question.columns[path]) for path in (pair.left, pair.right))
        answers[i] = intersect(answers[i], outcomes_from_two_bounds(pair.op, left, right))
    folded = question.fold(answers)
    asked = question.asked()
    if question.index.opened is not None and not before.alive.any():
        source = "directory names leave" if question.files.told is None else "the log leaves"
        return LevelState(_NAME, folded, answers, "not_applicable", f"{source} no file to open")
    if not asked:
        why = "no part of the predicate can be answered from what files say about their columns"
        return LevelState(_NAME, folded, answers, "not_applicable", why)
    silent = [column.name for column in asked if not _says_anything(question.index, column)]
    why = f"no row group has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    status: Status = "absent" if len(silent) == len(asked) else "consulted"
    return LevelState(_NAME, folded, answers, status, why)


def _says_anything(index: MetadataIndex, column: LeafColumn) -> bool:
    bounds = index.footers.bounds(column)
    return any(len(array) > array.null_count for array in (bounds.lower, bounds.upper, bounds.null_count))


def explain(_: LevelState, question: Question, _leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Say why the statistics of a column are not believed."""
    doubted = question.index.footers.why_doubted(column, position)
    return f"statistics: {doubted}" if doubted else ""


STATISTICS = Level(_NAME, ask, is_free=True, explain=explain)
