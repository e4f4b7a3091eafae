"""Airflow from a user's view: scheduler, DAG processor, triggerer and API server run, Chromium shows the pages."""

from __future__ import annotations

import os
import shutil
import signal
from importlib.util import find_spec
from threading import Event, Thread
from urllib.parse import quote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dagster_server import until

import prune_assets as pr
from prune_assets.tables.changes import table_fingerprint

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(find_spec("airflow") is None, reason="no Airflow; `make e2e` installs it"),
]
ROWS = 20_000


@pytest.fixture(scope="module")
def airflow(tmp_path_factory, pictures):
    """Airflow with the DAGs of the example and the DAGs of this folder."""
    from airflow_server import AirflowServer

    root = tmp_path_factory.mktemp("airflow")
    (root / "broken").mkdir()
    pq.write_table(pa.table({"id": list(range(1000, 0, -1))}), root / "broken" / "part-0.parquet")
    server = AirflowServer(root)
    try:
        server.wait_until_up("tpch", "upkeep", "broken", "waits", "killed")
        yield server
    finally:
        server.stop()
        shutil.copy(server.log, pictures)


@pytest.fixture(scope="module")
def example_run(airflow):
    run = airflow.start("tpch")
    return run, airflow.wait("tpch", run)


@pytest.fixture(scope="module")
def broken_run(airflow):
    run = airflow.start("broken")
    return run, airflow.wait("broken", run)


def errors_of(lines):
    return [line for line in lines if line.get("level") == "error"]


def error_of(line):
    """Return the one line of the exception that Airflow logs with its traceback."""
    (raised,) = line["error_detail"]
    assert "\n" not in raised["exc_value"]
    return raised["exc_value"]


def test_the_example_is_green(airflow, example_run):
    run, state = example_run
    assert (state, set(airflow.tasks("tpch", run).values())) == ("success", {"success"})
    assert airflow.xcom("tpch", run, "write")["version"] == 0
    assert airflow.xcom("tpch", run, "check") == {"table": f"{airflow.lake}/lineitem", "errors": 0, "warnings": 0}
    figures = airflow.xcom("tpch", run, "report")["predicates"]
    planned = pr.plan(airflow.lake / "lineitem", where=figures["three_days"]["predicate"]).report
    assert figures["three_days"]["kept_rows"] == planned.kept.rows
    assert {finding["result"] for finding in airflow.xcom("tpch", run, "check", "findings")} == {"pass"}


def test_a_task_links_its_report(airflow, example_run, page):
    run, _ = example_run
    page.goto(f"{airflow.url}/dags/tpch/runs/{quote(run)}/tasks/report/details")
    link = page.get_by_role("link", name="Skip report")
    link.wait_for()
    # The report opens in a second page, so that the picture shows the task and its link.
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    opened.value.get_by_role("link", name="three_days").click()
    opened.value.get_by_text("l_shipdate").first.wait_for()
    assert opened.value.url.startswith(f"{airflow.reports_url}/tpch/")


def test_a_new_version_starts_the_dag_that_is_scheduled_on_the_asset(airflow, example_run):
    table = airflow.lake / "lineitem"
    (first,) = until(lambda: airflow.runs("upkeep"), seconds=60, what="a run for the version of the example")
    assert airflow.wait("upkeep", first["dag_run_id"]) == "success"
    assert airflow.xcom("upkeep", first["dag_run_id"], "optimize")["picked_files"] == 0
    before = {first["dag_run_id"]}
    rows = deltalake.DeltaTable(table).to_pyarrow_table().slice(0, 100)
    deltalake.write_deltalake(table, rows, mode="append")
    version = deltalake.DeltaTable(table).version()

    def event():
        found = airflow.ask("/api/v2/assets/events?limit=100")["asset_events"]
        return next((one for one in found if one["extra"]["payload"]["version"] == version), None)

    told = until(event, seconds=60, what="the event of the new version")
    assert told["extra"]["payload"]["table"] == str(table)
    assert told["extra"]["payload"]["fingerprint"] == f"version {version}"
    run = until(
        lambda: next((run for run in airflow.runs("upkeep") if run["dag_run_id"] not in before), None),
        seconds=60,
        what="a run for the new version",
    )
    assert run["run_type"] == "asset_triggered"
    assert airflow.wait("upkeep", run["dag_run_id"]) == "success"
    done = airflow.xcom("upkeep", run["dag_run_id"], "optimize")
    assert (done["picked_files"], done["version"], done["depth_after"]) == (2, version + 1, 1.0)


