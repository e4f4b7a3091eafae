"""Planned reads of a table as plain data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from parquet_core.pruning.access_plan import Verdict
from parquet_core.ragged import distinct
from parquet_core.storage import is_remote, local_path
from prune_assets.planner.extents import PlannedExtent, Sizes, kept_by, measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning import Evaluation
    from parquet_core.pruning.predicate import OnPartitions, OnValues, Unsupported
    from parquet_core.storage import DataFile
    from prune_assets.planner.join_keys import JoinKeys
    from prune_assets.sql.lower import LoweredPredicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.table import Table

Depth: TypeAlias = Literal["row_groups", "pages"]
# "directory": a local directory. "path": a file, a pattern, or a remote location. "list": several paths. "unfinished":
# a table with the journal of an unfinished write, which Spark does not know.
TableLocator: TypeAlias = Literal["directory", "path", "list", "unfinished"]


@dataclass(frozen=True, repr=False)
class PlannedRead:
    """Rows to read of a table for a predicate.

    `index`: the metadata used.
    `evaluation`: the outcomes of every level.
    `seconds`, `requests`, `fetched`: time, requests and bytes (per kind of metadata) of the planning.
    `tests`: tests on column values, for conditions that bounds cannot decide.
    `lowered`: the predicate, with the conditions of the joins.
    `where`: the predicate alone.
    `joins`: conditions that follow from the keys of each join.
    """

    table: Table
    semantics: SparkSemantics
    lowered: LoweredPredicate
    where: LoweredPredicate
    columns: tuple[LeafColumn, ...]
    index: MetadataIndex
    evaluation: Evaluation
    seconds: float
    requests: int
    fetched: dict[str, int]
    depth: Depth = "pages"
    locator: TableLocator = "directory"
    tests: Mapping[Unsupported, OnValues | OnPartitions] = field(default_factory=dict)
    joins: tuple[JoinKeys, ...] = ()

    @property
    def predicate_sql(self) -> str:
        """The predicate and the conditions of the joins, for reports."""
        keys = [join.sql for join in self.joins if join.conjuncts]
        is_alone = not keys or len(self.lowered.conjuncts) > sum(len(join.conjuncts) for join in self.joins)
        return " AND ".join([*([self.where.sql] if is_alone else []), *keys])

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of the columns read, per row group."""
        self.table.count_rows(self.index)
        return measure(self.index, self.columns)

    @cached_property
    def kept(self) -> PlannedExtent:
        """Data read per row group. Fetches the offset indexes, which give the bytes of selected pages."""
        return kept_by(self.evaluation.access, self.index, self.columns, self.sizes)

    @property
    def surviving_numbers(self) -> NDArray[np.int64]:
        """Ascending numbers (in the index) of the files that have a row to read."""
        return distinct(self.index.groups.file[self.evaluation.access.verdict != Verdict.SKIP])

    @property
    def surviving_files(self) -> tuple[DataFile, ...]:
        """Files that have a row to read."""
        return tuple(self.index.groups.files[i] for i in self.surviving_numbers.tolist())


def locator_of(table: str | os.PathLike[str] | Sequence[str]) -> TableLocator:
    """Return how a table was named: by a list of paths, by a directory, or by another path."""
    if not isinstance(table, str | os.PathLike):
        return "list"
    path = os.fspath(table)
    return "directory" if not is_remote(path) and Path(local_path(path)).is_dir() else "path"
