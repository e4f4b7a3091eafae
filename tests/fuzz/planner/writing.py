"""Write a table with the writers that it names; each writer stores bounds in its own way."""

from __future__ import annotations

import shutil

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from .tables import arrow_rows


def write(table, directory, spark):
    """Write all files of a table, in the order of their names; `spark` may be None when it writes none."""
    directory.mkdir()
    for i, file in enumerate(table.files):
        rows = arrow_rows(table, file.start, file.stop, without=file.without, narrowed=file.narrowed)
        path = directory / file.directory / f"{i}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.writer == "spark":
            _by_spark(spark, rows, path, **file.options)
        else:
            _WRITERS[file.writer](rows, path, **file.options)


def _by_pyarrow(rows, path, *, bloom, dictionary, required, int96, row_group_size, **options):
    leaves = _leaves(rows.schema)
    if int96:
        options["use_deprecated_int96_timestamps"] = True
    elif any(pa.types.is_timestamp(kind) and kind.unit == "ns" for kind in leaves.values()):
        options["coerce_timestamps"] = "us"
        options["allow_truncated_timestamps"] = True
    if required:
        fields = [field.with_nullable(rows.column(field.name).null_count > 0) for field in rows.schema]
        rows = rows.cast(pa.schema(fields))
    pq.write_table(
        rows,
        path,
        row_group_size=row_group_size,
        write_batch_size=1,
        use_dictionary=[name for name in dictionary if name in leaves] or False,
        bloom_filter_options={name: {"ndv": 64} for name in bloom if name in leaves},
        **options,
    )


def _by_spark(spark, rows, path, *, timestamps, parquet):
    source = path.with_suffix(".source")
    pq.write_table(rows, source, coerce_timestamps=None, use_deprecated_int96_timestamps=_needs_int96(rows))
    key = "spark.sql.parquet.outputTimestampType"
    spark.conf.set(key, timestamps)
    try:
        written = path.with_suffix(".written")
        # Spark reads the rows from a Parquet file, not from Arrow, because its own reader leaves them unchanged.
        spark.read.parquet(str(source)).coalesce(1).write.options(**parquet).parquet(str(written))
    finally:
        spark.conf.unset(key)
    part = next(written.glob("*.parquet"))
    part.rename(path)
    shutil.rmtree(written)
    source.unlink()


def _by_duckdb(rows, path, *, parquet_version, bloom):
    with duckdb.connect() as connection:
        # Copied: DuckDB refuses structs with an offset.
        connection.register("rows", _without_nanoseconds(rows).take(list(range(rows.num_rows))))
        ratio = 0.01 if bloom else 0
        options = f"FORMAT parquet, PARQUET_VERSION {parquet_version}"
        options += f", BLOOM_FILTER_FALSE_POSITIVE_RATIO {ratio}" if bloom else ", WRITE_BLOOM_FILTER false"
        connection.execute(f"COPY rows TO '{path}' ({options})")


def _by_polars(rows, path, *, row_group_size, data_page_size, statistics):
    frame = pl.from_arrow(_without_nanoseconds(rows))
    frame.write_parquet(path, row_group_size=row_group_size, data_page_size=data_page_size, statistics=statistics)


def _without_nanoseconds(rows):
    """Spark reads nanoseconds as INT96 only, which not all writers make."""

    def coarser(kind):
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(coarser(field.type)) for field in kind])
        return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "ns" else kind

    schema = pa.schema([field.with_type(coarser(field.type)) for field in rows.schema])
    return rows if schema == rows.schema else rows.cast(schema, safe=False)


def _needs_int96(rows):
    return any(pa.types.is_timestamp(kind) and kind.unit == "ns" for kind in _leaves(rows.schema).values())


def _leaves(schema):
    found = {}

    def visit(prefix, field):
        name = f"{prefix}{field.name}"
        if pa.types.is_struct(field.type):
            for child in field.type:
                visit(f"{name}.", child)
        else:
            found[name] = field.type

    for field in schema:
        visit("", field)
    return found


_WRITERS = {"pyarrow": _by_pyarrow, "duckdb": _by_duckdb, "polars": _by_polars}
