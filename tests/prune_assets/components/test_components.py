from __future__ import annotations

import random

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets.components
from prune_assets.components.scaffolding import EXAMPLES

# Dagster's own, where it loads any component.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore:.* is currently in beta"),
]
IDS = {"sort_by": ["id"], "bloom": {"id": 0.01}}
SPARK = dg.Definitions(resources={"spark": 1})


def load(name, attributes, *, beside=None, others=SPARK):
    """Load the definitions of a component from YAML; `beside`: text of a layout.yaml in the same directory."""
    component = getattr(prune_assets.components, name)
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": f"prune_assets.components.{name}", "attributes": attributes}
        place = sandbox.scaffold_component(component_cls=component, defs_yaml_contents=contents)
        if beside is not None:
            (place / "layout.yaml").write_text(beside)
        with sandbox.load_component_and_build_defs(defs_path=place) as (_, defs):
            return dg.Definitions.merge(defs, others) if name != "SparkSessionComponent" else defs


def names_of_checks(defs):
    return {key.name for key in defs.resolve_asset_graph().asset_check_keys}


def write(place, rows, **options):
    place.mkdir(parents=True)
    pq.write_table(pa.table({"id": rows}), place / "0.parquet", write_page_index=True, **options)
    return str(place)


def said(error):
    """Return the messages of an error and its causes."""
    return "" if error is None else f"{error}\n{said(error.__cause__)}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_scaffolded_loads(name):
    component = getattr(prune_assets.components, name)
    with create_defs_folder_sandbox() as sandbox:
        place = sandbox.scaffold_component(component_cls=component)
        text = yaml.safe_load((place / "defs.yaml").read_text())
    assert text["attributes"] == EXAMPLES[name]
    assert load(name, EXAMPLES[name]).resolve_asset_graph() is not None


def test_every_component_has_an_example_and_describes_its_fields():
    assert {*EXAMPLES} == {*prune_assets.components.__all__}
    for name in EXAMPLES:
        model = getattr(prune_assets.components, name).get_model_cls()
        fields = model.model_json_schema()["properties"]
        # Dagster itself describes these two fields; see below.
        told = {field for field, schema in fields.items() if schema.get("description")} | {"asset", "defs_state"}
        assert {*fields} <= told


def test_a_table_is_an_asset_with_checks_and_what_yaml_says_of_it():
    attributes = {
        "asset": {"key": "sales/ids", "owners": ["team:sales"], "group_name": "sales", "deps": ["raw"]},
        "table": "lake/ids",
        "source": "SELECT * FROM range(9)",
        "layout": IDS,
        "format": "delta",
        "checks": {"skipping": {"few": "id < 3"}, "blocking": True},
    }
    defs = load("PrunedTableComponent", attributes)
    (spec,) = (spec for spec in defs.resolve_all_asset_specs() if spec.key == dg.AssetKey(["sales", "ids"]))
    assert (spec.owners, spec.group_name, spec.metadata["dagster/storage_kind"]) == (
        ["team:sales"],
        "sales",
        "deltalake",
    )
    assert [dep.asset_key for dep in spec.deps] == [dg.AssetKey("raw")]
    assert spec.metadata["dagster/uri"].endswith("/lake/ids")
    assert names_of_checks(defs) >= {"sorted_order", "bloom_filters_present", "skips_few"}


def test_checks_of_others_tables_run_by_a_schedule_a_sensor_and_by_themselves(tmp_path):
    table = {"asset": "lake/ids", "table": write(tmp_path / "ids", range(1_000)), "layout": "layout.yaml"}
    when = {"schedule": "0 3 * * *", "sensor": "report"}
    defs = load("LayoutChecksComponent", {"tables": [table], "when": when}, beside="sort_by: [id]")
    assert defs.resolve_schedule_def("layouts_validation_schedule").cron_schedule == "0 3 * * *"
    sensor = defs.resolve_sensor_def("layouts_changed")
    found = sensor.evaluate_tick(dg.build_sensor_context(repository_def=defs.get_repository_def()))
    passed = {e.check_name: e.passed for e in found.asset_events if isinstance(e, dg.AssetCheckEvaluation)}
    assert passed["sorted_order"]
    assert defs.resolve_job_def("layouts_validation").execute_in_process().success


