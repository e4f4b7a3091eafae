"""What a predicate may be in each file of a table, as far as whatever lists the files tells before they are opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_core.outcomes import may_match, must_match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Path


@dataclass(frozen=True, slots=True)
class FileAnswers:
    """What a predicate may be in each file.

    `partitions`: by partition values alone; `outcomes`: with statistics too; `by_leaf`: the same for each leaf.
    `by_values`: the partition columns that have values. `told`: the columns whose statistics say something in a file
    that was asked; None where the files are listed without any. `asked`: how many files were.
    """

    partitions: OutcomeArray
    outcomes: OutcomeArray
    by_leaf: tuple[OutcomeArray, ...]
    by_values: frozenset[Path] = frozenset()
    told: frozenset[Path] | None = frozenset()
    asked: int = 0

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Files that may hold a row that the predicate selects."""
        return may_match(self.outcomes)

    @property
    def matches(self) -> NDArray[np.bool_]:
        """Files of which every row is selected."""
        return must_match(self.outcomes)
