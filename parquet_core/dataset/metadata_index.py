"""The metadata of a whole dataset, columnar: one position per row group, over all files.

Of the footers the columns that are asked for are decoded; page indexes and bloom filters are read when they
are asked for. What was read is kept, in memory and, with a cache, on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pyarrow.compute as pc
import xxhash

from parquet_core.arrow_arrays import valid_flags
from parquet_core.bloom import guess_length, parse_filter, parse_guess
from parquet_core.dataset.arrow_form import from_batch, numbers_at
from parquet_core.dataset.dictionary_reader import dictionary_refusals, read_dictionaries
from parquet_core.dataset.logged import FileList
from parquet_core.dataset.page_batch import PageBatch, Source, concat_batches, join_indexes
from parquet_core.dataset.structure_reader import RowGroupPlaces, Wanted, read_structures
from parquet_core.errors import StorageFailure
from parquet_core.format.column_chunk import ColumnChunks, Totals, absent_chunks, concat_chunks
from parquet_core.format.page_index import (
    IndexBytes,
    OffsetIndexes,
    concat_offset_indexes,
    decode_column_indexes,
    decode_offset_indexes,
)
from parquet_core.ragged import distinct
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read, reads_as_null
from parquet_core.spark_rules.type_promotion import stored_form
from parquet_core.storage import read_range
from parquet_core.trust.bounds import Bounds, concat_bounds, spread_bounds, unknown_bounds, with_nulls, without
from parquet_core.trust.bounds_as_read import bounds_as_read
from parquet_core.trust.doubts import (
    AGAINST_DICTIONARIES,
    AGAINST_FILTERS,
    AGAINST_INDEXES,
    AGAINST_STATISTICS,
    Doubt,
    reason_of,
    reasons_of,
)
from parquet_core.trust.filter_contradictions import contradict_filters
from parquet_core.trust.fold_pages import fold_pages
from parquet_core.trust.judgement import trust
from parquet_core.trust.page_contradictions import contradict_pages, out_of_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.dataset.footer_source import FooterSource
    from parquet_core.dataset.stored_index import Kept, StoredIndex
    from parquet_core.format.column_chunk import ColumnChunk
    from parquet_core.format.footer import Footers
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path
    from parquet_core.spark_rules.names_in_files import NamesInFiles
    from parquet_core.storage import DataFile, Traffic
    from parquet_core.trust.doubts import Doubts
    from parquet_core.trust.judgement import Trust

    Positions = NDArray[np.int64]

Part = TypeVar("Part", OffsetIndexes, PageBatch)

# Bytes of decoded dictionaries; those beyond are read again when they are asked for again.
MAX_KEPT_DICTIONARIES = 64 << 20


@dataclass(slots=True)
class _Fetched(Generic[Part]):
    """What was fetched of some row groups, in the order of fetching; `slot` says where, -1 not yet."""

    slot: Positions
    kept: Part | None = None
    grown: bool = False

    def missing(self, positions: Positions) -> Positions:
        # One that is asked for twice is fetched once.
        return distinct(np.sort(positions[self.slot[positions] < 0]))

    def add(self, positions: Positions, part: Part, concat: Callable[[list[Part]], Part]) -> None:
        before = 0 if self.kept is None else len(self.kept)
        self.slot[positions] = before + np.arange(len(positions))
        self.kept = part if self.kept is None else concat([self.kept, part])
        self.grown |= len(positions) > 0

    def drop_unused(self) -> None:
        """Let go of what was kept of row groups that are gone."""
        used = np.flatnonzero(self.slot >= 0)
        if self.kept is not None and len(used) < len(self.kept):
            self.kept = self.kept.take(self.slot[used])
            self.slot[used] = np.arange(len(used))

    def take(self, positions: Positions) -> Part:
        assert self.kept is not None
        return self.kept.take(self.slot[positions])


@dataclass(slots=True)
class MetadataIndex:
    """What the files of a dataset say about themselves.

    `file`, `ordinal` and `row_count` have one entry per row group: index of its file, its number in
    the file, its rows. `kind`, by file, is an index in `kinds`: schema, writer and orders. `columns` are those
    of the file that Spark takes the schema from; a column that a directory name overrides is marked as not to
    be pruned on. `partition_values` has, by path of those `partitions` that are certain, the value in each
    file. `summary`: that file, if it holds no data. `opened`, by file: of the others, which a log or directory
    names rule out, nothing was read; each stands there as one row group of number -1. None when all were.
    `deleted`, by file: where some rows no longer count. None where all do. `doubts`: what each row group says of itself
    that is not believed; `contradictions` counts those found since, of which earlier answers knew nothing.
    """

    files: Sequence[DataFile]
    kinds: tuple[Provenance, ...]
    kind: Positions
    columns: tuple[LeafColumn, ...]
    partitions: tuple[LeafColumn, ...]
    summary: DataFile | None
    traffic: Traffic
    file: Positions
    ordinal: Positions
    row_count: Positions
    doubts: Doubts
    partition_values: dict[Path, pa.Array]
    _footers: FooterSource
    _names: NamesInFiles
    opened: NDArray[np.bool_] | None = None
    deleted: NDArray[np.bool_] | None = None
    contradictions: int = 0
    _stored: StoredIndex | None = None
    _chunks: dict[Path, ColumnChunks] = field(default_factory=dict)
    _bounds: dict[Path, Bounds] = field(default_factory=dict)
    _doubts: dict[Path, Doubts] = field(default_factory=dict)
    _all_chunks: dict[Path, ColumnChunks] = field(default_factory=dict)
    _all_bounds: dict[Path, Bounds] = field(default_factory=dict)
    _decoded: list[LeafColumn] = field(default_factory=list)
    _totals: dict[str, Totals] = field(default_factory=dict)
    _unkept_totals: list[str] = field(default_factory=list)
    _offsets: dict[Path, _Fetched[OffsetIndexes]] = field(default_factory=dict)
    _pages: dict[Path, _Fetched[PageBatch]] = field(default_factory=dict)
    _filters: dict[tuple[int, Path], Blocks | str] = field(default_factory=dict)
    _dictionaries: dict[tuple[int, Path], pa.Array | str] = field(default_factory=dict)
    _dictionary_bytes: int = 0

    def __len__(self) -> int:
        return len(self.row_count)

    def name_in_files(self, column: LeafColumn) -> str:
        """Return the dotted path that files know a column by."""
        return ".".join(self._names.of(column.path)[0])

    def provenance(self, position: int) -> Provenance:
        """Return what the file of a row group says of its schema and writer."""
        return self.kinds[int(self.kind[self.file[position]])]

    def sizes_of_files(self) -> Positions:
        """Return the bytes of each file."""
        if isinstance(self.files, FileList):
            return self.files.sizes
        return np.array([file.size for file in self.files], np.int64)

    def column_chunks(self, column: LeafColumn) -> ColumnChunks:
        """Return what the footers say of a column in every row group."""
        self._load(column)
        if self.opened is None:
            return self._chunks[column.path]
        if column.path not in self._all_chunks:
            self._all_chunks[column.path] = self._chunks[column.path].scattered(self.read_from(), len(self))
        return self._all_chunks[column.path]

    def totals_read(self, columns: Sequence[LeafColumn]) -> Totals:
        """Add up what columns come to in each of the row groups `read_from()`.

        All columns are decoded at once: there may be thousands.
        """
        paths = [self._names.of(column.path) for column in columns]
        name = _name_of_totals(paths)
        if name not in self._totals:
            at = self.read_from()
            kept = self._on_disk(name)
            groups = np.full(len(at), -1, np.int64) if kept is None else kept.groups[at]
            old, new = groups >= 0, groups < 0
            none = np.zeros(len(at), np.int64)
            found = Totals(none, none.copy(), np.zeros(len(at), np.bool_))
            if kept is not None:
                for part, whole in zip(Totals._fields, found, strict=True):
                    whole[old] = numbers_at(kept.batch, part)[groups[old]]
            if new.any():
                read = [footers.totals(paths) for footers in self._footers.read(distinct(self._opened_files(at[new])))]
                for whole, parts in zip(found, zip(*read, strict=True), strict=True):
                    whole[new] = np.concatenate(parts)
                self._unkept_totals.append(name)
            self._totals[name] = found
        return self._totals[name]

    def chunk(self, position: int, column: LeafColumn) -> ColumnChunk | None:
        """Return a column's chunk in one row group; None when the file has no such column."""
        return self.column_chunks(column).chunk(int(position))

    def bounds(self, column: LeafColumn) -> Bounds:
        """Return what the statistics of every row group say of a column."""
        self._load(column)
        if self.opened is None:
            return self._bounds[column.path]
        if column.path not in self._all_bounds:
            spread = spread_bounds(self._bounds[column.path], self.read_from(), self.row_count)
            self._all_bounds[column.path] = spread
        return self._all_bounds[column.path]

    def bounds_with_pages(self, column: LeafColumn) -> Bounds:
        """Return the same, with the bounds of a row group's pages where it has none of its own.

        parquet-java drops the statistics of long strings, and keeps their column index. Reads what page indexes
        it needs.
        """
        own = self.bounds(column)
        silent = ~(valid_flags(own.lower) & valid_flags(own.upper)) & (self.row_count > 0)
        positions = np.flatnonzero(silent & (self.column_chunks(column).column_index[:, 0] > 0))
        if len(positions) == 0:
            return own
        pages = self.pages(column, positions)
        folded = spread_bounds(fold_pages(pages.bounds, pages.row_group, len(positions)), positions, self.row_count)
        names = ("lower", "upper", "null_count", "nan_count")
        return replace(own, **{name: pc.coalesce(getattr(own, name), getattr(folded, name)) for name in names})

    def _load(self, column: LeafColumn) -> None:
        if column.path in self._chunks:
            return
        kept = self._on_disk(self._name("chunks", column))
        at = self.read_from()
        if kept is None:
            chunks, bounds = self._decode_footers(column, at)
            self._decoded += [column] * (len(at) > 0)
        else:
            chunks, bounds = self._with_new(column, kept, at)
        self._chunks[column.path], self._bounds[column.path] = chunks, bounds
        self._doubts[column.path] = self.doubts if kept is None else self._with_kept_doubts(kept, at)
        self._forget_doubted(column)

    def _with_new(self, column: LeafColumn, kept: Kept, at: Positions) -> tuple[ColumnChunks, Bounds]:
        """Return what is kept of the row groups `at`, and what the footers say of those that it lacks."""
        groups = kept.groups[at]
        chunks, bounds = from_batch(kept.batch, "chunks", ColumnChunks), from_batch(kept.batch, "bounds", Bounds)
        new = np.flatnonzero(groups < 0)
        if len(new):
            groups = groups.copy()
            groups[new] = len(chunks) + np.arange(len(new))
            more_chunks, more_bounds = self._decode_footers(column, at[new])
            chunks, bounds = concat_chunks([chunks, more_chunks]), concat_bounds([bounds, more_bounds])
            self._decoded.append(column)
        if not np.array_equal(groups, np.arange(len(chunks))):
            chunks, bounds = chunks.take(groups), bounds.take(groups)
        return chunks, bounds

    def _with_kept_doubts(self, kept: Kept, at: Positions) -> Doubts:
        doubts, groups = self.doubts.copy(), kept.groups[at]
        old = groups >= 0
        doubts[at[old]] |= numbers_at(kept.batch, "doubts")[groups[old]]
        return doubts

    def doubts_about(self, column: LeafColumn) -> Doubts:
        """Return what every row group says of a column that is not believed."""
        self._load(column)
        return self._doubts.get(column.path, self.doubts)

    def why_silent(self, column: LeafColumn, position: int) -> str:
        """Say why the statistics of a column are not believed in a row group, empty where nothing contradicts them."""
        return reason_of(int(self.doubts_about(column)[position]) & AGAINST_STATISTICS)

    def _refusals(self, column: LeafColumn, positions: Positions, against: Doubt) -> NDArray[np.object_]:
        return reasons_of(self.doubts_about(column)[positions], against)

    def _doubt(self, column: LeafColumn, positions: Positions, doubt: Doubt) -> None:
        """Believe the statistics of a column no more in some row groups, and what contradicts them neither."""
        if len(positions) == 0:
            return
        doubts = self.doubts_about(column).copy()
        doubts[positions] |= np.uint8(doubt)
        self._doubts[column.path] = doubts
        self._forget_doubted(column)
        self._all_bounds.pop(column.path, None)
        self._decoded += [column] * (column not in self._decoded)
        self.contradictions += 1

    def _forget_doubted(self, column: LeafColumn) -> None:
        doubted = (self._doubts[column.path][self.read_from()] & np.uint8(AGAINST_STATISTICS)) != 0
        if doubted.any():
            self._bounds[column.path] = without(self._bounds[column.path], doubted)

    def has_rows(self, row_count: Positions, positions: Positions) -> bool:
        """Tell whether footers that were read again have so many rows in the row groups at `positions`."""
        if len(row_count) != len(positions):
            return False
        believed = self.doubts[positions] & np.uint8(Doubt.ROWS) == 0
        return not np.any((self.row_count[positions] != row_count) & believed)

    def read_from(self) -> Positions:
        """Return the row groups that something is read of."""
        return np.arange(len(self)) if self.opened is None else np.flatnonzero(self.opened[self.file])

    def _opened_files(self, positions: Positions) -> Positions:
        """Return the files of row groups, counted among those that were opened."""
        file = self.file[positions]
        return file if self.opened is None else (np.cumsum(self.opened) - 1)[file]

    def _decode_footers(self, column: LeafColumn, positions: Positions) -> tuple[ColumnChunks, Bounds]:
        """Decode a column in the row groups at `positions`, which are all those of their files."""
        chunks: list[ColumnChunks] = []
        bounds: list[Bounds] = []
        trusts, first = self._trusts(column), 0
        for footers in self._footers.read(distinct(self._opened_files(positions))):
            here = positions[first : first + len(footers)]
            if not self.has_rows(footers.row_count, here):
                raise StorageFailure(
                    f"{footers.files[0].path}: it or a later file changed while it was read; try again"
                )
            kind = self.kind[self.file[here]]
            found, known = self._decode_batch(column, footers, trusts, kind)
            chunks.append(found)
            bounds.append(with_nulls(known, self._absent(column)[kind]))
            first += len(footers)
        if first != len(positions):
            raise StorageFailure(f"{self.files[-1].path}: it or an earlier file changed while it was read; try again")
        if not chunks:
            return absent_chunks(0), unknown_bounds(column, np.zeros(0, np.int64))
        return concat_chunks(chunks), concat_bounds(bounds)

    def _decode_batch(
        self, column: LeafColumn, footers: Footers, trusts: Sequence[Trust], kind: Positions
    ) -> tuple[ColumnChunks, Bounds]:
        """Decode a column in a batch of footers, under each path that files have it at; of two the first counts."""
        chunks, bounds = [], []
        part = np.full(len(footers), -1, np.int64)
        for path in self._names.of(column.path):
            found, statistics, there = footers.chunks(path)
            chunks.append(found)
            if statistics is None:
                bounds.append(unknown_bounds(column, footers.row_count))
            else:
                known = bounds_as_read(column, statistics, trusts, kind[there])
                bounds.append(spread_bounds(known, there, footers.row_count))
            part[there] = np.where(part[there] < 0, len(chunks) - 1, part[there])
        if len(chunks) == 1:
            return chunks[0], bounds[0]
        chosen = np.maximum(part, 0) * len(footers) + np.arange(len(footers))
        return concat_chunks(chunks).take(chosen), concat_bounds(bounds).take(chosen)

    def _trusts(self, column: LeafColumn) -> list[Trust]:
        return [trust(column, kind) for kind in self.kinds]

    def _absent(self, column: LeafColumn) -> NDArray[np.bool_]:
        wanted = replace(column, path=self._names.of(column.path)[0])
        kinds = self._names.kinds
        return np.fromiter((reads_as_null(wanted, kind) for kind in kinds), np.bool_, len(kinds))

    def place(self, position: int, column: LeafColumn) -> str:
        """Name a column of a row group in messages."""
        return self._places().name(position, column)

    def _places(self) -> RowGroupPlaces:
        return RowGroupPlaces(self.files, self.file, self.ordinal)

    def fetch_pages(self, columns: Sequence[LeafColumn], positions: Positions) -> None:
        """Read the page indexes of columns in chosen row groups, as few requests as the gaps in the files allow."""
        paged = [(column, self._pages_of(column).missing(positions)) for column in columns]
        located = [(column, self._offsets_of(column).missing(positions)) for column in columns]
        ranges = [
            *(self._wanted(column, at, self.column_chunks(column).column_index) for column, at in paged),
            *(self._wanted(column, at, self.column_chunks(column).offset_index) for column, at in located),
        ]
        found = read_structures(self._places(), ranges, purpose="index", traffic=self.traffic)
        # Taken out one by one: what is decoded is let go of.
        for column, at in reversed(located):
            self._add_offsets(column, at, found.pop())
        for column, at in reversed(paged):
            self._add_pages(column, at, found.pop())

    def _wanted(self, column: LeafColumn, at: Positions, ranges: Positions) -> Wanted:
        return Wanted(column, at, ranges[at], self._refusals(column, at, AGAINST_INDEXES))

    def _add_pages(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        stored = self._pages_of(column)
        if len(positions) or stored.kept is None:
            offsets = self._offsets[column.path].take(positions)
            kind = self.kind[self.file[positions]]
            source = Source(column, self.row_count[positions], self._trusts(column), kind)
            pages = join_indexes(source, decode_column_indexes(encoded), offsets)
            pages = pages.without(
                out_of_order(pages.bounds, pages.first, pages.boundary_order) & (pages.reason == ""),
                "the column index claims an order of its pages that they are not in",
            )
            wrong = contradict_pages(self.bounds(column).take(positions), pages.bounds, pages.first)
            wrong &= pages.reason == ""
            stored.add(positions, pages.without(wrong, reason_of(Doubt.PAGES)), concat_batches)
            self._doubt(column, positions[wrong], Doubt.PAGES)

    def _pages_of(self, column: LeafColumn) -> _Fetched[PageBatch]:
        if column.path not in self._pages:
            kept = self._on_disk(self._name("pages", column))
            part = None if kept is None else from_batch(kept.batch, "pages", PageBatch, bounds=Bounds)
            self._pages[column.path] = _Fetched(self._slots(kept), part)
        return self._pages[column.path]

    def _offsets_of(self, column: LeafColumn) -> _Fetched[OffsetIndexes]:
        if column.path not in self._offsets:
            kept = self._on_disk(self._name("offsets", column))
            part = None if kept is None else from_batch(kept.batch, "offsets", OffsetIndexes)
            self._offsets[column.path] = _Fetched(self._slots(kept), part)
        return self._offsets[column.path]

    def _on_disk(self, name: str) -> Kept | None:
        if self._stored is None:
            return None
        at = self.read_from()
        kept = self._stored.read(name, self._opened_files(at), self.ordinal[at])
        if kept is None or len(at) == len(self):
            return kept
        groups = np.full(len(self), -1, np.int64)
        groups[at] = kept.groups
        return kept._replace(groups=groups)

    def _name(self, what: str, column: LeafColumn) -> str:
        paths = self._names.of(column.path)
        if paths == (column.path,):
            return _name(what, column)
        # What a column is called may change, and another may get its name.
        return "\x00".join([_name(what, column), *(part for path in paths for part in ("", *path))])

    def _slots(self, kept: Kept | None) -> Positions:
        if kept is None:
            return np.full(len(self), -1, np.int64)
        slot = numbers_at(kept.batch, "slot")
        return np.where(kept.groups >= 0, slot[kept.groups], -1)

    def _add_offsets(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        stored = self._offsets_of(column)
        if len(positions) or stored.kept is None:
            chunks = self.column_chunks(column)
            extent = np.stack([chunks.first_page_offset[positions], chunks.compressed_bytes[positions]], axis=1)
            found = decode_offset_indexes(encoded, self.row_count[positions], extent)
            stored.add(positions, found, concat_offset_indexes)

    def pages(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return what the page indexes of the chosen row groups say of a column."""
        self.fetch_pages([column], positions)
        return self._pages[column.path].take(positions)

    def locations(self, columns: Sequence[LeafColumn], positions: Positions) -> list[OffsetIndexes]:
        """Return where the pages of the chosen row groups lie, by column; column indexes are not read for it."""
        located = [(column, self._offsets_of(column).missing(positions)) for column in columns]
        wanted = [self._wanted(column, at, self.column_chunks(column).offset_index) for column, at in located]
        for (column, at), encoded in zip(
            located, read_structures(self._places(), wanted, purpose="index", traffic=self.traffic), strict=True
        ):
            self._add_offsets(column, at, encoded)
        return [self._offsets[column.path].take(positions) for column in columns]

    def may_have_filter(self, column: LeafColumn) -> NDArray[np.bool_]:
        """Tell for which row groups a footer says where a column's filter lies."""
        there: NDArray[np.bool_] = self.column_chunks(column).bloom_filter[:, 0] > 0
        return there

    def stored_as(self, column: LeafColumn, positions: Positions) -> list[tuple[LeafColumn, Positions]]:
        """Return the leaves that store a column, one a type, and which of the chosen row groups are theirs.

        Row groups of files that store it otherwise, or lack it, are with those of the column itself.
        """
        found = [leaf_as_read(column, kind) for kind in self.kinds]
        leaves = {stored_form(leaf): leaf for leaf in found if leaf is not None} | {stored_form(column): column}
        number = {form: i for i, form in enumerate(leaves)}
        forms = [number[stored_form(column if leaf is None else leaf)] for leaf in found]
        of = np.array(forms, np.int64)[self.kind[self.file[positions]]]
        parts = [(leaf, positions[of == i]) for i, leaf in enumerate(leaves.values())]
        return [(leaf, at) for leaf, at in parts if len(at)]

    def has_several_types(self, column: LeafColumn) -> bool:
        """Tell whether a file stores the column in another type that Spark reads as the table's."""
        return any(trust.stored is not None for trust in self._trusts(column))

    def bloom_filters(self, column: LeafColumn, positions: Positions) -> list[Blocks | str]:
        """Return a column's filter in each chosen row group; a reason stands for an absent one.

        A filter knows values as its file stores them, see `stored_as`.
        """
        wanted = dict.fromkeys(positions.tolist())
        missing = np.array([p for p in wanted if (p, column.path) not in self._filters], np.int64)
        if len(missing):
            self._fetch_filters(column, missing)
        return [self._filters[p, column.path] for p in positions.tolist()]

    def _fetch_filters(self, column: LeafColumn, positions: Positions) -> None:
        ranges = self.column_chunks(column).bloom_filter[positions]
        refused = np.array([_against_filters(column, kind) for kind in self.kinds], object)
        reasons = self._refusals(column, positions, AGAINST_FILTERS)
        reasons = np.where(reasons == "", refused[self.kind[self.file[positions]]], reasons)
        ranges[reasons != ""] = -1
        guessed = self._guess_lengths(positions, ranges)
        wanted = [Wanted(column, positions, ranges, reasons)]
        (found,) = read_structures(self._places(), wanted, purpose="bloom", traffic=self.traffic)
        for i, position in enumerate(positions.tolist()):
            filters = self._filters
            if found.stop[i] < 0:
                filters[position, column.path] = found.absent[i]
            else:
                data = found.buffer[found.start[i] : found.stop[i]]
                place = found.place(i)
                parsed = self._parse_guess(position, int(ranges[i, 0]), data, place) if guessed[i] else None
                filters[position, column.path] = parse_filter(data, place=place) if parsed is None else parsed
        self._doubt_filters(column, positions)

    def _doubt_filters(self, column: LeafColumn, positions: Positions) -> None:
        """Take filters back that deny the bounds of their chunk."""
        if self.has_several_types(column):
            return
        filters = [self._filters[position, column.path] for position in positions.tolist()]
        wrong = contradict_filters(column, self.bounds(column).take(positions), filters)
        for position in positions[wrong].tolist():
            self._filters[position, column.path] = reason_of(Doubt.FILTER)
        self._doubt(column, positions[wrong], Doubt.FILTER)

    def _guess_lengths(self, positions: Positions, ranges: Positions) -> NDArray[np.bool_]:
        """Put a guess where the footer does not say how long a filter is; returns where."""
        guessed: NDArray[np.bool_] = (ranges[:, 0] > 0) & (ranges[:, 1] < 0)
        file = self.file[positions]
        order = np.lexsort((ranges[:, 0], file))
        behind = np.full(len(order), -1, np.int64)
        behind[order[:-1]] = np.where(file[order[1:]] == file[order[:-1]], ranges[order[1:], 0], -1)
        for i in np.flatnonzero(guessed).tolist():
            following = int(behind[i]) if behind[i] > 0 else None
            size = self.files[int(file[i])].size
            ranges[i, 1] = guess_length(int(ranges[i, 0]), next_offset=following, file_size=size)
        return guessed

    def _parse_guess(self, position: int, offset: int, data: bytes, place: str) -> Blocks | str:
        parsed = parse_guess(data, place=place)
        if isinstance(parsed, int):
            file = self.files[int(self.file[position])]
            data = read_range(file, offset, len(data) + parsed, purpose="bloom", traffic=self.traffic)
            return parse_filter(data, place=place)
        return parsed

    def dictionary_refusals(self, column: LeafColumn, positions: Positions) -> NDArray[np.object_]:
        """Return why a column's dictionary proves nothing in each chosen row group; empty where one may be read."""
        doubted = self._refusals(column, positions, AGAINST_DICTIONARIES)
        return np.where(doubted == "", dictionary_refusals(self, column, positions), doubted)

    def dictionaries(self, column: LeafColumn, positions: Positions) -> list[pa.Array | str]:
        """Return a column's dictionary in each chosen row group; a reason stands for one that proves nothing.

        Those that are read are kept in memory as long as they are few.
        """
        missing = np.array([p for p in positions.tolist() if (p, column.path) not in self._dictionaries], np.int64)
        found = dict(zip(missing.tolist(), read_dictionaries(self, column, missing), strict=True))
        for position, values in found.items():
            size = 0 if isinstance(values, str) else values.nbytes
            if self._dictionary_bytes + size <= MAX_KEPT_DICTIONARIES:
                self._dictionaries[position, column.path] = values
                self._dictionary_bytes += size
        return [found[p] if p in found else self._dictionaries[p, column.path] for p in positions.tolist()]

    def filters_at_hand(self, column: LeafColumn, positions: Positions) -> list[Blocks | str | None]:
        """Return those filters that were read before, as `bloom_filters` does; None for the others."""
        return [self._filters.get((p, column.path)) for p in positions.tolist()]

    def dictionaries_at_hand(self, column: LeafColumn, positions: Positions) -> list[pa.Array | str | None]:
        """Return those dictionaries that were read before, as `dictionaries` does; None for the others."""
        return [self._dictionaries.get((p, column.path)) for p in positions.tolist()]

    def page_reason_at_hand(self, column: LeafColumn, position: int) -> str:
        """Return why a page index that was read says nothing, empty where it does or was not read."""
        fetched = self._pages.get(column.path)
        if fetched is None or fetched.kept is None or fetched.slot[position] < 0:
            return ""
        return str(fetched.kept.reason[fetched.slot[position]])

    def save(self) -> None:
        """Keep on disk what was read since the last time, where there is a cache."""
        if self._stored is None:
            return
        at = self.read_from()
        for column in self._decoded:
            values = {
                "chunks": self._chunks[column.path],
                "bounds": self._bounds[column.path],
                "doubts": self._doubts[column.path][at],
            }
            self._stored.write(self._name("chunks", column), values)
        self._decoded.clear()
        for name in self._unkept_totals:
            self._stored.write(name, self._totals[name]._asdict())
        self._unkept_totals.clear()
        by_path = {column.path: column for column in self.columns}
        for what, stored in (("pages", self._pages), ("offsets", self._offsets)):
            for path, fetched in stored.items():
                if fetched.grown and path in by_path:
                    fetched.drop_unused()
                    self._stored.write(self._name(what, by_path[path]), {"slot": fetched.slot[at], what: fetched.kept})
                    fetched.grown = False
        self._stored.finish()


def _against_filters(column: LeafColumn, kind: Provenance) -> str:
    """Say why filters of such files must not be probed for values of the column, empty when they may be."""
    if leaf_as_read(column, kind) is None:
        return "the file lacks the column or stores it as another type"
    if sum(leaf.name == column.name for leaf in kind.columns) > 1:
        # parquet-java keys filters by the dotted path: of two columns that share it, one gets the other's.
        return "another column of the file has the same dotted path, and writers mix the filters of such columns up"
    return "the file stores dates of another calendar" if is_rebased(column, kind) else ""


def _name_of_totals(columns: Sequence[Sequence[Path]]) -> str:
    paths = ("\x00".join(path) for paths in columns for path in ("", *paths))
    return f"totals {xxhash.xxh3_128_hexdigest(chr(0).join(paths).encode(errors='surrogatepass'))}"


def _name(what: str, column: LeafColumn) -> str:
    """Name what is kept of a column: of one stored otherwise, other bounds would be believed."""
    form = f"{column.physical} {column.type_length} {column.type} {column.max_definition_level} {column.may_be_filled}"
    return "\x00".join([what, form, str(column.max_repetition_level), *column.path])
