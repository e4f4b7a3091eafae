"""A skip report in a notebook: one line where text is shown, a small card where HTML is."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from parquet_core.printable import printable
from prune_assets.report.quantities import bytes_text, clipped
from prune_assets.report.wording import comparison, headline

if TYPE_CHECKING:
    from prune_assets.report.skip_report import SkipReport

_LONGEST = 200
_LONGEST_LINE = 100
_CARD = "border:1px solid #8886;border-radius:8px;padding:10px 14px;max-width:760px;font-family:sans-serif"
_TRACK = "background:#8883;border-radius:4px;height:8px;margin:8px 0"
_READ = "background:#d9560b;border-radius:4px;height:8px"


def line(report: SkipReport) -> str:
    """Return a report as one line."""
    table, predicate = (clipped(text, _LONGEST_LINE) for text in (report.table, report.predicate))
    return f"SkipReport({table!r}, where={predicate!r}: {headline(report)})"


def to_card(report: SkipReport) -> str:
    """Return a report as a piece of HTML: what is skipped, Spark alone and with the plan, and what would help."""
    lines = [comparison(report)]
    if report.advice is not None:
        lines += [report.advice.why, *(remedy.said for remedy in report.advice.remedies[:1])]
    files = f"{report.kept.files:,} of {report.total.files:,} files, {bytes_text(report.kept.bytes)} are read"
    said = "".join(f"<div>{_text(part)}</div>" for part in [files, *lines] if part)
    share = 100 * report.kept.bytes / report.total.bytes if report.total.bytes else 0
    return (
        f'<div style="{_CARD}"><b>{_text(headline(report))}</b>'
        f'<div style="{_TRACK}"><div style="{_READ};width:{share:.3f}%"></div></div>'
        f"<code>{_text(report.table)}</code> where <code>{_text(report.predicate)}</code>{said}</div>"
    )


def _text(text: str) -> str:
    return escape(printable(clipped(text, _LONGEST)))
