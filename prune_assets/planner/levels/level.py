"""A level: one kind of evidence, how it is asked, and what it says of what it leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from parquet_core.outcomes import may_match

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.planner.levels.page_level import PageAnswers
    from prune_assets.planner.levels.question import Question
    from prune_assets.report.skip_report import LevelName, Status

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
