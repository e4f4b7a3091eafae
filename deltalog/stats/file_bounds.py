"""Bounds of columns in each file, from statistics in the log.

Statistics are JSON or parsed structs, and are read only for the columns of a predicate. Missing, malformed or
contradictory statistics are unknown, and the file is kept. Bounds may be looser than the values: strings are truncated,
times have only milliseconds, some writers pass numbers through 64-bit floats, and deleted rows are still counted.
Bounds never describe NaN.

A checkpoint may be older than a column's type. Statistics in a type that does not widen to the current type are
unknown.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.stats.conservative_bounds import (
    days,
    decimals,
    exact_pair,
    floats,
    instants,
    integers,
    local_times,
    unknown_pair,
)
from deltalog.stats.parse_json import decode_texts, parse_texts, values_at
from deltalog.stats.statistics_query import StatisticsQuery, answers, as_bounds
from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.format.column_chunk import MAX_ROWS
from parquet_core.format.comparable_values import bounds_type
from parquet_core.trust.bounds import Bounds, unknown_bounds, without
from parquet_core.trust.count_rules import ClaimedBounds, consistent_bounds, crossed, within
from parquet_core.trust.widened_bounds import Pair, enclosing_floats, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import StatisticsBatch
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn

Answer = TypeVar("Answer")
# Stands for a missing count. Other negative counts are damage.
ABSENT = int(np.iinfo(np.int64).min)


def parsed_pair(column: TableColumn, values: pa.Array) -> Pair:
    """Convert typed values to a column's bounds type, widened if inexact.

    Bounds are null if the stored type does not widen to the bounds type.
    """
    stored, target = values.type, bounds_type(column.leaf)
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(target):
        return _times(values, target)
    if stored.equals(target):
        return exact_pair(values)
    of_text = column.delta_type == "string" and (pa.types.is_string(stored) or pa.types.is_large_string(stored))
    of_days = column.delta_type == "timestamp_ntz" and pa.types.is_date32(stored)
    if of_text or of_days or _widens(stored, target):
        try:
            return exact_pair(values.cast(target))
        except pa.ArrowException:
            return unknown_pair(len(values), target)
    return unknown_pair(len(values), target)


def _widens(stored: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_signed_integer(stored):
        if pa.types.is_signed_integer(target):
            return bool(stored.bit_width <= target.bit_width)
        return bool(pa.types.is_decimal(target) or (pa.types.is_float64(target) and stored.bit_width <= 32))
    if pa.types.is_float32(stored):
        return bool(pa.types.is_float64(target))
    return bool(pa.types.is_decimal128(stored) and pa.types.is_decimal128(target))


def _times(values: pa.Array, target: pa.DataType) -> Pair:
    stored = values.type
    # Without a time zone, a local time is no instant: the two types cannot be compared.
    if (stored.tz is None) != (target.tz is None):
        return unknown_pair(len(values), target)
    stored_times, valid = numbers_from(values), flags_from(values.is_valid())
    if stored.unit == "ns":
        micros = stored_times // 1000
        return Pair(from_numpy(micros, target, valid=valid), from_numpy(micros + 1, target, valid=valid))
    factor = {"us": 1, "ms": 1000, "s": 1_000_000}[stored.unit]
    most = np.iinfo(np.int64).max // factor
    valid = valid & (np.abs(stored_times.astype(np.float64)) < most)
    return exact_pair(from_numpy(np.where(valid, stored_times, 0) * factor, target, valid=valid))


class ReadStatistics(NamedTuple):
    """Reader of the statistics of several files.

    `files`: number of files.
    `side`: returns one side of a column's bounds, `minValues` or `maxValues`.
    `counts`: returns the counts at a path.
    `written`: returns flags of the files that have a value at a path, and the stored type ("" for JSON).
    """

    files: int
    side: Callable[[TableColumn, str], Pair]
    counts: Callable[[Sequence[str]], NDArray[np.int64]]
    written: Callable[[Sequence[str]], tuple[NDArray[np.bool_], str]]

    def bounds(self, column: TableColumn) -> Pair:
        """Return both bounds of a column; null for a type without bounds."""
        if not column.bounded:
            return unknown_pair(self.files, bounds_type(column.leaf))
        return Pair(self.side(column, "minValues").lower, self.side(column, "maxValues").upper)


def statistics_from_structs(parsed: pa.StructArray) -> ReadStatistics:
    """Return a reader of a checkpoint's structs (`stats_parsed`)."""
    return ReadStatistics(
        len(parsed),
        lambda column, part: parsed_pair(column, child(parsed, (part, *column.physical))),
        lambda path: _parsed_counts(parsed, path),
        lambda path: _parsed_values(parsed, path),
    )


