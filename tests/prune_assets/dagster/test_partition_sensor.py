from __future__ import annotations

import json
from datetime import datetime

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from delta_tables import delete_rows, write_table

import deltalog
from parquet_core.errors import LayoutError, WrongUse
from parquet_core.layout.checks import CHECKS as LAYOUT_CHECKS
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster.checks import build_layout_checks
from prune_assets.dagster.partition_sensor import build_changed_partitions_sensor

CHECKS = {check.name for check in LAYOUT_CHECKS}

# Dagster's own: partitions of checks are a preview there.
pytestmark = pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec")
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-10")
MONTHS = dg.MonthlyPartitionsDefinition(start_date="2024-01-01", end_date="2024-04-01")
SHOPS = dg.StaticPartitionsDefinition(["north", "south"])


def put_plain(table, rows):
    pq.write_to_dataset(rows, table, partition_cols=["day"])


def put_delta(table, rows, **options):
    days = [pa.scalar(day).cast(pa.date32()).as_py() for day in rows["day"].to_pylist()]
    rows = rows.set_column(rows.schema.get_field_index("day"), "day", pa.array(days, pa.date32()))
    write_table(str(table), rows, mode="append", partition_by=["day"], **options)


def put_iceberg(table, rows, transform=None):
    """Rows as pyiceberg writes them; by a time transform of `ts`, the middle of the day, where one is named."""
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    from tests.prune_assets.tables.iceberg import iceberg_tables

    days = rows["day"].cast(pa.timestamp("us"))
    noon = pc.add(days, pa.scalar(12 * 3600 * 10**6, pa.duration("us"))).cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(0, "day", days.cast(pa.date32())).append_column("ts", noon)
    catalog = iceberg_tables.catalog_in(table.parent)
    if not catalog.table_exists("db.t"):
        made = catalog.create_table("db.t", schema=rows.schema, location=str(table))
        with made.update_spec() as spec:
            spec.add_identity("day") if transform is None else spec.add_field("ts", transform)
    catalog.load_table("db.t").append(rows)


def rows(*days):
    return pa.table({"day": list(days), "id": list(range(len(days)))})


def sensor_of(table, partitions=DAYS, expr="day", **options):
    layout = LayoutSpec(sort_by=["id"], partition_by=[expr] if isinstance(expr, str) else list(expr.values()))
    checks = build_layout_checks("ids", table, layout, partitions_def=partitions, partition_expr=expr)
    sensor = build_changed_partitions_sensor("s", "ids", table, checks=[checks], partition_expr=expr, **options)
    asset = dg.AssetSpec("ids", partitions_def=partitions)
    return sensor, dg.Definitions(assets=[asset], asset_checks=[checks], sensors=[sensor])


def tick(sensor, cursor=None, **options):
    return sensor(dg.build_sensor_context(cursor=cursor, **options))


def asked(result):
    return [request.tags["dagster/partition"] for request in result.run_requests]


@pytest.mark.parametrize("put", [put_plain, put_delta, put_iceberg])
def test_each_partition_that_changed_is_checked_once(tmp_path, put):
    table = tmp_path / "t"
    put(table, rows("2024-01-01", "2024-01-02"))
    sensor, _ = sensor_of(table)
    first = tick(sensor)
    assert asked(first) == ["2024-01-01", "2024-01-02"]
    assert {key.name for key in first.run_requests[0].asset_check_keys} == CHECKS
    assert first.run_requests[0].asset_selection == [], "nothing is materialized"
    again = tick(sensor, first.cursor)
    assert asked(again) == []
    assert again.skip_reason.skip_message == "ids: no new files"
    put(table, rows("2024-01-02", "2024-01-03", "2024-01-03"))
    later = tick(sensor, first.cursor)
    assert asked(later) == ["2024-01-02", "2024-01-03"]
    keys = {request.run_key for request in [*first.run_requests, *later.run_requests]}
    assert len(keys) == 4
    assert asked(tick(sensor, later.cursor)) == []


def test_a_tick_asks_for_so_many_runs_and_the_next_ones_for_the_rest(tmp_path):
    put_delta(tmp_path / "t", rows(*(f"2024-01-0{day}" for day in range(1, 8))))
    sensor, _ = sensor_of(tmp_path / "t", max_runs=3)
    cursor, found = None, []
    for _ in range(4):
        result = tick(sensor, cursor)
        cursor = result.cursor
        found.append([key[-1] for key in asked(result)])
    assert found == [["1", "2", "3"], ["4", "5", "6"], ["7"], []]


