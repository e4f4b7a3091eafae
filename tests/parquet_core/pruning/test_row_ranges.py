from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.pruning.access_plan import Verdict, flagged_segments, join, make_access_plan, overlaps, whole_groups
from parquet_core.pruning.segments import merge_borders, page_of_segment


@st.composite
def cut_groups(draw):
    """Row groups with rows, and the page borders of two columns in each."""
    rows = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    borders = [[sorted({0, *draw(st.sets(st.integers(0, count - 1), max_size=3))}) for count in rows] for _ in range(2)]
    return np.array(rows), borders


@given(cut_groups(), st.randoms(use_true_random=False))
def test_segments_flagged_by_row_become_ranges_of_those_rows(groups, random):
    rows, borders = groups
    base = np.cumsum(rows) - rows
    starts = [np.concatenate([base[i] + np.array(cut) for i, cut in enumerate(column)]) for column in borders]
    segments = merge_borders(base, starts)
    flags = np.array([random.random() < 0.5 for _ in range(len(segments))])
    positions = np.arange(len(rows))
    ranges = flagged_segments(flags, segments, positions, rows)

    stops = np.append(segments.start[1:], rows.sum())
    wanted = {row for flag, a, b in zip(flags, segments.start, stops, strict=True) if flag for row in range(a, b)}
    got = {
        int(base[group]) + row
        for group, a, b in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(a, b)
    }
    assert got == wanted
    assert all(0 <= a < b <= rows[g] for g, a, b in zip(ranges.row_group, ranges.start, ranges.stop, strict=True))
    for i, column in enumerate(starts):
        page = page_of_segment(segments, column)
        assert (column[page] <= segments.start).all(), i
        assert set(page.tolist()) == set(range(len(column)))


@given(st.sets(st.integers(0, 30), max_size=8), st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_overlap_is_sharing_a_row(points, widths):
    edges = np.array(sorted(points)[: len(points) // 2 * 2], np.int64).reshape(-1, 2)
    stops = np.cumsum(widths)
    starts = stops - np.array(widths)
    rows = {row for a, b in edges for row in range(a, b)}
    expected = [any(row in rows for row in range(a, b)) for a, b in zip(starts, stops, strict=True)]
    assert overlaps(edges, starts, stops).tolist() == expected


def test_verdicts_follow_from_the_rows_read():
    rows = np.array([10, 10, 10, 0])
    selected = flagged_segments(
        np.array([True, False]), merge_borders(np.array([0]), [np.array([0, 4])]), np.array([1]), rows
    )
    plan = make_access_plan(join(whole_groups(np.array([2]), rows), selected), whole_groups(np.array([2]), rows), rows)
    assert plan.verdict.tolist() == [Verdict.SKIP, Verdict.SELECTION, Verdict.SCAN, Verdict.SKIP]
    assert plan.ranges.of(1).tolist() == [[0, 4]]
    assert plan.ranges.row_totals(4).tolist() == [0, 4, 10, 0]
