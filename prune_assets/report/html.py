"""Skip report as HTML: a page, and a card for notebooks.

The page loads nothing and runs only its own short script.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import jinja2

from parquet_core.printable import printable
from parquet_core.pruning.known_levels import level_title
from parquet_core.quantities import bytes_text, counted
from prune_assets.report import quantities, wording
from prune_assets.report.map import Map, map_of
from prune_assets.report.quantities import clipped, short_path
from prune_assets.report.wording import comparison, headline, limit_text

if TYPE_CHECKING:
    from prune_assets.report.skip_report import Level, RowGroupReport, SkipReport


_TEMPLATE = "skip_report.html.j2"
_SCRIPT = "skip_report.js"
_SHOWN_ROW_GROUPS = 200
_SHOWN_PARTS = 50
_LONGEST_TEXT = 2_000
_LONGEST_PATH = 90
_PALETTE = 6
_LONGEST_OF_CARD = 200
_CARD = "border:1px solid #8886;border-radius:8px;padding:10px 14px;max-width:760px;font-family:sans-serif"
_TRACK = "background:#8883;border-radius:4px;height:8px;margin:8px 0"
_READ = "background:#d9560b;border-radius:4px;height:8px"


class LevelRow(NamedTuple):
    """One row of the table of levels. Bars are per mille of the bytes of the whole table."""

    level: Level
    title: str
    outcome: str
    colour: str
    kept_bar: int
    skipped_bar: int


class Part(NamedTuple):
    """One segment of the bar that shows all bytes.

    `start`, `width`: per mille of the bar.
    """

    title: str
    colour: str
    bytes: int
    start: int
    width: int


class Page(NamedTuple):
    """Values that the template shows."""

    report: SkipReport
    headline: str
    advice_title: str
    levels: tuple[LevelRow, ...]
    colours: dict[str, str]
    whole: tuple[Part, ...]
    map: Map
    kept: tuple[tuple[str, RowGroupReport], ...]
    kept_count: int
    any_matches: bool
    script: str
    script_hash: str


def to_html(report: SkipReport) -> str:
    """Render as one self-contained page; the reader's system chooses light or dark mode."""
    return _environment().get_template(_TEMPLATE).render(page=_page(report), shown=_SHOWN_PARTS)


def _page(report: SkipReport) -> Page:
    colours: dict[str, str] = {level.level: f"level-{index % _PALETTE}" for index, level in enumerate(report.levels)}
    row_groups = report.kept_row_groups()
    script, count = _script(), report.kept.row_groups
    return Page(
        report=report,
        headline=wording.headline(report),
        advice_title=wording.advice_title(report),
        levels=tuple(
            _level_row(level, colours[level.level], report.total.bytes)
            for level in sorted(report.levels, key=wording.did_nothing)
        ),
        colours=colours,
        whole=_whole(report, colours),
        map=map_of(report, colours),
        kept=tuple(row_groups[:_SHOWN_ROW_GROUPS]),
        kept_count=len(row_groups) if report.files_complete or count is None else count,
        any_matches=any(group.matches for _, group in row_groups),
        script=script,
        # The page's own policy allows only this script, in case escaping ever fails.
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _level_row(level: Level, colour: str, whole: int) -> LevelRow:
    title, outcome = level_title(level.level), wording.outcome_text(level)
    return LevelRow(level, title, outcome, colour, _bar(level.kept.bytes, whole), _bar(level.skipped_bytes, whole))


def _whole(report: SkipReport, colours: dict[str, str]) -> tuple[Part, ...]:
    """Split the bytes of the table into segments of a bar: the bytes read, then the bytes that each level skips."""
    sizes = [("read", "kept", report.kept.bytes)]
    sizes += [
        (f"skipped by {level_title(level.level)}", colours[level.level], level.skipped_bytes)
        for level in report.levels
        if level.skipped_bytes
    ]
    parts, start = [], 0
    for title, colour, size in sizes:
        # The last segment absorbs rounding, so that no gap remains at the end.
        width = 1000 - start if (title, colour, size) == sizes[-1] else _bar(size, report.total.bytes)
        parts.append(Part(title, colour, size, start, width))
        start += width
    return tuple(parts)


def _bar(part: int, whole: int) -> int:
    """Scale a part of the whole to per mille; a part above zero stays visible."""
    return max(1000 * part // whole, 4) if whole and part else 0


@cache
def _script() -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, _SCRIPT)[0].strip()


def template_environment() -> jinja2.Environment:
    """Return the environment of the page templates, with the filter `bytes` and the function `counted`."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("prune_assets", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(bytes=bytes_text)
    environment.globals.update(counted=counted)
    return environment


@cache
def _environment() -> jinja2.Environment:
    environment = template_environment()
    environment.filters.update(
        count=quantities.count_text,
        seconds=quantities.seconds_text,
        text=_clip_value,
        path=_path,
    )
    environment.globals.update(
        share=quantities.share_text,
        permille=_bar,
        extents=wording.extents,
        title=level_title,
        snapshot=wording.snapshot_text,
        compared=wording.comparison,
        about=wording.about_text,
        limit=wording.limit_text,
        least=wording.least_text,
        time_zone=wording.time_zone_text,
        made=wording.made_text,
        unopened=wording.unopened_text,
        row_groups=wording.row_groups_text,
        denied=wording.denied_text,
    )
    return environment


def _clip_value(value: str) -> str:
    return printable(quantities.clipped(value, _LONGEST_TEXT), keep="\n")


def _path(value: str, table: str) -> str:
    return printable(short_path(value, table, _LONGEST_PATH))


def to_card(report: SkipReport) -> str:
    """Return a report as an HTML card: bytes skipped, Spark's reads alone and with the plan, and the best remedy."""
    lines = [comparison(report), limit_text(report)]
    if report.advice is not None:
        lines += [report.advice.why, *(remedy.said for remedy in report.advice.remedies[:1])]
    files = f"reads {report.kept.files:,} of {counted(report.total.files, 'file')}, {bytes_text(report.kept.bytes)}"
    rows = "".join(f"<div>{_escaped(part)}</div>" for part in [files, *lines] if part)
    share = 100 * report.kept.bytes / report.total.bytes if report.total.bytes else 0
    return (
        f'<div style="{_CARD}"><b>{_escaped(headline(report))}</b>'
        f'<div style="{_TRACK}"><div style="{_READ};width:{share:.3f}%"></div></div>'
        f"<code>{_escaped(report.table)}</code> where <code>{_escaped(report.predicate)}</code>{rows}</div>"
    )


def _escaped(text: str) -> str:
    return escape(printable(clipped(text, _LONGEST_OF_CARD)))
