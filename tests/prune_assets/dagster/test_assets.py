from __future__ import annotations

from types import SimpleNamespace

import dagster as dg
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable, build_fleet_asset
from prune_assets.dagster.resources import session_for
from prune_assets.dagster.skip_report import _linked

LAYOUT = pr.LayoutSpec(sort_by=["id"], files=1)


def test_what_dagster_knows_of_assets_is_passed_on():
    policy = dg.RetryPolicy(max_retries=2)
    asset = LayoutTable("lake/ids", "t", layout=LAYOUT).asset_from(
        "SELECT 1 AS id", owners=["team:a"], retry_policy=policy, tags={"x": "1"}
    )
    spec = asset.get_asset_spec()
    assert (spec.key, list(spec.owners), spec.tags["x"]) == (dg.AssetKey(["lake", "ids"]), ["team:a"], "1")
    assert asset.op.retry_policy == policy


def test_partitions_are_refused_when_the_asset_is_defined():
    with pytest.raises(
        WrongUse, match="the table has partitions, and each run would write the whole table; use LayoutTable"
    ):
        LayoutTable(
            *("ids", "t"),
            layout=pr.LayoutSpec(partition_by=["day"]),
            partitions_def=dg.StaticPartitionsDefinition(["a"]),
            partition_expr="day",
        ).asset_from("SELECT 1")


def test_partitions_that_were_added_from_outside_fail_the_run():
    days = dg.StaticPartitionsDefinition(["a"])
    asset = LayoutTable("ids", "t").asset_from("SELECT 1 AS id")
    partitioned = asset.map_asset_specs(lambda spec: spec.replace_attributes(partitions_def=days))
    resources = {"spark": dg.ResourceDefinition.hardcoded_resource(7)}
    failed = dg.materialize([partitioned], resources=resources, partition_key="a", raise_on_error=False)
    (failure,) = failed.get_step_failure_events()
    assert "each run would write the whole table" in str(failure.step_failure_data.error)


def test_a_predicate_that_is_no_sql_is_refused_when_the_asset_is_defined():
    with pytest.raises(pr.PruneError, match="an operand is expected"):
        LayoutTable("ids", "t").skip_report("r", "day = = 1", reports="r")


def test_metadata_of_the_user_is_added_and_a_description_can_be_replaced():
    table = LayoutTable("ids", "t", predicates={"one": "id = 1"})
    report = table.skip_report("one", reports="r", metadata={"mine": 1})
    assert report.metadata_by_key[report.key]["mine"] == 1
    assert report.get_asset_spec().description == "The data that Spark skips for `id = 1`."
    assert table.skip_report("one", reports="r", description="Mine.").get_asset_spec().description == "Mine."
    with pytest.raises(WrongUse, match="ids: no predicate 'two'; give where, or predicates="):
        table.skip_report("two", reports="r")


@pytest.mark.parametrize(
    ("reports_url", "shown"),
    [
        ("http://127.0.0.1:8001/", dg.MetadataValue.url("http://127.0.0.1:8001/one%20day/7.html")),
        (None, dg.MetadataValue.path("/lake/reports/one day/7.html")),
    ],
)
def test_a_report_is_linked_where_its_folder_is_served(reports_url, shown):
    assert _linked("/lake/reports/one day/7.html", reports_url) == shown


def test_two_layouts_of_one_asset_have_checks_of_their_own(tmp_path):
    ids = dg.AssetSpec("ids")
    checks = [LayoutTable("ids", tmp_path, layout=LAYOUT).checks(prefix=prefix) for prefix in ("", "strict_")]
    defs = dg.Definitions(assets=[ids], asset_checks=checks)
    names = {key.name for key in defs.resolve_asset_graph().asset_check_keys}
    assert {"sorted_order", "strict_sorted_order"} < names
    results = list(checks[1](dg.build_asset_check_context()))
    assert {result.check_name for result in results} < names


