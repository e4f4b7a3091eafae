"""The level of the statistics of whole files that a Delta log holds, asked before a footer is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from parquet_core.outcomes import intersect, may_match
from parquet_core.predicate import columns_of
from prune_assets.planner.levels.level import Level, LevelState

if TYPE_CHECKING:
    from parquet_core.predicate import Path
    from prune_assets.planner.levels.question import Question
    from prune_assets.report.skip_report import Status

_NAME: Final = "delta_statistics"


def ask(question: Question, before: LevelState) -> LevelState | None:
    """Ask the statistics that the list of files holds of every file; None where it holds none."""
    if question.files.told is None:
        return None
    answers = before.by_leaf.copy()
    for i, said in enumerate(question.files.by_leaf):
        answers[i] = intersect(answers[i], said[question.index.file])
    status, why = _status(question, question.files.told)
    return LevelState(_NAME, question.fold(answers), answers, status, why, "file")


def _status(question: Question, told: frozenset[Path]) -> tuple[Status, str]:
    files, by_path = question.files, {column.path for column in question.index.columns}
    asked = [path for path in columns_of(question.predicate) if path in by_path]
    if not question.index.files or np.all(~may_match(files.partitions)):
        return "not_applicable", "partition values leave no file"
    if not asked:
        return "not_applicable", "no part of the predicate can be answered from statistics of files"
    silent = [".".join(path) for path in asked if path not in told]
    if files.asked == 0:
        return "not_applicable", "partition values decide every file"
    why = f"no file has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    return ("absent" if len(silent) == len(asked) else "consulted"), why


LOG_STATISTICS = Level(_NAME, ask, is_free=True)
