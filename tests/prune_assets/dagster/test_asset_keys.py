from __future__ import annotations

import dagster as dg
import pytest

from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import (
    MaintainedTable,
    build_delete_debt_check,
    build_file_health_check,
    build_layout_checks,
    build_log_health_check,
    build_new_files_sensor,
    build_skip_report_asset,
    build_skipping_checks,
    build_statistics_truth_check,
    build_table_asset,
    external_table,
    layout_check_specs,
    pruned_asset,
)

KEY = dg.AssetKey(["sales", "orders"])
NAMES = ["sales/orders", ["sales", "orders"], ("sales", "orders"), KEY]
LAYOUT = LayoutSpec(sort_by=["id"])


def checked(definition):
    return {key.asset_key for key in definition.check_keys}


def sensor_keys(name):
    checks = build_layout_checks(KEY, "lake", LAYOUT)
    sensor = build_new_files_sensor("s", tables={name: "lake"}, checks=[checks])
    return sensor.asset_selection.resolve(dg.Definitions([dg.AssetSpec(KEY)]).resolve_asset_graph())


# Each takes the name of an asset and returns the keys that came of it.
KEYS_OF = {
    "layout": lambda name: checked(build_layout_checks(name, "lake", LAYOUT)),
    "specs": lambda name: {spec.asset_key for spec in layout_check_specs(name)},
    "skipping": lambda name: checked(build_skipping_checks(name, "lake", {"one": "id = 1"})),
    "log": lambda name: checked(build_log_health_check(name, "lake")),
    "deletes": lambda name: checked(build_delete_debt_check(name, "lake")),
    "files": lambda name: checked(build_file_health_check(name, "lake")),
    "truth": lambda name: checked(build_statistics_truth_check(name, "lake")),
    "table": lambda name: {build_table_asset(name, table="lake", layout=LAYOUT, source="SELECT 1").key},
    "external": lambda name: {external_table(name, "lake").key},
    "kept": lambda name: {MaintainedTable(name, "lake", LAYOUT).key},
    "pruned": lambda name: {pruned_asset(layout=LAYOUT, key=name)(lambda: None).key},
    "report": lambda name: build_skip_report_asset("r", name, "id = 1", table="t", reports="r").dependency_keys,
    "more_deps": lambda name: (
        build_skip_report_asset("r", KEY, "id = 1", table="t", reports="r", more_deps=[name]).dependency_keys
    ),
    "sensor": lambda name: sensor_keys(tuple(name) if isinstance(name, list) else name),
}


@pytest.mark.parametrize("name", NAMES, ids=repr)
@pytest.mark.parametrize("function", KEYS_OF)
def test_every_function_takes_every_name_of_an_asset(function, name):
    assert KEYS_OF[function](name) == {KEY}


def test_a_text_among_the_dependencies_is_a_name_too():
    later = build_table_asset("later", table="lake", layout=LAYOUT, source="SELECT 1", deps=["sales/orders"])
    assert later.dependency_keys == {KEY}
