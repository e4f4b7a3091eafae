"""The pages of row groups that are read in part, as strips: a line for each column of the predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.printable import printable
from prune_assets.report.cells import KEPT, Cell
from prune_assets.report.file_names import short_path
from prune_assets.report.mosaic import STRIP_HEIGHT, STRIP_WIDTH, Placed, Strip
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    from prune_assets.report.skip_report import ColumnPages, Page, SkipReport

_LONGEST_LABEL = 44
_LONGEST_REASON = 200


def page_strips(report: SkipReport, skipped: str) -> tuple[Strip, ...]:
    """Draw the pages of a report; `skipped`: the colour class of those that are not read."""
    return tuple(_strip(column, report.table, skipped) for column in report.pages)


def _strip(column: ColumnPages, table: str, skipped: str) -> Strip:
    file = printable(short_path(column.path, table, _LONGEST_LABEL))
    place = f"{file} row group {column.row_group}"
    unit = STRIP_WIDTH / column.row_count if column.row_count else 0.0
    # A hair between neighbours, as long as they are wide enough to spare it.
    gap = 1.0 if len(column.pages) <= STRIP_WIDTH // 5 else 0.0
    cells = tuple(
        Placed(
            Cell(_title(page, column, place), 1, ((KEPT if page.kept else skipped, ((0, 1),)),)),
            round(page.first_row * unit, 2),
            0,
            round(max(page.row_count * unit - gap, 0.5), 2),
            STRIP_HEIGHT,
        )
        for page in column.pages
    )
    read = sum(page.kept for page in column.pages)
    label = f"{printable(column.column)}, row group {column.row_group} of {file}"
    return Strip(label, f"{read:,} of {len(column.pages):,}", cells)


def _title(page: Page, column: ColumnPages, place: str) -> str:
    stop = page.first_row + page.row_count
    lines = [
        f"{printable(column.column)}: {'read' if page.kept else 'skipped'}, rows {page.first_row:,} to {stop:,}",
        place,
        _bounds(page) if not column.reason else printable(clipped(column.reason, _LONGEST_REASON)),
    ]
    return "\n".join(lines)


def _bounds(page: Page) -> str:
    low, high = (printable(bound) if bound is not None else "unknown" for bound in (page.lower, page.upper))
    nulls = "unknown" if page.null_count is None else f"{page.null_count:,}"
    return f"min {low}, max {high}, {nulls} nulls"
