"""The metadata of a whole dataset, columnar: one position per row group, over all files.

Footers are read at once; page indexes and bloom filters when they are asked for, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import HEADER_BYTES, parse_filter, parse_header
from parquet_core.bounds import Bounds, make_bounds
from parquet_core.footer import read_footer
from parquet_core.page_index import (
    ColumnIndex,
    OffsetIndex,
    PageValues,
    page_values,
    parse_column_index,
    parse_offset_index,
    unknown_page,
)
from parquet_core.statistics import leaf_in_file, order_is_defined, row_group_bounds
from parquet_core.storage import Traffic, list_data_files, read_range, read_ranges

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_core.footer import ColumnChunk, Footer
    from parquet_core.predicate import Path
    from parquet_core.schema import LeafColumn
    from parquet_core.storage import DataFile

    Positions = NDArray[np.int64]


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
    the file, its rows. `columns` is the schema of the first file, which is the one that Spark takes.
    """

    footers: tuple[Footer, ...]
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

    @property
    def columns(self) -> tuple[LeafColumn, ...]:
        """The leaf columns of the table."""
        return self.footers[0].columns

    def chunk(self, position: int, column: LeafColumn) -> ColumnChunk | None:
        """Return a column's chunk in one row group; None when the file has no such column."""
        leaf = self._leaf(int(self.file[position]), column)
        if leaf is None:
            return None
        group = self.footers[int(self.file[position])].row_groups[int(self.ordinal[position])]
        return group.columns[leaf.index]

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
            self._bounds[column.path] = _join([row_group_bounds(column, footer) for footer in self.footers])
        return self._bounds[column.path]

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
        places = [self.chunk(position, column) for position, column in wanted]
        ranges = [
            (where.offset, where.length)
            for chunk in places
            if chunk is not None
            for where in (chunk.column_index, chunk.offset_index)
            if where is not None and where.length is not None
        ]
        blocks = iter(read_ranges(footer.file, ranges, purpose="index", traffic=self.traffic))
        for (position, column), chunk in zip(wanted, places, strict=True):
            column_index: ColumnIndex | str = "the file holds none for this column"
            offset_index: OffsetIndex | str = "the file holds none for this column"
            where = f"{footer.file.path}: row group {self.ordinal[position]}, column {column.name}"
            if chunk is not None and chunk.column_index is not None:
                column_index = parse_column_index(next(blocks), place=where)
            if chunk is not None and chunk.offset_index is not None:
                rows = int(self.row_count[position])
                offset_index = parse_offset_index(next(blocks), num_rows=rows, place=where)
            self._indexes[position, column.path] = column_index, offset_index

    def pages(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return what the page indexes of the chosen row groups say of a column.

        A row group without a usable index counts as one page of which nothing is known.
        """
        values: list[PageValues] = []
        first_rows: list[Positions] = []
        indexes = self.page_indexes([column], positions)
        for position, ((column_index, offset_index),) in zip(positions, indexes, strict=True):
            entry = self._page_values(column, int(position), column_index, offset_index)
            known = not isinstance(entry, str) and not isinstance(offset_index, str)
            values.append(entry if not isinstance(entry, str) else unknown_page(int(self.row_count[position])))
            first_rows.append(offset_index.first_row if known and not isinstance(offset_index, str) else _ZERO)
        bounds = make_bounds(
            column,
            [value for entry in values for value in entry.min_values],
            [value for entry in values for value in entry.max_values],
            [count for entry in values for count in entry.null_counts],
            [count for entry in values for count in entry.row_counts],
        )
        pages = [len(entry.row_counts) for entry in values]
        return PageBatch(bounds, np.repeat(np.arange(len(positions)), pages), np.concatenate(first_rows))

    def _page_values(
        self, column: LeafColumn, position: int, index: ColumnIndex | str, offsets: OffsetIndex | str
    ) -> PageValues | str:
        if isinstance(index, str):
            return index
        if isinstance(offsets, str):
            return offsets
        file = int(self.file[position])
        leaf = self._leaf(file, column)
        if leaf is None or leaf.unsupported:
            return "the column is not pruned on"
        ordered = order_is_defined(leaf, self.footers[file])
        return page_values(index, offsets, num_rows=int(self.row_count[position]), ordered=ordered)

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
            where = f"{footer.file.path}: row group {self.ordinal[position]}, column {column.name}"
            if chunk is None or chunk.bloom_filter is None:
                self._filters[position, column.path] = "the file holds none for this column"
            elif chunk.bloom_filter.length is not None:
                ranges[position] = chunk.bloom_filter.offset, chunk.bloom_filter.length
            else:
                length = self._filter_length(footer.file, chunk.bloom_filter.offset, where)
                if isinstance(length, str):
                    self._filters[position, column.path] = length
                else:
                    ranges[position] = chunk.bloom_filter.offset, length
        blocks = read_ranges(footer.file, list(ranges.values()), purpose="bloom", traffic=self.traffic)
        for position, data in zip(ranges, blocks, strict=True):
            where = f"{footer.file.path}: row group {self.ordinal[position]}, column {column.name}"
            self._filters[position, column.path] = parse_filter(data, place=where)

    def _filter_length(self, file: DataFile, offset: int, place: str) -> int | str:
        guess = max(0, min(HEADER_BYTES, file.size - offset))
        header = parse_header(read_range(file, offset, guess, purpose="bloom", traffic=self.traffic), place=place)
        return header if isinstance(header, str) else header.header_bytes + header.bitset_bytes


_ZERO = np.zeros(1, dtype=np.int64)


def _join(parts: list[Bounds]) -> Bounds:
    import pyarrow as pa

    return Bounds(
        pa.concat_arrays([part.lower for part in parts]),
        pa.concat_arrays([part.upper for part in parts]),
        pa.concat_arrays([part.null_count for part in parts]),
        np.concatenate([part.row_count for part in parts]),
    )


def read_dataset(table: str | os.PathLike[str] | Iterable[str]) -> MetadataIndex:
    """Read the footers of all data files of a table.

    Raises TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    traffic = Traffic()
    files = list_data_files(table)  # type: ignore[arg-type]
    footers = tuple(read_footer(file, traffic=traffic) for file in files)
    groups = [len(footer.row_groups) for footer in footers]
    return MetadataIndex(
        footers=footers,
        traffic=traffic,
        file=np.repeat(np.arange(len(footers)), groups),
        ordinal=np.concatenate([np.arange(count) for count in groups]).astype(np.int64),
        row_count=np.array([group.num_rows for footer in footers for group in footer.row_groups], dtype=np.int64),
    )
