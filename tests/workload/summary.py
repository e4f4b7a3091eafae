"""Print the results of a run of random queries."""

from __future__ import annotations

from rich.table import Table


def told(result, number):
    """Return the progress of a run as one line."""
    return f"table {number}: {result.cases:,} queries, {result.seconds:.0f} s, {len(result.findings)} findings"


def show(result, seed, console):
    """Print counts, refusals by Spark, and findings."""
    table = Table("", "count", title=f"{result.cases:,} ordinary queries, seed {seed}, {result.seconds:.0f} s")
    counts = {"rows selected": result.rows, "rows that plans keep": result.kept, "rows of the tables": result.total}
    for name, count in (counts | {f"refused by Spark: {name}": n for name, n in result.refused.items()}).items():
        table.add_row(name, f"{count:,}")
    console.print(table)
    for number, case, finding in result.findings:
        what = f"error: number {number}, {case.id}: {finding.check}: {finding.detail}"
        console.print(what, style="red", markup=False, highlight=False)
