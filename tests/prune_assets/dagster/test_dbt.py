from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import LayoutError, WrongUse
from prune_assets.dagster import build_dbt_checks
from prune_assets.errors import PredicateSyntaxError

PRUNE = {"layout": {"sort_by": ["id"]}, "predicates": {"few": "id < 100", "odd": "id % 7 = 3"}, "min_skipped": 0.8}


def model(prune=PRUNE, *, name="events", config=None, **properties):
    """Return a model as in a manifest of dbt 1.11, with only the fields that are used."""
    return {
        "resource_type": "model",
        "name": name,
        "alias": name,
        "original_file_path": f"models/{name}.sql",
        "patch_path": "shop://models/shop.yml",
        "config": {
            "materialized": "external",
            "location": "out/events.parquet",
            "schema": None,
            "meta": {"prune": prune},
            **(config or {}),
        },
        "meta": {"prune": prune},
        **properties,
    }


def manifest_of(*nodes, sources=()):
    return {
        "metadata": {"adapter_type": "duckdb"},
        "nodes": {f"{node['resource_type']}.shop.{number}": node for number, node in enumerate(nodes)},
        "sources": {f"source.shop.{number}": source for number, source in enumerate(sources)},
    }


def keys_of(checks):
    return {key.asset_key.to_user_string() for check in checks for key in check.check_keys}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    for folder in ("out", "target"):
        (tmp_path / folder).mkdir()
    table = pa.table({"id": range(1000)})
    pq.write_table(table, tmp_path / "out" / "events.parquet", row_group_size=100, write_page_index=True)
    return tmp_path


def evaluate(checks):
    found = [result for check in checks for result in check(dg.build_asset_check_context())]
    return {result.check_name: result for result in found}


def test_the_checks_of_a_model_read_the_file_that_dbt_wrote(project):
    path = project / "target" / "manifest.json"
    path.write_text(json.dumps(manifest_of(model(), model(None, name="other"))))
    checks = build_dbt_checks(path)
    results = evaluate(checks)
    assert keys_of(checks) == {"events"}
    assert {name for name, result in results.items() if not result.passed} == {"skips_odd"}
    assert {"sorted_order", "column_index_present", "skips_few"} <= results.keys()
    assert results["skips_few"].metadata["prune/skipped_bytes_share"].value == pytest.approx(0.9, abs=0.02)


def test_a_layout_that_the_file_breaks_fails_with_the_severity_that_is_given(project):
    (project / "layout.yaml").write_text("sort_by: [id DESC]\n")
    manifest = manifest_of(model({"layout": "layout.yaml"}))
    (checks,) = build_dbt_checks(manifest, project_dir=project, severity=dg.AssetCheckSeverity.WARN, blocking=True)
    result = evaluate([checks])["sorted_order"]
    assert not result.passed
    assert result.severity is dg.AssetCheckSeverity.WARN
    assert all(spec.blocking for spec in checks.check_specs)


def resource_keys():
    meta = {"prune": PRUNE}
    renamed = {"meta": meta | {"dagster": {"asset_key": ["lake", "web"]}}}
    source = {
        "resource_type": "source",
        "source_name": "raw",
        "name": "events",
        "config": {},
        "meta": {"prune": PRUNE | {"table": "s3://lake/events"}},
    }
    return {
        "a name": (model(), "events"),
        "a schema": (model(config={"schema": "web"}), "web/events"),
        "a version": (model(version=2, alias="events_v2", config={"schema": "web"}), "events_v2"),
        "a key": (model(config=renamed), "lake/web"),
        "config before meta": (model(config=renamed, meta={"dagster": {"asset_key": ["no"]}}), "lake/web"),
        "meta alone": (model(config={"meta": {}}, meta=renamed["meta"]), "lake/web"),
        "a seed": (model(resource_type="seed"), "events"),
        "a source": (source, "raw/events"),
    }


@pytest.mark.parametrize("case", resource_keys())
def test_keys_are_those_of_dagster_dbt(case, project):
    resource, key = resource_keys()[case]
    kinds = {"sources": [resource]} if resource["resource_type"] == "source" else {}
    manifest = manifest_of(*([] if kinds else [resource]), **kinds)
    assert keys_of(build_dbt_checks(manifest, project_dir=project)) == {key}


