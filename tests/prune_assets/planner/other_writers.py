"""Random tables written by DuckDB and polars, whose statistics treat NaN, zeros and long bytes in ways of their own."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import polars as pl


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
