from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_factory import make_report, merged

from prune_assets.report.map import PlacedCell, bin_cell, map_of, row_group_cell, spans
from prune_assets.report.skip_report import MapCell, RowGroupReport

COLOURS = {"row_group_statistics": "level-0", "bloom_filter": "level-1", "page_index": "level-2"}


@st.composite
def row_ranges(draw):
    row_count = draw(st.integers(1, 10_000))
    cuts = sorted(draw(st.sets(st.integers(0, row_count), max_size=20)))
    return merged(list(zip(cuts[::2], cuts[1::2], strict=False))), row_count


@given(row_ranges(), st.integers(1, 1_000))
def test_spans_cover_every_row_that_is_read_and_stay_sorted(drawn, resolution):
    ranges, row_count = drawn
    found = spans(ranges, row_count, resolution)
    for first, last in ranges:
        assert any(a * row_count <= first * resolution and last * resolution <= b * row_count for a, b in found)
    edges = [edge for span in found for edge in span]
    assert edges == sorted(set(edges))
    assert not edges or (edges[0] >= 0 and edges[-1] <= resolution)


def test_no_rows_have_no_spans():
    assert spans([(0, 0)], 0, 10) == ()


def group(verdict, *, level="", ranges=(), size=100, kept=0):
    return RowGroupReport(0, 1_000, verdict, ranges, (), (), "", level, size, kept)


@pytest.mark.parametrize(
    ("item", "painted"),
    [
        (group("skip", level="bloom_filter"), (("level-1", ((0, 10),)),)),
        (group("scan", kept=100), (("kept", ((0, 10),)),)),
        (group("selection", level="page_index", ranges=((0, 1),)), (("level-2", ((0, 10),)), ("kept", ((0, 1),)))),
        (group("skip", level="from_the_future"), (("other", ((0, 10),)),)),
    ],
    ids=["skipped", "read", "read in part", "level without a colour"],
)
def test_a_row_group_is_painted_by_what_happens_to_it(item, painted):
    assert row_group_cell("f", item, "t", COLOURS, 10).colours == painted


def test_a_bin_is_split_by_bytes_and_shows_the_least_read():
    run = MapCell("f", 0, "f", 1, 2, 1, 2 * 10**6, 1, (0, 10**6, 10**6 - 1))
    cell = bin_cell(run, "t", COLOURS, 10)
    assert cell.colours == (("kept", ((0, 1),)), ("level-1", ((1, 6),)), ("level-2", ((6, 10),)))
    assert "2 row groups" in cell.title
    assert "reads 1 B" in cell.title


def test_a_bin_without_bytes_is_still_drawn():
    run = MapCell("f", 0, "f", 0, 1, 0, 0, 0, (0, 0, 0))
    assert bin_cell(run, "t", COLOURS, 10).colours == (("other", ((0, 10),)),)


@pytest.mark.parametrize(
    ("files", "row_groups", "kind"),
    [
        (1, 1, "strips"),
        (40, 4, "strips"),
        (41, 4, "cells"),
        (1, 201, "cells"),
        (500, 4, "cells"),
    ],
)
def test_form_follows_the_number_of_row_groups(files, row_groups, kind):
    assert map_of(make_report(files=files, row_groups=row_groups), COLOURS).kind == kind


def test_strips_are_as_wide_as_their_bytes(report):
    strips = map_of(report, COLOURS).strips
    sizes = [sum(group.bytes for group in file.row_groups) for file in report.files]
    widths = [strip.cells[-1].x + strip.cells[-1].width for strip in strips]
    assert max(widths) == pytest.approx(1_000, abs=3)
    assert widths == pytest.approx([1_000 * size / max(sizes) for size in sizes], abs=3)


def test_cells_do_not_overlap_and_lie_in_the_drawing():
    drawn = map_of(make_report(files=100), COLOURS)
    places = [(cell.x, cell.y) for cell in drawn.cells]
    assert len(set(places)) == len(places) == 400
    assert all(cell.x + cell.width <= drawn.width and cell.y + cell.height <= drawn.height for cell in drawn.cells)


def test_runs_of_a_table_too_large_to_tell_each_row_group_are_bins():
    runs = tuple(MapCell("f", i * 7, "f", i * 7 + 6, 7, 1, 100, 10, (50, 20, 20)) for i in range(130))
    drawn = map_of(replace(make_report(files=1), files_complete=False, map=runs), COLOURS)
    assert (drawn.kind, len(drawn.cells), drawn.per_cell) == ("bins", 130, 7)
    assert all(cell.upright for cell in drawn.cells)
    assert all(cell.y + cell.height <= drawn.height for cell in drawn.cells)


def test_outlines_are_rectangles_inside_the_cell():
    cell = row_group_cell(
        "f", group("selection", level="page_index", ranges=((0, 100), (900, 1_000))), "t", COLOURS, 10
    )
    (_, base), (colour, kept) = PlacedCell(cell, 5, 7, 20, 9).outlines()
    assert base == "M5 7h20v9h-20z"
    assert colour == "kept"
    assert re.findall(r"M([\d.]+) 7h([\d.]+)v9", kept) == [("5", "2"), ("23", "2")]
