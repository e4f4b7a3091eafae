"""The result of a run, as text."""

from __future__ import annotations

from rich.table import Table

FEW = 20  # a share of fewer row groups is not significant


def show(result, seed, console):
    """Print counts by release, the releases that were not tried, reasons of refusals, and the findings."""
    tally = result.tally
    title = f"{tally.cases:,} conditions on {tally.files.total():,} files, seed {seed}, {result.seconds:.0f} s"
    table = Table("writer", "created_by", "files", "skippable row groups", "skipped", "wrong answers", title=title)
    for name, files in tally.files.items():
        skippable, skipped = (_of(counts, name) for counts in (tally.skippable, tally.skipped))
        wrong = sum(count for (writer, *_), count in result.wrong.items() if writer == name)
        share = f"{skipped / skippable:.0%}" if skippable else ""
        table.add_row(name, tally.created_by[name], f"{files:,}", f"{skippable:,}", share, f"{wrong:,}")
    console.print(table)
    lines = [f"not tried: {name}: {reason}" for name, reason in result.untried.items()]
    lines += [f"{count:,} not written: {reason}" for reason, count in result.unwritten.most_common()]
    lines += [f"{count:,} refused: {reason}" for reason, count in tally.refused.most_common(20)]
    lines += [f"{count:,} answers of Spark and DuckDB differ: {what}" for what, count in (+tally.differing).items()]
    lines += [f"nothing skipped: {name}, {kind}: 0 of {count:,}" for (name, kind), count in _blunt(tally)]
    for line in lines:
        console.print(line, markup=False, highlight=False)
    for key, examples in result.findings.items():
        for number, finding in examples[:1]:
            where = f"table {number}, {finding.where}" if finding.where else f"table {number}"
            what = f"error: {result.wrong[key]:,} times {', '.join(key)}: {where}: {finding.detail}"
            console.print(what, style="red", markup=False, highlight=False)


def _of(counts, name):
    return sum(count for (writer, _), count in counts.items() if writer == name)


def _blunt(tally):
    """Return (release, type) and count if all of the many skippable row groups are read."""
    return [(key, count) for key, count in tally.skippable.items() if count >= FEW and not tally.skipped[key]]
