"""The dictionaries of a column over many row groups, as values of the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeGuard

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
    from parquet_core.format.schema import LeafColumn

    Positions = NDArray[np.int64]


class _Chunk(NamedTuple):
    """A column chunk whose dictionary holds all of its values."""

    position: int
    chunk: ColumnChunk
    leaf: LeafColumn


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
    chunks = [_chunk(index, column, position) for position in positions.tolist()]
    firsts = _first_pages(index, column, [chunk.position for chunk in chunks if _needs_first_page(chunk)])
    pages = [chunk if isinstance(chunk, str) else _page(index, chunk, firsts) for chunk in chunks]
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


def _chunk(index: MetadataIndex, column: LeafColumn, position: int) -> _Chunk | str:
    chunk, kind = index.chunk(position, column), index.provenance(position)
    leaf = leaf_in_file(column, kind)
    if chunk is None or leaf is None:
        return "the file lacks the column or stores it as another type"
    if is_rebased(column, kind):
        return "the file stores dates of another calendar"
    incomplete = is_complete(chunk)
    return _Chunk(position, chunk, leaf) if incomplete is None else incomplete


def _needs_first_page(chunk: _Chunk | str) -> TypeGuard[_Chunk]:
    """Tell whether the footer alone leaves open where the dictionary page ends."""
    if isinstance(chunk, str):
        return False
    offset = chunk.chunk.dictionary_page_offset
    return offset is None or not 0 < offset < chunk.chunk.data_page_offset


def _first_pages(index: MetadataIndex, column: LeafColumn, positions: list[int]) -> dict[int, int]:
    """Return by row group where the first data page begins, as far as offset indexes say so."""
    if not positions:
        return {}
    (offsets,) = index.locations([column], np.array(positions, np.int64))
    known = offsets.reason == ""
    return {p: int(offsets.offset[offsets.first[i]]) for i, p in enumerate(positions) if known[i]}


def _page(index: MetadataIndex, found: _Chunk, firsts: dict[int, int]) -> _Page | str:
    place = dictionary_range(found.chunk, firsts.get(found.position))
    if isinstance(place, str):
        return place
    size = index.files[int(index.file[found.position])].size
    if place[0] + place[1] > size:
        return "the footer puts the dictionary page outside of the file"
    return _Page(*found, *place)


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
    values = bound_values(page.leaf, written)
    # What the type cannot hold may still be read as some value, which must not be denied.
    return values if flags_of(values).all() else "the dictionary holds values that its type cannot"
