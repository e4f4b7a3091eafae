"""Some files of a table that lists them itself, for another process to read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parquet_core.dataset.opening import read_logged
from parquet_core.storage import Traffic, look_up

if TYPE_CHECKING:
    from parquet_core.dataset.logged import LoggedFiles
    from parquet_core.dataset.metadata_index import MetadataIndex


@dataclass(frozen=True, slots=True)
class LoggedPart:
    """Some files of a table as it lists them; `paths`: where they lie."""

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
