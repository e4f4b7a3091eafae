"""Open a dataset: list its files, read the footers of those that are new, and lay out the row groups."""

from __future__ import annotations

import os
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.dataset.footer_source import FooterSource
from parquet_core.dataset.logged import UNOPENED, columns_of_table, named_as_in_table, paths_in_files
from parquet_core.dataset.metadata_index import MetadataIndex
from parquet_core.dataset.stored_index import RowGroups, StoredIndex
from parquet_core.errors import MalformedFile
from parquet_core.format.column_chunk import MAX_ROWS
from parquet_core.format.footer import EncodedKind, provenance_of, read_schema
from parquet_core.format.partitions import Partitions, named_by_patterns, read_partitions, without_overridden
from parquet_core.ragged import distinct, elements_of, firsts
from parquet_core.storage import Traffic, is_remote, list_table, local_path, summary_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.logged import LoggedFiles
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.storage import DataFile, Listing
    from parquet_core.trust.statistics import Provenance

    Numbers = NDArray[np.int64]


def read_dataset(
    table: str | os.PathLike[str] | Iterable[str],
    *,
    cache: MetadataCache | None = None,
    infer_partition_types: bool = True,
) -> MetadataIndex:
    """Read the footers of all data files of a table; with a cache, of those that it does not know.

    `infer_partition_types`: False when Spark takes the values in directory names for strings.

    Raises TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    table = table if isinstance(table, str | os.PathLike) else list(table)
    traffic = Traffic()
    listing = list_table(table)
    files = tuple(listing.files)
    stored = None if cache is None else StoredIndex(cache.of_table(_name(table)), files)
    source = FooterSource(files, traffic)
    groups = _row_groups(files, source, stored)
    _check_rows(groups, table)
    summary = summary_file(table)
    counts = np.diff(groups.first)
    kinds = _kinds(groups, files)
    columns = kinds[groups.kind[0]].columns if summary is None else read_schema(summary, traffic=traffic)
    partitions = _partitions(table, listing, infer_types=infer_partition_types)
    if stored is not None:
        stored.keep_row_groups(groups)
    file = np.repeat(np.arange(len(files)), counts)
    return MetadataIndex(
        files=files,
        kinds=kinds,
        kind=groups.kind,
        columns=without_overridden(columns, partitions.columns),
        partitions=partitions.columns,
        partition_values=partitions.values,
        summary=summary,
        traffic=traffic,
        file=file,
        ordinal=np.arange(len(file)) - groups.first[:-1][file],
        row_count=groups.row_count,
        _footers=source,
        _stored=stored,
    )


def read_logged(
    table: str, logged: LoggedFiles, *, traffic: Traffic, cache: MetadataCache | None = None
) -> MetadataIndex:
    """Read the footers of those files of a table that are to be opened, as its log lists them.

    Raises MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    chosen = np.flatnonzero(logged.opened)
    files = tuple(logged.files[i] for i in chosen.tolist())
    stored = None if cache is None else StoredIndex(cache.of_table(_name(table)), files)
    source = FooterSource(files, traffic)
    groups = _row_groups(files, source, stored)
    _check_rows(groups, table)
    if stored is not None:
        stored.keep_row_groups(groups)
    as_stored = _kinds(groups, files)
    kinds = tuple(named_as_in_table(kind, logged) for kind in as_stored)
    counts = np.ones(len(logged.files), np.int64)
    counts[chosen] = np.diff(groups.first)
    file = np.repeat(np.arange(len(counts)), counts)
    kind = np.full(len(counts), len(kinds), np.int64)
    kind[chosen] = groups.kind
    row_count = logged.row_count[file]
    row_count[logged.opened[file]] = groups.row_count
    return MetadataIndex(
        files=logged.files,
        kinds=(*kinds, UNOPENED),
        kind=kind,
        columns=columns_of_table(logged, kinds),
        partitions=logged.partitions,
        partition_values={},
        summary=None,
        traffic=traffic,
        file=file,
        ordinal=np.where(logged.opened[file], np.arange(len(file)) - firsts(counts)[:-1][file], -1),
        row_count=row_count,
        _footers=source,
        opened=logged.opened,
        deleted=logged.deleted,
        _stored_paths=paths_in_files(as_stored, kinds),
        _stored=stored,
    )


