"""Ordinary predicates through `read_arrow`: the rows that Spark selects, or a refusal with the unsupported part."""

from __future__ import annotations

import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from tests.fuzz.planner.truth import settings
from tests.peers.plain_rows import plain, plain_rows
from workload.cases import SETTINGS, sample
from workload.tables import QUICK, Ground

TABLES = (
    "changes_drift",
    "events_by_day",
    "flights_by_month",
    "lineitem_sorted",
    "readings_by_device",
    "readings_int96",
    "taxi_duckdb",
)


@pytest.fixture(scope="module")
def ground(spark, tmp_path_factory):
    # Spark's own reader loses rows of columns with NaN when filters are pushed down.
    with settings(spark, {**QUICK, "spark.sql.parquet.filterPushdown": "false"}):
        yield Ground(tmp_path_factory.mktemp("arrow"), spark)


@pytest.mark.spark
@pytest.mark.sampled(4)
@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_of_spark(ground, table):
    answered, refusals = 0, []
    for case in sample(12, table=table):
        with settings(ground.spark, SETTINGS[case.setting]):
            try:
                found = pr.read_arrow(ground.path(table), where=case.where(), session=ground.spark)
            except UnsupportedFeature as refusal:
                refusals.append(str(refusal))
                continue
            wanted = ground.frame(table).where(case.where()).toArrow()
            answered += 1
            assert plain_rows(found.to_pylist()) == plain_rows(wanted.to_pylist()), case.id
    assert answered > 2
    assert all("let Spark " in refusal for refusal in refusals)


@pytest.mark.spark
@pytest.mark.sampled(9)
@pytest.mark.parametrize("table", TABLES)
def test_order_is_that_of_spark(ground, table):
    frame = ground.frame(table)
    flat = [field.name for field in frame.schema.fields if field.dataType.typeName() not in {"array", "map", "struct"}]
    compared = 0
    for name in flat:
        for order in (f"`{name}`", f"`{name}` DESC", f"`{name}` DESC NULLS FIRST"):
            try:
                found = pr.read_arrow(
                    ground.path(table), columns=[name], order_by=order, limit=25, session=ground.spark
                )
            except UnsupportedFeature:
                continue
            frame.select(f"`{name}`").createOrReplaceTempView("unordered")
            wanted = ground.spark.sql(f"SELECT * FROM unordered ORDER BY {order} LIMIT 25").toArrow()
            compared += 1
            assert [plain(value) for value in found.column(name).to_pylist()] == [
                plain(value) for value in wanted.column(0).to_pylist()
            ], order
        least, greatest = pr.min_max(ground.path(table), name, session=ground.spark)
        row = frame.selectExpr(f"min(`{name}`) AS low", f"max(`{name}`) AS high").toArrow().to_pylist()[0]
        assert (plain(least), plain(greatest)) == (plain(row["low"]), plain(row["high"])), name
    assert compared > 6
