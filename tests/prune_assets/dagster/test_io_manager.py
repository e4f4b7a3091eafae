# No `from __future__ import annotations` here: Dagster compares the annotation of `context` itself, not its text.

import logging

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import DeltaTable

import prune_assets as pr
from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-05")
LAYOUT = pr.LayoutSpec(partition_by=["day"], sort_by=["id"], files=1)


@pytest.fixture
def resources(tmp_path, spark):
    session = SparkSessionResource()
    return {"spark": session, "tables": PrunedTableIOManager(root=str(tmp_path), spark=session)}


def orders(place, layout_format, rows="range(100)", days=None, **options):
    """An asset of a table with one partition a day."""

    of_days = {"partitions_def": DAYS, "partition_expr": "day"}

    @LayoutTable("orders", place / "orders", layout=LAYOUT, format=layout_format, **of_days).asset(**options)
    def made(context: dg.AssetExecutionContext, spark: SparkSessionResource):
        start, end = context.partition_time_window
        chosen = days or f"sequence(DATE '{start:%Y-%m-%d}', DATE '{end:%Y-%m-%d}' - INTERVAL 1 DAY)"
        return spark.session.sql(f"SELECT id, explode({chosen}) AS day FROM {rows}")

    return made


def counts(spark, table):
    rows = pr.read(table, where="true", session=spark).groupBy("day").count().collect()
    return {f"{row.day:%d}": row["count"] for row in rows}


@pytest.mark.spark
@pytest.mark.parametrize("layout_format", ["parquet", "delta"])
def test_a_run_replaces_its_partitions_and_no_others(layout_format, tmp_path, resources, spark):
    for day in ("2024-01-01", "2024-01-02"):
        assert dg.materialize([orders(tmp_path, layout_format)], resources=resources, partition_key=day).success
    run = dg.materialize([orders(tmp_path, layout_format, "range(7)")], resources=resources, partition_key="2024-01-02")
    metadata = run.asset_materializations_for_node("orders")[0].metadata
    assert counts(spark, tmp_path / "orders") == {"01": 100, "02": 7}
    assert metadata["dagster/partition_row_count"].value == 7
    assert metadata["prune/files"].value == 1
    # Rows of other days fail the run, and nothing is replaced.
    wrong = orders(tmp_path, layout_format, days="array(DATE '2024-01-02', DATE '2024-01-03')")
    failed = dg.materialize([wrong], resources=resources, partition_key="2024-01-02", raise_on_error=False)
    (failure,) = failed.get_step_failure_events()
    message = failure.step_failure_data.error.cause.message
    assert "; return only rows of the partitions of the run" in message
    assert "widen" not in message
    assert counts(spark, tmp_path / "orders") == {"01": 100, "02": 7}
    if layout_format == "delta":
        assert DeltaTable(tmp_path / "orders").to_pyarrow_table().num_rows == 107


@pytest.mark.spark
@pytest.mark.parametrize("layout_format", ["parquet", "delta"])
def test_a_run_without_rows_replaces_nothing_and_says_so(layout_format, tmp_path, resources, spark):
    day = "2024-01-02"
    assert dg.materialize([orders(tmp_path, layout_format)], resources=resources, partition_key=day).success
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    with dg.DagsterInstance.ephemeral() as instance:
        empty = orders(tmp_path, layout_format, "range(0)")
        run = dg.materialize([empty], resources=resources, partition_key=day, instance=instance)
        logs = [entry.user_message for entry in instance.all_logs(run.run_id) if entry.level == logging.WARNING]
    assert any("orders: the function returned no rows, so nothing was replaced" in line for line in logs)
    assert counts(spark, tmp_path / "orders") == {"02": 100}
    assert before == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    metadata = run.asset_materializations_for_node("orders")[0].metadata
    assert "dagster/partition_row_count" not in metadata, "the partition has rows, and the run wrote none"
    assert (metadata["prune/run_rows"].value, metadata["prune/run_files"].value) == (0, 0)


@pytest.mark.spark
@pytest.mark.parametrize("partitioned", [True, False])
def test_what_is_no_dataframe_fails_the_run_in_one_line(partitioned, tmp_path, resources):
    def outcome(returned):
        options = {"partitions_def": DAYS, "partition_expr": "day"} if partitioned else {}

        @LayoutTable("made", tmp_path / "made", layout=LAYOUT, **options).asset
        def made():
            return returned

        key = "2024-01-02" if partitioned else None
        run = dg.materialize([made], resources=resources, partition_key=key, raise_on_error=False)
        (failure,) = run.get_step_failure_events()
        return str(failure.step_failure_data.error.cause.message)

    assert "WrongUse: made: the function returned None; return a DataFrame of Spark" in outcome(None)
    assert "WrongUse: df: Table is not a DataFrame of Spark; make one with" in outcome(pa.table({"id": [1]}))


@pytest.mark.spark
def test_an_asset_that_says_itself_what_it_wrote_is_believed(tmp_path, resources):
    @LayoutTable("made", tmp_path / "made", layout=LAYOUT).asset
    def made() -> dg.MaterializeResult:
        return dg.MaterializeResult(metadata={"rows": 1})

    assert dg.materialize([made], resources=resources).success


