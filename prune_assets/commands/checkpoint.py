"""`prune checkpoint`: write the checkpoint of a Delta table, so that readers open it by one file."""

from __future__ import annotations

import click

from parquet_core.printable import printable


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Of this version; of the last by default.")
def checkpoint(*, table: str, version: int | None) -> None:
    """Write the checkpoint of the Delta table TABLE unless there is one.

    Readers open the table by it. What has expired of the log is removed then, as the table's properties say.
    """
    import deltalog

    done = deltalog.write_checkpoint(table, version)
    said = "written" if done.written else "is there already"
    click.echo(f"checkpoint of version {done.version} {said}: {', '.join(printable(path) for path in done.files)}")
    for note in done.notes:
        click.echo(printable(note), err=True)
