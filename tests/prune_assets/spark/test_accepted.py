"""Every WHERE clause that Spark accepts can be planned: it prunes, or keeps data with a reason."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import PruneError
from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.errors import PredicateTypeError
from prune_assets.planner.spark_reader.spark_filters import Filter, Rel
from prune_assets.spark.spark_versions import quiet
from prune_assets.sql.binding.non_scalar import NON_SCALAR
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from tests.peers.parquet_java import pushed_filters

pytestmark = pytest.mark.spark

CONDITIONS = Path(__file__).with_name("accepted.txt").read_text(encoding="utf-8").splitlines()
NOW = int(dt.datetime(2024, 2, 10, 15, 30, 1, tzinfo=dt.UTC).timestamp()) * 1_000_000
_SOURCES = {Rel.EQ: "EqualTo", Rel.GT: "GreaterThan", Rel.GE: "GreaterThanOrEqual", Rel.LT: "LessThan", Rel.IN: "In"}


def _part(first):
    rows = range(first, first + 20)
    midnight = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return pa.table(
        {
            "id": pa.array(rows, pa.int32()),
            "n": pa.array([10 * i for i in rows], pa.int64()),
            "x": [i / 4 for i in rows],
            "f": pa.array([i / 4 for i in rows], pa.float32()),
            "dec": pa.array([Decimal(i) / 100 for i in rows], pa.decimal128(10, 2)),
            "s": [f"name{i:03}" if i % 7 else None for i in rows],
            "t": ["a b c"] * 20,
            "d": [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in rows],
            "ts": pa.array([midnight + dt.timedelta(days=i) for i in rows], pa.timestamp("us", "UTC")),
            "tn": pa.array([midnight.replace(tzinfo=None) + dt.timedelta(days=i) for i in rows], pa.timestamp("us")),
            "flag": [i % 2 == 0 for i in rows],
            "bin": [b"ab"] * 20,
            "arr": pa.array([[i, i + 1] for i in rows], pa.list_(pa.int32())),
            "m": pa.array([[("k", i)] for i in rows], pa.map_(pa.string(), pa.int32())),
            "st": pa.array([{"a": i, "b": "q"} for i in rows], pa.struct({"a": pa.int32(), "b": pa.string()})),
            "sts": pa.array([[{"a": i}] for i in rows], pa.list_(pa.struct({"a": pa.int32()}))),
            "js": ['{"a": 1}'] * 20,
        }
    )


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    """60 rows in 3 files of 2 row groups each; a view `v` of 30 rows of it, and functions of the session's own."""
    directory = tmp_path_factory.mktemp("accepted") / "t"
    directory.mkdir()
    for first in (0, 20, 40):
        pq.write_table(_part(first), directory / f"part-{first:02}.parquet", row_group_size=10)
    frame = spark.read.parquet(str(directory))
    frame.where("id < 30").createOrReplaceTempView("v")
    frame.select("id").where("id < 3").createOrReplaceTempView("w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.udf.register("plus_one", lambda value: value + 1, "int")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION tempf(a INT) RETURNS INT RETURN a + 1")
    yield str(directory)
    for name in ("plus_one", "tempf"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")
    for view in ("v", "w"):
        spark.catalog.dropTempView(view)


def is_analyzed(frame, sql):
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            frame.where(sql)
    except (PySparkException, Py4JJavaError):
        return False
    return True


def errors_of(conditions, frame, table):
    """Return the conditions that Spark analyzes and the planner refuses, and the number that Spark analyzes."""
    columns = pr.plan(table, where="id = 1").table.columns
    analyzed = [sql for sql in conditions if is_analyzed(frame, sql)]
    found = []
    for sql in analyzed:
        for semantics in (SparkSemantics(time_zone="UTC"), SparkSemantics()):
            try:
                lower(sql, columns, semantics=semantics)
            except PruneError as error:
                found.append((sql, str(error)))
    return found, len(analyzed)


def test_what_spark_analyzes_is_planned(spark, table):
    errors, analyzed = errors_of(CONDITIONS, spark.read.parquet(table), table)
    assert analyzed > 600
    assert errors == []


def examples_of(infos):
    for info in infos:
        for example in re.findall(r"> SELECT (.*?);", info.getExamples(), re.DOTALL)[:2]:
            yield f"({example}) IS NOT NULL"
            yield f"id = 3 AND {example} IS NULL"


@pytest.fixture(scope="module")
def infos(spark):
    """Return Spark's descriptions of its functions."""
    catalyst = spark._jvm.org.apache.spark.sql.catalyst
    functions = catalyst.analysis.FunctionRegistry.builtin()
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect() if row[0].isidentifier()]
    found = [functions.lookupFunction(catalyst.FunctionIdentifier(name)) for name in names]
    return [info.get() for info in found if info.isDefined()]


@pytest.mark.deep
def test_every_function_of_spark_is_planned_as_in_its_examples(spark, table, infos):
    # An alias inside of a struct's constructor is not read.
    conditions = [sql for sql in examples_of(infos) if " AS S, S " not in sql]
    errors, analyzed = errors_of(conditions, spark.read.parquet(table), table)
    assert analyzed > 500
    assert errors == []


