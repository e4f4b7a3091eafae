"""Check that row groups and pages respect the row limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Setting, Step
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.bound_layout import BoundLayout
    from parquet_core.layout.spec import LayoutSpec


def check_sizes(bound: BoundLayout) -> Iterator[Finding]:
    """Report row groups and pages with more rows than the layout allows."""
    yield _row_groups(bound.index, bound.layout)
    yield _pages(bound.index, bound.layout)


def _row_groups(index: MetadataIndex, layout: LayoutSpec) -> Finding:
    rows, limit = index.groups.row_count, layout.row_group_rows
    largest = int(rows.max(initial=0))
    if limit is not None and largest > limit:
        location = row_group_place(index, int(np.argmax(rows)))
        message = (
            f"{int((rows > limit).sum()):,} of {counted(len(rows), 'row group')} have more than {limit:,} rows, "
            f"at most {largest:,}"
        )
        after = f", or write with parquet.block.row.count.limit={limit} (Spark 4.1 or newer)"
        fix = Fix("rewrite the files: ", Step.WRITE_TABLE, after)
        return Finding("size.row_groups", Severity.WARN, location, message, fix=fix)
    count, files = counted(len(rows), "row group"), counted(len(index.groups.files), "file")
    message = f"{count} in {files}, at most {counted(largest, 'row')}"
    return Finding("size.row_groups", Severity.INFO, "table", message)


def _pages(index: MetadataIndex, layout: LayoutSpec) -> Finding:
    positions = np.flatnonzero(index.groups.row_count > 0)
    largest, where, pages = 0, "table", 0
    for column, offsets in zip(
        index.groups.columns, index.page_indexes.locations(index.groups.columns, positions), strict=True
    ):
        rows = offsets.row_counts(index.groups.row_count[positions])
        pages += len(rows)
        if rows.max(initial=0) > largest:
            page = int(np.argmax(rows))
            group = int(np.searchsorted(offsets.first, page, side="right")) - 1
            largest, where = int(rows[page]), row_group_place(index, int(positions[group]), column)
    if largest > layout.page_rows:
        message = f"the largest of {counted(pages, 'page')} has {largest:,} rows, more than {layout.page_rows:,}"
        fix = Fix("rewrite the files: ", Step.WRITE_TABLE, setting=Setting.PAGE_ROWS, value=layout.page_rows)
        return Finding("size.pages", Severity.WARN, where, message, fix=fix)
    return Finding("size.pages", Severity.INFO, "table", f"{counted(pages, 'page')}, at most {counted(largest, 'row')}")


SIZES_WITHIN_LIMITS = Check(
    "sizes_within_limits",
    "No row group and no page has more rows than the layout allows.",
    {
        "size.row_groups": Code(
            "Whether row groups have at most `row_group_rows` rows. Larger ones are skipped less often.",
        ),
        "size.pages": Code(
            "Whether pages have at most `page_rows` rows. Larger ones are skipped less often.",
        ),
    },
    check_sizes,
)
