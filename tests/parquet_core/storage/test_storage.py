"""Local files: which files are data, grouping of reads, counts of requests, and the first error."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.errors import MalformedFile, StorageFailure, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage import DataFile, Traffic, list_data_files, local_path, read_each, read_many, read_ranges
from parquet_core.storage.files import blocks_of, cut
from parquet_core.storage.local import HOLE

DATA = bytes(i * 7 % 251 for i in range(200_000))


@pytest.fixture
def file(tmp_path):
    (tmp_path / "f.parquet").write_bytes(DATA)
    return list_data_files(tmp_path)[0]


def make(directory, **files):
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


def names(table, root):
    return [os.path.relpath(file.path, root) for file in list_data_files(table)]


TREE = {
    "b.parquet": b"1",
    "a.parquet": b"22",
    "_SUCCESS": b"",
    "_metadata": b"3",
    ".a.parquet.crc": b"4",
    "empty.parquet": b"",
    "_tmp/c.parquet": b"5",
    "_day=1/.hidden/d.parquet": b"6",
    "_day=1/d.parquet": b"777",
    "x._COPYING_": b"8",
}


def test_hidden_and_empty_files_are_no_data(tmp_path):
    make(tmp_path, **TREE)
    assert names(tmp_path, tmp_path) == ["_day=1/d.parquet"], "of a table with partitions Spark reads these alone"
    (tmp_path / "_day=1/d.parquet").unlink()
    assert names(tmp_path, tmp_path) == ["a.parquet", "b.parquet"]
    assert [file.size for file in list_data_files(tmp_path)] == [2, 1]
    status = (tmp_path / "a.parquet").stat()
    assert list_data_files(tmp_path)[0] == DataFile(
        f"{tmp_path}/a.parquet", 2, status.st_mtime_ns, None, status.st_ctime_ns
    )


def test_a_glob_passes_over_what_lies_beside_the_data(tmp_path):
    make(tmp_path, **TREE)
    assert names(f"{tmp_path}/*.parquet", tmp_path) == ["a.parquet", "b.parquet"]
    # Like Spark, which lists a matched directory whatever its own name is.
    assert names(f"{tmp_path}/*", tmp_path) == ["_day=1/d.parquet", "_tmp/c.parquet", "a.parquet", "b.parquet"]
    assert names(f"{tmp_path}/_day=1/*", tmp_path) == ["_day=1/.hidden/d.parquet", "_day=1/d.parquet"]
    assert names(f"{tmp_path}/[^b].parquet", tmp_path) == ["a.parquet"]
    assert names(f"{tmp_path}/{{_day=1,none}}/d.parquet", tmp_path) == ["_day=1/d.parquet"]
    assert names(f"{tmp_path}/*/d.parquet", tmp_path) == ["_day=1/d.parquet"]
    with pytest.raises(TableNotFound, match="all its data files are hidden from Spark"):
        list_data_files(f"{tmp_path}/_SUC*")


def test_patterns_are_relative_as_paths_are(tmp_path, monkeypatch):
    make(tmp_path, **TREE)
    monkeypatch.chdir(tmp_path)
    assert [file.path for file in list_data_files("[ab].parquet")] == ["a.parquet", "b.parquet"]
    assert [file.path for file in list_data_files("./_day=1/?.parquet")] == ["./_day=1/d.parquet"]
    (tmp_path / "[c].parquet").write_bytes(b"1")
    assert [file.path for file in list_data_files("[c].parquet")] == ["[c].parquet"], "a file of that very name"
    (tmp_path / "c.parquet").write_bytes(b"1")
    with pytest.raises(WrongUse, match=r"^\[c\]\.parquet: the path exists, but Spark reads it as a pattern"):
        list_data_files("[c].parquet")
    assert [file.path for file in list_data_files(r"\[c].parquet")] == ["[c].parquet"]


def test_links_are_followed_and_a_loop_of_them_is_an_error(tmp_path):
    make(tmp_path / "elsewhere", **{"a.parquet": b"1"})
    make(tmp_path / "t", **{"b.parquet": b"1"})
    (tmp_path / "t/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "t/c.parquet").symlink_to(tmp_path / "elsewhere/a.parquet")
    assert names(tmp_path / "t", tmp_path / "t") == ["b.parquet", "c.parquet"]
    assert names(tmp_path / "t/link", tmp_path / "t") == ["link/a.parquet"]
    (tmp_path / "t/loop").symlink_to("loop")
    with pytest.raises(StorageFailure, match="/t/loop: "):
        list_data_files(tmp_path / "t")
    (tmp_path / "t/loop").unlink()
    (tmp_path / "t/dangling").symlink_to("nowhere")
    with pytest.raises(TableNotFound, match="/t/dangling: no such file"):
        list_data_files(tmp_path / "t")


def test_file_uris_are_local_and_others_are_not(tmp_path):
    make(tmp_path, **{"a b.parquet": b"1"})
    assert local_path(f"file://{tmp_path}/a%20b.parquet") == f"{tmp_path}/a b.parquet"
    assert names(f"file:{tmp_path}", tmp_path) == ["a b.parquet"]
    assert local_path("t/a%20b") == "t/a%20b"
    with pytest.raises(UnsupportedFeature, match=r"^s3://b/t: only metadata are read from s3://"):
        local_path("s3://b/t")


def test_an_address_that_only_databricks_reads_is_told():
    with pytest.raises(TableNotFound, match=r"^dbfs:/lake/t: .* DESCRIBE DETAIL .* name, unity:catalog"):
        list_data_files("dbfs:/lake/t")


def test_a_path_that_was_a_uri_is_told(tmp_path):
    with pytest.raises(TableNotFound, match="write s3://bucket/t as text, not as a Path"):
        list_data_files(Path("s3://bucket/t"))


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=12),
    st.integers(0, 50),
)
def test_ranges_are_cut_out_of_blocks_as_they_stand_in_the_file(ranges, hole):
    blocks = blocks_of(ranges, hole)
    assert cut(ranges, blocks, [DATA[block.start : block.stop] for block in blocks]) == [
        DATA[start : start + length] for start, length in ranges
    ]
    gaps = [after.start - before.stop for before, after in pairwise(blocks)]
    assert all(gap > hole for gap in gaps)


def test_neighbours_are_read_together_and_strangers_are_not(file):
    traffic = Traffic()
    ranges = [(HOLE + 30, 5), (0, 10), (10 + HOLE, 10), (3 * HOLE + 7, 3)]
    assert read_ranges(file, ranges, purpose="index", traffic=traffic) == [DATA[a : a + n] for a, n in ranges]
    assert (traffic.requests, traffic.bytes) == (2, {"index": HOLE + 35 + 3})


def test_many_files_are_answered_in_order_and_counted_once(tmp_path):
    make(tmp_path, **{f"{i}.parquet": DATA[i * 1000 : i * 1000 + 500] for i in range(5)})
    files = list_data_files(tmp_path)
    wanted = [(file, [(400, 100), (0, i)][: i + 1]) for i, file in enumerate(reversed(files))]
    wanted.insert(2, (files[0], []))
    traffic = Traffic()
    found = read_many(wanted, purpose="footer", traffic=traffic)
    assert found == [[(tmp_path / file.path).read_bytes()[a : a + n] for a, n in ranges] for file, ranges in wanted]
    assert traffic.requests == 5
    assert read_many([], purpose="footer", traffic=traffic) == []


def test_the_first_bad_file_is_named(tmp_path):
    make(tmp_path, **{f"{i}.parquet": DATA[:500] for i in range(4)})
    good, cut_off, missing, damaged = list_data_files(tmp_path)
    (tmp_path / "1.parquet").write_bytes(DATA[:450])
    (tmp_path / "2.parquet").unlink()
    tail, beyond = [(400, 100)], [(400, 101)]
    traffic = Traffic()
    for bad, kind, message in (
        ([(cut_off, tail), (damaged, beyond)], StorageFailure, "1.parquet: 50 of 100 bytes at 400; the file changed"),
        ([(missing, tail), (cut_off, tail)], StorageFailure, "2.parquet: No such file"),
        ([(damaged, beyond), (missing, tail)], MalformedFile, "3.parquet: bytes 400 to 501 are outside of the file"),
        ([(damaged, [(0, 1), (-1, 1)])], MalformedFile, "3.parquet: bytes -1 to 0"),
        ([(damaged, [(5, -1)])], MalformedFile, "3.parquet: bytes 5 to 4"),
    ):
        with pytest.raises(kind, match=message):
            read_many([(good, tail), *bad], purpose="footer", traffic=traffic)
    # Requests before the error are counted.
    assert traffic.requests == 5
    assert traffic.bytes == {"footer": 500}


def test_files_are_opened_as_their_answers_are_taken(tmp_path):
    make(tmp_path, **{"0.parquet": DATA[:500], "1.parquet": DATA[:500]})
    first, second = list_data_files(tmp_path)
    traffic = Traffic()
    answers = read_each([(first, [(0, 5)]), (second, [(0, 5)])], purpose="footer", traffic=traffic)
    assert next(answers) == [DATA[:5]]
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(StorageFailure, match=r"1\.parquet: No such file"):
        next(answers)
    assert traffic.requests == 1


def test_no_descriptor_is_left_open(tmp_path):
    make(tmp_path, **{"0.parquet": DATA[:500]})
    file = list_data_files(tmp_path)[0]
    (tmp_path / "0.parquet").write_bytes(b"")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(StorageFailure):
            read_many([(file, [(0, 5)])], purpose="footer", traffic=Traffic())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_local_tables_bring_in_no_library_of_other_stores(tmp_path):
    make(tmp_path, **{"0.parquet": DATA[:500]})
    script = (
        "import sys; from parquet_core.storage import *; "
        f"f = list_data_files({str(tmp_path)!r}); "
        "read_range(f[0], 0, 5, purpose='footer', traffic=Traffic()); "
        "print(*sorted({'obstore', 'fsspec', 'asyncio', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
