from __future__ import annotations

import json

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import TableNotFound, WrongUse
from parquet_core.layout.checks import CHECKS as LAYOUT_CHECKS
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable
from prune_assets.dagster.sensors import build_new_files_sensor
from prune_assets.tables.changes import table_fingerprint

CHECKS = {check.name for check in LAYOUT_CHECKS}

A, B = dg.AssetKey(["lake", "a"]), dg.AssetKey(["lake", "b"])


@pytest.fixture
def sensor(tmp_path):
    tables = [LayoutTable(A, tmp_path / "a"), LayoutTable(B, tmp_path / "b")]
    return build_new_files_sensor(tables, checks=[table.checks() for table in tables])


def put(path):
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": [1]}), path)
    return path


def tick(sensor, cursor=None):
    with dg.DagsterInstance.ephemeral() as instance:
        return sensor.evaluate_tick(
            dg.build_sensor_context(instance=instance, cursor=cursor, definitions=definitions(sensor))
        )


def definitions(sensor):
    assets = [dg.AssetSpec(A), dg.AssetSpec(B)]
    checks = [LayoutTable(key, "unused").checks() for key in (A, B)]
    return dg.Definitions(assets=assets, asset_checks=checks, sensors=[sensor])


def test_new_files_ask_for_the_checks_of_their_table(sensor, tmp_path):
    put(tmp_path / "a" / "1.parquet")
    (request,) = tick(sensor).run_requests
    assert {(key.asset_key, key.name) for key in request.asset_check_keys} == {(A, name) for name in CHECKS}
    assert request.asset_selection == [], "nothing is materialized"


def test_the_ui_names_the_assets_of_a_sensor_in_its_own_words(sensor):
    assert str(sensor.asset_selection) == 'key:"lake/a" or key:"lake/b"'


def test_nothing_new_is_skipped_and_a_new_file_is_not(sensor, tmp_path):
    put(tmp_path / "a" / "1.parquet")
    put(tmp_path / "b" / "1.parquet")
    first = tick(sensor)
    assert len(first.run_requests) == 2
    second = tick(sensor, first.cursor)
    assert second.run_requests == []
    assert second.skip_message == "lake/a: no new files; lake/b: no new files"
    put(tmp_path / "b" / "2.parquet")
    third = tick(sensor, second.cursor)
    assert [request.asset_check_keys[0].asset_key for request in third.run_requests] == [B]
    assert third.run_requests[0].run_key not in {request.run_key for request in first.run_requests}


def test_a_missing_table_is_skipped_with_the_reason(sensor, tmp_path):
    data = tick(sensor)
    assert data.run_requests == []
    assert f"{tmp_path / 'a'}: no such file or directory" in data.skip_message


def test_a_missing_table_does_not_hide_a_new_one(sensor, tmp_path):
    put(tmp_path / "b" / "1.parquet")
    data = tick(sensor)
    assert [request.asset_check_keys[0].asset_key for request in data.run_requests] == [B]
    assert list(json.loads(data.cursor)) == ["lake/b"]


def test_files_being_written_are_not_noticed(tmp_path):
    put(tmp_path / "t" / "1.parquet")
    before = table_fingerprint(tmp_path / "t")
    put(tmp_path / "t" / "_staging-1" / "2.parquet")
    assert table_fingerprint(tmp_path / "t") == before


def test_a_rewritten_file_is_noticed(tmp_path):
    path = put(tmp_path / "t" / "1.parquet")
    before = table_fingerprint(tmp_path / "t")
    pq.write_table(pa.table({"x": [1, 2, 3]}), path)
    assert table_fingerprint(tmp_path / "t") != before


def test_a_table_without_files_has_no_fingerprint(tmp_path):
    with pytest.raises(TableNotFound):
        table_fingerprint(tmp_path / "t")


def test_files_that_come_back_are_new_again(sensor, tmp_path):
    put(tmp_path / "b" / "1.parquet")
    first = put(tmp_path / "a" / "1.parquet")
    keys, cursor = [], None
    added = tmp_path / "a" / "2.parquet"
    for step in (
        lambda: None,
        lambda: first.with_suffix(".x").write_bytes(b"") and None,
        lambda: put(added),
        added.unlink,
    ):
        step()
        data = tick(sensor, cursor)
        cursor = data.cursor
        keys += [request.run_key for request in data.run_requests if request.run_key.startswith("lake/a")]
    assert len(keys) == len(set(keys)) == 3


def test_a_cursor_of_version_0_1_is_understood(sensor, tmp_path):
    put(tmp_path / "a" / "1.parquet")
    put(tmp_path / "b" / "1.parquet")
    cursor = json.dumps({f"lake/{name}": table_fingerprint(tmp_path / name) for name in "ab"})
    assert tick(sensor, cursor).run_requests == []


def test_keys_may_be_texts_and_a_table_without_checks_is_refused_at_once(tmp_path):
    put(tmp_path / "a" / "1.parquet")
    checks = LayoutTable(A, tmp_path / "a").checks()
    named = build_new_files_sensor([LayoutTable("lake/a", tmp_path / "a")], checks=[checks])
    assert [request.asset_check_keys[0].asset_key for request in tick(named).run_requests] == [A]
    with pytest.raises(WrongUse, match="lake/b has no check in `checks`"):
        build_new_files_sensor([LayoutTable("lake/b", tmp_path / "b")], checks=[checks])


def test_checks_may_be_reported_without_a_run(tmp_path):
    put(tmp_path / "a" / "1.parquet")
    put(tmp_path / "b" / "1.parquet")
    places = {A: tmp_path / "a", B: tmp_path / "b"}
    tables = [LayoutTable(key, table, layout=LayoutSpec(sort_by=["x"])) for key, table in places.items()]
    sensor = build_new_files_sensor(tables, checks=[table.checks() for table in tables], mode="report")
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance, definitions=definitions(sensor))
        first = sensor(context)
        assert first.run_requests == []
        assert {(event.asset_key, event.check_name) for event in first.asset_events} == {
            (key, name) for key in places for name in CHECKS
        }
        pq.write_table(pa.table({"x": [2, 1]}), tmp_path / "a" / "2.parquet")
        second = sensor(dg.build_sensor_context(instance=instance, cursor=first.cursor))
        failed = {event.check_name for event in second.asset_events if not event.passed}
        assert {event.asset_key for event in second.asset_events} == {A}
        assert "sorted_order" in failed
        # Where Dagster shows checks, these are.
        for event in second.asset_events:
            instance.report_runless_asset_event(event)
        assert (
            instance.event_log_storage.get_latest_asset_check_execution_by_key([dg.AssetCheckKey(A, "sorted_order")])[
                dg.AssetCheckKey(A, "sorted_order")
            ].status.value
            == "FAILED"
        )
        assert sensor(dg.build_sensor_context(instance=instance, cursor=second.cursor)).skip_reason is not None


@pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec")
def test_checks_by_partition_are_refused(tmp_path):
    parts, layout = dg.StaticPartitionsDefinition(["a"]), LayoutSpec(sort_by=["id"], partition_by=["part"])
    table = LayoutTable("ids", tmp_path, layout=layout, partitions_def=parts, partition_expr="part")
    with pytest.raises(WrongUse, match=r"of ids runs by partition; use LayoutTable\.partition_sensor"):
        table.sensor(checks=[table.checks(by_partition=True)])
