"""Write rows as a table the way one writer does it: each returns a function of rows, a directory and a session."""

from __future__ import annotations

import itertools

import duckdb
import fastparquet
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from needs_spark import VERSION

import prune_assets as pr


def laid_out(**layout):
    """By `pr.write`, sorted and indexed."""

    if VERSION < (4, 1):
        layout.pop("row_group_rows", None)

    def write(rows, directory, spark):
        pr.write(_frame(rows, directory, spark), directory, layout=pr.LayoutSpec(**layout))

    return write


def spark(*, files=1, by=(), order=None, rows_a_group=None, timestamps="TIMESTAMP_MICROS"):
    """By Spark's own writer; `by`: partition columns, `order`: sorted by this before it is cut into files."""

    def write(rows, directory, session):
        frame = _frame(rows, directory, session)
        frame = (
            frame.repartitionByRange(files, order).sortWithinPartitions(order) if order else frame.repartition(files)
        )
        options = {} if rows_a_group is None else {"parquet.block.row.count.limit": rows_a_group}
        session.conf.set("spark.sql.parquet.outputTimestampType", timestamps)
        try:
            frame.write.partitionBy(*by).options(**options).parquet(str(directory))
        finally:
            session.conf.unset("spark.sql.parquet.outputTimestampType")

    return write


def pyarrow(*, files=1, rows_a_group=500, **options):
    """By pyarrow, in the order of the rows."""

    def write(rows, directory, _):
        for path, part in _cut(rows, directory, files):
            pq.write_table(part, path, row_group_size=rows_a_group, **options)

    return write


def pyarrow_by(*by):
    """By pyarrow's dataset, a directory a value."""

    def write(rows, directory, _):
        pq.write_to_dataset(rows, directory, partition_cols=list(by))

    return write


def duck(*, files=4, by=(), order=None):
    """By DuckDB, which makes no row group of fewer than 2,048 rows, so into several files."""

    def write(rows, directory, _):
        with duckdb.connect() as connection:
            if by:
                connection.register("part", rows)
                connection.execute(f"COPY part TO '{directory}' (FORMAT parquet, PARTITION_BY ({', '.join(by)}))")
                return
            for path, part in _cut(rows if order is None else rows.sort_by(order), directory, files):
                connection.register("part", part)
                connection.execute(f"COPY part TO '{path}' (FORMAT parquet)")

    return write


def polars(*, files=1, rows_a_group=400):
    def write(rows, directory, _):
        for path, part in _cut(rows, directory, files):
            pl.from_arrow(part).write_parquet(path, row_group_size=rows_a_group, data_page_size=2_000)

    return write


def by_fastparquet(*, rows_a_group=500):
    def write(rows, directory, _):
        directory.mkdir(parents=True, exist_ok=True)
        frame = rows.to_pandas(date_as_object=False)
        fastparquet.write(str(directory / "part-0.parquet"), frame, row_group_offsets=rows_a_group, times="int64")

    return write


def drifting(*, without, narrow):
    """By pyarrow, as a table grows up: the first files lack a column, and have another in 32 bits."""

    def write(rows, directory, _):
        place = rows.schema.get_field_index(narrow)
        for number, (path, part) in enumerate(_cut(rows, directory, 6)):
            early = number < 3
            written = part.set_column(place, narrow, part[narrow].cast(pa.int32())) if early else part
            # Spark takes the schema of the first file by name, so the last one is named to be it.
            pq.write_table(
                written.drop_columns([without]) if early else written,
                path.with_name(f"part-{9 - number}.parquet"),
                row_group_size=200,
            )

    return write


def _cut(rows, directory, files):
    directory.mkdir(parents=True, exist_ok=True)
    edges = [rows.num_rows * number // files for number in range(files + 1)]
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        # Taken and not sliced: DuckDB refuses structs with an offset.
        yield directory / f"part-{number}.parquet", rows.take(list(range(start, stop)))


def _frame(rows, directory, session):
    """Write rows to a file next to the table and return it as a Spark frame."""
    source = directory.with_name(f"{directory.name}.source.parquet")
    if not source.exists():
        pq.write_table(rows, source)
    return session.read.parquet(str(source))