@pytest.mark.spark
@pytest.mark.parametrize("own", [True, False])
def test_rows_of_a_query_a_path_and_a_delta_table_by_a_session_of_ones_own(own, tmp_path, spark):
    # A resource in the form of dagster-pyspark's, or the session itself.
    resource = SimpleNamespace(spark_session=spark) if own else spark
    resources = {"spark": dg.ResourceDefinition.hardcoded_resource(resource)}
    first = LayoutTable("first", tmp_path / "a", layout=LAYOUT).asset_from("SELECT id FROM range(9)")
    second = LayoutTable("second", tmp_path / "b", layout=LAYOUT, format="delta").asset_from(
        tmp_path / "a", deps=["first"]
    )
    report = LayoutTable("second", tmp_path / "b").skip_report(
        "r", "id < 3", reports=tmp_path / "r", reports_url="http://here"
    )
    run = dg.materialize([first, second, report], resources=resources)
    assert run.success
    assert pr.read(tmp_path / "b", where="true", session=spark).count() == 9
    metadata = run.asset_materializations_for_node("skip_reports__r")[0].metadata
    assert (metadata["prune/rows_equal"].value, metadata["prune/selected_rows"].value) == (True, 3)
    assert sum(isinstance(value.value, int | float) for value in metadata.values()) == 12, (
        "eleven plots and rows_equal; no times, as the few bytes are read with the plan and without it"
    )
    assert "| alone | 9 | " in metadata["prune/summary"].value
    readings = [record.data for record in metadata["prune/readings"].records]
    assert [list(reading) for reading in readings] == [["reading", "files", "rows", "predicted bytes"]] * 2
    assert metadata["prune/report_html"].value == f"http://here/r/{run.run_id}.html"
    # Each run keeps its report.
    assert dg.materialize([report], resources=resources).success
    assert len(list((tmp_path / "r" / "r").glob("*.html"))) == 2


@pytest.mark.spark
def test_a_resource_without_a_session_is_named(tmp_path):
    ids = LayoutTable("ids", tmp_path / "t", layout=LAYOUT).asset_from("SELECT 1 AS id")
    resources = {"spark": dg.ResourceDefinition.hardcoded_resource(7)}
    run = dg.materialize([ids], resources=resources, raise_on_error=False)
    (failure,) = run.get_step_failure_events()
    assert "the resource spark is int, which has no property `session`" in str(failure.step_failure_data.error)


@pytest.mark.parametrize(
    ("executor", "config", "nodes", "warned"),
    [
        ("multi_or_in_process_executor", {}, 13, True),
        ("multi_or_in_process_executor", {"execution": {"config": {"in_process": {}}}}, 13, False),
        ("multiprocess", {}, 1, False),
        ("in_process", {}, 13, False),
    ],
)
def test_a_run_whose_steps_each_start_a_java_says_so(executor, config, nodes, warned, monkeypatch):
    job = SimpleNamespace(executor_def=SimpleNamespace(name=executor), nodes=range(nodes))
    said = []
    context = SimpleNamespace(
        job_def=job,
        run=SimpleNamespace(run_config=config),
        log=SimpleNamespace(warning=said.append),
        resources=SimpleNamespace(spark=SimpleNamespace(session="it")),
    )
    monkeypatch.setattr("prune_assets.dagster.resources.live_sessions", lambda: 2)
    assert session_for(context) == "it"
    assert len(said) == warned
    monkeypatch.setattr("prune_assets.dagster.resources.live_sessions", lambda: 3)
    assert session_for(context) == "it"
    assert len(said) == 2 * warned + 1
    assert said[-1].startswith("you run 3 Spark sessions on this machine")
    assert "BackfillPolicy.single_run()" in said[-1]


@pytest.mark.spark
@pytest.mark.parametrize(("asked", "wrong"), [(LAYOUT, []), (pr.LayoutSpec(files=1), ["sorted_order"])])
def test_a_run_makes_the_checks_of_the_layout_itself(asked, wrong, tmp_path, spark):
    query = "SELECT 9 - id AS id FROM range(10)"
    asset = LayoutTable("ids", tmp_path / "t", layout=LAYOUT).asset_from(query, written_as=asked, check_layout=True)
    assert len(asset.check_keys) == 5
    done = dg.materialize([asset], resources={"spark": SimpleNamespace(session=spark)})
    found = done.get_asset_check_evaluations()
    assert (done.success, len(found)) == (True, 5)
    assert [evaluation.check_name for evaluation in found if not evaluation.passed] == wrong


def test_what_reports_on_a_table_claims_no_format_of_it():
    """The format is unknown when code loads: a report of a Delta table was labelled Parquet."""

    def kinds(asset):
        (spec,) = asset.specs
        return spec.kinds

    report = LayoutTable("events", "lake/events").skip_report("r", "id = 1", reports="r")
    fleet = build_fleet_asset([LayoutTable("events", "lake/events", layout={"sort_by": ["id"]})])
    advice = LayoutTable("events", "lake/events", workload=["id = 1"]).advice()
    assert (kinds(report), kinds(fleet), kinds(advice)) == ({"spark"}, set(), set())
