"""A predicate given as a Column plans and reads as its text does."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from column_kinds import clock_kinds, kinds
from needs_spark import needs_spark

import prune_assets as pr
from parquet_core.errors import WrongUse
from parquet_core.pruning.predicate import Unsupported, leaves

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """1,000 rows in row groups of 100, every column sorted."""
    path = tmp_path_factory.mktemp("columns") / "t.parquet"
    rows = range(1000)
    columns = {
        "x": pa.array(rows, pa.int32()),
        "i64": pa.array(rows, pa.int64()),
        "s": [f"it's {i:04}\\" for i in rows],
        "g": [i / 2 for i in rows],
        "d": pa.array([Decimal(i) / 100 for i in rows], pa.decimal128(10, 2)),
        "day": [dt.date(2000, 1, 1) + dt.timedelta(i) for i in rows],
        "flag": [i >= 500 for i in rows],
        "bin": [i.to_bytes(2, "big") for i in rows],
        "st": [{"a": i, "o.d": f"{i:04}"} for i in rows],
        "we.ird": pa.array(rows, pa.int32()),
        "holes": [None if i < 500 else i for i in rows],
    }
    pq.write_table(pa.table(columns), path, row_group_size=100)
    return str(path)


def rows_kept(plan):
    return plan.report.kept.rows


def test_a_column_keeps_what_its_text_keeps(spark, table):
    from pyspark.sql import functions as fn

    for column, most, text in kinds(fn):
        plan = pr.plan(table, where=column, session=spark)
        assert rows_kept(plan) == most == rows_kept(pr.plan(table, where=text, session=spark)), str(column)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ends", ["150 AND 160", "160 AND 150", "NULL AND 160", "150.5 AND 160", "x - 1 AND 160"])
@pytest.mark.parametrize("negation", ["", "NOT "])
def test_a_range_that_spark_writes_as_a_call_is_a_range(spark, table, ends, negation):
    """`x BETWEEN 150 AND 160` is `between(x, 150, 160)` in the text of a Column, since Spark 4.0."""
    from pyspark.sql import functions as fn

    where = fn.expr(f"x {negation}BETWEEN {ends}")
    plan = pr.plan(table, where=where, session=spark)
    assert not any(isinstance(leaf, Unsupported) for leaf in leaves(plan.lowered.predicate) if "x - 1" not in ends)
    wanted = spark.read.parquet(table).where(where).orderBy("x").collect()
    assert pr.read(table, where=where, session=spark, plan=plan).orderBy("x").collect() == wanted


@needs_spark(4, 0, "between() is a function")
def test_a_function_of_the_session_is_not_taken_for_a_range(spark, table):
    session = spark.newSession()
    session.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    where = "between(x, 150, 160)"
    assert rows_kept(pr.plan(table, where=where, session=session)) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.udf.register("between", lambda *_: True, "boolean")
    assert rows_kept(pr.plan(table, where=where, session=session)) == 1000


def test_a_udf_and_a_random_number_keep_data_and_their_siblings_prune(spark, table):
    from pyspark.sql import functions as fn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = fn.udf(lambda x: x % 2 == 1, "boolean")
    for unknown in (odd("x"), fn.rand() > 0.5, fn.exists(fn.array("x"), lambda v: v > 1)):
        plan = pr.plan(table, where=unknown & (fn.col("x") < 100), session=spark)
        assert rows_kept(plan) == 100
        assert any(isinstance(leaf, Unsupported) for leaf in leaves(plan.lowered.predicate))


def test_a_column_asks_the_clock_once_for_the_plan(spark, table):
    from pyspark.sql import functions as fn

    for column, text in clock_kinds(fn):
        plan = pr.plan(table, where=column, session=spark)
        assert rows_kept(plan) == 0 == rows_kept(pr.plan(table, where=text, session=spark)), text
        assert "now()" not in plan.lowered.frozen
        assert "current_" not in plan.lowered.frozen
        assert pr.read(table, where=column, session=spark, plan=plan).count() == 0


def test_what_spark_reads_is_the_day_of_the_plan(spark, table, monkeypatch):
    from pyspark.sql import functions as fn

    moment = dt.datetime(2000, 1, 20, 12, tzinfo=dt.UTC)
    monkeypatch.setattr("prune_assets.sql.binding.clock.now", lambda: int(moment.timestamp()) * 1_000_000)
    column = (fn.col("day") > fn.date_sub(fn.current_date(), 3)) & (fn.col("day") <= fn.current_date())
    for where in (column, "day > current_date() - 3 AND day <= current_date()"):
        plan = pr.plan(table, where=where, session=spark)
        assert rows_kept(plan) == 100
        for found in (
            pr.read(table, where=where, session=spark),
            pr.read(table, where=where, session=spark, plan=plan),
        ):
            assert sorted(row.x for row in found.collect()) == [17, 18, 19]


def test_beside_what_has_no_text_the_clock_is_spark_s_to_ask(spark, table):
    from pyspark.sql import functions as fn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = fn.udf(lambda x: x % 2 == 1, "boolean")
    where = odd("x") & (fn.col("day") < fn.current_date()) & (fn.col("x") < 100)
    plan = pr.plan(table, where=where, session=spark)
    assert plan.lowered.frozen is None
    assert rows_kept(plan) == 100
    assert pr.read(table, where=where, session=spark, plan=plan).count() == 50


def test_what_spark_tells_of_files_is_kept_and_its_siblings_prune(spark, table):
    from pyspark.sql import functions as fn

    where = (fn.col("_metadata.row_index") >= 7) & (fn.col("x") < 10)
    assert rows_kept(pr.plan(table, where=where, session=spark)) == 100
    assert sorted(row.x for row in pr.read(table, where=where, session=spark).collect()) == [7, 8, 9]


def test_a_udf_of_the_name_of_a_function_is_not_taken_for_it(spark, table):
    from pyspark.sql import functions as fn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def isnan(_):
            return True

        column = fn.udf(isnan, "boolean")("g")
    assert spark.read.parquet(table).where(column).count() == 1000
    assert rows_kept(pr.plan(table, where=column, session=spark)) == 1000


def test_a_read_by_a_column_gives_its_rows(spark, table):
    from pyspark.sql import functions as fn

    column = (fn.col("x") > 905) & (fn.col("s") != "it's 0950\\")
    plan = pr.plan(table, where=column, session=spark)
    for found in (pr.read(table, where=column, session=spark), pr.read(table, where=column, session=spark, plan=plan)):
        assert sorted(row.x for row in found.collect()) == [x for x in range(906, 1000) if x != 950]
    with pytest.raises(WrongUse, match="the plan is for"):
        pr.read(table, where=fn.col("x") > 1, session=spark, plan=plan)


@pytest.mark.parametrize("what", ["unknown", "number", "aggregate"])
def test_a_column_that_spark_refuses_is_wrong_use(spark, table, what):
    from pyspark.sql import functions as fn

    column = {"unknown": fn.col("nope") > 1, "number": fn.col("x") + 1, "aggregate": fn.max("x") > 1}[what]
    with pytest.raises(WrongUse, match="Spark refuses the Column"):
        pr.plan(table, where=column, session=spark)


def test_a_column_takes_a_session(spark, table):
    from pyspark.sql import functions as fn

    with pytest.raises(WrongUse, match="pass session=spark"):
        pr.plan(table, where=fn.col("x") > 1)
    with pytest.raises(WrongUse, match="where=5 is an int; give a str or a Column"):
        pr.plan(table, where=5)


@pytest.mark.deep
def test_a_column_of_spark_connect_keeps_what_its_text_keeps(spark, table):
    pytest.importorskip("grpc_status", reason="the client of Spark Connect is not installed")
    # A session of Connect and a classic one get in each other's way in one process.
    program = Path(__file__).with_name("connect_client.py")
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", program, table]
    run = subprocess.run(command, env=os.environ | paths, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout)
    for text, most, kept, by_text in found:
        # The server gives a decimal a type that no literal has, and a field by its name is not written.
        expected = 1_000 if text in {"d < 0.50", "st.`o.d` = '0999'"} else most
        assert (kept, by_text) == (expected, most), text
