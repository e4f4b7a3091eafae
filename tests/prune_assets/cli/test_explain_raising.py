"""A predicate on which Spark raises: the report says that Spark fails, and the exit code is 1."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main

# Conditions that Spark cannot evaluate for any row: it casts the constant while it optimizes the query.
RAISING = [
    "id = 'x'",
    "id > 5 AND id = 'x'",
    "id IN (1, 'x')",
    "id <> 'abc'",
    "id BETWEEN 1 AND 'x'",
    "1 / 0 = 1",
    "id < 5 AND id = 1 % 0",
    "2147483647 + 1 = id",
    "price > 'cheap'",
    "day = 'someday'",
    "day >= '2024-02-30'",
]
# Conditions that Spark may evaluate, or does.
OTHERS = [
    "id = '7'",
    "small = '4000000000'",
    "id = NULL / 0",
    "id = try_divide(1, 0)",
    "id = ' 7 '",
    "price = 'NaN'",
    "price < '1e3'",
    "price = 'Infinity'",
    "day = '2024-02-29'",
    "day = '2024-2-9'",
    "day = 'today'",
    "name = 'x'",
    "CAST(name AS INT) = 4",
    "TRY_CAST('x' AS BIGINT) = id",
    "CASE WHEN id > 1000 THEN id = 'x' ELSE true END",
    "id = 7 OR name = 'x'",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("raising") / "t"
    path.mkdir()
    rows = {
        "id": pa.array(range(100)),
        "small": pa.array(range(100), pa.int32()),
        "price": [n / 4 for n in range(100)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(n) for n in range(100)],
        "name": [f"n{n}" for n in range(100)],
    }
    pq.write_table(pa.table(rows), path / "a.parquet", row_group_size=20)
    return path


def explain(table, where, *options):
    return CliRunner().invoke(main, ["explain", str(table), "--where", where, "--engine", "spark-4.0", *options])


@pytest.mark.parametrize("where", RAISING)
def test_it_is_told_and_is_a_finding(table, where):
    done = explain(table, where)
    text = " ".join(done.stdout.split())
    assert done.exit_code == 1
    assert "Spark fails on " in text
    assert "Spark alone would read" not in text
    assert "with this plan too" in text
    as_json = explain(table, where, "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["engines"][0]["why"].startswith("fails on ")


@pytest.mark.parametrize("where", OTHERS)
def test_nothing_is_said_of_a_condition_that_spark_may_evaluate(table, where):
    done = explain(table, where)
    assert (done.exit_code, "fails on" in done.stdout) == (0, False)


@pytest.mark.parametrize("where", RAISING)
def test_without_ansi_the_constant_is_null(table, where):
    done = explain(table, where, "--no-ansi")
    assert (done.exit_code, "fails on" in done.stdout) == (0, False)


@pytest.mark.spark
@pytest.mark.parametrize("where", [*RAISING, *OTHERS])
def test_spark_agrees(spark, table, where):
    """Also if no row is left that it could evaluate the condition on."""
    from pyspark.errors import PySparkException

    frame = spark.read.parquet(str(table)).where(f"id < 0 AND ({where})")
    if where in RAISING:
        with pytest.raises(PySparkException):
            frame.collect()
    else:
        frame._jdf.queryExecution().optimizedPlan()  # folds constants
