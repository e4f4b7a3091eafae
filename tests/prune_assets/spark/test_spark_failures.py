"""Spark failures in public functions raise one PruneError of one line, with Spark's error as its cause."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import MalformedFile
from prune_assets.errors import JavaFailure, SparkFailure

pytestmark = pytest.mark.spark
LAYOUT = {"sort_by": ["id"]}


def failing(spark):
    return spark.range(10).selectExpr("CAST(raise_error('boom') AS BIGINT) AS id")


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_a_write_of_rows_that_spark_cannot_compute(spark, tmp_path, format):  # noqa: A002 - as of `write`
    with pytest.raises(SparkFailure, match=r"^Spark failed: \[USER_RAISED_EXCEPTION\] boom[^\n]*$") as failed:
        pr.write(failing(spark), tmp_path / "t", layout=LAYOUT, format=format)
    assert type(failed.value.__cause__).__module__.startswith(("pyspark", "py4j"))
    assert isinstance(failed.value, JavaFailure)


def test_a_write_into_a_folder_with_a_csv(spark, tmp_path):
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(MalformedFile, match=r"a\.csv: is not a Parquet file but CSV, by its name; "):
        pr.write(spark.range(10), tmp_path, layout=LAYOUT)


def test_an_optimize_of_a_file_whose_pages_are_damaged(spark, tmp_path):
    """The footer is intact, so only Spark encounters the damage."""
    for name in ("a", "b"):
        pq.write_table(pa.table({"id": range(10_000)}), tmp_path / f"{name}.parquet", compression="zstd")
    damaged = tmp_path / "a.parquet"
    content = damaged.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    damaged.write_bytes(b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:])
    with pytest.raises(SparkFailure, match=r"^Spark failed: [^\n]*$"):
        pr.optimize(tmp_path, layout=LAYOUT, session=spark, full=True)


def test_a_read_whose_column_spark_cannot_resolve(spark, tmp_path):
    """A Column is built by the user, and Spark resolves it."""
    from pyspark.sql import functions as fn

    pq.write_table(pa.table({"id": range(10)}), tmp_path / "a.parquet")
    for call in (pr.read, pr.plan):
        with pytest.raises(pr.PruneError) as failed:
            call(tmp_path, where=fn.col("id").getItem("x") == 1, session=spark)
        assert "\n" not in str(failed.value)


def test_what_a_frame_fails_with_later_is_spark_s_own(spark, tmp_path):
    """Rows of a DataFrame are computed by the user's action, outside of prune-assets."""
    from pyspark.errors import PySparkException

    pq.write_table(pa.table({"id": range(10)}), tmp_path / "a.parquet")
    frame = pr.read(tmp_path, where="raise_error('boom') IS NULL", session=spark)
    with pytest.raises(PySparkException):
        frame.collect()


def test_sessions_and_frames_of_spark_are_accepted(spark, tmp_path):
    """For a missing table, the error is not about the session."""
    for call in (
        lambda: pr.read(tmp_path, where="x", session=spark),
        lambda: pr.count(tmp_path, where="x", session=spark),
        lambda: pr.optimize(tmp_path, layout=LAYOUT, session=spark),
        lambda: pr.plan(tmp_path, where="x", session=spark).report_after(spark.range(1)),
    ):
        with pytest.raises(pr.PruneError, match="no data file"):
            call()
