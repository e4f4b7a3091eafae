"""Functions that run in a Spark process with Iceberg: Dagster assets, checks and sensors on a table."""
# No `from __future__ import annotations` here: Dagster compares the annotation of `context` itself, not its text.

import warnings
from pathlib import Path

import dagster as dg

import prune_assets as pr
from prune_assets.components import PrunedTableComponent
from prune_assets.components.fields import CheckOptions
from prune_assets.dagster import (
    LayoutTable,
    PrunedTableIOManager,
    SparkSessionResource,
    build_fleet_asset,
)

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-05")


def resources(**options):
    spark = SparkSessionResource()
    return {"spark": spark, "tables": PrunedTableIOManager(root="lake", format="iceberg", spark=spark, **options)}


def plain(metadata):
    return {key: getattr(value, "value", None) for key, value in metadata.items()}


def failure(run):
    """The message of the error by which a run failed, or of what caused it."""
    (event,) = run.get_step_failure_events()
    error = event.step_failure_data.error
    return (error.cause or error).message.strip()


def rows(spark, table):
    return {f"{row.day:%d}": row["count"] for row in spark.table(table).groupBy("day").count().collect()}


def daily(layout, expr, name, count=100, days=None):
    """An asset `web/NAME` of one partition a day, and one downstream that counts the rows of its day."""

    @LayoutTable(
        ["web", name], f"lake.web.{name}", layout=layout, format="iceberg", partitions_def=DAYS, partition_expr=expr
    ).asset
    def events(context: dg.AssetExecutionContext, spark: SparkSessionResource):
        day = days or context.partition_key
        return spark.session.sql(
            f"SELECT id, DATE '{day}' AS day, TIMESTAMP '{day} 01:00:00' + make_interval(0, 0, 0, 0, 0, id) AS ts "
            f"FROM range({count})"
        )

    @dg.asset(key=["counted", name], partitions_def=DAYS, ins={"events": dg.AssetIn(key=["web", name])})
    def counted(events):
        return dg.MaterializeResult(metadata={"rows": events.count()})

    return events, counted


def days_are_replaced(spark, layout, expr, name):
    """Write two days, one of them twice, then rows of another day; return metadata, rows and the failure."""
    assets = daily(pr.LayoutSpec(**layout), expr, name)
    for day in ("2024-01-01", "2024-01-02"):
        assert dg.materialize(assets, resources=resources(), partition_key=day).success
    again = daily(pr.LayoutSpec(**layout), expr, name, count=7)
    run = dg.materialize(again, resources=resources(), partition_key="2024-01-02")
    metadata = plain(run.asset_materializations_for_node(f"web__{name}")[0].metadata)
    counted = plain(run.asset_materializations_for_node(f"counted__{name}")[0].metadata)["rows"]
    wrong = daily(pr.LayoutSpec(**layout), expr, name, days="2024-01-03")[:1]
    failed = dg.materialize(wrong, resources=resources(), partition_key="2024-01-02", raise_on_error=False)
    snapshots = spark.sql(f"SELECT * FROM lake.web.{name}.snapshots").count()
    return metadata, counted, rows(spark, f"lake.web.{name}"), failure(failed), snapshots


def results_of(checks):
    return {one.check_name: (one.passed, one.description) for one in checks(dg.build_asset_check_context())}


def checked(spark, table, layout):
    """The results of checks that start no Spark, by name."""
    layout = pr.LayoutSpec(**layout)
    single = [
        LayoutTable("events", table).file_health_check()(),
        *LayoutTable("events", table).statistics_truth_check()(),
    ]
    return (
        results_of(LayoutTable("events", table, layout=layout).checks())
        | results_of(LayoutTable("events", table, predicates={"one": "id = 17"}).skipping_checks(min_skipped=0.1))
        | {one.check_name or "metadata_consistency": (one.passed, one.description) for one in single}
    )


