"""Filters of a query that are pushed into the Python data source, which Spark does since 4.1."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import prune_assets as pr
from parquet_core.access_plan import Verdict
from tests.fuzz.planner.truth import settings

spark_source = pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no Python data source")
if not hasattr(spark_source, "EqualTo"):
    pytest.skip("Spark 4.0 pushes no filters into a Python data source", allow_module_level=True)
source = pytest.importorskip("prune_assets.reading.source")


def of_ids(place):
    pq.write_table(pa.table({"id": range(1000)}), place / "part-0.parquet", row_group_size=100)
    return str(place)


PUSHED = [
    (spark_source.EqualTo(("id",), 150), "`id` = 150"),
    (
        spark_source.Not(spark_source.LessThanOrEqual(("a`b", "c"), dt.date(2024, 1, 2))),
        "NOT (`a``b`.`c` <= DATE '2024-01-02')",
    ),
    (spark_source.EqualNullSafe(("flag",), value=True), "`flag` <=> true"),
    (spark_source.IsNotNull(("id",)), "`id` IS NOT NULL"),
    (spark_source.In(("id",), (1, 2)), "`id` IN (1, 2)"),
    (spark_source.EqualTo(("text",), "it's"), None),
    (spark_source.In(("id",), (1, None)), None),
    (spark_source.GreaterThan(("at",), dt.datetime(2024, 1, 2)), None),  # noqa: DTZ001 - as Spark gives local times
    (spark_source.LessThan(("wide",), 0.5), None),
    (spark_source.StringContains(("text",), "a"), None),
]


@pytest.mark.parametrize(("pushed", "text"), PUSHED)
def test_a_pushed_filter_is_said_in_sql_or_left_to_spark(pushed, text):
    assert source.filter_sql(pushed) == text


def test_pushed_filters_skip_row_groups_and_all_stay_with_spark(tmp_path):
    options = spark_source.CaseInsensitiveDict(path=of_ids(tmp_path), pushFilters="true")
    of_ids_source = source.PruneDataSource(options)
    reader = of_ids_source.reader(of_ids_source.schema())
    assert isinstance(reader, source.PushingReader)
    filters = [spark_source.EqualTo(("id",), 150), spark_source.EqualTo(("id",), "it's")]
    assert reader.pushFilters(filters) == filters
    (task,) = reader.partitions()
    assert np.flatnonzero(task.part.access.verdict != Verdict.SKIP).tolist() == [1]


@pytest.mark.spark
def test_filters_of_the_query_are_pushed_where_spark_allows_it(spark, tmp_path):
    pr.register_source(spark)
    table = of_ids(tmp_path)
    reader = spark.read.format("prune").option("pushFilters", "true")
    with pytest.raises(PySparkException, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
        reader.load(table).where("id = 7").collect()
    with settings(spark, {"spark.sql.python.filterPushdown.enabled": "true"}):
        found = reader.load(table).where("id = 7 OR id IS NULL").collect()
    assert [row.id for row in found] == [7]
