"""What is known of a table whose health is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deltalog.inspection import DeltaInspection
    from parquet_core.dataset.metadata_index import MetadataIndex

MAX_COMMITS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedFiles:
    """The files of a table, by their footers.

    `partition`: a number for the partition of each file. `columns`: those to look at; by default all by which
    predicates prune. `clustered_by`: the columns that cluster the table by its log.
    """

    name: str
    index: MetadataIndex
    partition: NDArray[np.int64]
    columns: Sequence[str] = ()
    clustered_by: Sequence[str] = ()
    max_small_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedLog:
    """A version of a Delta table, by its log. `size`, `partition`: of each live file."""

    name: str
    log: DeltaInspection
    size: NDArray[np.int64]
    partition: NDArray[np.int64]
    max_commits: int = MAX_COMMITS
    max_small_files: int | None = None
