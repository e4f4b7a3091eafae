"""Each function refuses an argument of the wrong type when the definition is built, and says what to give."""

from __future__ import annotations

import inspect

import dagster as dg
import pytest

import prune_assets.dagster
from parquet_core.errors import WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import (
    MaintainedTable,
    PrunedTableIOManager,
    SparkSessionResource,
    build_changed_partitions_sensor,
    build_delete_debt_check,
    build_file_health_check,
    build_fleet_asset,
    build_layout_advice_asset,
    build_layout_advice_check,
    build_layout_checks,
    build_layout_drift_sensor,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_log_health_check,
    build_new_files_sensor,
    build_optimize_job,
    build_skip_report_asset,
    build_skipping_checks,
    build_statistics_truth_check,
    build_table_asset,
    build_workload_asset,
    external_table,
    layout_check_specs,
    pruned_asset,
)

LAYOUT = LayoutSpec(partition_by=["day"], sort_by=["id"])
KEPT = MaintainedTable("a", "lake/a", LAYOUT)
CHECKS = [build_layout_checks("a", "lake/a", LAYOUT)]
DAYS = {"partitions_def": dg.DailyPartitionsDefinition("2024-01-01"), "partition_expr": "day"}
JOB = build_layout_validation_job("j", checks=CHECKS)
TABLE = {"asset_key": "a", "table": "lake/a"}
# A valid call of each.
CALLS = {
    MaintainedTable: {"asset": "a", "table": "lake/a", "layout": LAYOUT},
    build_changed_partitions_sensor: {"name": "s", "asset": "a", "table": "lake/a", "partition_expr": "day"},
    build_file_health_check: TABLE,
    build_fleet_asset: {"tables": [KEPT]},
    build_layout_advice_asset: {"table_asset": "a", "table": "lake/a", "workload": "w"},
    build_layout_advice_check: TABLE | {"workload": "w"},
    build_layout_checks: TABLE | {"layout": LAYOUT},
    build_layout_drift_sensor: {"kept": KEPT, "job": build_optimize_job(KEPT)},
    build_layout_validation_job: {"name": "j", "checks": CHECKS},
    build_layout_validation_schedule: {"job": JOB},
    build_log_health_check: TABLE,
    build_new_files_sensor: {"name": "s", "tables": {"a": "lake/a"}, "checks": CHECKS},
    build_optimize_job: {"kept": KEPT},
    build_skip_report_asset: {"name": "r", "table_asset": "a", "where": "id = 1", "table": "t", "reports": "r"},
    build_delete_debt_check: TABLE,
    build_skipping_checks: TABLE | {"predicates": {"one": "id = 1"}},
    build_statistics_truth_check: TABLE,
    build_table_asset: {"key": "a", "table": "lake/a", "layout": LAYOUT, "source": "SELECT 1"},
    build_workload_asset: {"name": "q", "event_logs": "logs", "workloads": "w"},
    external_table: {"key": "a", "table": "lake/a"},
    layout_check_specs: {"asset_key": "a"},
    pruned_asset: {"layout": LAYOUT},
}
# The other public names: most are not definitions, and build_dbt_checks is about dbt.
OTHERS = {"Choice", "PrunedTableIOManager", "SparkSessionResource", "skip_metadata", "table_uri", "build_dbt_checks"}
# Dagster itself checks these arguments.
NOT_OURS = {"kinds", "asset_options", "spec"}


def test_every_function_is_here():
    assert {function.__name__ for function in CALLS} | OTHERS == {*prune_assets.dagster.__all__}


@pytest.mark.parametrize("function", CALLS)
def test_every_argument_is_checked_by_its_type(function):
    for name in set(inspect.signature(function).parameters) - NOT_OURS:
        wrong = object()
        with pytest.raises(WrongUse) as refused:
            function(**CALLS[function] | {name: wrong})
        assert name.replace("written_as", "layout") in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", set(CALLS) - {build_changed_partitions_sensor})
