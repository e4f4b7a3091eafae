"""Wording of levels and their outcomes, shared by all forms of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.known_levels import KnownLevel, level_title
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import clipped, share_text, tenths_of_percent
from prune_assets.report.skip_report import Caveat, Reading

if TYPE_CHECKING:
    from prune_assets.report.skip_report import Denial, Engine, Extent, Leaf, Level, SkipReport, TableSnapshot

_LONGEST_NAME = 100
# If less than this share is skipped, a report explains why.
ENOUGH_SKIPPED = 0.5
DEPENDS_ON_ZONE = "depends on the session's time zone"
# A report has Spark's bytes if they exceed the best possible bytes by more than this share of the table.
_CLEARLY_MORE = 0.1
PUSHED_IN_PART = (
    "Spark skips row groups and pages only by filters that it pushes down, and these prune less than this plan"
)
_SMALLER_FILES = "Smaller files would help: this plan lists the files that Spark reads (target_file_bytes of a layout)"


def outcome_text(level: Level) -> str:
    """Describe the outcome of a level: missing, not applicable, or evaluated with its result."""
    match level.status:
        case "absent":
            return "none to use"
        case "not_applicable":
            return "not applicable"
        case "consulted" if did_nothing(level):
            return "consulted, nothing skipped"
        case "consulted":
            return f"consulted, skipped {share_text(level.skipped_bytes, level.total.bytes)} of the remaining bytes"


def headline(report: SkipReport) -> str:
    """Summarize in one line the bytes that need not be read, with Spark's figure if it is clearly less."""
    if report.skipped_fraction is None:
        return "Nothing to read: the table has no bytes in these columns"
    whole = report.total.bytes
    share = share_text(report.skipped_bytes, whole)
    snapshot = report.table_snapshot
    unopened = report.unopened_files > 0 if snapshot is None else snapshot.pro_rata
    approximately = "about " if report.estimated or unopened else ""
    best = f"{approximately}{bytes_text(report.skipped_bytes)}"
    limited = limited_engine(report)
    if limited is None:
        return f"Skipped {best} of {bytes_text(whole)} ({share})"
    by_spark = skipped_with_plan(report)
    return (
        f"Skipped {about_text(limited)}{bytes_text(by_spark)} of {bytes_text(whole)} ({share_text(by_spark, whole)}) "
        f"by Spark with this plan; best possible {best} ({share})"
    )


def skipped_with_plan(report: SkipReport) -> int:
    """Return the bytes that Spark with this plan skips; without a prediction, the bytes that need not be read."""
    engine = _predicted(report)
    read_bytes = report.kept.bytes if engine is None else max(report.kept.bytes, engine.kept.bytes)
    return report.total.bytes - read_bytes


def limited_engine(report: SkipReport) -> Engine | None:
    """Return Spark's predicted read with this plan if it is clearly more than the best possible; otherwise None."""
    engine = _predicted(report)
    if engine is None or not reads_clearly_more(engine.kept.bytes, report.kept.bytes, report.total.bytes):
        return None
    return engine


def reads_clearly_more(kept_bytes: int, best_bytes: int, whole_bytes: int) -> bool:
    """Return True if a reader reads clearly more than the best possible, so that reports mention it."""
    return kept_bytes - best_bytes > _CLEARLY_MORE * whole_bytes


def limit_text(report: SkipReport) -> str:
    """Explain why Spark with this plan skips clearly less than possible, and the remedy; "" if the loss is small."""
    engine = limited_engine(report)
    if engine is None:
        return ""
    groups = report.total.row_groups
    remedy = f". {_SMALLER_FILES}" if groups is None or groups > report.total.files else ""
    return f"{engine.why or PUSHED_IN_PART}{remedy}"


def _predicted(report: SkipReport) -> Engine | None:
    """Return Spark's read with this plan; None if its figures are unknown, or only upper limits."""
    _, engine = compared_engines(report)
    unknown = {Caveat.TIME_ZONE, Caveat.FAILS, Caveat.UNREAD_METADATA}
    return None if engine is None or engine.caveat in unknown else engine


def advice_title(report: SkipReport) -> str:
    """Return the title of the advice, which is a question."""
    if not report.kept.bytes:
        return "Why nothing is read"
    skipped = 1.0 if report.skipped_fraction is None else report.skipped_fraction
    return "Why so little" if skipped < ENOUGH_SKIPPED else "Why not more"


