"""Columns whose stored bytes mean something else to Spark: CHAR, collated strings, intervals."""

from __future__ import annotations

import pytest
from test_soundness_against_spark import check, same_rows

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.planner.explain.plan import plan

pytestmark = pytest.mark.spark

ROWS = 400
OF_DAYS = [
    *("dt > INTERVAL '1' DAY", "dt = INTERVAL '100' HOUR", "dt IN (INTERVAL '1' DAY, INTERVAL '2' HOUR)", "-dt < dt"),
    *("dt BETWEEN INTERVAL '1' DAY AND INTERVAL '2' DAY", "dt <=> INTERVAL '1 2' DAY TO HOUR", "dt + dt > dt"),
    *("ym > INTERVAL '1' YEAR", "NOT (ym <= INTERVAL 1 YEAR 2 MONTHS)", "ym <=> NULL", "dt IS NULL", "ym IS NOT NULL"),
    *("st.dt = INTERVAL '1' DAY OR n < 5", "st.dt IS NULL AND n > 7", "coalesce(dt, INTERVAL '1' DAY) = dt"),
    *("timestamp_ntz'2024-01-01 00:00:00' + dt > timestamp_ntz'2024-01-02 00:00:00'", "extract(DAY FROM dt) = 3"),
    *("CASE WHEN dt > INTERVAL '1' DAY THEN n ELSE 0 END = 200", "isnull(dt) OR n = 3", "dt = dt", "abs(dt) = dt"),
]
OF_TEXTS = [
    *("c IS NULL", "c IS NOT NULL AND n = 7", "t IS NULL", "t = 'ABC'", "t = 'abc' AND n > 3", "c = 'ab' OR c IS NULL"),
    *("coalesce(t, 'abc') = 'ABC'", "NOT (t IS NULL OR n > 9)", "t IN ('aBc', 'x')", "c LIKE 'a%'"),
]


@pytest.fixture(scope="module")
def intervals(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("intervals") / "t")
    rows = spark.range(ROWS).selectExpr(
        "id AS n",
        "if(id < 100, NULL, make_dt_interval(0, id)) AS dt",
        "if(id >= 300, NULL, make_ym_interval(0, cast(id AS int))) AS ym",
        "if(id < 50, NULL, named_struct('dt', if(id < 200, NULL, make_dt_interval(id)), 'n', id)) AS st",
        "cast(id % 7 AS double) AS f",
    )
    rows.coalesce(1).sortWithinPartitions("n").write.option("parquet.block.row.count.limit", 50).parquet(path)
    return path


@pytest.fixture(scope="module")
def texts(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("texts") / "t")
    spark.sql(
        f"CREATE TABLE texts (n BIGINT, c CHAR(4), t STRING COLLATE UTF8_LCASE) USING parquet LOCATION '{path}/a'"
    )
    try:
        values = "id, if(id < 100, NULL, 'ab'), if(id >= 300, NULL, if(id % 2 = 0, 'abc', 'ABC'))"
        spark.sql(f"INSERT INTO texts SELECT /*+ COALESCE(1) */ {values} FROM range({ROWS})")
        # Spark stores the CHAR type in the file schema only if it writes from the column of a table.
        sorted_rows = spark.table("texts").coalesce(1).sortWithinPartitions("n")
        sorted_rows.write.option("parquet.block.row.count.limit", 50).parquet(f"{path}/named")
    finally:
        spark.sql("DROP TABLE texts")
    return f"{path}/named"


def test_intervals_keep_what_they_select(spark, intervals):
    assert check(spark, intervals, [*OF_DAYS, *(f"NOT ({where})" for where in OF_DAYS)]) > 0


def test_texts_compared_in_spark_s_own_way_keep_what_they_select(spark, texts):
    assert check(spark, texts, [*OF_TEXTS, *(f"NOT ({where})" for where in OF_TEXTS)]) > 0


def kept(spark, path, where):
    return plan(path, where=where, session=spark).report.kept.rows


def test_null_is_null_whatever_the_values_are(spark, intervals, texts):
    assert kept(spark, intervals, "dt IS NULL") == 100
    assert kept(spark, intervals, "ym IS NOT NULL") == 300
    assert kept(spark, intervals, "st.dt IS NULL") == 200
    assert kept(spark, texts, "c IS NULL") == 100
    assert kept(spark, texts, "t IS NOT NULL") == 300
    # An unsupported condition is NULL where its column is NULL.
    assert kept(spark, intervals, "dt > INTERVAL '1' DAY") == 300
    assert kept(spark, texts, "t = 'abc'") == 300
    found = plan(intervals, where="dt > INTERVAL '1' DAY", session=spark).lowered.predicate
    assert [leaf.reason for leaf in leaves(found) if isinstance(leaf, Unsupported)] == [
        "an INTERVAL is stored as a number, and is not supported"
    ]


def test_no_range_of_numbers_is_handed_over_for_an_interval(spark, intervals, tmp_path):
    """The derived filter has one range per column; Spark would refuse a numeric range for an interval column."""
    rows = spark.read.parquet(intervals).selectExpr("dt", "if(dt < INTERVAL '200' HOUR, 8D, n % 2 * 9D) AS f")
    rows.coalesce(1).write.option("parquet.block.row.count.limit", 50).parquet(str(tmp_path / "t"))
    # Only dictionaries show that the other row groups do not contain the value.
    assert kept(spark, tmp_path / "t", "f = 8D") == 100
    for where in ("f = 8D", "f + 1 = 9D", "dt IS NULL AND f = 9D"):
        assert same_rows(spark, tmp_path / "t", where)


def test_what_spark_padded_is_compared_as_it_is_stored(spark, tmp_path):
    """Files of a CHAR column do not record the type: read by path, strings are compared with trailing blanks."""
    spark.sql(f"CREATE TABLE padded (c CHAR(4), v VARCHAR(4)) USING parquet LOCATION '{tmp_path}/t'")
    try:
        spark.sql("INSERT INTO padded VALUES ('ab', 'ab'), ('zz', 'zz')")
        # Spark stores the CHAR type in the file schema only if it writes from the column of a table.
        spark.table("padded").write.parquet(str(tmp_path / "named"))
    finally:
        spark.sql("DROP TABLE padded")
    texts = [
        "c LIKE '%b'",
        "c LIKE '%b  '",
        "c = 'ab'",
        "c = 'ab  '",
        "c >= 'ab '",
        "startswith(c, 'q')",
        "v LIKE 'q%'",
    ]
    texts += ["c IN ('ab', 'x')", "c = v", "c < v", "c <=> v", "left(c, 4) = 'ab'", "v = 'ab'"]
    for name in ("t", "named"):
        assert check(spark, tmp_path / name, texts) > 0
        for where in texts[:5]:
            same_rows(spark, tmp_path / name, where)
