"""Which files of a version a predicate may select rows of, from partition values and statistics in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deltalog.ahead import ahead
from deltalog.partition_values import outcomes_of_partition
from deltalog.statistics import statistics_reader
from parquet_core.evidence.bounds import outcomes_from_bounds
from parquet_core.outcomes import Outcomes, intersect, may_match, must_match, unknown
from parquet_core.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning import constant_answers, fold
from parquet_core.satisfiable import may_be_true

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.file_block import FileBlock
    from deltalog.schema import TableColumn
    from deltalog.snapshot import Snapshot
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Predicate


@dataclass(frozen=True, slots=True)
class FileAnswers:
    """What a predicate may be in each live file, in the order of the snapshot's blocks.

    `partitions`: by partition values alone; `outcomes`: with statistics too; `by_leaf`: the same for each leaf.
    """

    partitions: OutcomeArray
    outcomes: OutcomeArray
    by_leaf: tuple[OutcomeArray, ...]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Files that may hold a row that the predicate selects."""
        return may_match(self.outcomes)

    @property
    def matches(self) -> NDArray[np.bool_]:
        """Files of which every row is selected."""
        return must_match(self.outcomes)


def skip_files(snapshot: Snapshot, predicate: Predicate) -> FileAnswers:
    """Ask a predicate of every live file.

    Its columns are logical paths and its literals have the types of `snapshot.schema.leaves`. A column that the
    table lacks, or that the log knows nothing about, keeps its files.
    """
    columns = snapshot.schema.by_path()
    if not may_be_true(predicate, columns=columns):
        return _never(snapshot, predicate)
    parts = tuple(leaves(predicate))
    asked = [columns.get(part.column) if isinstance(part, ColumnLeaf) else None for part in parts]
    found = list(ahead(lambda block: _of_block(block, predicate, parts, asked), snapshot.blocks))
    return FileAnswers(
        partitions=_joined([partitions for partitions, _, _ in found]),
        outcomes=_joined([outcomes for _, outcomes, _ in found]),
        by_leaf=tuple(_joined([by_leaf[i] for _, _, by_leaf in found]) for i in range(len(parts))),
    )


def _never(snapshot: Snapshot, predicate: Predicate) -> FileAnswers:
    """Answer for a predicate that contradicts itself, whatever the files hold."""
    open_ = unknown(snapshot.file_count)
    never = np.full(snapshot.file_count, Outcomes.FALSE | Outcomes.NULL, np.uint8)
    return FileAnswers(partitions=never, outcomes=never, by_leaf=tuple(open_ for _ in leaves(predicate)))


def _joined(arrays: list[OutcomeArray]) -> OutcomeArray:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint8)


def _of_block(
    block: FileBlock, predicate: Predicate, parts: Sequence[Leaf], asked: Sequence[TableColumn | None]
) -> tuple[OutcomeArray, OutcomeArray, list[OutcomeArray]]:
    answers = [_from_partitions(part, column, block) for part, column in zip(parts, asked, strict=True)]
    partitions = fold(predicate, answers)
    wanted = may_match(partitions) & ~must_match(partitions)
    columns = list(dict.fromkeys(column for column in asked if column is not None and column.partition is None))
    if not columns or not wanted.any():
        return partitions, partitions, answers
    read = statistics_reader(columns)
    for batch in block.statistics.read([column.physical for column in columns], wanted):
        bounds = dict(zip(columns, read(batch), strict=True))
        for answer, part, column in zip(answers, parts, asked, strict=True):
            if isinstance(part, ColumnLeaf) and column in bounds:
                said = outcomes_from_bounds(part, bounds[column])
                answer[batch.positions] = intersect(answer[batch.positions], said)
    return partitions, fold(predicate, answers), answers


def _from_partitions(part: Leaf, column: TableColumn | None, block: FileBlock) -> OutcomeArray:
    if isinstance(part, Constant):
        return constant_answers(part, len(block))
    if not isinstance(part, ColumnLeaf) or column is None or column.partition is None:
        return unknown(len(block))
    return outcomes_of_partition(part, column, block)
