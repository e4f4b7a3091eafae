"""Read selected rows of row groups page by page.

The pages of all row groups and columns are requested together; Arrow decodes them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.errors import StaleListing, StaleTable
from parquet_core.ragged import spans
from parquet_core.storage import find_file, is_remote, read_many
from parquet_core.storage.ranges import in_flight
from parquet_core.values import reading
from parquet_core.values.page_file import ChunkPages, decode_pages, schema_of
from parquet_core.values.page_ranges import PagedChunk, byte_ranges, chosen_rows, covering_rows, rows_of_pages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.storage import DataFile

DECODING_THREADS = 2
_NO_PAGES = (np.zeros(0, np.int64),) * 3


class GroupRows(NamedTuple):
    """Rows of one row group (its index number) as ascending half-open ranges, shape (n, 2)."""

    position: int
    ranges: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Number of rows."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())


class _RowPart(NamedTuple):
    """Columns of a row group that are read for the same rows.

    `covered`: rows of the pages to read. `ranges`: wanted rows among them.
    `bytes`: per chunk, the byte ranges of its pages in the file.
    """

    file: DataFile
    provenance_id: int
    chunks: tuple[PagedChunk, ...]
    covered: NDArray[np.int64]
    ranges: NDArray[np.int64]
    bytes: tuple[tuple[tuple[int, int], ...], ...]
    group_rows: int

    @property
    def rows(self) -> int:
        """Number of rows in the pages to read."""
        return int((self.covered[:, 1] - self.covered[:, 0]).sum())


@dataclass(slots=True)
class RowPages:
    """Reader of rows of an index's row groups.

    `leaves`: leaves to read, by top-level column. Pages are not cached: each call that needs a page fetches it.
    """

    index: MetadataIndex
    leaves: Mapping[str, Sequence[LeafColumn]]
    _schemas: dict[tuple[int, tuple[int, ...]], bytes] = field(default_factory=dict)

    def read(
        self, wanted: Sequence[GroupRows], stored: Sequence[Mapping[str, Sequence[LeafColumn]]]
    ) -> list[dict[str, pa.ChunkedArray]]:
        """Return the columns of the wanted rows, one dict per row group.

        `stored`: per row group, column -> its leaves in the file. Raises StaleTable if a file changed since it was
        planned, MalformedFile, UnsupportedFeature and StorageFailure.
        """
        if not wanted:
            return []
        try:
            return self._read(wanted, stored)
        except StaleListing:
            self._check_files(wanted)
            raise

    def _read(
        self, wanted: Sequence[GroupRows], stored: Sequence[Mapping[str, Sequence[LeafColumn]]]
    ) -> list[dict[str, pa.ChunkedArray]]:
        chunks = self._chunks(wanted, stored)
        parts = [self._parts(rows, columns) for rows, columns in zip(wanted, chunks, strict=True)]
        everything = [part for row_parts in parts for part in row_parts]
        data = iter(_fetched(everything, self.index))
        jobs = [(part, next(data)) for part in everything]
        decoded = in_flight(self._decode, jobs, threads=DECODING_THREADS, ahead=2 * DECODING_THREADS)
        return [
            {name: t.column(name) for t in (next(decoded) for _ in row_parts) for name in t.column_names}
            for row_parts in parts
        ]

    def _check_files(self, wanted: Sequence[GroupRows]) -> None:
        """Raise StaleTable if a local file changed since it was planned."""
        file_indexes = dict.fromkeys(int(self.index.groups.file[rows.position]) for rows in wanted)
        files = [self.index.groups.files[file_index] for file_index in file_indexes]
        for planned in files:
            if not is_remote(planned.path) and find_file(planned.path) != planned:
                raise StaleTable(f"{planned.path}: changed since it was planned; read again")

    def _chunks(
        self, wanted: Sequence[GroupRows], stored: Sequence[Mapping[str, Sequence[LeafColumn]]]
    ) -> list[dict[str, list[PagedChunk]]]:
        """Return the chunks per row group and column."""
        positions = np.array([rows.position for rows in wanted], np.int64)
        chunks: list[dict[str, list[PagedChunk]]] = [{} for _ in wanted]
        flat = self._leaves_as_stored(stored)
        # Row groups that are read whole need no page positions.
        in_parts = np.flatnonzero([rows.total < self.index.groups.row_count[rows.position] for rows in wanted])
        located = self.index.page_indexes.locations([leaf for _, leaf in flat], positions[in_parts])
        part_indexes = dict(zip(in_parts.tolist(), range(len(in_parts)), strict=True))
        of_groups = [{leaf.path: leaf for leaves in columns.values() for leaf in leaves} for columns in stored]
        for (name, leaf), offsets in zip(flat, located, strict=True):
            facts = self.index.footers.chunks(leaf)
            for i, position in enumerate(positions.tolist()):
                in_file = of_groups[i].get(leaf.path)
                if in_file is not None:
                    pages = _pages(offsets, part_indexes[i]) if i in part_indexes else _NO_PAGES
                    chunk = PagedChunk(
                        in_file.index,
                        int(facts.codec[position]),
                        int(facts.first_page_offset[position]),
                        int(facts.compressed_bytes[position]),
                        int(facts.data_page_offset[position]),
                        int(facts.num_values[position]),
                        self.index.groups.files[int(self.index.groups.file[position])].size,
                        *pages,
                        self.index.groups.place(position, leaf),
                    )
                    chunks[i].setdefault(name, []).append(chunk)
        return chunks

    def _leaves_as_stored(self, stored: Sequence[Mapping[str, Sequence[LeafColumn]]]) -> list[tuple[str, LeafColumn]]:
        """Return the leaves of each column, one per path that files use."""
        of_table = {leaf.path: leaf for leaves in self.leaves.values() for leaf in leaves}
        leaves_by_path: dict[Path, tuple[str, LeafColumn]] = {}
        for columns in stored:
            for name, in_file in columns.items():
                leaves_by_path |= {leaf.path: (name, of_table.get(leaf.path, leaf)) for leaf in in_file}
        return list(leaves_by_path.values())

    def _parts(self, rows: GroupRows, columns: Mapping[str, list[PagedChunk]]) -> list[_RowPart]:
        """Group columns whose covering pages hold the same rows."""
        file_index, count = int(self.index.groups.file[rows.position]), int(self.index.groups.row_count[rows.position])
        together: defaultdict[bytes, list[PagedChunk]] = defaultdict(list)
        covers: dict[bytes, NDArray[np.int64]] = {}
        for chunks in columns.values():
            covered = covering_rows(chunks, rows.ranges, count)
            covers[covered.tobytes()] = covered
            together[covered.tobytes()] += chunks
        return [
            _RowPart(
                self.index.groups.files[file_index],
                int(self.index.groups.provenance_ids[file_index]),
                ordered := tuple(sorted(chunks, key=lambda chunk: chunk.leaf)),
                covers[key],
                rows.ranges,
                tuple(tuple(byte_ranges(chunk, covers[key], count)) for chunk in ordered),
                count,
            )
            for key, chunks in together.items()
        ]

    def _decode(self, job: tuple[_RowPart, list[list[bytes]]]) -> pa.Table:
        part, data = job
        provenance = self.index.groups.provenances[part.provenance_id]
        leaf_indexes = tuple(chunk.leaf for chunk in part.chunks)
        if (part.provenance_id, leaf_indexes) not in self._schemas:
            self._schemas[part.provenance_id, leaf_indexes] = schema_of(provenance, leaf_indexes)
        chunks = [
            _attach_bytes(provenance.columns[chunk.leaf], chunk, part, ranges, pieces)
            for chunk, ranges, pieces in zip(part.chunks, part.bytes, data, strict=True)
        ]
        with reading(part.file):
            table = decode_pages(provenance, self._schemas[part.provenance_id, leaf_indexes], chunks, part.rows)
            return chosen_rows(table, part.covered, part.ranges)


def _pages(offsets: OffsetIndexes, i: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    span = slice(int(offsets.first[i]), int(offsets.first[i + 1])) if offsets.reason[i] == "" else slice(0, 0)
    return offsets.offset[span], offsets.compressed_bytes[span], offsets.first_row[span]


def _fetched(parts: Sequence[_RowPart], index: MetadataIndex) -> Iterator[list[list[bytes]]]:
    """Fetch the bytes of parts with one joint read per file.

    Yields the pieces by part and chunk.
    """
    by_file: defaultdict[DataFile, list[tuple[int, int]]] = defaultdict(list)
    for part in parts:
        by_file[part.file] += [piece for pieces in part.bytes for piece in pieces]
    answers = read_many(list(by_file.items()), purpose="rows", traffic=index.groups.traffic)
    pieces = {file: iter(file_pieces) for file, file_pieces in zip(by_file, answers, strict=True)}
    for part in parts:
        yield [[next(pieces[part.file]) for _ in chunk_ranges] for chunk_ranges in part.bytes]


def _page_values(leaf: LeafColumn, chunk: PagedChunk, part: _RowPart) -> list[int]:
    """Return the number of values per page.

    Empty for lists, whose values are not counted in rows.
    """
    return [] if leaf.max_repetition_level else rows_of_pages(chunk, part.covered, part.group_rows)


def _attach_bytes(
    leaf: LeafColumn, chunk: PagedChunk, part: _RowPart, ranges: Sequence[tuple[int, int]], data: list[bytes]
) -> ChunkPages:
    is_whole = len(ranges) == 1 and ranges[0][0] == chunk.start and ranges[0][1] >= chunk.length
    if is_whole:
        count, dictionary, length = chunk.num_values, max(0, chunk.data_start - chunk.start), chunk.length
    else:
        dictionary = len(data[0]) if chunk.offset[0] > chunk.start else 0
        count, length = None, sum(map(len, data))
    # A flat column has one value per row, whatever the metadata claim.
    count = count if leaf.max_repetition_level else part.rows
    joined = data[0] if len(data) == 1 else b"".join(data)
    page_values = _page_values(leaf, chunk, part)
    return ChunkPages(chunk.leaf, chunk.codec, joined, length, dictionary, count, page_values, chunk.location)


def rows_in(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers in ranges.

    >>> rows_in(np.array([[1, 3], [7, 8]])).tolist()
    [1, 2, 7]
    """
    return spans(ranges[:, 0], ranges[:, 1] - ranges[:, 0])


def chosen(ranges: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows of ranges where `keep` is True, as ranges."""
    return as_ranges(rows_in(ranges)[keep])


def without(ranges: NDArray[np.int64], deleted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ranges without the `deleted` rows, which are ascending."""
    rows = rows_in(ranges)
    return as_ranges(rows[~np.isin(rows, deleted, assume_unique=True)])


def as_ranges(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ascending row numbers as ranges.

    >>> as_ranges(np.array([1, 2, 7])).tolist()
    [[1, 3], [7, 8]]
    """
    if len(rows) == 0:
        return np.zeros((0, 2), np.int64)
    heads = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
    return np.column_stack([rows[heads], rows[np.append(heads[1:] - 1, len(rows) - 1)] + 1])
