"""The verdict line about a rewrite has the figures of its claim."""

from __future__ import annotations

import pytest

from parquet_core.layout.spec import LayoutSpec
from prune_assets.advisor.result import RankedLayout
from prune_assets.advisor.verdict import verdict, why_kept

MIB = 1 << 20
TITLE = "sort by shop"


def of(today, *sizes):
    layouts = [RankedLayout(TITLE, "", round(s), round(s), round(s), 0.0, LayoutSpec(sort_by=["shop"])) for s in sizes]
    return verdict(today, layouts, keep_reason=why_kept(today, today, layouts[0], 1), dearer=())


@pytest.mark.parametrize(
    ("today", "best", "said"),
    [
        (4.3 * MIB, 4.4 * MIB, "the best layout, sort by shop, reads 4.4 MiB and so more"),
        (4.3 * MIB, 4.3 * MIB, "the best layout, sort by shop, reads as much"),
        (4.3 * MIB, 4.31 * MIB, "the best layout, sort by shop, reads as much"),
        (0, 0, "the best layout, sort by shop, reads as much"),
    ],
)
def test_what_reads_no_less_is_not_told_as_a_part_of_today(today, best, said):
    start = f"do nothing: no layout reads less than the {'0 B' if not today else '4.3 MiB'} of today; "
    assert of(today, best) == start + said


def test_what_reads_a_little_less_is_not_worth_a_rewrite():
    assert of(4.3 * MIB, 4.1 * MIB) == (
        "do nothing: queries read 4.3 MiB today, and 4.1 MiB with the best layout, sort by shop: it saves 5%, and "
        "a rewrite is worth it from 10% on"
    )


def test_what_reads_much_less_is_advised():
    assert of(4.3 * MIB, 1.0 * MIB) == "sort by shop: queries read 1.0 MiB instead of 4.3 MiB"
