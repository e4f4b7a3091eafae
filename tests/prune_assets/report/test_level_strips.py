from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_factory import make_report

from prune_assets.report.level_strips import HEIGHT, level_strips

COLOURS = {"row_group_statistics": "level-0", "bloom_filter": "level-1", "page_index": "level-2"}


def area(outline):
    return sum(int(width) * int(height) for width, height in re.findall(r"h(\d+)v(\d+)", outline))


@pytest.mark.parametrize("files", [1, 30, 900])
def test_the_parts_of_a_strip_fill_it(files):
    for strip in level_strips(make_report(files=files, row_groups=6, hit=2), COLOURS):
        assert sum(area(outline) for _, outline in strip.outlines) == strip.width * HEIGHT


def test_areas_are_the_bytes_before_by_and_after_the_level():
    report = make_report(files=100, row_groups=1)
    # With row groups of one size the areas of a column are its bytes.
    same = tuple(
        replace(
            file,
            row_groups=tuple(
                replace(
                    group,
                    bytes=1000,
                    kept_bytes=0 if group.verdict == "skip" else 1000,
                    level=group.level if group.verdict == "skip" else "",
                )
                for group in file.row_groups
            ),
        )
        for file in report.files
    )
    report = replace(report, files=same)
    strips = level_strips(report, COLOURS)
    removed = {name: sum(g.level == name for file in same for g in file.row_groups) for name in COLOURS}
    first, second = strips[0], strips[1]
    assert area(dict(first.outlines)["level-0"]) == removed["row_group_statistics"] * HEIGHT
    assert area(dict(first.outlines)["gone"]) == 0
    assert area(dict(second.outlines)["gone"]) == removed["row_group_statistics"] * HEIGHT
    assert area(dict(second.outlines)["level-1"]) == removed["bloom_filter"] * HEIGHT


def test_levels_that_skip_nothing_are_not_drawn(report):
    idle = tuple(replace(level, skipped_bytes=0) for level in report.levels)
    assert level_strips(replace(report, levels=idle), COLOURS) == ()
