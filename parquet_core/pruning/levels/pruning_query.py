"""A pruning query, which every level evaluates, and the state that each leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.file_answers import answers_of_directories
from parquet_core.pruning.levels.auxiliary_leaves import auxiliary_leaves
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import ColumnLeaf, CompareColumns, OnValues, columns_of, columns_of_leaf, leaves
from parquet_core.pruning.trees import fold_nodes, post_order
from parquet_core.spark_rules.spark_schema import tells_nulls

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
    from parquet_core.pruning.predicate import Leaf, Predicate
    from parquet_core.pruning.trees import PredicateNode


@dataclass(frozen=True, slots=True)
class PruningQuery:
    """A predicate, its leaves from left to right, and the dataset that it prunes.

    Behind its leaves `parts` has the `auxiliary` ones.
    `columns`: those that files say something about. `files`: what is known of each file before it is opened.
    `of_pages`: page indexes are evaluated too.
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
        """Return the column that evidence about a leaf is looked up by; None when there is none to have."""
        return self.columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None

    def columns_with_metadata(self) -> list[LeafColumn]:
        """Return the columns of the predicate that files say something about, each once."""
        return [self.columns[path] for path in columns_of(self.predicate) if path in self.columns]

    def page_columns(self, outcomes: OutcomeArray, positions: NDArray[np.int64]) -> list[LeafColumn]:
        """Return the same with the columns of which some row groups hold null and other values, where that matters.

        `outcomes`: of the parts in the row groups at `positions`. A column that only parts tested on values name is
        left out, unless dictionaries were read: where there are too many values for one, no page has a single one.
        """
        columns = [
            column for column in self.columns_with_metadata() if self._may_have_bounds_that_tell(column, positions)
        ]
        undecided = Outcomes.TRUE | Outcomes.FALSE
        mixed = [path for leaf, path in self.auxiliary.null_columns() if np.any(outcomes[leaf] == undecided)]
        return list(dict.fromkeys([*columns, *(self.columns[path] for path in mixed)]))

    def _may_have_bounds_that_tell(self, column: LeafColumn, positions: NDArray[np.int64]) -> bool:
        naming = [leaf for leaf in self.parts[: self.auxiliary.leaves] if column.path in columns_of_leaf(leaf)]
        if not all(isinstance(leaf, OnValues) for leaf in naming):
            return True
        return any(not isinstance(it, str | None) for it in self.index.dictionaries.at_hand(column, positions))

    def column_leaves(self, numbers: Sequence[int]) -> list[ColumnLeaf]:
        """Return those of some parts that name one column."""
        return [leaf for i in numbers if isinstance(leaf := self.parts[i], ColumnLeaf)]

    def by_column(self) -> list[tuple[LeafColumn, list[int]]]:
        """Return the columns that files say something about, each with the numbers of its leaves."""
        leaves_of: dict[Path, list[int]] = {path: [] for path in self.columns}
        for i, leaf in enumerate(self.parts):
            if isinstance(leaf, ColumnLeaf) and leaf.column in leaves_of:
                leaves_of[leaf.column].append(i)
        return [(self.columns[path], leaf_indices) for path, leaf_indices in leaves_of.items() if leaf_indices]

    def pairs(self) -> list[tuple[int, CompareColumns]]:
        """Return the comparisons of two columns that files say something about, each with its number."""
        return [
            (i, leaf)
            for i, leaf in enumerate(self.parts)
            if isinstance(leaf, CompareColumns) and leaf.left in self.columns and leaf.right in self.columns
        ]

    def fold(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Combine the outcomes of the parts per row group; a row group without rows has no outcome."""
        folded = self.fold_listed(outcomes)
        if self.files.elsewhere is not None:
            folded[~self.files.elsewhere.kept[self.index.groups.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_listed(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Do the same by what lists the files and what `outcomes` say, without what other processes found."""
        folded = self.fold_anywhere(outcomes)
        folded[self.index.groups.row_count <= 0] = Outcomes.NONE
        # What lists the files may deny more than its outcomes of the leaves add up to.
        folded[~self.files.kept[self.index.groups.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_anywhere(self, outcomes: OutcomeArray) -> OutcomeArray:
        """Combine the outcomes of the parts in containers of any kind."""
        return fold_nodes(self.nodes, self.auxiliary.joined(outcomes))


def query_of(
    predicate: Predicate, index: MetadataIndex, files: FileAnswers | None = None, *, of_pages: bool = True
) -> PruningQuery:
    """Prepare a predicate for a dataset; `files`: what is known of each file, by default from directory names."""
    columns = {column.path: column for column in index.groups.columns if tells_nulls(column)}
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
    """What a level and those before it left.

    `outcomes`: per row group; `by_leaf`: the same for each leaf of the predicate, a row each, as far as whole row
    groups go. `unit`: what the level skips as a whole. `of_pages`: the outcomes by page, of the row groups that the
    levels before left.
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
        """Row groups in which a row may be selected."""
        return may_match(self.outcomes)


@dataclass(frozen=True, slots=True)
class PruningLevel:
    """One kind of evidence.

    `evaluate` returns what is left of what the levels before it left; None where the table has nothing of the kind.
    `is_free`: it takes no read of its own, since its evidence came with the listing or the footers. `denies`: how a
    reason begins where it skips a row group. `explain`: why it left a leaf open in a row group, empty for nothing
    to say; it reads nothing.
    """

    name: str
    evaluate: Callable[[PruningQuery, LevelState], LevelState | None]
    is_free: bool = False
    denies: str = ""
    explain: Callable[[LevelState, PruningQuery, ColumnLeaf, LeafColumn, int], str] | None = None
