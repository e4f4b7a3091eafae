"""Count files with bounds and null counts of a column, and other files by reason."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from deltalog.stats.file_bounds import ABSENT, ask_batch, consistent_file_bounds
from parquet_core.arrow_arrays import flags_from
from parquet_core.spark_rules.calendars import common_calendar_start
from parquet_core.trust.widened_bounds import widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.file_bounds import ReadStatistics
    from deltalog.table.schema import TableColumn
    from parquet_core.trust.widened_bounds import Pair

    _Flags = NDArray[np.bool_]

NO_STATISTICS = "no statistics"
_NO_COUNT = "no null count"
_BOUNDS, _NULLS = ("minValues", "maxValues"), "nullCount"


class Gap(StrEnum):
    """Statistics that a writer may leave out on purpose."""

    BOUNDS = "no minimum or maximum"


class Coverage(NamedTuple):
    """Numbers of files with both bounds, and with a null count.

    `missing`: number of files that lack bounds or a null count, by reason.
    """

    bounds: int
    null_counts: int
    missing: Counter[str]


def coverage_of(snapshot: Snapshot, columns: Sequence[TableColumn]) -> list[Coverage]:
    """Count the files with usable statistics of each column, and the other files by reason.

    >>> import tempfile
    >>> import deltalake, pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> for rows in ([1, 2], [None]):
    ...     deltalake.write_deltalake(table, pa.table({"x": pa.array(rows, pa.int64())}), mode="append")
    >>> snapshot = deltalog.open_snapshot(table)
    >>> coverage_of(snapshot, snapshot.schema.columns)
    [Coverage(bounds=1, null_counts=2, missing=Counter({'only nulls': 1}))]
    """
    coverages = [Coverage(0, 0, Counter()) for _ in columns]
    files = 0
    for block in snapshot.blocks if columns else ():
        for batch in block.statistics.read([column.physical for column in columns], np.ones(len(block), np.bool_)):
            of_batch = ask_batch(
                columns, batch, lambda statistics: [_coverage_of_column(it, statistics) for it in columns]
            )
            coverages = [_sum(*pair) for pair in zip(coverages, of_batch, strict=True)]
            files += len(batch.positions)
    for coverage in coverages:
        coverage.missing[NO_STATISTICS] += snapshot.file_count - files
    return [coverage._replace(missing=+coverage.missing) for coverage in coverages]


def _sum(left: Coverage, right: Coverage) -> Coverage:
    return Coverage(left.bounds + right.bounds, left.null_counts + right.null_counts, left.missing + right.missing)


def _coverage_of_column(column: TableColumn, statistics: ReadStatistics) -> Coverage:
    records, nulls = statistics.counts(("numRecords",)), statistics.counts((_NULLS, *column.physical))
    pair = statistics.bounds(column)
    used = consistent_file_bounds(column, statistics)
    bounded, counted = _valid(used.lower) & _valid(used.upper), _valid(used.null_count)
    reasons = [*_against_counts(records, nulls)]
    if column.bounded:
        against = _against_bounds(column, statistics, pair, only_nulls=(nulls == records))
        reasons += [(flags & ~bounded, reason) for flags, reason in against]
    reasons.append((~counted, _NO_COUNT))
    lacking = ~counted | ~bounded if column.bounded else ~counted
    chosen = np.select([flags for flags, _ in reasons], range(1, len(reasons) + 1), 0)[lacking]
    missing = {reason: int(np.count_nonzero(chosen == i)) for i, (_, reason) in enumerate(reasons, 1)}
    return Coverage(int(np.count_nonzero(bounded)), int(np.count_nonzero(counted)), +Counter(missing))


def _against_counts(records: NDArray[np.int64], nulls: NDArray[np.int64]) -> list[tuple[_Flags, str]]:
    counted = nulls != ABSENT
    return [
        (records == ABSENT, "no numRecords"),
        (records <= 0, "numRecords is not positive"),
        (counted & ((nulls < 0) | (nulls > records)), "the null count does not fit numRecords"),
    ]


def _against_bounds(
    column: TableColumn, statistics: ReadStatistics, pair: Pair, *, only_nulls: _Flags
) -> list[tuple[_Flags, str]]:
    """Return the reasons why bounds are unusable, each with flags of the affected files.

    The first reason of a file counts.
    """
    written = [statistics.written((part, *column.physical)) for part in _BOUNDS]
    lower, upper = (flags for flags, _ in written)
    stored = next((stored_type for _, stored_type in written if stored_type), "JSON")
    read, wide = _valid(pair.lower) & _valid(pair.upper), widened(pair, from_float=column.from_float)
    return [
        (only_nulls & ~lower & ~upper, "only nulls"),
        (~lower & ~upper, Gap.BOUNDS),
        (~lower, "no minimum: the maximum alone is used"),
        (~upper, "no maximum: the minimum alone is used"),
        (~read, f"a bound is not a valid {column.delta_type} (stored as {stored})"),
        *_lost(column, wide),
        (only_nulls, "bounds, although the null count says that every value is null"),
        (np.ones(len(lower), np.bool_), "the minimum is larger than the maximum"),
    ]


def _lost(column: TableColumn, wide: Pair) -> list[tuple[_Flags, str]]:
    """Return the reasons why widening drops a bound that was read, each with flags of the affected files."""
    lower, upper = _valid(wide.lower), _valid(wide.upper)
    if column.delta_type in {"float", "double"}:
        return [(~lower & ~upper, "the bounds are NaN"), (~upper, "the maximum is NaN: the minimum alone is used")]
    if column.delta_type == "string":
        return [(~upper, "an old writer cut the maximum: the minimum alone is used")]
    if pa.types.is_temporal(wide.lower.type):
        start = str(common_calendar_start(wide.lower.type).cast(pa.date32()))
        return [(~(lower & upper), f"a bound is before {start}, where the calendars of writers differ")]
    return []


def _valid(values: pa.Array) -> _Flags:
    return flags_from(values.is_valid())
