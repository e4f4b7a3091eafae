from __future__ import annotations

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import LayoutError
from parquet_core.layout.checks import CHECKS as LAYOUT_CHECKS
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable

CHECKS = {check.name for check in LAYOUT_CHECKS}

KEY = dg.AssetKey(["lake", "events"])
LAYOUT = LayoutSpec(sort_by=("day",), page_rows=100)


@dg.asset(key=KEY)
def events():
    return None


@dg.asset(deps=[KEY])
def downstream():
    return None


def put(table, *values, page_index=True, **more):
    table.mkdir(exist_ok=True)
    for number, days in enumerate(values):
        columns = {"day": days, "word": [f"w{day}" for day in days]} | more
        path = table / f"part-{number}.parquet"
        pq.write_table(pa.table(columns), path, write_page_index=page_index, max_rows_per_page=100)
    return table


def evaluate(table, layout=LAYOUT, **options):
    """Run the checks by themselves; return the results by name."""
    checks = LayoutTable(KEY, table, layout=layout).checks(**options)
    return {result.check_name: result for result in checks(dg.build_asset_check_context())}


def failed(results):
    return {name for name, result in results.items() if not result.passed}


def test_a_good_table_passes_every_check_and_shows_its_margins(tmp_path):
    results = evaluate(put(tmp_path / "t", range(250), range(250, 500)))
    assert set(results) == CHECKS
    assert failed(results) == set()
    rows = results["column_index_present"].metadata["findings"].records
    assert any("writers drop a column index above 4,096" in row.data["message"] for row in rows)
    strengths = [row.data["code"] for row in results["sorted_order"].metadata["findings"].records]
    assert strengths == ["order.row_groups", "order.pages", "order.rows"]


def test_an_unsorted_table_fails_where_it_is_broken_and_says_where(tmp_path):
    results = evaluate(put(tmp_path / "t", [5, 1, 9], [4, 6]))
    assert failed(results) == {"files_do_not_overlap", "sorted_order"}
    overlap = results["files_do_not_overlap"]
    assert overlap.severity is dg.AssetCheckSeverity.ERROR
    assert "part-1.parquet" in overlap.description
    assert "the job of `LayoutTable.optimize_job`" in overlap.metadata["remedy"].value


def test_an_absent_bloom_filter_and_column_index_are_found(tmp_path):
    layout = LayoutSpec(sort_by=("day",), bloom={"word": 0.01})
    results = evaluate(put(tmp_path / "t", range(10), page_index=False), layout)
    assert failed(results) >= {"bloom_filters_present", "column_index_present"}
    assert "no page index in 1 of 1 row group" in results["column_index_present"].description


def test_a_layout_without_bloom_filters_says_that_none_were_asked_for(tmp_path):
    table = put(tmp_path / "t", range(10))
    for prefix in ("", "strict_"):
        result = evaluate(table, prefix=prefix)[f"{prefix}bloom_filters_present"]
        assert (result.passed, result.description) == (True, "none asked for: `bloom` of the layout is empty")
    asked = evaluate(table, LayoutSpec(sort_by=("day",), bloom={"word": 0.01}))["bloom_filters_present"]
    assert "none asked for" not in asked.description


def test_pages_that_are_too_large_are_only_a_warning(tmp_path):
    results = evaluate(put(tmp_path / "t", range(250)), LayoutSpec(sort_by=("day",), page_rows=10), blocking=True)
    assert failed(results) == {"sizes_within_limits"}
    assert results["sizes_within_limits"].severity is dg.AssetCheckSeverity.WARN


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda table: [file.unlink() for file in table.iterdir()], "no data file"),
        (lambda table: (table / "part-0.parquet").write_bytes(b"PAR1 no footer PAR1"), "part-0.parquet"),
        (lambda table: (table / "part-0.parquet").write_bytes(b""), "no data file"),
    ],
)
def test_a_table_that_cannot_be_read_fails_every_check_and_says_why(tmp_path, spoil, reason):
    table = put(tmp_path / "t", range(10))
    spoil(table)
    results = evaluate(table)
    assert failed(results) == CHECKS
    assert all(reason in result.description for result in results.values())


def test_a_fault_of_the_program_fails_every_check_and_stops_nothing(tmp_path, monkeypatch):
    def fault(*_, **__):
        raise RuntimeError("odd\nvery odd")

    monkeypatch.setattr("prune_assets.checks.layout_proof.prove", fault)
    results = evaluate(put(tmp_path / "t", range(10)))
    assert failed(results) == CHECKS
    assert {result.description for result in results.values()} == {"RuntimeError: odd\\nvery odd"}


def test_values_that_are_not_what_their_pages_claim_fail_every_check(tmp_path):
    table = put(tmp_path / "t", range(10))
    part = table / "part-0.parquet"
    part.write_bytes(b"PAR1" + b"\xff" * 60 + part.read_bytes()[64:])
    results = evaluate(table)
    assert failed(results) == CHECKS
    assert all("page at byte 0 of the chunk" in result.description for result in results.values())


