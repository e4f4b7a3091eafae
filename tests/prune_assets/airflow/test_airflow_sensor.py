"""The sensors, the trigger that waits in their place, and the asset that is watched."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, TaskDeferred
from airflow.triggers.base import TriggerEvent

from parquet_core.errors import StorageFailure
from prune_assets.airflow import (
    CheckLayoutOperator,
    TableChangeSensor,
    TableChangeTrigger,
    table_asset,
)
from prune_assets.checks.layout_proof import prove
from prune_assets.tables.changes import table_fingerprint

GUIDE = Path(__file__).parents[3] / "docs" / "airflow.md"


def more(directory, name="more"):
    pq.write_table(pa.table({"id": [1]}), directory / f"{name}.parquet")


@pytest.fixture
def delta(tmp_path):
    deltalake.write_deltalake(tmp_path / "delta", pa.table({"id": [1, 2]}))
    return tmp_path / "delta"


def append(table):
    deltalake.write_deltalake(table, pa.table({"id": [3]}), mode="append")


def deferred(sensor, context):
    """Return the trigger that a sensor defers to, after serialization, and the deferral."""
    with pytest.raises(TaskDeferred) as raised:
        sensor.execute(context)
    path, arguments = raised.value.trigger.serialize()
    assert path == "prune_assets.airflow.trigger.TableChangeTrigger"
    return TableChangeTrigger(**json.loads(json.dumps(arguments))), raised.value


async def events_of(trigger, *, until=1, between=None, looks=None):
    """Return the first events of a trigger.

    `between` runs after the first poll; `looks` is awaited for further polls.
    """
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
    """Event that is set when a trigger has polled its table."""
    from prune_assets.airflow import trigger

    looks = asyncio.Event()
    real = asyncio.to_thread

    async def to_thread(function, *arguments):
        try:
            return await real(function, *arguments)
        finally:
            if function is trigger.poll_table:
                looks.set()

    monkeypatch.setattr(trigger.asyncio, "to_thread", to_thread)
    return looks


class Store:
    """The store in which Airflow keeps values for a trigger of a watched asset."""

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
    found = {"table": str(delta), "version": 1, "fingerprint": "version 1", "changes": 2}
    assert event == TriggerEvent(found | {"partitions": None, "where": "true"})


@pytest.mark.parametrize("since", [0, "0", "version 0"])
def test_what_changed_since_an_earlier_run_needs_no_waiting(since, delta, context):
    append(delta)
    assert TableChangeSensor(task_id="s", table=delta, since=since).execute(context)["version"] == 1


def test_a_version_is_waited_for(delta, context):
    wait = TableChangeSensor(task_id="s", table=delta, version="2", poke_interval=0.05)
    trigger, _ = deferred(wait, context)
    append(delta)
    append(delta)
    (event,) = asyncio.run(events_of(trigger))
    assert event.payload["version"] == 2
    assert wait.execute(context)["version"] == 2, "it is there, so nothing waits"


def test_a_plain_table_has_no_versions(ids, context):
    with pytest.raises(AirflowFailException, match="not a Delta table"):
        TableChangeSensor(task_id="s", table=ids, version=1).execute(context)
    wait = TableChangeSensor(task_id="s", table=ids, version="{{ params.version }}")
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
    assert TableChangeSensor(version="{{ params.version }}", **waiting).reschedule
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
        assert store.values == {"prune-assets/seen": ["version 1", 2, None]}, "the second one was not yet told on"

    def test_that_is_not_there_is_named_and_awaited(self, tmp_path, looked, logged):
        table = tmp_path / "new"

        def come():
            table.mkdir()
            more(table)

        trigger = TableChangeTrigger(str(table), poke_interval=0.02)
        (event,) = asyncio.run(events_of(trigger, between=come, looks=looked))
        assert event.payload["fingerprint"] == table_fingerprint(table)
        assert str(table) in str(logged())


class TestWhichPartitionsChanged:
    @pytest.fixture
    def days(self, tmp_path):
        self.append(tmp_path / "days", "2024-03-01", "2024-03-02")
        return tmp_path / "days"

    def append(self, table, *days, shops=None):
        days = [None if day is None else dt.date.fromisoformat(day) for day in days]
        rows = {"id": range(len(days)), "day": pa.array(days, pa.date32()), "shop": shops or ["a"] * len(days)}
        deltalake.write_deltalake(table, pa.table(rows), mode="append", partition_by=["day", "shop"])

    def change(self, table, looked, *changes, state=None):
        """The payloads of the events of changes, one after the other."""
        trigger = TableChangeTrigger(str(table), poke_interval=0.02)
        trigger.asset_state_store = state or Store()
        payloads = []

        async def watch():
            found = asyncio.create_task(events_of(trigger, until=len(changes)))
            for change in changes:
                await trigger.asset_state_store.was_set.wait()
                trigger.asset_state_store.was_set.clear()
                await asyncio.to_thread(change)
            payloads.extend(event.payload for event in await found)

        asyncio.run(asyncio.wait_for(watch(), 60))
        return payloads

    def test_is_said_by_value_and_as_a_condition(self, days, looked):
        first, second, third = self.change(
            days,
            looked,
            lambda: self.append(days, "2024-03-02", "2024-03-04"),
            lambda: self.append(days, "2024-03-04", shops=["it's"]),
            lambda: deltalake.DeltaTable(days).delete("day = '2024-03-01'"),
        )
        assert first["partitions"] == [{"day": "2024-03-02", "shop": "a"}, {"day": "2024-03-04", "shop": "a"}]
        assert first["where"] == (
            "(day = DATE '2024-03-02' AND shop = 'a') OR (day = DATE '2024-03-04' AND shop = 'a')"
        )
        assert prove(days, where=first["where"]).files == 4 - 1
        assert prove(days, where=second["where"]).files == 1
        assert third["partitions"] == [{"day": "2024-03-01", "shop": "a"}]
        assert prove(days, where=third["where"]).files == 0

    def test_is_known_of_changes_while_no_triggerer_ran(self, days, looked):
        kept = Store()
        self.change(days, looked, lambda: self.append(days, None), state=kept)
        self.append(days, "2024-03-05")
        trigger = TableChangeTrigger(str(days), poke_interval=0.02)
        trigger.asset_state_store = kept
        (event,) = asyncio.run(events_of(trigger))
        assert {"day": "2024-03-05", "shop": "a"} in event.payload["partitions"]
        assert "day IS NULL" in event.payload["where"], "the trigger ended before it kept this one"
        json.dumps(event.payload)

    def test_of_plain_files(self, tmp_path, looked):
        def put(month, name):
            (tmp_path / "t" / f"month={month}").mkdir(parents=True, exist_ok=True)
            more(tmp_path / "t" / f"month={month}", name)

        put("01", "a")
        (payload,) = self.change(tmp_path / "t", looked, lambda: put("02", "b"))
        assert (payload["partitions"], payload["where"]) == ([{"month": "2"}], "month = 2")
        assert prove(tmp_path / "t", where=payload["where"]).files == 1

    @pytest.mark.parametrize("kind", ["no partitions", "times", "many"])
    def test_is_not_known_of_all(self, kind, tmp_path, looked, monkeypatch):
        monkeypatch.setattr("prune_assets.tables.changed_partitions.MOST_PARTITIONS", 1 if kind == "many" else 9)
        at = pa.array([1, 2], pa.timestamp("us") if kind == "times" else pa.int64())

        def write():
            columns = [] if kind == "no partitions" else ["at"]
            deltalake.write_deltalake(
                tmp_path / "t", pa.table({"id": [1, 2], "at": at}), mode="append", partition_by=columns
            )

        write()
        (payload,) = self.change(tmp_path / "t", looked, write)
        assert (payload["partitions"], payload["where"]) == (None, "true")

    def test_a_task_takes_the_condition_from_the_events(self, days, context, looked):
        added = ("2024-03-02", "2024-03-04")
        payloads = self.change(days, looked, *(lambda day=day: self.append(days, day) for day in added))
        events = [SimpleNamespace(extra={"from_trigger": True, "payload": payload}) for payload in payloads]
        (template,) = re.findall(r'^CHANGED = "(.*)"$', GUIDE.read_text(), re.MULTILINE)
        check = CheckLayoutOperator(task_id="c", table=days, layout={"sort_by": ["id"]}, where=template)
        check.render_template_fields({"triggering_asset_events": {"days": events}})
        assert check.where == " OR ".join(payload["where"] for payload in payloads)
        assert prove(days, where=check.where).files == 3


def test_two_assets_with_one_trigger_are_both_told(delta, monkeypatch):
    """Airflow runs one trigger for both, and refuses to say for which of them it keeps a value."""
    context = pytest.importorskip("airflow.sdk.execution_time.context")
    if not hasattr(context, "AssetStateStoreAccessors"):
        pytest.skip("Airflow keeps nothing with assets before 3.3")
    values, was_set = {}, asyncio.Event()

    async def aget(self, key, default=None):
        return values.get((self._name, key), default)

    async def aset(self, key, value):
        values[self._name, key] = json.loads(json.dumps(value))
        was_set.set()

    monkeypatch.setattr(context.AssetStateStoreAccessor, "aget", aget)
    monkeypatch.setattr(context.AssetStateStoreAccessor, "aset", aset)
    assets = [table_asset(delta, name=name, poke_interval=0.02) for name in ("a", "b")]
    (first, second) = (asset.watchers[0].trigger for asset in assets)
    assert first.serialize() == second.serialize(), "which is what Airflow makes one of"
    first.asset_state_store = context.AssetStateStoreAccessors(inlets=assets)

    async def watch():
        found = asyncio.create_task(events_of(first, until=2))
        for _ in range(2):
            await was_set.wait()
            was_set.clear()
            await asyncio.to_thread(append, delta)
        return await found

    assert [event.payload["version"] for event in asyncio.run(asyncio.wait_for(watch(), 60))] == [1, 2]
    assert {name: value[0] for (name, _), value in values.items()} == {"a": "version 1", "b": "version 1"}
