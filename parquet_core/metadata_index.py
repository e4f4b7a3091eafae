"""The metadata of a whole dataset, columnar: one position per row group, over all files.

Footers are read at once; page indexes and bloom filters when they are asked for, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from parquet_core.bloom import HEADER_BYTES, parse_filter, parse_header
from parquet_core.bounds import Bounds, EncodedBounds, decode_bounds, unknown_containers, without_dates_before_gregorian
from parquet_core.column_chunk import MAX_ROWS
from parquet_core.errors import MalformedFile
from parquet_core.footer import read_footer, read_schema
from parquet_core.page_index import (
    ColumnIndex,
    OffsetIndex,
    page_values,
    parse_column_index,
    parse_offset_index,
)
from parquet_core.partitions import partition_columns, without_overridden
from parquet_core.statistics import (
    is_rebased,
    leaf_in_file,
    may_be_rebased,
    null_counts,
    order_is_defined,
    row_group_statistics,
)
from parquet_core.storage import Traffic, list_data_files, read_range, read_ranges, summary_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_core.column_chunk import ByteRange, ColumnChunk
    from parquet_core.footer import Footer
    from parquet_core.predicate import Path
    from parquet_core.schema import LeafColumn
    from parquet_core.storage import DataFile

    Positions = NDArray[np.int64]

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class PageBatch:
    """The pages of one column over chosen row groups.

    `row_group`: position among the chosen; `first_row` counts inside the row group.
    """

    bounds: Bounds
    row_group: Positions
    first_row: Positions


@dataclass(slots=True)
class MetadataIndex:
    """What the files of a dataset say about themselves.

    `file`, `ordinal` and `row_count` have one entry per row group: index of its file, its number in
    the file, its rows. `columns` are those of the file that Spark takes the schema from; a column that a
    directory name overrides is marked as not to be pruned on. `summary`: that file, if it holds no data.
    """

    footers: tuple[Footer, ...]
    columns: tuple[LeafColumn, ...]
    partitions: tuple[LeafColumn, ...]
    summary: DataFile | None
    traffic: Traffic
    file: Positions
    ordinal: Positions
    row_count: Positions
    _leaves: dict[tuple[int, Path], LeafColumn | None] = field(default_factory=dict)
    _bounds: dict[Path, Bounds] = field(default_factory=dict)
    _indexes: dict[tuple[int, Path], tuple[ColumnIndex | str, OffsetIndex | str]] = field(default_factory=dict)
    _filters: dict[tuple[int, Path], NDArray[np.uint32] | str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row_count)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files, sorted by path."""
        return tuple(footer.file for footer in self.footers)

    def chunk(self, position: int, column: LeafColumn) -> ColumnChunk | None:
        """Return a column's chunk in one row group; None when the file has no such column."""
        leaf = self._leaf(int(self.file[position]), column)
        if leaf is None:
            return None
        return self.footers[int(self.file[position])].row_groups[int(self.ordinal[position])].chunk(leaf)

    def chunks(self, column: LeafColumn) -> list[ColumnChunk | None]:
        """Return a column's chunk in every row group."""
        return [self.chunk(position, column) for position in range(len(self))]

    def _leaf(self, file: int, column: LeafColumn) -> LeafColumn | None:
        key = file, column.path
        if key not in self._leaves:
            self._leaves[key] = leaf_in_file(column, self.footers[file])
        return self._leaves[key]

    def bounds(self, column: LeafColumn) -> Bounds:
        """Return what the statistics of every row group say of a column."""
        if column.path not in self._bounds:
            parts = [row_group_statistics(column, footer) for footer in self.footers]
            self._bounds[column.path] = self._decode(column, parts, self.footers)
        return self._bounds[column.path]

    def _decode(self, column: LeafColumn, parts: list[EncodedBounds], sources: Iterable[Footer]) -> Bounds:
        bounds = decode_bounds(column, parts)
        rebased = any(may_be_rebased(column, footer) for footer in sources)
        return without_dates_before_gregorian(bounds) if rebased else bounds

    def page_indexes(
        self, columns: Sequence[LeafColumn], positions: Positions
    ) -> list[list[tuple[ColumnIndex | str, OffsetIndex | str]]]:
        """Return (ColumnIndex, OffsetIndex) by row group and column; a reason stands for an absent one.

        What is missing is fetched with as few requests as the gaps in the file allow.
        """
        wanted = [(int(p), column) for p in positions for column in columns]
        missing = [(p, column) for p, column in wanted if (p, column.path) not in self._indexes]
        for file, group in groupby(missing, key=lambda item: self.file[item[0]]):
            self._fetch_indexes(self.footers[file], list(group))
        return [[self._indexes[int(p), column.path] for column in columns] for p in positions]

    def _fetch_indexes(self, footer: Footer, wanted: list[tuple[int, LeafColumn]]) -> None:
        ranges: dict[tuple[int, Path, str], tuple[int, int]] = {}
        for position, column in wanted:
            chunk = self.chunk(position, column)
            for kind, where in (
                ("column", None if chunk is None or chunk.encrypted else chunk.column_index),
                ("offset", None if chunk is None or chunk.encrypted else chunk.offset_index),
            ):
                if where is not None and where.length is not None:
                    ranges[position, column.path, kind] = where.offset, where.length
        blocks = self._read_disjoint(footer.file, ranges, "index")
        for position, column in wanted:
            place = self._place(footer, position, column)
            data, locations = (blocks.get((position, column.path, kind), _ABSENT) for kind in ("column", "offset"))
            rows = int(self.row_count[position])
            self._indexes[position, column.path] = (
                data if isinstance(data, str) else parse_column_index(data, place=place),
                locations if isinstance(locations, str) else parse_offset_index(locations, num_rows=rows, place=place),
            )

    def _read_disjoint(
        self, file: DataFile, ranges: dict[Key, tuple[int, int]], purpose: str
    ) -> dict[Key, bytes | str]:
        """Read ranges that share no byte; where some do, the file lies and none of them is believed."""
        ordered = sorted(ranges.values())
        if any(start + length > after for (start, length), (after, _) in pairwise(ordered)):
            return dict.fromkeys(ranges, f"the footer puts several {purpose} structures into the same bytes")
        blocks = read_ranges(file, list(ranges.values()), purpose=purpose, traffic=self.traffic)
        return dict(zip(ranges, blocks, strict=True))

    def _place(self, footer: Footer, position: int, column: LeafColumn) -> str:
        return f"{footer.file.path}: row group {self.ordinal[position]}, column {column.name!r}"

    def pages(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return what the page indexes of the chosen row groups say of a column.

        A row group without a usable index counts as one page of which nothing is known.
        """
        parts: list[EncodedBounds] = []
        first_rows: list[Positions] = []
        indexes = self.page_indexes([column], positions)
        for position, ((column_index, offset_index),) in zip(positions, indexes, strict=True):
            part = self._page_values(column, int(position), column_index, offset_index)
            usable = not isinstance(part, str) and not isinstance(offset_index, str)
            parts.append(part if not isinstance(part, str) else unknown_containers([int(self.row_count[position])]))
            first_rows.append(offset_index.first_row if usable and not isinstance(offset_index, str) else _ZERO)
        bounds = self._decode(column, parts, (self.footers[file] for file in np.unique(self.file[positions])))
        pages = [len(part.row_counts) for part in parts]
        return PageBatch(bounds, np.repeat(np.arange(len(positions)), pages), np.concatenate([_NO_ROWS, *first_rows]))

    def _page_values(
        self, column: LeafColumn, position: int, index: ColumnIndex | str, offsets: OffsetIndex | str
    ) -> EncodedBounds | str:
        if isinstance(index, str):
            return index
        if isinstance(offsets, str):
            return offsets
        file = int(self.file[position])
        footer, leaf = self.footers[file], self._leaf(file, column)
        if leaf is None or leaf.unsupported or column.unsupported:
            return "the column is not pruned on"
        ordered = order_is_defined(leaf, footer) and not is_rebased(leaf, footer)
        found = page_values(index, offsets, num_rows=int(self.row_count[position]), ordered=ordered)
        return found if isinstance(found, str) else replace(found, null_counts=null_counts(leaf, found.null_counts))

    def bloom_filters(self, column: LeafColumn, positions: Positions) -> list[NDArray[np.uint32] | str]:
        """Return a column's filter in each chosen row group; a reason stands for an absent one."""
        missing = [int(p) for p in positions if (int(p), column.path) not in self._filters]
        for file, group in groupby(missing, key=lambda position: self.file[position]):
            self._fetch_filters(self.footers[file], column, list(group))
        return [self._filters[int(p), column.path] for p in positions]

    def _fetch_filters(self, footer: Footer, column: LeafColumn, positions: list[int]) -> None:
        ranges: dict[int, tuple[int, int]] = {}
        for position in positions:
            chunk = self.chunk(position, column)
            length: int | str = _ABSENT
            if is_rebased(column, footer):
                length = "the file stores dates of another calendar"
            elif chunk is not None and not chunk.encrypted and chunk.bloom_filter is not None:
                length = self._filter_length(footer, chunk.bloom_filter, self._place(footer, position, column))
                if not isinstance(length, str):
                    ranges[position] = chunk.bloom_filter.offset, length
            if isinstance(length, str):
                self._filters[position, column.path] = length
        for position, data in self._read_disjoint(footer.file, ranges, "bloom").items():
            place = self._place(footer, position, column)
            self._filters[position, column.path] = data if isinstance(data, str) else parse_filter(data, place=place)

    def _filter_length(self, footer: Footer, where: ByteRange, place: str) -> int | str:
        """Return how many bytes a filter takes; read off its header when the footer does not say."""
        if where.length is not None:
            return where.length
        guess = max(0, min(HEADER_BYTES, footer.file.size - where.offset))
        data = read_range(footer.file, where.offset, guess, purpose="bloom", traffic=self.traffic)
        header = parse_header(data, place=place)
        return header if isinstance(header, str) else header.header_bytes + header.bitset_bytes


_ABSENT = "the file holds none for this column"
_ZERO = np.zeros(1, dtype=np.int64)
_NO_ROWS = np.zeros(0, dtype=np.int64)


def read_dataset(table: str | os.PathLike[str] | Iterable[str]) -> MetadataIndex:
    """Read the footers of all data files of a table.

    Raises TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    traffic = Traffic()
    files = list_data_files(table)
    footers = tuple(read_footer(file, traffic=traffic) for file in files)
    groups = [len(footer.row_groups) for footer in footers]
    rows = [group.num_rows for footer in footers for group in footer.row_groups]
    if sum(rows) > MAX_ROWS:
        raise MalformedFile(f"{table}: its footers claim {sum(rows)} rows in all; one of them is damaged")
    summary = summary_file(table)
    columns = footers[0].columns if summary is None else read_schema(summary, traffic=traffic)
    partitions = partition_columns(file.path for file in files)
    return MetadataIndex(
        footers=footers,
        columns=without_overridden(columns, partitions),
        partitions=partitions,
        summary=summary,
        traffic=traffic,
        file=np.repeat(np.arange(len(footers)), groups),
        ordinal=np.concatenate([np.arange(count) for count in groups]).astype(np.int64),
        row_count=np.array(rows, dtype=np.int64),
    )
