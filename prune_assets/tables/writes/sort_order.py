"""Spark's sort order, as integers for a sample and as an expression for all rows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from prune_assets.spark.columns import column_of, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.sort_key import SortKey

# Conversions to Python and back that do not involve time zones, calendars or encodings.
_PLAIN = {
    "boolean": "int({})",
    "date": "unix_date({})",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": "cast(cast({} AS STRING) AS BINARY)",
    "string": "cast({} AS BINARY)",
    "char": "cast({} AS BINARY)",
    "varchar": "cast({} AS BINARY)",
    "float": "double({})",
}


class Ordered(NamedTuple):
    """A column in comparable form, with the direction and null order of its key."""

    column: Column
    key: SortKey


def sortable(df: DataFrame, name: str) -> Column:
    """Return a column converted to numbers or bytes that sort in the same order."""
    from pyspark.sql import functions as fn

    plain = _PLAIN.get(df.schema[name].dataType.typeName())
    return column_of(name, nested=False) if plain is None else fn.expr(plain.format(quoted(name)))


def sort_expression(key: SortKey) -> Column:
    """Return a key as an argument of `sortWithinPartitions`."""
    column = column_of(key.column, nested=False)
    if key.descending:
        return column.desc_nulls_last() if key.nulls_last else column.desc_nulls_first()
    return column.asc_nulls_last() if key.nulls_last else column.asc_nulls_first()


def order_codes(values: pa.ChunkedArray, key: SortKey) -> NDArray[np.int64]:
    """Return integers in the order of the key. Equal values have equal integers; NaN sorts above all values."""
    if len(values) == 0:
        return np.zeros(0, np.int64)
    array = values.combine_chunks()
    ranked = pc.rank(array, sort_keys="ascending", tiebreaker="dense")
    codes: NDArray[np.int64] = ranked.to_numpy().astype(np.int64) * (-1 if key.descending else 1)
    beyond = len(array) + 1
    codes[array.is_null().to_numpy(zero_copy_only=False)] = beyond if key.nulls_last else -beyond
    return codes


def rank_expression(keys: Sequence[Ordered], bounds: Sequence[tuple[Any, ...]], ranks: Sequence[int]) -> Column:
    """Return an expression of the rank of a row: `ranks[i]` if `i` bounds sort before or equal to the row.

    The expression is a search tree.
    `bounds`: values of the keys, or of the first keys, ascending.
    `ranks`: the rank before, between and after the bounds; one more entry than `bounds`.
    """
    from pyspark.sql import functions as fn

    if not bounds:
        return fn.lit(ranks[0])
    middle = len(bounds) // 2
    below = rank_expression(keys, bounds[:middle], ranks[: middle + 1])
    above = rank_expression(keys, bounds[middle + 1 :], ranks[middle + 1 :])
    return fn.when(_sorts_before(keys, bounds[middle]), below).otherwise(above)


def _sorts_before(keys: Sequence[Ordered], bound: tuple[Any, ...]) -> Column:
    """Return an expression that is true if a row sorts before a bound, and never null."""
    (column, key), value = keys[0], bound[0]
    first = _value_before(column, key, value)
    if len(bound) == 1:
        return first
    same = column.isNull() if value is None else column.eqNullSafe(_literal(value))
    return first | (same & _sorts_before(keys[1:], bound[1:]))


def _value_before(column: Column, key: SortKey, value: Any) -> Column:
    from pyspark.sql import functions as fn

    if value is None:
        return column.isNotNull() if key.nulls_last else fn.lit(False)  # noqa: FBT003 - a literal
    literal = _literal(value)
    return fn.coalesce(column > literal if key.descending else column < literal, fn.lit(not key.nulls_last))


def _literal(value: Any) -> Column:
    from pyspark.sql import functions as fn

    if isinstance(value, Decimal):
        digits, scale = len(value.as_tuple().digits), -int(value.as_tuple().exponent)
        return fn.lit(str(value)).cast(f"decimal({max(digits, scale)}, {scale})")
    return fn.lit(value)
