"""Listing directories and reading files gives the same results with and without the compiled calls."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.errors import MalformedFile, PruneError, StorageFailure
from parquet_core.format.footer import read_footers
from parquet_core.storage import DataFile, Ranges, Traffic, gather, list_data_files, local

pytestmark = pytest.mark.skipif(local.system_calls is None, reason="there was no compiler, or no POSIX")


@pytest.fixture(params=["compiled", "python"])
def form(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(local, "system_calls", None)
    return request.param


def in_both_forms(do, monkeypatch):
    """Return the results with the compiled calls and without them; an error counts as a result."""
    answers = []
    for calls in (local.system_calls, None):
        monkeypatch.setattr(local, "system_calls", calls)
        try:
            answers.append(do())
        except PruneError as error:
            answers.append((type(error), str(error)))
    return answers


def tree(root, count=3):
    names = [*(f"part-{i}.parquet" for i in range(count)), "é.parquet", "_SUCCESS", ".crc", "x._COPYING_", "_day/a"]
    for name in names:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
    (root / "empty").mkdir()
    (root / "nothing.parquet").touch()
    # A name that is no text.
    (root / os.fsdecode(b"\xff.parquet")).write_bytes(b"1")


@pytest.mark.parametrize("count", [0, 3, 300])
def test_a_directory_is_listed_alike(tmp_path, monkeypatch, count):
    tree(tmp_path, count)
    (tmp_path / "linked.parquet").symlink_to(tmp_path / "é.parquet")
    (tmp_path / "up").symlink_to(tmp_path / "empty")
    compiled, plain = in_both_forms(lambda: list_data_files(tmp_path), monkeypatch)
    assert compiled == plain
    assert len(compiled) == count + 3
    assert {type(file) for file in compiled} == {type(plain[0])}


@pytest.mark.parametrize("target", ["nowhere", "loop"])
def test_a_link_that_leads_nowhere_is_the_same_error(tmp_path, monkeypatch, target):
    tree(tmp_path)
    (tmp_path / "loop").symlink_to(target)
    compiled, plain = in_both_forms(lambda: list_data_files(tmp_path), monkeypatch)
    assert compiled == plain
    assert str(tmp_path / "loop") in plain[1]


def test_a_directory_is_listed_from_its_beginning_each_time(tmp_path, form):
    tree(tmp_path)
    assert list_data_files(tmp_path) == list_data_files(tmp_path)


def test_no_descriptor_is_left_open(tmp_path, form):
    tree(tmp_path)
    (tmp_path / "z").symlink_to("nowhere")
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(PruneError):
        list_data_files(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before


DATA = np.random.default_rng(7).bytes(300_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files in two directories that hold the same bytes, each from another place on."""
    root = tmp_path_factory.mktemp("read")
    for i in range(6):
        path = root / f"p={i % 2}" / f"{i}.parquet"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(DATA[i:])
    return list_data_files(root)


def asked(ranges, splits):
    """Return ranges as arrays, and how many of them go into each buffer."""
    counts = np.diff([0, *sorted(min(split, len(ranges)) for split in splits), len(ranges)]).tolist()
    return Ranges(*np.array(ranges, np.int64).reshape(-1, 3).T.copy()), counts


def read(files, ranges, counts, calls=local.system_calls, before=b""):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "system_calls", calls)
        traffic = Traffic()
        return gather(files, ranges, counts=counts, purpose="x", traffic=traffic, before=before), traffic


@settings(max_examples=3 * settings().max_examples // 5)
@given(
    ranges=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 200_000), st.one_of(st.integers(0, 90_000), st.integers(0, 50))),
        max_size=12,
    ),
    splits=st.lists(st.integers(0, 12), max_size=3),
    before=st.binary(max_size=5),
)
def test_ranges_are_read_as_they_stand_in_their_files(files, ranges, splits, before):
    wanted, counts = asked(ranges, splits)
    compiled, traffic = read(files, wanted, counts, before=before)
    plain, _ = read(files, wanted, counts, None, before=before)
    assert compiled == plain
    contents = {file.path: DATA[int(file.path[-9]) :] for file in files}
    pieces = [contents[files[f].path][start : start + length] for f, start, length in ranges]
    assert b"".join(compiled) == before + b"".join(pieces)
    assert traffic.bytes.get("x", 0) >= len({(f, start, length) for f, start, length in ranges if length})


