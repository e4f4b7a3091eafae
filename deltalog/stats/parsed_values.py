"""Convert values of `stats_parsed` to the column's present type: a checkpoint may be older than it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltalog.stats.enclosing_values import Pair, nothing, same
from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from

if TYPE_CHECKING:
    from deltalog.table.schema import TableColumn


def parsed_pair(column: TableColumn, values: pa.Array, kind: pa.DataType) -> Pair:
    """Enclose typed values by those of the column's bounds type; of a type that does not widen to it say nothing."""
    stored = values.type
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(kind):
        return _times(values, kind)
    if stored.equals(kind):
        return same(values)
    of_text = column.kind == "string" and (pa.types.is_string(stored) or pa.types.is_large_string(stored))
    of_days = column.kind == "timestamp_ntz" and pa.types.is_date32(stored)
    if of_text or of_days or _widens(stored, kind):
        try:
            return same(values.cast(kind))
        except pa.ArrowException:
            return nothing(len(values), kind)
    return nothing(len(values), kind)


def _widens(stored: pa.DataType, kind: pa.DataType) -> bool:
    if pa.types.is_signed_integer(stored):
        if pa.types.is_signed_integer(kind):
            return bool(stored.bit_width <= kind.bit_width)
        return bool(pa.types.is_decimal(kind) or (pa.types.is_float64(kind) and stored.bit_width <= 32))
    if pa.types.is_float32(stored):
        return bool(pa.types.is_float64(kind))
    return bool(pa.types.is_decimal128(stored) and pa.types.is_decimal128(kind))


def _times(values: pa.Array, kind: pa.DataType) -> Pair:
    stored = values.type
    # INT96 has no zone and means instants; of what else has none, the zone of the instants is not known.
    as_int96 = stored.unit == "ns" and stored.tz is None
    if (stored.tz is None) != (kind.tz is None) and not as_int96:
        return nothing(len(values), kind)
    numbers, valid = numbers_from(values), flags_from(values.is_valid())
    if stored.unit == "ns":
        micros = numbers // 1000
        return Pair(from_numpy(micros, kind, valid=valid), from_numpy(micros + 1, kind, valid=valid))
    factor = {"us": 1, "ms": 1000, "s": 1_000_000}[stored.unit]
    most = np.iinfo(np.int64).max // factor
    valid = valid & (np.abs(numbers.astype(np.float64)) < most)
    return same(from_numpy(np.where(valid, numbers, 0) * factor, kind, valid=valid))