def test_the_asset_graph_shows_what_the_watcher_starts(airflow, example_run, page):
    until(lambda: airflow.runs("upkeep"), seconds=60, what="a run for the version of the example")
    asset = next(found for found in airflow.ask("/api/v2/assets")["assets"] if found["name"] == "lineitem")
    page.goto(f"{airflow.url}/assets/{asset['id']}")
    page.locator(".react-flow__node", has_text="lineitem").wait_for()
    page.locator(".react-flow__node", has_text="upkeep").wait_for()
    # Beside the graph: the DAG that it schedules, and the events.
    page.get_by_role("link", name="upkeep").first.wait_for()
    page.locator(".chakra-skeleton").first.wait_for(state="detached")


def test_a_broken_layout_is_red_and_its_log_says_why(airflow, broken_run, page):
    run, state = broken_run
    assert state == "failed"
    assert airflow.task("broken", run, "check")["try_number"] == 1, "what the user must mend is not tried again"
    lines = airflow.log_of("broken", run, "check")
    findings = pr.check(airflow.root / "broken", layout=pr.LayoutSpec(sort_by=["id"]))
    *found, last = errors_of(lines)
    wrong = [finding for finding in findings if finding.severity == "error"]
    assert sorted(line["event"].partition(":")[0] for line in found) == sorted(finding.code for finding in wrong)
    assert f"{len(wrong)} errors" in error_of(last)
    results = airflow.xcom("broken", run, "check", "findings")
    assert [one["rule"] for one in results if one["result"] == "fail"] == [finding.code for finding in wrong]
    page.goto(f"{airflow.url}/dags/broken/runs/{quote(run)}/tasks/check")
    page.get_by_text("order.rows").first.wait_for()


@pytest.mark.parametrize(
    ("task", "said"), [("wrong_predicate", "predicate first: unknown column idd"), ("no_table", "nowhere")]
)
def test_what_is_wrong_is_one_line(airflow, broken_run, task, said):
    run, _ = broken_run
    assert airflow.tasks("broken", run)[task] == "failed"
    lines = airflow.log_of("broken", run, task)
    (line,) = errors_of(lines)
    assert said in error_of(line)


def test_or_it_warns(airflow, broken_run):
    run, _ = broken_run
    assert airflow.tasks("broken", run)["warned"] == "success"
    warned = [line["event"] for line in airflow.log_of("broken", run, "warned") if line.get("level") == "warning"]
    assert any(line.startswith("order.rows: ") for line in warned)


def test_a_sensor_defers_and_fires(airflow):
    table = airflow.root / "arrivals"
    deltalake.write_deltalake(table, pa.table({"id": [1]}))
    run = airflow.start("waits")
    until(lambda: airflow.tasks("waits", run)["wait"] == "deferred", seconds=60, what="a sensor that holds no worker")
    deltalake.write_deltalake(table, pa.table({"id": [2]}), mode="append")
    assert airflow.wait("waits", run) == "success"
    assert airflow.xcom("waits", run, "wait") == {
        "table": str(table),
        "version": 1,
        "fingerprint": table_fingerprint(table),
        "changes": 2,
        "partitions": None,
        "where": "true",
    }


def test_a_worker_that_is_killed_while_it_writes_does_no_harm(airflow):
    table, slow, before = airflow.root / "killed", airflow.root / "slow", 1_000
    table.mkdir()
    pq.write_table(pa.table({"id": range(before), "word": ["old"] * before}), table / "old.parquet")
    seen, over = [], Event()

    def read():
        while not over.wait(0.1):
            seen.append(rows_of(table))

    reader = Thread(target=read)
    reader.start()
    try:
        slow.touch()
        run = airflow.start("killed")
        until(lambda: is_being_written(table), seconds=120, what="files in the making")
        slow.unlink()
        os.killpg(int(airflow.task("killed", run, "write")["pid"]), signal.SIGKILL)
        assert airflow.wait("killed", run) == "success"
    finally:
        over.set()
        reader.join()
    assert airflow.task("killed", run, "write")["try_number"] == 2
    assert set(seen) <= {before, ROWS}
    assert rows_of(table) == ROWS
    layout = pr.LayoutSpec(sort_by=["id"])
    assert not [finding for finding in pr.check(table, layout=layout) if finding.severity == "error"]


def rows_of(table):
    return pr.plan(table, where="true").report.total.rows


def is_being_written(table):
    """Return whether a Parquet file that is not yet part of the table has bytes."""
    return any(file.stat().st_size for file in table.rglob("_temporary/**/*.parquet"))
