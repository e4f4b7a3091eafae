"""`prune vacuum`: list or delete the files that no version of a Delta table needs."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING

import click

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted

if TYPE_CHECKING:
    from deltalog.maintenance.vacuum import Vacuumed

# Minutes since 1970 of the last representable date.
_LAST_MINUTE = int(dt.datetime.max.replace(tzinfo=dt.UTC).timestamp() // 60) - 1


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
    click.echo(f"{what}; {_waiting(done)}", err=True)
    if done.failed:
        sys.exit(1)


def _waiting(done: Vacuumed) -> str:
    """Describe the files in the retention period.

    The text has their number, and when the first and last can be deleted.
    """
    if not done.waiting:
        return "no file waits for the end of the retention period"
    count, removed = len(done.waiting), sum(one.removed for one in done.waiting)
    parts = [
        part
        for part in (
            f"{removed:,} removed by commits" if removed else "",
            f"{done.young:,} that no commit names" if done.young else "",
        )
        if part
    ]
    text = (
        f"{counted(count, 'file')}, {bytes_text(done.waiting_bytes)}, {'waits' if count == 1 else 'wait'} for the end "
        f"of the retention period ({', '.join(parts)})"
    )
    times = [one.removable_from for one in done.waiting if one.removable_from is not None]
    if not times:
        return f"{text}; the store does not say how old they are"
    first, last = (_minute(time) for time in (min(times), max(times)))
    return f"{text} and can be deleted from {first}{'' if first == last else f', all of them from {last}'}"


def _minute(milliseconds: int) -> str:
    """Render a time in UTC, rounded up to a full minute."""
    minutes = min(-(-milliseconds // 60_000), _LAST_MINUTE)
    return f"{dt.datetime.fromtimestamp(minutes * 60, dt.UTC):%Y-%m-%d %H:%M} UTC"