def test_what_has_no_value_for_a_row_is_what_spark_says(infos):
    kinds = {"agg_funcs": "an aggregate", "window_funcs": "a window function", "generator_funcs": "a generator of rows"}
    assert {info.getName(): kinds[info.getGroup()] for info in infos if info.getGroup() in kinds} == NON_SCALAR


READ = [
    "_metadata.file_name = 'part-20.parquet'",
    "_metadata.file_path LIKE '%part-20%' AND id < 25",
    "_metadata.row_index = 3 AND n > 100",
    "_metadata.row_index = 3 AND n < 0",
    "_metadata.file_size > 0 AND _metadata.file_modification_time > timestamp'2024-01-01' AND id > 55",
    "_metadata['file_name'] = 'part-00.parquet' OR id = 59",
    "plus_one(id) = 5 AND n < 100",
    "tempf(id) = 6 OR id = 50",
    "id = 5 AND rand() < 2",
    "id = 5 AND uuid() IS NOT NULL",
    "id > 40 AND monotonically_increasing_id() >= 0",
    "input_file_name() LIKE '%part-40%' AND id < 45",
    "id IN (SELECT id FROM v) AND n > 270",
    "id NOT IN (SELECT id FROM w) AND id < 8",
    "EXISTS (SELECT 1 FROM v WHERE id = 3) AND id = 3",
    "id > (SELECT max(id) FROM v) AND id < 35",
    "(SELECT max(d) FROM v) < d AND id < 33",
    "exists(arr, v -> v > 55) AND id >= 20",
    "m['k'] = 3 AND id < 20",
    "st.a = 30 AND sts[0].a = 30",
    "id >>> 1 = 2",
    "d < current_date() AND id = 7",
    "ts > now() - INTERVAL 1 DAY",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("sql", READ)
def test_a_read_gives_spark_s_rows(spark, table, sql):
    def rows(frame):
        return sorted(row.id for row in frame.select("id").collect())

    assert rows(pr.read(table, where=sql, session=spark)) == rows(spark.read.parquet(table).where(sql))


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("_metadata.row_index >= 3 AND id < 10", 10),
        ("plus_one(id) = 5 AND id < 10", 10),
        ("rand() < 2 AND id < 10", 10),
        ("id IN (SELECT id FROM v) AND id >= 50", 10),
        ("EXISTS (SELECT 1 FROM nowhere) AND id >= 50", 10),
        ("d > current_date() - 7", 0),
        ("d > dateadd(DAY, -7, current_date())", 0),
        ("extract(YEAR FROM d) = 2025", 0),
    ],
)
@pytest.mark.parametrize("with_session", [True, False])
def test_parts_are_kept_with_a_reason_and_their_siblings_prune(spark, table, sql, kept, with_session):
    source = {"session": spark} if with_session else {"semantics": SparkSemantics(time_zone="UTC")}
    plan = pr.plan(table, where=sql, **source)
    assert plan.report.kept.rows == kept
    refused = [leaf for leaf in leaves(plan.lowered.predicate) if isinstance(leaf, Unsupported)]
    assert [bool(leaf.reason) for leaf in refused] == [True] * (sql.count(" AND "))


def test_what_where_does_not_take_is_refused_in_one_line(spark, table):
    for sql in ("sum(id) > 3", "row_number() OVER (ORDER BY id) = 1", "explode(arr) = 1 AND id = 3"):
        assert not is_analyzed(spark.read.parquet(table), sql)
        for session in (spark, None):
            with pytest.raises(PredicateTypeError, match="which WHERE does not allow") as caught:
                pr.plan(table, where=sql, session=session)
            assert str(caught.value).isprintable()
        with pytest.raises(PredicateTypeError):
            pr.read(table, where=sql, session=spark)


CLOCKS = [
    "d > current_date() - 7",
    "d >= date_sub(current_date(), 7)",
    "d >= date_trunc('month', current_date())",
    "d >= add_months(trunc(current_date, 'MM'), -1)",
    "d = to_date(now())",
    "d IN (current_date(), date_sub(current_date(), 1))",
    "ts > current_date() - 3",
    "ts >= date_trunc('day', now())",
    "ts >= now() - INTERVAL 1 DAY",
    "tn < localtimestamp()",
    "n > unix_timestamp() - 3600",
    "id = year(current_date()) - 2000",
    "s >= cast(current_date() as string)",
]


@pytest.mark.parametrize("sql", CLOCKS)
def test_spark_is_foretold_to_push_constants_down(spark, table, sql, monkeypatch):
    monkeypatch.setattr("prune_assets.sql.binding.clock.now", lambda: NOW)
    plan = pr.plan(table, where=sql, session=spark)
    foretold = plan.spark.filters
    assert isinstance(foretold, Filter)
    frame = spark.read.parquet(table).where(plan.lowered.frozen)
    name = f"{_SOURCES[foretold.rel]}({foretold.column[0]},"
    (pushed,) = [str(it) for it in pushed_filters(frame) if not str(it).startswith("IsNotNull")]
    assert pushed.startswith(name)
    values = [str(value.as_py()) for value in foretold.values]
    assert all(value.removesuffix("+00:00").replace(" ", "T")[:10] in pushed for value in values)
