"""A skip report as a small picture: where in the table lies what is read, in a line each for files, row groups, pages.

It is an image of its own, so that it shows wherever Markdown does; the map of the HTML report tells more.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.printable import printable
from prune_assets.report.map import spans
from prune_assets.report.quantities import count_text
from prune_assets.report.wording import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.report.map import Spans
    from prune_assets.report.skip_report import FileReport, RowGroupReport, SkipReport

_LABEL, _BAR, _SAID = 80, 500, 180
_PITCH, _HEIGHT = 26, 16
# Seen on light and on dark ground: an image does not know which of them its page has.
_TEXT, _SKIPPED, _KEPT = "#808080", "#80808040", "#d9560b"

_Ranges = list[tuple[int, int]]


class _Line(NamedTuple):
    title: str
    kept: int | None
    total: int | None
    spans: Spans

    @property
    def said(self) -> str:
        return f"{count_text(self.kept)} of {count_text(self.total)} read"


def to_svg(report: SkipReport) -> str:
    """Draw the table from its first file to its last, each as wide as its bytes, with what is read in colour.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> picture = to_svg(pr.plan(table, where="id < 150").report)
    >>> "2 of 10 read" in picture, len(picture) < 2_000
    (True, True)
    """
    lines = _in_runs(report) if not report.files_complete else _by_row_group(report)
    width, height = _LABEL + _BAR + _SAID, _PITCH * len(lines)
    drawn = "".join(_drawn(line, y) for y, line in zip(range(0, height, _PITCH), lines, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="13"><title>{escape(printable(headline(report)))}</title>{drawn}</svg>'
    )


def to_data_uri(report: SkipReport) -> str:
    """Return the picture as an address that holds all of it."""
    return f"data:image/svg+xml;base64,{b64encode(to_svg(report).encode()).decode()}"


def _drawn(line: _Line, y: int) -> str:
    kept = "".join(f"M{_LABEL + start} {y}h{stop - start}v{_HEIGHT}h{start - stop}z" for start, stop in line.spans)
    return (
        f'<text x="0" y="{y + 13}" fill="{_TEXT}">{line.title}</text>'
        f'<rect x="{_LABEL}" y="{y}" width="{_BAR}" height="{_HEIGHT}" fill="{_SKIPPED}"/>'
        f'<path d="{kept}" fill="{_KEPT}"/>'
        f'<text x="{_LABEL + _BAR + 10}" y="{y + 13}" fill="{_TEXT}">{line.said}</text>'
    )


def _by_row_group(report: SkipReport) -> list[_Line]:
    files: _Ranges = []
    groups: _Ranges = []
    rows: _Ranges = []
    end = 0
    for file in report.files:
        begin = end
        for group in file.row_groups:
            # Columns may hold no bytes at all; the row group is there none the less.
            start, end = end, end + max(group.bytes, 1)
            if group.verdict != "skip":
                groups.append((start, end))
                rows += _read(group, start, end)
        if _is_read(file):
            files.append((begin, end))
    return [
        _Line("files", report.kept.files, report.total.files, spans(files, end, _BAR)),
        *_row_groups_and_pages(report, groups, rows, end),
    ]


def _in_runs(report: SkipReport) -> list[_Line]:
    """Draw successive row groups as one, which is read from its begin on: of files the runs do not tell."""
    groups: _Ranges = []
    rows: _Ranges = []
    end = 0
    for run in report.map:
        start, end = end, end + max(run.bytes, 1)
        if run.kept_row_groups:
            groups.append((start, end))
            rows.append((start, start + min(max(run.kept_bytes, 1), end - start)))
    return _row_groups_and_pages(report, groups, rows, end)


def _row_groups_and_pages(report: SkipReport, groups: _Ranges, rows: _Ranges, end: int) -> list[_Line]:
    total, kept = report.total, report.kept
    unit = "rows" if total.pages is None or kept.pages is None else "pages"
    return [
        _Line("row groups", kept.row_groups, total.row_groups, spans(groups, end, _BAR)),
        _Line(unit, getattr(kept, unit), getattr(total, unit), spans(rows, end, _BAR)),
    ]


def _is_read(file: FileReport) -> bool:
    return any(group.verdict != "skip" for group in file.row_groups)


def _read(group: RowGroupReport, start: int, end: int) -> Iterator[tuple[int, int]]:
    if group.verdict == "scan":
        yield start, end
        return
    size = end - start
    for first, last in group.ranges:
        yield start + first * size // group.row_count, start - (-last * size // group.row_count)
