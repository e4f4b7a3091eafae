"""The dictionaries of a column over many row groups, as values of the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.dataset.gather import gather
from parquet_core.format.dictionary import dictionary_range, is_complete, page_bytes, read_dictionary
from parquet_core.storage import read_range
from parquet_core.trust.bound_values import bound_values, flags_of
from parquet_core.trust.statistics import is_rebased, leaf_in_file

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.column_chunk import ColumnChunk
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn

    Positions = NDArray[np.int64]


class _Page(NamedTuple):
    """Where the dictionary page of a chunk lies, as far as the footer and the offset index say."""

    position: int
    chunk: ColumnChunk
    leaf: LeafColumn
    start: int
    length: int


def read_dictionaries(index: MetadataIndex, column: LeafColumn, positions: Positions) -> list[pa.Array | str]:
    """Read a column's dictionary in each chosen row group; a reason stands for one that proves nothing.

    A dictionary that is returned holds every non-null value of the row group, and perhaps others. Its values
    compare with those of `Bounds`. Raises as reading does.
    """
    (offsets,) = index.locations([column], positions)
    firsts = [int(offsets.offset[first]) if known else None for first, known in _first_pages(offsets)]
    pages = [_page(index, column, int(p), first) for p, first in zip(positions, firsts, strict=True)]
    found = [page for page in pages if not isinstance(page, str)]
    pieces = gather(
        index.files,
        np.array([index.file[page.position] for page in found], np.int64),
        np.array([page.start for page in found], np.int64),
        np.array([page.length for page in found], np.int64),
        purpose="dictionary",
        traffic=index.traffic,
    )
    data = iter(pieces)
    return [page if isinstance(page, str) else _values(index, column, page, next(data)) for page in pages]


def _first_pages(offsets: OffsetIndexes) -> list[tuple[int, bool]]:
    return list(zip(offsets.first[:-1].tolist(), (offsets.reason == "").tolist(), strict=True))


def _page(index: MetadataIndex, column: LeafColumn, position: int, first_page: int | None) -> _Page | str:
    chunk, kind = index.chunk(position, column), index.provenance(position)
    leaf = leaf_in_file(column, kind)
    if chunk is None or leaf is None:
        return "the file lacks the column or stores it as another type"
    if is_rebased(column, kind):
        return "the file stores dates of another calendar"
    incomplete = is_complete(chunk)
    place = dictionary_range(chunk, first_page) if incomplete is None else incomplete
    if isinstance(place, str):
        return place
    size = index.files[int(index.file[position])].size
    if place[0] + place[1] > size:
        return "the footer puts the dictionary page outside of the file"
    return _Page(position, chunk, leaf, *place)


def _values(index: MetadataIndex, column: LeafColumn, page: _Page, data: bytes) -> pa.Array | str:
    place = index.place(page.position, column)
    file = index.files[int(index.file[page.position])]
    needed = page_bytes(data, page.chunk, page.leaf, place=place)
    if isinstance(needed, str):
        return needed
    if needed > len(data):
        if needed > file.size - page.start:
            return "the dictionary page claims to reach beyond the file"
        data = read_range(file, page.start, needed, purpose="dictionary", traffic=index.traffic)
    written = read_dictionary(data, page.chunk, page.leaf, place=place)
    if isinstance(written, str):
        return written
    values = bound_values(column, written)
    # What the type cannot hold may still be read as some value, which must not be denied.
    return values if flags_of(values).all() else "the dictionary holds values that its type cannot"
