"""Decoded metadata in memory: nothing is read twice or outlives its files, and readers cannot change shared data."""

from __future__ import annotations

import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.metadata_cache import DecodedCache, MetadataCache, TableCache, bytes_of
from parquet_core.dataset.opening import list_dataset, read_dataset
from parquet_core.trust.contradictions import Doubt

LONG_AGO = 1_600_000_000


@pytest.fixture
def cache(tmp_path):
    return MetadataCache(tmp_path / "cache", decoded=DecodedCache())


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table").mkdir()
    for number in range(3):
        write(tmp_path / "table", number)
    return tmp_path / "table"


def write(directory, number, *, shift=0, at=LONG_AGO):
    values = pa.table({"n": [number * 1000 + shift + i % 7 for i in range(100)]})
    path = directory / f"{number}.parquet"
    options = {"write_page_index": True, "max_rows_per_page": 20, "bloom_filter_options": {"n": True}}
    pq.write_table(values, path, compression="none", row_group_size=50, **options)
    os.utime(path, (at, at))
    return path


def look(index):
    """Return the results of every level for the column as Python values."""
    (column,), everywhere = index.groups.columns, np.arange(len(index))
    return [
        index.footers.bounds(column).lower.to_pylist(),
        index.page_indexes.read(column, everywhere).bounds.upper.to_pylist(),
        [values.to_pylist() for values in index.dictionaries.read(column, everywhere)],
        [blocks.tolist() for blocks in index.bloom_filters.read(column, everywhere)],
    ]


def looked_at(table, cache):
    index = read_dataset(table, cache=cache)
    found = look(index)
    index.save()
    return index, found


def test_the_second_look_reads_neither_files_nor_the_disk(table, cache, monkeypatch):
    _, first = looked_at(table, cache)
    monkeypatch.setattr(TableCache, "read", lambda *_: pytest.fail("read from disk"))
    index, second = looked_at(table, cache)
    assert second == first == look(read_dataset(table))
    assert index.groups.traffic.requests == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda table: write(table, 1, shift=300, at=LONG_AGO + 1),
        lambda table: write(table, 1, shift=300),
        lambda table: write(table, 7),
        lambda table: (table / "1.parquet").unlink(),
        lambda table: (table / "1.parquet").rename(table / "5.parquet"),
        lambda table: write(table, 1, shift=300, at=time.time()),
    ],
    ids=["another time", "the same size and time", "one more", "one less", "another name", "just now"],
)
def test_no_answer_outlives_a_change_of_the_files(table, cache, change):
    looked_at(table, cache)
    change(table)
    expected = look(read_dataset(table))
    for _ in range(3):
        assert looked_at(table, cache)[1] == expected


def test_of_files_that_may_change_unseen_nothing_is_kept(table, cache):
    path = write(table, 1, at=time.time())
    looked_at(table, cache)
    assert cache.decoded.used_bytes == 0
    state = path.stat()
    write(table, 1, shift=300)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert looked_at(table, cache)[1] == look(read_dataset(table))


def test_what_is_gone_from_the_disk_is_written_again(table, cache):
    looked_at(table, cache)
    kept = sorted(cache.directory.rglob("*.arrow"))
    for path in kept:
        path.unlink()
    looked_at(table, cache)
    assert sorted(cache.directory.rglob("*.arrow")) == kept


def test_a_doubt_of_one_index_is_there_for_the_next_and_not_for_one_that_was_open(table, cache):
    looked_at(table, cache)
    open_before, doubting = (read_dataset(table, cache=cache) for _ in range(2))
    (column,) = doubting.groups.columns
    expected = open_before.footers.bounds(column).lower.to_pylist()
    doubting.footers.doubt(column, np.array([2]), Doubt.FILTER)
    doubting.save()
    assert open_before.footers.bounds(column).lower.to_pylist() == expected
    after = read_dataset(table, cache=cache)
    assert after.footers.bounds(column).lower.to_pylist() == [*expected[:2], None, *expected[3:]]
    found = after.bloom_filters.read(column, np.arange(len(after)))
    assert [isinstance(blocks, str) for blocks in found] == [False, False, True, False, False, False]


