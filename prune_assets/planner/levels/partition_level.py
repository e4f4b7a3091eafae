"""The level of partition values: a directory name, or a log, says exactly what all rows of a file hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, columns_of
from prune_assets.planner.levels.level import Level, LevelState

if TYPE_CHECKING:
    from prune_assets.planner.levels.level import Unit
    from prune_assets.planner.levels.question import Question

_NAME: Final = "partition_values"


def ask(question: Question, before: LevelState) -> LevelState:
    """Ask the partition values of every file; constants too where one of their columns is asked about."""
    files, index = question.files, question.index
    answers = before.by_leaf.copy()
    is_asked = not files.by_values.isdisjoint(columns_of(question.predicate))
    for i, leaf in enumerate(question.parts[: question.auxiliary.leaves]):
        is_on_partition = isinstance(leaf, ColumnLeaf) and leaf.column in files.by_values
        if is_on_partition or isinstance(leaf, OnPartitions) or (is_asked and isinstance(leaf, Constant)):
            answers[i] = files.by_leaf[i][index.file]
    folded = question.fold_anywhere(answers)
    folded[index.row_count <= 0] = Outcomes.NONE
    unit: Unit = "row group" if index.opened is None else "file"
    if is_asked:
        return LevelState(_NAME, folded, answers, "consulted", "", unit)
    return LevelState(_NAME, folded, answers, "not_applicable", _why(question), unit)


def _why(question: Question) -> str:
    partitions = question.index.partitions
    if not partitions:
        return "the table is not partitioned"
    doubtful = [f"{column.name}: {column.unsupported}" for column in partitions if column.unsupported]
    if doubtful:
        return "; ".join(doubtful[:3])
    return f"the predicate does not depend on {', '.join(column.name for column in partitions)} alone"


PARTITIONS = Level(_NAME, ask, is_free=True)
