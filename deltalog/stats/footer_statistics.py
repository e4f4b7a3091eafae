"""Create `add` actions for written files, with statistics from their footers; no data are read.

Footers are checked first (`parquet_core.trust`): bounds that may be wrong or may ignore NaN are left out. Strings and
times are truncated as in the reference implementation, except that the largest time is rounded up, so that it is also
valid for readers that do not allow for truncation.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.actions import FullAdd
from deltalog.log.allowed_locations import opened_place
from deltalog.log.paths import encoded_path, resolve
from deltalog.stats.written_json import ColumnTexts, bound_texts, prefix_length, statistics_text
from deltalog.table.file_schemas import check_file_schemas
from deltalog.table.properties import indexed_columns
from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.dataset.logged import FileList, LoggedFiles
from parquet_core.dataset.opening import read_logged
from parquet_core.errors import TableNotFound, WrongUse
from parquet_core.storage import Traffic, find_file
from parquet_core.storage.ranges import in_flight

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deltalog.table.schema import TableColumn, TableSchema
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.storage import DataFile
    from parquet_core.trust.bounds import Bounds

    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_UNKNOWN = -1
# A truncated string is still a bound; a truncated value of a numeric type would be another value.
_MAY_BE_CUT = frozenset({"string"})


class NewFile(NamedTuple):
    """A file to add: its path on disk, relative to the table, and its partition values.

    >>> import deltalog
    >>> deltalog.NewFile("day=2024-01-01/part-0.parquet", {"day": "2024-01-01"}).partition_values["day"]
    '2024-01-01'

    `partition_values`: text of each partition column's value; None for null.
    """

    path: str
    partition_values: Mapping[str, str | None] = {}


def adds_of(
    table: str | os.PathLike[str],
    schema: TableSchema,
    files: Sequence[NewFile],
    *,
    properties: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
    data_change: bool = True,
    traffic: Traffic | None = None,
) -> list[FullAdd]:
    """Return `add` actions for files, in order, with statistics from their footers.

    >>> import deltalog
    >>> (add,) = deltalog.adds_of(table, snapshot.schema, [deltalog.NewFile("part-0.parquet")])
    >>> add.stats
    '{"numRecords":3,"minValues":{"id":1},"maxValues":{"id":3},"nullCount":{"id":0},"tightBounds":true}'

    `files`: partition values are keyed by column name, and serialized as the protocol prescribes.
    `properties`, `domains`: table properties and domain metadata, which decide the columns with statistics.
    `data_change`: False if the table already contains the rows of these files.
    `traffic`: counts the bytes read.

    Raises WrongUse if the partition columns of a file differ from the table's, TableNotFound for a missing file,
    RefusedCommit for a file that Spark would not read with the table's schema, OutsideTable for a file outside the
    table, and the errors of `read_logged`.
    """
    properties = properties or {}
    values = [_partition_values(schema, file) for file in files]
    table = os.fspath(table)
    data_files = list(in_flight(_existing_file, [opened_place(table, resolve(table, file.path)) for file in files]))
    columns = indexed_columns(schema, properties, domains)
    counted = Traffic() if traffic is None else traffic
    statistics = _statistics(table, schema, data_files, columns, prefix=prefix_length(properties), traffic=counted)
    return [
        FullAdd(
            path=encoded_path(file.path),
            size=data_file.size,
            partition_values=of_partition,
            modification_time=data_file.modified_ns // 1_000_000,
            stats=stats_json,
            data_change=data_change,
        )
        for file, data_file, of_partition, stats_json in zip(files, data_files, values, statistics, strict=True)
    ]


def _existing_file(path: str) -> DataFile:
    file = find_file(path)
    if file is None:
        raise TableNotFound(f"{path}: the file does not exist; write it before you add it")
    return file


def _partition_values(schema: TableSchema, file: NewFile) -> dict[str, str | None]:
    """Return a file's partition values, keyed by the column names that actions use."""
    keys = {column.leaf.path[0]: column.partition for column in schema.columns if column.partition is not None}
    if keys.keys() != file.partition_values.keys():
        given, wanted = (", ".join(sorted(names)) or "none" for names in (file.partition_values, keys))
        raise WrongUse(
            f"{file.path}: partition values of {given}; the table is partitioned by {wanted}; give a value for "
            f"exactly these columns"
        )
    return {keys[name] or name: value for name, value in file.partition_values.items()}


