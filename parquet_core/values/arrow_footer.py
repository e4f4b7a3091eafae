"""Read checked footers as Arrow metadata, and convert Arrow's errors.

Arrow crashes the process on some damaged footers when their parts are accessed, so the parts come from `read_footers`.
Arrow's errors become MalformedFile and UnsupportedFeature.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.fix import WRITE_AGAIN, Fix
from parquet_core.format.chunk_decoding import as_rows
from parquet_core.format.compact import ENCODED_LIST, INTEGER, decode_table, decode_tables, rows_of, struct
from parquet_core.format.encoded_footers import MAGIC
from parquet_core.format.footer import read_footers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.arrays import Numbers
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile, Traffic

# codec, num_values, total_compressed_size, data_page_offset, dictionary_page_offset
_COLUMN_CHUNK = struct({3: struct({4: INTEGER, 5: INTEGER, 7: INTEGER, 9: INTEGER, 11: INTEGER})})
# Byte positions of encodings and path_in_schema of each chunk.
_ENCODED_CHUNK = struct({3: struct({2: ENCODED_LIST, 3: ENCODED_LIST})})
_ENCODED_FOOTER = struct({4: rows_of(struct({1: rows_of(_ENCODED_CHUNK, 1)}), 0)})
_FIELD = 0x10
_EMPTY_PATH = bytes([_FIELD | 9, 8])  # header of the next field (a list), then an empty list of strings


@contextmanager
def reading(file: DataFile, what: str = "") -> Iterator[None]:
    """Convert Arrow's errors in the context to MalformedFile or UnsupportedFeature.

    `what`: column or row group, for the message.
    """
    prefix = f"{file.path}: {what}: " if what else f"{file.path}: "
    try:
        yield
    except PruneError:
        raise
    except NotImplementedError as error:
        fix = Fix("leave it out, or write it as another type")
        raise UnsupportedFeature(f"{prefix}{_error_text(error)}", fix) from None
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise MalformedFile(f"{prefix}{_error_text(error)}", WRITE_AGAIN) from None


def _error_text(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__


class Footer(NamedTuple):
    """A footer as Arrow metadata, with its checked parts.

    `row_counts`: rows of each row group.
    `chunks`: numbers by row group and leaf, -1 if missing; see `chunk`.
    """

    metadata: pq.FileMetaData
    leaves: tuple[LeafColumn, ...]
    row_counts: list[int]
    chunks: Numbers

    @property
    def num_rows(self) -> int:
        """Total row count of all row groups."""
        return sum(self.row_counts)

    def chunk(self, group: int, leaf: int) -> list[int] | None:
        """Return codec, number of values, bytes, data page offset and dictionary page offset of a column chunk.

        Missing numbers are -1. None if the metadata of the chunk is encrypted.
        """
        end, *numbers = self.chunks[group, leaf].tolist()
        return None if end < 0 else numbers


def read_arrow_footers(files: Sequence[DataFile], *, traffic: Traffic) -> Iterator[Footer]:
    """Read the footers of files, in order.

    Raises MalformedFile, UnsupportedFeature and StorageFailure.
    """
    for footers in read_footers(files, traffic=traffic):
        yield from _arrow_footers(footers)


def _arrow_footers(footers: Footers) -> Iterator[Footer]:
    def place(chunk: int) -> str:
        return footers.place(int(np.searchsorted(footers.first_chunk, chunk, "right")) - 1)

    ranges = footers.encoded, footers.chunk_start, footers.chunk_stop
    chunks = np.maximum(as_rows(decode_table(*ranges, _COLUMN_CHUNK, place=place), _COLUMN_CHUNK.width)[:, 1:], -1)
    first = 0
    for i, groups in enumerate(
        np.split(footers.row_count, np.searchsorted(footers.file, range(1, len(footers.files))))
    ):
        row_counts = groups.tolist()
        leaves = footers.kinds[footers.kind[i]].columns
        last = first + len(row_counts) * len(leaves)
        shape = len(row_counts), len(leaves), chunks.shape[1]
        yield Footer(_checked_metadata(footers, i), leaves, row_counts, chunks[first:last].reshape(shape))
        first = last


def _checked_metadata(footers: Footers, file: int) -> pq.FileMetaData:
    start = int(footers.start[file])
    with reading(footers.files[file]):
        try:
            # Arrow trusts list counts. `read_footers` has checked that no list claims more elements than it has.
            return _metadata(footers.encoded[start : start + int(footers.footer_bytes[file])])
        except pa.ArrowInvalid as error:
            # Arrow rejects some schemas that other readers accept, for example maps with optional keys.
            raise NotImplementedError(f"its schema is one that Arrow does not read: {error}") from None


def _metadata(encoded: bytes) -> pq.FileMetaData:
    """Decode a footer with Arrow; add empty paths if needed.

    Raises the errors of Arrow.
    """
    try:
        return _parsed(encoded)
    except OSError:
        complete = _with_paths(encoded)
        if complete == encoded:
            raise
        return _parsed(complete)


def _parsed(encoded: bytes) -> pq.FileMetaData:
    whole = MAGIC + encoded + len(encoded).to_bytes(4, "little") + MAGIC
    return pq.read_metadata(pa.BufferReader(whole))


def _with_paths(encoded: bytes) -> bytes:
    """Add an empty path_in_schema to column chunks that lack it.

    Arrow requires the field, but identifies columns by position.
    """
    limits = np.array([0]), np.array([len(encoded)])
    _, (_, chunks) = decode_tables(encoded, *limits, _ENCODED_FOOTER, 2, place=lambda _: "footer")
    rows = as_rows(chunks, 1 + _ENCODED_CHUNK.width)[:, 1:]
    encodings, paths = (rows[:, _ENCODED_CHUNK.offset(3, field) :][:, :2] for field in (2, 3))
    parts, last = [], 0
    for position in encodings.sum(axis=1)[(encodings[:, 1] > 0) & (paths[:, 1] < 0)].tolist():
        # The upper four bits of a field header are the distance to the previous field id, if that is small.
        following = encoded[position] if encoded[position] < _FIELD else encoded[position] - _FIELD
        parts += [encoded[last:position], _EMPTY_PATH, bytes([following])]
        last = position + 1
    return b"".join([*parts, encoded[last:]])
