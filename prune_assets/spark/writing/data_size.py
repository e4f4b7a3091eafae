"""How much a DataFrame holds, measured before it is written: rows, bytes, distinct values per row group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prune_assets.spark.columns import column_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql._typing import ColumnOrName
    from pyspark.sql.types import StructField

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.spark.writing.write_options import BoundLayout

FILE_BYTES = 128 << 20
# Plain bytes a value takes, over the bytes it takes encoded and compressed: a careful guess.
SHRINK = 4
# More slices tell no more about the distinct values of a row group, but cost tasks.
MAX_SLICES = 200
# Three standard deviations of approx_count_distinct; a finer sketch takes many times as long.
DISTINCT_ERROR = 0.05
DISTINCT_MARGIN = 1 + 3 * DISTINCT_ERROR

_PLAIN_WIDTHS = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "decimal": 8}
_TIMES_AND_LONGS = {"long": 8, "double": 8, "timestamp": 8, "timestamp_ntz": 8}


@dataclass(frozen=True, slots=True)
class DataSize:
    """Rows, and bytes as plain values: not encoded, not compressed."""

    rows: int
    plain_bytes: int


def measure(df: DataFrame) -> DataSize:
    """Count rows and plain bytes in one pass over the data."""
    from pyspark.sql import functions as fn

    width = sum((_width(field) for field in df.schema.fields), fn.lit(0).cast("bigint"))
    row = df.select(width.alias("width")).agg(fn.count(fn.lit(1)), fn.sum("width")).head()
    assert row is not None  # an aggregate without keys has one row
    rows, plain_bytes = row
    return DataSize(rows, 0 if plain_bytes is None else plain_bytes)


def file_count(size: DataSize) -> int:
    """Return how many files of about 128 MiB the data will make."""
    return max(1, math.ceil(size.plain_bytes / SHRINK / FILE_BYTES))


def row_group_rows(size: DataSize, layout: LayoutSpec) -> int:
    """Return the rows a row group may hold: what the layout says, or what its bytes come to.

    The result is set as a limit where bloom filters are written, so that no row group holds more
    distinct values than its filter was sized for.
    """
    if size.rows == 0 or size.plain_bytes == 0:
        by_bytes = layout.row_group_bytes
    else:
        by_bytes = max(1, layout.row_group_bytes * SHRINK * size.rows // size.plain_bytes)
    return by_bytes if layout.row_group_rows is None else layout.row_group_rows


def distinct_per_row_group(df: DataFrame, bound: BoundLayout, *, rows: int, group_rows: int) -> dict[str, int]:
    """Estimate, per bloom column, the most distinct values in one row group.

    A bloom filter is sized for one row group, and how many of a column's values meet in it depends on
    the sort: all rows of a customer lie together or in every row group. So the data are cut along the
    sort key into slices that are at least as large as a row group, each slice is counted and the
    largest count wins. Too large a count wastes bytes, too small a one breaks the asked probability:
    hence the largest, the margin for the sketch's error, and never more than the rows of a row group.
    """
    from pyspark.sql import functions as fn

    if not bound.bloom:
        return {}
    leaves = [column_of(name).alias(f"bloom{i}") for i, name in enumerate(bound.bloom)]
    keys = [column_of(name, nested=False).alias(f"key{i}") for i, name in enumerate(bound.keys)]
    slices = max(1, min(rows // group_rows, MAX_SLICES))
    narrow = df.select(*keys, *leaves)
    # A file holds rows of one partition alone.
    together: list[ColumnOrName] = [f"key{i}" for i in range(len(bound.partition_by))]
    if keys and slices > 1:
        narrow = narrow.repartitionByRange(slices, *(fn.col(f"key{i}").asc_nulls_first() for i in range(len(keys))))
        together.append(fn.spark_partition_id().alias("slice"))
    narrow = narrow.groupBy(*together).agg(*_counts(len(leaves)))
    most = narrow.agg(*(fn.max(f"distinct{i}") for i in range(len(leaves)))).head()
    assert most is not None  # an aggregate without keys has one row
    counted = [0 if value is None else value for value in most]
    return {
        name: max(1, min(group_rows, math.ceil(value * DISTINCT_MARGIN)))
        for name, value in zip(bound.bloom, counted, strict=True)
    }


def _counts(columns: int) -> list[Column]:
    from pyspark.sql import functions as fn

    return [fn.approx_count_distinct(f"bloom{i}", DISTINCT_ERROR).alias(f"distinct{i}") for i in range(columns)]


def _width(field: StructField) -> Column:
    from pyspark.sql import functions as fn

    column = column_of(field.name, nested=False)
    kind = field.dataType.typeName()
    widths = _PLAIN_WIDTHS | _TIMES_AND_LONGS
    if kind in widths:
        return fn.lit(widths[kind])
    if kind not in {"string", "char", "varchar", "binary"}:
        column = fn.to_json(fn.struct(column))
    return fn.coalesce(fn.octet_length(column), fn.lit(0))
