"""Read checked footers as Arrow metadata, and convert Arrow's errors.

Arrow crashes the process on some damaged footers when their parts are accessed, so this module decodes the parts from
the bytes. Arrow's errors become MalformedFile and UnsupportedFeature.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.fix import WRITE_AGAIN, Fix
from parquet_core.format.compact import BINARY, ENCODED_LIST, INTEGER, decode, decode_tables, list_of, rows_of, struct
from parquet_core.format.encoded_footers import MAGIC, encoded_footers
from parquet_core.format.schema import MAX_NESTING, Repetition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage import DataFile, Traffic

# type, type_length, repetition_type, name, num_children
_SCHEMA_ELEMENT = struct({1: INTEGER, 2: INTEGER, 3: INTEGER, 4: BINARY, 5: INTEGER})
# codec, num_values, total_compressed_size, data_page_offset, dictionary_page_offset
_META_DATA = struct({4: INTEGER, 5: INTEGER, 7: INTEGER, 9: INTEGER, 11: INTEGER})
_ROW_GROUP = struct({1: list_of(struct({3: _META_DATA})), 3: INTEGER})  # columns, num_rows
_FILE_META_DATA = struct({2: list_of(_SCHEMA_ELEMENT), 4: list_of(_ROW_GROUP)})
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


class FooterLeaf(NamedTuple):
    """A leaf column of the schema.

    `path`: dotted path.
    `physical`: number of the physical type, see `Physical`.
    `repeated`: True inside a list.
    `levels`: number of level types (definition, repetition) of its values, 0 to 2.
    """

    path: str
    physical: int
    type_length: int
    repeated: bool
    levels: int


class Described(NamedTuple):
    """Claims of a footer about a column chunk.

    None for a missing field.
    """

    codec: int | None
    num_values: int | None
    compressed_bytes: int | None
    data_page_offset: int | None
    dictionary_page_offset: int | None


class RowGroup(NamedTuple):
    """A row group; a chunk is None if its metadata is encrypted."""

    chunks: list[Described | None]
    num_rows: int


class Footer(NamedTuple):
    """A footer as Arrow metadata, with its checked parts.

    `leaves` and `row_groups` are decoded from the bytes.
    """

    metadata: pq.FileMetaData
    leaves: list[FooterLeaf]
    row_groups: list[RowGroup]

    @property
    def num_rows(self) -> int:
        """Total row count of all row groups."""
        return sum(group.num_rows for group in self.row_groups)


def read_arrow_footers(files: Sequence[DataFile], *, traffic: Traffic) -> Iterator[Footer]:
    """Read the footers of files, in order.

    Raises MalformedFile, UnsupportedFeature and StorageFailure.
    """
    for batch in encoded_footers(files, _left_encoded, traffic=traffic):
        for file, start, stop in zip(batch.files, batch.starts.tolist(), batch.stops.tolist(), strict=True):
            yield _footer(batch.encoded[start:stop], file)


def _left_encoded(encoded: bytes, starts: object, stops: object, files: object) -> None:
    """Leave the footers encoded (decoder for `encoded_footers`)."""


def _footer(encoded: bytes, file: DataFile) -> Footer:
    # Decoding the whole footer proves that no list claims more elements than it has; Arrow trusts these counts.
    (schema, groups), _ = decode(encoded, _FILE_META_DATA, place=f"{file.path}: footer")
    leaves = _leaves(schema or [], file)
    row_groups = [_row_group(chunks, rows, len(leaves), file) for chunks, rows in groups or []]
    with reading(file):
        try:
            metadata = _metadata(encoded)
        except pa.ArrowInvalid as error:
            # Arrow rejects some schemas that other readers accept, for example maps with optional keys.
            raise NotImplementedError(f"its schema is one that Arrow does not read: {error}") from None
    return Footer(metadata, leaves, row_groups)


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
    rows = np.frombuffer(chunks, np.int64).reshape(-1, 1 + _ENCODED_CHUNK.width)[:, 1:]
    encodings, paths = (rows[:, _ENCODED_CHUNK.offset(3, field) :][:, :2] for field in (2, 3))
    parts, last = [], 0
    for position in encodings.sum(axis=1)[(encodings[:, 1] > 0) & (paths[:, 1] < 0)].tolist():
        # The upper four bits of a field header are the distance to the previous field id, if that is small.
        following = encoded[position] if encoded[position] < _FIELD else encoded[position] - _FIELD
        parts += [encoded[last:position], _EMPTY_PATH, bytes([following])]
        last = position + 1
    return b"".join([*parts, encoded[last:]])


def _row_group(chunks: list[list[Any]] | None, rows: int | None, count: int, file: DataFile) -> RowGroup:
    if rows is None or rows < 0 or len(chunks or ()) != count:
        raise MalformedFile(
            f"{file.path}: a row group of {rows} rows and {len(chunks or ())} of {count} columns; the footer is damaged"
        )
    return RowGroup([None if meta is None else Described(*meta) for (meta,) in chunks or ()], rows)


def _leaves(schema: list[list[Any]], file: DataFile) -> list[FooterLeaf]:
    """Return the leaves of the schema tree.

    Raises MalformedFile for a tree that is inconsistent or too deep; Arrow has no depth limit.
    """
    leaves: list[FooterLeaf] = []
    groups: list[list[Any]] = []  # path, in a list, remaining children, may be null
    for physical, length, repetition, name, children in schema:
        while groups and not groups[-1][2]:
            groups.pop()
        if len(groups) > MAX_NESTING or (not groups and leaves):
            raise MalformedFile(f"{file.path}: the schema tree does not add up; the footer is damaged")
        path = (name or b"").decode(errors="replace")
        above, repeated, _, defined = groups[-1] if groups else ("", False, 0, False)
        # The root has no name in paths.
        path = f"{above}.{path}" if len(groups) > 1 else path
        if groups:
            groups[-1][2] -= 1
            repeated = repeated or repetition == Repetition.REPEATED
            defined = defined or repetition != Repetition.REQUIRED
        if physical is None or not groups:
            groups.append([path, repeated, children or 0, defined])
        else:
            leaves.append(FooterLeaf(path, physical, length or 0, repeated, defined + repeated))
    return leaves
