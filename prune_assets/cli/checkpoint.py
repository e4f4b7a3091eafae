"""`prune checkpoint`: write a checkpoint of a Delta table.

Readers then need not replay its commits.
"""

from __future__ import annotations

import click

from parquet_core.printable import printable


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option(
    "--version",
    type=click.IntRange(min=0),
    metavar="N",
    help="The version to write the checkpoint of; by default the latest.",
)
def checkpoint(*, table: str, version: int | None) -> None:
    """Write a checkpoint of the Delta table TABLE unless there is one.

    Readers then open the checkpoint instead of replaying every commit before it. Expired log files are deleted, as the
    table's properties say. For example:

    \b
      prune checkpoint lake/orders
    """
    import deltalog

    done = deltalog.write_checkpoint(table, version)
    outcome = "written" if done.written else "exists already"
    click.echo(f"checkpoint of version {done.version} {outcome}: {', '.join(printable(path) for path in done.files)}")
    for note in done.notes:
        click.echo(printable(note), err=True)
