"""Partition values as evidence: the range of a column that a transformed value implies.

`day(ts) = 19700` implies that `ts` is in that day. `truncate(10)` with value 20 implies a number in [20, 29], and with
value 'ab' a string that starts with 'ab'. For `bucket`, literals are hashed: a file in another bucket has no row equal
to them. A value is null if and only if the column is null; `void` and unknown transforms imply nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy
from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.evidence.many_leaves import bounds_of_values
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes, unknown
from parquet_core.pruning.predicate import Compare, In, Op
from parquet_core.trust.bounds import Bounds, first_known, spread_bounds
from prune_assets.sql.types.zones import DAY
from prune_assets.tables.iceberg.single_values import as_array, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.types import IcebergType

    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

# Number of days that fit in 64-bit microseconds, minus one day as a margin.
_MOST_DAYS = (1 << 63) // DAY - 1
# A long list has values in all buckets, so its first values suffice.
_VALUES_AT_ONCE = 1_000
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


class _Ends(NamedTuple):
    """Minimum and maximum of the possible values of a column. None: unknown."""

    low: Any
    high: Any


_UNKNOWN = _Ends(None, None)


def outcomes_of_partitions(leaf: ColumnLeaf, column: IcebergColumn, snapshot: IcebergSnapshot) -> OutcomeArray:
    """Return the outcomes of a leaf for each file, from partition values."""
    outcomes = unknown(len(snapshot.files))
    for field in snapshot.partition_fields:
        if field.source == column.field_id and field.transform != "void":
            file_numbers, values = snapshot.files.partition_values(field.spec, field.position)
            if not len(file_numbers):
                continue
            wanted = None
            if field.transform.startswith("bucket["):
                wanted = buckets(leaf, column, field.transform, snapshot.schema.find_type(column.field_id))
            outcomes[file_numbers] &= _outcomes(leaf, column, field.transform, values, wanted)
    return outcomes


def bounds_of_files(column: IcebergColumn, snapshot: IcebergSnapshot) -> Bounds | None:
    """Return the bounds of a column in each file, from partition values; None if the values imply no bounds."""
    found = None
    for field in snapshot.partition_fields:
        if field.source == column.field_id and field.transform != "void":
            file_numbers, values = snapshot.files.partition_values(field.spec, field.position)
            if not len(file_numbers):
                continue
            positions = {value: i for i, value in enumerate(dict.fromkeys(values))}
            bounds = bounds_of_transformed(column, field.transform, list(positions))
            of_files = bounds.take(np.array([positions[value] for value in values], np.int64))
            spread = spread_bounds(of_files, file_numbers, np.ones(len(snapshot.files), np.int64))
            found = spread if found is None else first_known(found, spread)
    return found


def _outcomes(
    leaf: ColumnLeaf, column: IcebergColumn, transform: str, values: Sequence[Any], wanted: set[int] | None
) -> OutcomeArray:
    positions = {value: i for i, value in enumerate(dict.fromkeys(values))}
    bounds = bounds_of_transformed(column, transform, list(positions))
    outcomes = outcomes_from_bounds(leaf, bounds)
    if wanted is not None:
        denied = [value is not None and value not in wanted for value in positions]
        outcomes[np.array(denied, np.bool_)] &= ~np.uint8(Outcomes.TRUE)
    return outcomes[np.array([positions[value] for value in values], np.int64)]


def bounds_of_transformed(column: IcebergColumn, transform: str, values: Sequence[Any]) -> Bounds:
    """Return bounds of the column for each transformed value; each value counts as one row."""
    null = np.array([value is None for value in values], np.bool_)
    plain_values = [None if value is None else number_of(value) for value in values]
    if transform == "identity":
        array = as_array(column, plain_values)
        bounds = bounds_of_values(array)
        lost = flags_from(array.is_null()) & ~null
        null_count = from_numpy(np.where(lost, -1, null), valid=~lost)
        return bounds if not lost.any() else Bounds.of(bounds.lower, bounds.upper, null_count, bounds.row_count)
    enclose = ends_of(column, transform)
    ends = [_UNKNOWN if plain_value is None else enclose(plain_value) for plain_value in plain_values]
    return Bounds.of(
        lower=as_array(column, [end.low for end in ends]),
        upper=as_array(column, [end.high for end in ends]),
        null_count=from_numpy(null.astype(np.int64), valid=np.full(len(null), preserves_nulls(transform))),
        row_count=np.ones(len(null), np.int64),
    )


def preserves_nulls(transform: str) -> bool:
    """Return True if a transform is null exactly where the column is null."""
    return transform in _UNITS or transform.startswith(("bucket[", "truncate["))


def ends_of(column: IcebergColumn, transform: str) -> Callable[[Any], _Ends]:
    """Return a function that maps a transformed value to the range of the column."""
    name, _, width = transform.rstrip("]").partition("[")
    if name in _UNITS:
        return lambda value: _ends_of_time(_UNITS[name], value, is_date=column.type_name == "date")
    if name == "truncate" and width.isdigit():
        return lambda value: _ends_of_truncated(column, int(width), value)
    return lambda _: _UNKNOWN


def _ends_of_time(unit: str, value: int, *, is_date: bool) -> _Ends:
    """Return the range of a year, month, day or hour, counted since 1970.

    Before 1970, some writers rounded towards 1970 instead of down, so the range includes the preceding interval.
    """
    exact = unit == "D" and is_date
    first = value - 1 if value <= 0 and not exact else value
    if unit == "h":
        low, high = first * (DAY // 24), (value + 1) * (DAY // 24) - 1
        return _Ends(low, high) if abs(value) < _MOST_DAYS * 24 else _UNKNOWN
    if abs(value) > _MOST_DAYS:
        return _UNKNOWN
    begins = np.array([first, value + 1], f"datetime64[{unit}]").astype("datetime64[D]")
    low, high = begins.astype(np.int64).tolist()
    if max(abs(low), abs(high)) > _MOST_DAYS:
        return _UNKNOWN
    return _Ends(low, high - 1) if is_date else _Ends(low * DAY, high * DAY - 1)


def _ends_of_truncated(column: IcebergColumn, width: int, value: Any) -> _Ends:
    if isinstance(value, int):
        arrow_type = bounds_type(column.leaf)
        most = 10**arrow_type.precision - 1 if pa.types.is_decimal(arrow_type) else (1 << arrow_type.bit_width - 1) - 1
        return _Ends(value, min(value + width - 1, most))
    if len(value) < width:
        return _Ends(value, value)
    low = value.encode() if isinstance(value, str) else value
    # All strings with this prefix sort before the next prefix of the same length.
    head = low.rstrip(b"\xff")
    return _Ends(low, head[:-1] + bytes([head[-1] + 1]) if head else None)


def buckets(leaf: ColumnLeaf, column: IcebergColumn, transform: str, iceberg_type: IcebergType) -> set[int] | None:
    """Return the buckets of a leaf's literals; None if the leaf is not an equality, or if any bucket may match."""
    match leaf:
        case Compare(_, Op.EQ, value):
            values = array_of([value.as_py()], value.type)
        case In(_, values):
            pass
        case _:
            return None
    from pyiceberg.transforms import parse_transform

    arrow_type = bounds_type(column.leaf)
    try:
        literals = values.cast(arrow_type)
        if pa.types.is_timestamp(arrow_type) or pa.types.is_date(arrow_type):
            literals = literals.view(pa.int64() if arrow_type.bit_width == 64 else pa.int32())
        bucket = parse_transform(transform).transform(iceberg_type)
        found: set[int] = set()
        for start in range(0, len(literals), _VALUES_AT_ONCE):
            plain = literals[start : start + _VALUES_AT_ONCE].to_pylist()
            found.update(bucket(value.decode() if column.type_name == "string" else value) for value in plain)
            if len(found) == int(transform[len("bucket[") : -1]):
                return None
    except (pa.ArrowException, UnicodeDecodeError, ValueError):
        return None
    return found
