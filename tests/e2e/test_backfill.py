"""The first backfill of a table by day, as a user launches it: six runs that all find no table."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from backfill_definitions import ASSETS, DAYS, PARTITIONS, ROWS
from dagster_server import DagsterServer

import deltalog

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def server(tmp_path_factory, pictures):
    root = tmp_path_factory.mktemp("backfill")
    server = DagsterServer(root, definitions=Path(__file__).with_name("backfill_definitions.py"))
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()
        shutil.copy(server.log, pictures / "backfill.log")


@pytest.mark.timeout(1300)  # six runs, each with a process of its own for its step and a Java
@pytest.mark.parametrize("asset", ASSETS)
def test_the_first_backfill_writes_every_day(server, asset):
    backfill = server.backfill(asset, PARTITIONS.get_partition_keys())
    assert server.wait_for_backfill(backfill, seconds=1200) == "COMPLETED_SUCCESS"
    assert [run["status"] for run in server.runs(backfill=backfill)] == ["SUCCESS"] * DAYS
    table = server.root / "lake" / asset
    snapshot = deltalog.open_snapshot(table)
    assert snapshot.schema.partition_columns == ("day",)
    found = {}
    for path, day in zip(snapshot.paths(), days_of(snapshot), strict=True):
        found.setdefault(day, []).extend(
            pq.read_table(table / path, columns=["id"], partitioning=None)["id"].to_pylist()
        )
    first = dt.date(2024, 1, 1)
    assert {day: sorted(ids) for day, ids in found.items()} == {
        (first + dt.timedelta(days=i)).isoformat(): list(range(ROWS)) for i in range(DAYS)
    }


def days_of(snapshot):
    """Return the day of each file."""
    return [
        block.partition["day"].values[int(code)].as_py()
        for block in snapshot.blocks
        for code in block.partition["day"].codes
    ]