def test_reports_are_an_asset_for_each_predicate():
    defs = load(
        "SkipReportComponent", {"asset": "ids", "table": "lake/ids", "predicates": {"a": "id < 3", "b": "id = 7"}}
    )
    keys = {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}
    assert keys >= {"skip_reports/a", "skip_reports/b"}


def advice_of_ids(tmp_path, *, of_table=(), beside=None, others=SPARK, **options):
    """Build the component for a table in random order and a query that selects one value."""
    table = write(tmp_path / "ids", random.Random(1).choices(range(500), k=200_000), max_rows_per_page=20_000)
    (tmp_path / "queries.sql").write_text(f"SELECT * FROM parquet.`{table}` WHERE id = 7\n")
    attributes = {
        "event_logs": [str(tmp_path / "queries.sql")],
        "workloads": str(tmp_path / "workloads"),
        "tables": [{"asset": "lake/ids", "table": table} | dict(of_table)],
    }
    return load("LayoutAdviceComponent", attributes | options, beside=beside, others=others)


def test_what_ran_the_advice_and_its_check_come_by_one_job(tmp_path):
    defs = advice_of_ids(tmp_path, reports=str(tmp_path / "pages"), schedule="0 5 * * 1", timezone="Europe/Berlin")
    schedule = defs.resolve_schedule_def("queries_advice_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 5 * * 1", "Europe/Berlin")
    result = defs.resolve_job_def("queries_advice").execute_in_process()
    (event,) = result.asset_materializations_for_node("layout_advice__lake__ids")
    assert "sort by id" in event.metadata["prune/advice"].value
    assert "sort by id" in (tmp_path / "pages" / "lake_ids.html").read_text()
    (checked,) = result.get_asset_check_evaluations()
    assert (checked.asset_key, checked.passed) == (dg.AssetKey(["lake", "ids"]), False)
    assert "sort by id" in checked.description, "the check comes after what ran, which it needs"


def test_queries_of_days_are_partitions_that_a_schedule_of_their_own_reads(tmp_path):
    defs = advice_of_ids(tmp_path, since="2024-01-01", schedule="0 5 * * 1", timezone="Europe/Berlin")
    days = defs.resolve_assets_def("queries").partitions_def
    assert (days.get_first_partition_key(), str(days.timezone)) == ("2024-01-01", "Europe/Berlin")
    assert defs.resolve_schedule_def("queries_of_a_day_schedule").execution_timezone == "Europe/Berlin"
    assert (
        defs.resolve_assets_def("queries").key
        not in defs.resolve_job_def("queries_advice").asset_layer.selected_asset_keys
    )


AUTOMATIC = {"automatic": True, "layout": "layout.yaml", "budget": "1 GiB"}


def automatic_ids(tmp_path, *, others=SPARK, **other):
    of_table = AUTOMATIC | other
    return advice_of_ids(tmp_path, of_table=of_table, beside="sort_by: []\n", others=others, schedule="0 5 * * 1")


def test_a_table_changes_its_layout_where_its_yaml_says_so(tmp_path):
    defs = automatic_ids(tmp_path)
    assert defs.resolve_schedule_def("optimize_lake__ids_schedule").cron_schedule == "0 5 * * 1"
    without = advice_of_ids(tmp_path / "other", schedule="0 5 * * 1")
    assert "optimize_lake__ids" not in {job.name for job in without.resolve_all_job_defs()}, "only where it says so"


