from __future__ import annotations

from dataclasses import replace

import pytest
from report_factory import make_report

from prune_assets.report.aggregate import map_cells
from prune_assets.report.mosaic import mosaic

COLOURS = {"row_group_statistics": "level-0", "bloom_filter": "level-1", "page_index": "level-2"}


@pytest.mark.parametrize("most", [1, 7, 60, 1_000])
def test_runs_add_up_to_the_levels_and_follow_one_another(most):
    report = make_report(files=60, row_groups=5)
    cells = map_cells(report, most)
    assert len(cells) <= most
    assert sum(cell.row_groups for cell in cells) == report.total.row_groups
    assert sum(cell.kept_row_groups for cell in cells) == report.kept.row_groups
    assert sum(cell.bytes for cell in cells) == report.total.bytes
    assert sum(cell.kept_bytes for cell in cells) == report.kept.bytes
    for i, level in enumerate(report.levels):
        assert sum(cell.skipped_bytes[i] for cell in cells) == level.skipped_bytes
    assert len({cell.row_groups for cell in cells[:-1]}) <= 1
    assert (cells[0].first_file, cells[-1].last_file) == (report.files[0].path, report.files[-1].path)


def test_an_empty_table_has_no_cells(report):
    assert map_cells(replace(report, files=()), 10) == ()


def test_a_report_that_names_not_every_row_group_is_drawn_from_its_map():
    whole = make_report(files=600, row_groups=5)
    cells = map_cells(whole, 1_500)
    part = replace(whole, map=cells, files=whole.files[:3], files_complete=False)
    assert map_cells(part, 1_500) == cells
    drawn = mosaic(part, COLOURS)
    assert (drawn.kind, drawn.per_cell) == ("bins", 2)
    assert drawn == mosaic(whole, COLOURS)