def test_more_that_is_read_is_added_and_changes_nothing_at_hand(table, cache):
    looked_at_some = read_dataset(table, cache=cache)
    (column,) = looked_at_some.groups.columns
    looked_at_some.page_indexes.read(column, np.array([4, 1]))
    looked_at_some.save()
    some, others = (read_dataset(table, cache=cache) for _ in range(2))
    some.page_indexes.read(column, np.array([1]))
    others.page_indexes.read(column, np.array([0, 5]))
    others.save()
    assert some.page_indexes.read(column, np.array([4])).bounds.lower.to_pylist()[0] == 2000
    assert some.groups.traffic.requests == 0
    after = read_dataset(table, cache=cache)
    assert after.page_indexes.read(column, np.array([5, 4, 1, 0])).bounds.lower.to_pylist()[::3][:1] == [2000]
    assert after.groups.traffic.requests == 0


def test_what_was_not_asked_for_is_not_at_hand(table, cache):
    looked_at(table, cache)
    index = read_dataset(table, cache=cache)
    (column,), first = index.groups.columns, np.array([0])
    assert index.dictionaries.cached(column, first) == index.bloom_filters.cached(column, first) == [None]
    index.dictionaries.read(column, first)
    assert index.dictionaries.cached(column, np.array([0, 1]))[0] is not None
    assert index.dictionaries.cached(column, np.array([0, 1]))[1] is None


def test_row_groups_of_other_opened_files_are_others(tmp_path, cache):
    for day in range(3):
        (tmp_path / "t" / f"day={day}").mkdir(parents=True)
        write(tmp_path / "t" / f"day={day}", 0, shift=day)
    for chosen in ([0, 2], [0, 1], [0, 2]):
        listed = list_dataset(tmp_path / "t", cache=cache)
        listed.known = None  # as if no other process had read these files
        wanted = np.isin(np.arange(3), chosen)
        index = listed.read(wanted)
        (column,) = index.groups.columns
        lows = index.footers.bounds(column).lower.to_pylist()
        assert [low for low in lows if low is not None] == [day for day in chosen for _ in range(2)], chosen
        at = index.groups.read_from()
        assert index.page_indexes.read(column, at).bounds.lower.to_pylist()[::3] == [
            d for d in chosen for _ in range(2)
        ]
        index.save()


def test_row_groups_of_unopened_files_have_no_place_in_an_entry(tmp_path):
    for day in range(3):
        (tmp_path / "t" / f"day={day}").mkdir(parents=True)
        write(tmp_path / "t" / f"day={day}", 0, shift=day)
    cache = MetadataCache(tmp_path / "cache")  # without memory, like a new process
    requests = []
    for _ in range(2):
        index = list_dataset(tmp_path / "t", cache=cache).read(np.array([True, False, True]))
        (column,) = index.groups.columns
        pages = index.page_indexes.read(column, np.arange(len(index)))
        lows = [None if low is None else int(low) for low in pages.bounds.lower.to_pylist()]
        assert lows == [0] * 6 + [None] + [2] * 6
        index.save()
        requests.append(index.groups.traffic.requests)
    assert requests[0] > requests[1] == 0


def test_what_was_used_least_recently_goes_first():
    cache = DecodedCache(most_bytes=1000)
    for name in "abc":
        cache.put(name, name.upper(), 300)
    assert cache.get("a") == "A"
    cache.put("d", "D", 300)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    cache.put("a", "too large", 501)
    assert (cache.get("a"), cache.used_bytes) == (None, 600)


def test_the_size_of_arrays_counts():
    values = {"a": [np.zeros(10, np.int64), pa.array([1, 2, 3])], "b": (np.zeros((2, 4), np.uint32),)}
    assert 80 + 24 + 32 < bytes_of(values) < 1000
