"""Layouts of the demo's tables."""

from __future__ import annotations

import math
from dataclasses import replace

from parquet_core.layout.spec import LayoutSpec

# At scale 0.1, the 600,572 line items make 97 full row groups of six pages each; larger scales keep these numbers.
_ROW_GROUP_ROWS = 61_440
_PAGE_ROWS = 10_240
_SMALLEST_PAGE = 64


def lineitem_layout(scale: float) -> LayoutSpec:
    """Sort by ship date, with bloom filters for lookups of order keys."""
    page_rows = max(_SMALLEST_PAGE, math.ceil(_PAGE_ROWS * scale))
    return LayoutSpec(
        sort_by=["l_shipdate"],
        bloom={"l_orderkey": 0.01},
        page_rows=page_rows,
        row_group_rows=page_rows * _ROW_GROUP_ROWS // _PAGE_ROWS,
        files=8,
    )


def orders_layout(scale: float) -> LayoutSpec:
    """Sort by order date; half the files of lineitem for a quarter of its rows."""
    return replace(lineitem_layout(scale), sort_by=["o_orderdate"], bloom={"o_orderkey": 0.01}, files=4)


def long_strings_layout() -> LayoutSpec:
    """Sort by a number; the long strings of this table break its column indexes."""
    return LayoutSpec(sort_by=["o_orderkey"], page_rows=200, row_group_rows=1_000, files=1)
