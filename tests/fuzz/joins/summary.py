"""Print the results of random joins."""

from __future__ import annotations

from rich.table import Table


def told(result, seed, number):
    """Return the progress of a run as one line."""
    return f"seed {seed}, table {number}: {result.cases:,} joins, {len(result.findings)} findings"


def show(result, seed, console):
    """Print counts, tables that were not read, and findings."""
    title = f"{result.cases:,} joins with {result.tables:,} tables, seed {seed}, {result.seconds:.0f} s"
    table = Table("", "count", title=title, title_justify="left")
    for name, count in sorted(result.counts.items()):
        table.add_row(name, f"{count:,}")
    console.print(table)
    for reason in result.reasons[:5]:
        console.print(reason, markup=False, highlight=False)
    for number, finding in result.findings:
        console.print(f"error: table {number}: {finding}", style="red", markup=False, highlight=False)