@pytest.mark.spark
@pytest.mark.parametrize(("budget", "sorted_now"), [("1 GiB", True), ("1KiB", False)])
def test_the_job_follows_advice_within_the_budget_of_the_yaml(spark, tmp_path, budget, sorted_now):
    session = dg.Definitions(resources={"spark": dg.ResourceDefinition.hardcoded_resource(spark)})
    defs = automatic_ids(tmp_path, budget=budget, others=session)
    defs.resolve_job_def("queries_advice").execute_in_process()
    result = defs.resolve_job_def("optimize_lake__ids").execute_in_process()
    (event,) = [event for event in result.all_events if event.is_asset_observation]
    said = event.asset_observation_data.asset_observation.metadata["prune/advice"].value
    assert ("promised" in said) == sorted_now, said
    files = [pq.read_table(file).column("id").to_pylist() for file in (tmp_path / "ids").glob("*.parquet")]
    assert all(ids == sorted(ids) for ids in files) == sorted_now


def test_the_session_is_a_resource():
    defs = load("SparkSessionComponent", {"master": "local[1]", "conf": {"spark.driver.memory": "2g"}})
    assert defs.resources["spark"].conf == {"spark.driver.memory": "2g"}


TABLE = {"asset": "a", "table": "t", "layout": IDS}
ADVISED = {"asset": "a", "table": "t"}
ADVICE = {"event_logs": ["logs"], "workloads": "workloads", "tables": [ADVISED]}


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("LayoutChecksComponent", {"tables": [TABLE | {"layout": {"sort_byy": ["id"]}}]}, "did you mean 'sort_by'"),
        ("LayoutChecksComponent", {"tables": [TABLE | {"layout": {"sort_by": "id"}}]}, "sort_by = 'id': "),
        ("LayoutChecksComponent", {"tables": [TABLE | {"layout": "nope.yaml"}]}, "nope.yaml: cannot be read"),
        ("LayoutChecksComponent", {"tables": [TABLE | {"severity": "BAD"}]}, "'ERROR' or 'WARN'"),
        ("LayoutChecksComponent", {"tables": [TABLE | {"colour": "red"}]}, "Extra inputs are not permitted"),
        ("LayoutChecksComponent", {"tables": []}, "at least 1 item"),
        ("LayoutChecksComponent", {"tables": [TABLE], "when": {"sensor": "never"}}, "'run' or 'report'"),
        (
            "SkipReportComponent",
            {"asset": "a", "table": "t", "predicates": {"few": "id <"}},
            "predicates.few: predicate, at its end",
        ),
        (
            "LayoutChecksComponent",
            {"tables": [TABLE | {"skipping": {"few": "id <"}}]},
            "predicates.few: predicate, at its",
        ),
        ("PrunedTableComponent", {"asset": {"key": "a"}, "table": "t", "layout": IDS}, "source"),
        ("LayoutAdviceComponent", ADVICE | {"tables": []}, "at least 1 item"),
        ("LayoutAdviceComponent", ADVICE | {"since": "soon"}, "since"),
        ("LayoutAdviceComponent", ADVICE | {"latest": 0}, "greater than or equal to 1"),
        ("LayoutAdviceComponent", ADVICE | {"tables": [ADVISED | {"max_share": 2}]}, "less than or equal to 1"),
        ("LayoutAdviceComponent", ADVICE | {"tables": [ADVISED | {"automatic": True}]}, "automatic: give the layout"),
        ("LayoutAdviceComponent", ADVICE | {"tables": [ADVISED | {"budget": "1GiB"}]}, "automatic: true"),
        (
            "LayoutAdviceComponent",
            ADVICE | {"tables": [ADVISED | {"automatic": True, "layout": IDS, "budget": "1 GB"}]},
            "budget: '1 GB' is no size; write a number with one of B, KiB",
        ),
    ],
)
def test_wrong_yaml_fails_at_load_and_says_where(name, attributes, message):
    with pytest.raises(Exception) as failed:
        load(name, attributes)
    text = said(failed.value)
    assert message in text
    assert "defs.yaml" in text


def lake_in(place):
    write(place / "sales" / "orders" / "day=1", range(100))
    write(place / "sales" / "items", [3, 1, 2])
    write_table(str(place / "events"), pa.table({"id": range(10)}))
    for name in ("iceberg/metadata", "iceberg/data", "empty"):
        (place / name).mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), place / "iceberg" / "data" / "0.parquet")
    return str(place)


