"""Changes that are merged into a table, and a check of the files that a MERGE opens."""
# No `from __future__ import annotations`: Dagster compares the annotation of `context` itself, not its source text.

import dagster as dg
import pyarrow as pa
import pytest
from delta_tables import write_table

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable
from prune_assets.merging import run_merge
from prune_assets.merging.run_merge import MergeResult


@pytest.fixture
def orders(tmp_path):
    """Ten files, sorted by id."""
    for i in range(10):
        write_table(tmp_path / "orders", pa.table({"id": range(100 * i, 100 * (i + 1))}), mode="append")
    return LayoutTable("sales/orders", tmp_path / "orders", format="delta")


def changes(tmp_path, ids):
    write_table(tmp_path / "changes", pa.table({"id": ids}))
    return tmp_path / "changes"


def test_a_check_passes_while_a_merge_opens_little(orders, tmp_path):
    check = orders.merge_check(changes(tmp_path, [7, 12]), on="t.id = s.id", max_opened=0.2)
    result = check()
    assert result.passed
    assert result.metadata["prune/merge_files_opened"].value == 1
    assert result.metadata["prune/merge_opened_share_as_written"].value == 1


def test_a_check_says_why_a_merge_opens_more(orders, tmp_path):
    check = orders.merge_check(changes(tmp_path, [7, 512]), on="t.id + 0 = s.id", max_opened="5%")
    result = check()
    assert not result.passed
    assert result.severity == dg.AssetCheckSeverity.WARN
    assert result.description.startswith("the MERGE opens 100 % of the table: t.id + 0 = s.id: ")


def test_a_check_of_a_missing_source_fails_with_the_reason(orders, tmp_path):
    result = orders.merge_check(tmp_path / "none", on="t.id = s.id")()
    assert not result.passed
    assert "none" in result.description
    with pytest.raises(WrongUse, match="max_opened"):
        orders.merge_check(tmp_path / "none", on="t.id = s.id", max_opened=7)


def test_an_asset_merges_the_rows_of_its_function(orders, monkeypatch):
    """Only the MERGE itself is replaced: it needs delta-spark, with which the matrix runs it."""
    merged = []

    def merge(table, source, *, on, when):
        merged.append((table, source.to_pydict(), on, when))
        report = pr.plan_merge(table, source, on=on, when=when).report
        return MergeResult(report, 11, {}, report.with_condition, 1, 2, 0, 0.5)

    monkeypatch.setattr(run_merge, "merge", merge)

    @orders.merge_asset(on="t.id = s.id", when=["MATCHED DELETE"], group_name="sales")
    def changed_orders(context: dg.AssetExecutionContext, spark: dg.ResourceParam[str]):
        assert spark == "session"
        context.log.info("computed")
        return pa.table({"id": [7, 12, 5_000]})

    run = dg.materialize([changed_orders], resources={"spark": "session"})
    (materialization,) = run.asset_materializations_for_node("sales__orders")
    assert merged == [(str(orders.table), {"id": [7, 12, 5_000]}, "t.id = s.id", ["MATCHED DELETE"])]
    figures = {name: value.value for name, value in materialization.metadata.items() if name.startswith("prune/")}
    assert figures["prune/merge_files_opened"] == figures["prune/merge_files_measured"] == 1
    assert (figures["prune/rows_inserted"], figures["prune/rows_updated"], figures["prune/version"]) == (1, 2, 11)
    assert "ON (t.id = s.id) AND" in figures["prune/merge"]
