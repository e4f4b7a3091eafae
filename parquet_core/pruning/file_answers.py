"""Outcomes of a predicate per file, known before the file is opened.

The sources are directory names, a table log, and other processes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.evidence.many_leaves import bounds_of_values, outcomes_of_values
from parquet_core.pruning.evidence.several_columns import columns_in_several, outcomes_from_several_bounds
from parquet_core.pruning.outcomes import may_match, must_match, unknown
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    Constant,
    MultiColumnLeaf,
    OnPartitions,
    columns_of,
    columns_of_leaf,
    leaves,
)
from parquet_core.pruning.trees import constant_answers, fold
from parquet_core.trust.bounds import Bounds, first_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate


@dataclass(frozen=True, slots=True)
class FoundElsewhere:
    """Pruning results from Spark executors, which read all metadata of their files.

    `kept`, by file: True if the file may hold a matching row, or if no executor evaluated it. `rows`, by file: number
    of rows, -1 if unknown. `why`: description of the evaluation.
    """

    kept: NDArray[np.bool_]
    rows: NDArray[np.int64]
    why: str


@dataclass(frozen=True, slots=True)
class ByList:
    """Outcomes per leaf and file from a manifest list.

    `lists`: number of manifests. `unread`: number of manifests that were skipped.
    """

    by_leaf: tuple[OutcomeArray, ...]
    lists: int
    unread: int


@dataclass(frozen=True, slots=True)
class FileAnswers:
    """The possible outcomes of a predicate in each file.

    `partitions`: outcomes by partition values only.
    `outcomes`: outcomes by partition values and file statistics.
    `by_leaf`: outcomes of each leaf by partition values and file statistics.
    `by_partition`: outcomes of each leaf by partition values only. None if equal to `by_leaf`: they differ only if
    partition columns have statistics too.
    `by_values`: partition columns that have values.
    `files_with_statistics`: per column, how many of the `examined_files` have usable statistics; None if the list of
    files has no statistics.
    `elsewhere`: None if no other process was involved.
    `by_list`: None if the table has no manifest list.
    `bounds`: bounds from partition values, for partition columns in leaves on several columns. Other levels combine
    them with the bounds of the other columns. A file counts as one row.
    """

    partitions: OutcomeArray
    outcomes: OutcomeArray
    by_leaf: tuple[OutcomeArray, ...]
    by_values: frozenset[Path] = frozenset()
    files_with_statistics: Mapping[Path, int] | None = field(default_factory=dict)
    examined_files: int = 0
    elsewhere: FoundElsewhere | None = None
    by_partition: tuple[OutcomeArray, ...] | None = None
    by_list: ByList | None = None
    bounds: Mapping[Path, Bounds] = field(default_factory=dict)

    def with_partitions(
        self, leaf: MultiColumnLeaf, bounds: Mapping[Path, Bounds], file: NDArray[np.int64]
    ) -> dict[Path, Bounds]:
        """Return bounds of containers in the given files; partition values replace unknown bounds."""
        of_values = {path: self.bounds[path].take(file) for path in columns_of_leaf(leaf) if path in self.bounds}
        both = {
            path: first_known(of_column, of_values[path]) for path, of_column in bounds.items() if path in of_values
        }
        return {**of_values, **bounds, **both}

    @property
    def of_partitions(self) -> tuple[OutcomeArray, ...]:
        """Outcomes of each leaf by partition values only."""
        return self.by_leaf if self.by_partition is None else self.by_partition

    def take(self, files: NDArray[np.int64]) -> FileAnswers:
        """Return the outcomes of the given file numbers."""
        by_leaf, of_partitions = (
            tuple(outcomes[files] for outcomes in each) for each in (self.by_leaf, self.of_partitions)
        )
        by_list = self.by_list
        if by_list is not None:
            by_list = replace(by_list, by_leaf=tuple(outcomes[files] for outcomes in by_list.by_leaf))
        return replace(
            self,
            by_list=by_list,
            partitions=self.partitions[files],
            outcomes=self.outcomes[files],
            by_leaf=by_leaf,
            by_partition=of_partitions,
            bounds={path: bounds.take(files) for path, bounds in self.bounds.items()},
        )

    @property
    def left(self) -> NDArray[np.bool_]:
        """Flags of files that neither the file listing nor other processes exclude."""
        return self.kept if self.elsewhere is None else self.kept & self.elsewhere.kept

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Flags of files that the file listing does not exclude; results of other processes do not count."""
        return may_match(self.outcomes)

    @property
    def matches(self) -> NDArray[np.bool_]:
        """Flags of files in which every row matches."""
        return must_match(self.outcomes)


def answers_of_directories(predicate: Predicate, index: MetadataIndex) -> FileAnswers:
    """Return the outcomes of a predicate in each file, as far as directory names decide them.

    Constants are evaluated here only if the predicate names a partition column; otherwise the level of row-group
    statistics evaluates them.
    """
    values = {
        column.path: index.groups.partition_values[column.path].cast(bounds_type(column))
        for column in index.groups.partitions
        if column.path in index.groups.partition_values
    }
    constants_count = any(path in values for path in columns_of(predicate))
    by_leaf = tuple(
        _outcomes_of_leaf(leaf, values, len(index.groups.files), constants_count=constants_count)
        for leaf in leaves(predicate)
    )
    folded = fold(predicate, list(by_leaf))
    in_several = values.keys() & columns_in_several(tuple(leaves(predicate)))
    bounds = {path: bounds_of_values(values[path]) for path in in_several}
    return FileAnswers(folded, folded, by_leaf, frozenset(values), files_with_statistics=None, bounds=bounds)


def _outcomes_of_leaf(leaf: Leaf, values: dict[Path, pa.Array], files: int, *, constants_count: bool) -> OutcomeArray:
    if isinstance(leaf, OnPartitions) and values.keys() >= set(leaf.columns):
        answered: OutcomeArray = leaf.test(*(values[path] for path in leaf.columns))
        return answered
    if isinstance(leaf, ColumnLeaf) and leaf.column in values:
        return outcomes_of_values(leaf, values[leaf.column])
    if isinstance(leaf, MultiColumnLeaf):
        bounds = {path: bounds_of_values(values[path]) for path in columns_of_leaf(leaf) if path in values}
        return outcomes_from_several_bounds(leaf, bounds, files)
    if isinstance(leaf, Constant) and constants_count:
        return constant_answers(leaf, files)
    return unknown(files)
