"""Read the first rows in an order.

Row groups are read in the order of their bounds, until no other row group can hold one of the first rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of_scalars, flags_from, from_numpy, numbers_from
from parquet_core.errors import UnknownColumn
from parquet_core.format.comparable_values import bounds_type
from parquet_core.layout.sort_key import direction_hint, parse_sort_key
from parquet_core.ragged import distinct
from parquet_core.trust.bounds import presence_of
from prune_assets.reading.arrow_columns import names_of, not_read
from prune_assets.reading.arrow_scan import scan_of
from prune_assets.reading.row_filter import compared_values
from prune_assets.reading.row_pages import rows_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.layout.sort_key import SortKey
    from parquet_core.trust.bounds import Bounds
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.reading.arrow_scan import ArrowScan, ScannedRows
    from prune_assets.reading.read_stats import ReadStats

# Levels of a rank: no known bounds, nulls, NaN, other values, no rows.
_UNKNOWN, _NULL, _NAN, _VALUE, _EMPTY = 3, 2, 1, 0, 4

# Columns added to the keys: number of the row group, and row number in it.
_GROUP, _ROW = "group", "row"
_MOST_GROUPS = 64


def sort_keys(order_by: Sequence[str], option: str = "order_by") -> list[SortKey]:
    """Parse ORDER BY columns to sort keys. Raises LayoutError for invalid ones."""
    return [parse_sort_key(key, option) for key in order_by]


def rows_in_order(
    plan: PlannedRead,
    names: Sequence[str],
    keys: Sequence[SortKey],
    limit: int | None,
    *,
    session: SparkSession | None,
    stats: ReadStats | None,
) -> pa.Table:
    """Return columns of the selected rows, sorted; only the first `limit` rows unless `limit` is None.

    Raises UnknownColumn for an unknown key, and UnsupportedFeature for a key of a nested type.
    """
    for key in keys:
        if hint := direction_hint(key.column, names_of(plan, None)):
            raise UnknownColumn(f"unknown column {key.column}: {hint}")
    spelled = names_of(plan, [key.column for key in keys])
    keys = [key._replace(column=name) for key, name in zip(keys, spelled, strict=True)]
    scan = scan_of(plan, list(dict.fromkeys([*names, *spelled])), session, stats)
    for name in spelled:
        if pa.types.is_nested(arrow_type := scan.columns.types[name]):
            raise not_read(name, f"rows cannot be sorted by {arrow_type}")
    return (_all(scan, keys) if limit is None else _first(scan, keys, limit)).select(list(names))


def _all(scan: ArrowScan, keys: Sequence[SortKey]) -> pa.Table:
    table = pa.concat_tables([scan.no_rows(), *scan.tables(scan.kept())])
    ranks = [ranks_of_values(_compared(scan, key, table.column(key.column)), key) for key in keys]
    return table.take(from_numpy(sorted_positions(ranks)))


def _first(scan: ArrowScan, keys: Sequence[SortKey], limit: int) -> pa.Table:
    """Return the first `limit` selected rows in the order of `keys`.

    Row groups are read in the order of their bounds. Columns other than the keys are read only for the rows to return.
    """
    positions = scan.kept()
    if not len(positions):
        return scan.no_rows()
    bounds = _ranks_of_groups(scan, keys[0], positions)
    best = pa.table({_GROUP: from_numpy(np.zeros(0, np.int64))})
    for window in _windows(sorted_positions([bounds]), scan.index.groups.row_count[positions], limit):
        if len(best) == limit and not _may_hold_better(bounds, int(window[0]), best, keys):
            break
        rows = scan.with_columns(scan.selected(positions[window].tolist()), _stored(scan, keys))
        tables = [best] * bool(len(best)) + [
            _build_key_table(scan, scanned, keys) for scanned in rows if scanned.group.total
        ]
        if tables:
            whole = pa.concat_tables(tables)
            best = whole.take(from_numpy(sorted_positions(_ranks_of_rows(whole, keys))[:limit]))
    result = _completed(scan, best)
    scan.index.save()
    return result


def _windows(order: NDArray[np.int64], rows: NDArray[np.int64], limit: int) -> Iterator[NDArray[np.int64]]:
    """Yield row groups to read together.

    The first window has about `limit` rows, and each later one twice as many row groups as the one before.
    """
    many = max(1, min(_MOST_GROUPS, int(np.searchsorted(np.cumsum(rows[order]), limit)) + 1))
    start = 0
    while start < len(order):
        yield order[start : start + many]
        start, many = start + many, min(2 * many, _MOST_GROUPS)


def _ranks_of_groups(scan: ArrowScan, key: SortKey, positions: NDArray[np.int64]) -> Ranks:
    if key.column in scan.columns.constant_names:
        arrow_type = bounds_type(scan.columns.compared[key.column,])
        values = [scan.constant(position, key.column).cast(arrow_type) for position in positions.tolist()]
        return ranks_of_values(array_of_scalars(values), key)
    (leaf,) = scan.columns.leaves[key.column]
    return ranks_of_bounds(scan.index.footers.bounds(leaf).take(positions), key)


def _may_hold_better(bounds: Ranks, group: int, best: pa.Table, keys: Sequence[SortKey]) -> bool:
    """Return True if a row group may hold a row that comes before the last of the best rows so far."""
    if not len(best):
        return False
    (last,) = _ranks_of_rows(best.slice(len(best) - 1), keys[:1])
    step = bounds.compare(group, last, 0)
    # With a single key, any of several equal rows may be returned.
    return step < 0 or (step == 0 and len(keys) > 1)


def _stored(scan: ArrowScan, keys: Sequence[SortKey]) -> list[str]:
    return [key.column for key in keys if key.column not in scan.columns.constant_names]


def _build_key_table(scan: ArrowScan, rows: ScannedRows, keys: Sequence[SortKey]) -> pa.Table:
    row_positions = rows_in(rows.group.ranges)
    columns = [_compared(scan, key, scan.values(rows, key.column)) for key in keys]
    named = {str(i): column for i, column in enumerate(columns)}
    group = np.full(len(row_positions), rows.group.position)
    return pa.table({_GROUP: from_numpy(group), _ROW: from_numpy(row_positions), **named})


def _compared(scan: ArrowScan, key: SortKey, values: pa.ChunkedArray) -> pa.Array:
    column = scan.columns.compared[key.column,]
    return compared_values(column.path, {key.column: values}, column)


def _ranks_of_rows(rows: pa.Table, keys: Sequence[SortKey]) -> list[Ranks]:
    return [ranks_of_values(rows.column(str(i)).combine_chunks(), key) for i, key in enumerate(keys)]


def _completed(scan: ArrowScan, best: pa.Table) -> pa.Table:
    """Return the result's columns for the best rows, in their order."""
    if not len(best):
        return scan.no_rows()
    groups, rows = numbers_from(best.column(_GROUP).combine_chunks()), numbers_from(best.column(_ROW).combine_chunks())
    chosen = [scan.rows_of(int(group), np.sort(rows[groups == group])) for group in distinct(np.sort(groups)).tolist()]
    stored = [name for name in scan.names if name not in scan.columns.constant_names]
    table = pa.concat_tables([scan.table(scanned) for scanned in scan.with_columns(chosen, stored)])
    return table.take(from_numpy(np.argsort(np.lexsort((rows, groups)))))


