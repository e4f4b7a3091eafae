"""Every two components load in one project, the same component twice too."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from itertools import combinations

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

import prune_assets.components
from prune_assets.components.layout_checks import CheckedTable
from prune_assets.components.scaffolding import EXAMPLES

# Dagster's own, where it loads any component.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore:.* is currently in beta"),
]
LAYOUT = {"sort_by": ["id"]}
ONE_A_PROJECT = "SparkSessionComponent"


def example(name, part, lake):
    """The scaffolded example of a component, about tables of its own."""
    attributes = deepcopy(EXAMPLES[name])
    if name == "LakeComponent":
        return attributes | {"root": str(lake / part), "key_prefix": [part]}
    if name == "PrunedTableComponent":
        attributes["asset"]["key"] = f"{part}/orders"
    if name == "SkipReportComponent":
        attributes |= {"asset": f"{part}/orders", "key_prefix": [part, "reports"]}
    for table in attributes.get("tables", ()):
        table["asset"] = f"{part}/orders"
    return attributes


def load_project(components):
    """The definitions of a project: a list of its folders, each with components by their names and attributes."""
    with create_defs_folder_sandbox() as sandbox:
        for folder, documents in components:
            place = sandbox.defs_folder_path / folder
            place.mkdir(parents=True, exist_ok=True)
            texts = [
                yaml.safe_dump({"type": f"prune_assets.components.{name}", "attributes": attributes})
                for name, attributes in documents
            ]
            (place / "defs.yaml").write_text("---\n".join(texts))
        with sandbox.build_component_tree() as tree:
            for lake in tree.get_all_components(of_type=prune_assets.components.LakeComponent):
                asyncio.run(lake.refresh_state(sandbox.project_root))
        with sandbox.build_all_defs() as defs:
            others = {} if "spark" in (defs.resources or {}) else {"spark": 1}
            merged = dg.Definitions.merge(defs, dg.Definitions(resources=others))
            dg.Definitions.validate_loadable(merged)
            return merged


def names_of(defs):
    jobs = {job.name for job in defs.resolve_all_job_defs()} - {"__ASSET_JOB"}
    return jobs, {each.name for each in defs.schedules or ()}, {each.name for each in defs.sensors or ()}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    place = tmp_path_factory.mktemp("lake")
    for part in ("a", "b", *(f"LakeComponent_{number}" for number in range(2 * len(EXAMPLES)))):
        (place / part / "orders").mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), place / part / "orders" / "0.parquet")
    return place


def in_folders(names, lake):
    """Return a folder for each component, about tables of its own."""
    parts = [f"{name}_{number}" for number, name in enumerate(names)]
    return [(part, [(name, example(name, part, lake))]) for part, name in zip(parts, names, strict=True)]


@pytest.mark.parametrize("has_session", [True, False])
def test_every_two_components_load_in_one_project(lake, has_session):
    """All components load in one project, each twice; if they do not, each pair is loaded to name it."""
    others = sorted(EXAMPLES.keys() - {ONE_A_PROJECT})
    folders = in_folders([*others, *others, *[ONE_A_PROJECT] * has_session], lake)
    try:
        assert load_project(folders).resolve_asset_graph() is not None
    except Exception:  # whatever it is, a pair that raises it is named
        for pair in combinations(folders, 2):
            try:
                assert load_project(pair).resolve_asset_graph() is not None
            except Exception as error:
                error.add_note(f"loaded: {' and '.join(folder for folder, _ in pair)}")
                raise
        raise


def test_two_components_load_in_one_file(lake):
    documents = [("LayoutChecksComponent", example("LayoutChecksComponent", part, lake)) for part in "ab"]
    jobs, schedules, sensors = names_of(load_project([("orders", documents)]))
    assert jobs == {"orders_layouts_validation", "orders_1_layouts_validation"}
    assert schedules == {f"{job}_schedule" for job in jobs}
    assert sensors == {"orders_layouts_changed", "orders_1_layouts_changed"}


def test_names_come_from_the_paths_of_components_that_would_share_one(lake):
    checks = [
        (f"sales/{part}", [("LayoutChecksComponent", example("LayoutChecksComponent", part, lake))]) for part in "ab"
    ]
    advice = [("queries", [("LayoutAdviceComponent", example("LayoutAdviceComponent", "c", lake))])]
    jobs, _, _ = names_of(load_project([*checks, *advice]))
    assert jobs == {
        "sales_a_layouts_validation",
        "sales_b_layouts_validation",
        "queries_advice",
        "queries_of_a_day",
    }


def test_a_component_alone_keeps_its_names_and_so_does_one_with_a_name(lake):
    one = ("a", [("LayoutChecksComponent", example("LayoutChecksComponent", "a", lake))])
    assert names_of(load_project([one]))[0] == {"layouts_validation"}
    other = example("LayoutChecksComponent", "b", lake)
    other["when"]["name"] = "others"
    assert names_of(load_project([one, ("b", [("LayoutChecksComponent", other)])]))[0] == {
        "layouts_validation",
        "others_validation",
    }
    bare_lake = {"root": str(lake / "b"), "key_prefix": ["c"]}
    assert names_of(load_project([one, ("c", [("LakeComponent", bare_lake)])]))[0] == {
        "layouts_validation",
        "lake_validation",
    }


def test_a_component_loads_without_a_project():
    table = CheckedTable(asset=dg.AssetKey("a"), table="t", layout=LAYOUT)
    defs = dg.component_defs(component=prune_assets.components.LayoutChecksComponent(tables=[table]))
    assert [job.name for job in defs.jobs] == ["layouts_validation"]
