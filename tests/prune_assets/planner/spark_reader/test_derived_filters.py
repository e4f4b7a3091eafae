"""Conditions that Spark does not push down imply filters on plain columns, which are passed to Spark's reader."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Constant, IsNaN, IsNull, Not, Or, Unsupported
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.spark_reader.derived_filters import necessary
from prune_assets.reading.reader import filter_text
from prune_assets.spark.scan_metrics import scan_metrics
from prune_assets.sql.render import render
from tests.fuzz.planner.truth import settings
from tests.prune_assets.planner.predicate_cases import random_predicate, random_table, truth

NULL = IsNull(("x",))


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (Unsupported("f(x)", "not known"), "nothing is known"),
        (Or((NULL, Unsupported("f(x)", "not known"))), "either arm may hold"),
        (Not(Unsupported("f(x)", "not known")), "nothing is known of the opposite either"),
        (Not(IsNaN(("x",))), "of what the reader is not asked, nor of its opposite"),
        (Or((NULL, Constant(Outcomes.UNKNOWN))), "a row on which it raises"),
    ],
)
def test_nothing_follows(predicate, why):
    assert necessary(predicate) is None, why


@pytest.mark.parametrize("seed", range(20))
def test_what_follows_holds_where_the_predicate_does(seed):
    chance = random.Random(seed)
    rows = random_table(chance, rows=60).to_pylist()
    follows = 0
    for _ in range(60):
        predicate = random_predicate(chance)
        found = necessary(predicate)
        if found is not None:
            follows += 1
            assert all(truth(found, row) is True for row in rows if truth(predicate, row) is True), predicate
    assert follows > 5


@pytest.mark.spark
@pytest.mark.parametrize(
    ("where", "derived"),
    [
        ("x + 5 > 9900", ["x >= 9896"]),
        ("x > 9895", []),
        ("cast(x as double) / 2 >= 4950", ["x >= 9900"]),
        ("substr(s, 1, 3) = 'r99'", ["s LIKE 'r99%'"]),
        ("coalesce(x, 0) > 9895 and rand() >= 0", ["x > 9895"]),
        ("x - 1 in (5, 9998)", ["x IN (6, 9999)"]),
        ("abs(x) < 7", ["x <= 6"]),
        ("abs(x) in (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 9001)", ["x IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 9001)"]),
        ("x + 0 >= 0", []),
    ],
)
def test_spark_reads_less(spark, tmp_path, where, derived):
    ids = range(10_000)
    table = pa.table({"x": pa.array(ids, pa.int32()), "s": [f"r{i:04}" for i in ids]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500)
    made = plan(tmp_path, where=where, session=spark)
    assert [render(part) for part in made.derived_filters] == derived
    pruned = pr.read(tmp_path, where=where, session=spark, plan=made)
    whole = spark.read.parquet(str(tmp_path)).where(where)
    assert sorted(pruned.collect()) == sorted(whole.collect())
    (with_plan,), (alone,) = scan_metrics(pruned), scan_metrics(whole)
    assert with_plan.rows <= 1_000 or where == "x + 0 >= 0", "one row group or two"
    assert alone.rows == (with_plan.rows if not derived else 10_000)


DATES = [
    "year(d) = 1994 AND month(d) = 1",
    "trunc(d, 'MM') = DATE '1994-01-01'",
    "date_trunc('day', ts) = '1994-03-10'",
    "datediff(d, '1994-11-01') >= 20",
    "datediff('1994-02-01', d) > 10",
    "date_add(d, 30) < DATE '1994-03-01'",
    "last_day(d) = DATE '1994-02-28'",
    "to_date(ts) BETWEEN DATE '1994-06-01' AND DATE '1994-06-03'",
    "year(ts) = 1993",
    "year(ts) >= 2000",
    "unix_timestamp(ts) < 757400000",
    "NOT (year(d) <> 1994 OR month(d) <> 12)",
    "abs(x) IN (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25)",
    "x + 0 IN (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25)",
    "x * 2 = 10 OR year(d) = 1995",
    "cast(x AS string) = '77' OR x - 1 < 3",
    "n + 1 IS NULL",
    "coalesce(n, -1) = -1",
    "price * 2 > 1990.00",
    "cast(price AS int) = 12",
    "left(s, 2) = 'r%'",
    "s || '' = 'r%03'",
]


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("files", [1, 4])
def test_functions_of_columns_are_read_as_spark_reads_them(spark, tmp_path, files):
    """Many of these functions imply ranges at the ends of a type, where there are no rows and no literals."""
    rows = spark.range(2_000).selectExpr(
        "cast(id AS int) AS x",
        "date_add(DATE '1993-12-01', cast(id / 4 AS int)) AS d",
        "timestamp_micros(754704000000000 + id * 21600000000) AS ts",
        "if(id % 7 = 0, NULL, id) AS n",
        "cast(id AS decimal(12,2)) AS price",
        "concat('r%', lpad(id, 2, '0')) AS s",
    )
    rows.repartitionByRange(files, "x").sortWithinPartitions("x").write.option(
        "parquet.block.row.count.limit", 100
    ).parquet(str(tmp_path / "t"))
    whole = spark.read.parquet(str(tmp_path / "t"))
    smaller = 0
    for where in DATES:
        made = plan(tmp_path / "t", where=where, session=spark)
        found = pr.read(tmp_path / "t", where=where, session=spark, plan=made)
        assert found.schema == whole.schema
        assert sorted(map(repr, found.collect())) == sorted(map(repr, whole.where(where).collect())), where
        for part in made.derived_filters:
            again = plan(tmp_path / "t", where=filter_text(part), session=spark).lowered.predicate
            assert render(again) == render(part), "Spark is asked what was derived, and the text says it"
        smaller += bool(made.derived_filters)
    assert smaller > 5, "else nothing of this was tried"


CORNERS = [
    "ts + INTERVAL '0.0005' SECOND < TIMESTAMP '1970-01-01 00:00:00.002Z'",
    "ts - INTERVAL '0.0005' SECOND < TIMESTAMP '1970-01-01 00:00:00.001Z'",
    "unix_millis(ts) < 3",
    "f * 2 > 780",
    "f + 1 >= 398",
    "f * 2 = 'NaN'",
    "-f < -397",
    "z + 0 >= 0 AND z * 2 < 5",
    "z * 2 <= 0",
    "abs(z) IN (0.0, 399.0)",
    f"z * 1 IN ({', '.join(str(i / 2) for i in range(240))})",
]


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_nan_both_zeros_and_milliseconds_stay(spark, tmp_path, ansi):
    """Spark's reader loses such rows with its own filters, so the expected rows come from a read without filters."""
    numbers = range(400)
    rows = {
        "ts": pa.array(numbers, pa.timestamp("ms", tz="UTC")),
        "f": [float(i) if i % 7 else float("nan") for i in numbers],
        "z": [-0.0 if i < 100 else float(i) for i in numbers],
    }
    options = {"row_group_size": 20, "max_rows_per_page": 5, "write_batch_size": 1, "write_page_index": True}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet", **options)
    derived = 0
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        for where in CORNERS:
            with settings(spark, {"spark.sql.parquet.filterPushdown": "false"}):
                expected = sorted(map(repr, spark.read.parquet(str(tmp_path)).where(where).collect()))
            made = plan(tmp_path, where=where, session=spark)
            assert sorted(map(repr, pr.read(tmp_path, where=where, session=spark, plan=made).collect())) == expected, (
                where
            )
            derived += bool(made.derived_filters)
    assert derived > 4, "else nothing of this was tried"
