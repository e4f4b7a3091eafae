"""Collect the keys of a join from a DataFrame: the distinct keys, or ranges that hold them if they are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import WrongUse
from prune_assets.spark.columns import column_of
from prune_assets.spark.spark_session import own_jobs
from prune_assets.spark.spark_versions import to_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

# Maximum number of distinct keys that are collected: a million keys of two columns take about 30 MB.
MAX_KEYS = 1_000_000
# Up to this number of rows, all rows are collected: to find distinct keys, Spark would have to shuffle.
_FEW_ROWS = 100_000
# The default collation of strings.
_BINARY = "UTF8_BINARY"
# Number of ranges per column if there are more distinct keys.
_RANGES = 1_000


class KeyRanges(NamedTuple):
    """Ranges that hold all keys of one column.

    `low`, `high`: inclusive bounds of each range, in the type of the keys.
    """

    low: pa.Array
    high: pa.Array


def collect_keys(keys: DataFrame, names: Sequence[str], *, most: int = MAX_KEYS) -> pa.Table | dict[str, KeyRanges]:
    """Return the keys of a DataFrame, or ranges per column if it has more than `most` distinct keys.

    The keys of a small DataFrame may contain duplicates.
    """
    selected = keys.select(*(column_of(name, nested=False) for name in dict.fromkeys(names)))
    with own_jobs(keys.sparkSession, "prune: keys of a join"):
        few = min(_FEW_ROWS, most)
        rows = to_arrow(selected.limit(few + 1))
        if rows.num_rows <= few:
            return rows
        distinct = to_arrow(selected.distinct().limit(most + 1))
        if distinct.num_rows <= most:
            return distinct
        return {name: _ranges(selected, name) for name in distinct.column_names}


def check_key_types(keys: DataFrame, names: Sequence[str]) -> None:
    """Raise WrongUse for a nested or collated column: bounds cannot decide whether its values are equal."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    for field in (keys.schema[name] for name in names):
        if isinstance(field.dataType, ArrayType | MapType | StructType):
            raise WrongUse(
                f"keys: {field.name} is a column of type {field.dataType.typeName()}; join by its parts, as columns"
            )
        collation = getattr(field.dataType, "collation", _BINARY)
        if collation != _BINARY:
            raise WrongUse(
                f"keys: {field.name} is compared by the collation {collation}, bounds are not; "
                "join by other columns, or leave out keys"
            )


def _ranges(keys: DataFrame, name: str) -> KeyRanges:
    """Split the keys into ranges by sampling, and return the smallest and the largest key of each range."""
    from pyspark.sql import functions as f

    key = column_of(name, nested=False)
    parts = keys.select(key.alias("k")).where(f.col("k").isNotNull()).repartitionByRange(_RANGES, "k")
    numbered = parts.select("k", f.spark_partition_id().alias("part"))
    ends = to_arrow(numbered.groupBy("part").agg(f.min("k").alias("low"), f.max("k").alias("high")))
    return KeyRanges(ends["low"].combine_chunks(), ends["high"].combine_chunks())