def load_lake(attributes, *, refresh=True):
    component = prune_assets.components.LakeComponent
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "prune_assets.components.LakeComponent", "attributes": attributes}
        place = sandbox.scaffold_component(component_cls=component, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(defs_path=place) as (lake, defs):
            assert not defs.resolve_all_asset_specs(), "there is no state yet"
            if not refresh:
                return defs
            import asyncio

            asyncio.run(lake.refresh_state(sandbox.project_root))
        with sandbox.load_component_and_build_defs(defs_path=place) as (_, defs):
            return defs


def test_the_tables_of_a_lake_become_assets_with_checks_and_a_sensor(tmp_path):
    rule = {"match": "sales/*", "layout": IDS, "skipping": {"few": "id < 3"}}
    root = lake_in(tmp_path / "lake")
    defs = load_lake({"root": root, "key_prefix": ["lake"], "rules": [rule], "when": {"sensor": "run"}})
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert sorted(specs) == ["lake/events", "lake/sales/items", "lake/sales/orders"]
    assert specs["lake/events"].metadata["dagster/storage_kind"] == "deltalake"
    checks = defs.resolve_asset_graph().asset_check_keys
    assert {key.asset_key.to_user_string() for key in checks if key.name == "skips_few"} == {
        "lake/sales/items",
        "lake/sales/orders",
    }
    result = defs.resolve_job_def("layouts_validation").execute_in_process()
    failed = {
        (found.asset_key.to_user_string(), found.check_name)
        for found in result.get_asset_check_evaluations()
        if not found.passed
    }
    assert ("lake/sales/items", "sorted_order") in failed
    assert ("lake/events", "sorted_order") not in failed
    assert (
        len(
            defs.resolve_sensor_def("layouts_changed")
            .evaluate_tick(dg.build_sensor_context(repository_def=defs.get_repository_def()))
            .run_requests
        )
        == 3
    )


def test_a_loose_file_hides_no_table_of_a_lake(tmp_path):
    """Spark reads of a directory without partitions the files directly in it, so those below are other tables."""
    root = tmp_path / "lake"
    lake_in(root)
    write(root / "sales" / "items" / "old", [1])
    for place in (root, root / "sales"):
        pq.write_table(pa.table({"id": [2, 1]}), place / "loose.parquet", write_page_index=True)
    defs = load_lake({"root": str(root), "when": {"schedule": "@daily"}})
    assert sorted(spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()) == [
        "events",
        "lake",
        "sales",
        "sales/items",
        "sales/items/old",
        "sales/orders",
    ]


def test_the_deleted_rows_of_the_tables_of_a_lake_are_checked(tmp_path):
    write(tmp_path / "lake" / "items", [1, 2, 3])
    place = str(tmp_path / "lake" / "events")
    write_table(place, pa.table({"id": range(10)}), properties={"delta.enableDeletionVectors": "true"})
    delete_rows(place, dict.fromkeys(deltalog.open_snapshot(place).paths(), range(4)))
    defs = load_lake({"root": str(tmp_path / "lake"), "when": {"name": "lake", "sensor": "report"}})
    with_deletes = [key for key in defs.resolve_asset_graph().asset_check_keys if key.name == "deletes_are_applied"]
    assert [key.asset_key.to_user_string() for key in with_deletes] == ["events"], "plain files have no deletes"
    found = defs.resolve_job_def("lake_validation").execute_in_process().get_asset_check_evaluations()
    (debt,) = (each for each in found if each.check_name == "deletes_are_applied")
    assert (debt.passed, debt.metadata["prune/deleted_rows"].value) == (False, 4)
    tick = defs.resolve_sensor_def("lake_changed").evaluate_tick(
        dg.build_sensor_context(repository_def=defs.get_repository_def())
    )
    reported = {event.check_name for event in tick.asset_events if isinstance(event, dg.AssetCheckEvaluation)}
    assert {"deletes_are_applied", "sorted_order"} <= reported


def test_a_lake_is_asked_nothing_when_the_code_loads(tmp_path, monkeypatch):
    """With a hundred tables, whose storage is not there any more."""
    file = write(tmp_path / "one", range(9))
    for i in range(100):
        (tmp_path / "lake" / f"t{i:03d}").mkdir(parents=True)
        (tmp_path / "lake" / f"t{i:03d}" / "0.parquet").hardlink_to(f"{file}/0.parquet")
    import prune_assets.components.lake as lake_module

    listed = lake_module.tables_below

    def once(root, **options):
        found = listed(root, **options)
        (tmp_path / "lake").rename(tmp_path / "gone")
        return found

    monkeypatch.setattr(lake_module, "tables_below", once)
    defs = load_lake({"root": str(tmp_path / "lake")})
    assert len(defs.resolve_all_asset_specs()) == 100


def test_a_lake_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Exception, match="does not exist or is empty"):
        load_lake({"root": str(tmp_path / "nowhere")})