def shortfall(report: SkipReport, min_skipped: float) -> str | None:
    """Describe a skipped share below the required one, and the remedy; None if enough is skipped.

    The remedy is to rewrite the predicate if one of its conditions does not prune, otherwise to rewrite the files.
    """
    below = below_required(report, min_skipped)
    if below is None:
        return None
    remedy = "run `prune explain` with this predicate for the reason"
    if report.skipped_bytes >= min_skipped * report.total.bytes:
        remedy = limit_text(report) or remedy
    elif report.unsupported:
        part = report.unsupported[0]
        remedy = f"{part.sql} does not prune: {part.reason}. {part.remedy}"
    elif report.advice is not None:
        remedy = ". Would help: ".join(
            [report.advice.why, *(candidate.said for candidate in report.advice.remedies[:1])]
        )
    return f"{below}; {remedy}"


def below_required(report: SkipReport, min_skipped: float) -> str | None:
    """Compare the skipped share with the required one; None if enough is skipped.

    The share is Spark's with this plan if it is predicted, otherwise the best possible. The percentage is rounded down,
    so that it is below the required one.
    """
    skipped, whole = skipped_with_plan(report), report.total.bytes
    if not whole or skipped / whole >= min_skipped:
        return None
    by = ""
    if skipped < report.skipped_bytes:
        by = f" by Spark with this plan (best possible {share_text(report.skipped_bytes, whole)})"
    return (
        f"{tenths_of_percent(skipped, whole) / 10:g} % of bytes skipped{by}, below the required {100 * min_skipped:g} %"
    )


def one_line(report: SkipReport) -> str:
    """Return a report as one line."""
    table, predicate = (clipped(label, _LONGEST_NAME) for label in (report.table, report.predicate))
    limit = limited_engine(report)
    why = "" if limit is None else f"; {limit.why or PUSHED_IN_PART}"
    return f"SkipReport({table!r}, where={predicate!r}: {headline(report)}{why})"


def did_nothing(level: Level) -> bool:
    """Return True if a level skipped nothing, whether it was evaluated or not. Reports show such levels last."""
    if level.skipped_rows is None:
        return level.skipped_bytes == 0 and level.total.files == level.kept.files
    return level.skipped_rows == 0 and level.skipped_bytes == 0


def made_text(report: SkipReport) -> str:
    """Return when a report was made and by which version; "" if the report does not record it."""
    return (
        f"{report.made.replace('T', ' ').replace('+00:00', ' UTC')}, prune-assets {report.version}"
        if report.made
        else ""
    )


def comparison(report: SkipReport) -> str:
    """Compare Spark's read without the plan with its read with the plan; "" if one of them is unknown."""
    alone, with_plan = compared_engines(report)
    if alone is None or with_plan is None:
        return ""
    if alone.caveat is Caveat.TIME_ZONE:
        if (with_plan.kept.bytes, with_plan.kept.rows) == (report.total.bytes, report.total.rows):
            return f"The data that Spark would read, alone or with this plan, {DEPENDS_ON_ZONE}"
        reads = _read_by(with_plan) if with_plan.kept.files else "it reads nothing in any zone"
        return f"The data that Spark alone would read {DEPENDS_ON_ZONE}; with this plan {reads}"
    if alone.caveat is Caveat.FAILS:
        too = with_plan.caveat is Caveat.FAILS
        return f"Spark {'' if too else 'alone '}{alone.why}; with this plan {'too' if too else _read_by(with_plan)}"
    alone_text = f"Spark alone would read {_format_read(alone, report.total)}"
    if (with_plan.kept.bytes, with_plan.kept.rows) == (alone.kept.bytes, alone.kept.rows):
        return f"{alone_text}; with this plan the same"
    return f"{alone_text}; with this plan {_read_by(with_plan)}"


def time_zone_text(report: SkipReport) -> str:
    """Explain how to interpret `normalized` if the time zone of the session is unknown; "" if no zone matters."""
    if all(engine.caveat is not Caveat.TIME_ZONE for engine in report.engines):
        return ""
    return "not known: a value is skipped only if all time zones agree about it; pass --time-zone to skip more"


def compared_engines(report: SkipReport) -> tuple[Engine | None, Engine | None]:
    """Return Spark's read without the plan, and its read with the plan; None if unknown."""
    return engine_of(Reading.ALONE, report), engine_of(Reading.WITH_PLAN, report)


def engine_of(reading: Reading, report: SkipReport) -> Engine | None:
    """Return the entry of `report.engines` that reads in this way; None if missing."""
    return next((engine for engine in report.engines if engine.reading is reading), None)


def _format_read(engine: Engine, whole: Extent) -> str:
    is_all = (engine.kept.bytes, engine.kept.rows) == (whole.bytes, whole.rows)
    return f"all {bytes_text(whole.bytes)}, {rows_text(whole.rows)}" if is_all else _read_by(engine)


