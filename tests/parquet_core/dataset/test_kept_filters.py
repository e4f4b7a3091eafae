"""Bloom filters cached on disk exclude what the filters in files exclude; changed files invalidate them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.bloom import estimated_fpp, may_hold, probe_hashes
from parquet_core.dataset import bloom_filters
from parquet_core.dataset.metadata_cache import MetadataCache
from parquet_core.dataset.opening import read_dataset

LONG_AGO = 1_600_000_000
FILES, ROWS = 20, 100


@pytest.fixture
def cache(tmp_path):
    """A cache without memory, so that each read is like that of a new process."""
    return MetadataCache(tmp_path / "cache")


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table").mkdir()
    for number in range(FILES):
        write(tmp_path / "table", number)
    return tmp_path / "table"


def keys_of(number):
    return [number + FILES * i for i in range(ROWS)]


def write(table, number, *, keys=None, at=LONG_AGO):
    path = table / f"{number:03}.parquet"
    # Larger than needed, like Spark's default filters: 4 KiB for 100 values.
    options = {"n": {"ndv": ROWS, "fpp": 1e-12}}
    pq.write_table(pa.table({"n": keys or keys_of(number)}), path, bloom_filter_options=options)
    os.utime(path, (at, at))


def looked_at(table, cache, *, may_be_folded=True):
    """Return the filters of all files, and how many requests that took."""
    index = read_dataset(table, cache=cache)
    (column,) = index.groups.columns
    before = index.groups.traffic.requests
    filters = index.bloom_filters.read(column, np.arange(len(index)), may_be_folded=may_be_folded)
    requests = index.groups.traffic.requests - before
    index.save()
    return filters, requests


def holders(filters, table, keys):
    (column,) = read_dataset(table).groups.columns
    return may_hold(filters, probe_hashes(column, pa.array(keys, pa.int64())))


def test_the_next_process_opens_no_file_and_loses_no_key(table, cache):
    first, asked = looked_at(table, cache)
    kept, asked_again = looked_at(table, cache)
    assert (asked > 0, asked_again) == (True, 0)
    assert all(holders(kept, table, keys_of(number))[number].all() for number in range(FILES))
    assert sum(len(blocks) for blocks in kept) * 8 <= sum(len(blocks) for blocks in first)
    assert max(map(estimated_fpp, kept)) <= bloom_filters.FOLDED_FPP
    absent = range(FILES * ROWS, FILES * ROWS + 1000)
    assert holders(kept, table, absent).mean() <= bloom_filters.FOLDED_FPP


def test_who_asks_for_the_filters_of_the_files_gets_those(table, cache):
    whole = [blocks.tolist() for blocks in looked_at(table, cache)[0]]
    again, asked = looked_at(table, cache, may_be_folded=False)
    assert asked > 0
    assert [blocks.tolist() for blocks in again] == whole


def test_files_that_changed_are_asked_again(table, cache):
    looked_at(table, cache)
    write(table, 3, keys=[-7], at=LONG_AGO + 1)
    write(table, FILES, keys=[-8])
    (table / "000.parquet").unlink()
    for expected in (True, False):
        kept, asked = looked_at(table, cache)
        assert (asked > 0) is expected
        found = holders(kept, table, [-7, -8, keys_of(3)[0], keys_of(4)[0]])
        names = sorted(path.stem for path in table.iterdir())
        assert [[names[i] for i in np.flatnonzero(flags)] for flags in found.T] == [["003"], ["020"], [], ["004"]]


def damage(path):
    data = bytearray(path.read_bytes())
    data[-200] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [damage, Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-64])])
def test_a_damaged_entry_is_none(table, cache, spoil):
    before = set(cache.directory.rglob("*.arrow"))
    whole = [blocks.tolist() for blocks in looked_at(table, cache)[0]]
    for path in set(cache.directory.rglob("*.arrow")) - before:
        spoil(path)
    again, asked = looked_at(table, cache)
    assert asked > 0
    assert [blocks.tolist() for blocks in again] == whole
    assert looked_at(table, cache)[1] == 0


def test_filters_beyond_the_room_are_read_from_their_files(table, cache, monkeypatch):
    write(table, 5, keys=[*range(50_000)])
    assert looked_at(table, cache)[1] == FILES
    size = max(blocks.nbytes for blocks in looked_at(table, cache)[0])
    assert size == 4096, "it is full"
    monkeypatch.setattr(bloom_filters, "MOST_FILTER_BYTES", size - 1)
    write(table, 5, keys=[*range(50_000)], at=LONG_AGO + 1)
    assert [looked_at(table, cache)[1] for _ in range(3)] == [1, 1, 1]
    monkeypatch.setattr(bloom_filters, "MOST_BYTES", 1024)
    for number in range(FILES):
        write(table, number, at=LONG_AGO + 2)
    looked_at(table, cache)
    small = max(blocks.nbytes for blocks in looked_at(table, cache)[0] if blocks.nbytes < 1024)
    assert looked_at(table, cache)[1] == FILES - 1024 // small


def test_for_few_of_many_row_groups_the_entry_is_left_alone(table, cache, monkeypatch):
    looked_at(table, cache)
    monkeypatch.setattr(bloom_filters, "_SHARE", 2)
    index = read_dataset(table, cache=cache)
    (column,) = index.groups.columns
    index.bloom_filters.read(column, np.arange(FILES // 2 - 1), may_be_folded=True)
    assert index.groups.traffic.requests == FILES // 2 - 1
    index.bloom_filters.read(column, np.arange(FILES // 2 - 1, FILES), may_be_folded=True)
    assert index.groups.traffic.requests == FILES // 2 - 1
