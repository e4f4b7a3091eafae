"""Open a dataset: list the files, read footers that are not cached, and number the row groups of all files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.dataset.footer_columns import FooterSource
from parquet_core.dataset.logged import AT_LEAST, UNOPENED, columns_of_table, named_as_in_table
from parquet_core.dataset.metadata_index import MetadataIndex, metadata_index
from parquet_core.dataset.row_group_table import RowGroupTable
from parquet_core.dataset.stored_index import RowGroups, StoredIndex
from parquet_core.errors import MalformedFile
from parquet_core.format.column_chunk import MAX_ROWS
from parquet_core.format.footer import read_kind
from parquet_core.ragged import distinct, elements_of, firsts
from parquet_core.spark_rules.names_in_files import named_in_any_case, names_in_files
from parquet_core.spark_rules.partition_columns import Partitions, read_partitions, without_overridden
from parquet_core.spark_rules.spark_schema import provenance_to_spark
from parquet_core.storage import Traffic, list_table
from parquet_core.trust.contradictions import Doubt, doubts_about

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_core.arrays import Flags, Numbers
    from parquet_core.dataset.logged import LoggedFiles
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.format.provenance import EncodedKind, Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile
    from parquet_core.trust.contradictions import Doubts


def read_dataset(
    table: str | os.PathLike[str] | Iterable[str],
    *,
    cache: MetadataCache | None = None,
    infer_partition_types: bool = True,
) -> MetadataIndex:
    """Read the footers of all data files of a table.

    `cache`: metadata of unchanged files is taken from it instead of being read.
    `infer_partition_types`: False if Spark reads partition values in directory names as strings.

    Raises TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    return list_dataset(table, cache=cache, infer_partition_types=infer_partition_types).read_all()


def list_dataset(
    table: str | os.PathLike[str] | Iterable[str],
    *,
    cache: MetadataCache | None = None,
    infer_partition_types: bool = True,
    any_case: bool = False,
) -> ListedDataset:
    """List the data files of a table without reading footers.

    `cache`, `infer_partition_types`: as in `read_dataset`, which also documents the errors.
    `any_case`: True to ignore case in column names of files, as Spark does unless `spark.sql.caseSensitive` is set. If
    False, a column that a file spells in another case is unknown in that file.
    """
    table = table if isinstance(table, str | os.PathLike) else list(table)
    listing = list_table(table)
    files = tuple(listing.files)
    stored = None if cache is None else StoredIndex(cache.of_table(_name(table)), files)
    return ListedDataset(
        name=str(table),
        files=files,
        partitions=read_partitions(listing, infer_types=infer_partition_types),
        summary=listing.schema_file,
        traffic=Traffic(),
        stored=stored,
        known=None if stored is None else stored.row_groups(),
        any_case=any_case,
        is_unfinished=listing.is_unfinished,
    )


