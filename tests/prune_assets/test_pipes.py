"""A process that Dagster starts elsewhere, in which Dagster is not installed."""

from __future__ import annotations

import sys

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.layout.checks import CHECKS
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable
from prune_assets.pipes import report_layout

# Dagster's own, in the client of Pipes.
pytestmark = [
    pytest.mark.filterwarnings("ignore:AssetExecutionContext.run_id is deprecated"),
    pytest.mark.filterwarnings("ignore:Function `PipesMessageReader"),
]
JOB = """
import sys
from dagster_pipes import open_dagster_pipes
import prune_assets as pr
from prune_assets.pipes import report_layout, report_skip, report_write
from prune_assets.tables.writes.write_result import WriteResult

table = sys.argv[1]
with open_dagster_pipes() as pipes:
    report_write(pipes, WriteResult(table, ("a", "b"), 500, 99, 2, (), 7), asset_key="sales/ids")
    print(report_layout(pipes, table, pr.LayoutSpec(sort_by=["id"]), prefix="by_id", asset_key=["sales", "ids"]))
    assert pipes.get_extra("plans")
    report_skip(pipes, pr.plan(table, where="id < 10").report, asset_key="report")
assert "dagster" not in sys.modules
"""


def run(tmp_path):
    ids, report = dg.AssetKey(["sales", "ids"]), dg.AssetKey("report")
    (tmp_path / "job.py").write_text(JOB)

    @dg.multi_asset(
        specs=[dg.AssetSpec(ids), dg.AssetSpec(report, skippable=True)],
        check_specs=LayoutTable(ids, tmp_path / "t").check_specs(prefix="by_id"),
    )
    def job(context, pipes: dg.PipesSubprocessClient):
        command = [sys.executable, str(tmp_path / "job.py"), str(tmp_path / "t")]
        yield from pipes.run(command=command, context=context, extras={"plans": True}).get_results()

    return dg.materialize([job], resources={"pipes": dg.PipesSubprocessClient()})


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t").mkdir()
    for number, first in enumerate([0, 250]):
        rows = pa.table({"id": range(first, first + 250)})
        pq.write_table(rows, tmp_path / f"t/{number}.parquet", write_page_index=True)
    return tmp_path / "t"


def test_what_was_written_proven_and_skipped_is_told(tmp_path, table):
    done = run(tmp_path)
    assert [found.passed for found in done.get_asset_check_evaluations()] == [True] * len(CHECKS)
    written, planned = done.get_asset_materialization_events()
    said = written.materialization.metadata
    assert (said["dagster/row_count"].value, said["prune/files"].value) == (500, 2)
    assert written.materialization.tags["dagster/data_version"] == "7"
    said = planned.materialization.metadata
    assert (said["prune/kept_files"].value, said["prune/total_files"].value) == (1, 2)
    assert said["prune/summary"].value.startswith("**Skipped")


class Pipes:
    """A stand-in for the Dagster Pipes context that records reported checks."""

    def __init__(self):
        self.checks = {}

    def report_asset_check(self, name, *, passed, metadata, **_):
        self.checks[name] = (passed, metadata)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_layout_that_does_not_hold_fails_its_checks(table, is_there):
    (table / "0.parquet").unlink()
    if is_there:
        pq.write_table(pa.table({"id": [3, 1, 2]}), table / "0.parquet", write_page_index=True)
    else:
        (table / "1.parquet").unlink()
    pipes = Pipes()
    assert not report_layout(pipes, str(table), LayoutSpec(sort_by=["id"]))
    wrong = {name for name, (passed, _) in pipes.checks.items() if not passed}
    assert wrong == ({"sorted_order"} if is_there else {check.name for check in CHECKS})
    said = pipes.checks["sorted_order"][1]
    assert ("order.rows" in said["findings"]["raw_value"][-1]) if is_there else (str(table) in said["error"])


def test_rows_that_lie_along_no_curve_fail_the_check_of_their_order(tmp_path):
    rows = pa.table({"day": [i * 7919 % 2000 for i in range(2000)], "key": [i * 911 % 2000 for i in range(2000)]})
    pq.write_table(rows, tmp_path / "0.parquet", write_page_index=True, row_group_size=100)
    pipes = Pipes()
    assert not report_layout(pipes, str(tmp_path), LayoutSpec(zorder_by=["day", "key"]))
    assert {name for name, (passed, _) in pipes.checks.items() if not passed} == {"sorted_order"}
    assert "clustering.ineffective" in pipes.checks["sorted_order"][1]["findings"]["raw_value"][0]