def test_rows_that_are_deleted_and_files_that_are_removed_are_changes(tmp_path):
    table = tmp_path / "t"
    put_plain(table, rows("2024-01-01", "2024-01-01", "2024-01-02"))
    put_plain(table, rows("2024-01-01"))
    sensor, _ = sensor_of(table)
    first = tick(sensor)
    one, other = sorted((table / "day=2024-01-01").iterdir())
    contents = one.read_bytes()
    one.unlink()
    second = tick(sensor, first.cursor)
    assert asked(second) == ["2024-01-01"]
    other.unlink()
    none = tick(sensor, second.cursor)
    assert (asked(none), none.skip_reason.skip_message) == ([], "ids: no partition changed")
    one.write_bytes(contents)
    back = tick(sensor, none.cursor)
    assert asked(back) == ["2024-01-01"]
    earlier = {request.run_key for request in [*first.run_requests, *second.run_requests]}
    assert back.run_requests[0].run_key not in earlier


def test_rows_lost_to_a_deletion_vector_are_a_change(tmp_path):
    table = str(tmp_path / "t")
    properties = {"delta.enableDeletionVectors": "true"}
    put_delta(table, rows("2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"), properties=properties)
    sensor, _ = sensor_of(table)
    first = tick(sensor)
    delete_rows(table, {deltalog.open_snapshot(table).paths()[0]: [0]})
    assert len(asked(tick(sensor, first.cursor))) == 1


@pytest.mark.parametrize(
    ("of_asset", "days", "keys"),
    [
        ((MONTHS, "day"), ["2024-01-05", "2024-01-31", "2024-03-31"], ["2024-01-01", "2024-03-01"]),
        ((dg.StaticPartitionsDefinition(["2024-01-05", "x"]), "day"), ["2024-01-05"], ["2024-01-05"]),
        (
            (dg.MultiPartitionsDefinition({"when": DAYS, "shop": SHOPS}), {"when": "day", "shop": "shop"}),
            ["2024-01-02", "2024-01-03"],
            ["north|2024-01-02", "south|2024-01-03"],
        ),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "delta"])
def test_values_become_keys_of_every_kind_of_partition(tmp_path, kind, of_asset, days, keys):
    partitions, expr = of_asset
    table = tmp_path / "t"
    columns = {"day": days, "shop": ["north", "south", "north"][: len(days)], "id": range(len(days))}
    by = ["day"] if isinstance(expr, str) else ["day", "shop"]
    if kind == "plain":
        pq.write_to_dataset(pa.table(columns), table, partition_cols=by)
    else:
        typed = pa.table(columns | {"day": pa.array(days).cast(pa.date32())})
        write_table(str(table), typed, mode="append", partition_by=by)
    sensor, _ = sensor_of(table, partitions, expr)
    assert asked(tick(sensor)) == keys


def test_a_value_that_is_no_partition_is_named_in_the_log(tmp_path, capfd):
    put_delta(tmp_path / "t", rows("2023-12-31", "2024-01-01", "2024-01-11"))
    sensor, _ = sensor_of(tmp_path / "t")
    result = tick(sensor)
    assert asked(result) == ["2024-01-01"]
    assert "ids: no partitions of the asset, so not checked: 2023-12-31, 2024-01-11" in capfd.readouterr().err
    assert set(json.loads(result.cursor)["partitions"]) == {"2024-01-01"}


def test_a_table_that_cannot_be_read_is_told_in_the_skip_reason(tmp_path):
    sensor, _ = sensor_of(tmp_path / "gone")
    result = tick(sensor)
    assert "no such file or directory" in result.skip_reason.skip_message
    assert result.cursor is None


def test_the_requests_run_and_check_their_partition_alone(tmp_path):
    table = tmp_path / "t"
    put_plain(table, rows("2024-01-01", "2024-01-02"))
    for day, ids in {"2024-01-01": [1, 2, 3], "2024-01-02": [3, 1, 2]}.items():
        (path,) = (table / f"day={day}").iterdir()
        pq.write_table(pa.table({"id": ids}), path, write_page_index=True)
    sensor, defs = sensor_of(table)
    found = {}
    with dg.DagsterInstance.ephemeral() as instance:
        data = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, definitions=defs))
        job = defs.resolve_implicit_global_asset_job_def()
        for request in data.run_requests:
            selected = job.get_subset(asset_selection=set(), asset_check_selection=set(request.asset_check_keys))
            done = selected.execute_in_process(instance=instance, tags=request.tags)
            for each in done.get_asset_check_evaluations():
                found[each.partition, each.check_name] = each.passed
    assert (found["2024-01-01", "sorted_order"], found["2024-01-02", "sorted_order"]) == (True, False)
    assert set(found) == {(day, name) for day in ("2024-01-01", "2024-01-02") for name in CHECKS}


def test_checks_that_do_not_run_by_the_same_partitions_are_refused(tmp_path):
    whole = build_layout_checks("ids", tmp_path, LayoutSpec(sort_by=["id"]))
    with pytest.raises(WrongUse, match="has other partitions"):
        build_changed_partitions_sensor("s", "ids", tmp_path, checks=[whole], partition_expr="day")
    with pytest.raises(WrongUse, match="others has no check"):
        build_changed_partitions_sensor("s", "others", tmp_path, checks=[whole], partition_expr="day")
    with pytest.raises(WrongUse, match="max_runs=0"):
        sensor_of(tmp_path, max_runs=0)


