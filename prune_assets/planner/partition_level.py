"""The level of partition values: a directory name says exactly what all rows below it hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.evidence.single_values import outcomes_of_values
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, columns_of
from parquet_core.pruning import constant_answers
from parquet_core.trust.bounds import bounds_type
from prune_assets.planner.question import LevelState, question_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Path, Predicate
    from prune_assets.planner.question import Question


def partition_level(question: Question) -> LevelState:
    """Ask directory names; the other leaves are left open, and constants too where no name is asked about."""
    answers = np.full((len(question.parts), len(question.index)), Outcomes.UNKNOWN, np.uint8)
    is_asked = any(path in question.partitions for path in columns_of(question.predicate))
    for i, leaf in enumerate(question.parts):
        if isinstance(leaf, ColumnLeaf) and leaf.column in question.partitions:
            answers[i] = _from_directories(leaf, question)
        elif isinstance(leaf, OnPartitions) and question.partitions.keys() >= set(leaf.columns):
            answers[i] = leaf.test(*(_values(path, question) for path in leaf.columns))[question.index.file]
        elif is_asked and isinstance(leaf, Constant):
            answers[i] = constant_answers(leaf, len(question.index))
    folded = question.fold(answers)
    if is_asked:
        return LevelState("partition_values", folded, answers, "consulted")
    return LevelState("partition_values", folded, answers, "not_applicable", _why(question))


def files_left(predicate: Predicate, index: MetadataIndex) -> NDArray[np.bool_]:
    """Tell which files directory names leave for a predicate, whatever else is known of them."""
    left = np.zeros(len(index.files), np.bool_)
    left[index.file[partition_level(question_of(predicate, index)).alive]] = True
    return left


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
