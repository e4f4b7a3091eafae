"""Selection of files to rewrite, from numbers alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prune_assets.writing.pick import UNKNOWN, FileNumbers, RewriteReason, pick

TARGET = 128
DAY = 60


def numbers(files, **faults):
    """Return file numbers from (low, high, bytes) tuples, or with partition and deleted share appended."""
    whole = [(*file, *(0, 0.0)[len(file) - 3 :]) for file in files]
    low, high, size, partition, deleted = (np.array(column) for column in zip(*whole, strict=True))
    flags = {RewriteReason[name]: np.isin(np.arange(len(files)), at) for name, at in faults.items()}
    return FileNumbers(partition=partition, low=low, high=high, size=size, deleted=deleted, faults=flags)


def groups(files, **faults):
    return [(group.files, group.outputs) for group in pick(numbers(files, **faults), target=TARGET).groups]


@pytest.mark.parametrize(
    ("files", "picked"),
    [
        pytest.param([(1, 5, 90), (6, 9, 90)], [], id="apart"),
        pytest.param([(1, 5, 90), (5, 9, 90)], [], id="touching"),
        pytest.param([(1, 5, 90), (5, 5, 90), (5, 9, 90)], [], id="one value between"),
        pytest.param([(1, 6, 90), (5, 9, 90)], [((0, 1), 2)], id="overlapping"),
        pytest.param([(5, 5, 90), (1, 9, 90)], [((1, 0), 2)], id="one value inside"),
        pytest.param([(1, 4, 90), (7, 9, 90), (3, 8, 90)], [((0, 2, 1), 3)], id="through a third"),
        pytest.param([(1, 6, 90), (5, 9, 90), (9, 12, 90), (11, 13, 38)], [((0, 1), 2), ((2, 3), 1)], id="two groups"),
        pytest.param([(1, 9, 90, 0), (1, 9, 90, 1)], [], id="in two partitions"),
        pytest.param([(1, 2, 9, 0), (3, 4, 9, 1)], [], id="small ones in two partitions"),
        pytest.param([(1, 2, 9), (3, 4, 9)], [((0, 1), 1)], id="small neighbours"),
        pytest.param([(1, 2, 9), (3, 4, 90), (5, 6, 9)], [], id="small ones apart"),
        pytest.param([(1, 2, 9)], [], id="one small file"),
        pytest.param([(1, 2, 20), (3, 4, 9)], [], id="a small one beside a larger one"),
        pytest.param([(1, 2, 20), (3, 4, 9), (5, 6, 11)], [((0, 1, 2), 1)], id="where the largest doubles"),
        pytest.param([(1, 2, 30), (3, 4, 9), (5, 6, 11)], [], id="where it does not"),
        pytest.param([(1, 2, 30), (3, 4, 9), (5, 6, 9)], [((1, 2), 1)], id="beside a larger one"),
        pytest.param([(n, n, 31) for n in range(9)], [(tuple(range(9)), 3)], id="into several"),
        pytest.param([(1, 2, 90, 0, 0.04), (3, 4, 90, 0, 0.06)], [((1,), 1)], id="deleted rows"),
        pytest.param([(1, 2, 900, 0, 0.5)], [((0,), 4)], id="only live rows count"),
        pytest.param([(UNKNOWN, UNKNOWN, 90), (1, 9, 90)], [], id="without bounds"),
        pytest.param([(0, 0, 90), (0, 0, 90), (0, 0, 90)], [], id="without an order"),
    ],
)
def test_what_needs_it_is_picked(files, picked):
    assert groups(files) == picked


@pytest.mark.parametrize(
    ("files", "picked"),
    [
        pytest.param([(n, n, 9) for n in range(4)], [], id="as many as asked for"),
        pytest.param([(n, n, 9, n % 2) for n in range(8)], [], id="in each partition"),
        pytest.param([(1, 3, 9, 0), (2, 4, 9, 0), (1, 1, 18, 1)], [((0, 1), 2)], id="half of the table overlaps"),
        pytest.param([(1, 3, 1, 0), (2, 4, 1, 0), (1, 1, 99, 1)], [((0, 1), 1)], id="little of it overlaps"),
        pytest.param([(n, n, 9) for n in range(5)], [((0, 1, 2, 3, 4), 4)], id="one more"),
        pytest.param([(1, 3, 9), (2, 4, 9)], [((0, 1), 4)], id="all overlap"),
        pytest.param([(1, 3, 9), (2, 4, 9), (5, 6, 99)], [((0, 1), 1)], id="a part overlaps"),
    ],
)
def test_a_layout_says_how_many_files_are_none_too_small(files, picked):
    found = pick(numbers(files), target=TARGET, wanted=4)
    assert [(group.files, group.outputs) for group in found.groups] == picked


@pytest.mark.parametrize("reason", ["BLOOM", "ORDER", "PAGES"])
def test_a_file_with_a_fault_is_picked_alone(reason):
    files = [(1, 2, 90), (3, 4, 90), (5, 6, 90)]
    found = pick(numbers(files, **{reason: [1]}), target=TARGET)
    assert [group.files for group in found.groups] == [(1,)]
    assert found.reasons == {1: (RewriteReason[reason],)}


def test_what_overlaps_with_a_fault_is_picked_with_all_reasons():
    found = pick(numbers([(1, 5, 90, 0, 0.5), (4, 9, 90)], BLOOM=[1]), target=TARGET)
    assert found.reasons == {
        0: (RewriteReason.OVERLAP, RewriteReason.DELETED),
        1: (RewriteReason.OVERLAP, RewriteReason.BLOOM),
    }


def test_nothing_is_picked_of_nothing():
    empty = np.zeros(0, np.int64)
    none = FileNumbers(partition=empty, low=empty, high=empty, size=empty, deleted=np.zeros(0), faults={})
    assert pick(none, target=TARGET).groups == ()


def table_of_days(days=1000):
    return [(24 * day, 24 * day + 23, DAY) for day in range(days)]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([(0, 23)] * 6, id="in any order"),
        pytest.param([(4 * i, 4 * i + 3) for i in range(6)], id="hour by hour"),
        pytest.param([(0, 0)] * 6, id="of one value"),
    ],
)
def test_a_new_day_costs_no_more_than_itself(parts):
    old = table_of_days()
    new = [(24_000 + low, 24_000 + high, DAY // 6) for low, high in parts]
    assert groups(old) == []
    ((picked, outputs),) = groups([*old, *new])
    assert sorted(picked) == list(range(1000, 1006))
    assert outputs == 1


def test_a_late_day_takes_the_one_that_it_falls_into_along():
    old = table_of_days()
    ((picked, _),) = groups([*old, (24 * 500 + 3, 24 * 500 + 9, 10)])
    assert sorted(picked) == [500, 1000]


def test_small_days_are_rewritten_as_often_as_they_can_double():
    """If each day makes 1/64 of a file, each row is rewritten a few times, not once a day."""
    files, written, target = [], 0, 64
    for day in range(1000):
        files.append((day, day, 1))
        for chosen, _ in ((group.files, group) for group in pick(numbers(files), target=target).groups):
            merged = [files[i] for i in chosen]
            written += sum(size for _, _, size in merged)
            files = [file for i, file in enumerate(files) if i not in chosen]
            files.append((merged[0][0], merged[-1][1], sum(size for _, _, size in merged)))
        files.sort()
    assert sum(size for _, _, size in files) == 1000
    assert written < 1000 * np.log2(target)
    assert len(files) < 1000 / (target / 8)


def rewritten(files, picked):
    """The files after the rewrite, each group spread evenly over its files."""
    gone = {file for group in picked for file in group.files}
    left = [file for i, file in enumerate(files) if i not in gone]
    for group in picked:
        low, high = min(files[i][0] for i in group.files), max(files[i][1] for i in group.files)
        size = sum(files[i][2] * (1 - files[i][4]) for i in group.files)
        edges = np.linspace(low, high, group.outputs + 1).astype(int).tolist()
        partition = files[group.files[0]][3]
        left += [(edges[i], edges[i + 1], int(size // group.outputs), partition, 0.0) for i in range(group.outputs)]
    return left


@given(
    st.lists(
        st.tuples(
            st.integers(0, 60), st.integers(0, 12), st.integers(1, 300), st.integers(0, 2), st.sampled_from([0.0, 0.5])
        ),
        max_size=30,
    )
)
def test_a_rewrite_leaves_nothing_to_do(drawn):
    files = [(low, low + length, size * 16, partition, deleted) for low, length, size, partition, deleted in drawn]
    if not files:
        return
    found = pick(numbers(files), target=TARGET * 16).groups
    chosen = [file for group in found for file in group.files]
    assert len(chosen) == len(set(chosen))
    assert all(len({files[file][3] for file in group.files}) == 1 for group in found), "of one partition"
    after = rewritten(files, found)
    again = pick(numbers(after), target=TARGET * 16)
    assert not any(
        RewriteReason.OVERLAP in reasons or RewriteReason.DELETED in reasons for reasons in again.reasons.values()
    )
    # Sizes are rounded: merged files may be off by a byte, and two files that were equal may double once more.
    for _ in range(3):
        after = rewritten(after, again.groups)
        again = pick(numbers(after), target=TARGET * 16)
    assert again.groups == ()


@pytest.mark.parametrize("cuts", [(100, 200, 300), (100, 201, 299), (101, 199, 300), (103, 200, 307), (99, 200, 300)])
def test_a_second_write_leaves_as_many_files_as_the_layout_says(cuts):
    """Spark cuts by a sample, so the cuts of two writes may be equal, touch or differ, each by chance."""
    files = [
        (start, stop - 1, 10 * (stop - start) + start)
        for ends in ((0, 100, 200, 300, 400), (0, *cuts, 400))
        for start, stop in pairwise(ends)
    ]
    found = pick(numbers(files), target=100 * TARGET, wanted=4)
    assert sorted(found.reasons) == list(range(8))
    assert sum(group.outputs for group in found.groups) == 4
