"""Print the results of a fuzz run."""

from __future__ import annotations

from rich.table import Table


def told(result, seed, number):
    """Return the progress of a run as one line."""
    speed = result.tally.cases / max(result.seconds, 1)
    return (
        f"seed {seed}, table {number}: {result.tally.cases:,} predicates, {speed:.0f} a second, "
        f"{len(result.findings)} findings"
    )


def show(result, seed, console):
    """Print counts, skipped and skippable data per level, exceptions and findings."""
    tally = result.tally
    title = f"{tally.cases:,} predicates on {result.tables:,} tables, seed {seed}, {result.seconds:.0f} s"
    for heading, counts in (
        (title, tally.counts | {"tables that Spark cannot read": result.unreadable}),
        ("skipped and possible", tally.levels),
        ("skipped by a peer alone, and why", tally.exceptions),
        ("does not prune", dict(tally.refusals.most_common(15))),
    ):
        table = Table("", "count", title=heading, title_justify="left")
        for name, count in counts.items():
            table.add_row(name, f"{count:,}")
        console.print(table)
    for name, example in tally.peers_failed.items():
        console.print(f"failed: {name}: {example[:300]}", markup=False, highlight=False)
    for reason in result.reasons[:5]:
        console.print(f"not read: {reason}", markup=False, highlight=False)
    for number, finding, path in result.findings:
        kept = f"; {path} holds it" if path else ""
        what = f"error: table {number}, {finding.check}: {finding.where}: {finding.detail}{kept}"
        console.print(what, style="red", markup=False, highlight=False)
