"""Print the results of a run."""

from __future__ import annotations

from rich.table import Table


def show(name, result, seed, console):
    title = f"{name}: {result.cases:,} MERGEs run both ways, seed {seed}, {result.seconds:.0f} s"
    for heading, counts in (
        (title, result.counts),
        ("files opened", result.files),
        ("drawn", dict(result.forms.most_common())),
        ("refused by the plan", dict(result.refused.most_common(10))),
    ):
        table = Table("", "count", title=heading, title_justify="left")
        for what, count in counts.items():
            table.add_row(what, f"{count:,}")
        console.print(table)
    for number, what in result.findings:
        console.print(f"error: case {number}: {what}", style="red", markup=False, highlight=False)
