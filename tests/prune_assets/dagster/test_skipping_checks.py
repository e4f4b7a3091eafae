from __future__ import annotations

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable
from prune_assets.errors import PredicateSyntaxError

WHERE = {"few": "id < 100", "odd": "id % 7 = 3", "gone": "no_such = 1", "none": "id < 0"}


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "1.parquet", row_group_size=100)
    return tmp_path


def evaluate(table, **options):
    checks = LayoutTable("lake/ids", table, predicates=WHERE).skipping_checks(**options)
    return {result.check_name: result for result in checks(dg.build_asset_check_context())}


def test_a_query_that_skips_too_little_fails_its_check_and_says_why(table):
    results = evaluate(table, min_skipped=0.85)
    assert {name for name, result in results.items() if result.passed} == {"skips_few", "skips_none"}
    assert results["skips_odd"].description.startswith("0 % of bytes skipped, below the required 85 %; ")
    assert results["skips_few"].metadata["prune/skipped_bytes_share"].value == pytest.approx(0.9, abs=0.02)
    assert results["skips_few"].asset_key == dg.AssetKey(["lake", "ids"])


def test_the_description_and_the_summary_round_alike(tmp_path):
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "1.parquet", row_group_size=130)
    result = evaluate(tmp_path, min_skipped=0.99)["skips_few"]
    share = result.metadata["prune/skipped_bytes_share"].value
    percent = int(1000 * share) / 10
    assert f"{100 * share:.1f}" != f"{percent:.1f}", "to the nearest it would be another number"
    assert result.description.startswith(f"{percent:g} % of bytes skipped, below the required 99 %")
    assert f"({percent:.1f} %)" in result.metadata["prune/summary"].value


def test_what_spark_does_not_skip_does_not_count(tmp_path):
    times = pa.array(range(0, 60_000_000_000, 60_000_000), pa.timestamp("us"))
    pq.write_table(pa.table({"at": times}), tmp_path / "1.parquet", row_group_size=100, use_dictionary=False)
    where = {"hour": "at < TIMESTAMP_NTZ '1970-01-01 01:00:00'"}
    checks = LayoutTable("times", tmp_path, predicates=where).skipping_checks(min_skipped=0.5)
    (result,) = checks(dg.build_asset_check_context())
    assert not result.passed
    assert "0 % of bytes skipped by Spark with this plan" in result.description
    assert "it pushes down no part of this predicate. Smaller files would help" in result.description
    assert "pushes down no part of this predicate" in result.metadata["prune/summary"].value


def test_a_column_that_is_gone_and_a_table_that_is_gone_fail_the_check_alone(table, tmp_path):
    assert "no_such" in evaluate(table)["skips_gone"].description
    (table / "1.parquet").unlink()
    results = evaluate(table / "gone")
    assert not any(result.passed for result in results.values())
    assert all("no such file or directory" in result.description for result in results.values())


def test_checks_run_alone(table):
    checks = LayoutTable("ids", table, predicates=WHERE).skipping_checks()
    assert checks.can_subset


def test_wrong_definitions_are_refused_at_once(table):
    with pytest.raises(PredicateSyntaxError):
        LayoutTable("ids", table, predicates={"a": "id = = 1"}).skipping_checks()
    with pytest.raises(WrongUse, match="from 0 to 1"):
        LayoutTable("ids", table, predicates=WHERE).skipping_checks(min_skipped=90)
