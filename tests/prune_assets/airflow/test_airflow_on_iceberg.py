"""Operators and sensors on tables of Iceberg: by pyiceberg's catalog or by path without Spark, and through Spark."""

from __future__ import annotations

import iceberg_rest
import pyarrow as pa
import pytest
import spark_packages

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from airflow.sdk.exceptions import AirflowFailException

import prune_assets as pr
from prune_assets.airflow import (
    AdviseLayoutOperator,
    CheckLayoutOperator,
    OptimizeTableOperator,
    SkipReportOperator,
    TableChangeSensor,
    WriteTableOperator,
    table_asset,
)
from tests.prune_assets.airflow import airflow_with_iceberg
from tests.prune_assets.tables.iceberg import iceberg_tables

NAMES = ["tests.db.t", "iceberg:tests.db.t", "{warehouse}/db/t"]
LAYOUT = {"sort_by": ["id"], "partition_by": ["part"]}


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A table of two files that overlap, and one of its sorted partition, in a catalog that pyiceberg knows."""
    catalog = iceberg_tables.catalog_in(tmp_path)
    iceberg_tables.configure(monkeypatch, "tests", tmp_path)
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "part": pa.array([0] * 100, pa.int64())})
    table = catalog.create_table("db.t", schema=rows.schema)
    with table.update_spec() as spec:
        spec.add_identity("part")
    table.append(rows)
    table.append(rows)
    return table


@pytest.fixture(params=NAMES)
def name(request, lake, tmp_path):
    return request.param.format(warehouse=tmp_path / "warehouse")


def test_a_check_names_what_is_wrong_and_what_mends_it(name, context, logged):
    told = CheckLayoutOperator(task_id="c", table=name, layout=LAYOUT, severity="warn").execute(context)
    assert told["errors"] > 0
    (overlap,) = (line for _, line in logged() if line.startswith("overlap.files"))
    assert "a task of OptimizeTableOperator" in overlap
    assert ("use the table's name in Spark" in overlap) == (name != "tests.db.t"), overlap
    of_part = CheckLayoutOperator(task_id="c", table=name, layout=LAYOUT, where="part = 0", severity="warn")
    assert of_part.execute(context)["errors"] == told["errors"]
    absent = {"task_id": "c", "table": name, "layout": LAYOUT, "where": "part = 7"}
    assert CheckLayoutOperator(**absent).execute(context)["empty"]
    with pytest.raises(AirflowFailException, match="no file can hold matching rows"):
        CheckLayoutOperator(**absent, when_empty="fail").execute(context)


def test_reports_advice_and_health(name, context):
    told = SkipReportOperator(task_id="r", table=name, predicates={"few": "id < 5", "none": "part = 9"})
    predicates = told.execute(context)["predicates"]
    assert predicates["few"]["total_rows"] == 200
    assert predicates["none"]["kept_rows"] == 0
    assert CheckLayoutOperator(task_id="c", table=name).execute(context)["errors"] == 0
    assert AdviseLayoutOperator(task_id="a", table=name, workload=["id = 5"]).execute(context)["today_bytes"] > 0


def test_a_dry_run_needs_no_session_where_a_name_says_what_the_session_would(lake, context):
    told = OptimizeTableOperator(task_id="o", table="tests.db.t", layout=LAYOUT, dry_run=True).execute(context)
    assert (told["picked_files"], told["dry_run"]) == (2, True)


@pytest.mark.parametrize(
    ("name", "said"), [(NAMES[1], "only Iceberg commits to it"), (NAMES[2], "only its catalog writes an Iceberg table")]
)
def test_what_cannot_commit_is_refused_by_name(name, said, lake, context, tmp_path):
    name = name.format(warehouse=tmp_path / "warehouse")
    with pytest.raises(AirflowFailException, match=said):
        OptimizeTableOperator(task_id="o", table=name, layout=LAYOUT).execute(context)


def test_a_name_that_only_a_session_knows_is_given_to_it(context, monkeypatch):
    """Before it was refused, since the first look was without a session."""
    seen = []

    def told(table, *, session, **options):
        seen.append((session, table, options["dry_run"]))
        raise AirflowFailException("seen")

    monkeypatch.setattr("prune_assets.airflow.spark.session_for", lambda conn_id: "the session")
    monkeypatch.setattr("prune_assets.writing.optimize.optimize", told)
    with pytest.raises(AirflowFailException, match="seen"):
        OptimizeTableOperator(task_id="o", table="db.orders", layout=LAYOUT).execute(context)
    assert seen == [("the session", "db.orders", True)]


def test_writing_to_a_path_is_refused_before_spark_starts(tmp_path, context):
    write = WriteTableOperator(
        task_id="w",
        table=tmp_path / "t",
        source="SELECT 1 AS id",
        layout={"sort_by": ["id"]},
        format="iceberg",
        mode="overwrite",
    )
    with pytest.raises(AirflowFailException, match="only its catalog writes an Iceberg table"):
        write.execute(context)


def test_a_snapshot_is_a_change_and_snapshots_have_no_order(name, lake, context):
    now = lake.current_snapshot().snapshot_id
    assert TableChangeSensor(task_id="s", table=name, since="1", poke_interval=0).execute(context)["version"] == now
    with pytest.raises(AirflowFailException, match="not a Delta table, so it has no versions; leave out `version`"):
        TableChangeSensor(task_id="s", table=name, version=1, poke_interval=0).execute(context)


def test_an_asset_of_a_name_has_the_name_and_is_watched_by_it(lake, context):
    asset = table_asset("tests.db.t")
    assert (asset.uri, asset.name) == ("tests.db.t", "tests.db.t")
    (watcher,) = asset.watchers
    assert watcher.trigger["kwargs"]["table"] if isinstance(watcher.trigger, dict) else watcher.trigger.table
    assert pr.count("tests.db.t") == 200
    assert table_asset("iceberg:tests.db.t").name == "iceberg:tests.db.t"


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_operators_write_check_and_optimize_a_table_of_the_session_s_catalog(tmp_path, monkeypatch):
    """The operators run in a Spark process with Iceberg; pyiceberg has its catalog under the same name."""
    spark_packages.package_for(spark_packages.ICEBERG)
    with iceberg_rest.rest_catalog(tmp_path) as address:
        for variable, value in iceberg_rest.environment("lake", address).items():
            monkeypatch.setenv(variable, value)
        with spark_packages.iceberg_lake(tmp_path, rest=address) as run:
            told, rows = run(airflow_with_iceberg.upkeep, "lake.web.events")
    written, replaced, broken, optimized, checked, again, report = told
    assert (written["rows"], replaced["rows"], rows) == (1000, 50, 550 * 2)
    assert written["version"] != replaced["version"]
    assert broken["errors"] > 0 == checked["errors"]
    assert optimized["picked_files"] > 0 == again["picked_files"]
    assert report["predicates"]["one"]["kept_files"] == 1