@pytest.mark.parametrize(
    ("root", "keys"),
    [
        ("iceberg:tests", ["lake/db/t", "lake/other/u"]),
        ("iceberg:tests.db", ["lake/db/t"]),
        ("{tmp_path}/warehouse", ["lake/db/t", "lake/other/u"]),
    ],
)
def test_tables_of_iceberg_are_found_by_their_catalog_or_their_directories(root, keys, tmp_path, monkeypatch):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    from tests.prune_assets.tables.iceberg import iceberg_tables

    catalog = iceberg_tables.catalog_in(tmp_path)
    catalog.create_namespace_if_not_exists("other")
    for name in ("db.t", "other.u"):
        rows = pa.table({"id": [3, 1, 2]})
        catalog.create_table(name, schema=rows.schema).append(rows)
    iceberg_tables.configure(monkeypatch, "tests", tmp_path)
    rule = {"match": "db/*", "layout": IDS}
    defs = load_lake({"root": root.format(tmp_path=tmp_path), "key_prefix": ["lake"], "rules": [rule]})
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert sorted(specs) == keys
    assert specs["lake/db/t"].metadata["dagster/storage_kind"] == "iceberg"
    results = defs.resolve_job_def("lake_validation").execute_in_process().get_asset_check_evaluations()
    failed = [(found.asset_key.to_user_string(), found.check_name) for found in results if not found.passed]
    assert ("lake/db/t", "sorted_order") in failed
    assert all("does not answer" not in str(found.description) for found in results)


def test_a_namespace_that_is_not_there_is_named(tmp_path, monkeypatch):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    from tests.prune_assets.tables.iceberg import iceberg_tables

    iceberg_tables.catalog_in(tmp_path)
    iceberg_tables.configure(monkeypatch, "tests", tmp_path)
    with pytest.raises(Exception, match=r"iceberg:tests.nope: the catalog has no such"):
        load_lake({"root": "iceberg:tests.nope"})


def test_a_sensor_tells_the_data_version_of_a_table_that_others_write(tmp_path):
    table = str(tmp_path / "events")
    write_table(table, pa.table({"id": range(10)}))
    attributes = {"tables": [{"asset": "events", "table": table, "layout": {}}], "when": {"sensor": "report"}}
    defs = load("LayoutChecksComponent", attributes)
    sensor, repository = defs.resolve_sensor_def("layouts_changed"), defs.get_repository_def()

    def observed(cursor):
        found = sensor.evaluate_tick(dg.build_sensor_context(repository_def=repository, cursor=cursor))
        return [e.data_version for e in found.asset_events if isinstance(e, dg.AssetObservation)], found.cursor

    first, cursor = observed(None)
    write_table(table, pa.table({"id": [99]}), mode="append")
    write_table(table, pa.table({"id": [98]}), mode="append")
    second, cursor = observed(cursor)
    assert (first, second, observed(cursor)[0]) == (["version 0"], ["version 2"], [])
