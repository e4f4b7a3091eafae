"""The level of partition values: a directory name, or a log, says exactly what all rows of a file hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_core.evidence.single_values import outcomes_of_values
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, columns_of
from parquet_core.pruning import constant_answers
from parquet_core.trust.bounds import bounds_type
from prune_assets.planner.levels.level import Level, LevelState

if TYPE_CHECKING:
    import pyarrow as pa

    from deltalog.stats.data_skipping import FileAnswers
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Path
    from prune_assets.planner.levels.level import Unit
    from prune_assets.planner.levels.question import Question

_NAME: Final = "partition_values"


def ask(question: Question, before: LevelState) -> LevelState:
    """Ask directory names, or the log; constants too where one of their columns is asked about."""
    if question.log is not None:
        return _of_log(question, question.log, before)
    answers = before.by_leaf.copy()
    is_asked = any(path in question.partitions for path in columns_of(question.predicate))
    for i, leaf in enumerate(question.parts):
        if isinstance(leaf, ColumnLeaf) and leaf.column in question.partitions:
            answers[i] = _from_directories(leaf, question)
        elif isinstance(leaf, OnPartitions) and question.partitions.keys() >= set(leaf.columns):
            answers[i] = leaf.test(*(_values(path, question) for path in leaf.columns))[question.index.file]
        elif is_asked and isinstance(leaf, Constant):
            answers[i] = constant_answers(leaf, len(question.index))
    folded = question.fold(answers)
    unit: Unit = "row group" if question.index.opened is None else "file"
    if is_asked:
        return LevelState(_NAME, folded, answers, "consulted", "", unit)
    return LevelState(_NAME, folded, answers, "not_applicable", _why(question), unit)


def _of_log(question: Question, log: FileAnswers, before: LevelState) -> LevelState:
    named = {column.path for column in question.index.partitions}
    answers = before.by_leaf.copy()
    for i, leaf in enumerate(question.parts[: question.auxiliary.leaves]):
        if isinstance(leaf, OnPartitions) or (isinstance(leaf, ColumnLeaf) and leaf.column in named):
            answers[i] = log.by_leaf[i][question.index.file]
    folded = question.fold_anywhere(answers)
    folded[question.index.row_count <= 0] = Outcomes.NONE
    if named & set(columns_of(question.predicate)):
        return LevelState(_NAME, folded, answers, "consulted", "", "file")
    names = ", ".join(column.name for column in question.index.partitions)
    why = f"the predicate does not depend on {names} alone" if names else "the table is not partitioned"
    return LevelState(_NAME, folded, answers, "not_applicable", why, "file")


def _why(question: Question) -> str:
    if not question.index.partitions:
        return "no directory name gives a column its value"
    doubtful = [f"{column.name}: {column.unsupported}" for column in question.index.partitions if column.unsupported]
    if doubtful:
        return "; ".join(doubtful[:3])
    return f"the predicate does not depend on {', '.join(column.name for column in question.index.partitions)} alone"


def _from_directories(leaf: ColumnLeaf, question: Question) -> OutcomeArray:
    by_row_group: OutcomeArray = outcomes_of_values(leaf, _values(leaf.column, question))[question.index.file]
    return by_row_group


def _values(path: Path, question: Question) -> pa.Array:
    column = question.partitions[path]
    return question.index.partition_values[path].cast(bounds_type(column))


PARTITIONS = Level(_NAME, ask, is_free=True)
