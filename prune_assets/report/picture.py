"""Skip report as a small picture of the data read, with one line each for files, row groups, pages and bytes.

The line of bytes is proportional; in the other lines every part that is read stays visible, however small it is.

The picture is a separate image, so that it shows wherever Markdown does. It is small enough that Dagster's UI shows it
at once: the UI hides Markdown of 1,000 characters and more behind a button. The map of the HTML report has more detail.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.quantities import bytes_text
from prune_assets.report.map import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.report.skip_report import RowGroupReport, SkipReport

# The minimum width is the width of the value column on an asset's page, in a window of 1,440 points.
_LABEL, _BAR, _GAP, _LEAST_WIDTH = 70, 180, 8, 370
# Width of a character at 12 points, in the widest font that browsers use for digits, points and spaces.
_CHARACTER = 7
_PITCH, _MIDDLE = 22, 7
# Visible on light and dark backgrounds; the background of its page is unknown.
_TEXT, _SKIPPED, _KEPT = "gray", "#8884", "#d9560b"
_MOST_BYTES = 680  # as base64 with the Markdown around it, fewer than 1,000 characters
_RESOLUTIONS = (180, 90, 45, 20)

_Ranges = list[tuple[int, int]]


class _PictureLine(NamedTuple):
    """A bar with a title and figures.

    `ranges`: colored parts of the bar, in units; the bar is `end` units long.
    """

    title: str
    figures: str
    ranges: _Ranges
    end: int


def to_svg(report: SkipReport) -> str:
    """Draw the table from its first file to its last; widths are proportional to bytes, and data read is colored.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> picture = to_svg(pr.plan(table, where="id < 150").report)
    >>> "2 of 10" in picture, len(picture) <= 680
    (True, True)

    If the data read is in very many places, the picture gets coarser.
    """
    lines = _draw_runs(report) if not report.files_complete else _draw_row_groups(report)
    drawings = (_drawing(lines, resolution) for resolution in _RESOLUTIONS)
    return next((drawing for drawing in drawings if len(drawing) <= _MOST_BYTES), _drawing(lines, 1))


def to_data_uri(report: SkipReport) -> str:
    """Return the picture as a data URI."""
    return f"data:image/svg+xml;base64,{b64encode(to_svg(report).encode()).decode()}"


def _drawing(lines: list[_PictureLine], resolution: int) -> str:
    whole = "".join(f"M{_LABEL} {_y(i)}h{_BAR}" for i in range(len(lines)))
    read = "".join(_dashes(line, _y(i), resolution) for i, line in enumerate(lines))
    labels = "".join(
        f'<text y="{_y(i) + 4}">{line.title}<tspan x="{_LABEL + _BAR + _GAP}">{line.figures}</tspan></text>'
        for i, line in enumerate(lines)
    )
    longest = max(len(line.figures) for line in lines)
    width, height = max(_LEAST_WIDTH, _LABEL + _BAR + _GAP + longest * _CHARACTER), _PITCH * len(lines)
    return (
        # With a view box the picture shrinks on a narrow page; without one it would be cut off.
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{_TEXT}"><g stroke-width="{2 * _MIDDLE}">'
        f'<path stroke="{_SKIPPED}" d="{whole}"/><path stroke="{_KEPT}" d="{read}"/></g>{labels}</svg>'
    )


def _y(line_index: int) -> int:
    return _PITCH * line_index + _MIDDLE


def _dashes(line: _PictureLine, y: int, resolution: int) -> str:
    unit = _BAR // resolution
    dashes, position = "", 0
    for start, stop in spans(line.ranges, line.end, resolution):
        dashes += (
            f"m{(start - position) * unit} 0h{(stop - start) * unit}"
            if dashes
            else f"M{_LABEL + start * unit} {y}h{(stop - start) * unit}"
        )
        position = stop
    return dashes


def _line(report: SkipReport, unit: str, ranges: _Ranges, end: int) -> _PictureLine:
    read, total = getattr(report.kept, unit), getattr(report.total, unit)
    return _PictureLine(unit.replace("_", " "), _part_text(read, total), ranges, end)


def _part_text(read: int | None, total: int | None) -> str:
    if read is None:
        return "unknown"
    return f"{read:,} of {total:,}" if total is not None else f"{read:,}, total unknown"


def _part_of_bytes_text(read: int, total: int) -> str:
    """Format a number of bytes out of a total, as in `2 of 10 MiB`; a common unit appears once."""
    part, whole = bytes_text(read), bytes_text(total)
    amount, _, unit = part.partition(" ")
    return f"{amount if whole.endswith(f' {unit}') else part} of {whole}"


def _draw_row_groups(report: SkipReport) -> list[_PictureLine]:
    files: _Ranges = []
    groups: _Ranges = []
    rows: _Ranges = []
    end = 0
    for file in report.files:
        begin = end
        for group in file.row_groups:
            # A row group whose columns have no bytes stays visible.
            start, end = end, end + max(group.bytes, 1)
            if group.verdict != "skip":
                groups.append((start, end))
                rows += _read(group, start, end)
        if any(group.verdict != "skip" for group in file.row_groups):
            files.append((begin, end))
    return [
        _line(report, "files", files, end),
        *_row_groups_pages_bytes(report, groups, rows, end),
    ]


def _draw_runs(report: SkipReport) -> list[_PictureLine]:
    """Draw each run of row groups as one part of the bar, with the data read at its start.

    There is no line for files, because a run does not record its files.
    """
    groups: _Ranges = []
    rows: _Ranges = []
    end = 0
    for run in report.map:
        start, end = end, end + max(run.bytes, 1)
        if run.kept_row_groups:
            groups.append((start, end))
            rows.append((start, start + min(max(run.kept_bytes, 1), end - start)))
    return _row_groups_pages_bytes(report, groups, rows, end)


def _row_groups_pages_bytes(report: SkipReport, groups: _Ranges, rows: _Ranges, end: int) -> list[_PictureLine]:
    total, read = report.total, report.kept
    return [
        _line(report, "row_groups", groups, end),
        _line(report, "rows" if None in {total.pages, read.pages} else "pages", rows, end),
        _PictureLine("bytes", _part_of_bytes_text(read.bytes, total.bytes), [(0, read.bytes)], total.bytes),
    ]


def _read(group: RowGroupReport, start: int, end: int) -> Iterator[tuple[int, int]]:
    if group.verdict == "scan":
        yield start, end
        return
    size = end - start
    for first, last in group.ranges:
        yield start + first * size // group.row_count, start - (-last * size // group.row_count)
