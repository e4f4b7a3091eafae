from __future__ import annotations

import numpy as np
import pytest

from prune_assets.tables.writes.ranges import at_partitions, cuts


def files_of(sizes, parts):
    """Cut partitions with the given row counts into parts; return the rows of each file, by partition."""
    partitions = np.repeat(np.arange(len(sizes)), sizes)
    places, drawn = np.arange(len(partitions)), np.ones(len(partitions), np.bool_)
    cut = [row for row, _ in cuts(places, drawn, parts)]
    starts = [row for row, _ in at_partitions(cut, places, drawn, partitions, parts)]
    task = np.searchsorted(starts, places, side="right")
    return np.unique(np.stack([partitions, task]), axis=1, return_counts=True)[1].tolist()


@pytest.mark.parametrize(
    ("sizes", "parts", "files"),
    [
        pytest.param([10, 10, 10], 3, [10, 10, 10], id="one each"),
        pytest.param([9, 11, 10], 3, [9, 11, 10], id="about one each"),
        pytest.param([21, 19, 20], 6, [10, 11, 9, 10, 10, 10], id="two each"),
        pytest.param([3] * 8, 4, [3] * 8, id="several in a task"),
        pytest.param([40, 1, 1], 4, [10, 11, 10, 9, 1, 1], id="a large one and small ones"),
        pytest.param([30], 3, [10, 10, 10], id="no partitions"),
    ],
)
def test_a_partition_is_not_cut_near_its_ends(sizes, parts, files):
    assert files_of(sizes, parts) == files


def test_no_file_is_much_smaller_than_its_partition_or_half_a_part():
    chance = np.random.default_rng(5)
    for _ in range(200):
        sizes = chance.integers(1, 200, chance.integers(2, 20))
        parts = int(chance.integers(1, 30))
        half = sizes.sum() / parts / 2
        files = files_of(sizes, parts)
        assert sum(files) == sizes.sum()
        # Rounding moves a cut by a row.
        assert all(size in sizes or size >= half - 1 for size in files), (sizes, parts, files)


def test_rows_in_any_order_are_cut_by_their_places():
    places = np.array([5, 0, 3, 1, 4, 2])
    starts = at_partitions([2], places, np.ones(6, np.bool_), places // 4, 2)
    assert starts == [(4, True)], "row 4 is the first of the partition of places 4 and 5"
