"""Pruning queries, pruning levels, and the state after each level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.file_answers import answers_of_directories
from parquet_core.pruning.levels.auxiliary_leaves import auxiliary_leaves
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    MultiColumnLeaf,
    OnValues,
    columns_of,
    columns_of_leaf,
    leaves,
    post_order,
)
from parquet_core.pruning.trees import fold_nodes
from parquet_core.spark_rules.spark_schema import has_reliable_nulls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.known_levels import Status, Unit
    from parquet_core.pruning.levels.auxiliary_leaves import AuxiliaryLeaves
    from parquet_core.pruning.levels.page_level import PageOutcomes
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate, PredicateNode


@dataclass(frozen=True, slots=True)
class PruningQuery:
    """A predicate prepared for a dataset.

    `parts`: the leaves from left to right, then the auxiliary leaves.
    `columns`: columns for which files may have metadata, by path.
    `files`: outcomes per file before it is opened.
    `of_pages`: False leaves out page indexes.
    """

    predicate: Predicate
    parts: tuple[Leaf, ...]
    index: MetadataIndex
    columns: dict[Path, LeafColumn]
    nodes: Sequence[PredicateNode]
    auxiliary: AuxiliaryLeaves
    files: FileAnswers
    of_pages: bool = True

    def column_of(self, leaf: Leaf) -> LeafColumn | None:
        """Return the column whose metadata may decide the leaf.

        None if files lack such metadata.
        """
        return self.columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None

    def columns_with_metadata(self) -> list[LeafColumn]:
        """Return the columns of the predicate that may have metadata.

        Each column is listed once.
        """
        return [self.columns[path] for path in columns_of(self.predicate) if path in self.columns]

    def page_columns(self, outcomes: OutcomeArray, positions: NDArray[np.int64]) -> list[LeafColumn]:
        """Return the columns whose page indexes may decide more in row groups at `positions`.

        `outcomes`: outcomes of all `parts` in these row groups.

        The result includes columns whose null test is undecided: a row group may hold both nulls and values. A column
        that is only tested on values is left out unless one of its dictionaries was read: a column with too many values
        for a dictionary hardly has a page with a single value.
        """
        columns = [column for column in self.columns_with_metadata() if self._may_decide_by_bounds(column, positions)]
        undecided = Outcomes.TRUE | Outcomes.FALSE
        mixed = [path for leaf, path in self.auxiliary.null_columns() if np.any(outcomes[leaf] == undecided)]
        return list(dict.fromkeys([*columns, *(self.columns[path] for path in mixed)]))

    def _may_decide_by_bounds(self, column: LeafColumn, positions: NDArray[np.int64]) -> bool:
        naming = [leaf for leaf in self.parts[: self.auxiliary.leaves] if column.path in columns_of_leaf(leaf)]
        if not all(isinstance(leaf, OnValues) for leaf in naming):
            return True
        return any(not isinstance(it, str | None) for it in self.index.dictionaries.cached(column, positions))

    def column_leaves(self, indices: Sequence[int]) -> list[ColumnLeaf]:
        """Return the leaves on one column among `parts[i]` for i in `indices`."""
        return [leaf for i in indices if isinstance(leaf := self.parts[i], ColumnLeaf)]

    def by_column(self) -> list[tuple[LeafColumn, list[int]]]:
        """Return columns with metadata, and their leaf indices in `parts`."""
        leaves_of: dict[Path, list[int]] = {path: [] for path in self.columns}
        for i, leaf in enumerate(self.parts):
            if isinstance(leaf, ColumnLeaf) and leaf.column in leaves_of:
                leaves_of[leaf.column].append(i)
        return [(self.columns[path], leaf_indices) for path, leaf_indices in leaves_of.items() if leaf_indices]

    def of_several_columns(self) -> list[tuple[int, MultiColumnLeaf]]:
        """Return leaves of several columns, with their index in `parts`.

        At least one of the columns may have metadata.
        """
        return [
            (i, leaf)
            for i, leaf in enumerate(self.parts)
            if isinstance(leaf, MultiColumnLeaf) and not self.columns.keys().isdisjoint(columns_of_leaf(leaf))
        ]

    def fold(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Combine leaf outcomes per row group with all results about its file.

        The outcome is NONE for a row group without rows.
        """
        folded = self.fold_files(outcomes)
        if self.files.elsewhere is not None:
            folded[~self.files.elsewhere.kept[self.index.groups.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_files(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Combine leaf outcomes as `fold` does, without results of other processes."""
        folded = self.fold_leaves(outcomes)
        folded[self.index.groups.row_count <= 0] = Outcomes.NONE
        # The list of files may exclude a file that the combined outcomes of its leaves would keep.
        folded[~self.files.kept[self.index.groups.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_leaves(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Combine leaf outcomes in containers of any kind."""
        return fold_nodes(self.nodes, self.auxiliary.joined(outcomes))


def query_of(
    predicate: Predicate, index: MetadataIndex, files: FileAnswers | None = None, *, of_pages: bool = True
) -> PruningQuery:
    """Prepare a predicate for a dataset.

    `files`: outcomes per file before it is opened, by default from directory names.
    """
    columns = {column.path: column for column in index.groups.columns if has_reliable_nulls(column)}
    parts = tuple(leaves(predicate))
    auxiliary = auxiliary_leaves(parts, columns)
    return PruningQuery(
        predicate=predicate,
        parts=(*parts, *auxiliary.extra),
        index=index,
        columns=columns,
        nodes=post_order(predicate),
        auxiliary=auxiliary,
        files=answers_of_directories(predicate, index) if files is None else files,
        of_pages=of_pages,
    )


@dataclass(frozen=True, slots=True)
class LevelState:
    """The result of a level and all levels before it.

    `outcomes`: outcome sets of the predicate per row group.
    `by_leaf`: outcome sets per leaf (rows) and row group, from evidence about whole row groups.
    `unit`: the kind of container that the level skips.
    `of_pages`: outcomes within the row groups that earlier levels left undecided; None for other levels than pages.
    """

    level: str
    outcomes: OutcomeArray
    by_leaf: OutcomeArray
    status: Status
    why: str = ""
    unit: Unit = "row group"
    of_pages: PageOutcomes | None = None

    @property
    def remaining(self) -> NDArray[np.bool_]:
        """Flags of row groups that may hold a matching row."""
        return may_match(self.outcomes)


@dataclass(frozen=True, slots=True)
class PruningLevel:
    """A level that evaluates one kind of evidence.

    `evaluate`: returns the state after the level, given the state before; None if the table lacks this evidence.
    `is_free`: True if the level needs no read, because its evidence came with the file listing or the footers.
    `denies`: first words of the reason why a row group is skipped.
    `explain`: returns why the level did not decide a leaf in a row group, "" if unknown; it reads no files.
    """

    name: str
    evaluate: Callable[[PruningQuery, LevelState], LevelState | None]
    is_free: bool = False
    denies: str = ""
    explain: Callable[[LevelState, PruningQuery, ColumnLeaf, LeafColumn, int], str] | None = None
