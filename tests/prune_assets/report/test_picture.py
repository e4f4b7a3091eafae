from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from report_factory import in_runs, make_report

from prune_assets.report.picture import to_data_uri, to_svg


def lines_of(report):
    """Return each line of the picture: title, coloured part of the bar, and text."""
    root = ET.fromstring(to_svg(report))
    said = [(node.text, node[0].text) for node in root.findall(".//{*}text")]
    bars, kept = (node.get("d") for node in root.findall(".//{*}path"))
    coloured = {
        y: sum(map(int, re.findall(r"h(\d+)", dashes))) / 180 for y, dashes in re.findall(r"M\d+ (\d+)([^M]*)", kept)
    }
    return [
        (title, coloured.get(y, 0), text) for (title, text), y in zip(said, re.findall(r"M70 (\d+)", bars), strict=True)
    ]


def test_each_line_has_less_than_the_one_before():
    report = make_report(files=24, hit=0.1)
    files, groups, pages, size = lines_of(report)
    assert [line[0] for line in (files, groups, pages, size)] == ["files", "row groups", "pages", "bytes"]
    assert 1 > files[1] > groups[1] > pages[1] > 0
    assert files[2] == f"{report.kept.files} of {report.total.files}"


def test_the_colour_has_about_the_share_of_the_bytes_and_never_less():
    report = make_report(files=24, hit=0.1)
    *_, (_, pages, _), (_, coloured, _) = lines_of(report)
    share = report.kept.bytes / report.total.bytes
    assert share <= coloured < share + 0.01
    assert coloured <= pages < share + 0.1


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_all_or_nothing(hit):
    report = make_report(files=3, hit=hit)
    assert {coloured > 0 for _, coloured, _ in lines_of(report)} == {report.kept.rows > 0}


def test_one_row_group_of_very_many_is_seen():
    report = make_report(files=5_000, row_groups=1, hit=0.0001)
    assert all(coloured > 0 for _, coloured, _ in lines_of(report)) == (report.kept.rows > 0)


def test_of_runs_files_are_not_told_and_the_picture_stays_small(vast_report):
    assert [title for title, _, _ in lines_of(vast_report)] == ["row groups", "pages", "bytes"]


@pytest.mark.parametrize(("files", "hit"), [(1, 0.5), (24, 0.3), (400, 0.5), (3_000, 0.001)])
@pytest.mark.parametrize("seed", [7, 8])
def test_dagster_shows_it_at_once(files, hit, seed):
    report = make_report(files=files, hit=hit, seed=seed)
    assert len(to_data_uri(report)) < 940
    assert len(to_data_uri(in_runs(report))) < 940


def test_pages_that_nobody_counted_are_told_as_rows():
    report = make_report()
    *_, (title, _, said), _ = lines_of(replace(report, kept=replace(report.kept, pages=None)))
    assert (title, said) == ("rows", f"{report.kept.rows:,} of {report.total.rows:,}")


def test_a_total_that_nobody_knows_is_called_unknown():
    report = make_report()
    some = replace(report, total=replace(report.total, row_groups=None))
    assert lines_of(some)[1][2] == f"{report.kept.row_groups:,}, total unknown"
    none = replace(some, kept=replace(report.kept, row_groups=None))
    assert lines_of(none)[1][2] == "unknown"


@pytest.mark.parametrize(
    ("kept", "total", "said"),
    [
        (10 << 20, (11 << 20) - 9, "10.0 of 11.0 MiB"),
        (999, 999 << 40, "999 B of 999.0 TiB"),
        (0, 0, "0 of 0 B"),
    ],
)
def test_a_unit_that_both_have_is_said_once(kept, total, said):
    report = make_report()
    report = replace(report, kept=replace(report.kept, bytes=kept), total=replace(report.total, bytes=total))
    assert lines_of(report)[-1][2] == said


def test_no_label_is_cut_off():
    report = make_report(files=24)
    large = replace(report, total=replace(report.total, rows=10**10, pages=None), kept=replace(report.kept, rows=10**9))
    for told in (report, large):
        root = ET.fromstring(to_svg(told))
        width = int(root.get("width"))
        assert root.get("viewBox") == f"0 0 {width} {22 * 4}", "shrinks as a whole"
        for node in root.findall(".//{*}tspan"):
            # The widest digit in the installed fonts has 7.64 points; a comma or a space has 3.8.
            points = sum(3.9 if character in ",. " else 8 for character in node.text)
            assert int(node.get("x")) + points <= width, node.text
