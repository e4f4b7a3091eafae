"""Reports as a planner creates them: every total is the sum over the row groups."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta

from prune_assets.report.skip_report import (
    Conjunct,
    Denial,
    Engine,
    Extent,
    FileReport,
    Leaf,
    Level,
    MapCell,
    Reading,
    RowGroupReport,
    SkipReport,
    UnsupportedPart,
)

PAGE_ROWS = 20_000
LEVELS = ("row_group_statistics", "bloom_filter", "page_index")


def make_report(*, files=24, row_groups=4, seed=7, hit=0.3, path=None, **changes) -> SkipReport:
    """Plan over files sorted by date with some overlap; `hit`: the part of them that the dates reach into."""
    rng = random.Random(seed)
    path = path or (lambda i: f"s3://lake/orders/part-{i:05d}-{rng.getrandbits(64):016x}.c000.zstd.parquet")
    reports = tuple(
        file_report(path(i), [row_group(rng, g, (i + g / row_groups) / files, hit) for g in range(row_groups)])
        for i in range(files)
    )
    return SkipReport(**{**described(reports), **changes})


def in_runs(report, most=1_500) -> SkipReport:
    """The report as a planner gives it of a table too large to tell each row group: the map has them all."""
    groups = [(file.path, group) for file in report.files for group in file.row_groups]
    step = -(-len(groups) // most)
    runs = tuple(map_cell(groups[i : i + step]) for i in range(0, len(groups), step))
    told = tuple(file for file in report.files if file.verdict != "skip")[:50]
    return replace(report, files=told, files_complete=False, map=runs)


def map_cell(run) -> MapCell:
    (first, begin), (last, end), groups = run[0], run[-1], [group for _, group in run]
    skipped = (sum(g.bytes - g.kept_bytes for g in groups if g.level == level) for level in LEVELS)
    kept, size = sum(group.kept_bytes for group in groups), sum(group.bytes for group in groups)
    read = sum(group.verdict != "skip" for group in groups)
    return MapCell(first, begin.index, last, end.index, len(run), read, size, kept, tuple(skipped))


def file_report(path, groups) -> FileReport:
    verdicts = {group.verdict for group in groups}
    verdict = verdicts.pop() if len(verdicts) == 1 else "selection"
    return FileReport(path, verdict, tuple(groups))


def row_group(rng, index, position, hit) -> RowGroupReport:
    rows = rng.randrange(700_000, 1_000_000)
    size = rows * rng.randrange(18, 30)
    low = date(2024, 1, 1) + timedelta(days=int(position * 360))
    jitter = rng.gauss(0, 0.04)
    bounds = f"order_date in [{low}, {low + timedelta(days=9)}]"
    if not 0.35 <= position + jitter <= 0.35 + hit:
        reason = f"{bounds}: outside of order_date >= DATE '2024-05-01'"
        return skipped(index, rows, size, reason, "row_group_statistics")
    if rng.random() < 0.4:
        return skipped(index, rows, size, "bloom filter of customer_id holds none of the 3 values", "bloom_filter")
    if rng.random() < 0.15:
        evidence = ("row_group_statistics", "bloom_filter")
        reason = f"{bounds} overlaps; customer_id has no page index"
        return RowGroupReport(index, rows, "scan", ((0, rows),), (), evidence, reason, "", size, size)
    return selection(rng, index, rows, size, bounds)


def skipped(index, rows, size, reason, level) -> RowGroupReport:
    evidence = LEVELS[: LEVELS.index(level) + 1]
    return RowGroupReport(index, rows, "skip", (), (), evidence, reason, level, size, 0)


def selection(rng, index, rows, size, bounds) -> RowGroupReport:
    pages = range(0, rows, PAGE_ROWS)
    chosen = sorted(rng.sample(pages, k=rng.randrange(1, 6)))
    ranges = merged([(start, min(start + PAGE_ROWS, rows)) for start in chosen])
    kept = sum(stop - start for start, stop in ranges)
    matches = ranges[:1] if rng.random() < 0.3 else ()
    reason = f"{bounds}; {len(chosen)} of {len(pages)} pages may hold customer_id IN (7, 1311, 90210)"
    return RowGroupReport(
        index, rows, "selection", ranges, matches, LEVELS, reason, "page_index", size, size * kept // rows
    )


def merged(ranges):
    out = []
    for start, stop in ranges:
        if out and out[-1][1] == start:
            out[-1] = (out[-1][0], stop)
        else:
            out.append((start, stop))
    return tuple(out)


def described(files) -> dict:
    levels = levels_of(files)
    total, kept = levels[0].total, levels[-1].kept
    return {
        "table": "s3://lake/orders",
        "predicate": "order_date >= '2024-05-01' and customer_id in (7, 1311, 90210) and lower(status) = 'open'",
        "normalized": "order_date >= DATE '2024-05-01' AND customer_id IN (7, 1311, 90210) AND lower(status) = 'open'",
        "unsupported": (
            UnsupportedPart(
                "lower(status) = 'open'",
                "lower() changes the order of values, so bounds of status say nothing about it",
                "store a normalised column, or write status IN ('open', 'Open', 'OPEN')",
            ),
        ),
        "levels": levels,
        "total": total,
        "kept": kept,
        "conjuncts": (
            Conjunct("order_date >= DATE '2024-05-01'", levels[0].skipped_bytes),
            Conjunct("customer_id IN (7, 1311, 90210)", levels[1].skipped_bytes + levels[2].skipped_bytes),
            Conjunct("lower(status) = 'open'", 0),
        ),
        "files": files,
        "implied": ("order_date >= DATE '2024-05-01' AND order_date <= DATE '2024-08-12'",),
        "requests": 2 * len(files),
        "bytes_fetched": 71_000 * len(files),
        "index_bytes": 21_000 * len(files),
        "bloom_bytes": 32_000 * len(files),
        "seconds": 0.0031 * len(files),
        "estimated": False,
        "engines": (
            Engine("best possible", kept, reading=Reading.BEST_POSSIBLE),
            Engine("Spark alone", levels[0].kept, reading=Reading.ALONE),
        ),
        "leaves": leaves_of(levels, kept),
    }


def leaves_of(levels, kept) -> tuple[Leaf, ...]:
    removed = levels[0].total.row_groups - levels[0].kept.row_groups
    by_date = (Denial("row_group_statistics", removed, levels[0].skipped_bytes),) if removed else ()
    reason = "lower() changes the order of values, so bounds of status say nothing about it"
    return (
        Leaf("order_date >= DATE '2024-05-01'", by_date, kept.row_groups, kept.bytes, kept.row_groups // 2),
        Leaf("lower(status) = 'open'", (), kept.row_groups, kept.bytes, 0, reason),
    )


def levels_of(files) -> tuple[Level, ...]:
    levels, left = [], extent(files, ())
    for position, name in enumerate(LEVELS):
        kept = extent(files, LEVELS[: position + 1])
        unit = "page" if name == "page_index" else "row group"
        status = "consulted" if left.row_groups else "not_applicable"
        skipped = (left.rows - kept.rows, left.bytes - kept.bytes)
        levels.append(Level(name, unit, left, kept, *skipped, status, why(unit, left, kept)))
        left = kept
    return tuple(levels)


def why(unit, left, kept) -> str:
    if not left.row_groups:
        return "earlier levels skipped everything about"
    total, some = (left.pages, kept.pages) if unit == "page" else (left.row_groups, kept.row_groups)
    return f"{total - some:,} of {total:,} {unit}s hold no row that may match"


def extent(files, removed_by) -> Extent:
    """Return what remains of the files after the levels in `removed_by`."""
    groups = [(i, g) for i, file in enumerate(files) for g in file.row_groups]
    left = [(i, g) for i, g in groups if not (g.verdict == "skip" and g.level in removed_by)]
    rows = [rows_left(g, removed_by) for _, g in left]
    size = [g.kept_bytes if g.level in removed_by else g.bytes for _, g in left]
    pages = sum(-(-count // PAGE_ROWS) for count in rows)
    return Extent(len({i for i, _ in left}), len(left), pages, sum(rows), sum(size))


def rows_left(group, removed_by) -> int:
    return sum(stop - start for start, stop in group.ranges) if group.level in removed_by else group.row_count
