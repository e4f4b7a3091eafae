"""Reader of the values of one Parquet file, in batches of rows.

Arrow decodes only checked pages.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.fix import LEAVE_OUT, WRITE_AGAIN
from parquet_core.format.schema import Physical
from parquet_core.storage import Traffic, read_ranges
from parquet_core.values.arrow_footer import Footer, read_arrow_footers, reading
from parquet_core.values.pages import BEHIND, ChunkClaims, check_codec, check_pages, is_always_compressed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage import DataFile

BATCH_ROWS = 1 << 16
# Limit of the decoded bytes of a batch, unless one row takes more. List columns have a limit per row group instead.
BATCH_BYTES = 64 << 20
_MOST_RATIO = 64
_RUN_BYTES = 8 << 20  # row groups are read together up to about this size


@contextmanager
def open_values(
    file: DataFile, *, traffic: Traffic | None = None, footer: Footer | None = None
) -> Iterator[ValueReader]:
    """Open a file to read its values.

    `footer`: from `read_arrow_footers`; None to read it here. Raises MalformedFile, UnsupportedFeature and
    StorageFailure, like the methods of the reader.
    """
    traffic = Traffic() if traffic is None else traffic
    footer = next(read_arrow_footers([file], traffic=traffic)) if footer is None else footer
    with reading(file):
        schema = footer.metadata.schema.to_arrow_schema()
    yield ValueReader(file, footer, schema, traffic)


@dataclass(frozen=True, slots=True)
class ValueReader:
    """Reader of one open file; see `open_values`."""

    file: DataFile
    footer: Footer
    schema: pa.Schema
    traffic: Traffic

    @property
    def row_groups(self) -> range:
        """The numbers of all row groups."""
        return range(len(self.footer.row_counts))

    def batches(
        self, groups: Sequence[int], columns: Sequence[str], *, rows: int = BATCH_ROWS, coded: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of row groups in batches of at most `rows` rows, fewer if values are long.

        `columns`: dotted paths; all leaves below a path are read.
        `coded`: paths of the leaves to return as dictionary arrays.
        """
        leaves = self._leaves(columns)
        for chunks in self._runs(groups, leaves):
            with reading(self.file, f"row group {chunks[0].group}"):
                data = read_ranges(
                    self.file, [(chunk.start, chunk.fetched) for chunk in chunks], purpose="rows", traffic=self.traffic
                )
                widest = max(self._widest(chunk, piece) for chunk, piece in zip(chunks, data, strict=True))
                source = _Fetched(self.file.size, [chunk.start for chunk in chunks], data)
                at_once = max(1, min(rows, BATCH_BYTES // max(widest, 1)))
                with self._opened(source, coded) as opened:
                    yield from opened.iter_batches(
                        at_once,
                        row_groups=list(dict.fromkeys(chunk.group for chunk in chunks)),
                        columns=list(columns),
                        use_threads=False,
                    )

    def table(self, group: int, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """Read columns of a whole row group.

        Raises UnsupportedFeature if the decoded values take much more memory than the size of the file.
        """
        most, taken, parts = self._most_bytes(), 0, []
        for batch in self.batches([group], columns, coded=coded):
            taken += batch.nbytes
            if taken > most:
                raise UnsupportedFeature(f"{self.file.path}: row group {group} takes more than {most:,} bytes decoded")
            parts.append(batch)
        return pa.Table.from_batches(parts) if parts else self._empty(columns, coded)

    def _opened(self, source: _Fetched, coded: Sequence[str]) -> pq.ParquetFile:
        # With pre_buffer, Arrow would request neighbouring chunks as one range, including bytes that were not fetched.
        # INT96 is decoded to microseconds as in Spark; nanoseconds cannot represent years before 1677 or after 2262.
        return pq.ParquetFile(
            source,
            metadata=self.footer.metadata,
            read_dictionary=list(coded),
            pre_buffer=False,
            coerce_int96_timestamp_unit="us",
        )

    def _empty(self, columns: Sequence[str], coded: Sequence[str]) -> pa.Table:
        with self._opened(_Fetched(self.file.size, [], []), coded) as opened:
            return opened.read_row_groups([], columns=list(columns), use_threads=False)

    def _most_bytes(self) -> int:
        return max(4 * BATCH_BYTES, _MOST_RATIO * self.file.size)

    def _leaves(self, columns: Sequence[str]) -> list[int]:
        """Return the numbers of the leaves at or below the columns.

        `columns`: dotted paths.
        """
        leaves = enumerate(self.footer.leaves)
        return [i for i, leaf in leaves if any(leaf.name == c or leaf.name.startswith(f"{c}.") for c in columns)]

    def _runs(self, groups: Sequence[int], leaves: Sequence[int]) -> Iterator[list[_PagePlace]]:
        """Yield the chunks of row groups, of several row groups at a time if they are small."""
        run: list[_PagePlace] = []
        fetched = 0
        for group in groups:
            if fetched > _RUN_BYTES:
                yield run
                run, fetched = [], 0
            chunks = [self._place(group, leaf) for leaf in leaves if self.footer.row_counts[group]]
            run += chunks
            fetched += sum(chunk.fetched for chunk in chunks)
        if run:
            yield run

    def _place(self, group: int, leaf: int) -> _PagePlace:
        column, rows = self.footer.leaves[leaf], self.footer.row_counts[group]
        name = f"{self.file.path}: row group {group}, column {column.name}"
        chunk = self.footer.chunk(group, leaf)
        if chunk is None:
            raise UnsupportedFeature(f"{name}: it is encrypted", LEAVE_OUT)
        codec, count, length, start, dictionary = chunk
        check_codec(codec, name)
        if 0 < dictionary < start:
            start = dictionary
        if start < 0 or length < 0 or start + length > self.file.size:
            raise MalformedFile(f"{name}: is outside of the file", WRITE_AGAIN)
        if count < 0 or (not column.max_repetition_level and count != rows):
            raise MalformedFile(f"{name}: {count} values in {rows} rows cannot be", WRITE_AGAIN)
        # Arrow reads past the chunks of old writers, whose sizes do not include the header of the dictionary page.
        fetched = min(length + BEHIND, self.file.size - start)
        return _PagePlace(
            group,
            leaf,
            start,
            length,
            fetched,
            ChunkClaims(
                count,
                codec,
                name,
                column.physical == Physical.BYTE_ARRAY,
                (column.max_definition_level > 0) + (column.max_repetition_level > 0),
                always_compressed=is_always_compressed(self.footer.metadata.created_by),
            ),
        )

    def _widest(self, chunk: _PagePlace, data: bytes) -> int:
        """Check the pages of a chunk; return the largest size of a value in bytes.

        The size is the type length of a FIXED_LEN_BYTE_ARRAY column, else `ChunkContent.widest`. Raises MalformedFile,
        and UnsupportedFeature if the values would take too much memory.
        """
        column, count = self.footer.leaves[chunk.leaf], chunk.claims.num_values or 0
        widest = check_pages(data, chunk.length, chunk.claims).widest
        widest = column.type_length if column.physical == Physical.FIXED_LEN_BYTE_ARRAY else widest
        in_lists = column.max_repetition_level > 0 and count * max(widest, 16) > self._most_bytes()
        if widest > BATCH_BYTES or in_lists:
            reason = f"{count:,} values of up to {widest:,} bytes, more than the limit of {self.file.size:,} bytes"
            raise UnsupportedFeature(f"{chunk.claims.location}: {reason}", LEAVE_OUT)
        return widest


class _PagePlace(NamedTuple):
    """Location and claims of a column chunk.

    `length`: bytes of the chunk from `start`. `fetched`: bytes to read from `start`.
    """

    group: int
    leaf: int
    start: int
    length: int
    fetched: int
    claims: ChunkClaims


class _Fetched(io.RawIOBase):
    """Seekable file for Arrow that contains only the fetched ranges."""

    def __init__(self, size: int, starts: Sequence[int], data: Sequence[bytes]) -> None:
        self._size, self._place = size, 0
        pieces = dict(zip(starts, data, strict=True))
        self._starts = sorted(pieces)
        self._pieces = [pieces[start] for start in self._starts]

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
        # Fetched ranges may overlap. If the range that begins last before the position is too short, an earlier one is
        # used.
        for i in range(bisect_right(self._starts, self._place) - 1, -1, -1):
            start, piece = self._starts[i], self._pieces[i]
            if self._place + max(size, 0) <= start + len(piece):
                data = memoryview(piece)[self._place - start :][: size if size >= 0 else None]
                self._place += len(data)
                return data
        raise ValueError(f"bytes {self._place} to {self._place + size} belong to no column that is read")
