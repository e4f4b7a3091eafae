from __future__ import annotations

import io
import json

import dagster as dg
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from examples.demo.assets import LINEITEM, demo_assets, demo_tables
from examples.demo.predicates import LOOKUPS, NARROW_RANGE
from examples.demo.settings import DemoSettings
from examples.demo.summary import REPORTS, failed_checks, print_summary, read_results, rows_differ
from prune_assets.dagster import LayoutTable
from prune_assets.dagster.resources import SparkSessionResource
from prune_assets.reading import reader

pytestmark = [pytest.mark.spark, pytest.mark.deep]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return DemoSettings(tmp_path_factory.mktemp("demo"), 0.01)


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path_factory.mktemp("dagster"))) as instance:
        yield instance


@pytest.fixture(scope="module")
def run(spark, settings, instance):
    """The whole demo at a hundredth of scale 1, in this process."""
    definitions = [*demo_assets(settings), *(table.checks() for table in demo_tables(settings).values())]
    return dg.materialize(definitions, instance=instance, resources={"spark": SparkSessionResource(master="local[2]")})


@pytest.fixture(scope="module")
def results(instance, run):
    return {result.name: result for result in read_results(instance, run.run_id)}


def test_the_run_succeeds_and_only_the_broken_tables_fail_their_checks(run):
    assert run.success
    failed = {
        (evaluation.asset_key.to_user_string(), evaluation.check_name)
        for evaluation in run.get_asset_check_evaluations()
        if not evaluation.passed
    }
    assert failed == {
        ("broken/lineitem_unsorted", "files_do_not_overlap"),
        ("broken/lineitem_unsorted", "sorted_order"),
        ("broken/long_strings", "column_index_present"),
    }


def test_the_lost_column_index_is_explained(instance, run):
    reasons = dict(failed_checks(instance, run.run_id))
    lost = reasons["broken/long_strings: column_index_present"]
    assert "o_story" in lost
    assert "more than MAX_STATS_SIZE = 4096" in lost
    assert "confirmed" in lost


def test_every_reading_has_the_same_rows_and_a_report(settings, results):
    assert set(results) == set(REPORTS)
    assert not rows_differ(list(results.values()))
    for name, result in results.items():
        assert result.report["schema"] == "skip-report/1"
        assert result.metadata["prune/selected_rows"] > 0
        (text,) = (settings.reports / name).glob("*.json")
        assert json.loads(text.read_text()) == result.report
        assert "<html" in text.with_suffix(".html").read_text()


def test_the_narrow_range_skips_most_bytes(results):
    report = results["narrow_range"].report
    assert report["kept"]["bytes"] <= 0.05 * report["total"]["bytes"]


def test_the_planned_rows_are_enough_for_the_rows_selected(results):
    for result in results.values():
        assert result.metadata["prune/selected_rows"] <= result.report["kept"]["rows"] <= result.report["total"]["rows"]


def test_the_layout_shows_against_the_table_as_spark_writes_it(results):
    for name, result in results.items():
        baseline, _, with_plan = result.readings
        assert baseline["rows"] == 60_175, f"{name}: nothing is sorted there"
        assert with_plan["rows"] < baseline["rows"] / 2
        assert with_plan["predicted bytes"] < baseline["predicted bytes"] / 2


def test_spark_scans_less_with_the_plan(results):
    for result in results.values():
        assert result.readings[2]["rows"] <= result.readings[1]["rows"]
    or_columns = results["or_columns"].readings
    assert or_columns[2]["rows"] < or_columns[1]["rows"]


def test_the_lookups_are_of_existing_keys_and_the_median_is_read(settings, results):
    metadata = results["point_lookup"].metadata
    rows = [record.data for record in metadata["lookups"]]
    assert len(rows) == LOOKUPS == metadata["lookups_planned"]
    existing = set(
        pq.read_table(settings.generated / "lineitem.parquet", columns=["l_orderkey"])["l_orderkey"].to_pylist()
    )
    assert {row["l_orderkey"] for row in rows} <= existing
    kept = sorted(row["kept bytes"] for row in rows)
    assert results["point_lookup"].report["kept"]["bytes"] == kept[LOOKUPS // 2]
    assert metadata["mean_kept_bytes"] == pytest.approx(sum(kept) / LOOKUPS)


@pytest.mark.usefixtures("run")
def test_the_tables_carry_their_layout(instance):
    event = instance.get_latest_materialization_event(dg.AssetKey(["tpch", "lineitem"]))
    metadata = event.asset_materialization.metadata
    columns = {column.name: column for column in metadata["dagster/column_schema"].schema.columns}
    assert columns["l_shipdate"].tags == {"sort_key": "1"}
    assert columns["l_orderkey"].tags == {"bloom_filter": "0.01"}
    assert metadata["dagster/row_count"].value == 60_175
    assert metadata["prune/row_groups"].value >= 64


def test_the_printed_table_is_what_the_reports_say(instance, run, results):
    console = Console(width=200, record=True, file=io.StringIO())
    print_summary(console, list(results.values()), failed_checks(instance, run.run_id))
    text = console.export_text()
    assert " | ".join(f"{reading['rows']:,}" for reading in results["q6"].readings) in text
    assert text.count("yes") == len(REPORTS)
    assert "broken on purpose): broken/long_strings: column_index_present" in text


@pytest.mark.usefixtures("run")
def test_a_reading_that_loses_a_row_fails_its_asset(settings, monkeypatch):
    read = reader.read

    def loses_a_row(table, **options):
        kept = read(table, **options)
        return kept.limit(kept.count() - 1)

    monkeypatch.setattr(reader, "read", loses_a_row)
    asset = LayoutTable(LINEITEM, settings.table("lineitem")).skip_report(
        "lossy", NARROW_RANGE, reports=settings.reports
    )
    with dg.DagsterInstance.ephemeral() as instance, pytest.raises(dg.Failure, match="without the plan"):
        dg.materialize([asset], instance=instance, resources={"spark": SparkSessionResource()})