@dataclass(slots=True)
class ListedDataset:
    """A listed table whose footers are not read yet.

    `summary`: the file whose footer defines the schema, if that file contains no data.
    `known`: cached row groups, and the index in them of each file (-1 if missing). None without cached row groups.
    `is_unfinished`: True if a write is in progress.

    Footers read by `read_for_schema` are not read again by `read`.
    """

    name: str
    files: tuple[DataFile, ...]
    partitions: Partitions
    summary: DataFile | None
    traffic: Traffic
    stored: StoredIndex | None
    known: tuple[RowGroups, Numbers] | None
    any_case: bool
    is_unfinished: bool
    _source: FooterSource | None = None
    _of_summary: tuple[LeafColumn, ...] | None = None

    def read_for_schema(self, *, whole_below: int | None = None) -> MetadataIndex:
        """Read only the footer that defines the schema, or all footers if directory names cannot exclude any file.

        `whole_below`: all footers are read only if fewer files than this are not cached. None for no limit.
        """
        few = whole_below is None or int(np.count_nonzero(self.unread())) < whole_below
        final = few and not self.partitions.values
        return self._read(np.full(len(self.files), final), final=final)

    def unread(self) -> Flags:
        """Return flags of the files that are not cached."""
        return np.ones(len(self.files), np.bool_) if self.known is None else self.known[1] < 0

    def part(self, chosen: Numbers) -> ListedDataset:
        """Return a table of the chosen files for another process.

        Without a `summary`, the table's first file is added in front, because its footer defines the schema.
        """
        return self.of_files(chosen if self.summary is not None else np.concatenate([np.zeros(1, np.int64), chosen]))

    def of_files(self, files: Numbers) -> ListedDataset:
        """Return a table of some files, without a cache and with separate traffic counters."""
        values = {path: of_files.take(files) for path, of_files in self.partitions.values.items()}
        return ListedDataset(
            name=self.name,
            files=tuple(self.files[i] for i in files.tolist()),
            partitions=Partitions(self.partitions.columns, values),
            summary=self.summary,
            traffic=Traffic(),
            stored=None,
            known=None,
            any_case=self.any_case,
            is_unfinished=self.is_unfinished,
        )

    def read_all(self) -> MetadataIndex:
        """Read the footers of all files."""
        return self.read(np.ones(len(self.files), np.bool_))

    def read(self, wanted: Flags) -> MetadataIndex:
        """Read the footers of the `wanted` files, and the footer that defines the schema.

        Cached files count as opened too, since they need no read.
        """
        return self._read(wanted, final=True)

    def _read(self, wanted: Flags, *, final: bool) -> MetadataIndex:
        opened = wanted if self.known is None else wanted | (self.known[1] >= 0)
        if self.summary is None:
            opened = opened | (np.arange(len(opened)) == 0)
        chosen = np.flatnonzero(opened)
        whole = len(chosen) == len(opened)
        files = self.files if whole else tuple(self.files[i] for i in chosen.tolist())
        stored = self._stored_of(chosen) if whole or final else None
        # Without a summary the first file defines the schema, so every list begins with it.
        self._source = FooterSource(files, self.traffic) if self._source is None else self._source.extended(files)
        known = None if self.known is None else (self.known[0], self.known[1][chosen])
        read = _row_groups(files, self._source, known)
        _check_rows(read, self.name)
        if stored is not None:
            stored.keep_row_groups(read)
        provenances = _provenances(read, files)
        columns = self._columns_of_summary() if self.summary is not None else provenances[read.kind[0]].columns
        placed = _placed(opened, read, np.full(len(opened), AT_LEAST, np.int64), unopened=len(provenances))
        provenances = provenances if whole else (*provenances, UNOPENED)
        named = tuple(named_in_any_case(each, columns) for each in provenances) if self.any_case else provenances
        groups = RowGroupTable(
            files=self.files,
            provenances=named,
            columns=without_overridden(columns, self.partitions.columns),
            partitions=self.partitions.columns,
            partition_values=self.partitions.values,
            summary=self.summary,
            traffic=self.traffic,
            **placed._asdict(),
            names=names_in_files(provenances, named, {}),
            opened=None if whole else opened,
        )
        return metadata_index(groups, self._source, stored)

    def _stored_of(self, chosen: Numbers) -> StoredIndex | None:
        return self.stored if self.stored is None or len(chosen) == len(self.files) else self.stored.narrowed(chosen)

    def _columns_of_summary(self) -> tuple[LeafColumn, ...]:
        assert self.summary is not None
        if self._of_summary is None:
            self._of_summary = provenance_to_spark(read_kind(self.summary, traffic=self.traffic), self.summary).columns
        return self._of_summary


