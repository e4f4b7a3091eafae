"""`prune vacuum`: the files that no version of a Delta table needs any more."""

from __future__ import annotations

import datetime as dt
import sys

import click

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option("--delete", is_flag=True, help="Delete the files; without it they are only listed.")
@click.option(
    "--retain-hours",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Keep the files that versions of the last N hours need; by default as the table's properties say, or a week.",
)
@click.option(
    "--allow-shorter",
    is_flag=True,
    help="Allow fewer hours than the table's properties say. Readers of older versions may then miss files.",
)
def vacuum(*, table: str, delete: bool, retain_hours: float | None, allow_shorter: bool) -> None:
    """List the files of the Delta table TABLE that no version needs, or delete them.

    The files of versions within the retention period stay. The exit code is 1 where a file could not be deleted. For
    example:

    \b
      prune vacuum lake/orders
      prune vacuum lake/orders --delete --retain-hours 240
    """
    import deltalog

    retention = None if retain_hours is None else dt.timedelta(hours=retain_hours)
    done = deltalog.vacuum(table, retention=retention, allow_shorter=allow_shorter, dry_run=not delete)
    for file in done.files:
        click.echo(printable(redacted(file.path)))
    for file, reason in done.failed:
        click.echo(f"{printable(redacted(file.path))}: {printable(reason)}", err=True)
    size = f"{counted(len(done.files), 'file')}, {bytes_text(done.bytes)}"
    what = f"{size} deleted" if delete else f"{size} would be deleted: pass --delete to delete"
    click.echo(f"{what}; {counted(done.young, 'unreferenced file')} within the retention period", err=True)
    if done.failed:
        sys.exit(1)
