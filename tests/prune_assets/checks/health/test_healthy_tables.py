"""Healthy tables from every installed writer: checks must report only informational findings."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import deltalake
import duckdb
import fastparquet
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import append_rows, mapped

import deltalog
import prune_assets as pr
from prune_assets.checks.health.health import check_files, check_log
from prune_assets.tables.delta import has_log

COUNT = 1_200
PART = COUNT // 3
START = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - a time without a zone
DAY = START.date()
# Rows of the types that tables have, some of them null; none that is null alone.
FLAT = pa.table(
    {
        "id": pa.array(range(COUNT), pa.int64()),
        "small": pa.array([i % 7 for i in range(COUNT)], pa.int32()),
        "at": pa.array([START + dt.timedelta(minutes=i) for i in range(COUNT)], pa.timestamp("us")),
        "on": pa.array([DAY + dt.timedelta(days=i % 365) for i in range(COUNT)], pa.date32()),
        "price": pa.array([None if i % 11 == 0 else i / 7 for i in range(COUNT)], pa.float64()),
        "flag": pa.array([i % 2 == 0 for i in range(COUNT)]),
        "name": pa.array([f"name {i % 97}" for i in range(COUNT)]),
        "kind": pa.array([("a", "b", "c")[i * 3 // COUNT] for i in range(COUNT)]),
    }
)
NESTED = (
    FLAT.append_column("amount", pa.array([Decimal(i) / 100 for i in range(COUNT)], pa.decimal128(12, 2)))
    .append_column("place", pa.array([{"x": i, "to": {"y": f"{i}"}} for i in range(COUNT)]))
    .append_column("tags", pa.array([[f"t{i % 5}"] * (i % 3) for i in range(COUNT)]))
    .append_column("parts", pa.array([[{"n": i}] for i in range(COUNT)]))
    .append_column("more", pa.array([[("k", i)] for i in range(COUNT)], pa.map_(pa.string(), pa.int64())))
)


def by_pyarrow(rows, table, **options):
    table.mkdir()
    for part in range(3):
        pq.write_table(rows.slice(part * PART, PART), table / f"{part}.parquet", row_group_size=160, **options)


def by_pandas(rows, table):
    table.mkdir()
    rows.to_pandas(date_as_object=False).to_parquet(table / "0.parquet")


def by_duckdb(rows, table, partitions=""):
    place = table if partitions else table / "0.parquet"
    place.parent.mkdir(exist_ok=True)
    with duckdb.connect() as connection:
        connection.register("part", rows)
        connection.execute(f"COPY part TO '{place}' (FORMAT parquet{partitions})")


def by_polars(rows, table, **options):
    table.mkdir()
    pl.from_arrow(rows).write_parquet(table if options else table / "0.parquet", **options)


def by_fastparquet(rows, table):
    table.mkdir()
    fastparquet.write(str(table / "0.parquet"), rows.to_pandas(date_as_object=False), times="int64")


def by_deltalog(rows, table, *, mapping=None, **options):
    schema, properties = rows.schema, None
    if mapping:
        schema, last = mapped(rows.schema)
        properties = {"delta.columnMapping.mode": mapping, "delta.columnMapping.maxColumnId": str(last)}
    deltalog.create_table(str(table), schema, properties=properties, **options)
    for part in range(3):
        append_rows(str(table), rows.slice(part * PART, PART))


def grown(rows, table):
    """Append rows to a table that had a column less before."""
    early = rows.drop_columns(["name", "place"])
    deltalake.write_deltalake(str(table), early)
    deltalake.write_deltalake(str(table), rows, mode="append", schema_mode="merge")


def grown_plain(rows, table):
    table.mkdir()
    pq.write_table(rows, table / "0.parquet")
    pq.write_table(rows.drop_columns(["name", "place"]), table / "1.parquet")


TABLES = {
    "plain pyarrow": (by_pyarrow, NESTED, {}),
    "plain pyarrow, page index": (by_pyarrow, NESTED, {"write_page_index": True}),
    "plain pyarrow, partitioned": (
        lambda rows, table, **_: pq.write_to_dataset(rows, table, partition_cols=["kind"]),
        NESTED,
        {},
    ),
    "plain pyarrow, a column came later": (grown_plain, NESTED, {}),
    "plain pandas": (by_pandas, FLAT, {}),
    "plain DuckDB": (by_duckdb, NESTED, {}),
    "plain DuckDB, partitioned": (by_duckdb, NESTED, {"partitions": ", PARTITION_BY (kind)"}),
    "plain polars": (by_polars, NESTED.drop_columns(["more"]), {}),
    "plain polars, partitioned": (by_polars, NESTED.drop_columns(["more"]), {"partition_by": ["kind"]}),
    "plain fastparquet": (by_fastparquet, FLAT, {}),
    "delta": (by_deltalog, NESTED, {}),
    "delta, partitioned": (by_deltalog, NESTED, {"partition_by": ["kind"]}),
    "delta, columns mapped by name": (by_deltalog, NESTED, {"mapping": "name"}),
    "delta, columns mapped by id": (by_deltalog, NESTED, {"mapping": "id"}),
    "delta, mapped and partitioned": (by_deltalog, NESTED, {"mapping": "name", "partition_by": ["kind"]}),
    "delta, a column came later": (grown, NESTED, {}),
    "delta-rs": (lambda rows, table: deltalake.write_deltalake(str(table), rows), NESTED, {}),
    "delta-rs, partitioned": (
        lambda rows, table: deltalake.write_deltalake(str(table), rows, partition_by=["kind"]),
        NESTED,
        {},
    ),
    "delta by polars": (
        lambda rows, table: pl.from_arrow(rows).write_delta(str(table)),
        NESTED.drop_columns(["more"]),
        {},
    ),
}
BY_SPARK = {
    "plain Spark": (lambda frame, table: frame.repartition(2).write.parquet(str(table)), "TIMESTAMP_MICROS"),
    "plain Spark, partitioned": (
        lambda frame, table: frame.write.partitionBy("kind").parquet(str(table)),
        "TIMESTAMP_MICROS",
    ),
    "plain": (lambda frame, table: pr.write(frame, table, layout=pr.LayoutSpec(sort_by=["id"])), "INT96"),
    "plain, partitioned": (
        lambda frame, table: pr.write(frame, table, layout=pr.LayoutSpec(sort_by=["id"], partition_by=["kind"])),
        "INT96",
    ),
    "delta": (
        lambda frame, table: pr.write(
            frame, table, layout=pr.LayoutSpec(sort_by=["id"], bloom={"name": 0.01}), format="delta"
        ),
        "INT96",
    ),
    "delta, partitioned": (
        lambda frame, table: pr.write(
            frame, table, layout=pr.LayoutSpec(sort_by=["at"], partition_by=["kind"]), format="delta"
        ),
        "INT96",
    ),
}


# True findings about a writer: fastparquet does not record how bounds of strings and booleans are ordered.
TRUE = {"plain fastparquet": {("statistics.untrusted", ("flag", "name", "kind"))}}


def said(table):
    """Return the findings of health and metadata checks in a table, except informational ones."""
    alone = [*check_files(table), *(check_log(table) if has_log(table) else [])]
    found = [*alone, *pr.check(table), *pr.audit(table).findings]
    return {(each.code, each.columns) for each in found if each.severity is not pr.Severity.INFO}


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_wrong_with_a_healthy_table(name, tmp_path):
    write, rows, options = TABLES[name]
    write(rows, tmp_path / "table", **options)
    assert said(tmp_path / "table") == TRUE.get(name, set())


@pytest.mark.spark
@pytest.mark.parametrize("name", BY_SPARK)
def test_nothing_is_wrong_with_a_healthy_table_by_spark(name, spark, tmp_path):
    pq.write_table(NESTED, tmp_path / "source.parquet")
    write, times = BY_SPARK[name]
    spark.conf.set("spark.sql.parquet.outputTimestampType", times)
    try:
        write(spark.read.parquet(str(tmp_path / "source.parquet")), tmp_path / "table")
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    assert said(tmp_path / "table") == set()
