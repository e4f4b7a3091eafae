"""The sensors, the trigger that waits in their place, and the asset that is watched."""

from __future__ import annotations

import asyncio
import json
import shutil

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, TaskDeferred
from airflow.triggers.base import TriggerEvent

from parquet_core.errors import StorageFailure
from prune_assets.airflow import DeltaVersionSensor, TableChangeSensor, TableChangeTrigger, table_asset
from prune_assets.tables.changes import table_fingerprint


def more(directory, name="more"):
    pq.write_table(pa.table({"id": [1]}), directory / f"{name}.parquet")


@pytest.fixture
def delta(tmp_path):
    deltalake.write_deltalake(tmp_path / "delta", pa.table({"id": [1, 2]}))
    return tmp_path / "delta"


def append(table):
    deltalake.write_deltalake(table, pa.table({"id": [3]}), mode="append")


def deferred(sensor, context):
    """What a sensor leaves to the triggerer: the trigger as it is made again there, and what comes after."""
    with pytest.raises(TaskDeferred) as raised:
        sensor.execute(context)
    path, arguments = raised.value.trigger.serialize()
    assert path == "prune_assets.airflow.trigger.TableChangeTrigger"
    return TableChangeTrigger(**json.loads(json.dumps(arguments))), raised.value


async def events_of(trigger, *, until=1, between=None, looks=None):
    """The first events of a trigger; `between` is done after the first look, of which `looks` waits for more."""
    found = []

    async def collect():
        async for event in trigger.run():
            found.append(event)
            if len(found) == until:
                return

    task = asyncio.create_task(collect())
    if between is not None:
        await looks.wait()
        await asyncio.to_thread(between)
    await asyncio.wait_for(task, 20)
    return found


@pytest.fixture
def looked(monkeypatch):
    """Is set once a trigger has looked at its table."""
    from prune_assets.airflow import trigger

    looks = asyncio.Event()
    real = asyncio.to_thread

    async def to_thread(function, *arguments):
        try:
            return await real(function, *arguments)
        finally:
            if function is trigger.look_again:
                looks.set()

    monkeypatch.setattr(trigger.asyncio, "to_thread", to_thread)
    return looks


class Store:
    """What Airflow keeps for a trigger with the asset that it watches."""

    def __init__(self):
        self.values = {}
        self.was_set = asyncio.Event()

    async def aget(self, key, default=None):
        return self.values.get(key, default)

    async def aset(self, key, value):
        self.values[key] = json.loads(json.dumps(value))
        self.was_set.set()


def test_a_change_after_the_task_began_fires(ids, context):
    trigger, told = deferred(TableChangeSensor(task_id="s", table=ids, poke_interval=0.05, timeout=60), context)
    assert (told.method_name, told.timeout.total_seconds()) == ("execute_complete", 60)
    more(ids)
    ((event,)) = asyncio.run(events_of(trigger))
    assert event.payload["fingerprint"] == table_fingerprint(ids)
    assert TableChangeSensor(task_id="s", table=ids).execute_complete(context, event.payload) == event.payload


def test_so_does_one_while_the_trigger_waits(delta, context, looked):
    trigger, _ = deferred(TableChangeSensor(task_id="s", table=delta, poke_interval=0.05), context)
    (event,) = asyncio.run(events_of(trigger, between=lambda: append(delta), looks=looked))
    assert event == TriggerEvent({"table": str(delta), "version": 1, "fingerprint": "version 1", "changes": 2})


@pytest.mark.parametrize("since", [0, "0", "version 0"])
def test_what_changed_since_an_earlier_run_needs_no_waiting(since, delta, context):
    append(delta)
    assert TableChangeSensor(task_id="s", table=delta, since=since).execute(context)["version"] == 1


def test_a_version_is_waited_for(delta, context):
    wait = DeltaVersionSensor(task_id="s", table=delta, version="2", poke_interval=0.05)
    trigger, _ = deferred(wait, context)
    append(delta)
    append(delta)
    (event,) = asyncio.run(events_of(trigger))
    assert event.payload["version"] == 2
    assert wait.execute(context)["version"] == 2, "it is there, so nothing waits"


def test_a_plain_table_has_no_versions(ids, context):
    with pytest.raises(AirflowFailException, match="not a Delta table"):
        DeltaVersionSensor(task_id="s", table=ids, version=1).execute(context)
    wait = DeltaVersionSensor(task_id="s", table=ids, version="{{ params.version }}")
    wait.render_template_fields({"params": {"version": "x"}})
    with pytest.raises(AirflowFailException, match="version = 'x'"):
        wait.execute(context)


