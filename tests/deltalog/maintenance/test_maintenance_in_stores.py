"""Checkpoints, cleaning up and vacuum in object stores."""

from __future__ import annotations

import json
import time
from pathlib import Path

import obstore
import pytest
from log_writer import add, remove
from obstore.exceptions import GenericError
from state_facts import action_facts, snapshot_facts
from test_write_checkpoint import POLICIES, fill

from deltalog.maintenance.clean_log import clean_log
from deltalog.maintenance.vacuum import orphans, vacuum
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.opening import open_snapshot
from parquet_core.storage import file_changes
from parquet_core.storage.objects import object_store

DAY = 86_400_000


def upload(directory, root):
    store = object_store(root).store
    for file in Path(directory).rglob("*"):
        if file.is_file():
            obstore.put(store, f"t/{file.relative_to(directory)}", file.read_bytes())
    return f"{root}/t"


def keys(root):
    return {meta["path"] for page in obstore.list(object_store(root).store) for meta in page}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_table_reads_the_same_from_its_checkpoint(log, bucket, policy, at_once, monkeypatch):
    if not at_once:
        monkeypatch.setattr(file_changes, "_SENT_AT_ONCE", 0)
    table = upload(fill(log, **POLICIES[policy]).path, bucket)
    before, actions = snapshot_facts(table), action_facts(table)
    written = write_checkpoint(table)
    assert written.written
    assert written.notes == ()
    assert not write_checkpoint(table).written
    for version in range(log.version):
        obstore.delete(object_store(bucket).store, f"t/_delta_log/{version:020d}.json")
    assert open_snapshot(table).segment.checkpoint is not None
    assert snapshot_facts(table) == before
    assert action_facts(table)["adds"] == actions["adds"]
    hint = obstore.get(object_store(bucket).store, "t/_delta_log/_last_checkpoint").bytes().to_bytes()
    assert json.loads(hint)["version"] == log.version
    write_checkpoint(table, log.version)
    assert not list(Path(file_changes.tempfile.gettempdir()).glob(".*checkpoint*.tmp"))


def test_the_hint_is_not_moved_back(log, bucket):
    table = upload(fill(log).path, bucket)
    write_checkpoint(table)
    write_checkpoint(table, 3)
    hint = obstore.get(object_store(bucket).store, "t/_delta_log/_last_checkpoint").bytes().to_bytes()
    assert json.loads(hint)["version"] == log.version


def test_logs_and_data_are_cleaned_up(log, bucket):
    log.create([("x", "long")], add("live.parquet"), add("gone.parquet"))
    log.commit(remove("gone.parquet", at=time.time_ns() // 1_000_000))
    log.commit(add("other.parquet"))
    for name in ("live.parquet", "gone.parquet", "other.parquet", "never.parquet", "_hidden/x.parquet"):
        (log.path / name).parent.mkdir(exist_ok=True)
        (log.path / name).write_bytes(b"xyz")
    table = upload(log.path, bucket)
    write_checkpoint(table, 1)
    later = time.time_ns() // 1_000_000 + 60 * DAY
    assert {file.path for file in orphans(table)} == {f"{table}/never.parquet"}
    assert vacuum(table).files == ()
    done = vacuum(table, dry_run=False, now=later)
    assert {file.path for file in done.files} == {f"{table}/never.parquet", f"{table}/gone.parquet"}
    assert done.bytes == 6
    assert clean_log(table, now=later).checkpoint == 1
    assert keys(bucket) == {
        "t/_delta_log/00000000000000000001.checkpoint.parquet",
        "t/_delta_log/00000000000000000001.json",
        "t/_delta_log/00000000000000000002.json",
        "t/_delta_log/_last_checkpoint",
        "t/_hidden/x.parquet",
        "t/live.parquet",
        "t/other.parquet",
    }
    assert open_snapshot(table).file_count == 2


REFUSALS = (
    PermissionError("status code: 403"),
    GenericError("Generic MicrosoftAzure error: Bulk delete request failed for key a: Not yours. (code: 403)"),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=["one", "in a batch"])
def test_a_store_that_refuses_is_told(log, bucket, monkeypatch, refusal):
    log.create([("x", "long")])
    (log.path / "never.parquet").write_bytes(b"x")
    table = upload(log.path, bucket)

    def refuse(*_):
        raise refusal

    monkeypatch.setattr(obstore, "delete", refuse)
    done = vacuum(table, dry_run=False, now=time.time_ns() // 1_000_000 + 60 * DAY)
    assert done.files == ()
    assert "access denied" in done.failed[0][1]
