"""Our checks and sensors on tables that the IO manager of dagster-iceberg writes.

dagster-iceberg pins an older pyiceberg than the other tests use, so it is installed in an environment of its own.
"""
# No `from __future__ import annotations` here: Dagster looks at the annotations of assets themselves.

import datetime as dt

import dagster as dg
import pyarrow as pa
import pytest

pytest.importorskip("dagster_iceberg", reason="no dagster-iceberg; `pip install dagster-iceberg` where nothing else is")

from dagster_iceberg.config import IcebergCatalogConfig
from dagster_iceberg.io_manager.arrow import PyArrowIcebergIOManager

import prune_assets as pr
from prune_assets.dagster import LayoutTable
from tests.prune_assets.tables.iceberg import iceberg_tables

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-04")
TABLE = "tests.db.events"
LAYOUT = pr.LayoutSpec(sort_by=["id"], partition_by=["days(ts)"])
BY_DAY = LayoutTable("events", TABLE, layout=LAYOUT, partitions_def=DAYS, partition_expr="ts")
pytestmark = [
    # Of Dagster's own: partitions of checks, and the IO manager, are previews.
    pytest.mark.filterwarnings("ignore::dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]


@dg.asset(partitions_def=DAYS, metadata={"partition_expr": "ts"}, io_manager_key="io")
def events(context: dg.AssetExecutionContext) -> pa.Table:
    day = dt.datetime.fromisoformat(context.partition_key)
    ids = range(100) if context.partition_key != "2024-01-03" else [2, 1, 3]
    return pa.table({"id": list(ids), "ts": [day + dt.timedelta(minutes=i) for i in range(len(ids))]})


@pytest.fixture
def materialize(tmp_path, monkeypatch):
    """Materialize a day of the asset, and its checks after it."""
    iceberg_tables.catalog_in(tmp_path)
    iceberg_tables.configure(monkeypatch, "tests", tmp_path)
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    io = PyArrowIcebergIOManager(name="tests", config=IcebergCatalogConfig(properties=properties), namespace="db")

    def run(day, *checks):
        done = dg.materialize([events, *checks], resources={"io": io}, partition_key=day)
        assert done.success
        evaluations = done.get_asset_check_evaluations()
        records = [
            one for each in evaluations if "findings" in each.metadata for one in each.metadata["findings"].records
        ]
        return {str(one.data["code"]) for one in records if one.data["severity"] == "error"}

    return run


def test_checks_run_on_what_it_writes(materialize):
    checks = BY_DAY.checks(by_partition=True)
    # pyiceberg writes no page index, which a layout requires and which proves the order of rows.
    without_index = {"column_index.absent", "order.pages"}
    assert materialize("2024-01-01", checks) == without_index
    assert materialize("2024-01-02", checks) == without_index
    assert "order.rows" in materialize("2024-01-03", checks), "the rows of this day are in no order"
    assert materialize("2024-01-02", checks) == without_index, "only the files of the day are looked at"
    assert pr.count(TABLE) == 203
    assert pr.count(TABLE, where="ts >= TIMESTAMP_NTZ '2024-01-03 00:00:00'") == 3
    assert LayoutTable("events", TABLE).file_health_check()().check_name == "files_are_healthy"


def test_sensors_notice_what_it_writes(materialize):
    changes, days = LayoutTable("events", TABLE).sensor(), BY_DAY.partition_sensor()
    materialize("2024-01-01")
    materialize("2024-01-02")
    first, first_days = (each(dg.build_sensor_context()) for each in (changes, days))
    assert [one.tags["dagster/partition"] for one in first_days.run_requests] == ["2024-01-01", "2024-01-02"]
    materialize("2024-01-02")
    second, second_days = (
        each(dg.build_sensor_context(cursor=seen.cursor)) for each, seen in ((changes, first), (days, first_days))
    )
    assert (len(first.run_requests), len(second.run_requests)) == (1, 1)
    assert [one.tags["dagster/partition"] for one in second_days.run_requests] == ["2024-01-02"]
