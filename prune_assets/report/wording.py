"""The words that every form of the report uses for levels and their outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.report.quantities import bytes_text, share_text

if TYPE_CHECKING:
    from prune_assets.report.skip_report import Extent, Level, SkipReport

# In cost order; a level that is not named here is shown after these, under its own name.
LEVEL_TITLES = {
    "partition_values": "Partition values",
    "row_group_statistics": "Row-group statistics",
    "bloom_filter": "Bloom filter",
    "dictionary": "Dictionary",
    "page_index": "Page index",
}


def level_title(level: str) -> str:
    """Return the heading of a level.

    >>> level_title("page_index"), level_title("file_statistics")
    ('Page index', 'File statistics')
    """
    return LEVEL_TITLES.get(level, level.replace("_", " ").capitalize())


def outcome_text(level: Level) -> str:
    """Say whether a level was there, was asked, and what came of it: three different things."""
    match level.status:
        case "absent":
            return "absent: no file carries it"
        case "not_applicable":
            return "not applicable"
        case "consulted" if level.skipped_rows == 0 and level.skipped_bytes == 0:
            return "consulted, nothing skipped"
        case "consulted":
            return f"consulted, skipped {share_text(level.skipped_bytes, level.total.bytes)} of its bytes"


def headline(report: SkipReport) -> str:
    """Say in a line how many of the bytes need not be read."""
    if report.skipped_fraction is None:
        return "Nothing to read: the table holds no bytes of these columns"
    share = share_text(report.skipped_bytes, report.total.bytes)
    approximately = "about " if report.estimated else ""
    return f"Skipped {approximately}{bytes_text(report.skipped_bytes)} of {bytes_text(report.total.bytes)} ({share})"


def extents(total: Extent, kept: Extent) -> list[tuple[str, int | None, int | None]]:
    """Pair every unit's total with what is kept of it, the coarsest unit first."""
    return [
        ("files", total.files, kept.files),
        ("row groups", total.row_groups, kept.row_groups),
        ("pages", total.pages, kept.pages),
        ("rows", total.rows, kept.rows),
        ("bytes", total.bytes, kept.bytes),
    ]
