"""Columns of a dataset from footers: column chunks and trusted bounds.

A column is decoded on first use and cached. Footers stay in memory up to a limit; beyond it they are read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from parquet_core.columnar import Columnar
from parquet_core.errors import StorageFailure
from parquet_core.format.chunk_decoding import Totals
from parquet_core.format.column_chunk import ColumnChunks, absent_chunks
from parquet_core.format.footer import read_footers
from parquet_core.ragged import distinct
from parquet_core.spark_rules.columns_in_files import reads_as_null
from parquet_core.trust.bounds import Bounds, spread_bounds, unknown_bounds, with_nulls, without
from parquet_core.trust.contradictions import AGAINST_STATISTICS, reason_of, reasons_of
from parquet_core.trust.trusted_bounds import bounds_as_read
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.dataset.column_store import ColumnStore
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.storage import DataFile, Traffic
    from parquet_core.trust.contradictions import Doubt, Doubts
    from parquet_core.trust.writer_fault import KnownFault


# Limit of encoded footers in memory, in bytes; a larger set is not kept.
MOST_KEPT_BYTES = 256 << 20


@dataclass(slots=True)
class FooterSource:
    """Reader of the footers of `files`, by index."""

    files: tuple[DataFile, ...]
    traffic: Traffic
    _of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _kept: tuple[Footers, ...] = ()

    def extended(self, files: tuple[DataFile, ...]) -> FooterSource:
        """Return a source for a longer list of files.

        If `files` begins with the files of this source, footers that were read are kept. Otherwise all footers are read
        again.
        """
        if self._of.tolist() != list(range(len(self._of))) or files[: len(self._of)] != self.files[: len(self._of)]:
            return FooterSource(files, self.traffic)
        return FooterSource(files, self.traffic, self._of, self._kept)

    def read(self, indices: NDArray[np.int64]) -> Iterable[Footers]:
        """Return the footers of the files at `indices`, in batches."""
        begun = len(self._of) if np.array_equal(indices[: len(self._of)], self._of) else 0
        if 0 < begun == len(indices):
            return self._kept
        kept = list(self._kept) if begun else []
        kept_bytes = sum(len(footers.encoded) for footers in kept)
        # Footers beyond the limit are yielded batch by batch, so that they are never all in memory.
        batches = read_footers([self.files[i] for i in indices[begun:].tolist()], traffic=self.traffic)
        for footers in batches:
            kept.append(footers)
            kept_bytes += len(footers.encoded)
            if kept_bytes > MOST_KEPT_BYTES:
                return _chain(kept, batches)
        self._of, self._kept = indices, tuple(kept)
        return self._kept


def _chain(first: list[Footers], rest: Iterable[Footers]) -> Iterable[Footers]:
    while first:
        yield first.pop(0)
    yield from rest


@dataclass(frozen=True, slots=True)
class FooterColumn(Columnar):
    """Chunks, bounds and `Doubt` flags of one column, one per row group."""

    batches = {"chunks": ColumnChunks, "bounds": Bounds}  # noqa: RUF012 - a constant of the base class
    chunks: ColumnChunks
    bounds: Bounds
    doubts: Doubts


@dataclass(slots=True)
class FooterColumns:
    """Decoder of columns from footers, which caches each column.

    `contradictions`: number of calls of `doubt` that recorded a contradiction.
    """

    groups: RowGroupTable
    source: FooterSource
    store: ColumnStore
    contradictions: int = 0
    _columns: dict[Path, FooterColumn] = field(default_factory=dict)
    _faulty: dict[Path, dict[KnownFault, NDArray[np.bool_]]] = field(default_factory=dict)

    def chunks(self, column: LeafColumn) -> ColumnChunks:
        """Return the column chunks of a column, one per row group."""
        return self._column(column).chunks

    def bounds(self, column: LeafColumn) -> Bounds:
        """Return the bounds of a column from statistics, one per row group."""
        return self._column(column).bounds

    def doubts(self, column: LeafColumn) -> Doubts:
        """Return the `Doubt` flags of a column, one value per row group."""
        return self._column(column).doubts

    def why_doubted(self, column: LeafColumn, position: int) -> str:
        """Return why a column's statistics are distrusted in a row group; "" if they are trusted."""
        return reason_of(int(self.doubts(column)[position]) & AGAINST_STATISTICS)

    def refusals(self, column: LeafColumn, positions: Positions, against: Doubt) -> NDArray[np.object_]:
        """Return, for each row group, why a structure of a column is distrusted; "" if it is trusted.

        `against`: the `Doubt` flags that concern the structure.
        """
        return reasons_of(self.doubts(column)[positions], against)

    def doubt(self, column: LeafColumn, positions: Positions, doubt: Doubt) -> None:
        """Record row groups in which a column's statistics contradict another structure, such as a page index.

        From then on, neither the statistics nor the other structure is trusted there.
        """
        if len(positions) == 0:
            return
        whole, opened = self._column(column), self.groups.read_from()
        doubts = whole.doubts.copy()
        doubts[positions] |= np.uint8(doubt)
        whole = self._columns[column.path] = _trusted(replace(whole, doubts=doubts))
        self.store.put(self.store.name("chunks", column), opened, whole.take(opened))
        self.contradictions += 1

    def totals(self, columns: Sequence[LeafColumn]) -> Totals:
        """Return the total bytes and pages of several columns, one entry per row group of `groups.read_from()`.

        The columns are summed in one pass, since there may be thousands.
        """
        paths = [self.groups.names.of(column.path) for column in columns]

        def read(positions: Positions) -> Totals:
            files = distinct(self.groups.opened_files(positions))
            none = np.zeros(0, np.int64)
            parts = [footers.totals(paths) for footers in self.source.read(files)]
            return Totals.concat([Totals(none, none, np.zeros(0, np.bool_)), *parts])

        return self.store.get(_name_of_totals(paths), Totals, self.groups.read_from(), read)

    def _column(self, column: LeafColumn) -> FooterColumn:
        """Return a column over all row groups, including row groups of unopened files."""
        if column.path not in self._columns:
            groups, opened = self.groups, self.groups.read_from()

            def read(positions: Positions) -> FooterColumn:
                return FooterColumn(*self._decode(column, positions), groups.doubts[positions])

            found = self.store.get(self.store.name("chunks", column), FooterColumn, opened, read)
            doubts = groups.doubts.copy()
            doubts[opened] |= found.doubts
            chunks = found.chunks.scattered(opened, len(groups))
            bounds = spread_bounds(found.bounds, opened, groups.row_count)
            self._columns[column.path] = _trusted(FooterColumn(chunks, bounds, doubts))
        return self._columns[column.path]

    def faults(self, column: LeafColumn, positions: Positions) -> tuple[KnownFault, ...]:
        """Return the known writer faults that may affect a column in at least one of the row groups at `positions`."""
        faulty = self.faulty(column)
        return tuple(fault for fault, affected in faulty.items() if affected[positions].any()) if faulty else ()

    def faulty(self, column: LeafColumn) -> dict[KnownFault, NDArray[np.bool_]]:
        """Return the known writer faults of a column, each with flags of the row groups that it may affect.

        Faults that concern only deprecated bounds are left out, since files with newer bounds do not need deprecated
        ones.
        """
        if column.path not in self._faulty:
            self._faulty[column.path] = self._find_faulty(column)
        return self._faulty[column.path]

    def _find_faulty(self, column: LeafColumn) -> dict[KnownFault, NDArray[np.bool_]]:
        positions = self.groups.read_from()
        trusts, number = self.groups.chunk_trusts(column, self.chunks(column).take(positions), positions)
        of_number = [[it for it in trust.faults if it.wrong != Fact.DEPRECATED_BOUNDS] for trust in trusts]
        faulty: dict[KnownFault, NDArray[np.bool_]] = {}
        for fault in dict.fromkeys(fault for faults in of_number for fault in faults):
            affected = np.zeros(len(self.groups), np.bool_)
            affected[positions] = np.array([fault in faults for faults in of_number], np.bool_)[number]
            if affected.any():
                faulty[fault] = affected
        return faulty

    def claimed_bounds(self, column: LeafColumn) -> Bounds:
        """Return the bounds of a column as if writers had no known faults, one entry per row group.

        Footers that are not in memory are read again if any writer has a known fault.
        """
        groups = self.groups
        if not self.faulty(column):
            return self.bounds(column)
        _, bounds = self._decode(column, groups.read_from(), believing=True)
        return spread_bounds(bounds, groups.read_from(), groups.row_count)

    def _decode(
        self, column: LeafColumn, positions: Positions, *, believing: bool = False
    ) -> tuple[ColumnChunks, Bounds]:
        """Decode a column in the row groups at `positions`.

        `positions` must contain all row groups of each of their files.
        """
        groups = self.groups
        chunks: list[ColumnChunks] = []
        bounds: list[Bounds] = []
        absent, first = self._absent(column), 0
        for footers in self.source.read(distinct(groups.opened_files(positions))):
            here = positions[first : first + len(footers)]
            if not groups.has_rows(footers.row_count, here):
                raise StorageFailure(
                    f"{footers.files[0].path}: it or a later file changed while it was read; try again"
                )
            found, known = self._decode_batch(column, footers, here, believing=believing)
            chunks.append(found)
            bounds.append(with_nulls(known, absent[groups.provenance_ids[groups.file[here]]]))
            first += len(footers)
        if first != len(positions):
            raise StorageFailure(f"{groups.files[-1].path}: it or an earlier file changed while it was read; try again")
        if not chunks:
            return absent_chunks(0), unknown_bounds(column, np.zeros(0, np.int64))
        return ColumnChunks.concat(chunks), Bounds.concat(bounds)

    def _decode_batch(
        self, column: LeafColumn, footers: Footers, positions: Positions, *, believing: bool
    ) -> tuple[ColumnChunks, Bounds]:
        """Decode a column in a batch of footers.

        The paths that files use for the column are tried in order; the first path that a file has is used. If field ids
        identify columns, only the path with the column's field id counts.
        """
        chunks, bounds = [], []
        part, own = np.full(len(footers), -1, np.int64), self._own_paths(column)
        kind = self.groups.provenance_ids[self.groups.file[positions]]
        for path in self.groups.names.of(column.path):
            found, statistics, there = footers.chunks(path)
            chunks.append(found)
            if statistics is None:
                bounds.append(unknown_bounds(column, footers.row_count))
            else:
                judged = self.groups.chunk_trusts(column, found.take(there), positions[there], believing=believing)
                known = bounds_as_read(column, statistics, *judged)
                bounds.append(spread_bounds(known, there, footers.row_count))
            if own is not None:
                there = there[np.array([each == path for each in own], np.bool_)[kind[there]]]
            part[there] = np.where(part[there] < 0, len(chunks) - 1, part[there])
        if own is not None and (part < 0).any():
            # In these files, a leaf under the column's path is another column.
            part[part < 0] = len(chunks)
            chunks.append(absent_chunks(len(footers)))
            bounds.append(unknown_bounds(column, footers.row_count))
        if len(chunks) == 1:
            return chunks[0], bounds[0]
        chosen = np.maximum(part, 0) * len(footers) + np.arange(len(footers))
        return ColumnChunks.concat(chunks).take(chosen), Bounds.concat(bounds).take(chosen)

    def _absent(self, column: LeafColumn) -> NDArray[np.bool_]:
        """Return, for each provenance (schema and writer), True if Spark reads null in all rows of its files."""
        names = self.groups.names
        if names.numbers is not None:
            return np.array([reads_as_null(column, provenance) for provenance in self.groups.provenances], np.bool_)
        wanted = replace(column, path=names.of(column.path)[0])
        return np.array([reads_as_null(wanted, provenance) for provenance in names.provenances], np.bool_)

    def _own_paths(self, column: LeafColumn) -> list[Path | None] | None:
        """Return, for each provenance (schema and writer), the column's path in its files; None if they lack it.

        If names identify columns, instead of field ids, None is returned in place of the list.
        """
        groups = self.groups
        if groups.names.numbers is None:
            return None
        called = (provenance.by_path.get(column.path) for provenance in groups.provenances)
        return [
            None if leaf is None else stored.columns[leaf.index].path
            for leaf, stored in zip(called, groups.names.provenances, strict=True)
        ]


def _trusted(column: FooterColumn) -> FooterColumn:
    """Drop the bounds of row groups whose statistics are distrusted."""
    doubted = column.doubts & np.uint8(AGAINST_STATISTICS) != 0
    return replace(column, bounds=without(column.bounds, doubted))


def _name_of_totals(columns: Sequence[Sequence[Path]]) -> str:
    paths = ("\x00".join(path) for paths in columns for path in ("", *paths))
    return f"totals {xxhash.xxh3_128_hexdigest(chr(0).join(paths).encode(errors='surrogatepass'))}"
