from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from report_factory import make_report

from parquet_core.quantities import bytes_text
from prune_assets.report.html import to_html
from prune_assets.report.skip_report import (
    Advice,
    Conjunct,
    Denial,
    Engine,
    Extent,
    Leaf,
    Level,
    MapCell,
    ReaderWarning,
    Reading,
    Remedy,
    RowGroupReport,
    UnsupportedPart,
)

VOID = {"meta", "br", "hr", "link", "img", "input"}
HOSTILE = """</script><script>alert(1)</script>"><img src=x onerror=alert(2)>'{{ 7*7 }}]]>--><!--"""


class Page(HTMLParser):
    """Collects tags, attributes and texts, and checks that every element is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.texts = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def text(self, tag):
        return "".join(self.texts.get(tag, ()))

    def titles(self):
        return self.texts["title"]


@pytest.fixture(scope="module")
def html(report):
    return to_html(report)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_headline_is_the_skipped_bytes_out_of_all(report, page):
    assert page.text("h1") == (
        f"Skipped {bytes_text(report.skipped_bytes)} of {bytes_text(report.total.bytes)} "
        f"({1000 * report.skipped_bytes // report.total.bytes / 10:.1f} %)"
    )


def test_begins_with_its_doctype(html):
    assert html.lstrip().lower().startswith("<!doctype html>")


def test_loads_nothing_from_anywhere(html, page):
    assert not re.search(r"https?://|//[a-z0-9.-]+\.[a-z]{2,}/|@import|url\(", html.replace("s3://lake", ""))
    assert {name for _, name, _ in page.attributes}.isdisjoint({"src", "href", "srcset", "action", "xlink:href"})
    assert {"link", "img", "iframe", "object", "embed", "base"}.isdisjoint(page.tags)


def test_policy_lets_the_one_script_run_and_nothing_be_fetched(page):
    (policy,) = [value for tag, name, value in page.attributes if tag == "meta" and value and "default-src" in value]
    digest = b64encode(sha256(page.text("script").encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert page.tags.count("script") == 1


def hostile_report():
    return make_report(
        files=2,
        hit=5,
        seed=3,
        path=lambda i: f"{HOSTILE}{i}",
        table=HOSTILE,
        predicate=HOSTILE,
        normalized=f"{HOSTILE} ",
        unsupported=(UnsupportedPart(HOSTILE, HOSTILE, HOSTILE),),
        conjuncts=(Conjunct(HOSTILE, 1),),
        implied=(HOSTILE,),
        engines=(Engine(HOSTILE, Extent(1, 1, 1, 1, 1), estimated=True, why=HOSTILE),),
        warnings=(ReaderWarning(HOSTILE, HOSTILE, HOSTILE),),
        leaves=(Leaf(HOSTILE, (Denial(HOSTILE, 1, 1),), 1, 1, 1), Leaf(HOSTILE, (), 1, 1, 0, HOSTILE)),
        schema=HOSTILE,
    )


def with_hostile_row_groups(report):
    def spoil(group):
        return replace(group, reason=HOSTILE, level=HOSTILE, evidence=(HOSTILE,))

    spoilt = tuple(replace(file, row_groups=tuple(map(spoil, file.row_groups))) for file in report.files)
    levels = tuple(replace(level, why=HOSTILE) for level in report.levels)
    return replace(report, files=spoilt, levels=levels)


@pytest.mark.parametrize("kind", ["strips", "cells", "bins"])
def test_hostile_names_and_predicates_stay_text(page, kind):
    report = with_hostile_row_groups(hostile_report())
    if kind == "cells":
        report = replace(report, files=report.files * 30)
    elif kind == "bins":
        run = MapCell(HOSTILE, 0, HOSTILE, 9, 10, 1, 1_000, 10, (90, *[0] * (len(report.levels) - 1)))
        report = replace(report, files_complete=False, map=(run,))
    hostile = Page(to_html(report))
    assert set(hostile.tags) <= set(page.tags) | {"rect", "path"}
    assert hostile.tags.count("script") == 1
    assert hostile.text("script") == page.text("script")
    assert {name for _, name, _ in hostile.attributes} <= {name for _, name, _ in page.attributes} | {"y"}
    assert HOSTILE in hostile.text("code")
    assert HOSTILE in hostile.text("span")


def test_controls_and_names_that_are_not_utf8_are_escaped(report):
    html = to_html(replace(report, table="t\udce9\x00\u202e"))
    html.encode()
    assert r"t\udce9\x00\u202e" in html


def test_each_row_group_is_a_block_that_tells_its_reason(report, page):
    groups = [group for file in report.files for group in file.row_groups]
    assert page.tags.count("g") == len(groups)
    for group, title in zip(groups, page.titles()[1:], strict=True):
        assert f"row group {group.index}\n" in title
        assert f"of {group.row_count:,} rows" in title
        assert title.endswith(group.reason)


def test_blocks_have_the_colour_of_the_level_that_removed_them(report, html):
    blocks = re.findall(r"<g>.*?</g>", html, re.DOTALL)
    groups = [group for file in report.files for group in file.row_groups]
    colours = {level.level: f"level-{number}" for number, level in enumerate(report.levels)}
    for group, block in zip(groups, blocks, strict=True):
        wanted = [colours[group.level]] if group.level else []
        wanted += ["kept"] if group.verdict != "skip" else []
        wanted += ["matched"] if group.matches else []
        assert re.findall(r'class="([^"]+)"', block) == wanted


def test_legend_names_levels_that_skip(page):
    assert all(
        f"skipped by {title}" in page.text("li") for title in ("Row-group statistics", "Bloom filter", "Page index")
    )


def test_legend_names_proven_matches_only_where_there_are_any(report, page):
    def without_matches(file):
        return replace(file, row_groups=tuple(replace(group, matches=()) for group in file.row_groups))

    none = replace(report, files=tuple(map(without_matches, report.files)))
    assert "proven to match" in page.text("li")
    assert "proven to match" not in Page(to_html(none)).text("li")


def test_kept_row_groups_are_listed_with_their_reason(report, page):
    cells = page.text("td")
    for path, group in report.kept_row_groups():
        assert group.reason in cells
        assert path.removeprefix("s3://lake/orders/") in cells


def test_unsupported_parts_come_with_their_remedy(report, page):
    (part,) = report.unsupported
    assert part.reason in page.text("p")
    assert part.remedy in page.text("p")


def test_leaves_say_what_they_rule_out_and_what_they_leave(report, page):
    cells = page.text("td")
    for leaf in report.leaves:
        assert leaf.sql in page.text("code")
        assert f"{leaf.open_row_groups:,} row group" in cells
    (denial,) = report.leaves[0].denied
    assert f"Row-group statistics: {denial.row_groups:,} row group" in page.text("span")
    assert report.leaves[1].why in page.text("span")


def test_engines_are_bars_of_the_bytes_they_read(report, html):
    bars = re.findall(r'<tr class="engine">.*?class="kept" width="(\d+)"', html, re.DOTALL)
    assert [int(bar) for bar in bars] == [
        max(1000 * engine.kept.bytes // report.total.bytes, 4) for engine in report.engines
    ]
    assert "engine" not in {
        value for _, name, value in Page(to_html(replace(report, engines=()))).attributes if name == "class"
    }


def test_the_bar_of_all_bytes_is_full(html):
    whole = re.search(r'<div class="whole">.*?</svg>', html, re.DOTALL)[0]
    parts = [(int(x), int(width)) for x, width in re.findall(r'x="(\d+)" width="(\d+)"', whole)]
    assert [x for x, _ in parts] == [sum(width for _, width in parts[:i]) for i in range(len(parts))]
    assert sum(width for _, width in parts) == 1000


def test_absent_levels_are_told_from_levels_that_kept_all(report):
    levels = [replace(report.levels[0], status=status) for status in ("absent", "not_applicable")]
    none = Level("bloom_filter", "row group", report.total, report.total, 0, 0, "consulted")
    text = Page(to_html(replace(report, levels=(*levels, none)))).text("p")
    assert "none to use" in text
    assert "not applicable" in text
    assert "consulted, nothing skipped" in text


def test_levels_that_skipped_nothing_are_the_last_rows(report):
    first, *others = report.levels
    idle = replace(first, kept=first.total, skipped_rows=0, skipped_bytes=0)
    html = to_html(replace(report, levels=(idle, *others)))
    rows = re.findall(r'<tr class="consulted">.*?<p class="outcome">(.*?)</p>', html, re.DOTALL)
    assert [said == "consulted, nothing skipped" for said in rows] == [False] * len(others) + [True]


def test_advice_and_comparison_stand_in_the_header(report):
    engines = tuple(Engine(f"Spark 4.3 {how}", report.total, reading=how) for how in (Reading.ALONE, Reading.WITH_PLAN))
    advice = Advice("rows lie <as> they came", (Remedy("sort_by", "sort by day"),))
    html = to_html(replace(report, engines=engines, advice=advice, made="2026-05-01T10:00:00+00:00", version="9.9"))
    header = html[: html.index("</header>")]
    assert "rows lie &lt;as&gt; they came" in header
    assert "sort by day" in header
    assert "; with this plan the same" in header
    assert "2026-05-01 10:00:00 UTC, prune-assets 9.9" in header
    assert "<b>Why not more</b> rows lie" in html
    assert 'id="advice"' not in to_html(report)


def test_pictures_are_named_for_those_who_do_not_see_them(page):
    pictures = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert len(pictures) == page.tags.count("svg")
    assert all(pictures)


def test_an_empty_table_is_a_page_too(report):
    nothing = Extent(0, 0, None, 0, 0)
    page = Page(to_html(replace(report, total=nothing, kept=nothing, files=(), levels=(), engines=(), unsupported=())))
    assert page.text("h1").startswith("Nothing to read")


def test_row_groups_without_bytes_are_drawn(report):
    empty = RowGroupReport(0, 0, "skip", (), (), (), "no rows", "row_group_statistics", 0, 0)
    file = replace(report.files[0], row_groups=(empty, empty))
    assert Page(to_html(replace(report, files=(file,)))).tags.count("g") == 2


def test_size_stays_bounded(vast_report):
    for report, blocks in ((vast_report, 1_482), (make_report(files=500), 2_000)):
        html = to_html(report)
        assert len(html.encode()) < 1_500_000
        assert Page(html).tags.count("g") == blocks


def test_every_row_group_lies_in_a_bin(vast_report):
    titles = [title for title in Page(to_html(vast_report)).titles() if " row groups, " in title]
    assert sum(int(title.split()[0].replace(",", "")) for title in titles) == vast_report.total.row_groups
