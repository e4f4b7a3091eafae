"""The profile of Spark 4.3 against parquet-java itself, row range by row range."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.spark_reader.predicted_scan import listed_files, predicted_scan
from prune_assets.planner.spark_reader.spark_filters import AllOf, AnyOf, Filter, Opaque, Rel, leaves_of
from prune_assets.spark.scan_metrics import scan_metrics
from tests.peers.parquet_java import filtered_record_count
from tests.prune_assets.planner.other_writers import write_by_duckdb, write_by_polars, write_by_spark
from tests.prune_assets.planner.predicate_cases import random_table, write_by_pyarrow
from tests.prune_assets.planner.sql_cases import predicate
from tests.spark_reader_names import ALONE, HANDED_OVER

pytestmark = pytest.mark.spark

PATTERNS = {
    "word LIKE 'p%'": (Rel.PREFIX, "p"),
    "word LIKE '\u00e9%'": (Rel.PREFIX, "\u00e9"),
    "code LIKE 'c0%'": (Rel.PREFIX, "c0"),
    "code NOT LIKE 'c0%'": (Rel.NOT_PREFIX, "c0"),
    "word NOT LIKE 'p%'": (Rel.NOT_PREFIX, "p"),
    "code LIKE '%1'": (Rel.SUFFIX, "1"),
    "code NOT LIKE '%1'": (Rel.NOT_SUFFIX, "1"),
    "code LIKE '%z%'": (Rel.CONTAINS, "z"),
    "code NOT LIKE '%c%'": (Rel.NOT_CONTAINS, "c"),
}


def predicted(tree, made):
    """Row ranges by file and row group, with every dictionary and bloom filter read."""
    everywhere, asked = np.arange(len(made.index)), {leaf.column for leaf in leaves_of(tree)}
    for column in (column for column in made.index.groups.columns if column.path in asked):
        made.index.dictionaries.read(column, everywhere)
        made.index.bloom_filters.read(column, everywhere)
    profile = predicted_scan(made, tree, files=listed_files(made, made.spark.filters)[0])
    found = {file.path: defaultdict(list) for file in made.index.groups.files}
    for group, start, stop in zip(profile.ranges.row_group, profile.ranges.start, profile.ranges.stop, strict=True):
        path = made.index.groups.files[made.index.groups.file[group]].path
        found[path][int(made.index.groups.ordinal[group])].append((int(start), int(stop)))
    return {path: dict(ranges) for path, ranges in found.items()}


def is_transparent(tree):
    if isinstance(tree, AllOf | AnyOf):
        return all(map(is_transparent, tree.children))
    return not isinstance(tree, Opaque)


def rows_in(by_file):
    return {
        (path, group, row)
        for path, ranges in by_file.items()
        for group, parts in ranges.items()
        for start, stop in parts
        for row in range(start, stop)
    }


def write(spark, chance, table, directory, seed):
    writers = (write_by_pyarrow, None, write_by_duckdb, write_by_polars)
    if writers[seed % 4] is None:
        write_by_spark(spark, chance, table, directory)
    else:
        writers[seed % 4](chance, table, directory)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_the_profile_names_the_rows_that_parquet_java_keeps(spark, tmp_path, seed):
    chance = random.Random(7000 + seed)
    write(spark, chance, random_table(chance), tmp_path / "t", seed)
    whole, exact, cut = spark.read.parquet(str(tmp_path / "t")), 0, 0
    for _ in range(30):
        where = predicate(chance)
        made = plan(tmp_path / "t", where=where, session=spark)
        found = predicted(made.spark.filters, made)
        df = whole.where(where)
        kept = {file.path: filtered_record_count(spark, file.path, df).ranges for file in made.index.groups.files}
        # Spark's optimizer may still use conditions that are unsupported here.
        assert rows_in(kept) <= rows_in(found), where
        if is_transparent(made.spark.filters):
            assert found == kept, where
            exact += 1
        cut += 0 < len(rows_in(kept)) < made.index.groups.row_count.sum()
    assert exact > 5
    assert cut > 0


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
def test_patterns_are_asked_as_sparks_own_predicates_are(spark, tmp_path, seed):
    chance = random.Random(50 + seed)
    write(spark, chance, random_table(chance), tmp_path / "t", seed)
    whole = spark.read.parquet(str(tmp_path / "t"))
    for where, (rel, pattern) in PATTERNS.items():
        made = plan(tmp_path / "t", where=where, session=spark)
        tree = Filter((where.split()[0],), rel, (pa.scalar(pattern),), strict=True)
        df = whole.where(where)
        kept = {file.path: filtered_record_count(spark, file.path, df).ranges for file in made.index.groups.files}
        assert predicted(tree, made) == kept, where


ROUNDED = [
    *(
        "wide IN (5, 7)",
        "wide IN (5)",
        "wide = 5",
        "wide < 123456789.5",
        "wide BETWEEN 1 AND 2",
        "NOT (wide IN (5, 7))",
    ),
    *("x = 0.0000000000000000000000000000000000001", "x <=> 1e-37BD", "x IN (5, 5e-35BD)"),
    *("money = 1.0000000000000000000000000000000000001", "money < 1e-37BD", "money IN (1e-37BD, 2)", "money > 1e35BD"),
]


def test_columns_that_spark_rounds_are_not_pushed_down(spark, tmp_path):
    """Filters are pushed down if only their literal has to be rounded, but not if the column is cast."""
    numbers = [Decimal(number) for number in range(10)]
    columns = {
        "wide": (numbers, pa.decimal128(38, 30)),
        "money": (numbers, pa.decimal128(9, 2)),
        "x": (range(10), pa.int32()),
    }
    table = pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    whole = spark.read.parquet(str(tmp_path / "t.parquet"))
    for where in ROUNDED:
        made = plan(tmp_path / "t.parquet", where=where, session=spark)
        found = filtered_record_count(spark, str(tmp_path / "t.parquet"), whole.where(where)).ranges
        assert predicted(made.spark.filters, made) == {made.index.groups.files[0].path: found}, where


def engines(report):
    return {engine.name: engine for engine in report.engines}


def test_the_three_readers_of_a_report_are_those_of_the_run(spark, tmp_path):
    rows = spark.range(10_000).selectExpr("id AS day", "id * 7919 % 10000 * 2 AS key")
    layout = pr.LayoutSpec(sort_by=["day"], bloom={"key": 0.001}, row_group_rows=500, page_rows=100, files=2)
    pr.write(rows, tmp_path / "t", layout=layout)
    where = f"day = 17 OR key = {7919 * 5_000 % 10_000 * 2}"
    made = plan(tmp_path / "t", where=where, session=spark)
    found = engines(made.report)
    alone, pruned = (
        spark.read.parquet(str(tmp_path / "t")).where(where),
        pr.read(tmp_path / "t", where=where, session=spark),
    )
    alone.collect()
    pruned.collect()
    assert scan_metrics(alone)[0].rows == found[ALONE].kept.rows > 9_000
    assert scan_metrics(pruned)[0].rows == found[HANDED_OVER].kept.rows < 700
    assert found["best possible"].kept == made.report.kept
    assert found["best possible"].kept.rows <= found[HANDED_OVER].kept.rows
    assert found["best possible"].kept.bytes <= found[HANDED_OVER].kept.bytes < found[ALONE].kept.bytes
    assert not any(engine.estimated for engine in made.report.engines)


def test_directories_that_spark_prunes_by_itself_are_no_gain_of_the_plan(spark, tmp_path):
    rows = spark.range(3_000).selectExpr("id", "id % 3 AS p", "cast(id % 2 AS string) AS q")
    rows.coalesce(1).write.partitionBy("p", "q").parquet(str(tmp_path / "t"))
    for where in (
        "p = 1 AND id < 100",
        "p IN (1, 2) OR q = '1'",
        "(p = 1 AND id < 9) OR (p = 2 AND id > 9)",
        "p <=> 0",
    ):
        made = plan(tmp_path / "t", where=where, session=spark)
        df = spark.read.parquet(str(tmp_path / "t")).where(where)
        df.collect()
        (scan,) = scan_metrics(df)
        kept = engines(made.report)[ALONE].kept
        assert (scan.rows, scan.files) == (kept.rows, kept.files), where


def test_what_was_not_read_makes_an_estimate_and_is_named(tmp_path):
    """The plan needs no dictionary: bounds exclude one arm of the OR, the bloom filter the other.

    Spark evaluates the OR as a whole.
    """
    numbers = np.arange(2_000)
    table = pa.table({"a": numbers, "b": [f"x{i % 5 * 2}" for i in numbers]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500, bloom_filter_options={"b": {"ndv": 64}})
    made = plan(tmp_path / "t.parquet", where="(a < 0 OR b = 'x7') AND a >= 0")
    assert made.report.kept.rows == 0
    assert engines(made.report)[ALONE].kept.rows == 2_000
    assert engines(made.report)[ALONE].estimated, "the dictionary of a would deny the one arm, that of b the other"
    made.report.to_json()
    by_bounds = plan(tmp_path / "t.parquet", where="b > 'x9'", depth="row_groups")
    assert engines(by_bounds.report)[ALONE].kept.rows == 0


CASTS = [
    "to_date(ts) = DATE '2020-02-01'",
    "to_date(ts) > DATE '2020-02-01'",
    "date(ts) <= '2020-02-01'",
    "cast(ts AS DATE) BETWEEN DATE '2020-02-01' AND DATE '2020-02-03'",
    "DATE '2020-02-01' = to_date(ts)",
    "NOT (to_date(ts) = DATE '2020-02-01')",
    "to_date(ts) = DATE '2020-02-01' OR l = 3",
    "to_date(ts) IN (DATE '2020-02-01', DATE '2020-02-05')",
    "to_date(d) = '2020-02-01'",
    "cast(d AS TIMESTAMP) >= TIMESTAMP '2020-03-01 00:00:00'",
    "d >= TIMESTAMP '2020-03-01 12:00:00'",
    "cast(i AS BIGINT) = 5",
    "cast(l AS INT) = 5",
    "l = 800",
    "l BETWEEN 1000 AND 1100 AND d < DATE '2021-01-01'",
    "l IN (5, 12000)",
]


@pytest.mark.deep
@pytest.mark.parametrize("narrower", [False, True])
def test_casts_that_spark_takes_off_the_column_are_foretold(spark, tmp_path, narrower):
    """Also where some files store the integers as shorter ones, as tables have whose column was widened."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        rows = spark.range(5_000).selectExpr(
            "timestamp_seconds(1577836800 + id * 3600) AS ts",
            "date_add(DATE '2020-01-01', cast(id / 24 AS int)) AS d",
            "cast(id AS int) AS i",
            "id AS l",
        )
        writer = rows.coalesce(1).write.option("parquet.block.row.count.limit", 200)
        writer.parquet(str(tmp_path / "t"))
        if narrower:
            shorter = rows.withColumn("l", rows.l.cast("int")).coalesce(1)
            shorter.write.option("parquet.block.row.count.limit", 200).mode("append").parquet(str(tmp_path / "t"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    if narrower and pq.read_schema(min((tmp_path / "t").glob("*.parquet"))).field("l").type != pa.int64():
        first = min((tmp_path / "t").glob("*.parquet"))
        first.rename(first.with_name(f"z{first.name}"))  # the first file by name decides on the type
    for where in CASTS:
        made = plan(tmp_path / "t", where=where, session=spark)
        foretold = {engine.name: engine.kept.rows for engine in made.report.engines}
        for name, frame in (
            (ALONE, spark.read.parquet(str(tmp_path / "t")).where(where)),
            (HANDED_OVER, pr.read(tmp_path / "t", where=where, session=spark, plan=made)),
        ):
            frame.collect()
            assert foretold[name] == sum(scan.rows for scan in scan_metrics(frame)), (name, where)
