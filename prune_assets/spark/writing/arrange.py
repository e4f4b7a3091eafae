"""Put a DataFrame in the order of a layout and have Spark write it, into a place that nobody reads yet."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from prune_assets.spark.columns import column_of
from prune_assets.spark.stores import explaining, options_for, spark_uri
from prune_assets.spark.writing.data_size import distinct_per_row_group, file_count, measure, row_group_rows
from prune_assets.spark.writing.write_options import write_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.spark.writing.write_options import BoundLayout

_TIMESTAMP_TYPE = "spark.sql.parquet.outputTimestampType"
# What Spark calls the directory of rows without a value, or with an empty text.
NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"


def arrange(df: DataFrame, layout: LayoutSpec, bound: BoundLayout) -> tuple[DataFrame, dict[str, str]]:
    """Return the data in the order of the layout and the options that write it.

    Texts to partition by name their directory already: of a column with nulls Spark would make the names itself, and
    sort anew for that, which loses the order inside of partitions.
    """
    group_rows, distinct, files = layout.row_group_rows, dict[str, int](), layout.files
    if bound.bloom or files is None:
        size = measure(df)
        files = file_count(size) if files is None else files
        if bound.bloom:
            group_rows = row_group_rows(size, layout)
            distinct = distinct_per_row_group(df, bound, rows=size.rows, group_rows=group_rows)
    spark_options = write_options(layout, bound, row_group_rows=group_rows, distinct=distinct)
    named = df.withColumns({name: _directory_text(name) for name in bound.partition_by if _is_text(df, name)})
    keys = [column_of(name, nested=False).asc_nulls_first() for name in bound.keys]
    if not keys:
        return df.repartition(files), spark_options
    # With the number given, adaptive execution neither merges nor splits the partitions.
    return named.repartitionByRange(files, *keys).sortWithinPartitions(*keys), spark_options


def _is_text(df: DataFrame, name: str) -> bool:
    return df.schema[name].dataType.typeName() in {"string", "char", "varchar"}


def _directory_text(name: str) -> Column:
    from pyspark.sql import functions as fn

    text = column_of(name, nested=False)
    return fn.coalesce(fn.nullif(text, fn.lit("")), fn.lit(NULL_DIRECTORY))


def merged_options(of_layout: dict[str, str], others: Mapping[str, str] | None) -> dict[str, str]:
    """Return the options of a layout and those of the caller; LayoutError for one that is both."""
    for key in others or {}:
        if key in of_layout:
            raise LayoutError(f"options[{key!r}]: the layout sets it to {of_layout[key]}; change the layout instead")
    return {**of_layout, **(others or {})}


def write_parquet(df: DataFrame, place: str, options: Mapping[str, str], *, partition_by: Sequence[str] = ()) -> int:
    """Write the files into a directory that is not there yet; return the rows that Spark saw pass."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    passed = Observation()
    # Above the shuffle: below it the range sampling would be counted too.
    counted = df.observe(passed, fn.count(fn.lit(1)).alias("rows"))
    session = df.sparkSession
    with _conf(session, _TIMESTAMP_TYPE, "TIMESTAMP_MICROS"), explaining(session, place):
        counted.write.options(**options_for(session, place), **options).mode("error").partitionBy(
            *partition_by
        ).parquet(spark_uri(place))
    return int(passed.get["rows"])


@contextmanager
def _conf(session: SparkSession, key: str, value: str) -> Iterator[None]:
    """Set a session option for a while; one that was not set is unset again."""
    before = session.conf.getAll.get(key)
    session.conf.set(key, value)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, before)