def _statistics(
    table: str,
    schema: TableSchema,
    files: Sequence[DataFile],
    columns: Sequence[TableColumn],
    *,
    prefix: int,
    traffic: Traffic,
) -> Iterator[str]:
    if not files:
        return iter(())
    logged = LoggedFiles(
        files=FileList(
            path=lambda index: files[index].path,
            sizes=np.array([file.size for file in files], np.int64),
            current=dict(enumerate(files)),
        ),
        opened=np.ones(len(files), np.bool_),
        row_count=np.zeros(len(files), np.int64),
        deleted=np.zeros(len(files), np.bool_),
        columns=[column for column in schema.columns if column.partition is None],
        partitions=(),
        by_id=schema.mapping == "id",
    )
    index = read_logged(table, logged, traffic=traffic)
    check_file_schemas(index, schema)
    records = np.zeros(len(files), np.int64)
    np.add.at(records, index.groups.file, index.groups.row_count)
    column_texts = [
        _texts_of_column(index, column, len(files), prefix) for column in columns if _has_statistics(column)
    ]
    return (statistics_text(rows, column_texts, i, tight=True) for i, rows in enumerate(records.tolist()))


def _has_statistics(column: TableColumn) -> bool:
    # The null count of a list in a footer counts null leaf slots, not null rows.
    return column.leaf.type is not None and column.leaf.max_repetition_level == 0 and not column.refused


def _texts_of_column(index: MetadataIndex, column: TableColumn, count: int, prefix: int) -> ColumnTexts:
    leaf = next((leaf for leaf in index.groups.columns if leaf.path == column.leaf.path), column.leaf)
    bounds = index.page_indexes.filled_bounds(leaf)
    counts = _summed(index.groups.file, bounds.null_count, count)
    low = high = pa.nulls(count, bounds.lower.type)
    if column.bounded:
        cut = column.delta_type in _MAY_BE_CUT
        empty = _has_no_value(bounds)
        low = _folded(index.groups.file, bounds.lower, bounds.min_exact, empty, count, cut=cut, upper=False)
        high = _folded(index.groups.file, bounds.upper, bounds.max_exact, empty, count, cut=cut, upper=True)
        if pa.types.is_floating(high.type):
            high = _with_nan(high, _nan_counts(index.groups.file, bounds, count))
    return ColumnTexts(
        column.physical,
        bound_texts(column.delta_type, low, upper=False, prefix=prefix),
        bound_texts(column.delta_type, high, upper=True, prefix=prefix),
        [None if nulls == _UNKNOWN else nulls for nulls in counts.tolist()],
    )


def _has_no_value(bounds: Bounds) -> Flags:
    """Return flags of row groups that hold only nulls, which need no bounds."""
    nulls = numbers_from(filled(bounds.null_count, _UNKNOWN))
    return np.asarray((nulls == bounds.row_count), np.bool_)


def _nan_counts(file: Counts, bounds: Bounds, count: int) -> Counts:
    # Row groups that hold only nulls have no NaN.
    counts = pc.if_else(from_numpy(_has_no_value(bounds)), pa.scalar(0, pa.int64()), bounds.nan_count)
    return _summed(file, counts, count)


def _summed(file: Counts, counts: pa.Array, count: int) -> Counts:
    """Return the sum of a count over each file's row groups; -1 (unknown) if the count of any row group is unknown.

    `file`: file of each row group.
    `count`: number of files.
    """
    total, complete = np.zeros(count, np.int64), np.ones(count, np.bool_)
    np.add.at(total, file, numbers_from(filled(counts, 0)))
    complete[file[~flags_from(counts.is_valid())]] = False
    return np.where(complete, total, _UNKNOWN)


def _folded(
    file: Counts, side: pa.Array, exact: pa.Array, empty: Flags, count: int, *, cut: bool, upper: bool
) -> pa.Array:
    """Return the outermost bound of each file's row groups; null if a row group that holds a value has no bound."""
    bounded = flags_from(side.is_valid())
    if not cut:
        bounded &= flags_from(filled(exact, value=True))
    whole = np.ones(count, np.bool_)
    whole[file[~bounded & ~empty]] = False
    counted = np.flatnonzero(bounded & whole[file])
    groups = pa.table({"file": from_numpy(file[counted]), "side": side.take(from_numpy(counted))})
    folded = groups.group_by("file").aggregate([("side", "max" if upper else "min")])
    position = np.full(count, -1, np.int64)
    position[numbers_from(folded["file"].combine_chunks())] = np.arange(len(folded))
    return (
        folded[1 if folded.column_names[0] == "file" else 0]
        .combine_chunks()
        .take(from_numpy(position, valid=position >= 0))
    )


def _with_nan(high: pa.Array, nans: Counts) -> pa.Array:
    """Replace the upper bound of a file by NaN if the file has NaN; by null if that is unknown.

    Statistics order NaN above all numbers.
    """
    nan, none = pa.scalar(float("nan"), high.type), pa.scalar(None, high.type)
    high = pc.if_else(from_numpy(nans > 0), nan, high)
    return pc.if_else(from_numpy(nans == _UNKNOWN), none, high)
