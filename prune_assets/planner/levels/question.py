"""What every level is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_core.outcomes import Outcomes, may_match
from parquet_core.predicate import ColumnLeaf, CompareColumns, OnValues, columns_of, columns_of_leaf, leaves
from parquet_core.pruning import prepare
from parquet_core.spark_rules.spark_schema import tells_nulls
from prune_assets.planner.levels.auxiliary_leaves import auxiliary_leaves
from prune_assets.tables.parquet import answers_of_directories

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.logged import FileAnswers
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate
    from parquet_core.pruning import Fold
    from prune_assets.planner.levels.auxiliary_leaves import AuxiliaryLeaves
    from prune_assets.planner.levels.page_level import PageAnswers
    from prune_assets.report.skip_report import LevelName, Status


@dataclass(frozen=True, slots=True)
class Question:
    """A predicate, its leaves from left to right, and the dataset it is asked of.

    Behind its leaves `parts` has the `auxiliary` ones.
    `columns`: those that files say something about. `files`: what is known of each file before it is opened.
    `of_pages`: page indexes are asked too.
    """

    predicate: Predicate
    parts: tuple[Leaf, ...]
    index: MetadataIndex
    columns: dict[Path, LeafColumn]
    prepared: Fold
    auxiliary: AuxiliaryLeaves
    files: FileAnswers
    of_pages: bool = True

    def column_of(self, leaf: Leaf) -> LeafColumn | None:
        """Return the column that evidence about a leaf is looked up by; None when there is none to have."""
        return self.columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None

    def asked(self) -> list[LeafColumn]:
        """Return the columns of the predicate that files say something about, each once."""
        return [self.columns[path] for path in columns_of(self.predicate) if path in self.columns]

    def asked_of_pages(self, answers: OutcomeArray, positions: NDArray[np.int64]) -> list[LeafColumn]:
        """Return the same with the columns of which some row groups hold null and other values, where that matters.

        `answers`: to the parts in the row groups at `positions`. Without those that only parts name which are asked of
        values, unless dictionaries were read: where there are too many values for one, no page has a single one.
        """
        asked = [column for column in self.asked() if self._may_have_bounds_that_tell(column, positions)]
        undecided = Outcomes.TRUE | Outcomes.FALSE
        mixed = [path for place, path in self.auxiliary.null_columns() if np.any(answers[place] == undecided)]
        return list(dict.fromkeys([*asked, *(self.columns[path] for path in mixed)]))

    def _may_have_bounds_that_tell(self, column: LeafColumn, positions: NDArray[np.int64]) -> bool:
        naming = [leaf for leaf in self.parts[: self.auxiliary.leaves] if column.path in columns_of_leaf(leaf)]
        if not all(isinstance(leaf, OnValues) for leaf in naming):
            return True
        return any(not isinstance(it, str | None) for it in self.index.dictionaries.at_hand(column, positions))

    def column_leaves(self, numbers: Sequence[int]) -> list[ColumnLeaf]:
        """Return those of some parts that ask a column."""
        return [leaf for i in numbers if isinstance(leaf := self.parts[i], ColumnLeaf)]

    def by_column(self) -> list[tuple[LeafColumn, list[int]]]:
        """Return the columns that files say something about, each with the numbers of its leaves."""
        found: dict[Path, list[int]] = {path: [] for path in self.columns}
        for i, leaf in enumerate(self.parts):
            if isinstance(leaf, ColumnLeaf) and leaf.column in found:
                found[leaf.column].append(i)
        return [(self.columns[path], numbers) for path, numbers in found.items() if numbers]

    def pairs(self) -> list[tuple[int, CompareColumns]]:
        """Return the comparisons of two columns that files say something about, each with its number."""
        return [
            (i, leaf)
            for i, leaf in enumerate(self.parts)
            if isinstance(leaf, CompareColumns) and leaf.left in self.columns and leaf.right in self.columns
        ]

    def fold(self, answers: OutcomeArray) -> OutcomeArray:
        """Combine the answers to the parts per row group; a row group without rows has no outcome."""
        folded = self.fold_listed(answers)
        if self.files.elsewhere is not None:
            folded[~self.files.elsewhere.kept[self.index.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_listed(self, answers: OutcomeArray) -> OutcomeArray:
        """Do the same by what lists the files and what `answers` say, without what other processes found."""
        folded = self.fold_anywhere(answers)
        folded[self.index.row_count <= 0] = Outcomes.NONE
        # What lists the files may deny more than its answers to the leaves add up to.
        folded[~self.files.kept[self.index.file]] &= ~np.uint8(Outcomes.TRUE)
        return folded

    def fold_anywhere(self, answers: OutcomeArray) -> OutcomeArray:
        """Combine the answers to the parts about containers of any kind."""
        return self.prepared(self.auxiliary.joined(answers))


def question_of(
    predicate: Predicate, index: MetadataIndex, files: FileAnswers | None = None, *, of_pages: bool = True
) -> Question:
    """Ask a predicate of a dataset; `files`: what is known of each file, by default what directory names tell."""
    columns = {column.path: column for column in index.columns if tells_nulls(column)}
    parts = tuple(leaves(predicate))
    auxiliary = auxiliary_leaves(parts, columns)
    return Question(
        predicate=predicate,
        parts=(*parts, *auxiliary.extra),
        index=index,
        columns=columns,
        prepared=prepare(predicate),
        auxiliary=auxiliary,
        files=answers_of_directories(predicate, index) if files is None else files,
        of_pages=of_pages,
    )


Unit = Literal["file", "row group", "page"]


@dataclass(frozen=True, slots=True)
class LevelState:
    """What a level and those before it left.

    `answers`: per row group; `by_leaf`: the same for each leaf of the predicate, a row each, as far as whole row
    groups go. `unit`: what the level rules out as a whole. `of_pages`: what a level of pages says of the row groups
    that those before it left.
    """

    level: LevelName
    answers: OutcomeArray
    by_leaf: OutcomeArray
    status: Status
    why: str = ""
    unit: Unit = "row group"
    of_pages: PageAnswers | None = None

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Row groups in which a row may be selected."""
        return may_match(self.answers)


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of evidence.

    `ask` returns what is left of what the levels before it left; None where the table has nothing of the kind.
    `is_free`: it takes no read of its own, since what it asks came with the listing or the footers. `denies`: how a
    reason begins where it rules a row group out. `explain`: why it left a leaf open in a row group, empty for nothing
    to say; it reads nothing.
    """

    name: LevelName
    ask: Callable[[Question, LevelState], LevelState | None]
    is_free: bool = False
    denies: str = ""
    explain: Callable[[LevelState, Question, ColumnLeaf, LeafColumn, int], str] | None = None
