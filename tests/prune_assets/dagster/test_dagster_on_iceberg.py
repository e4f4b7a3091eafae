"""Dagster on Iceberg tables: written through the session's catalog, read without Spark by the same name."""

from __future__ import annotations

import iceberg_rest
import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from tests.prune_assets.dagster import dagster_with_iceberg as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BY_DAY = {"partition_by": ["day"], "sort_by": ["id"], "files": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A Spark whose catalog `lake` has the same name in pyiceberg's configuration."""
    spark_packages.package_for(spark_packages.ICEBERG)
    place = tmp_path_factory.mktemp("rest")
    with iceberg_rest.rest_catalog(place) as address, pytest.MonkeyPatch.context() as patched:
        for variable, value in iceberg_rest.environment("lake", address).items():
            patched.setenv(variable, value)
        with spark_packages.iceberg_lake(place, rest=address) as run:
            run(_databases)
            yield run


def _databases(spark):
    spark.sql("CREATE NAMESPACE lake.web")


@pytest.mark.parametrize(
    ("name", "layout", "expr"),
    [
        ("by_day", BY_DAY, "day"),
        ("by_time", {"partition_by": ["days(ts)"], "sort_by": ["id"], "files": 1}, "ts"),
    ],
)
def test_a_run_replaces_its_day_in_one_snapshot(run, name, layout, expr):
    metadata, counted, rows, failure, snapshots = run(there.days_are_replaced, layout, expr, name)
    assert (metadata["dagster/partition_row_count"], metadata["prune/files"], counted) == (7, 1, 7)
    assert metadata["dagster/table_name"] == f"lake.web.{name}"
    assert "dagster/uri" not in metadata
    assert rows == {"01": 100, "02": 7}
    assert "return only rows of the partitions of the run" in failure
    assert snapshots == 3


def test_checks_find_the_table_by_the_same_name_without_spark(run):
    run(there.days_are_replaced, BY_DAY, "day", "checked")
    for table in ("lake.web.checked", "iceberg:lake.web.checked"):
        found = run(there.checked, table, BY_DAY)
        assert {name for name, (passed, _) in found.items() if not passed} == set(), found
        assert {"sorted_order", "files_are_healthy", "metadata_consistency", "skips_one"} <= set(found)
    found = run(there.checked, "lake.web.checked", {"sort_by": ["id DESC"]})
    assert {name for name, (passed, _) in found.items() if not passed}, found


def test_checks_run_by_day_and_a_sensor_finds_the_days_that_changed(run):
    run(there.days_are_replaced, BY_DAY, "day", "daily")
    found, asked = run(there.checked_by_day, "lake.web.daily", BY_DAY, "day")
    assert {name for name, (passed, _) in found.items() if not passed} == set(), found
    assert asked == [["2024-01-01", "2024-01-02"], "events: no new files", ["2024-01-01"]]


def test_a_snapshot_is_a_change(run):
    run(there.days_are_replaced, BY_DAY, "day", "changing")
    said, current = run(there.new_snapshots, "lake.web.changing")
    assert [count for count, _ in said] == [1, 0, 1]
    assert said[2][1] == [{"dagster/data_version": f"version {current}"}]


def test_drift_starts_the_job_that_mends_it(run):
    run(there.days_are_replaced, BY_DAY, "day", "drifting")
    run(there.appended, "lake.web.drifting", 3)
    asked, success, observed, after, (before_page, page) = run(there.maintained, "lake.web.drifting", BY_DAY)
    assert (asked, success) == (1, True)
    assert (before_page["problem"], page["problem"]) == ("", "")
    assert before_page["files to rewrite"] > 0 == page["files to rewrite"]
    assert observed["prune/files_rewritten"] == before_page["files to rewrite"]
    assert observed["dagster/table_name"] == "lake.web.drifting"
    assert "0 of " in after


def test_an_asset_of_a_query_is_checked_and_reported(run, tmp_path):
    written, described, checks, skipped, pages = run(there.whole_table, "lake.web.whole", str(tmp_path))
    assert written["dagster/row_count"] == 10_000
    assert described["dagster/storage_kind"] == "iceberg"
    assert described["dagster/table_name"] == written["dagster/table_name"] == "lake.web.whole"
    assert all(checks.values()), checks
    assert checks
    assert (skipped["prune/rows_equal"], skipped["prune/selected_rows"], pages) == (True, 100, 1)
    assert 0 < skipped["prune/scanned_rows"] <= 5_000


def test_a_component_names_its_table_as_the_catalog_does(run):
    found = run(there.component, "lake.web.component")
    assert {name for name, (passed, _) in found.items() if not passed} == set(), found
    assert {"sorted_order", "skips_few"} <= set(found)
