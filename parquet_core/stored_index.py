"""What is kept on disk of a dataset, and how its row groups correspond to those of today.

Files come and go between two looks at a table. Each column is kept with the generation of files it was
read from; a file that is still the same (path, size, time of change, etag) keeps its row groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_form import array_at, numbers_at
from parquet_core.ragged import firsts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.footer import EncodedKind
    from parquet_core.metadata_cache import TableCache
    from parquet_core.storage import DataFile

    Numbers = NDArray[np.int64]

_LATEST, _NO_TIME = "latest", -1


class KeptDataset(NamedTuple):
    """The row groups of a generation: `first` and those after it, by file; kinds as the footers encode them."""

    states: dict[tuple[str, int, int, str], int]
    kinds: tuple[EncodedKind, ...]
    kind: Numbers
    first: Numbers
    row_count: Numbers

    def files_like(self, files: Sequence[DataFile]) -> Numbers:
        """Return the index here of each file that is still the same, -1 for the others."""
        return np.array([self.states.get(_state(file), -1) for file in files], np.int64)


def _state(file: DataFile) -> tuple[str, int, int, str]:
    return file.path, file.size, file.modified_ns, file.etag or ""


@dataclass(slots=True)
class StoredIndex:
    """The metadata kept of one table, seen from the files of today."""

    cache: TableCache
    generation: str
    files: tuple[DataFile, ...]
    _kept: dict[str, KeptDataset | None] = field(default_factory=dict)
    _groups: dict[str, Numbers | None] = field(default_factory=dict)

    def dataset(self, generation: str) -> KeptDataset | None:
        """Return what is kept of a generation of files."""
        if generation not in self._kept:
            self._kept[generation] = self._read_dataset(generation)
        return self._kept[generation]

    def latest(self) -> KeptDataset | None:
        """Return today's generation, or else the one that was kept last."""
        exact = self.dataset(self.generation)
        if exact is not None:
            return exact
        found = self.cache.read(_LATEST)
        return None if found is None else self.dataset(found[0])

    def _read_dataset(self, generation: str) -> KeptDataset | None:
        found = self.cache.read(f"dataset {generation}")
        if found is None or found[0] != generation:
            return None
        batch = found[1]
        names = ("path", "size", "modified_ns", "etag")
        states = zip(*(array_at(batch, name).to_pylist() for name in names), strict=True)
        parts = [array_at(batch, f"kind_{part}").to_pylist() for part in range(4)]
        return KeptDataset(
            states={state: i for i, state in enumerate(states)},
            kinds=tuple(zip(*parts, strict=True)),
            kind=numbers_at(batch, "kind"),
            first=numbers_at(batch, "first"),
            row_count=numbers_at(batch, "row_count"),
        )

    def keep_dataset(self, kinds: Sequence[EncodedKind], kind: Numbers, groups: Numbers, row_count: Numbers) -> None:
        """Keep which row groups the files of today have; `groups` counts them by file."""
        settled = [file.modified_ns for file in self.files]
        values = {
            "path": pa.array([file.path for file in self.files], pa.string()),
            "size": np.array([file.size for file in self.files], np.int64),
            "modified_ns": np.array(settled, np.int64),
            "etag": pa.array([file.etag or "" for file in self.files], pa.string()),
            "kind": kind,
            "first": firsts(groups),
            "row_count": row_count,
        }
        values |= {f"kind_{part}": pa.array([entry[part] for entry in kinds], pa.binary()) for part in range(4)}
        self.cache.write(f"dataset {self.generation}", self.generation, values)
        self.cache.write(_LATEST, self.generation, {})

    def groups_in(self, generation: str) -> Numbers | None:
        """Return where each row group of today stands in a generation, -1 where it does not; None if all is lost."""
        if generation not in self._groups:
            kept, today = self.dataset(generation), self.dataset(self.generation)
            self._groups[generation] = None if kept is None else self._mapped(kept)
        return self._groups[generation]

    def _mapped(self, kept: KeptDataset) -> Numbers:
        raise NotImplementedError
