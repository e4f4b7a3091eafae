"""Console form of a skip report, similar to ClickHouse's `EXPLAIN indexes = 1`."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parquet_core.printable import printable
from parquet_core.pruning.known_levels import level_title
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import clipped, count_text, seconds_text, share_text, short_path
from prune_assets.report.skip_report import Caveat
from prune_assets.report.wording import (
    DEPENDS_ON_ZONE,
    about_text,
    advice_title,
    comparison,
    did_nothing,
    extents,
    headline,
    leaf_outcome,
    least_text,
    limit_text,
    limited_engine,
    made_text,
    outcome_text,
    rows_text,
    snapshot_text,
    time_zone_text,
    unopened_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from prune_assets.report.skip_report import Engine, Level, RowGroupReport, SkipReport

WIDTH = 100
_SHOWN = 10
_BAR = 16
_INDENT, _GAP = 2, 2
_LONGEST_SQL = 600
_LONGEST_REASON = 300
_LONGEST_PATH = 80
_STATUS_STYLES = {"absent": "yellow", "not_applicable": "dim", "consulted": "green"}


def to_text(report: SkipReport, *, width: int = WIDTH) -> str:
    """Render as plain text, `width` characters wide, without color codes."""
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False, emoji=False)
    with console.capture() as capture:
        print_report(report, console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def print_report(report: SkipReport, console: Console) -> None:
    """Print to a console, in color if the console supports it."""
    for part in _parts(report, console.width):
        console.print(part, highlight=False, soft_wrap=False)


def _parts(report: SkipReport, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [_header(report), "", Text(headline(report), style="bold")]
    parts += [_plain(sentence, _LONGEST_REASON) for sentence in (comparison(report), limit_text(report)) if sentence]
    parts += _advice(report)
    parts += _section("Reads by engine", _engines(report, width))
    parts += [block for level in report.levels if not did_nothing(level) for block in _level(level)]
    parts += _section("Levels that skipped nothing", [_idle(level) for level in report.levels if did_nothing(level)])
    parts += _section("Conditions that do not prune", _unsupported(report))
    parts += _section("Condition by condition", _leaves(report))
    parts += _section("Each AND part alone", _conjuncts(report))
    parts += _section("Implied predicates added to the Spark filter", [_sql(sql) for sql in report.implied])
    parts += _section("Spark alone would lose rows", _warnings(report))
    parts += _section("Cost of planning", [_cost(report)])
    return parts + _row_group_section(report)


def _header(report: SkipReport) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("Table", _plain(report.table, _LONGEST_SQL))
    if report.table_snapshot is not None:
        grid.add_row("Version", _plain(snapshot_text(report.table_snapshot), _LONGEST_SQL))
    if (unopened := unopened_text(report)) != "":
        grid.add_row("Not opened", _plain(unopened, _LONGEST_SQL))
    grid.add_row("Predicate", _sql(report.predicate))
    if report.normalized != report.predicate:
        grid.add_row("Evaluated as", _sql(report.normalized))
        if (zone := time_zone_text(report)) != "":
            grid.add_row("Time zone", _plain(zone, _LONGEST_SQL))
    if (made := made_text(report)) != "":
        grid.add_row("Planned", _plain(made, _LONGEST_SQL))
    return grid


def _advice(report: SkipReport) -> list[RenderableType]:
    if report.advice is None:
        return []
    why = Text.assemble((f"{advice_title(report)}: ", "bold yellow"), _plain(report.advice.why, _LONGEST_REASON))
    helps = (_plain(remedy.said, _LONGEST_SQL) for remedy in report.advice.remedies)
    return [why, *(_indented(Text.assemble(("would help: ", "bold"), remedy_text)) for remedy_text in helps)]


def _level(level: Level) -> list[RenderableType]:
    title = Text.assemble("\n", (level_title(level.level), "bold"), "  ")
    title.append(outcome_text(level), style=_STATUS_STYLES[level.status])
    why = [_indented(_plain(level.why, _LONGEST_REASON))] if level.why else []
    return [title, *why, _indented(_funnel(level))]


def _idle(level: Level) -> Text:
    line = Text.assemble((level_title(level.level), "bold"), ": ", overflow="fold")
    line.append(outcome_text(level), style=_STATUS_STYLES[level.status])
    return line.append(f"; {printable(clipped(level.why, _LONGEST_REASON))}" if level.why else "")


def _funnel(level: Level) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    for justify in ("right", "center", "right", "right"):
        grid.add_column(justify=justify, no_wrap=True)
    for unit, total, remaining in extents(level.total, level.kept):
        if total is None and remaining is None:
            grid.add_row(unit, "not counted")
            continue
        share = f"  {share_text(total - remaining, total)} skipped" if total and remaining is not None else ""
        grid.add_row(unit, _size(unit, total), "->", _size(unit, remaining), Text(share, "dim"))
    return grid


def _size(unit: str, count: int | None) -> str:
    return bytes_text(count) if unit == "bytes" and count is not None else count_text(count)


def _unsupported(report: SkipReport) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for part in report.unsupported[:_SHOWN]:
        parts += [_sql(part.sql), _indented(_plain(part.reason, _LONGEST_REASON))]
        if part.remedy:
            parts.append(_indented(Text.assemble(("remedy: ", "bold"), _plain(part.remedy, _LONGEST_REASON))))
    return parts + _rest(report.unsupported)


def _leaves(report: SkipReport) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for leaf in report.leaves[:_SHOWN]:
        parts += [_sql(leaf.sql), _indented(_plain(leaf_outcome(leaf), _LONGEST_SQL))]
    return parts + _rest(report.leaves)


def _conjuncts(report: SkipReport) -> list[RenderableType]:
    if not report.conjuncts:
        return []
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for conjunct in report.conjuncts[:_SHOWN]:
        share = share_text(conjunct.skipped_alone_bytes, report.total.bytes)
        least = "" if conjunct.complete else "at least "
        grid.add_row(f"skips {least}{share}", _sql(conjunct.sql))
    least = least_text(report)
    return [grid, *([Text(least, style="dim", overflow="fold")] if least else []), *_rest(report.conjuncts)]


def _engines(report: SkipReport, width: int) -> list[RenderableType]:
    rows = [_engine(engine, report.total.bytes) for engine in report.engines[:_SHOWN]]
    # The top of the report already explains why Spark is limited.
    noted = [engine for engine in report.engines if engine.why and engine is not limited_engine(report)]
    whole = report.total.bytes
    # Without figures, the explanation of the figures is omitted.
    whys = [DEPENDS_ON_ZONE if _is_unknown(engine, whole) else engine.why for engine in noted]
    notes = [_plain(f"{engine.name}: {why}", _LONGEST_REASON) for engine, why in zip(noted, whys, strict=True)]
    needed = sum(max(len(cell) for cell in column) + _GAP for column in zip(*rows, strict=True))
    if _INDENT + needed - _GAP > width:
        # Columns next to each other would leave no room for the names.
        return [*(part for name, *cells in rows for part in (name, _indented(Text("  ").join(cells)))), *notes]
    grid = Table.grid(padding=(0, _GAP))
    for i in range(5):
        grid.add_column(justify="left" if i < 2 else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    return [grid, *notes] if rows else []


def _is_unknown(engine: Engine, whole: int) -> bool:
    return engine.caveat is Caveat.TIME_ZONE and engine.kept.bytes == whole


def _engine(engine: Engine, whole: int) -> list[Text]:
    extent = engine.kept
    if _is_unknown(engine, whole):
        return [_plain(engine.name, _LONGEST_SQL), Text("." * _BAR, "dim"), Text("?"), Text(""), Text("")]
    size, rows = f"{about_text(engine)}{bytes_text(extent.bytes)}", Text(rows_text(extent.rows))
    if engine.caveat is Caveat.WHOLE_FILES:
        return [_plain(engine.name, _LONGEST_SQL), Text(""), Text(size), Text(""), rows]
    # The counted bytes include footers and page indexes, and may exceed the bytes of the columns.
    of_columns = min(extent.bytes, whole)
    bar = Text("#" * -(-_BAR * of_columns // whole) if whole else "", "yellow")
    bar.append("." * (_BAR - len(bar)), "dim")
    skipped = f"{share_text(whole - of_columns, whole)} skipped"
    return [_plain(engine.name, _LONGEST_SQL), bar, Text(size), Text(skipped), rows]


def _warnings(report: SkipReport) -> list[RenderableType]:
    lines = [
        _plain(f"{warning.reader}: {warning.why}; read with {warning.option}=false", _LONGEST_REASON)
        for warning in report.warnings[:_SHOWN]
    ]
    return [*lines, *_rest(report.warnings)]


def _cost(report: SkipReport) -> Text:
    fetched = f"{counted(report.requests, 'request')}, {bytes_text(report.bytes_fetched)} fetched"
    parts = ", ".join(
        f"{name} {bytes_text(size)}"
        for name, size in (
            *([] if report.table_snapshot is None else [("table metadata", report.table_snapshot.log_bytes)]),
            ("page indexes", report.index_bytes),
            ("bloom filters", report.bloom_bytes),
            ("dictionaries", report.dictionary_bytes),
        )
    )
    estimate = "; bytes of pages without an offset index are estimated" if report.estimated else ""
    return Text(f"{fetched} ({parts}), {seconds_text(report.seconds)}{estimate}")


def _row_group_section(report: SkipReport) -> list[RenderableType]:
    row_groups = report.kept_row_groups()
    lines: list[RenderableType] = [
        line for item in row_groups[:_SHOWN] for line in _row_group_lines(*item, report.table)
    ]
    count = report.kept.row_groups
    if not report.files_complete and len(row_groups) > _SHOWN and count is not None:
        # The report itself has only the costliest row groups.
        return _section("Kept row groups, the largest first", [*lines, _more(count)])
    return _section("Kept row groups, the largest first", [*lines, *_rest(row_groups)])


def _row_group_lines(file: str, group: RowGroupReport, table: str) -> list[RenderableType]:
    row_share = "all" if group.kept_rows == group.row_count else f"{group.kept_rows:,} of"
    path = printable(short_path(file, table, _LONGEST_PATH))
    rows = f": {row_share} {counted(group.row_count, 'row')}, {bytes_text(group.kept_bytes)}"
    head = Text.assemble(path, (f" row group {group.index}", "bold"), rows, overflow="fold")
    return [head, _indented(_plain(group.reason, _LONGEST_REASON))] if group.reason else [head]


def _section(title: str, parts: Sequence[RenderableType]) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), *map(_indented, parts)] if parts else []


def _rest(items: Sequence[object]) -> list[RenderableType]:
    return [_more(len(items))] if len(items) > _SHOWN else []


def _more(count: int) -> Text:
    return Text(f"... and {count - _SHOWN:,} more", style="dim")


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, _INDENT), expand=False)


def _sql(sql: str) -> Text:
    return Text(printable(clipped(sql, _LONGEST_SQL), keep="\n"), style="cyan", overflow="fold")


def _plain(text: str, limit: int) -> Text:
    return Text(printable(clipped(text, limit)), overflow="fold")
