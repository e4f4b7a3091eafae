"""One pass over the data before they are written: rows, bytes, and a sample of a bounded size.

Each row has a score for being drawn at random, and one a bloom column, the hash of its value; the rows with the
smallest score of all are the sample. So, `rate` being the largest score in it, it has every row with the same chance,
`rate`, and beside them *all* rows of that share of each column's values. The former tell where files begin and end, the
latter how many distinct values meet in a row group (Bar-Yossef et al., "Counting distinct elements in a data stream",
2002: the k minimum values).
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

# Rows drawn for the ranges of files, and as many for each bloom column.
SAMPLE = 10_000
# The ranges of many files need more: their sizes vary by a tenth then.
SAMPLE_PER_FILE = 100
MOST = 200_000
# Three standard deviations of approx_count_distinct; a finer sketch takes many times as long.
_DISTINCT_ERROR = 0.05
DISTINCT_MARGIN = 1 + 3 * _DISTINCT_ERROR

_PLAIN_WIDTHS = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "decimal": 8}
_TIMES_AND_LONGS = {"long": 8, "double": 8, "timestamp": 8, "timestamp_ntz": 8}


@dataclass(frozen=True, slots=True)
class MeasuredData:
    """What a pass over the data told.

    `keys`: of each row in the sample the columns of the key; `random`, `hashes` (by bloom column): its scores, of which
    those below `rate` are complete. `distinct`: about how many values each bloom column has in all.
    """

    size: DataSize
    keys: pa.Table
    random: NDArray[np.float64]
    hashes: list[NDArray[np.float64]]
    rate: float
    distinct: list[int]

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Tell the rows of the sample that were drawn with equal chances."""
        return self.random < self.rate


def measure(df: DataFrame, bound: WriteLayout, keys: tuple[SortKey, ...], *, files: int | None) -> MeasuredData:
    """Count rows and plain bytes and draw a sample, all in one job of one stage."""
    from pyspark.sql import functions as fn

    seen, blooms = observation(df), [column_of(name) for name in bound.bloom]
    distinct = [fn.approx_count_distinct(leaf, _DISTINCT_ERROR).alias(f"d{i}") for i, leaf in enumerate(blooms)]
    width = sum((_width(field) for field in df.schema.fields), fn.lit(0).cast("bigint"))
    # Bytes only where something follows from them: those of nested columns are dear.
    plain = width if files is None or blooms else fn.lit(0)
    counted = df.observe(seen, fn.count(fn.lit(1)).alias("rows"), fn.sum(plain).alias("bytes"), *distinct)
    columns = [sortable(df, key.column).alias(f"k{i}") for i, key in enumerate(keys)]
    scores = [fn.rand().alias("random"), *(_score(leaf).alias(f"h{i}") for i, leaf in enumerate(blooms))]
    wanted = min(MOST, max(SAMPLE, SAMPLE_PER_FILE * (files or 1))) * len(scores)
    least = fn.least("random", *(f"h{i}" for i in range(len(blooms)))) if blooms else fn.col("random")
    with own_jobs(df.sparkSession, "measure"):
        sample = to_arrow(counted.select(*columns, *scores).orderBy(least).limit(wanted))
    names = [f"h{i}" for i in range(len(blooms))]
    # Of rows that Spark knows to be none, it observes nothing.
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
    """Return the hash of a value as a number below 1, and 1 of null, which no bloom filter holds."""
    from pyspark.sql import functions as fn

    high_bits = fn.shiftrightunsigned(fn.xxhash64(leaf), 11)
    return fn.when(leaf.isNotNull(), high_bits / fn.lit(float(1 << 53))).otherwise(fn.lit(1.0))


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
