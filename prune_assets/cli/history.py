"""`prune history`: list the versions of a Delta table, or the snapshots of an Iceberg table."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from parquet_core.errors import PruneError
from parquet_core.printable import printable, redacted
from prune_assets.report.output import rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = "table-history/1"


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many versions to list.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema table-history/1.")
def history(*, table: str, limit: int, as_json: bool) -> None:
    """List the versions of TABLE, or the snapshots of an Iceberg table, the newest first.

    TABLE is a path, an address, or a name that a catalog has. Each line has the time of the commit, its operation, and
    the operation's parameters and metrics. For example:

    \b
      prune history lake/orders --limit 5
    """
    import msgspec

    from prune_assets.tables.opening import recognize

    found, path = recognize(table)
    if found.history is None:
        raise _without_versions(table)
    commits = found.history(str(path), limit)
    if as_json:
        versions = [{"version": version, "timestamp": time, "info": info} for version, time, info in commits]
        document = {"schema": SCHEMA, "table": redacted(table), "versions": versions}
        click.echo(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        click.echo(_text(commits))


def _without_versions(table: str) -> PruneError:
    """Return the error for a path without a table, or with plain files."""
    import deltalog

    try:
        deltalog.open_snapshot(table)
    except PruneError as error:
        return error
    raise AssertionError(table)  # a Delta table has versions


def _text(commits: Sequence[tuple[int, int | None, Mapping[str, Any]]]) -> str:
    from rich.table import Table

    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("version", "when", "operation", "parameters", "metrics"):
        grid.add_column(title, overflow="fold", justify="right" if title == "version" else "left")
    for version, time, about in commits:
        info = about or {}
        grid.add_row(
            str(version),
            _when(time),
            printable(str(info.get("operation", ""))),
            printable(_pairs(info.get("operationParameters"))),
            printable(_pairs(info.get("operationMetrics"))),
        )
    text: str = rendered(lambda console: console.print(grid, highlight=False))
    return text


def _when(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(sep=" ", timespec="seconds")


def _pairs(values: object) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items()) if isinstance(values, dict) else ""
