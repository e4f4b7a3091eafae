"""Dictionaries of a dataset, read per row group and decoded to values of the column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.arrow_arrays import valid_flags
from parquet_core.format.comparable_values import comparable_values
from parquet_core.format.dictionary import dictionary_range, is_complete, page_bytes, read_dictionary
from parquet_core.format.plain import join_values
from parquet_core.ragged import firsts, rows_with
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read
from parquet_core.spark_rules.type_promotion import as_read, stored_form
from parquet_core.storage import Ranges, gather, read_range
from parquet_core.trust.contradictions import AGAINST_DICTIONARIES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.dataset.column_store import ColumnStore
    from parquet_core.dataset.footer_columns import FooterColumns
    from parquet_core.dataset.page_indexes import PageIndexes
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.plain import PlainValues
    from parquet_core.format.schema import LeafColumn


# Bytes of decoded dictionaries to cache; dictionaries beyond the limit are read again on each use.
MAX_KEPT_BYTES = 64 << 20


class _DictionaryRange(NamedTuple):
    """Byte range of a dictionary page, from the footer and the offset index."""

    position: int
    leaf: LeafColumn
    start: int
    length: int


@dataclass(slots=True)
class Dictionaries:
    """Reader of dictionaries; caches up to `MAX_KEPT_BYTES` of them in memory."""

    groups: RowGroupTable
    footers: FooterColumns
    page_indexes: PageIndexes
    store: ColumnStore
    _kept: dict[LeafColumn, dict[int, pa.Array | str]] = field(default_factory=dict)
    _kept_bytes: int = 0

    def read(self, column: LeafColumn, positions: Positions) -> list[pa.Array | str]:
        """Return the dictionary of a column in each chosen row group, or the reason why it proves nothing."""
        known = self._kept.setdefault(column, {})
        trusted = positions[self.footers.refusals(column, positions, AGAINST_DICTIONARIES) == ""]
        self.store.recall_structures(self.store.name("dictionaries", column), trusted, known)
        missing = np.array([p for p in positions.tolist() if p not in known], np.int64)
        new = dict(zip(missing.tolist(), self._read(column, missing), strict=True)) if len(missing) else {}
        for position, values in new.items():
            size = 0 if isinstance(values, str) else values.nbytes
            if self._kept_bytes + size <= MAX_KEPT_BYTES:
                known[position] = values
                self._kept_bytes += size
        return [new[p] if p in new else known[p] for p in positions.tolist()]

    def cached(self, column: LeafColumn, positions: Positions) -> list[pa.Array | str | None]:
        """Return the cached part of the result of `read`; None for row groups that were not read."""
        return list(map(self._kept.get(column, {}).get, positions.tolist()))

    def save(self) -> None:
        """Cache the dictionaries that were read, in memory."""
        for column, known in self._kept.items():
            self.store.remember_structures(self.store.name("dictionaries", column), known)

    def refusals(self, column: LeafColumn, positions: Positions) -> NDArray[np.object_]:
        """Return, for each row group, why its dictionary proves nothing; "" if the dictionary may be read."""
        doubted = self.footers.refusals(column, positions, AGAINST_DICTIONARIES)
        return np.where(doubted == "", self._by_footers(column, positions), doubted)

    def _by_footers(self, column: LeafColumn, positions: Positions) -> NDArray[np.object_]:
        """Return why dictionaries prove nothing, as far as footers show; "" if they may be read.

        Column chunks that footers describe alike are evaluated once.
        """
        chunks = self.footers.chunks(column).take(positions)
        written = chunks.encoding_stats.tolist()
        # Encoded statistics are compared as bytes, which avoids decoding each of them.
        numbers: dict[bytes | None, int] = {stats: number for number, stats in enumerate(dict.fromkeys(written))}
        stats = np.fromiter(map(numbers.__getitem__, written), np.int64, len(written))
        traits = np.column_stack(
            [
                self.groups.provenance_ids[self.groups.file[positions]],
                chunks.present | chunks.encrypted,
                chunks.encrypted,
                stats,
                chunks.encodings,
            ]
        ).astype(np.int64)
        first, alike = _distinct_rows(traits)
        reasons = np.array([self._refusal(column, int(position)) for position in positions[first]], object)
        return reasons[alike]

    def _refusal(self, column: LeafColumn, position: int) -> str:
        chunks, kind = self.footers.chunks(column), self.groups.provenance(position)
        there = chunks.present[position] or chunks.encrypted[position]
        if not there or leaf_as_read(column, kind) is None:
            return "the file lacks the column or stores it as another type"
        if is_rebased(column, kind):
            return "the file stores dates of another calendar"
        incomplete = is_complete(chunks, position)
        return "" if incomplete is None else incomplete

    def _read(self, column: LeafColumn, positions: Positions) -> list[pa.Array | str]:
        """Read the dictionary of a column in each chosen row group, or return the reason why it proves nothing.

        A dictionary contains every non-null value of the row group, and possibly more. Its values are comparable with
        `Bounds`. Raises the errors of `gather`.
        """
        refusals = self.refusals(column, positions)
        first_pages = self._first_pages(column, positions[refusals == ""])
        pages = [
            why or self._page(column, position, first_pages)
            for why, position in zip(refusals, positions.tolist(), strict=True)
        ]
        readable = [page for page in pages if not isinstance(page, str)]
        pieces = gather(
            self.groups.files,
            Ranges(
                np.array([self.groups.file[page.position] for page in readable], np.int64),
                np.array([page.start for page in readable], np.int64),
                np.array([page.length for page in readable], np.int64),
            ),
            counts=[1] * len(readable),
            purpose="dictionary",
            traffic=self.groups.traffic,
        )
        written = iter([self._written(column, page, data) for page, data in zip(readable, pieces, strict=True)])
        values = iter(_values(column, [page.leaf for page in readable], list(written)))
        return [page if isinstance(page, str) else next(values) for page in pages]

    def _first_pages(self, column: LeafColumn, positions: Positions) -> dict[int, int]:
        """Return the offset of the first data page by row group, where only an offset index has it.

        Row groups that lack an offset index are left out.
        """
        chunks = self.footers.chunks(column)
        dictionary, data = chunks.dictionary_page_offset[positions], chunks.data_page_offset[positions]
        positions = positions[(dictionary <= 0) | (dictionary >= data)]
        if not len(positions):
            return {}
        (offsets,) = self.page_indexes.locations([column], positions)
        known = offsets.reason == ""
        return {p: int(offsets.offset[offsets.first[i]]) for i, p in enumerate(positions.tolist()) if known[i]}

    def _page(self, column: LeafColumn, position: int, first_pages: dict[int, int]) -> _DictionaryRange | str:
        leaf = leaf_as_read(column, self.groups.provenance(position))
        assert leaf is not None
        span = dictionary_range(self.footers.chunks(column), position, first_pages.get(position))
        if isinstance(span, str):
            return span
        if sum(span) > self.groups.files[int(self.groups.file[position])].size:
            return "the footer puts the dictionary page outside of the file"
        return _DictionaryRange(position, leaf, *span)

    def _written(self, column: LeafColumn, page: _DictionaryRange, data: bytes) -> PlainValues | str:
        """Return the PLAIN values of one dictionary; the reason if they are not trusted."""
        place, chunks = self.groups.place(page.position, column), self.footers.chunks(column)
        file = self.groups.files[int(self.groups.file[page.position])]
        needed = page_bytes(data, chunks, page.position, page.leaf, place=place)
        if isinstance(needed, str):
            return needed
        if needed > len(data):
            if needed > file.size - page.start:
                return "the dictionary page claims to reach beyond the file"
            data = read_range(file, page.start, needed, purpose="dictionary", traffic=self.groups.traffic)
        return read_dictionary(data, chunks, page.position, page.leaf, place=place)


def _distinct_rows(traits: Positions) -> tuple[Positions, Positions]:
    """Find the distinct rows of a matrix.

    Returns the index of one row for each distinct row, and for each row the number of its distinct row.
    """
    order = np.lexsort(traits.T)
    ordered = traits[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def _values(column: LeafColumn, leaves: list[LeafColumn], written: list[PlainValues | str]) -> list[pa.Array | str]:
    """Decode dictionaries that files store in various types to the column's type."""
    forms = [stored_form(leaf) for leaf in leaves]
    decoded: list[pa.Array | str] = list(written)
    for form in dict.fromkeys(forms):
        at = [i for i, each in enumerate(forms) if each == form]
        for i, values in zip(at, _decode_one_type(leaves[at[0]], [written[i] for i in at]), strict=True):
            decoded[i] = values if isinstance(values, str) else as_read(values, column)
    return decoded


def _decode_one_type(column: LeafColumn, written: list[PlainValues | str]) -> list[pa.Array | str]:
    """Decode all dictionaries of one stored type together; the returned arrays are slices of one array."""
    parts = [part for part in written if not isinstance(part, str)]
    if not parts:
        return [part for part in written if isinstance(part, str)]
    first = firsts(np.array([len(part) for part in parts], np.int64))
    values = comparable_values(column, join_values(parts))
    # A reader may decode an out-of-range entry to some value, so a dictionary with such an entry proves no absence.
    whole = ~rows_with(~valid_flags(values), first)
    slices = iter(
        [
            values[low:high] if fits else "the dictionary holds values that its type cannot"
            for low, high, fits in zip(first[:-1].tolist(), first[1:].tolist(), whole.tolist(), strict=True)
        ]
    )
    return [part if isinstance(part, str) else next(slices) for part in written]
