"""Checks and assets with no rows: the option `when_empty`."""

import dagster as dg
import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource, build_dbt_checks

LAYOUT = pr.LayoutSpec(partition_by=["day"], sort_by=["id"])
SORTED = pr.LayoutSpec(sort_by=["id"])
DAYS = dg.StaticPartitionsDefinition(["2024-03-01", "2024-03-02"])


@pytest.fixture
def days(tmp_path):
    """A table with the rows of one day."""
    rows = pa.table({"day": ["2024-03-01"] * 1000, "id": range(1000)})
    pq.write_to_dataset(rows, tmp_path / "days", partition_cols=["day"], write_page_index=True)
    return tmp_path / "days"


@pytest.fixture
def bare(tmp_path):
    """A Delta table without files."""
    deltalake.write_deltalake(tmp_path / "bare", pa.schema([("id", pa.int64())]).empty_table())
    return tmp_path / "bare"


def of_dbt(table, **options):
    prune = {"layout": {"sort_by": ["id"]}, "predicates": ["id = 1"], "table": str(table)}
    model = {"resource_type": "model", "name": "ids", "config": {"meta": {"prune": prune}}}
    checks = build_dbt_checks({"nodes": {"model.shop.ids": model}}, **options)
    return [result for check in checks for result in check(dg.build_asset_check_context())]


EMPTY = {
    "layout of a table": lambda _, bare, **options: [
        *LayoutTable("ids", bare, layout=SORTED).checks(**options)(dg.build_asset_check_context())
    ],
    "skipping": lambda _, bare, **options: [
        *LayoutTable("ids", bare, predicates={"one": "id = 1"}).skipping_checks(**options)(
            dg.build_asset_check_context()
        )
    ],
    "statistics": lambda _, bare, **options: [*LayoutTable("ids", bare).statistics_truth_check(**options)()],
    "dbt": lambda _, bare, **options: of_dbt(bare, **options),
}


@pytest.mark.parametrize("case", EMPTY)
def test_a_check_without_rows_passes_and_says_so(case, days, bare):
    results = EMPTY[case](days, bare)
    assert results
    assert all(result.passed and result.metadata["empty"].value for result in results)
    assert all("so no file was checked" in result.description for result in results)


@pytest.mark.parametrize("case", EMPTY)
def test_or_fails_or_gives_no_result(case, days, bare):
    failed = EMPTY[case](days, bare, when_empty="fail", severity=dg.AssetCheckSeverity.WARN)
    assert failed
    assert not any(result.passed for result in failed)
    assert {result.severity for result in failed} == {dg.AssetCheckSeverity.WARN}
    assert EMPTY[case](days, bare, when_empty="skip") == []


@pytest.mark.parametrize("case", EMPTY)
def test_another_choice_is_refused(case, days, bare):
    with pytest.raises(WrongUse, match="when_empty = 'ignore': choose 'pass', 'skip' or 'fail'"):
        EMPTY[case](days, bare, when_empty="ignore")


def run_of(day, table, when_empty):
    """Run the checks of a day, with an asset after them that a failure holds back."""
    days_ = dg.asset(name="days", partitions_def=DAYS)(lambda: None)
    after = dg.asset(name="after", deps=[days_], partitions_def=DAYS)(lambda: None)
    checked = LayoutTable("days", table, layout=LAYOUT, partitions_def=DAYS, partition_expr="day")
    checks = checked.checks(by_partition=True, blocking=True, when_empty=when_empty)
    defs = dg.Definitions(assets=[days_, after], asset_checks=[checks])
    job = defs.resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(partition_key=day, raise_on_error=False)
    passed = {evaluation.passed for evaluation in done.get_asset_check_evaluations()}
    return passed, done.success, bool(done.asset_materializations_for_node("after"))


@pytest.mark.filterwarnings("ignore")  # Dagster calls partitions of checks a preview
@pytest.mark.parametrize(
    ("when_empty", "outcome"),
    [("pass", ({True}, True, True)), ("skip", (set(), True, True)), ("fail", ({False}, False, False))],
)
def test_of_a_partition_without_files(when_empty, outcome, days):
    assert run_of("2024-03-02", days, when_empty) == outcome
    assert run_of("2024-03-01", days, when_empty) == ({True}, True, True)


class Rows:
    """A stand-in for a DataFrame, with only the methods that an asset calls."""

    def __init__(self, count):
        self.count = count

    def isEmpty(self):
        return not self.count


class Kept(dg.IOManager):
    """Keeps how many rows were written."""

    def handle_output(self, context, obj):
        context.add_output_metadata({"rows": obj.count})

    def load_input(self, context):
        raise NotImplementedError


@pytest.mark.parametrize(("rows", "names"), [(0, set()), (5, {"ids", "after"})])
def test_an_asset_that_skips_is_not_materialized_nor_is_what_depends_on_it(rows, names):
    @LayoutTable("ids", "lake/ids", layout=SORTED).asset(when_empty="skip")
    def ids(context: dg.AssetExecutionContext) -> Rows:
        """Some numbers."""
        assert context.asset_key == dg.AssetKey("ids")
        return Rows(rows)

    after = dg.asset(name="after", deps=[ids])(lambda: None)
    done = dg.materialize([ids, after], resources={"tables": Kept()}, raise_on_error=False)
    made = {event.asset_key.to_user_string() for event in done.get_asset_materialization_events()}
    assert (done.success, made) == (True, names)
    assert ids.descriptions_by_key[ids.key] == "Some numbers."


def test_an_asset_refuses_another_choice():
    with pytest.raises(WrongUse, match="when_empty = 'ignore'"):
        LayoutTable("ids", "lake/ids", layout=SORTED).asset(when_empty="ignore")
    with pytest.raises(WrongUse, match="when_empty = 'ignore'"):
        LayoutTable("ids", "lake/ids", layout=SORTED).asset_from("SELECT 1 AS id", when_empty="ignore")


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["table", "pruned"])
def test_a_run_without_rows_leaves_the_table_as_it_is_unless_that_passes(kind, spark, tmp_path):
    source = "SELECT id FROM range(9) WHERE id > 9"
    table = tmp_path / "ids"
    pr.write(spark.range(9), table, layout=SORTED, format="delta")

    def run(when_empty):
        sorted_ids = LayoutTable("ids", table, layout=SORTED, format="delta")
        if kind == "table":
            ids = sorted_ids.asset_from(source, when_empty=when_empty, check_layout=True)
        else:

            @sorted_ids.asset(when_empty=when_empty)
            def ids():
                return spark.sql(source)

        session = SparkSessionResource()
        resources = {"spark": session, "tables": PrunedTableIOManager(root="lake", spark=session)}
        done = dg.materialize([ids], resources=resources, raise_on_error=False)
        made = len(done.get_asset_materialization_events())
        return done.success, made, pr.read(table, where="true", session=spark).count()

    assert run("skip") == (True, 0, 9)
    assert run("fail") == (False, 0, 9)
    assert run("pass") == (True, 1, 0)
