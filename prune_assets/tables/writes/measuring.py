"""Measure data in one pass before they are written: count rows and bytes, and draw a sample of limited size.

Each row has a random score, and one score per bloom column: the hash of its value. The sample consists of the rows with
the smallest scores. Let `rate` be the largest score in the sample. Then the sample has every row with the same
probability `rate`. In addition, for a share `rate` of each bloom column's values, it has *all* rows. The random rows
determine where files begin and end. The hashed values determine the number of distinct values in a row group (k minimum
values: Bar-Yossef et al., "Counting distinct elements in a data stream", 2002).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prune_assets.spark.columns import column_of
from prune_assets.spark.spark_session import own_jobs
from prune_assets.spark.spark_versions import observation, to_arrow
from prune_assets.tables.writes.data_size import DataSize
from prune_assets.tables.writes.sort_order import sortable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from parquet_core.layout.sort_key import SortKey
    from prune_assets.tables.writes.write_options import WriteLayout

# Number of rows sampled for the ranges of files, and again for each bloom column.
SAMPLE = 10_000
# Rows sampled per file. With this number, file sizes vary by a tenth.
SAMPLE_PER_FILE = 100
MOST = 200_000
# Three standard deviations of approx_count_distinct; a finer sketch is many times slower.
_DISTINCT_ERROR = 0.05
DISTINCT_MARGIN = 1 + 3 * _DISTINCT_ERROR

_PLAIN_WIDTHS = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "decimal": 8}
_TIMES_AND_LONGS = {"long": 8, "double": 8, "timestamp": 8, "timestamp_ntz": 8}


@dataclass(frozen=True, slots=True)
class MeasuredData:
    """Results of a pass over the data.

    `keys`: key columns of the sampled rows.
    `random`: random scores of these rows.
    `hashes`: for each bloom column, the scores of these rows.
    `rate`: all rows with a score below it are in the sample.
    `distinct`: for each bloom column, the approximate number of distinct values.
    """

    size: DataSize
    keys: pa.Table
    random: NDArray[np.float64]
    hashes: list[NDArray[np.float64]]
    rate: float
    distinct: list[int]

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Flags of the sampled rows that were drawn at random."""
        return self.random < self.rate


def measure(df: DataFrame, bound: WriteLayout, keys: tuple[SortKey, ...], *, files: int | None) -> MeasuredData:
    """Count rows and plain bytes, and draw a sample, in one Spark job with one stage."""
    from pyspark.sql import functions as fn

    seen, blooms = observation(df), [column_of(name) for name in bound.bloom]
    distinct = [fn.approx_count_distinct(leaf, _DISTINCT_ERROR).alias(f"d{i}") for i, leaf in enumerate(blooms)]
    width = sum((_width(field) for field in df.schema.fields), fn.lit(0).cast("bigint"))
    # Bytes are measured only if they are used, because they are expensive for nested columns.
    plain = width if files is None or blooms else fn.lit(0)
    counted = df.observe(seen, fn.count(fn.lit(1)).alias("rows"), fn.sum(plain).alias("bytes"), *distinct)
    columns = [sortable(df, key.column).alias(f"k{i}") for i, key in enumerate(keys)]
    scores = [fn.rand().alias("random"), *(_score(leaf).alias(f"h{i}") for i, leaf in enumerate(blooms))]
    wanted = min(MOST, max(SAMPLE, SAMPLE_PER_FILE * (files or 1))) * len(scores)
    least = fn.least("random", *(f"h{i}" for i in range(len(blooms)))) if blooms else fn.col("random")
    with own_jobs(df.sparkSession, "measure"):
        sample = to_arrow(counted.select(*columns, *scores).orderBy(least).limit(wanted))
    names = [f"h{i}" for i in range(len(blooms))]
    # Spark reports no observation for a plan that it knows to be empty.
    values = seen.get if sample.num_rows else defaultdict(int)
    arrays = [sample.column(name).to_numpy() for name in ("random", *names)]
    everything = values["rows"] <= wanted
    return MeasuredData(
        DataSize(values["rows"], values["bytes"] or 0),
        sample.select([f"k{i}" for i in range(len(keys))]),
        arrays[0],
        arrays[1:],
        1.0 if everything else float(np.minimum.reduce(arrays).max()),
        [values[f"d{i}"] for i in range(len(blooms))],
    )


def _score(leaf: Column) -> Column:
    """Return the hash of a value scaled to [0, 1); 1 for null, because bloom filters do not hold null."""
    from pyspark.sql import functions as fn

    high_bits = fn.shiftrightunsigned(fn.xxhash64(leaf), 11)
    return fn.when(leaf.isNotNull(), high_bits / fn.lit(float(1 << 53))).otherwise(fn.lit(1.0))


def _width(field: StructField) -> Column:
    from pyspark.sql import functions as fn

    column = column_of(field.name, nested=False)
    type_name = field.dataType.typeName()
    widths = _PLAIN_WIDTHS | _TIMES_AND_LONGS
    if type_name in widths:
        return fn.lit(widths[type_name])
    if type_name not in {"string", "char", "varchar", "binary"}:
        column = fn.to_json(fn.struct(column))
    return fn.coalesce(fn.octet_length(column), fn.lit(0))
