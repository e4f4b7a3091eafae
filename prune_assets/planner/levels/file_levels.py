"""The levels about whole files, asked before a footer is read here.

Partition values, what a log says of files, and what other processes found in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from parquet_core.outcomes import Outcomes, intersect, may_match
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, columns_of
from prune_assets.planner.levels.question import Level, LevelState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_core.predicate import Path
    from prune_assets.planner.levels.question import Question, Unit
    from prune_assets.report.skip_report import Status

_PARTITIONS: Final = "partition_values"
_LOG_STATISTICS: Final = "delta_statistics"
_EXECUTORS: Final = "executors"


def ask_partitions(question: Question, before: LevelState) -> LevelState:
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
        return LevelState(_PARTITIONS, folded, answers, "consulted", "", unit)
    return LevelState(_PARTITIONS, folded, answers, "not_applicable", _why_not(question), unit)


def _why_not(question: Question) -> str:
    partitions = question.index.partitions
    if not partitions:
        return "the table is not partitioned"
    doubtful = [f"{column.name}: {column.unsupported}" for column in partitions if column.unsupported]
    if doubtful:
        return "; ".join(doubtful[:3])
    return f"the predicate does not depend on {', '.join(column.name for column in partitions)} alone"


PARTITIONS = Level(_PARTITIONS, ask_partitions, is_free=True)


def ask_log_statistics(question: Question, before: LevelState) -> LevelState | None:
    """Ask the statistics that the list of files holds of every file; None where it holds none."""
    if question.files.told is None:
        return None
    answers = before.by_leaf.copy()
    for i, said in enumerate(question.files.by_leaf):
        answers[i] = intersect(answers[i], said[question.index.file])
    status, why = _status(question, question.files.told)
    return LevelState(_LOG_STATISTICS, question.fold_listed(answers), answers, status, why, "file")


def _status(question: Question, told: Mapping[Path, int]) -> tuple[Status, str]:
    files, by_path = question.files, {column.path for column in question.index.columns}
    asked = [path for path in columns_of(question.predicate) if path in by_path]
    if not question.index.files or np.all(~may_match(files.partitions)):
        return "not_applicable", "partition values leave no file"
    if not asked:
        return "not_applicable", "no part of the predicate can be answered from statistics of files"
    if files.asked == 0:
        return "not_applicable", "partition values decide every file"
    silent = [".".join(path) for path in asked if not told.get(path)]
    why = [f"no file has usable statistics for {', '.join(silent)}"] if silent else []
    why += [
        f"{files.asked - told[path]:,} of {files.asked:,} files have no usable statistics for {'.'.join(path)}"
        for path in asked
        if 0 < told.get(path, 0) < files.asked
    ]
    why += ["`prune inspect` gives the reason"] if why else []
    return ("absent" if len(silent) == len(asked) else "consulted"), "; ".join(why)


LOG_STATISTICS = Level(_LOG_STATISTICS, ask_log_statistics, is_free=True)


def ask_elsewhere(question: Question, before: LevelState) -> LevelState | None:
    """Put in what Spark's executors found, who asked all levels; None where they were not asked."""
    found = question.files.elsewhere
    if found is None:
        return None
    status: Status = "not_applicable" if found.kept.all() else "consulted"
    return LevelState(_EXECUTORS, question.fold(before.by_leaf), before.by_leaf, status, found.why, "file")


EXECUTORS = Level(_EXECUTORS, ask_elsewhere, is_free=True)