def test_neighbours_are_one_request_in_both_forms(files):
    ranges = [(f, start, 10) for f in range(6) for start in (100, 20_000, 120_000)]
    for calls in (local.system_calls, None):
        _, traffic = read(files, *asked(ranges, []), calls)
        assert (traffic.requests, traffic.bytes) == (12, {"x": 6 * (19_910 + 10)})


@pytest.mark.parametrize("many", [1, 400])
def test_threads_read_what_one_reads(tmp_path, monkeypatch, many):
    for i in range(many):
        (tmp_path / f"{i:04}").write_bytes(f"{i:04}".encode() * 100)
    listed = list_data_files(tmp_path)
    monkeypatch.setattr(local, "threads", lambda: 5)
    (found,), _ = read(listed, *asked([(i, 8, 4) for i in range(many)], []))
    assert found == b"".join(f"{i:04}".encode() for i in range(many))


@pytest.mark.parametrize("damage", ["gone", "shorter", "zero in its name", "no file"])
def test_a_file_that_cannot_be_read_is_the_same_error(tmp_path, monkeypatch, damage):
    for name in "abc":
        (tmp_path / name).write_bytes(DATA[:100])
    listed = list_data_files(tmp_path)
    if damage == "gone":
        (tmp_path / "b").unlink()
    elif damage == "shorter":
        (tmp_path / "b").write_bytes(DATA[:50])
    elif damage == "zero in its name":
        listed[1] = listed[1]._replace(path=f"{tmp_path}/a\x00b")
    else:
        listed[1] = DataFile(str(tmp_path), 100, 0)

    def attempt(calls):
        with pytest.raises((StorageFailure, ValueError)) as caught:
            read(listed, *asked([(i, 60, 10) for i in range(3)], []), calls)
        return caught.type, str(caught.value)

    before = len(list(Path("/dev/fd").iterdir()))
    assert attempt(local.system_calls) == attempt(None)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_positions_beyond_any_file_are_no_crash(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    far = DataFile(f"{tmp_path}/a", 1 << 62, 0)
    for calls in (local.system_calls, None):
        with pytest.raises(StorageFailure):
            read([far], *asked([(0, (1 << 62) - 10, 5)], []), calls)


def test_a_plan_that_does_not_fit_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(DATA[:100])

    def attempt(*, first=(0, 1), start=0, length=4, target=0, at=0, sizes=(4,), before=b""):
        one = [np.array([number], np.int64) for number in (start, length, target, at)]
        return local.system_calls.read([f"{tmp_path}/a"], np.array(first, np.int64), *one, list(sizes), before, 10, 1)

    assert attempt()[0] == [DATA[:4]]
    odd = [{"first": (0, 2)}, {"first": (0,)}, {"start": -1}, {"length": -1}, {"length": 5}, {"at": 1}, {"at": -1}]
    for one in [*odd, {"before": b"12345"}]:
        with pytest.raises(ValueError, match=r"fit|short|lengths|ranges"):
            attempt(**one)
    with pytest.raises(IndexError):
        attempt(target=1)


@pytest.mark.parametrize("starts", [(50, 40), (0, 50, 49), ((1 << 63) - 4, (1 << 63) - 2)])
def test_ranges_that_do_not_ascend_or_end_nowhere_are_refused(tmp_path, starts):
    (tmp_path / "a").write_bytes(DATA[:100])
    many = len(starts)
    wanted = [np.array(numbers, np.int64) for numbers in ([0, many], starts, [4] * many, [0] * many)]
    at = np.arange(many, dtype=np.int64) * 4
    with pytest.raises(ValueError, match=r"out of order|does not fit"):
        local.system_calls.read([f"{tmp_path}/a"], *wanted, at, [4 * many], b"", 10, 1)


def test_footers_of_any_length_are_read_alike(tmp_path, monkeypatch):
    """A footer that the hint does not cover is read by a second request; a tail that is mostly data is not kept."""
    for i, columns in enumerate((1, 1, 400, 2, 1)):
        pq.write_table(pa.table({f"c{j}": [i] for j in range(columns)}), tmp_path / f"{i}.parquet")
    listed = list_data_files(tmp_path)
    answers = []
    for calls in (local.system_calls, None):
        monkeypatch.setattr(local, "system_calls", calls)
        traffic = Traffic()
        (found,) = read_footers(listed, traffic=traffic)
        chunks = [found.encoded[a:b] for a, b in zip(found.chunk_start, found.chunk_stop, strict=True)]
        answers.append((chunks, found.kind.tolist(), found.footer_bytes.tolist(), traffic))
    assert answers[0] == answers[1]
    assert answers[0][3].requests == 6
    assert len(answers[0][0]) == 405


@pytest.mark.parametrize("threads", [1, 4])
def test_what_arrives_is_told_in_order_and_whole(tmp_path, monkeypatch, threads):
    for i in range(700):
        (tmp_path / f"{i:04}").write_bytes(f"{i:04}".encode() * 100)
    listed = list_data_files(tmp_path)
    monkeypatch.setattr(local, "threads", lambda: threads)
    told = []

    def arrived(buffer, count):
        assert buffer[: 2 + 4 * count] == b"ab" + b"".join(f"{i:04}".encode() for i in range(count))
        told.append(count)

    ranges, counts = asked([(i, 8, 4) for i in range(700)], [])
    (found,) = gather(listed, ranges, counts=counts, purpose="x", traffic=Traffic(), before=b"ab", arrived=arrived)
    assert found[-4:] == b"0699"
    assert told == sorted(set(told))
    assert told[-1] == 700
    assert len(told) > 1 or threads > 1

    def refuse(buffer, count):
        raise MalformedFile("no")

    with pytest.raises(MalformedFile, match="no"):
        gather(listed, ranges, counts=counts, purpose="x", traffic=Traffic(), arrived=refuse)
    (tmp_path / "0650").unlink()
    told.clear()
    with pytest.raises(StorageFailure, match="0650"):
        gather(listed, ranges, counts=counts, purpose="x", traffic=Traffic(), before=b"ab", arrived=arrived)
    assert max(told, default=0) <= 650


def test_many_footers_are_decoded_alike_while_they_arrive(tmp_path, monkeypatch):
    """The files have several row groups and some longer footers, and arrive in several parts."""
    for i in range(300):
        columns = 60 if i in {150, 280} else 1 + i % 3
        table = pa.table({f"c{j}": range(4) for j in range(columns)})
        pq.write_table(table, tmp_path / f"{i:03}.parquet", row_group_size=1 + i % 4)
    listed = list_data_files(tmp_path)
    answers = []
    for calls in (local.system_calls, None):
        monkeypatch.setattr(local, "system_calls", calls)
        (found,) = read_footers(listed, traffic=Traffic())
        chunks = [found.encoded[a:b] for a, b in zip(found.chunk_start, found.chunk_stop, strict=True)]
        numbers = [found.kind, found.num_rows, found.file, found.ordinal, found.row_count, found.first_chunk]
        answers.append((chunks, [column.tolist() for column in numbers]))
    assert answers[0] == answers[1]
    assert len(answers[0][1][2]) == sum(-(-4 // (1 + i % 4)) for i in range(300))


def test_the_first_file_that_is_none_is_named(tmp_path, form):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + b"x" * 60)
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    for names, message in (("ab", "b.parquet: does not end in PAR1"), ("ac", "c.parquet: 4 bytes are too few")):
        listed = [file for file in list_data_files(tmp_path) if file.path[-9] in names]
        with pytest.raises(MalformedFile, match=message):
            list(read_footers(listed, traffic=Traffic()))