def _kinds(groups: RowGroups, files: Sequence[DataFile]) -> tuple[Provenance, ...]:
    return tuple(provenance_of(kind, files[int(np.argmax(groups.kind == i))]) for i, kind in enumerate(groups.kinds))


def _check_rows(groups: RowGroups, table: object) -> None:
    # Each is at most MAX_ROWS; as floating point their sum cannot wrap around.
    if (rows := groups.row_count.sum(dtype=np.float64)) > MAX_ROWS:
        raise MalformedFile(f"{table}: its footers claim {rows:.0f} rows in all; one of them is damaged")


def _name(table: str | os.PathLike[str] | Sequence[str]) -> str:
    paths = [os.fspath(table)] if isinstance(table, str | os.PathLike) else list(table)
    return "\n".join(path if "://" in path else os.path.abspath(path) for path in paths)


def _partitions(table: str | os.PathLike[str] | Sequence[str], listing: Listing, *, infer_types: bool) -> Partitions:
    """Read the values that directories below the table give; files that are named one by one have none."""
    if not isinstance(table, str | os.PathLike):
        return Partitions()
    paths = [file.path for file in listing.files]
    path = os.fspath(table)
    itself = path if is_remote(path) else local_path(path)
    if paths == [itself]:
        return Partitions()
    base = itself.rstrip("/")
    if not all(map(str.startswith, paths, repeat(f"{base}/"))):
        return named_by_patterns(paths)
    return read_partitions(paths, base, empty=[file.path for file in listing.empty], infer_types=infer_types)


class _Layout(NamedTuple):
    """Row groups being put together: the distinct kinds of footers, and by file its kind and row groups."""

    kinds: dict[EncodedKind, int]
    kind: Numbers
    counts: Numbers

    def number(self, kinds: Iterable[EncodedKind]) -> Numbers:
        """Return the numbers of kinds, those not met before being the next ones."""
        return np.array([self.kinds.setdefault(kind, len(self.kinds)) for kind in kinds], np.int64)


def _row_groups(files: Sequence[DataFile], source: FooterSource, stored: StoredIndex | None) -> RowGroups:
    """Return the row groups of files, read from the footers of those that are not known."""
    known = None if stored is None else stored.row_groups()
    like = np.full(len(files), -1, np.int64) if known is None else known[1]
    new = np.flatnonzero(like < 0)
    if known is not None and len(new) == 0 and np.array_equal(like, np.arange(len(known[0].kind))):
        return known[0]
    layout = _Layout({}, np.zeros(len(files), np.int64), np.zeros(len(files), np.int64))
    rows = [np.zeros(0, np.int64)]
    begun = 0
    for footers in source.read(new):
        here = new[begun : begun + len(footers.files)]
        layout.kind[here] = layout.number(footers.encoded_kinds)[footers.kind]
        layout.counts[here] = np.bincount(footers.file, minlength=len(here))
        rows.append(footers.row_count)
        begun += len(here)
    old = np.flatnonzero(like >= 0)
    old_rows = np.zeros(0, np.int64)
    if known is not None:
        groups = known[0]
        kind = groups.kind[like[old]]
        # Of files that are gone no kind is left.
        used = distinct(np.sort(kind))
        layout.kind[old] = layout.number(groups.kinds[i] for i in used.tolist())[np.searchsorted(used, kind)]
        layout.counts[old] = (groups.first[like + 1] - groups.first[like])[old]
        old_rows = groups.row_count[elements_of(groups.first, like[old])]
    first = firsts(layout.counts)
    row_count = np.zeros(first[-1], np.int64)
    row_count[elements_of(first, new)] = np.concatenate(rows)
    row_count[elements_of(first, old)] = old_rows
    return RowGroups(tuple(layout.kinds), layout.kind, first, row_count)
