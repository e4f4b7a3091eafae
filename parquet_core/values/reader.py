"""Values of one Parquet file, some rows at a time; Arrow decodes what has been checked."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.format.compact import INTEGER, decode, list_of, struct
from parquet_core.format.encoded_footers import MAGIC, encoded_footers
from parquet_core.format.schema import MAX_NESTING
from parquet_core.storage import Traffic, read_ranges
from parquet_core.values.pages import BEHIND, Claims, widest_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage import DataFile

BATCH_ROWS = 1 << 16
# What the values of a batch may take, as far as one does not take more; of a column of lists those of a row group.
BATCH_BYTES = 64 << 20
_MOST_RATIO = 64
_RUN_BYTES = 8 << 20  # row groups are read together up to so many
_FOOTER = struct({2: list_of(struct({5: INTEGER}))})  # schema, of it num_children


@contextmanager
def reading(file: DataFile, what: str = "") -> Iterator[None]:
    """Turn what Arrow says against a file inside into MalformedFile or UnsupportedFeature.

    `what`: the column or row group. The message ends in the next step, behind its last semicolon.
    """
    place = f"{file.path}: {what}: " if what else f"{file.path}: "
    try:
        yield
    except PruneError:
        raise
    except NotImplementedError as error:
        raise UnsupportedFeature(f"{place}{_said(error)}; leave the column out, or write it as another type") from None
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise MalformedFile(f"{place}{_said(error)}; the file is damaged, write it again") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def read_metadata(files: Sequence[DataFile], *, traffic: Traffic) -> Iterator[pq.FileMetaData]:
    """Read the footers of files for Arrow, which believes the counts of lists and follows schemas however deep.

    Raises MalformedFile, UnsupportedFeature and StorageFailure.
    """
    for batch in encoded_footers(files, _left_encoded, traffic=traffic):
        for file, start, stop in zip(batch.files, batch.starts.tolist(), batch.stops.tolist(), strict=True):
            yield _metadata(batch.encoded[start:stop], file)


def _left_encoded(encoded: bytes, starts: object, stops: object, files: object) -> None:
    """Decode nothing while the footers arrive."""


def _metadata(encoded: bytes, file: DataFile) -> pq.FileMetaData:
    # Read to its end, no list has more elements than bytes.
    (schema,), _ = decode(encoded, _FOOTER, place=f"{file.path}: footer")
    _check_nesting([children for (children,) in schema or ()], file)
    with reading(file):
        return pq.read_metadata(pa.BufferReader(MAGIC + encoded + len(encoded).to_bytes(4, "little") + MAGIC))


def _check_nesting(children: list[int | None], file: DataFile) -> None:
    remaining: list[int] = []
    for count in children:
        while remaining and not remaining[-1]:
            remaining.pop()
        if remaining:
            remaining[-1] -= 1
        if count:
            remaining.append(count)
        if len(remaining) > MAX_NESTING:
            raise MalformedFile(f"{file.path}: the schema is nested deeper than {MAX_NESTING}; the footer is damaged")


@contextmanager
def open_values(
    file: DataFile, *, traffic: Traffic | None = None, metadata: pq.FileMetaData | None = None
) -> Iterator[ValueReader]:
    """Open a file for its values; `metadata`: its footer, as `read_metadata` read it before.

    Raises MalformedFile, UnsupportedFeature and StorageFailure, as reading from it does.
    """
    traffic = Traffic() if traffic is None else traffic
    metadata = next(read_metadata([file], traffic=traffic)) if metadata is None else metadata
    with reading(file):
        schema = metadata.schema.to_arrow_schema()
    yield ValueReader(file, metadata, schema, traffic)


@dataclass(frozen=True, slots=True)
class ValueReader:
    """An open file; see `open_values`."""

    file: DataFile
    metadata: pq.FileMetaData
    schema: pa.Schema
    traffic: Traffic

    def batches(
        self, groups: Sequence[int], columns: Sequence[str], *, rows: int = BATCH_ROWS, coded: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of row groups, at most `rows` rows at a time; fewer where values are long.

        `columns`: dotted paths, with all that lies below them. `coded`: which leaves come as dictionary codes.
        """
        leaves = self._leaves(columns)
        for some in self._runs(groups, leaves):
            with reading(self.file, f"row group {some[0].group}"):
                data = read_ranges(
                    self.file, [(chunk.start, chunk.fetched) for chunk in some], purpose="rows", traffic=self.traffic
                )
                widest = max(self._widest(chunk, piece) for chunk, piece in zip(some, data, strict=True))
                source = _Fetched(self.file.size, [chunk.start for chunk in some], data)
                at_once = max(1, min(rows, BATCH_BYTES // max(widest, 1)))
                with self._opened(source, coded) as opened:
                    yield from opened.iter_batches(
                        at_once,
                        row_groups=list(dict.fromkeys(chunk.group for chunk in some)),
                        columns=list(columns),
                        use_threads=False,
                    )

    def table(self, group: int, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """Read columns of a row group as a whole; UnsupportedFeature when they take much more than the file does."""
        most, taken, parts = self._most_bytes(), 0, []
        for batch in self.batches([group], columns, coded=coded):
            taken += batch.nbytes
            if taken > most:
                raise UnsupportedFeature(f"{self.file.path}: row group {group} takes more than {most:,} bytes decoded")
            parts.append(batch)
        return pa.Table.from_batches(parts) if parts else self._empty(columns, coded)

    def _opened(self, source: _Fetched, coded: Sequence[str]) -> pq.ParquetFile:
        # Read ahead, neighbouring chunks are asked for as one, with what lies between them.
        return pq.ParquetFile(source, metadata=self.metadata, read_dictionary=list(coded), pre_buffer=False)

    def _empty(self, columns: Sequence[str], coded: Sequence[str]) -> pa.Table:
        with self._opened(_Fetched(self.file.size, [], []), coded) as opened:
            return opened.read_row_groups([], columns=list(columns), use_threads=False)

    def _most_bytes(self) -> int:
        return max(4 * BATCH_BYTES, _MOST_RATIO * self.file.size)

    def _leaves(self, columns: Sequence[str]) -> list[int]:
        """Return the numbers of the leaves at or below the columns."""
        paths = [self.metadata.schema.column(i).path for i in range(self.metadata.num_columns)]
        return [i for i, path in enumerate(paths) if any(path == c or path.startswith(f"{c}.") for c in columns)]

    def _runs(self, groups: Sequence[int], leaves: Sequence[int]) -> Iterator[list[_Place]]:
        """Return the chunks of row groups, of as many together as are small."""
        some: list[_Place] = []
        for group in groups:
            described = self.metadata.row_group(group)
            if some and sum(chunk.fetched for chunk in some) > _RUN_BYTES:
                yield some
                some = []
            some += [self._place(group, leaf, described) for leaf in leaves if described.num_rows]
        if some:
            yield some

    def _place(self, group: int, leaf: int, described: pq.RowGroupMetaData) -> _Place:
        chunk = described.column(leaf)
        name = f"{self.file.path}: row group {group}, column {chunk.path_in_schema}"
        start, length, count = chunk.data_page_offset, chunk.total_compressed_size, chunk.num_values
        if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
            start = chunk.dictionary_page_offset
        if start < 0 or length < 0 or start + length > self.file.size:
            raise MalformedFile(f"{name}: lies outside of the file; the file is damaged, write it again")
        if count < 0 or (not self.metadata.schema.column(leaf).max_repetition_level and count != described.num_rows):
            said = f"{count} values in {described.num_rows} rows"
            raise MalformedFile(f"{name}: {said} cannot be; the file is damaged, write it again")
        # Arrow reads behind the chunks of old writers, which did not count the header of the dictionary page.
        fetched = min(length + BEHIND, self.file.size - start)
        return _Place(group, leaf, start, length, fetched, Claims(count, chunk.compression, name))

    def _widest(self, chunk: _Place, data: bytes) -> int:
        """Check the pages of a chunk; return the bytes that one of its values may take beyond those in a page."""
        kind = self.metadata.schema.column(chunk.leaf)
        is_text, count = kind.physical_type == "BYTE_ARRAY", chunk.claims.num_values
        widest = widest_value(data, chunk.length, chunk.claims, is_text=is_text)
        widest = kind.length if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" else widest
        in_lists = kind.max_repetition_level and count * max(widest, 16) > self._most_bytes()
        if widest > BATCH_BYTES or in_lists:
            said = f"{count:,} values of up to {widest:,} bytes, more than is read of {self.file.size:,} bytes"
            raise UnsupportedFeature(f"{chunk.claims.place}: {said}; leave the column out")
        return widest


class _Place(NamedTuple):
    """A column chunk: where it begins, how many bytes are its own, how many are read, and what is said of it."""

    group: int
    leaf: int
    start: int
    length: int
    fetched: int
    claims: Claims


class _Fetched(io.RawIOBase):
    """The ranges of a file that have been read, for Arrow to seek in."""

    def __init__(self, size: int, starts: Sequence[int], data: Sequence[bytes]) -> None:
        self._size, self._place = size, 0
        self._pieces = dict(zip(starts, data, strict=True))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence] + offset
        return self._place

    def read(self, size: int = -1) -> Any:
        for start, piece in self._pieces.items():
            if start <= self._place and self._place + max(size, 0) <= start + len(piece):
                data = memoryview(piece)[self._place - start :][: size if size >= 0 else None]
                self._place += len(data)
                return data
        raise ValueError(f"bytes {self._place} to {self._place + size} belong to no column that is read")
