"""The HTML report in a browser: 1 file, 8 files, 10,000 files."""

from __future__ import annotations

import re

import pytest
from chromium import executable, open_page
from report_factory import in_runs, make_report

from prune_assets.report.html import to_html

pytestmark = [pytest.mark.skipif(executable() is None, reason="no Chromium on this machine"), pytest.mark.deep]

BLANK = "<!DOCTYPE html><title>nothing</title>"


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    return open_page(BLANK, tmp_path_factory.mktemp("blank"))


def count(pattern, text):
    return len(re.findall(pattern, text))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("files", "row_groups", "cells"),
    [(1, 6, 6), (8, 12, 96), (10_000, 4, 1_482)],
    ids=["1 file", "8 files", "10,000 files"],
)
def test_pages_open_without_complaint_and_show_every_cell(files, row_groups, cells, blank, tmp_path):
    report = make_report(files=files, row_groups=row_groups, hit=2)
    report = report if files < 2_000 else in_runs(report)
    page = to_html(report)
    assert len(page.encode()) < 1_500_000
    opened = open_page(page, tmp_path)
    assert opened.complaints == []
    assert count("<g>", opened.dom) == cells
    assert count("<title>", opened.dom) == 1, "the script took the titles of cells for its own tips"
    assert count('<tr class="engine">', opened.dom) == len(report.engines)
    facts = dict(re.findall(r'id="fact-([a-z-]+)"><dt>.*?<dd>(.*?) <span', opened.dom))
    assert facts["row-groups"] == f"{report.kept.row_groups:,}"
    assert facts["rows"] == f"{report.kept.rows:,}"
    assert opened.png.startswith(b"\x89PNG")
    assert len(opened.png) > 4 * len(blank.png)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("size", "dark"), [((1200, 1600), True), ((500, 1600), False)], ids=["dark", "narrow"])
def test_other_windows_show_it_too(size, dark, blank, tmp_path):
    page = to_html(make_report(files=8))
    opened, light = open_page(page, tmp_path, size=size, dark=dark), open_page(page, tmp_path)
    assert opened.complaints == []
    assert len(opened.png) > 4 * len(blank.png)
    assert opened.png != light.png


STEPS = """
const map = document.getElementById("row-groups");
const press = (key) => map.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
const note = (id, textContent) => document.body.append(Object.assign(document.createElement("p"), { id, textContent }));
const detail = document.getElementById("detail");
press("ArrowRight");
note("first", detail.textContent);
press("ArrowRight");
note("second", detail.textContent);
press("ArrowLeft");
press("ArrowLeft");
note("stays", detail.textContent);
press("End");
note("last", detail.textContent);
const cell = map.querySelectorAll("g")[2].firstElementChild;
cell.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 900, clientY: 700 }));
const tip = document.getElementById("tip");
const box = tip.getBoundingClientRect();
note("pointed", tip.hidden ? "hidden" : tip.textContent);
note("inside", box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight);
map.dispatchEvent(new PointerEvent("pointerleave"));
note("gone", tip.hidden);
note("fits", document.documentElement.scrollWidth <= innerWidth);
"""


@pytest.mark.parametrize("size", [(1200, 1600), (500, 900)], ids=["wide", "narrow"])
def test_pointer_and_keys_tell_what_a_cell_is(size, tmp_path):
    report = make_report(files=3, row_groups=2)
    # The page's own policy would refuse a second script.
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", to_html(report))
    opened = open_page(page.replace("</body>", f"<script>{{{STEPS}}}</script></body>"), tmp_path, size=size)
    assert opened.complaints == []
    noted = dict(re.findall(r'<p id="(\w+)">(.*?)</p>', opened.dom, re.DOTALL))
    groups = [group for file in report.files for group in file.row_groups]
    for name, group in (("first", groups[0]), ("second", groups[1]), ("stays", groups[0]), ("last", groups[-1])):
        assert f"row group {group.index}\n" in noted[name]
        assert f"of {group.row_count:,} rows" in noted[name]
    assert f"of {groups[2].row_count:,} rows" in noted["pointed"]
    assert (noted["inside"], noted["gone"], noted["fits"]) == ("true", "true", "true")


def test_a_page_that_fails_is_noticed(tmp_path):
    assert "nowhere is not defined" in open_page("<script>nowhere()</script>", tmp_path).complaints[0]
