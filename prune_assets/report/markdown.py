"""Skip report in Markdown, for the pages of orchestrators: a summary and a picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.printable import one_line
from prune_assets.report.picture import to_data_uri
from prune_assets.report.wording import comparison, headline, limit_text, unopened_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.report.skip_report import SkipReport


def summary(report: SkipReport, *, measured: Sequence[str] = ()) -> str:
    """Summarize the skipped data and the conditions that do not prune.

    `measured`: paragraphs about a read that was measured, which replace the prediction.
    """
    lines = [
        f"**{headline(report)}**",
        *(measured or [comparison(report), limit_text(report)]),
        unopened_text(report),
        *(f"Does not prune: {as_code(part.sql)}: {part.reason}. {part.remedy}" for part in report.unsupported),
    ]
    return "\n\n".join(line for line in lines if line)


def picture(report: SkipReport) -> str:
    """Draw the table, from the first file to the last."""
    return f"![the data to read, from the first file to the last]({to_data_uri(report)})"


def as_code(text: str) -> str:
    """Format a text as inline code in Markdown; the text may contain backticks.

    >>> as_code("id = 1"), as_code("`a b` = 1")
    ('`id = 1`', '`` `a b` = 1 ``')
    """
    text = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"
