"""Live files of a snapshot, numbered in manifest order.

A manifest is read when one of its files is needed. The manifest list has the file count of each manifest, so files of
unread manifests have numbers too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import pyarrow as pa

from prune_assets.tables.iceberg.manifests.manifest import BOUNDS, Listed, Manifest, open_manifest
from prune_assets.tables.iceberg.metadata_files import wrapping_pyiceberg_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from prune_assets.tables.iceberg.metadata_files import MetadataFiles

# Number of manifests that are fetched together, and held compressed and decompressed.
_AT_ONCE = 32


class ListedFile(NamedTuple):
    """A file as listed in its manifest, with Iceberg's field names."""

    file_path: str
    file_size_in_bytes: int
    record_count: int
    spec_id: int
    partition: tuple[Any, ...]


class Miscounted(Exception):
    """A manifest lists more or fewer files than the manifest list claims."""


class ListedFiles(Sequence[ListedFile]):
    """Files by number.

    `specs`: partition field ids of each spec.
    `miscounted`: True if file counts of the manifest list are wrong; all manifests are then read.
    """

    def __init__(
        self,
        listed: Sequence[Listed],
        specs: Mapping[int, Sequence[int]],
        io: MetadataFiles,
        *,
        miscounted: bool = False,
    ) -> None:
        """Number the files; reads manifests whose file count is unknown."""
        self.listed, self._specs, self._io = listed, specs, io
        self._opened: dict[int, Manifest] = {}
        unknown = range(len(listed)) if miscounted else [i for i, entry in enumerate(listed) if entry.files is None]
        self._read(list(unknown), ())
        counts = [len(self._opened[i].row) if i in self._opened else entry.files or 0 for i, entry in enumerate(listed)]
        self.first = np.array([0, *accumulate(counts)], np.int64)

    def __len__(self) -> int:
        """Return the number of files, including files of unread manifests."""
        return int(self.first[-1])

    @property
    def opened(self) -> NDArray[np.bool_]:
        """Flags of the manifests that were read already."""
        flags = np.zeros(len(self.listed), np.bool_)
        flags[list(self._opened)] = True
        return flags

    @property
    def has_entry(self) -> NDArray[np.bool_]:
        """Flags of the files whose manifest was read, so that their entries are known."""
        return self.by_file(self.opened)

    def by_file(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat the value of each manifest for each of its files."""
        return np.repeat(values, np.diff(self.first))

    def open(self, wanted: NDArray[np.bool_], fields: Iterable[int] = (), io: MetadataFiles | None = None) -> None:
        """Read the wanted manifests, with bounds of some columns.

        `fields`: field ids of these columns.

        Raises Miscounted if file counts of the manifest list are wrong.
        """
        fields, self._io = list(fields), io or self._io
        for i in np.flatnonzero(wanted & self.opened).tolist():
            with wrapping_pyiceberg_errors(self.listed[i].location):
                self._opened[i].read(fields)
        self._read(np.flatnonzero(wanted & ~self.opened).tolist(), fields)
        for i, manifest in self._opened.items():
            if len(manifest.row) != self.first[i + 1] - self.first[i]:
                raise Miscounted

    def _read(self, indexes: list[int], fields: Iterable[int]) -> None:
        for first in range(0, len(indexes), _AT_ONCE):
            batch = indexes[first : first + _AT_ONCE]
            self._io.fetch([self.listed[i].location for i in batch])
            for i in batch:
                entry = self.listed[i]
                with wrapping_pyiceberg_errors(entry.location):
                    data = self._io.new_input(entry.location).data
                    self._opened[i] = open_manifest(entry, data, fields, self._specs[entry.spec])

    @overload
    def __getitem__(self, index: int) -> ListedFile: ...

    @overload
    def __getitem__(self, index: slice) -> list[ListedFile]: ...

    def __getitem__(self, index: int | slice) -> ListedFile | list[ListedFile]:
        """Return a file; reads its manifest if necessary."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        of, i = self._locate(int(index) % len(self))
        manifest = self._manifest(of)
        return ListedFile(
            self.path(int(index)),
            int(manifest.sizes[i]),
            int(manifest.records[i]),
            manifest.listed.spec,
            manifest.partition_of(i),
        )

    def path(self, index: int) -> str:
        """Return a file's location as written in its manifest."""
        of, i = self._locate(index % len(self))
        with wrapping_pyiceberg_errors(self.listed[of].location):
            return self._manifest(of).paths()[i]

    def name(self, index: int) -> str:
        """Return a file's location.

        If its manifest is unread, return the manifest's location with the file's number in the manifest, such as
        `m0.avro#3`.
        """
        of, i = self._locate(index % len(self))
        return self.path(index) if of in self._opened else f"{self.listed[of].location}#{i}"

    def _locate(self, index: int) -> tuple[int, int]:
        of = int(np.searchsorted(self.first, index, side="right")) - 1
        return of, index - int(self.first[of])

    def _manifest(self, of: int) -> Manifest:
        if of not in self._opened:
            self.open(np.arange(len(self.listed)) == of)
        return self._opened[of]

    def numbers(self, name: str, missing: int) -> NDArray[np.int64]:
        """Return one number for each file; `missing` for files of unread manifests.

        `name`: `sizes`, `records` or `sequence`.
        """
        values = np.full(len(self), missing, np.int64)
        for i, manifest in self._opened.items():
            values[self.first[i] : self.first[i + 1]] = getattr(manifest, name)
        return values

    @property
    def spec(self) -> NDArray[np.int64]:
        """Partition spec id of each file."""
        return self.by_file(np.array([entry.spec for entry in self.listed], np.int64))

    def partition_values(self, spec: int, position: int) -> tuple[NDArray[np.int64], list[Any]]:
        """Return the numbers of files of a spec whose manifests were read, and their values of a partition field."""
        file_numbers: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        values: list[Any] = []
        for i, manifest in sorted(self._opened.items()):
            of_field = manifest.partition[position] if manifest.listed.spec == spec else None
            if of_field is not None:
                file_numbers.append(np.arange(self.first[i], self.first[i + 1]))
                values += of_field
        return np.concatenate(file_numbers), values

    def partitions(self) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """Yield number, spec and partition of each file whose manifest was read."""
        for i, manifest in sorted(self._opened.items()):
            for k in range(len(manifest.row)):
                yield int(self.first[i]) + k, manifest.listed.spec, manifest.partition_of(k)

    def of_column(self, of: int, field_id: int) -> Any:
        """Return bounds or counts of a column in each file; unknown bounds are null, unknown counts -1.

        `of`: the bound or count to return (`LOWER`, ..).
        """
        parts: list[Any] = []
        empty = pa.nulls(0, pa.binary()) if of in BOUNDS else np.zeros(0, np.int64)
        for i in range(len(self.listed)):
            count = int(self.first[i + 1] - self.first[i])
            if i in self._opened:
                self._opened[i].read([field_id])
                parts.append(self._opened[i].cached[of, field_id])
            else:
                parts.append(pa.nulls(count, pa.binary()) if of in BOUNDS else np.full(count, -1, np.int64))
        if of in BOUNDS:
            return pa.concat_arrays([empty, *parts])
        return np.concatenate([empty, *parts])