def read_logged(
    table: str, logged: LoggedFiles, *, traffic: Traffic, cache: MetadataCache | None = None, any_case: bool = False
) -> MetadataIndex:
    """Read the footers of the files that `logged` marks as opened.

    `cache`: metadata of unchanged files is taken from it instead of being read.
    `any_case`: True to ignore case in column names of files.

    Raises MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    files = tuple(logged.files[i] for i in np.flatnonzero(logged.opened).tolist())
    stored = None if cache is None else StoredIndex(cache.of_table(_name(table)), files)
    source = FooterSource(files, traffic)
    groups = _row_groups(files, source, None if stored is None else stored.row_groups())
    _check_rows(groups, table)
    if stored is not None:
        stored.keep_row_groups(groups)
    as_stored = _provenances(groups, files)
    provenances = tuple(named_as_in_table(each, logged, any_case=any_case) for each in as_stored)
    physical = {column.leaf.path: column.physical for column in logged.columns}
    placed = _placed(logged.opened, groups, logged.row_count, unopened=len(provenances))
    of_table = RowGroupTable(
        files=logged.files,
        provenances=(*provenances, UNOPENED),
        columns=columns_of_table(logged, provenances),
        partitions=logged.partitions,
        partition_values={},
        summary=None,
        traffic=traffic,
        **placed._asdict(),
        opened=logged.opened,
        deleted=logged.deleted,
        names=names_in_files((*as_stored, UNOPENED), (*provenances, UNOPENED), physical, numbers=logged.numbers),
    )
    return metadata_index(of_table, source, stored)


class _PlacedGroups(NamedTuple):
    """Arrays of a `RowGroupTable`.

    `provenance_ids`: for each file, the index of its provenance.
    `ordinal`: for each row group, its number in its file; -1 if the file is not opened.
    """

    provenance_ids: Numbers
    file: Numbers
    ordinal: Numbers
    row_count: Numbers
    doubts: Doubts


def _placed(opened: Flags, groups: RowGroups, rows_of_files: Numbers, *, unopened: int) -> _PlacedGroups:
    """Number the row groups of all files. An unopened file counts as one row group, whose number in the file is -1.

    `rows_of_files`: row count of each file, used for unopened files.
    `unopened`: index of the provenance of unopened files.
    """
    counts = np.ones(len(opened), np.int64)
    counts[opened] = np.diff(groups.first)
    file = np.repeat(np.arange(len(counts)), counts)
    provenance_ids = np.full(len(counts), unopened, np.int64)
    provenance_ids[opened] = groups.kind
    read = opened[file]
    row_count = rows_of_files[file]
    # A row group that claims 0 rows but holds values counts as non-empty, so that its rows are not skipped.
    row_count[read] = np.where(groups.doubts & Doubt.ROWS, np.maximum(groups.row_count, AT_LEAST), groups.row_count)
    doubts = np.zeros(len(file), np.uint8)
    doubts[read] = groups.doubts
    return _PlacedGroups(
        provenance_ids, file, np.where(read, np.arange(len(file)) - firsts(counts)[:-1][file], -1), row_count, doubts
    )


def _provenances(groups: RowGroups, files: Sequence[DataFile]) -> tuple[Provenance, ...]:
    return tuple(
        provenance_to_spark(kind, files[int(np.argmax(groups.kind == i))]) for i, kind in enumerate(groups.kinds)
    )


def _check_rows(groups: RowGroups, table: object) -> None:
    # The sum is computed as floating point, which cannot wrap around; each count is at most MAX_ROWS.
    if (rows := groups.row_count.sum(dtype=np.float64)) > MAX_ROWS:
        raise MalformedFile(f"{table}: its footers claim {rows:.0f} rows in all; one of them is damaged")


def _name(table: str | os.PathLike[str] | Sequence[str]) -> str:
    paths = [os.fspath(table)] if isinstance(table, str | os.PathLike) else list(table)
    return "\n".join(path if "://" in path else os.path.abspath(path) for path in paths)


class _Layout(NamedTuple):
    """Row groups under construction.

    `kinds`: index of each distinct footer kind, counted from 0.
    `kind`: per file, the index of its footer kind.
    `counts`: per file, its number of row groups.
    """

    kinds: dict[EncodedKind, int]
    kind: Numbers
    counts: Numbers

    def number(self, kinds: Iterable[EncodedKind]) -> Numbers:
        """Return the index of each footer kind; a new kind gets the next index."""
        return np.array([self.kinds.setdefault(kind, len(self.kinds)) for kind in kinds], np.int64)


def _row_groups(files: Sequence[DataFile], source: FooterSource, known: tuple[RowGroups, Numbers] | None) -> RowGroups:
    """Return the row groups of files, from the cache or from footers.

    `known`: cached row groups, and the index in them of each file (-1 if new). None without cached row groups.
    """
    like = np.full(len(files), -1, np.int64) if known is None else known[1]
    new = np.flatnonzero(like < 0)
    if known is not None and len(new) == 0 and np.array_equal(like, np.arange(len(known[0].kind))):
        return known[0]
    layout = _Layout({}, np.zeros(len(files), np.int64), np.zeros(len(files), np.int64))
    rows, doubts = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    begun = 0
    for footers in source.read(new):
        here = new[begun : begun + len(footers.files)]
        layout.kind[here] = layout.number(footers.encoded_kinds)[footers.kind]
        layout.counts[here] = np.bincount(footers.file, minlength=len(here))
        rows.append(footers.row_count)
        doubts.append(doubts_about(footers))
        begun += len(here)
    old = np.flatnonzero(like >= 0)
    old_rows, old_doubts = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    if known is not None:
        groups = known[0]
        kind = groups.kind[like[old]]
        # Drop footer kinds that no remaining file has.
        used = distinct(np.sort(kind))
        layout.kind[old] = layout.number(groups.kinds[i] for i in used.tolist())[np.searchsorted(used, kind)]
        layout.counts[old] = (groups.first[like + 1] - groups.first[like])[old]
        like_old = elements_of(groups.first, like[old])
        old_rows, old_doubts = groups.row_count[like_old], groups.doubts[like_old]
    first = firsts(layout.counts)
    row_count, all_doubts = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.uint8)
    for at, found, doubted in ((new, np.concatenate(rows), np.concatenate(doubts)), (old, old_rows, old_doubts)):
        here = elements_of(first, at)
        row_count[here], all_doubts[here] = found, doubted
    return RowGroups(tuple(layout.kinds), layout.kind, first, row_count, all_doubts)
