"""The row groups of a report with the file they lie in, and those that will be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.report.skip_report import RowGroupReport, SkipReport


class PlacedRowGroup(NamedTuple):
    """A row group and the path of its file."""

    path: str
    row_group: RowGroupReport

    @property
    def kept_rows(self) -> int:
        """Return how many of its rows are read."""
        match self.row_group.verdict:
            case "skip":
                return 0
            case "scan":
                return self.row_group.row_count
            case "selection":
                return sum(stop - start for start, stop in self.row_group.ranges)


def placed_row_groups(report: SkipReport) -> Iterator[PlacedRowGroup]:
    """Yield every row group in the order of the report."""
    return (PlacedRowGroup(file.path, group) for file in report.files for group in file.row_groups)


def kept_row_groups(report: SkipReport) -> list[PlacedRowGroup]:
    """Return the row groups that are read, wholly or in part: the costliest first."""
    kept = (item for item in placed_row_groups(report) if item.row_group.verdict != "skip")
    return sorted(kept, key=lambda item: -item.row_group.kept_bytes)
