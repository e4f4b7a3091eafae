"""Each function refuses an argument of the wrong type when the definition is built, and says what to give."""

from __future__ import annotations

import inspect

import dagster as dg
import pytest

import prune_assets.dagster
from parquet_core.errors import PruneError, WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import (
    LayoutTable,
    PrunedTableIOManager,
    SparkSessionResource,
    build_fleet_asset,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_new_files_sensor,
    build_workload_asset,
)
from prune_assets.dagster.asset_options import AssetOptions, SpecOptions

LAYOUT = LayoutSpec(partition_by=["day"], sort_by=["id"])
TABLE = LayoutTable("a", "lake/a", layout=LAYOUT, predicates={"one": "id = 1"}, workload="w")
CHECKS = [TABLE.checks()]
JOB = build_layout_validation_job(CHECKS)
# A valid call of each.
CALLS = {
    LayoutTable: {"key": "a", "table": "lake/a"},
    build_fleet_asset: {"tables": [TABLE]},
    build_layout_validation_job: {"checks": CHECKS},
    build_layout_validation_schedule: {"job": JOB},
    build_new_files_sensor: {"tables": [TABLE], "checks": CHECKS},
    build_workload_asset: {"key": "q", "event_logs": "logs", "workloads": "w"},
    TABLE.advice: {},
    TABLE.advice_check: {},
    TABLE.asset: {},
    TABLE.asset_from: {"source": "SELECT 1"},
    TABLE.asset_spec: {},
    TABLE.check_specs: {},
    TABLE.checks: {},
    TABLE.definitions: {},
    TABLE.delete_debt_check: {},
    TABLE.drift_sensor: {},
    TABLE.file_health_check: {},
    TABLE.log_health_check: {},
    TABLE.merge_asset: {"on": "t.id = s.id"},
    TABLE.merge_check: {"source": "lake/b", "on": "t.id = s.id"},
    TABLE.optimize_job: {},
    TABLE.partition_sensor: {},
    TABLE.sensor: {},
    TABLE.skip_report: {"name": "one", "reports": "r"},
    TABLE.skipping_checks: {},
    TABLE.statistics_truth_check: {},
}
# The other public names: most are not definitions, and build_dbt_checks is about dbt.
OTHERS = {"Choice", "PrunedTableIOManager", "SparkSessionResource", "skip_metadata", "table_uri", "build_dbt_checks"}
# Dagster itself checks these arguments.
NOT_OURS = {"job", "options"}


def test_every_function_and_method_is_here():
    methods = {name for name, member in vars(LayoutTable).items() if inspect.isfunction(member) and name[0] != "_"}
    assert {function.__name__ for function in CALLS} | OTHERS == {*prune_assets.dagster.__all__} | methods


@pytest.mark.parametrize("function", CALLS)
def test_every_argument_is_checked_by_its_type(function):
    for name in set(inspect.signature(function).parameters) - NOT_OURS:
        wrong = object()
        with pytest.raises(WrongUse) as refused:
            function(**CALLS[function] | {name: wrong})
        assert name.replace("written_as", "layout") in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", set(CALLS) - {TABLE.partition_sensor})
def test_what_is_right_is_taken(function):
    assert function(**CALLS[function]) is not None


def test_an_editor_knows_the_options_that_dagster_has():
    """Those are left out that the table declares, or that an asset of a table has no use for."""
    of_table = {"key", "name", "key_prefix", "partitions_def", "output_required", "io_manager_def", "is_virtual"}
    known = set(inspect.signature(dg.asset).parameters) - {"compute_fn", "kwargs"}
    assert {*AssetOptions.__annotations__} == known - of_table
    assert {*SpecOptions.__annotations__} <= {*inspect.signature(dg.AssetSpec.__new__).parameters}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: build_fleet_asset(TABLE), r"give a list of LayoutTable: \[LayoutTable"),
        (lambda: build_fleet_asset({"a": "lake/a"}), "give a list of LayoutTable"),
        (lambda: build_new_files_sensor(["lake/a"], checks=CHECKS), "tables is a list of str; give a list of Layout"),
        (lambda: build_layout_validation_job(CHECKS[0]), r"give .*: \[orders.checks\(\)\]"),
        (lambda: build_layout_validation_job([CHECKS]), "give a list of AssetChecksDefinition"),
        (lambda: build_new_files_sensor([], checks=CHECKS, mode="runs"), "choose 'run' or 'report'"),
        (lambda: LayoutTable(CHECKS[0], "t"), "give an AssetKey, .*: 'sales/orders'"),
        (lambda: TABLE.checks(severity="WARN"), "dg.AssetCheckSeverity.WARN"),
        (lambda: LayoutTable("a", "t", allow="s3://b"), r"give a list of str: allow=\['s3://b'\]"),
        (lambda: TABLE.checks(blocking="no"), "checks: blocking='no' is a str; give a bool"),
        (
            lambda: LayoutTable("a", "t", predicates=["id = 1"]),
            "LayoutTable: predicates is .*; give a dict.*: {'one_da",
        ),
        (lambda: LayoutTable("a", "t", predicates={"one": "id = = 1"}), "predicates.one: "),
        (lambda: LayoutTable("a", "t").skipping_checks(), "a: no predicates; give LayoutTable"),
        (lambda: TABLE.skipping_checks(min_skipped=[0.9]), "min_skipped is a list of float; give a float or a str"),
        (lambda: TABLE.log_health_check(max_commits=True), "max_commits=True is a bool; give an int"),
        (lambda: TABLE.log_health_check(max_commits=2.5), "max_commits=2.5 is a float; give an int"),
        (lambda: LayoutTable("a", "t", workload=7), "give a Workload, .*: pr.Workload.read"),
        (lambda: TABLE.advice_check(additional_deps="queries"), "additional_deps='queries' is a str; give a list of"),
        (lambda: LayoutTable("a", "t", format="detla"), "format='detla': choose 'parquet' or 'iceberg' or 'delta'"),
        (lambda: TABLE.asset_from("SELECT 1", mode="owerwrite"), "mode='owerwrite': choose"),
        (lambda: TABLE.asset(mode="owerwrite"), "mode='owerwrite': choose"),
        (
            lambda: PrunedTableIOManager(root="lake", format="detla", spark=SparkSessionResource()),
            "format='detla': choose ",
        ),
    ],
)
def test_the_message_says_what_to_give(build, message):
    with pytest.raises(PruneError, match=message):
        build()


def test_a_format_may_be_a_variable_of_the_environment():
    assert PrunedTableIOManager(root="lake", format=dg.EnvVar("FORMAT"), spark=SparkSessionResource()).root == "lake"


def test_any_collection_is_a_list():
    by_key = {"a": CHECKS[0]}
    assert build_layout_validation_job(by_key.values(), name="j").name == "j"
    assert LayoutTable("a", "t", allow={"s3://b"}).checks() is not None


def test_a_decorated_function_looks_as_before():
    assert [*inspect.signature(LayoutTable.checks).parameters][:2] == ["self", "by_partition"]
    assert "Return the checks" in LayoutTable.checks.__doc__
