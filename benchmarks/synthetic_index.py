"""Metadata of a table without data files, for measurements of planning alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.dataset.footer_columns import FooterColumn
from parquet_core.dataset.metadata_index import MetadataIndex, metadata_index
from parquet_core.dataset.page_batch import PageBatch
from parquet_core.dataset.row_group_table import RowGroupTable
from parquet_core.format.chunk_decoding import Totals
from parquet_core.format.column_chunk import ColumnChunks, absent_chunks
from parquet_core.format.page_index import OffsetIndexes
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import Physical, SchemaElement, leaf_columns
from parquet_core.ragged import firsts
from parquet_core.spark_rules.names_in_files import NamesInFiles
from parquet_core.storage import DataFile, Traffic
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn, Path

    Numbers = NDArray[np.int64]

PAGE_BYTES = 1_000
STEP = 10


def synthetic_index(files: int, pages: Sequence[int], *, rows: int) -> MetadataIndex:
    """Return the index of a table with `files` files, each with one row group of `rows` rows.

    `pages`: pages per row group for each of the BIGINT columns a, b and so on; each count divides `rows`. Page i of
    column `a`, counted over all files, has bounds from 10 i to 10 i + 30. The other columns have such bounds in
    scattered order.
    """
    columns = _columns(len(pages))
    provenances = (Provenance(columns, (1,) * len(columns), {}, "parquet-mr version 1.15.2"),)
    row_count = np.full(files, rows, np.int64)
    batches = [_pages(files, each, rows // each, disorder=i) for i, each in enumerate(pages)]
    by_path = dict(zip([column.path for column in columns], batches, strict=True))
    groups = RowGroupTable(
        files=tuple(DataFile(f"/t/{i:06}.parquet", 1 << 30, 0) for i in range(files)),
        provenances=provenances,
        provenance_ids=np.zeros(files, np.int64),
        columns=columns,
        partitions=(),
        summary=None,
        traffic=Traffic(),
        file=np.arange(files),
        ordinal=np.zeros(files, np.int64),
        row_count=row_count,
        doubts=np.zeros(files, np.uint8),
        partition_values={},
        names=NamesInFiles(provenances),
    )
    index = metadata_index(groups, _Footers(files, pages))  # type: ignore[arg-type]  # it is asked for nothing else
    for column in columns:
        batch, store, path = by_path[column.path], index.store, column.path
        chunks = _chunks(files, len(batch.first_row) // files)
        index.footers._columns[path] = FooterColumn(chunks, _of_groups(batch, row_count), groups.doubts)
        store.put(store.name("offsets", column), np.arange(files), _offsets(batch))
        store.put(store.name("pages", column), np.arange(files), batch)
    return index


class _Footers:
    """Stands in for the footers: returns only the total bytes and pages of columns."""

    def __init__(self, files: int, pages: Sequence[int]) -> None:
        self._files = files
        self._pages = {(name,): each for name, each in zip("abcdefgh", pages, strict=False)}

    def read(self, indices: Numbers) -> Sequence[_Footers]:
        assert len(indices) == self._files
        return [self]

    def totals(self, columns: Sequence[Sequence[Path]]) -> Totals:
        pages = np.full(self._files, sum(self._pages[path] for (path,) in columns), np.int64)
        return Totals(pages * PAGE_BYTES, pages, np.ones(self._files, np.bool_))


def _columns(count: int) -> tuple[LeafColumn, ...]:
    leaves = [SchemaElement(name, physical=Physical.INT64, repetition=1) for name in "abcdefgh"[:count]]
    return leaf_columns([SchemaElement("schema", children=count), *leaves], place="")


def _pages(files: int, each: int, rows: int, *, disorder: int) -> PageBatch:
    total = files * each
    at = np.arange(total)
    low = STEP * (at if disorder == 0 else at * (7_919 + disorder) % total)
    return PageBatch(
        firsts(np.full(files, each, np.int64)),
        _bounds(low, low + 3 * STEP, np.full(total, rows, np.int64)),
        np.tile(np.arange(each) * rows, files),
        np.full(files, "", object),
        np.zeros(files, np.int64),
        np.full(files, each * 16, np.int64),
        np.full(files, each, np.int64),
    )


def _bounds(low: Numbers, high: Numbers, rows: Numbers) -> Bounds:
    return Bounds.of(pa.array(low), pa.array(high), pa.array(np.zeros(len(low), np.int64)), rows)


def _of_groups(batch: PageBatch, row_count: Numbers) -> Bounds:
    low, high = (side.to_numpy() for side in (batch.bounds.lower, batch.bounds.upper))
    first = batch.first[:-1]
    return _bounds(np.minimum.reduceat(low, first), np.maximum.reduceat(high, first), row_count)


def _offsets(batch: PageBatch) -> OffsetIndexes:
    total = len(batch.first_row)
    offset = np.arange(total) * PAGE_BYTES + 4
    return OffsetIndexes(batch.first, offset, np.full(total, PAGE_BYTES, np.int64), batch.first_row, batch.reason)


def _chunks(files: int, each: int) -> ColumnChunks:
    # `take` copies, so that no two attributes share an array.
    chunks = absent_chunks(files).take(np.arange(files))
    chunks.present[:] = chunks.has_bounds[:] = True
    chunks.compressed_bytes[:] = each * PAGE_BYTES
    chunks.data_pages[:] = each
    chunks.first_page_offset[:] = chunks.data_page_offset[:] = 4
    chunks.column_index[:] = chunks.offset_index[:] = (1 << 20, 1 << 10)
    return chunks
