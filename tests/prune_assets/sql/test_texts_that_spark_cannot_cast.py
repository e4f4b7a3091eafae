"""If Spark will fail to cast a string, the report states this before Spark runs."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main
from tests.prune_assets.sql.spark_rows import ansi

pytestmark = pytest.mark.spark

PREDICATES = [
    "user = '5x'",
    "user = 'x'",
    "user IN (1, '5x')",
    "user = '99999999999999999999'",
    "amount > 'a'",
    "country = 5",
    "country > 5",
    "country IN (5, 6)",
    "day = '2024-02-30'",
    "day = 'x'",
    "ts >= '2024-13-05'",
    "zoned >= '2024-01-01 25:00'",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("texts")
    rows = {
        "user": pa.array([1, 2], pa.int64()),
        "country": ["DE", "FR"],
        "amount": [0.5, 1.5],
        "day": [date(2024, 1, 1)] * 2,
        "ts": pa.array([datetime(2024, 1, 1)] * 2, pa.timestamp("us")),  # noqa: DTZ001 - a column without a zone
        "zoned": pa.array([datetime(2024, 1, 1)] * 2, pa.timestamp("us", "UTC")),  # noqa: DTZ001
    }
    pq.write_table(pa.table(rows), place / "0.parquet")
    return place


def explained(table, predicate):
    result = CliRunner().invoke(main, ["explain", str(table), "--where", predicate, "--time-zone", "UTC"])
    assert result.exit_code == ("Spark fails on" in result.output), result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_report_says_that_spark_raises_an_error(spark, table, predicate):
    from pyspark.errors import PySparkException

    with ansi(spark, on=True), pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        spark.read.parquet(str(table)).where(predicate).collect()
    assert "raises an error" in explained(table, predicate)


@pytest.mark.parametrize(
    "predicate", ["user = '1'", "amount > '1'", "country = '5'", "day = '2024-01-01'", "ts >= '2024-01-05'"]
)
def test_texts_that_spark_casts_are_no_error(spark, table, predicate):
    with ansi(spark, on=True):
        spark.read.parquet(str(table)).where(predicate).collect()
    assert "raises an error" not in explained(table, predicate)
