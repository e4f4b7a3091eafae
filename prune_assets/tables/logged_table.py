"""Common parts of Delta and Iceberg tables, whose log or manifests list the files."""

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
    """Directory of a table, and the counter of bytes read.

    `any_case`: True if names in files may differ in case from the column names.
    """

    directory: str
    traffic: Traffic
    any_case: bool = False


class LoggedTable(TableDefaults, Protocol):
    """Members of `Table` for tables whose log or manifests list the files.

    `last_answers`: the last predicate and its outcomes.
    """

    cache: MetadataCache | None
    last_answers: tuple[Predicate, FileAnswers] | None

    @property
    def root(self) -> Root:
        """Directory and counter of bytes read."""

    def allowed_place(self, location: str) -> str:
        """Return the address of a listed file. Raises UnsupportedFeature if the file may not be opened."""

    def logged(self) -> LoggedFiles:
        """Return the live files as listed, all unopened."""

    def skip_files(self, predicate: Predicate) -> FileAnswers:
        """Evaluate a predicate for every live file by its statistics."""

    def rewrite_scope(self) -> NDArray[np.int64]:
        """Return the partition number of each file."""

    def look_up(self, paths: Sequence[str]) -> list[DataFile]:
        """Return the current size and time of files."""
        return look_up(paths)

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return the outcomes of a predicate for every live file; the last result is cached."""
        if self.last_answers is None or self.last_answers[0] is not predicate:
            self.last_answers = predicate, self.skip_files(predicate)
        return self.last_answers[1]

    def unread(self) -> NDArray[np.bool_]:
        """Flag every file, because cached footers are only found when the files are read."""
        return np.ones(len(self.logged().files), np.bool_)

    def read_all(self) -> MetadataIndex:
        """Read the footers of all live files."""
        return self.read(self.unread())

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the footers of the `wanted` files."""
        logged, chosen = self.logged(), np.flatnonzero(wanted).tolist()
        paths = self._paths(logged, chosen)
        files_by_path = {file.path: file for file in self.look_up(paths)}
        files = replace(logged.files, current={i: files_by_path[path] for i, path in zip(chosen, paths, strict=True)})
        directory, traffic, any_case = self.root
        logged = replace(logged, files=files, opened=wanted)
        return read_logged(directory, logged, traffic=traffic, cache=self.cache, any_case=any_case)

    def part(self, file_numbers: NDArray[np.int64]) -> LoggedPart:
        """Return some files as a part that another process can read."""
        logged = self.logged()
        paths = tuple(self._paths(logged, file_numbers.tolist()))
        logged_part = replace(
            logged,
            files=FileList(paths.__getitem__, logged.files.sizes[file_numbers], {}),
            opened=np.ones(len(file_numbers), np.bool_),
            row_count=logged.row_count[file_numbers],
            deleted=logged.deleted[file_numbers],
        )
        return LoggedPart(self.root.directory, paths, logged_part, self.root.any_case)

    def read_partitioned(
        self, file_numbers: NDArray[np.int64] | None = None
    ) -> tuple[MetadataIndex, NDArray[np.int64]]:
        """Read the footers of all files, and number the partition of each.

        `file_numbers`: read only these files; the returned index then has no other files.
        """
        partition = self.rewrite_scope()
        return (
            (self.read_all(), partition)
            if file_numbers is None
            else (self.part(file_numbers).read_all(), partition[file_numbers])
        )

    def _paths(self, logged: LoggedFiles, file_numbers: Sequence[int]) -> list[str]:
        return [self.allowed_place(logged.files.path(i)) for i in file_numbers]


@dataclass(frozen=True, slots=True)
class LoggedPart:
    """Some files of a table, as the log or the manifests list them.

    `paths`: paths of the files.
    """

    table: str
    paths: tuple[str, ...]
    logged: LoggedFiles
    any_case: bool

    def read_all(self) -> MetadataIndex:
        """Read the footers of the files in their current state."""
        files_by_path = {file.path: file for file in look_up(list(self.paths))}
        files = replace(self.logged.files, current={i: files_by_path[path] for i, path in enumerate(self.paths)})
        logged = replace(self.logged, files=files)
        return read_logged(self.table, logged, traffic=Traffic(), any_case=self.any_case)