def test_what_is_right_is_taken(function):
    assert function(**CALLS[function]) is not None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: build_new_files_sensor("s", tables=["lake/a"], checks=CHECKS),
            "build_new_files_sensor: tables is a list of str; give a dict: {'sales/orders': 'lake/orders'}",
        ),
        (
            lambda: build_optimize_job("lake/a"),
            "build_optimize_job: kept='lake/a' is a str; give a MaintainedTable: MaintainedTable\\('sales/orders', ",
        ),
        (lambda: build_optimize_job(None), "kept is None; give a MaintainedTable: "),
        (lambda: build_fleet_asset(KEPT), r"give a list of MaintainedTable: \[MaintainedTable"),
        (lambda: build_fleet_asset({"a": "lake/a"}), "give a list of MaintainedTable"),
        (lambda: build_layout_validation_job("j", checks=CHECKS[0]), r"give .*: \[build_layout_checks\(..\)\]"),
        (lambda: build_layout_validation_job("j", checks=[CHECKS]), "give a list of AssetChecksDefinition"),
        (lambda: build_new_files_sensor("s", tables={}, checks=CHECKS, mode="runs"), "choose 'run' or 'report'"),
        (lambda: build_layout_checks(CHECKS[0], "t", LAYOUT), "give an AssetKey, .*: 'sales/orders'"),
        (lambda: build_layout_checks("a", "t", LAYOUT, severity="WARN"), "dg.AssetCheckSeverity.WARN"),
        (lambda: build_layout_checks("a", "t", LAYOUT, allow="s3://b"), r"give a list of str: allow=\['s3://b'\]"),
        (lambda: build_layout_checks("a", "t", LAYOUT, blocking="no"), "blocking='no' is a str; give a bool"),
        (lambda: build_skipping_checks("a", "t", ["id = 1"]), "give a dict: {'one_day': "),
        (
            lambda: build_skipping_checks("a", "t", {"one": "id = 1"}, min_skipped=[0.9]),
            "min_skipped is a list of float; give a float or a str",
        ),
        (lambda: build_log_health_check("a", "t", max_commits=True), "max_commits=True is a bool; give an int"),
        (lambda: build_log_health_check("a", "t", max_commits=2.5), "max_commits=2.5 is a float; give an int"),
        (
            lambda: MaintainedTable("a", "t", LAYOUT, predicates="id = 1"),
            r"give a list of str: predicates=\['id = 1'\]",
        ),
        (lambda: MaintainedTable("a", "t", LAYOUT, workload=7), "give a Workload, .*: pr.Workload.read"),
        (
            lambda: build_layout_advice_check("a", "t", workload="w", more_deps="queries"),
            "more_deps='queries' is a str; give a list of",
        ),
        (
            lambda: build_table_asset("a", table="t", layout=LAYOUT, source="s", format="detla"),
            "format='detla': choose",
        ),
        (
            lambda: build_table_asset("a", table="t", layout=LAYOUT, source="s", mode="owerwrite"),
            "mode='owerwrite': choose",
        ),
        (lambda: pruned_asset(layout=LAYOUT, format="detla"), "choose 'parquet' or 'iceberg' or 'delta'"),
        (lambda: external_table("a", "t", format="detla"), "format='detla'"),
        (
            lambda: PrunedTableIOManager(root="lake", format="detla", spark=SparkSessionResource()),
            "format='detla': choose ",
        ),
    ],
)
def test_the_message_says_what_to_give(build, message):
    with pytest.raises(WrongUse, match=message):
        build()


def test_a_format_may_be_a_variable_of_the_environment():
    assert PrunedTableIOManager(root="lake", format=dg.EnvVar("FORMAT"), spark=SparkSessionResource()).root == "lake"


def test_any_collection_is_a_list():
    by_key = {"a": CHECKS[0]}
    assert build_layout_validation_job("j", checks=by_key.values()).name == "j"
    assert build_layout_checks("a", "t", LAYOUT, allow={"s3://b"}) is not None


def test_a_decorated_function_looks_as_before():
    assert next(iter(inspect.signature(build_layout_checks).parameters)) == "asset_key"
    assert "Build the checks" in build_layout_checks.__doc__
