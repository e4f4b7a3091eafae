"""Cached metadata gives the same answers as the files, even if files change, break or are written concurrently."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset import footer_columns, metadata_cache, opening, stored_index
from parquet_core.dataset.metadata_cache import DecodedCache, MetadataCache
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import StorageFailure
from parquet_core.storage import DataFile, PartitionListing

LONG_AGO = 1_600_000_000
OPTIONS = {"row_group_size": 100, "write_page_index": True, "max_rows_per_page": 20}


@pytest.fixture
def on_disk(tmp_path):
    return MetadataCache(tmp_path / "cache")


@pytest.fixture(params=["on disk", "in memory too"])
def cache(request, on_disk):
    return on_disk if request.param == "on disk" else replace(on_disk, decoded=DecodedCache())


@pytest.fixture
def table(tmp_path):
    directory = tmp_path / "table"
    directory.mkdir()
    for number in range(4):
        write(directory, number)
    return directory


def write(directory, number, *, rows=300, shift=0, at=LONG_AGO):
    numbers = [number * 1000 + shift + i for i in range(rows)]
    words = [None if i % 7 == 0 else f"w{i % 50}" for i in numbers]
    path = directory / f"{number}.parquet"
    values = pa.table({"n": numbers, "w": words, "f": [i / 7 for i in numbers]})
    pq.write_table(values, path, compression="none", **OPTIONS)
    os.utime(path, (at, at))
    return path


def look(index):
    """Return everything that an index returns for its columns."""
    positions = np.arange(len(index))
    found = []
    for column in index.groups.columns:
        found += [
            index.footers.chunks(column),
            index.footers.bounds(column),
            index.page_indexes.read(column, positions),
        ]
    found += index.page_indexes.locations(index.groups.columns, positions)
    return [index.groups.row_count, index.groups.file, index.groups.ordinal, *found]


def same(left, right):
    if is_dataclass(left):
        return all(same(getattr(left, part.name), getattr(right, part.name)) for part in fields(left))
    if isinstance(left, pa.Array):
        return left.equals(right)
    return np.array_equal(left, right)


def assert_as_from_files(table, cache):
    """Read with and without the cache and compare; return the requests of the read with the cache."""
    index = read_dataset(table, cache=cache)
    expected = read_dataset(table)
    assert index.groups.columns == expected.groups.columns
    assert all(same(a, b) for a, b in zip(look(index), look(expected), strict=True))
    index.save()
    return index.groups.traffic.requests


def test_the_second_look_reads_no_file(table, cache):
    assert assert_as_from_files(table, cache) > 0
    assert assert_as_from_files(table, cache) == 0
    assert assert_as_from_files(f"{table}/", cache) == 0, "another spelling of the same directory"


def test_files_that_come_go_and_change_are_read_again(table, cache):
    first = assert_as_from_files(table, cache)
    write(table, 7)
    assert 0 < assert_as_from_files(table, cache) < first, "one file of five is new"
    (table / "1.parquet").unlink()
    assert assert_as_from_files(table, cache) == 0
    write(table, 2, rows=250, shift=5, at=LONG_AGO + 1)
    assert 0 < assert_as_from_files(table, cache) < first
    write(table, 0, shift=100_000, at=LONG_AGO + 1)
    assert 0 < assert_as_from_files(table, cache) < first, "the same size at another time is another file"
    assert assert_as_from_files(table, cache) == 0


def test_no_kind_of_footer_outlives_its_files(table, cache):
    pq.write_table(pa.table({"other": [1]}), table / "0.parquet")
    os.utime(table / "0.parquet", (LONG_AGO, LONG_AGO))
    assert len(read_dataset(table, cache=cache).groups.provenances) == 2
    (table / "0.parquet").unlink()
    index = read_dataset(table, cache=cache)
    assert index.groups.provenances == read_dataset(table).groups.provenances
    assert index.groups.traffic.requests == 0


def test_no_page_outlives_its_file(table, cache):
    for change in range(3):
        write(table, 2, shift=350 * change, at=LONG_AGO + change)
        assert_as_from_files(table, cache)
    index = read_dataset(table, cache=cache)
    column = index.groups.columns[0]
    pages, offsets = index.page_indexes._pages_of(column), index.page_indexes._offsets_of(column)
    assert len(pages.values) == len(offsets.values) == len(index)


def test_columns_of_other_generations_are_used(table, cache):
    index = read_dataset(table, cache=cache)
    n, w, _ = index.groups.columns
    index.footers.bounds(n)
    index.save()
    write(table, 7)
    index = read_dataset(table, cache=cache)
    index.footers.bounds(w)
    index.save()
    write(table, 8)
    index = read_dataset(table, cache=cache)
    before = index.groups.traffic.requests
    assert before == 1, "the footer of the newest file"
    expected = read_dataset(table)
    for column in (n, w):
        assert same(index.footers.bounds(column), expected.footers.bounds(column))
    assert index.groups.traffic.requests - before == 3, "the two newest files for n, the newest for w"


def test_only_some_row_groups_may_be_known(table, cache):
    index = read_dataset(table, cache=cache)
    column = index.groups.columns[0]
    index.page_indexes.read(column, np.array([1, 4]))
    index.save()
    index = read_dataset(table, cache=cache)
    chosen = np.array([4, 1, 5])
    expected = read_dataset(table).page_indexes.read(column, chosen)
    assert same(index.page_indexes.read(column, chosen), expected)
    assert index.groups.traffic.requests == 1, "the page index of the row group that was not read before"


def test_a_column_of_another_type_is_another_column(table, cache):
    assert_as_from_files(table, cache)
    for path in table.iterdir():
        pq.write_table(pq.read_table(path).cast(pa.schema({"n": "int32", "w": "string", "f": "float"})), path)
        os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))
    assert assert_as_from_files(table, cache) > 0
    assert assert_as_from_files(table, cache) == 0


def test_a_file_just_written_is_not_believed_next_time(table, cache):
    """The file may be written again within the same tick of the clock."""
    path = write(table, 3, at=time.time())
    first = assert_as_from_files(table, cache)
    state = path.stat()
    write(table, 3, shift=350)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert 0 < assert_as_from_files(table, cache) < first


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: b"PRUNE\x00\x00\x00" + data[8:],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
    ],
)
def test_what_is_damaged_is_made_again(table, on_disk, damage):
    first = assert_as_from_files(table, on_disk)
    kept = list(on_disk.directory.rglob("*.arrow"))
    assert len(kept) > 5
    for path in kept:
        path.write_bytes(damage(path.read_bytes()))
    assert assert_as_from_files(table, on_disk) == first
    assert assert_as_from_files(table, on_disk) == 0


def test_a_file_under_the_name_of_another_is_none(table, on_disk):
    first = assert_as_from_files(table, on_disk)
    kept = sorted(on_disk.directory.rglob("*.arrow"))
    held = [path.read_bytes() for path in kept]
    for path, other in zip(kept, held[1:] + held[:1], strict=True):
        path.write_bytes(other)
    assert assert_as_from_files(table, on_disk) == first


RESEALED = """
import random, sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import xxhash

