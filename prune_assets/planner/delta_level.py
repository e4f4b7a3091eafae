"""The levels of a Delta log: partition values and statistics of whole files, before a footer is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.outcomes import Outcomes, intersect, may_match
from parquet_core.predicate import ColumnLeaf, OnPartitions, columns_of
from prune_assets.planner.question import LevelState

if TYPE_CHECKING:
    from prune_assets.planner.question import Question
    from prune_assets.report.skip_report import Status


def log_partition_level(question: Question) -> LevelState:
    """Ask the partition values that the log gives of every file."""
    assert question.log is not None
    named = {column.path for column in question.index.partitions}
    answers = np.full((len(question.parts), len(question.index)), Outcomes.UNKNOWN, np.uint8)
    for i, leaf in enumerate(question.parts[: question.beside.leaves]):
        if isinstance(leaf, OnPartitions) or (isinstance(leaf, ColumnLeaf) and leaf.column in named):
            answers[i] = question.log.by_leaf[i][question.index.file]
    folded = question.fold_anywhere(answers)
    folded[question.index.row_count <= 0] = Outcomes.NONE
    if named & set(columns_of(question.predicate)):
        return LevelState("partition_values", folded, answers, "consulted")
    names = ", ".join(column.name for column in question.index.partitions)
    why = f"the predicate does not depend on {names} alone" if names else "the table is not partitioned"
    return LevelState("partition_values", folded, answers, "not_applicable", why)


def log_statistics_level(question: Question, before: LevelState) -> LevelState:
    """Ask the statistics that the log holds of every file."""
    assert question.log is not None
    file = question.index.file
    answers = before.by_leaf.copy()
    for i, said in enumerate(question.log.by_leaf):
        answers[i] = intersect(answers[i], said[file])
    folded = question.fold(answers)
    status, why = _status(question)
    return LevelState("delta_statistics", folded, answers, status, why)


def _status(question: Question) -> tuple[Status, str]:
    assert question.delta is not None
    assert question.log is not None
    by_path = question.delta.snapshot.schema.by_path()
    asked = [path for path in columns_of(question.predicate) if path in by_path and by_path[path].partition is None]
    if not question.index.files or np.all(~may_match(question.log.partitions)):
        return "not_applicable", "partition values leave no file"
    if not asked:
        return "not_applicable", "no part of the predicate can be answered from statistics of files"
    silent = [".".join(path) for path in asked if path not in question.log.told]
    if question.log.asked == 0:
        return "not_applicable", "partition values decide every file"
    why = f"no file has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    return ("absent" if len(silent) == len(asked) else "consulted"), why