def _read_by(engine: Engine) -> str:
    return f"{about_text(engine)}{bytes_text(engine.kept.bytes)}, {rows_text(engine.kept.rows)}"


def rows_text(rows: int | None) -> str:
    """Format a row count, which may be unknown.

    >>> rows_text(1), rows_text(None)
    ('1 row', 'rows not counted')
    """
    return "rows not counted" if rows is None else counted(rows, "row")


def about_text(engine: Engine) -> str:
    """Return the prefix of an engine's figures; "" if they are exact."""
    match engine.caveat:
        case Caveat.TIME_ZONE if not engine.kept.files:
            return ""
        case Caveat.TIME_ZONE | Caveat.WHOLE_FILES:
            return "at most "
        case _:
            return "about " if engine.estimated else ""


def snapshot_text(snapshot: TableSnapshot) -> str:
    """Describe the planned version, its opened files, and its deleted rows."""
    parts = [f"{snapshot.version}: {counted(snapshot.files, 'file')}, {snapshot.opened_files:,} opened"]
    if snapshot.deleted_rows:
        parts.append(
            f"row counts include {counted(snapshot.deleted_rows, 'row')} that deletion vectors of "
            f"{counted(snapshot.files_with_deletes, 'file')} hide, "
            f"{snapshot.kept_deleted_rows:,} of them in files to read"
        )
    if snapshot.unknown_rows:
        unknown = counted(snapshot.unknown_rows, "unopened file")
        parts.append(f"the metadata has no row count for {unknown}, so totals that include them have no row count")
    if snapshot.pro_rata:
        parts.append("bytes of unopened files are estimated for the columns read")
    if snapshot.timestamp is not None:
        parts.append(f"committed at {snapshot.timestamp}")
    return "; ".join([*parts, *snapshot.notes])


def unopened_text(report: SkipReport) -> str:
    """Describe unopened files of a table without a log, and how they are counted; "" if all were opened."""
    if report.table_snapshot is not None or not report.unopened_files:
        return ""
    files = f"{report.unopened_files:,} of {counted(report.total.files, 'file')}"
    if any(level.level == KnownLevel.EXECUTORS.key for level in report.levels):
        return (
            f"{files} were not opened by this process: their bytes are estimated for the columns read, and the rows of "
            "those skipped by partition value are not counted"
        )
    return (
        f"{files} were skipped by partition value; their footers were not read, so their rows are not counted "
        "and their bytes are estimated for the columns read"
    )


def least_text(report: SkipReport) -> str:
    """Explain why a conjunct alone may skip more than reported; "" if the figures are complete."""
    if all(part.complete for part in report.conjuncts):
        return ""
    if report.unopened_files:
        return "lower bounds: skips in files that this plan did not open are unknown"
    return "lower bounds: on a table of this size, each condition alone uses only partition values and statistics"


def extents(total: Extent, remaining: Extent) -> list[tuple[str, int | None, int | None]]:
    """Pair the total of every unit (files, row groups, ..) with its kept amount, the coarsest unit first."""
    return [
        ("files", total.files, remaining.files),
        ("row groups", total.row_groups, remaining.row_groups),
        ("pages", total.pages, remaining.pages),
        ("rows", total.rows, remaining.rows),
        ("bytes", total.bytes, remaining.bytes),
    ]


def leaf_outcome(leaf: Leaf) -> str:
    """Describe the row groups that a leaf excludes, by level, and the data read that it does not exclude."""
    denied = ", ".join(f"{denied_text(part)} ({level_title(part.level)})" for part in leaf.denied)
    excluded = f"excludes {denied}" if denied else leaf.why or "excludes no row group"
    if not leaf.open_row_groups:
        return f"{excluded}; no remaining row group depends on it"
    opened = f"may match in {row_groups_text(leaf.open_row_groups)} to read ({bytes_text(leaf.open_bytes)})"
    certain = f"; in {leaf.proven_row_groups:,} of them every row matches" if leaf.proven_row_groups else ""
    return f"{excluded}; {opened}{certain}"


def denied_text(denial: Denial) -> str:
    """Format the number of row groups or files that a level excludes."""
    return row_groups_text(denial.row_groups) if denial.unit == "row group" else counted(denial.row_groups, "file")


def row_groups_text(count: int) -> str:
    """Format a number of row groups.

    >>> row_groups_text(1), row_groups_text(2_000)
    ('1 row group', '2,000 row groups')
    """
    return counted(count, "row group")
