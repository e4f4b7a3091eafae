"""Collect the keys of a join from a DataFrame: the distinct keys, or ranges that hold them if they are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prune_assets.spark.columns import column_of
from prune_assets.spark.spark_session import own_jobs
from prune_assets.spark.spark_versions import to_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

# Maximum number of distinct keys that are collected: a million keys of two columns take about 30 MB.
MAX_KEYS = 1_000_000
# Number of ranges in place of more keys.
_RANGES = 1_000


class KeyRanges(NamedTuple):
    """Ranges that hold all keys of one column.

    `low`, `high`: both ends of each range, included, in the type of the keys.
    """

    low: pa.Array
    high: pa.Array


def collect_keys(keys: DataFrame, names: Sequence[str], *, most: int = MAX_KEYS) -> pa.Table | dict[str, KeyRanges]:
    """Return the distinct keys of a DataFrame; of more than `most` keys, ranges of each column."""
    selected = keys.select(*(column_of(name, nested=False) for name in dict.fromkeys(names)))
    with own_jobs(keys.sparkSession, "prune: keys of a join"):
        distinct = to_arrow(selected.distinct().limit(most + 1))
        if distinct.num_rows <= most:
            return distinct
        return {name: _ranges(selected, name) for name in distinct.column_names}


def _ranges(keys: DataFrame, name: str) -> KeyRanges:
    """Return the least and the greatest key of each of many ranges, whose limits Spark samples."""
    from pyspark.sql import functions as f

    key = column_of(name, nested=False)
    parts = keys.select(key.alias("k")).where(f.col("k").isNotNull()).repartitionByRange(_RANGES, "k")
    numbered = parts.select("k", f.spark_partition_id().alias("part"))
    ends = to_arrow(numbered.groupBy("part").agg(f.min("k").alias("low"), f.max("k").alias("high")))
    return KeyRanges(ends["low"].combine_chunks(), ends["high"].combine_chunks())
