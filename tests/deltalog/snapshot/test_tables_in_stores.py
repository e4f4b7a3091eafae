"""Tables of other writers are read from object stores, and commits whose answer is lost are there once."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import count
from pathlib import Path

import lossy_proxy
import obstore
import pytest
from committed_files import by, named, partitioned
from emulated_stores import STORES
from golden import GOLDEN, MISSING
from state_facts import snapshot_facts

from deltalog.errors import UncertainCommit
from deltalog.snapshot.history import history
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.operations import append
from parquet_core.storage import file_changes, list_data_files, objects
from parquet_core.storage.objects import object_store

ONE = "2024-01-01"
# With checkpoints of every kind, a compaction, deletion vectors, and names that need encoding.
TABLES = (
    "compacted-log-files-table",
    "dv-partitioned-with-checkpoint",
    "data-reader-escaped-chars",
    "multi-part-checkpoint",
    "v2-checkpoint-parquet",
)


@pytest.fixture(params=STORES)
def lossy(request, store_at, monkeypatch):
    """A faulty proxy for a store that retries only once; `root` is a new bucket that the proxy serves."""
    root = request.getfixturevalue(request.param)
    at = {"s3": "moto_url", "azure": "azurite_url", "gcs": "gcs_server"}[request.param]
    behind = request.getfixturevalue(at)
    soon = timedelta(milliseconds=1)
    monkeypatch.setitem(objects.RETRIES, "max_retries", 1)
    monkeypatch.setitem(objects.RETRIES, "backoff", {"init_backoff": soon, "max_backoff": soon, "base": 2})
    objects._open.cache_clear()
    with lossy_proxy.running(getattr(behind, "url", behind)) as proxy:
        store_at(root.partition(":")[0], proxy.url)
        proxy.root = root
        yield proxy
    objects._open.cache_clear()


def operations(place):
    return [said.info["operation"] for said in history(open_snapshot(place))]


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)
@pytest.mark.parametrize("table", TABLES)
def test_tables_of_others_read_as_they_do_here(table, bucket):
    store = object_store(bucket).store
    for file in (GOLDEN / table / "_delta_log").rglob("*"):
        if file.is_file():
            obstore.put(store, f"lake/{table}/{file.relative_to(GOLDEN / table)}", file.read_bytes())
    here = snapshot_facts(GOLDEN / table)
    assert here["files"]
    assert snapshot_facts(f"{bucket}/lake/{table}") == here


def test_a_commit_whose_answer_is_lost_is_there_once(lossy):
    place = f"{lossy.root}/table"
    seen = partitioned(place)
    puts = count()
    lossy.loses = lambda method: method == "PUT" and next(puts) == 0
    done = append(seen, [named("a", day=ONE)])
    assert lossy.lost == 1
    assert (done.version, done.written) == (1, True)
    assert append(seen, [named("b", day=ONE)]).version == 2
    assert operations(place) == ["WRITE", "WRITE", "CREATE TABLE"]
    assert sorted(open_snapshot(place).paths()) == ["a", "b"]


def test_a_commit_of_which_no_answer_comes_is_looked_for(lossy):
    place = f"{lossy.root}/table"
    seen = partitioned(place)
    lossy.loses = lambda method: method == "PUT"
    done = append(seen, [named("a", day=ONE)])
    assert lossy.lost >= 1
    assert done.version == 1
    assert "it is unknown whether the commit was written; it was" in done.notes[0]
    assert operations(place) == ["WRITE", "CREATE TABLE"]


def test_where_nothing_answers_any_more_the_doubt_is_told(lossy):
    place = f"{lossy.root}/table"
    seen = partitioned(place)
    lossy.loses = lambda method: method == "PUT" or lossy.lost > 0
    with pytest.raises(UncertainCommit, match="look for the txnId"):
        append(seen, [named("a", day=ONE)], txn=by("app", 1))
    lossy.loses = lambda method: False
    # The commit was written; a repeated commit of the same transaction is recognized.
    assert not append(open_snapshot(place), [named("a", day=ONE)], txn=by("app", 1)).written
    assert open_snapshot(place).paths() == ["a"]


def publish_file(path, content=b"content"):
    with file_changes.staged(path) as temporary:
        Path(temporary).write_bytes(content)
        return file_changes.publish(temporary, path)


@pytest.mark.parametrize("answers", [1, 99], ids=["one answer", "every answer"])
def test_a_file_whose_answer_is_lost_is_written(lossy, answers):
    puts = count()
    lossy.loses = lambda method: method == "PUT" and next(puts) < answers
    assert publish_file(f"{lossy.root}/a.parquet")
    assert lossy.lost >= 1
    assert [file.size for file in list_data_files(lossy.root)] == [7]


def test_a_file_in_parts_whose_last_answer_is_lost_is_written(lossy, monkeypatch):
    monkeypatch.setattr(file_changes, "_SENT_AT_ONCE", 2)
    lossy.loses = lambda method: lossy.ends_upload()
    assert publish_file(f"{lossy.root}/a.parquet")
    assert [file.size for file in list_data_files(lossy.root)] == [7]
    assert lossy.lost >= 1


def test_a_file_of_the_same_name_with_other_content_is_not_taken_for_ones_own(lossy):
    obstore.put(object_store(lossy.root).store, "a.parquet", b"theirs")
    assert not publish_file(f"{lossy.root}/a.parquet")


def test_appends_over_a_bad_line_are_all_there_once(lossy, monkeypatch):
    """Three answers of ten are lost, of whatever request."""
    monkeypatch.setitem(objects.RETRIES, "max_retries", 8)
    objects._open.cache_clear()
    place = f"{lossy.root}/table"
    partitioned(place)
    chance = random.Random(43)
    lossy.loses = lambda method: chance.random() < 0.3
    versions = [append(open_snapshot(place), [named(f"{i}", day=ONE)]).version for i in range(12)]
    lossy.loses = lambda method: False
    assert lossy.lost > 12
    assert versions == [*range(1, 13)]
    assert len(open_snapshot(place).paths()) == 12