@dataclass(frozen=True, slots=True)
class Ranks:
    """Order by one sort key: of rows, or of row groups by their bounds.

    `level`: 0 for a plain value; other numbers for null, NaN, unknown bounds and no rows. Levels are compared first.
    `value`: decides between plain values.
    """

    key: SortKey
    level: NDArray[np.int8]
    value: pa.Array

    def compare(self, i: int, other: Ranks, j: int) -> int:
        """Compare entry i with entry j of `other`.

        Returns a negative number, 0 or a positive number.
        """
        levels = int(self.level[i]) - int(other.level[j])
        if levels or self.level[i]:
            return levels
        mine, theirs = self.value[i], other.value[j]
        step = int(pc.greater(mine, theirs).as_py()) - int(pc.less(mine, theirs).as_py())
        return -step if self.key.descending else step


def ranks_of_values(values: pa.Array, key: SortKey) -> Ranks:
    """Return the ranks of values in the type of the key's bounds."""
    values = _comparable(values)
    level = np.where(flags_from(values.is_valid()), _VALUE, _null_level(key)).astype(np.int8)
    if pa.types.is_floating(values.type):
        level[flags_from(pc.is_nan(values))] = _nan_level(key)
    return Ranks(key, level, values)


def ranks_of_bounds(bounds: Bounds, key: SortKey) -> Ranks:
    """Return a lower limit of the ranks in each row group.

    Row groups without known bounds come first.
    """
    null, nan, number = presence_of(bounds)
    value = _comparable(bounds.upper if key.descending else bounds.lower)
    level = np.full(len(bounds), _EMPTY, np.int8)
    unknown = number & ~flags_from(value.is_valid())
    for may_be, its_level in ((number, _VALUE), (nan, _nan_level(key)), (null, _null_level(key)), (unknown, -_UNKNOWN)):
        level[may_be] = np.minimum(level[may_be], its_level)
    return Ranks(key, level, value)


def sorted_positions(ranks: Sequence[Ranks]) -> NDArray[np.int64]:
    """Return the row positions sorted by the ranks of each key; stable for equal rows."""
    columns: dict[str, Any] = {}
    order = []
    for i, rank in enumerate(ranks):
        columns |= {f"level {i}": from_numpy(rank.level), f"value {i}": rank.value}
        order += [(f"level {i}", "ascending"), (f"value {i}", "descending" if rank.key.descending else "ascending")]
    positions: NDArray[np.int64] = numbers_from(pc.sort_indices(pa.table(columns), sort_keys=order)).astype(np.int64)
    return positions


def _nan_level(key: SortKey) -> int:
    return -_NAN if key.descending else _NAN


def _null_level(key: SortKey) -> int:
    return _NULL if key.nulls_last else -_NULL


def _comparable(values: pa.Array) -> pa.Array:
    return values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values
