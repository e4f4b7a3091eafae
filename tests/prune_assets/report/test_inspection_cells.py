"""Inspection tables at every width: numbers are printed completely, or their column is named as omitted."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from prune_assets.report.inspection.cells import cells
from prune_assets.report.inspection.parts import section

TITLES = ("column", "type", "bounds", "null counts", "reason")
ROWS = [
    ("name", "decimal(38, 2)", ">99.9 %", "33.3 %", "the log has no statistics of this column beyond the 32nd"),
    ("数" * 40, "string", "100 %", "0 %", "x" * 90),
]
VALUES = {"bounds": (">99.9 %", "100 %"), "null counts": ("33.3 %", "0 %")}


def printed(width):
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False, emoji=False)
    with console.capture() as capture:
        for part in section("Table", cells(TITLES, ROWS, numeric=("bounds", "null counts"), spare=("type",))):
            console.print(part, highlight=False, soft_wrap=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


@pytest.mark.parametrize("width", range(40, 200))
def test_no_cell_is_cut_without_a_word(width):
    text = printed(width)
    (named,) = re.findall(r"left out: (.*?); a width", re.sub(r"\s+", " ", text)) or [""]
    for title, values in VALUES.items():
        assert all(value in text for value in values) != (title in named.split(", ")), title
    assert text.count("数") == 40
    assert "reason" in named or text.count("x") == 90
    assert "type" in named or "decimal(38," in text


def test_columns_that_can_be_spared_go_first():
    assert "left out: type; " in printed(70)
    assert "left out" not in printed(200)
    assert "33.3 %  the log has no statistics of this column beyond the 32nd\n" in printed(200)


def test_a_table_without_rows_has_its_titles():
    console = Console(file=StringIO(), width=80, color_system=None)
    with console.capture() as capture:
        console.print(cells(TITLES, [], numeric=("bounds",)))
    assert capture.get().split() == " ".join(TITLES).split()
