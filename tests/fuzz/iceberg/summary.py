"""Print the results of a fuzz run."""

from __future__ import annotations

from rich.table import Table


def show(result, seed, console):
    """Print counts, reasons for refused reads, differences of other readers, and findings."""
    tally = result.tally
    counts = tally.counts | {"tables that could not be made": len(result.unmade)}
    table = Table("", "count", title=f"{tally.cases:,} predicates on {result.tables:,} tables, seed {seed}")
    for name, count in counts.items():
        table.add_row(name, f"{count:,}")
    console.print(table)
    for reason, count in tally.reasons.most_common():
        console.print(f"{count:,} times {reason}; as {tally.examples[reason]}", markup=False, highlight=False)
    for reason in result.unmade[:5]:
        console.print(f"not made: {reason}", markup=False, highlight=False)
    for number, (check, where, detail) in result.findings:
        what = f"error: table {number}, {check}: {where}: {detail}"
        console.print(what, style="red", markup=False, highlight=False)
