"""A store that accepts `If-None-Match: *` but ignores it gets no commit, and loses no part of the table."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import lossy_proxy
import obstore
import pytest
from committed_files import SCHEMA, named, partitioned

from deltalog.errors import CommitConflict
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction import commit as module
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append
from parquet_core.errors import UnsupportedFeature
from parquet_core.storage import find_file, list_directory
from parquet_core.storage.objects import object_store
from prune_assets.advisor import layout_changes

ONE = "2024-01-01"
EVERYTHING = re.compile(".*")
CONDITIONS = frozenset({"if-none-match", "x-goog-if-generation-match"})
STORES = {"s3": "moto_url", "azure": "azurite_url", "gcs": "gcs_server"}
IGNORES = r"://[^/]+/: the store ignores the condition `If-None-Match: \*`.*; update the store"


@pytest.fixture(params=STORES)
def proxy(request, store_at):
    """A proxy before a store that no commit has been made to; `root` is a new bucket, `direct` leads around it."""
    root = request.getfixturevalue(request.param)
    behind = request.getfixturevalue(STORES[request.param])
    url, scheme = getattr(behind, "url", behind), root.partition(":")[0]
    with lossy_proxy.running(url) as proxy:
        store_at(scheme, proxy.url)
        proxy.root = root
        proxy.direct = lambda: store_at(scheme, url)
        proxy.through = lambda: store_at(scheme, proxy.url)
        yield proxy


@pytest.fixture
def table(proxy):
    """A table of one file that was made through an honest store; from now on the store ignores conditions."""
    place = f"{proxy.root}/table"
    proxy.direct()
    append(partitioned(place), [named("first", day=ONE)])
    proxy.through()
    proxy.strips = CONDITIONS
    proxy.requests.clear()
    return place


def log(place):
    return [file.path.rpartition("/")[2] for file in list_directory(f"{place}/_delta_log", EVERYTHING)]


def puts(proxy):
    return [path.partition("?")[0].rpartition("/")[2] for method, path in proxy.requests if method == "PUT"]


def test_an_append_to_a_store_that_overwrites_is_refused_and_nothing_is_lost(table):
    snapshot = open_snapshot(table)
    for name in ("x1", "x2"):
        with pytest.raises(UnsupportedFeature, match=IGNORES):
            append(snapshot, [named(name, day=ONE)])
    assert open_snapshot(table).paths() == ["first"]
    assert log(table) == ["00000000000000000000.json", "00000000000000000001.json"]


def test_a_table_is_not_created_in_a_store_that_overwrites(proxy):
    proxy.strips = CONDITIONS
    place = f"{proxy.root}/new"
    with pytest.raises(UnsupportedFeature, match=IGNORES):
        create_table(place, SCHEMA)
    assert list(obstore.list(object_store(place).store).collect()) == []


def test_of_many_writers_none_is_told_of_a_commit_that_is_lost(table):
    snapshot = open_snapshot(table)

    def write(i):
        try:
            return append(snapshot, [named(f"f{i}", day=ONE)]).version
        except UnsupportedFeature:
            return None

    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(write, range(8))} == {None}
    assert open_snapshot(table).paths() == ["first"]


def test_the_proof_is_one_request_to_write_the_newest_commit(table, proxy):
    proxy.strips = frozenset()
    append(open_snapshot(table), [named("a", day=ONE)])
    append(open_snapshot(table), [named("b", day=ONE)])
    commits = [f"{version:020d}.json" for version in (1, 2, 3)]
    assert puts(proxy) == commits, "the proof with version 1, then the two commits"


def test_a_commit_is_read_back_by_one_request(table, proxy):
    proxy.strips = frozenset()
    append(open_snapshot(table), [named("a", day=ONE)])
    snapshot = open_snapshot(table)
    proxy.requests.clear()
    append(snapshot, [named("b", day=ONE)])
    methods = [method for method, path in proxy.requests if f"{3:020d}.json" in path]
    assert methods == ["PUT", "GET"]


def test_a_new_table_takes_a_proof_that_leaves_nothing(proxy):
    place = f"{proxy.root}/new"
    create_table(place, SCHEMA)
    assert log(place) == ["00000000000000000000.json"]
    assert len(puts(proxy)) == 3
    create_table(f"{proxy.root}/second", SCHEMA)
    assert len(puts(proxy)) == 4, "the store is proven"


def test_a_large_commit_is_not_sent_again_for_the_proof(table, proxy, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST_PROOF", 10)
    with pytest.raises(UnsupportedFeature, match=IGNORES):
        append(open_snapshot(table), [named("a", day=ONE)])
    assert "00000000000000000001.json" not in puts(proxy)
    assert log(table) == ["00000000000000000000.json", "00000000000000000001.json"]


def test_a_commit_that_is_cleaned_up_during_the_proof_is_not_put_back(table, proxy, monkeypatch):
    proxy.strips = frozenset()
    snapshot = open_snapshot(table)
    bucket = object_store(table)
    read = module.read_whole

    def cleaned(files, **options):
        data = list(read(files, **options))
        obstore.delete(bucket.store, bucket.key(files[0].path))
        return iter(data)

    monkeypatch.setattr(module, "read_whole", cleaned)
    with pytest.raises(CommitConflict, match="the log was cleaned up since version 1 was read"):
        append(snapshot, [named("a", day=ONE)])
    assert find_file(f"{table}/_delta_log/{1:020d}.json") is None


def test_a_commit_that_another_one_replaced_counts_as_a_lost_race(bucket, monkeypatch):
    """A store that checks and then writes lets two commits of one version through; the reader sees the later one."""
    place = f"{bucket}/table"
    snapshot = partitioned(place)
    rival = append(snapshot, [named("rival", day=ONE)])
    store = object_store(place)
    path = f"{place}/_delta_log/{rival.version:020d}.json"
    theirs = bytes(obstore.get(store.store, store.key(path)).bytes())
    obstore.delete(store.store, store.key(path))
    put = module.put_if_absent

    def overtaken(where, data):
        written = put(where, data)
        if where == path:
            obstore.put(store.store, store.key(path), theirs)
        return written

    monkeypatch.setattr(module, "put_if_absent", overtaken)
    done = append(snapshot, [named("mine", day=ONE)])
    assert (done.version, done.lost) == (2, 1)
    assert sorted(open_snapshot(place).paths()) == ["mine", "rival"]


def test_a_note_of_a_layout_change_needs_the_same_promise(proxy):
    change = layout_changes.LayoutChange(
        at="2024-01-01T00:00:00Z", title="x", layout={}, declared={}, before=1, promised=1
    )
    proxy.strips = CONDITIONS
    with pytest.raises(UnsupportedFeature, match=IGNORES):
        layout_changes.note_change(f"{proxy.root}/table", 0, change)