class TestATableThatVanishes:
    def test_is_named_and_fails(self, ids, context, logged):
        wait = TableChangeSensor(task_id="s", table=ids, poke_interval=0.05)
        trigger, _ = deferred(wait, context)
        shutil.rmtree(ids)
        (event,) = asyncio.run(events_of(trigger))
        with pytest.raises(AirflowFailException, match=str(ids)) as raised:
            wait.execute_complete(context, event.payload)
        assert "\n" not in str(raised.value)
        assert str(ids) in str(logged())

    def test_is_skipped_where_failing_is_soft(self, ids, context, logged):
        wait = TableChangeSensor(task_id="s", table=ids, poke_interval=0.05, soft_fail=True)
        trigger, told = deferred(wait, context)
        shutil.rmtree(ids)
        (event,) = asyncio.run(events_of(trigger))
        with pytest.raises(AirflowSkipException):
            wait.resume_execution(told.method_name, {"event": event.payload}, context)
        assert str(ids) in str(logged())

    def test_is_waited_for_where_failing_is_silent(self, ids, context, looked):
        trigger, _ = deferred(TableChangeSensor(task_id="s", table=ids, poke_interval=0.05, silent_fail=True), context)
        shutil.rmtree(ids)

        def come_back():
            ids.mkdir()
            more(ids)

        (event,) = asyncio.run(events_of(trigger, between=come_back, looks=looked))
        assert event.payload["fingerprint"] == table_fingerprint(ids)

    @pytest.mark.parametrize("deferrable", [True, False])
    def test_was_never_there(self, deferrable, tmp_path, context):
        asked = {"task_id": "s", "table": tmp_path / "gone", "deferrable": deferrable}
        with pytest.raises(AirflowFailException, match="gone"):
            TableChangeSensor(**asked).execute(context)
        with pytest.raises(AirflowSkipException):
            TableChangeSensor(**asked, soft_fail=True).execute(context)

    def test_and_comes_is_a_change(self, tmp_path, context):
        wait = TableChangeSensor(task_id="s", table=tmp_path / "new", poke_interval=0.05, silent_fail=True)
        trigger, _ = deferred(wait, context)
        (tmp_path / "new").mkdir()
        more(tmp_path / "new")
        assert len(asyncio.run(events_of(trigger))) == 1


def test_where_the_storage_does_not_answer_it_looks_again(ids, context, monkeypatch, logged):
    from prune_assets.tables.parquet import changes

    trigger, _ = deferred(TableChangeSensor(task_id="s", table=ids, poke_interval=0.05), context)
    more(ids)
    answers, real = [StorageFailure("s3://b/ids: 503")], changes.list_data_files

    def listing(table):
        if answers:
            raise answers.pop()
        return real(table)

    monkeypatch.setattr(changes, "list_data_files", listing)
    assert len(asyncio.run(events_of(trigger))) == 1
    assert "s3://b/ids: 503; retrying in 0.05 s" in str(logged())


def test_without_a_triggerer_it_pokes(ids, context):
    wait = TableChangeSensor(task_id="s", table=ids, deferrable=False, poke_interval=0.05)
    assert not wait.poke(context)
    more(ids)
    assert wait.execute(context)["fingerprint"] == table_fingerprint(ids)


def test_a_sensor_that_would_forget_is_refused():
    with pytest.raises(ValueError, match="does not remember"):
        TableChangeSensor(task_id="s", table="t", deferrable=False, mode="reschedule")
    waiting = {"task_id": "s", "table": "t", "deferrable": False, "mode": "reschedule"}
    assert DeltaVersionSensor(version="{{ params.version }}", **waiting).reschedule
    assert TableChangeSensor(since="{{ params.seen }}", **waiting).reschedule


class TestAnAsset:
    def test_has_the_address_and_is_watched(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        asset = table_asset("ids", name="ids", group="lake", poke_interval=5)
        assert (asset.uri, asset.group) == ((tmp_path / "ids").as_uri(), "lake")
        (watcher,) = asset.watchers
        assert watcher.trigger.serialize()[1] == {
            "table": str(tmp_path / "ids"),
            "poke_interval": 5,
            "since": None,
            "version": None,
            "patient": False,
        }
        assert table_asset("s3://lake/ids").watchers[0].trigger.table == "s3://lake/ids"

    def test_fires_each_time(self, delta, looked):
        def thrice():
            for _ in range(3):
                append(delta)

        trigger = TableChangeTrigger(str(delta), poke_interval=0.02)
        (event,) = asyncio.run(events_of(trigger, between=thrice, looks=looked))
        assert event.payload["version"] in {1, 2, 3}
        again = TableChangeTrigger(str(delta), poke_interval=0.02, since=None)
        again.asset_state_store = Store()
        again.asset_state_store.values["prune-assets/seen"] = ["version 0", 1]
        (event,) = asyncio.run(events_of(again))
        assert event.payload["version"] == 3, "what came while no triggerer ran"

    def test_keeps_what_it_saw(self, delta, looked):
        trigger = TableChangeTrigger(str(delta), poke_interval=0.02)
        trigger.asset_state_store = store = Store()

        async def watch():
            found = asyncio.create_task(events_of(trigger, until=2))
            for _ in range(2):
                await store.was_set.wait()
                store.was_set.clear()
                await asyncio.to_thread(append, delta)
            return await found

        events = asyncio.run(watch())
        assert [event.payload["version"] for event in events] == [1, 2]
        assert store.values == {"prune-assets/seen": ["version 1", 2]}, "the second one was not yet told on"

    def test_that_is_not_there_is_named_and_awaited(self, tmp_path, looked, logged):
        table = tmp_path / "new"

        def come():
            table.mkdir()
            more(table)

        trigger = TableChangeTrigger(str(table), poke_interval=0.02)
        (event,) = asyncio.run(events_of(trigger, between=come, looks=looked))
        assert event.payload["fingerprint"] == table_fingerprint(table)
        assert str(table) in str(logged())