def checked_by_day(spark, table, layout, expr):
    """Return layout check results of one day, and the days that the sensor requests before and after a write."""
    with warnings.catch_warnings(action="ignore"):
        by_day = {"layout": pr.LayoutSpec(**layout), "partitions_def": DAYS, "partition_expr": expr}
        checked_table = LayoutTable("events", table, **by_day)
        checks, sensor = checked_table.checks(by_partition=True), checked_table.partition_sensor()

        @dg.asset(partitions_def=DAYS)
        def events():
            pass

        run = dg.materialize([events, checks], partition_key="2024-01-02")
        evaluations = {one.check_name: (one.passed, one.description) for one in run.get_asset_check_evaluations()}

        def tick(cursor):
            done = sensor(dg.build_sensor_context(cursor=cursor))
            asked = done.run_requests or []
            return [one.tags["dagster/partition"] for one in asked] or done.skip_reason.skip_message, done.cursor

        first, cursor = tick(None)
        second, cursor = tick(cursor)
        name = table.removeprefix("iceberg:")
        spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE day = DATE '2024-01-01' LIMIT 3")
        return evaluations, [first, second, tick(cursor)[0]]


def new_snapshots(spark, table):
    """Return what the change sensor requests at first, again, and after a commit; and the observed data version."""
    sensor = LayoutTable("events", table).sensor(observe=True)
    said, cursor = [], None
    for i in range(3):
        if i == 2:
            spark.sql(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1")
        result = sensor(dg.build_sensor_context(cursor=cursor))
        cursor = result.cursor
        said.append((len(result.run_requests), [dict(event.tags) for event in result.asset_events]))
    current = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC").first()[0]
    return said, current


def maintained(spark, table, layout):
    """The drift sensor, the job that it starts, the sensor after it, and the page of the fleet before and after."""
    kept = LayoutTable("events", table, layout=pr.LayoutSpec(**layout), predicates={"one": "id = 17"})
    job = kept.optimize_job()
    drift = kept.drift_sensor()
    with dg.DagsterInstance.ephemeral() as instance:
        pages = [_page(kept, instance)]
        before = drift(dg.build_sensor_context(instance=instance))
        done = job.execute_in_process(resources=resources(), instance=instance)
        observed = instance.fetch_observations(kept.key, limit=1).records[0].asset_observation
        after = drift(dg.build_sensor_context(instance=instance, cursor=before.cursor))
        pages.append(_page(kept, instance))
    return len(before.run_requests), done.success, plain(observed.metadata), after.skip_reason.skip_message, pages


def _page(kept, instance):
    run = dg.materialize([build_fleet_asset([kept])], instance=instance)
    (row,) = run.asset_materializations_for_node("fleet")[0].metadata["prune/fleet"].records
    return dict(row.data)


def whole_table(spark, table, reports):
    """An asset of one query, checked by its own run, and the report of a predicate on it."""
    layout = pr.LayoutSpec(sort_by=["id"], files=2)
    source = "SELECT id, id % 7 AS k FROM range(10000)"
    asset = LayoutTable("whole", table, layout=layout, format="iceberg").asset_from(source, check_layout=True)
    report = LayoutTable("whole", table).skip_report("few", "id < 100", reports=reports)
    run = dg.materialize([asset, report], resources=resources())
    written = plain(run.asset_materializations_for_node("whole")[0].metadata)
    skipped = plain(run.asset_materializations_for_node("skip_reports__few")[0].metadata)
    checks = {one.check_name: one.passed for one in run.get_asset_check_evaluations()}
    return written, asset.metadata_by_key[asset.key], checks, skipped, len([*Path(reports).rglob("*.html")])


def appended(spark, table, count):
    """Commit files that overlap, without page indexes: as pyiceberg writes them."""
    from pyiceberg.catalog import load_catalog

    catalog, _, name = table.partition(".")
    loaded = load_catalog(catalog).load_table(name)
    rows = loaded.scan().to_arrow()
    for i in range(count):
        loaded.append(rows.slice(i).take(list(range(0, len(rows) - i, count))))


def component(spark, table):
    """The component of a table in YAML: its asset and its checks in one run."""
    made = PrunedTableComponent(
        asset=dg.AssetSpec("made"),
        table=table,
        source="SELECT id FROM range(1000)",
        layout={"sort_by": ["id"]},
        format="iceberg",
        checks=CheckOptions(skipping={"few": "id < 10"}, min_skipped=0.0),
    )
    defs = made.build_defs(None)  # which knows where paths begin
    run = dg.materialize([*defs.assets, *defs.asset_checks], resources=resources())
    return {one.check_name: (one.passed, one.description) for one in run.get_asset_check_evaluations()}