def statistics_from_texts(parsed: pa.StructArray) -> ReadStatistics:
    """Return a reader of JSON that Arrow parsed as a whole; types come from the parser, not the writer."""
    return statistics_from_structs(parsed)._replace(
        side=lambda column, part: _pair(column, child(parsed, (part, *column.physical))),
        written=lambda path: (_parsed_values(parsed, path)[0], ""),
    )


def statistics_from_objects(rows: Sequence[dict[str, Any]]) -> ReadStatistics:
    """Return a reader of JSON statistics that were decoded to one dictionary per file."""
    return ReadStatistics(
        len(rows),
        lambda column, part: _values(column, values_at(rows, (part, *column.physical))),
        lambda path: _counts(values_at(rows, path)),
        lambda path: (np.array([value is not None for value in values_at(rows, path)], np.bool_), ""),
    )


def statistics_reader(columns: Sequence[TableColumn]) -> Callable[[StatisticsBatch], list[Bounds]]:
    """Return a function that computes the bounds of columns from a batch of statistics."""
    return lambda batch: ask_batch(
        columns, batch, lambda read: [consistent_file_bounds(column, read) for column in columns]
    )


def ask_batch(
    columns: Sequence[TableColumn], batch: StatisticsBatch, ask: Callable[[ReadStatistics], Answer]
) -> Answer:
    """Return `ask(reader)` for the statistics of a batch.

    `ask` is called a second time, with each text decoded on its own, if Arrow cannot convert the JSON.
    """
    if batch.parsed is not None:
        return ask(statistics_from_structs(batch.parsed))
    assert batch.json is not None
    table = parse_texts(columns, batch.json)
    if table is not None:
        try:
            return ask(statistics_from_texts(table))
        except pa.ArrowInvalid:  # a number that its column cannot hold
            pass
    return ask(statistics_from_objects(decode_texts(columns, batch.json)))


def statistics_query(columns: Sequence[TableColumn]) -> StatisticsQuery:
    """Return the query for the bounds of columns, for `statistics_query.answers`."""

    def silent(count: int) -> list[Bounds]:
        return [unknown_bounds(column.leaf, np.ones(count, np.int64)) for column in columns]

    keys = tuple("\x00".join([*column.physical, "", column.delta_type, str(column.from_float)]) for column in columns)
    return StatisticsQuery(keys, tuple(column.physical for column in columns), statistics_reader(columns), silent)