@pytest.mark.parametrize("case", resource_keys())
def test_keys_are_those_that_dagster_dbt_computes(case, project):
    package = pytest.importorskip("dagster_dbt", reason="no dagster-dbt; install prune-assets[dbt]")
    resource, key = resource_keys()[case]
    assert package.DagsterDbtTranslator().get_asset_key(resource) == dg.AssetKey(key.split("/"))


def test_keys_are_those_of_the_dagster_dbt_that_is_installed(monkeypatch, project):
    class Translator:
        def get_asset_key(self, resource):
            return dg.AssetKey(["theirs", resource["name"]])

    monkeypatch.setitem(sys.modules, "dagster_dbt", SimpleNamespace(DagsterDbtTranslator=Translator))
    assert keys_of(build_dbt_checks(manifest_of(model()), project_dir=project)) == {"theirs/events"}


def test_a_translator_is_asked_for_the_key(project):
    class Translator:
        def get_asset_spec(self, manifest, unique_id, project):
            return dg.AssetSpec(["mine", manifest["nodes"][unique_id]["name"]])

    checks = build_dbt_checks(manifest_of(model()), project_dir=project, translator=Translator())
    assert keys_of(checks) == {"mine/events"}


def test_tests_of_dbt_are_no_assets(project):
    assert build_dbt_checks(manifest_of(model(resource_type="test")), project_dir=project) == []


SPARK = {"materialized": "table", "location": None}


@pytest.mark.parametrize(
    ("prune", "config"),
    [
        ({"table": "out/events.parquet"}, {"location": "elsewhere.parquet"}),
        ({"table": "{project}/out/events.parquet"}, SPARK),
        ({}, {}),
        ({}, SPARK | {"location_root": "{project}/out/"}),
    ],
    ids=["table", "absolute", "location", "location_root"],
)
def test_where_the_files_are(prune, config, project):
    fill = lambda values: {key: value and value.format(project=project) for key, value in values.items()}  # noqa: E731
    found = model(PRUNE | fill(prune), config=fill(config), alias="events.parquet")
    assert evaluate(build_dbt_checks(manifest_of(found), project_dir=project))["skips_few"].passed


def test_predicates_may_be_a_list(project):
    checks = build_dbt_checks(manifest_of(model({"predicates": ["id < 100", "id = 7"]})), project_dir=project)
    assert evaluate(checks).keys() == {"skips_query_1", "skips_query_2"}


OPEN = ".table: not set, and dbt does not give the path of the files; set it to their path or address"
JINJA = "'{{ env_var() }}/x' is not a path; set meta.prune.table to the path of the files"
NO_FILE = (
    ".layout: {project}/layuot.yaml: cannot be read (No such file or directory); name a layout file, e.g. layout.yaml"
)
NO_SQL = ".predicates = 'id = 1': give SQL by name, e.g. {one_order: id = 17}"
NO_NAME = ".predicates: 'a b' names a check; use letters, digits and _ only"
NO_SHARE = ".min_skipped = True is no share from 0 to 1; for 90 % write 0.9 or 90%"
NO_ROOT = ".table is not set, and location_root = 'lake' is relative; set meta.prune.table to the path of the files"
WRONG = [
    (["layout"], {}, WrongUse, ": ['layout'] is not a mapping; write its keys: layout, min_skipped, predicates, table"),
    ({"predicate": {}}, {}, WrongUse, ": unknown key 'predicate'; did you mean 'predicates'?"),
    ({"table": "x"}, {}, WrongUse, ": has no check; give layout or predicates"),
    ({"layout": {"sortby": ["id"]}}, {}, LayoutError, ".layout: unknown key 'sortby'; did you mean 'sort_by'?"),
    ({"layout": "layuot.yaml"}, {}, LayoutError, NO_FILE),
    ({"layout": 3}, {}, LayoutError, ".layout = 3: give the path of a layout.yaml, its keys, or a LayoutSpec"),
    ({"predicates": "id = 1"}, {}, WrongUse, NO_SQL),
    ({"predicates": {"a b": "id = 1"}}, {}, WrongUse, NO_NAME),
    ({"predicates": {"a": 1}}, {}, WrongUse, ".predicates.a = 1: give SQL as text, e.g. id = 17"),
    (PRUNE | {"min_skipped": True}, {}, WrongUse, NO_SHARE),
    (
        PRUNE | {"min_skipped": 90},
        {},
        WrongUse,
        ".min_skipped = 90 is no share from 0 to 1; for 90 % write 0.9 or 90%",
    ),
    (PRUNE, SPARK, WrongUse, OPEN),
    (PRUNE, {"location": "{{ env_var() }}/x"}, WrongUse, f".table is not set, and location = {JINJA}"),
    (PRUNE, SPARK | {"location_root": "lake"}, WrongUse, NO_ROOT),
]


