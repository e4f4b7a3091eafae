"""`prune workload`: show the queries that ran, from Spark's event logs."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from prune_assets.cli.notes import without_notes
from prune_assets.cli.quantities import WRITTEN_FILE, file_option
from prune_assets.report.output import refuse_without_folder, rendered, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SECONDS = 0.3


@click.command()
@click.argument("event_logs", nargs=-1, required=True, type=click.Path(readable=False))
@click.option("--since", metavar="TIME", help="Only queries that began at this time or later, such as 2024-01-31; UTC.")
@click.option("--until", metavar="TIME", help="Only queries that began before this time; UTC.")
@click.option("--table", metavar="TABLE", help="Only this table, by its path or its name in a catalog.")
@click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Only applications of this name or id; * matches any text; may be repeated.",
)
@click.option(
    "--user", "users", multiple=True, metavar="NAME", help="Only applications that this user started; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema workload/1, with all shapes and constants.")
@file_option("--save", "saved_file", "Write the JSON into this file, for --workload of prune advise.")
@click.option("--redact", is_flag=True, help="Replace constants by their ranks.")
@click.option(
    "--price-per-tib", type=click.FloatRange(min=0), help="The price of reading a TiB, to show the cost per day."
)
@click.option(
    "--cursor",
    type=WRITTEN_FILE,
    help="Save the position in the event logs in this file; the next run with it shows only queries that ran since.",
)
@file_option("--promised", "promised", "Compare applied advice, a file of `prune advise --save`, with these queries.")
def workload(
    *,
    event_logs: tuple[str, ...],
    since: str | None,
    until: str | None,
    table: str | None,
    apps: tuple[str, ...],
    users: tuple[str, ...],
    as_json: bool,
    saved_file: Path | None,
    redact: bool,
    price_per_tib: float | None,
    cursor: Path | None,
    promised: Path | None,
) -> None:
    """Show what queries really ran: per table their filters, how often, and bytes read without need.

    EVENT_LOGS are logs of Spark (spark.eventLog.dir), zips and directories of them, also in stores, or files of SQL
    (.sql) with SELECTs that end with ; or a line each, and conditions a line each. This starts no Spark. For example:

    \b
      prune workload /var/log/spark-events
      prune workload s3://logs/spark-events --since 2024-01-01 --table lake/orders --save workload.json
      prune workload dbfs-logs/0101-120000-abc --app "nightly*" --user etl
      prune workload queries.sql --table lake/orders --json
    """
    if saved_file is not None:
        refuse_without_folder(saved_file)
    from prune_assets.advisor.workload.console import print_workload
    from prune_assets.advisor.workload.json_form import to_json
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.advisor.workload.redact import redacted

    with _progress() as progress:
        found = Workload.read(
            event_logs, since=since, until=until, table=table, cursor=cursor, progress=progress, app=apps, user=users
        )
    if promised is not None:
        from prune_assets.advisor.result import LayoutAdvice

        click.echo(f"{without_notes(LayoutAdvice.read(promised).outcome(found))}\n", err=as_json)
    found = redacted(found) if redact else found
    for problem in found.problems:
        click.echo(f"note: {problem}", err=True)
    if saved_file is not None:
        write_whole(saved_file, to_json(found, price_per_tib=price_per_tib) + "\n")
    if as_json:
        click.echo(to_json(found, price_per_tib=price_per_tib))
    else:
        click.echo(rendered(lambda console: print_workload(found, console, price_per_tib=price_per_tib)))


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield a callback that shows the progress on a terminal; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    last = 0.0

    def show(read: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            click.echo(
                f"\rreading event logs: {read / max(total, 1):.0%} of {total / 1e6:,.0f} MB ", nl=False, err=True
            )

    try:
        yield show
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)
