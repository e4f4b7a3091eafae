"""Advice as one HTML page that loads nothing: bars of what the workload reads, today and in other layouts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import jinja2

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from prune_assets.advisor.result import LayoutAdvice

_SHOWN_QUERIES = 100
# Of each layout that was written, those first whose prediction is off most.
_SHOWN_VERIFIED = 20


def page(advice: LayoutAdvice) -> str:
    """Render advice."""
    most = max(advice.whole, 1)
    bars = [(title, size, note, max(1000 * size // most, 3 if size else 0)) for title, size, note in advice.bars()]
    queries = sorted(advice.queries, key=lambda it: it.runs * (it.advised - it.today))[:_SHOWN_QUERIES]
    return _environment().get_template("layout_advice.html.j2").render(advice=advice, bars=bars, queries=queries)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("prune_assets", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(bytes=bytes_text, text=lambda value: printable(redacted(value)))
    environment.globals.update(counted=counted, shown_verified=_SHOWN_VERIFIED)
    return environment
