"""Random tables written by DuckDB and polars, whose statistics treat NaN, zeros and long bytes in ways of their own."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import polars as pl
import pyarrow.parquet as pq

from tests.prune_assets.planner.predicate_cases import BLOOMS


def write_by_duckdb(chance, table, directory):
    """Write many small files: DuckDB makes no row group of fewer than 2,048 rows."""
    directory.mkdir()
    with duckdb.connect() as connection:
        for i, part in enumerate(_cut(chance, table, chance.choice([3, 6]))):
            connection.register("part", part)
            connection.execute(f"COPY part TO '{directory}/part-{i}.parquet' (FORMAT parquet)")


def write_by_polars(chance, table, directory):
    directory.mkdir()
    for i, part in enumerate(_cut(chance, table, 2)):
        pl.from_arrow(part).write_parquet(
            directory / f"part-{i}.parquet",
            row_group_size=chance.choice([50, 100]),
            data_page_size=chance.choice([64, 256, None]),
        )


def _cut(chance, table, pieces):
    cuts = [0, *sorted(chance.sample(range(1, table.num_rows), pieces - 1)), table.num_rows]
    # Taken and not sliced: DuckDB refuses structs with an offset.
    return [table.take(list(range(start, stop))) for start, stop in pairwise(cuts)]


def write_by_spark(spark, chance, table, directory):
    source = directory.with_suffix(".source.parquet")
    pq.write_table(table, source)
    options = {
        "parquet.block.row.count.limit": chance.choice([50, 100, 400]),
        "parquet.page.row.count.limit": chance.choice([7, 20, 50]),
        "parquet.page.size.row.check.min": 1,
        "parquet.columnindex.truncate.length": chance.choice([1, 4, 64]),
        "parquet.writer.version": chance.choice(["v1", "v2"]),
    }
    for name in BLOOMS:
        if chance.random() < 0.6:
            options |= {
                f"parquet.bloom.filter.enabled#{name}": "true",
                f"parquet.bloom.filter.expected.ndv#{name}": 64,
                f"parquet.enable.dictionary#{name}": "false",
            }
    rows = spark.read.parquet(str(source))
    if chance.random() < 0.5:
        rows = rows.repartitionByRange(3, "day").sortWithinPartitions("day")
    rows.write.options(**options).parquet(str(directory))
