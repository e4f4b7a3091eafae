"""The level of the statistics of whole files that a Delta log holds, asked before a footer is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from parquet_core.outcomes import intersect, may_match
from parquet_core.predicate import columns_of
from prune_assets.planner.levels.level import Level, LevelState

if TYPE_CHECKING:
    from prune_assets.planner.levels.question import Question
    from prune_assets.report.skip_report import Status

_NAME: Final = "delta_statistics"


def ask(question: Question, before: LevelState) -> LevelState | None:
    """Ask the statistics that the log holds of every file."""
    if question.log is None:
        return None
    file = question.index.file
    answers = before.by_leaf.copy()
    for i, said in enumerate(question.log.by_leaf):
        answers[i] = intersect(answers[i], said[file])
    folded = question.fold(answers)
    status, why = _status(question)
    return LevelState(_NAME, folded, answers, status, why, "file")


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


LOG_STATISTICS = Level(_NAME, ask, is_free=True)