def record_counts(snapshot: Snapshot, wanted: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return the row count of each live file, deleted rows included; ABSENT if unknown or invalid.

    `wanted`: flags of the files to return; all if None.
    """
    counts, first = np.full(snapshot.file_count, ABSENT, np.int64), 0
    query = StatisticsQuery(
        keys=("",),
        paths=(),
        read=lambda batch: [as_bounds(_records_of(batch))],
        silent=lambda count: [as_bounds(np.full(count, ABSENT, np.int64))],
    )
    snapshot.settle()
    for block in snapshot.blocks:
        here = np.ones(len(block), np.bool_) if wanted is None else wanted[first : first + len(block)]
        if here.any():
            for positions, (found,) in answers(snapshot, block, query, here):
                counts[first + positions] = numbers_from(found.lower)
        first += len(block)
    counts[(counts < 0) | (counts > MAX_ROWS)] = ABSENT
    return counts


def _records_of(batch: StatisticsBatch) -> NDArray[np.int64]:
    structs = parse_texts([], batch.json) if batch.parsed is None else batch.parsed
    statistics = (
        statistics_from_objects(decode_texts([], batch.json)) if structs is None else statistics_from_structs(structs)
    )
    return statistics.counts(("numRecords",))


def _pair(column: TableColumn, values: pa.Array) -> Pair:
    """Convert parsed JSON values to bounds, widened if inexact.

    Raises ArrowInvalid if the column cannot hold a value.
    """
    arrow_type = bounds_type(column.leaf)
    if pa.types.is_string(values.type):
        return _pair_of_texts(column, values)
    if pa.types.is_floating(arrow_type):
        return exact_pair(values) if pa.types.is_float64(arrow_type) else enclosing_floats(values)
    return (
        exact_pair(values.cast(arrow_type))
        if pa.types.is_integer(arrow_type) or pa.types.is_decimal(arrow_type)
        else unknown_pair(len(values), arrow_type)
    )


def _pair_of_texts(column: TableColumn, strings: pa.Array) -> Pair:
    match column.delta_type:
        case "date":
            return days(strings)
        case "timestamp":
            return instants(strings)
        case "timestamp_ntz":
            return local_times(strings)
    return exact_pair(strings.cast(pa.binary()))


def _values(column: TableColumn, values: list[Any]) -> Pair:
    arrow_type = bounds_type(column.leaf)
    if column.delta_type in {"string", "date", "timestamp", "timestamp_ntz"}:
        return _pair_of_texts(
            column, pa.array([value if isinstance(value, str) else None for value in values], pa.string())
        )
    if pa.types.is_integer(arrow_type):
        return integers(values, arrow_type)
    if pa.types.is_floating(arrow_type):
        return floats([_finite(value) if type(value) is Decimal else value for value in values], arrow_type)
    return decimals(values, arrow_type) if pa.types.is_decimal(arrow_type) else unknown_pair(len(values), arrow_type)


def _finite(value: Decimal) -> float | None:
    nearest = float(value)
    return nearest if math.isfinite(nearest) else None


def _counts(values: list[Any]) -> NDArray[np.int64]:
    """Return counts; ABSENT if missing, -1 if invalid."""
    counts = [ABSENT if value is None else value if _is_count(value) else -1 for value in values]
    return np.array(counts, np.int64)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def child(parsed: pa.StructArray, path: Sequence[str]) -> pa.Array:
    """Return the array at a path of nested structs; all null if the path is missing."""
    array = parsed
    for name in path:
        if not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
            return pa.nulls(len(parsed))
        array = pc.struct_field(array, array.type.get_field_index(name))
    return array


def _parsed_counts(parsed: pa.StructArray, path: Sequence[str]) -> NDArray[np.int64]:
    array = child(parsed, path)
    if not pa.types.is_integer(array.type):
        return np.full(len(parsed), ABSENT, np.int64)
    return numbers_from(filled(array.cast(pa.int64()), ABSENT))


def _parsed_values(parsed: pa.StructArray, path: Sequence[str]) -> tuple[NDArray[np.bool_], str]:
    values = child(parsed, path)
    return flags_from(values.is_valid()), "" if pa.types.is_null(values.type) else str(values.type)


def consistent_file_bounds(column: TableColumn, statistics: ReadStatistics) -> Bounds:
    """Return a column's bounds and counts, unknown if other statistics contradict them.

    They are unknown if numRecords is missing, the null count is impossible, or the lower bound is above the upper
    bound.
    """
    lower, upper = widened(statistics.bounds(column), from_float=column.from_float)
    records, nulls = statistics.counts(("numRecords",)), statistics.counts(("nullCount", *column.physical))
    rows = np.where(records > 0, records, 1)
    written = [statistics.written((part, *column.physical))[0] for part in ("minValues", "maxValues")]
    claimed = ClaimedBounds(
        lower,
        upper,
        bounded=written[0] | written[1],
        nan_bound=np.zeros(len(rows), np.bool_),
        rows=rows,
        values=rows,
        null_count=nulls,
        nan_count=np.full(len(rows), ABSENT, np.int64),
    )
    impossible = (records <= 0) | crossed(lower, upper) | ((nulls != ABSENT) & ~within(nulls, rows))
    return without(consistent_bounds(claimed), impossible)