def test_a_layout_of_other_columns_fails_every_check_and_says_which_is_meant(tmp_path):
    results = evaluate(put(tmp_path / "t", range(10)), LayoutSpec(sort_by=("days",)))
    assert failed(results) == CHECKS
    assert "did you mean day" in results["sorted_order"].description


@pytest.mark.parametrize("curve", ["zorder_by", "hilbert_by"])
def test_rows_that_lie_along_no_curve_fail_the_check_of_their_order(tmp_path, curve):
    layout = LayoutSpec(**{curve: ("day", "key")})
    days = [i * 7919 % 2000 for i in range(2000)]
    for number in range(20):
        part = slice(number * 100, (number + 1) * 100)
        put(tmp_path / "t", days[part], key=[i % 1009 for i in days[part]])
        (tmp_path / "t" / "part-0.parquet").rename(tmp_path / "t" / f"{number}.parquet")
    results = evaluate(tmp_path / "t", layout)
    assert failed(results) == {"sorted_order"}
    codes = {row.data["code"] for row in results["sorted_order"].metadata["findings"].records}
    assert codes == {"clustering.ineffective"}


def test_one_check_can_run_alone(tmp_path):
    put(tmp_path / "t", range(10))
    checks = LayoutTable(KEY, tmp_path / "t", layout=LAYOUT).checks()
    defs = dg.Definitions(assets=[events], asset_checks=[checks])
    only = dg.AssetCheckKey(KEY, "sorted_order")
    job = dg.define_asset_job("alone", selection=dg.AssetSelection.checks(only))
    with dg.DagsterInstance.ephemeral() as instance:
        defs = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
        result = defs.resolve_job_def("alone").execute_in_process(instance=instance)
    assert [evaluation.check_name for evaluation in result.get_asset_check_evaluations()] == ["sorted_order"]


@pytest.mark.parametrize(("blocking", "stopped"), [(True, True), (False, False)])
def test_only_a_blocking_check_stops_what_lies_downstream(tmp_path, blocking, stopped):
    put(tmp_path / "t", [3, 1, 2])
    checks = LayoutTable(KEY, tmp_path / "t", layout=LAYOUT).checks(blocking=blocking)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([events, downstream, checks], instance=instance, raise_on_error=False)
    assert result.success is not stopped
    made = {event.asset_key for event in result.get_asset_materialization_events()}
    assert (downstream.key in made) is not stopped
    evaluations = {evaluation.check_name: evaluation.passed for evaluation in result.get_asset_check_evaluations()}
    assert evaluations["sorted_order"] is False


def test_severity_can_be_lowered(tmp_path):
    results = evaluate(put(tmp_path / "t", [3, 1, 2]), severity=dg.AssetCheckSeverity.WARN)
    assert results["sorted_order"].severity is dg.AssetCheckSeverity.WARN


DAYS = dg.StaticPartitionsDefinition(["a", "b", "c"])
BY_PART = LayoutSpec(sort_by=("day",), partition_by=("part",))


@pytest.fixture
def by_part(tmp_path):
    """Partition a is sorted, b is not, c is not there."""
    for name, days in {"a": [1, 2], "b": [2, 1]}.items():
        (tmp_path / f"part={name}").mkdir()
        pq.write_table(pa.table({"day": days}), tmp_path / f"part={name}/x.parquet", write_page_index=True)
    return tmp_path


# Dagster's own: partitions of checks are a preview there.
@pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec")
@pytest.mark.parametrize(("partition", "wrong"), [("a", set()), ("b", {"sorted_order"}), ("c", set())])
def test_a_run_of_a_partition_checks_its_files_alone(by_part, partition, wrong):
    checks = LayoutTable(KEY, by_part, layout=BY_PART, partitions_def=DAYS, partition_expr="part").checks(
        by_partition=True
    )

    @dg.asset(key=KEY, partitions_def=DAYS)
    def parts():
        return None

    found = dg.materialize([parts, checks], partition_key=partition).get_asset_check_evaluations()
    assert {evaluation.check_name for evaluation in found if not evaluation.passed} == wrong
    assert {evaluation.partition for evaluation in found} == {partition}
    if partition == "c":
        assert all("no file has rows" in evaluation.description for evaluation in found)


def test_without_partitions_the_same_table_is_checked_whole(by_part):
    assert failed(evaluate(by_part, BY_PART)) == {"sorted_order"}


def test_checks_by_partition_name_its_column():
    with pytest.raises(LayoutError, match="the partition column is unknown"):
        LayoutTable(KEY, "t", layout=BY_PART, partitions_def=DAYS).checks()


@pytest.mark.parametrize("prefix", ["by_day", "by_day_"])
def test_an_underscore_ends_a_prefix_given_or_not(tmp_path, prefix):
    results = evaluate(put(tmp_path / "t", range(250)), prefix=prefix)
    assert (
        set(results)
        == {f"by_day_{name}" for name in CHECKS}
        == {spec.name for spec in LayoutTable(KEY, "t").check_specs(prefix=prefix)}
    )
    assert failed(results) == set()
    definition = LayoutTable(KEY, tmp_path / "t", layout=LAYOUT).checks(prefix=prefix)
    assert definition.op.name == "lake__events_by_day_layout"
