"""Damage real metadata and see what comes of it: `make fuzz`.

Exits with 1 for anything but errors that name the place and honest answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from campaign import FREE_BYTES, RATIO, SECONDS, SMALL, run
from rich.console import Console
from rich.table import Table


@click.command()
@click.option("--count", default=200_000, show_default=True, help="Mutations, over all targets.")
@click.option("--seconds", default=1800.0, show_default=True, help="Stop after so long, whatever the count.")
@click.option("--seed", default=1, show_default=True, help="Another one makes other mutations.")
@click.option("--first", default=0, show_default=True, help="Number of the first case: with --count 1, one again.")
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written.")
def main(*, count: int, seconds: float, seed: int, first: int, jobs: int, keep: Path) -> None:
    """Run, print what came of each target, and write down what must not be."""
    console = Console()
    result = run(seed=seed, count=count, seconds=seconds, jobs=jobs, first=first)
    title = f"{result.cases():,} mutations in both forms, seed {seed}, {result.seconds:.0f} s"
    table = Table("target", "mutations", "errors", "honest answers", "slowest", "peak allocation", title=title)
    for name, tally in result.tallies.items():
        counts = (f"{number:,}" for number in (tally.cases, tally.errors, tally.answers))
        table.add_row(name, *counts, f"{1000 * tally.slowest:.0f} ms", f"{tally.ratio:.0f} x input")
    console.print(table)
    allowed = f"Allowed: {SECONDS:.0f} s; {RATIO} x the input and {FREE_BYTES >> 10} KiB."
    console.print(f"{allowed} A ratio counts {SMALL >> 10} KiB of input at least.")
    for violation in result.violations:
        what = f"case {violation.number}, {violation.target}: {violation.what}"
        console.print(f"error: {what}; {violation.keep(keep)} holds its bytes", style="red", markup=False)
    if result.violations or not result.cases():
        sys.exit(1)


if __name__ == "__main__":
    main()
