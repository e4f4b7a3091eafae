"""Dagster from a user's view: webserver and daemon run, Chromium shows the pages."""

from __future__ import annotations

import os
import re
import signal
from threading import Event, Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dagster_server import OVER, until
from e2e_definitions import ROWS

import prune_assets as pr

pytestmark = pytest.mark.e2e


def test_a_good_table_is_green(ui, good_run, page):
    run, status = good_run
    assert status == "SUCCESS"
    assert [ui.materialized(asset) for asset in ("good", "after_good", "skip_reports/first_ids")] == [run] * 3
    assert {check["status"] for check in ui.checks("good").values()} == {"SUCCEEDED"}
    page.goto(f"{ui.url}/assets/good")
    for shown in (f"{ROWS:,}", "sorted ascending (1)"):
        page.get_by_text(shown).first.wait_for()
    assert "5" in page.get_by_text("Latest check results").locator("..").inner_text()


def test_a_skip_report_shows_its_picture(ui, good_run, page):
    page.goto(f"{ui.url}/assets/skip_reports/first_ids")
    picture = page.locator('img[src^="data:image/svg+xml"]').first
    picture.wait_for()
    assert picture.evaluate("image => image.complete && image.naturalWidth") > 0
    page.get_by_text(re.compile("^Skipped .* of ")).first.wait_for()
    page.get_by_role("cell", name="with the plan").first.wait_for()


def test_a_skip_report_opens_by_its_link(ui, good_run, page, reports_url):
    page.goto(f"{ui.url}/assets/skip_reports/first_ids")
    link = page.locator(f'a[href^="{reports_url}/first_ids/"]').first
    link.wait_for()
    with page.context.expect_page() as opened:
        link.click()
    opened.value.get_by_text("id < 700").first.wait_for()
    assert opened.value.url == f"{reports_url}/first_ids/{good_run[0]}.html"


def test_numbers_become_plots(ui, good_run, page):
    page.goto(f"{ui.url}/assets/skip_reports/first_ids")
    page.get_by_text("Plots", exact=True).first.click()
    page.locator("canvas").first.wait_for()
    page.get_by_text("prune/skipped_bytes_share").first.wait_for()


def test_a_broken_table_is_red_and_says_why(ui, broken_run, page):
    run, status = broken_run
    assert status == "FAILURE"
    assert ui.materialized("broken") == run
    failed = {name: check for name, check in ui.checks("broken").items() if check["status"] == "FAILED"}
    assert set(failed) == {"files_do_not_overlap", "sorted_order"}
    page.goto(f"{ui.url}/assets/broken?view=checks&checkDetail=sorted_order")
    page.get_by_text("Failed").first.wait_for()
    page.get_by_text(failed["sorted_order"]["evaluation"]["description"]).first.wait_for()
    page.get_by_text("remedy").first.wait_for()


def test_what_comes_after_a_broken_table_is_blocked(ui, broken_run, page):
    assert ui.materialized("after_broken") is None
    page.goto(f"{ui.url}/runs/{broken_run[0]}")
    page.get_by_text("Errored (1)").first.wait_for()
    page.get_by_text("after_broken").first.wait_for()


def test_a_click_materializes(ui, page):
    page.goto(f"{ui.url}/assets/clicked")
    page.get_by_text("Materialize", exact=True).first.click()
    run = until(lambda: ui.materialized("clicked"), seconds=60, what="the run of a click")
    assert ui.wait(run) == "SUCCESS"
    page.get_by_text("seconds ago").first.wait_for()


def test_files_that_arrive_are_validated(ui, root, page):
    place = root / "arrivals"
    place.mkdir()
    ui.start_sensor("new_files")
    pq.write_table(pa.table({"id": range(100)}), place / "1.parquet")
    first = until(lambda: ui.runs(sensor_name="new_files"), seconds=60, what="a run by the sensor")[0]
    assert ui.wait(first["runId"]) == "SUCCESS"
    assert ui.checks("arrivals")["files_do_not_overlap"]["status"] == "SUCCEEDED"
    pq.write_table(pa.table({"id": range(50, 150)}), place / "2.parquet")
    second = until(lambda: ui.runs(sensor_name="new_files")[:-1], seconds=60, what="a second run")[0]
    assert ui.wait(second["runId"]) == "SUCCESS"
    assert ui.checks("arrivals")["files_do_not_overlap"]["status"] == "FAILED"
    page.goto(f"{ui.url}/assets/arrivals?view=checks&checkDetail=files_do_not_overlap")
    page.get_by_text("Failed").first.wait_for()