def test_a_column_that_is_no_partition_column_is_named(tmp_path):
    from prune_assets.tables.changed_partitions import partition_fingerprints

    put_plain(tmp_path / "t", rows("2024-01-01"))
    with pytest.raises(LayoutError, match="id is not a partition column; the table has day"):
        partition_fingerprints(tmp_path / "t", ["id"])


@pytest.mark.parametrize(("transform", "partitions"), [("day", DAYS), ("hour", DAYS), ("day", MONTHS)])
def test_partitions_of_time_transforms_of_iceberg_are_found_by_their_column(tmp_path, transform, partitions):
    table = tmp_path / "t"
    put_iceberg(table, rows("2024-01-01", "2024-01-02"), transform)
    layout = LayoutSpec(sort_by=["id"], partition_by=[f"{transform}s(ts)"])
    of_asset = {"partitions_def": partitions, "partition_expr": "ts"}
    checks = build_layout_checks("ids", table, layout, **of_asset)
    sensor = build_changed_partitions_sensor("s", "ids", table, checks=[checks], partition_expr="ts")
    first = tick(sensor)
    assert asked(first) == (["2024-01-01", "2024-01-02"] if partitions == DAYS else ["2024-01-01"])
    put_iceberg(table, rows("2024-01-02"), transform)
    assert asked(tick(sensor, first.cursor)) == asked(first)[-1:]


def test_partitions_that_no_column_tells_are_named(tmp_path):
    put_iceberg(tmp_path / "t", rows("2024-01-01"), "bucket[4]")
    sensor, _ = sensor_of(tmp_path / "t", expr="ts")
    assert "partition_expr: ts is not a partition column" in tick(sensor).skip_reason.skip_message


HOURS = dg.HourlyPartitionsDefinition("2024-10-26-00:00", end_date="2024-10-28-00:00", timezone="Europe/Berlin")


def put_hours(table, zone, **ids):
    """A Delta table of hours of 2024-10-27, with ids in the order that they are given."""
    hours = [datetime.fromisoformat(f"2024-10-27 {hour[1:]}:00") for hour, of_hour in ids.items() for _ in of_hour]
    kind = pa.timestamp("us", zone)
    columns = {
        "at": pa.array(hours, pa.timestamp("us")).cast(kind),
        "id": [each for some in ids.values() for each in some],
    }
    write_table(str(table), pa.table(columns), mode="append", partition_by=["at"])


def failed_checks(sensor, defs):
    """Return the failed checks by partition, from the runs that a tick requests."""
    found = {}
    with dg.DagsterInstance.ephemeral() as instance:
        data = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, definitions=defs))
        job = defs.resolve_implicit_global_asset_job_def()
        for request in data.run_requests:
            selected = job.get_subset(asset_selection=set(), asset_check_selection=set(request.asset_check_keys))
            done = selected.execute_in_process(instance=instance, tags=request.tags)
            failed = {each.check_name for each in done.get_asset_check_evaluations() if not each.passed}
            found[request.tags["dagster/partition"]] = failed
    return found


def test_an_hour_that_the_clocks_show_twice_is_checked_for_both_of_its_partitions(tmp_path):
    put_hours(tmp_path / "t", None, _01=[1, 2], _02=[2, 1], _03=[1, 2])
    found = failed_checks(*sensor_of(tmp_path / "t", HOURS, "at"))
    unsorted = {key for key, failed in found.items() if "sorted_order" in failed}
    assert unsorted == {"2024-10-27-02:00", "2024-10-27-02:00+0100"}
    assert set(found) == unsorted | {"2024-10-27-01:00", "2024-10-27-03:00"}


@pytest.mark.parametrize("kind", ["plain", "delta"])
def test_names_of_months_are_keys_of_the_numbers_that_folders_have(tmp_path, kind):
    table, months = tmp_path / "t", dg.StaticPartitionsDefinition([f"{month:02d}" for month in range(1, 13)])
    if kind == "plain":
        for month, ids in {"01": [1, 2], "02": [2, 1], "12": [1]}.items():
            (table / f"month={month}").mkdir(parents=True)
            pq.write_table(pa.table({"id": ids}), table / f"month={month}" / "0.parquet", write_page_index=True)
    else:
        columns = {"month": [1, 1, 2, 2, 12], "id": [1, 2, 2, 1, 1]}
        write_table(str(table), pa.table(columns), partition_by=["month"])
    found = failed_checks(*sensor_of(table, months, "month"))
    assert list(found) == ["01", "02", "12"]
    assert [key for key, failed in found.items() if "sorted_order" in failed] == ["02"]