@pytest.mark.spark
def test_an_input_has_the_rows_it_asks_for_and_a_wrong_predicate_writes_nothing(tmp_path, resources, spark):
    seen = {}

    @dg.asset(partitions_def=DAYS, ins={"orders": dg.AssetIn(metadata={"where": "id < 10"})}, io_manager_key="tables")
    def some(orders) -> None:
        seen["some"] = counts_of(orders)

    @dg.asset(ins={"orders": dg.AssetIn(metadata={"where": "id < 10", "columns": ["day"]})}, io_manager_key="tables")
    def only_days(orders) -> None:
        seen["columns"] = (orders.columns, counts_of(orders))

    @dg.asset(ins={"orders": dg.AssetIn()}, io_manager_key="tables")
    def every(orders) -> None:
        seen["every"] = counts_of(orders)

    @LayoutTable("copied", tmp_path / "copied", layout=pr.LayoutSpec(sort_by=["id"])).asset(
        ins={"orders": dg.AssetIn(metadata={"where": "no_such > 1"})}
    )
    def copied(orders):
        return orders

    def counts_of(rows):
        return {f"{row.day:%d}": row["count"] for row in rows.groupBy("day").count().collect()}

    made = orders(tmp_path, "delta")
    for day in ("2024-01-01", "2024-01-02"):
        assert dg.materialize([made, some], resources=resources, partition_key=day).success
        assert seen["some"] == {day[-2:]: 10}
    assert dg.materialize([made, every], selection=[every], resources=resources).success
    assert seen["every"] == {"01": 100, "02": 100}
    assert dg.materialize([made, only_days], selection=[only_days], resources=resources).success
    assert seen["columns"] == (["day"], {"01": 10, "02": 10})
    pr.write(spark.range(5), tmp_path / "copied", layout=pr.LayoutSpec(sort_by=["id"]))
    failed = dg.materialize([made, copied], selection=[copied], resources=resources, raise_on_error=False)
    assert not failed.success
    assert spark.read.parquet(str(tmp_path / "copied")).count() == 5


@pytest.mark.deep
@pytest.mark.spark
def test_partitions_of_two_dimensions_and_texts(tmp_path, resources, spark):
    dimensions = {
        "shop": dg.StaticPartitionsDefinition(["a'b", "c"]),
        "month": dg.MonthlyPartitionsDefinition("2024-01-01"),
    }

    @LayoutTable(
        "sales",
        tmp_path / "sales",
        layout=pr.LayoutSpec(partition_by=["shop", "day"], sort_by=["id"], files=1),
        format="delta",
        partitions_def=dg.MultiPartitionsDefinition(dimensions),
        partition_expr={"shop": "shop", "month": "day"},
    ).asset()
    def sales(context: dg.AssetExecutionContext, spark: SparkSessionResource):
        shop, month = (context.partition_key.keys_by_dimension[name] for name in ("shop", "month"))
        rows = spark.session.range(10).selectExpr("id", f"date_add(DATE '{month}', CAST(id AS INT)) AS day")
        from pyspark.sql import functions as fn

        return rows.withColumn("shop", fn.lit(shop))

    for shop in ("a'b", "c", "a'b"):
        key = dg.MultiPartitionKey({"shop": shop, "month": "2024-02-01"})
        assert dg.materialize([sales], resources=resources, partition_key=key).success
    assert pr.read(tmp_path / "sales", where="shop = 'a\\'b'", session=spark).count() == 10
    assert pr.read(tmp_path / "sales", where="true", session=spark).count() == 20


def test_partitions_need_a_column_of_the_layout():
    with pytest.raises(pr.PruneError, match="the partition column is unknown"):
        LayoutTable("ids", "lake/ids", layout=LAYOUT, partitions_def=DAYS)
    with pytest.raises(pr.PruneError, match=r"partition_by: \[day, shop\]"):
        LayoutTable("ids", "lake/ids", layout=LAYOUT, partitions_def=DAYS, partition_expr="shop")


@pytest.mark.spark
def test_partitions_that_were_added_from_outside_do_not_overwrite_the_table(tmp_path, resources, spark):
    @LayoutTable("ids", tmp_path / "ids", layout=pr.LayoutSpec(sort_by=["id"])).asset
    def ids(spark: SparkSessionResource):
        return spark.session.range(3)

    assert dg.materialize([ids], resources=resources).success
    partitioned = ids.map_asset_specs(lambda spec: spec.replace_attributes(partitions_def=DAYS))
    failed = dg.materialize([partitioned], resources=resources, partition_key="2024-01-02", raise_on_error=False)
    assert not failed.success
    assert spark.read.parquet(str(tmp_path / "ids")).count() == 3


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:Parameter `backfill_policy`")
def test_a_backfill_in_a_single_run_is_one_commit(tmp_path, resources, spark):
    made = orders(tmp_path, "delta", backfill_policy=dg.BackfillPolicy.single_run())
    tags = {"dagster/asset_partition_range_start": "2024-01-01", "dagster/asset_partition_range_end": "2024-01-03"}
    assert dg.materialize([made], resources=resources, partition_key="2024-01-02").success
    before = DeltaTable(tmp_path / "orders").version()
    run = dg.materialize([made], resources=resources, tags=tags)
    assert counts(spark, tmp_path / "orders") == {"01": 100, "02": 100, "03": 100}
    written = [event.metadata for event in run.asset_materializations_for_node("orders")]
    assert [metadata["prune/run_rows"].value for metadata in written] == [300] * 3
    assert not any("prune/files" in metadata for metadata in written), "no figure of one partition"
    assert not any("dagster/partition_row_count" in metadata for metadata in written), "300 are not those of a day"
    assert DeltaTable(tmp_path / "orders").version() == before + 1