def test_snapshots_of_iceberg_are_validated(ui, root, page):
    catalog_module = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    lake = root / "lake"
    lake.mkdir()
    catalog = catalog_module.SqlCatalog("e2e", uri=f"sqlite:///{lake}/catalog.db", warehouse=lake.as_uri())
    catalog.create_namespace("db")
    first, second = (pa.table({"id": pa.array(range(start, start + 1_000), pa.int64())}) for start in (0, 500))
    table = catalog.create_table("db.snapshots", first.schema)
    table.append(first)
    ui.start_sensor("new_snapshots")
    sorted_run = until(lambda: ui.runs(sensor_name="new_snapshots"), seconds=60, what="a run by the sensor")[0]
    assert ui.wait(sorted_run["runId"]) == "SUCCESS"
    assert ui.checks("snapshots")["files_do_not_overlap"]["status"] == "SUCCEEDED"
    table.append(second)
    overlapping_run = until(lambda: ui.runs(sensor_name="new_snapshots")[:-1], seconds=60, what="a second run")[0]
    assert ui.wait(overlapping_run["runId"]) == "SUCCESS"
    assert ui.checks("snapshots")["files_do_not_overlap"]["status"] == "FAILED"
    page.goto(f"{ui.url}/assets/snapshots?view=checks&checkDetail=files_do_not_overlap")
    page.get_by_text("Failed").first.wait_for()


def test_a_schedule_ticks(ui, good_run, page):
    ui.start_schedule("validate_schedule")
    run = until(lambda: ui.runs(schedule_name="validate_schedule"), seconds=90, what="a run by the schedule")[0]
    ui.stop_schedule("validate_schedule")
    assert ui.wait(run["runId"]) == "SUCCESS"
    # It may have ticked once more meanwhile.
    runs = {run["runId"] for run in ui.runs(schedule_name="validate_schedule")}
    assert ui.checks("good")["sorted_order"]["runId"] in runs
    page.goto(f"{ui.url}/automation")
    page.get_by_text("validate_schedule").first.wait_for()


def rows_of(table):
    return pr.plan(table, where="true").report.total.rows


def test_a_run_that_is_killed_while_it_writes_does_no_harm(ui, root, page):
    table, before = root / "killed", 1_000
    table.mkdir()
    pq.write_table(pa.table({"id": range(before), "word": ["old"] * before}), table / "old.parquet")
    seen, over = [], Event()

    def read():
        while not over.wait(0.1):
            seen.append(rows_of(table))

    reader = Thread(target=read)
    reader.start()
    try:
        (root / "slow").touch()
        killed = ui.launch("killed")
        until(lambda: is_being_written(ui, killed, table), seconds=120, what="files in the making")
        os.kill(ui.pid_of(killed), signal.SIGKILL)
        assert ui.wait(killed) == "FAILURE"
        assert rows_of(table) == before
        (root / "slow").unlink()
        assert ui.wait(ui.launch("killed")) == "SUCCESS"
    finally:
        over.set()
        reader.join()
    assert set(seen) <= {before, ROWS}
    assert rows_of(table) == ROWS
    page.goto(f"{ui.url}/runs/{killed}")
    page.get_by_text("terminated by signal 9").first.wait_for()


def is_being_written(ui, run, table):
    """Return whether a Parquet file that is not yet part of the table has bytes; a finished run writes none."""
    assert (status := ui.status(run)) not in OVER, f"{run}: {status}; see {ui.log}"
    return any(file.stat().st_size for file in table.rglob("_temporary/**/*.parquet"))