@pytest.mark.parametrize(("prune", "config", "kind", "message"), WRONG)
def test_a_mistake_is_told_with_model_file_and_key(prune, config, kind, message, project):
    message = message.replace("{project}", str(project))
    with pytest.raises(kind) as caught:
        build_dbt_checks(manifest_of(model(prune, config=config)), project_dir=project)
    assert str(caught.value) == f"model events (models/shop.yml): meta.prune{message}"


def test_what_is_no_sql_names_its_check(project):
    with pytest.raises(
        PredicateSyntaxError,
        match=r"^model events \(models/shop.yml\): meta.prune: predicates.a: predicate, character 6",
    ):
        build_dbt_checks(manifest_of(model({"predicates": {"a": "id = = 1"}})), project_dir=project)


def test_a_relative_path_needs_the_project(project):
    with pytest.raises(
        WrongUse, match=re.escape("location = 'out/events.parquet' is relative to the dbt project; pass")
    ):
        build_dbt_checks(manifest_of(model()))


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "cannot be read"), ("{", "not valid JSON"), ("[]", "it is not dbt's")],
)
def test_what_is_no_manifest_is_refused(text, message, project):
    path = project / "target" / "manifest.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(WrongUse, match=message):
        build_dbt_checks(path)


@pytest.mark.parametrize("materialized", ["view", "ephemeral", "materialized_view"])
@pytest.mark.parametrize("prune", [PRUNE, PRUNE | {"table": "out/events.parquet"}], ids=["without table", "with table"])
def test_what_has_no_files_is_refused_and_the_models_it_reads_are_named(materialized, prune, project):
    recent = model(
        prune,
        name="recent",
        config={"materialized": materialized, "location": None},
        depends_on={"nodes": ["model.shop.0", "source.shop.0", "macro.shop.x"]},
    )
    source = {"resource_type": "source", "source_name": "raw", "name": "clicks", "config": {}, "meta": {}}
    with pytest.raises(WrongUse) as caught:
        build_dbt_checks(manifest_of(model(None), recent, sources=[source]), project_dir=project)
    assert str(caught.value).startswith("model recent (models/shop.yml): meta.prune: is on a")
    kind = materialized.replace("_", " ")
    assert kind in str(caught.value)
    assert "put prune on the model events, source clicks that it reads" in str(caught.value)


@pytest.mark.parametrize("materialized", ["table", "incremental", "external", "lakehouse"])
def test_a_model_with_files_is_not(materialized, project):
    found = model(PRUNE | {"table": "out/events.parquet"}, config={"materialized": materialized})
    assert build_dbt_checks(manifest_of(found), project_dir=project)


def test_the_files_of_duckdb_fail_the_two_checks_that_the_guide_names(project):
    duckdb = pytest.importorskip("duckdb")
    path = project / "out" / "events.parquet"
    duckdb.sql(f"COPY (SELECT range AS id FROM range(100000)) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20000)")
    (checks,) = build_dbt_checks(manifest_of(model({"layout": {"sort_by": ["id"]}})), project_dir=project)
    results = evaluate([checks])
    failed = {name for name, result in results.items() if not result.passed}
    assert failed == {"column_index_present", "sorted_order"}
    guide = (Path(__file__).parents[3] / "docs" / "dbt.md").read_text()
    (row,) = [line for line in guide.splitlines() if line.startswith("| `layout` |")]
    assert results.keys() == set(re.findall(r"`(\w+)`", row)) - {"layout", "layout.yaml"}
    assert all(re.search(rf"DuckDB.*`{name}`", row) for name in failed)
