from __future__ import annotations

import dagster as dg
import pytest

from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable

KEY = dg.AssetKey(["sales", "orders"])
NAMES = ["sales/orders", ["sales", "orders"], ("sales", "orders"), KEY]
LAYOUT = LayoutSpec(sort_by=["id"])


def checked(definition):
    return {key.asset_key for key in definition.check_keys}


def sensor_keys(name):
    return (
        LayoutTable(name, "lake")
        .sensor()
        .asset_selection.resolve(dg.Definitions([dg.AssetSpec(KEY)]).resolve_asset_graph())
    )


# Each takes the name of an asset and returns the keys that came of it.
KEYS_OF = {
    "layout": lambda name: checked(LayoutTable(name, "lake", layout=LAYOUT).checks()),
    "specs": lambda name: {spec.asset_key for spec in LayoutTable(name, "lake").check_specs()},
    "skipping": lambda name: checked(LayoutTable(name, "lake", predicates={"one": "id = 1"}).skipping_checks()),
    "log": lambda name: checked(LayoutTable(name, "lake").log_health_check()),
    "deletes": lambda name: checked(LayoutTable(name, "lake").delete_debt_check()),
    "files": lambda name: checked(LayoutTable(name, "lake").file_health_check()),
    "truth": lambda name: checked(LayoutTable(name, "lake").statistics_truth_check()),
    "table": lambda name: {LayoutTable(name, "lake", layout=LAYOUT).asset_from("SELECT 1").key},
    "external": lambda name: {LayoutTable(name, "lake").asset_spec().key},
    "kept": lambda name: {LayoutTable(name, "lake", layout=LAYOUT).key},
    "pruned": lambda name: {LayoutTable(name, "lake", layout=LAYOUT).asset()(lambda: None).key},
    "report": lambda name: LayoutTable(name, "t").skip_report("r", "id = 1", reports="r").dependency_keys,
    "deps": lambda name: LayoutTable(KEY, "t").skip_report("r", "id = 1", reports="r", deps=[name]).dependency_keys,
    "sensor": sensor_keys,
}


@pytest.mark.parametrize("name", NAMES, ids=repr)
@pytest.mark.parametrize("function", KEYS_OF)
def test_every_function_takes_every_name_of_an_asset(function, name):
    assert KEYS_OF[function](name) == {KEY}


def test_a_text_among_the_dependencies_is_a_name_too():
    later = LayoutTable("later", "lake", layout=LAYOUT).asset_from("SELECT 1", deps=["sales/orders"])
    assert later.dependency_keys == {KEY}