from parquet_core.dataset.metadata_cache import TableCache, MetadataCache

chance = random.Random(5)
cache = MetadataCache(Path(sys.argv[1]))
whole = 0
for path in sorted(cache.directory.rglob("*.arrow")):
    data = path.read_bytes()
    name = pa.ipc.open_stream(data[16:]).schema.metadata[b"name"].decode()
    kept = TableCache(path.parent, cache)
    assert kept.read(name) is not None
    for _ in range(100):
        body = bytearray(data[16:])
        for _ in range(chance.choice([1, 1, 3, 10])):
            body[chance.randrange(len(body))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        path.write_bytes(data[:8] + xxhash.xxh3_64_digest(bytes(body)) + body)
        found = kept.read(name)
        if found is not None:
            whole += 1
            with suppress(UnicodeDecodeError):  # of names
                [column.to_pylist() for column in found[1].columns]
print("read", whole)
"""


def test_what_is_wrong_under_a_right_checksum_does_not_end_the_process(table, on_disk):
    assert_as_from_files(table, on_disk)
    run = [sys.executable, "-c", RESEALED, str(on_disk.directory)]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-500:])
    assert int(ended.stdout.split()[1]) > 100, "else nothing but refusals was tried"


def test_a_table_that_changes_before_every_plan_leaves_few_files(table, cache):
    for at in range(20):
        os.utime(write(table, 0, shift=at), (LONG_AGO + at, LONG_AGO + at))
        index = read_dataset(table, cache=cache)
        look(index)
        index.save()
    assert_as_from_files(table, cache)
    kept = len(list(cache.directory.rglob("*.arrow")))
    assert kept <= stored_index.MOST_GENERATIONS + 1 + 3 * 3, "datasets, the latest, three kinds of each column"


def test_any_single_file_may_be_lost(table, cache):
    assert_as_from_files(table, cache)
    for path in sorted(cache.directory.rglob("*.arrow")):
        path.unlink()
        assert_as_from_files(table, cache)
        assert assert_as_from_files(table, cache) == 0


def test_a_place_that_cannot_be_written_is_no_error(table, tmp_path):
    (tmp_path / "file").touch()
    blocked = MetadataCache(tmp_path / "file" / "cache")
    assert assert_as_from_files(table, blocked) == assert_as_from_files(table, blocked) > 0


def test_what_was_used_least_recently_goes_first(table, tmp_path, cache):
    assert_as_from_files(table, cache)
    old = {path: path.stat().st_size for path in cache.directory.rglob("*.arrow")}
    for path in old:
        os.utime(path, (LONG_AGO, LONG_AGO))
    other = tmp_path / "other"
    other.mkdir()
    write(other, 1)
    small = MetadataCache(cache.directory, most_bytes=sum(old.values()))
    os.utime(cache.directory / ".last-look", (LONG_AGO, LONG_AGO))
    assert_as_from_files(other, small)
    left = list(cache.directory.rglob("*.arrow"))
    assert sum(path.stat().st_size for path in left) <= small.most_bytes
    assert any(not path.exists() for path in old)
    assert assert_as_from_files(other, small) == 0
    assert_as_from_files(table, small)


def test_writes_look_at_the_size_of_the_cache_once_an_hour(cache, monkeypatch):
    looks = []

    def look(cache):
        looks.append(cache)

    monkeypatch.setattr(MetadataCache, "evict", look)
    for number in range(50):
        cache.of_table(f"table {number}").write("what", "g", {"numbers": np.arange(1000)})
        cache.make_room()
    assert len(looks) == 1
    for age in (3500, 3700):
        os.utime(cache.directory / ".last-look", (time.time() - age,) * 2)
        cache.make_room()
    cache.make_room()
    assert len(looks) == 2


def test_a_look_leaves_room_for_later_writes(tmp_path):
    cache = MetadataCache(tmp_path / "cache", most_bytes=100_000)
    for number in range(50):
        cache.of_table(f"table {number}").write("what", "g", {"numbers": np.arange(1000)})
    cache.evict()
    size = sum(path.stat().st_size for path in cache.directory.rglob("*.arrow"))
    assert 70_000 < size <= 100_000 * 7 // 8


def test_what_a_crashed_writer_left_is_removed(table, cache):
    assert_as_from_files(table, cache)
    (place,) = (path for path in cache.directory.iterdir() if path.is_dir())
    for name, age in (("old.part", 2 * 3600), ("new.part", 0)):
        (place / name).write_bytes(b"half")
        os.utime(place / name, (time.time() - age, time.time() - age))
    cache.evict()
    assert [path.name for path in place.glob("*.part")] == ["new.part"]


WORKER = """
import sys
from pathlib import Path
import numpy as np
from parquet_core.dataset.opening import read_dataset
from parquet_core.dataset.metadata_cache import MetadataCache

cache = MetadataCache(Path(sys.argv[2]), most_bytes=int(sys.argv[3]))
for _ in range(15):
    index = read_dataset(sys.argv[1], cache=cache)
    for column in index.groups.columns:
        lows = index.footers.bounds(column).lower.to_pylist()
        assert len(lows) == 12, lows
        assert len(index.page_indexes.read(column, np.arange(12)).bounds) == 60
    assert index.footers.bounds(index.groups.columns[0]).lower.to_pylist()[:4] == [0, 100, 200, 1000]
    index.save()
    cache.evict()
"""


def test_readers_and_writers_at_once(table, on_disk):
    """The cache is so small that each process removes entries of the others."""
    command = [sys.executable, "-c", WORKER, str(table), str(on_disk.directory), "30000"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, errors


def test_footers_that_are_too_much_to_keep_are_read_again(table, monkeypatch):
    expected = look(read_dataset(table))
    monkeypatch.setattr(footer_columns, "MOST_KEPT_BYTES", 10)
    index = read_dataset(table)
    assert all(same(a, b) for a, b in zip(look(index), expected, strict=True))
    assert index.footers.source._kept == ()


def test_a_file_that_changed_meanwhile_is_noticed(table, monkeypatch):
    monkeypatch.setattr(footer_columns, "MOST_KEPT_BYTES", 10)
    index = read_dataset(table)
    size = (table / "2.parquet").stat().st_size
    data = write(table, 2, rows=90).read_bytes()
    (table / "2.parquet").write_bytes(b"PAR1" + bytes(size - len(data)) + data[4:])
    with pytest.raises(StorageFailure, match="changed while it was read"):
        index.footers.bounds(index.groups.columns[0])


def test_generations_tell_every_state_apart(table):
    files = read_dataset(table).groups.files
    seen = {metadata_cache.generation_of(files), metadata_cache.generation_of(files[1:])}
    write(table, 0, at=LONG_AGO + 1)
    seen.add(metadata_cache.generation_of(read_dataset(table).groups.files))
    assert len(seen) == 3


def test_a_file_replaced_under_its_old_time_is_read_again(table, cache):
    """`cp -p`, `rsync -t`, or a link to another directory of files with equal times replace files like this."""
    first = assert_as_from_files(table, cache)
    path = table / "2.parquet"
    size = path.stat().st_size
    write(table, 2, shift=350)
    assert path.stat().st_size == size
    assert 0 < assert_as_from_files(table, cache) < first


def test_a_file_written_again_while_it_is_read_is_not_believed_next_time(table, cache, monkeypatch):
    """Its time only shows that it was written shortly before the listing, however long reading takes."""
    write(table, 3, at=time.time())
    read = opening.FooterSource.read

    def read_slowly(source, indices):
        yield from read(source, indices)
        monkeypatch.setattr(stored_index.time, "time_ns", lambda: time.monotonic_ns() + (1 << 61))

    monkeypatch.setattr(opening.FooterSource, "read", read_slowly)
    read_dataset(table, cache=cache)
    assert read_dataset(table, cache=cache).groups.traffic.requests == 1


@pytest.mark.parametrize(("told", "requests"), [({}, 1), ({"etag": "a"}, 0), ({"modified_ns": LONG_AGO * 10**9}, 0)])
def test_a_file_of_which_neither_time_nor_etag_is_told_is_read_again(table, cache, monkeypatch, told, requests):
    """Some web servers report neither, so a file of the same size may be another file."""
    path = table / "1.parquet"
    file = DataFile(str(path), path.stat().st_size, 0)._replace(**told)
    monkeypatch.setattr(opening, "list_table", lambda _: PartitionListing([file]))
    read_dataset(path, cache=cache)
    assert read_dataset(path, cache=cache).groups.traffic.requests == requests


def test_what_cannot_be_marked_as_used_serves_all_the_same(table, cache, monkeypatch):
    assert_as_from_files(table, cache)
    for path in cache.directory.rglob("*.arrow"):
        os.utime(path, (LONG_AGO, LONG_AGO))

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(metadata_cache.os, "utime", refuse)
    assert assert_as_from_files(table, cache) == 0


def test_a_file_that_lost_its_last_row_groups_is_noticed(table, monkeypatch):
    monkeypatch.setattr(footer_columns, "MOST_KEPT_BYTES", 10)
    index = read_dataset(table)
    path = table / "3.parquet"
    size = path.stat().st_size
    data = write(table, 3, rows=200).read_bytes()
    path.write_bytes(b"PAR1" + bytes(size - len(data)) + data[4:])
    with pytest.raises(StorageFailure, match="changed while it was read"):
        index.footers.bounds(index.groups.columns[0])
