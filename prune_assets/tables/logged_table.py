"""Tables whose log or manifests list the files: what Delta and Iceberg share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from parquet_core.dataset.logged import FileList
from parquet_core.dataset.opening import read_logged
from parquet_core.storage import Traffic, look_up
from prune_assets.tables.table import TableDefaults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.logged import LoggedFiles
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.storage import DataFile


class Root(NamedTuple):
    """Where files are: the table's directory, and the bytes that were read.

    `any_case`: whether names in files may differ in case from the names of the columns.
    """

    directory: str
    traffic: Traffic
    any_case: bool = False


class LoggedTable(TableDefaults, Protocol):
    """Members of `Table` for listed files; `last_answers`: a predicate and its answers."""

    cache: MetadataCache | None
    last_answers: tuple[Predicate, FileAnswers] | None

    @property
    def root(self) -> Root:
        """Where files are."""

    def allowed_place(self, location: str) -> str:
        """Return the place of a listed file; raises UnsupportedFeature if the file may not be opened."""

    def logged(self) -> LoggedFiles:
        """Return the live files as they are listed, all unopened."""

    def skip_files(self, predicate: Predicate) -> FileAnswers:
        """Evaluate a predicate on every live file by its statistics."""

    def rewrite_scope(self) -> NDArray[np.int64]:
        """Return a number for the partition of each file."""

    def look_up(self, paths: Sequence[str]) -> list[DataFile]:
        """Return files as they are now."""
        return look_up(paths)

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return the outcome of a predicate for every live file; the last answer is cached."""
        if self.last_answers is None or self.last_answers[0] is not predicate:
            self.last_answers = predicate, self.skip_files(predicate)
        return self.last_answers[1]

    def unread(self) -> NDArray[np.bool_]:
        """Count every file: cached footers are not looked up before they are read."""
        return np.ones(len(self.logged().files), np.bool_)

    def read_all(self) -> MetadataIndex:
        """Read the footers of all live files."""
        return self.read(self.unread())

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the footers of the `wanted` files."""
        logged, chosen = self.logged(), np.flatnonzero(wanted).tolist()
        paths = self._paths(logged, chosen)
        found = {file.path: file for file in self.look_up(paths)}
        files = replace(logged.files, found={i: found[path] for i, path in zip(chosen, paths, strict=True)})
        directory, traffic, any_case = self.root
        logged = replace(logged, files=files, opened=wanted)
        return read_logged(directory, logged, traffic=traffic, cache=self.cache, any_case=any_case)

    def part(self, numbers: NDArray[np.int64]) -> LoggedPart:
        """Return some of the files for another process to read."""
        logged = self.logged()
        paths = tuple(self._paths(logged, numbers.tolist()))
        some = replace(
            logged,
            files=FileList(paths.__getitem__, logged.files.sizes[numbers], {}),
            opened=np.ones(len(numbers), np.bool_),
            row_count=logged.row_count[numbers],
            deleted=logged.deleted[numbers],
        )
        return LoggedPart(self.root.directory, paths, some, self.root.any_case)

    def read_partitioned(self, numbers: NDArray[np.int64] | None = None) -> tuple[MetadataIndex, NDArray[np.int64]]:
        """Read the footers of all files, or of some as a table of these alone, and number the partition of each."""
        partition = self.rewrite_scope()
        return (self.read_all(), partition) if numbers is None else (self.part(numbers).read_all(), partition[numbers])

    def _paths(self, logged: LoggedFiles, numbers: Sequence[int]) -> list[str]:
        return [self.allowed_place(logged.files.path(i)) for i in numbers]


@dataclass(frozen=True, slots=True)
class LoggedPart:
    """Some files of a table as it lists them; `paths`: their paths."""

    table: str
    paths: tuple[str, ...]
    logged: LoggedFiles
    any_case: bool

    def read_all(self) -> MetadataIndex:
        """Read the footers of the files, as they are now."""
        found = {file.path: file for file in look_up(list(self.paths))}
        files = replace(self.logged.files, found={i: found[path] for i, path in enumerate(self.paths)})
        logged = replace(self.logged, files=files)
        return read_logged(self.table, logged, traffic=Traffic(), any_case=self.any_case)
