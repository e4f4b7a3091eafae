"""Ordinary predicates through `read_arrow`: the rows that Spark selects, or a refusal that names what is not read."""

from __future__ import annotations

import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from tests.fuzz.planner.truth import settings
from tests.peers.plain_rows import plain_rows
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
    assert all("pr.read" in refusal for refusal in refusals)
