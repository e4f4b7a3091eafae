"""`prune history`: list the versions of a Delta table, or the snapshots of an Iceberg table."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from parquet_core.errors import PruneError, WrongUse
from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.output import rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltalog.snapshot.row_changes import FileTotals, RowChange

SCHEMA = "table-history/1"
REWRITES_SCHEMA = "table-rewrites/1"


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many versions to list.")
@click.option(
    "--rewrites",
    is_flag=True,
    help="Rank the last MERGEs, UPDATEs and DELETEs of a Delta table by the bytes that they opened without need.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema table-history/1 or table-rewrites/1.")
def history(*, table: str, limit: int, rewrites: bool, as_json: bool) -> None:
    """List the versions of TABLE, or the snapshots of an Iceberg table, the newest first.

    TABLE is a path, an address, or a name that a catalog has. Each line has the time of the commit, its operation, and
    the operation's parameters and metrics. For example:

    \b
      prune history lake/orders --limit 5
      prune history lake/orders --rewrites
    """
    import msgspec

    from prune_assets.tables.opening import recognize

    if rewrites:
        changes = _row_changes(table, limit)
        click.echo(_rewrites_json(table, changes) if as_json else _rewrites_text(changes))
        return
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


def _row_changes(table: str, limit: int) -> list[RowChange]:
    """Return the last statements that changed rows, sorted by the unneeded bytes that they opened, most first."""
    from deltalog.snapshot.row_changes import OPERATIONS, needless_first
    from prune_assets.tables.opening import open_as_written

    opened = open_as_written(table)
    row_changes = opened.format.examination().row_changes
    if row_changes is None:
        raise WrongUse(f"{table}: --rewrites reads the log of a Delta table, and this table has none; omit it")
    return needless_first(row_changes(opened, limit, OPERATIONS))


def _rewrites_json(table: str, changes: Sequence[RowChange]) -> str:
    import msgspec

    from deltalog.snapshot.row_changes import amplification, by_condition

    statements = [msgspec.to_builtins(replace(change, added=())) | _sizes(change) for change in changes]
    for statement in statements:
        del statement["added"]
    totals = []
    for condition, group in by_condition(changes).items():
        total = amplification(group)
        sizes = {"opened": total.opened._asdict(), "rewritten": total.rewritten._asdict()}
        totals.append(
            {**condition._asdict(), "statements": len(group), "known": total.statements, **sizes, "ratio": total.ratio}
        )
    document = {"schema": REWRITES_SCHEMA, "table": redacted(table), "statements": statements, "totals": totals}
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def _sizes(change: RowChange) -> dict[str, dict[str, int | None]]:
    return {name: getattr(change, name)._asdict() for name in ("table", "opened", "rewritten")}


def _rewrites_text(changes: Sequence[RowChange]) -> str:
    """Return a line for each statement, and the totals of statements with the same join keys."""
    from rich.table import Table

    from deltalog.snapshot.row_changes import amplification, by_condition

    if not changes:
        return "no MERGE, UPDATE or DELETE in the last commits"
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("version", "when", "statement", "opened", "rewritten", "ratio", "seconds"):
        grid.add_column(title, overflow="fold", justify="left" if title in {"when", "statement"} else "right")
    for change in changes:
        statement = _statement(change.operation, change.join_keys, change.predicate)
        known = change.opened.files is not None
        opened = _amount(change.opened) if known else f"at most {_amount(change.table)}"
        ratio = _ratio(amplification([change]).ratio)
        seconds = "" if change.execution_ms is None else f"{change.execution_ms / 1000:,.1f}"
        when = _when(change.timestamp)[: len("2024-01-31 12:00")]
        grid.add_row(str(change.version), when, statement, opened, _amount(change.rewritten), ratio, seconds)
    grid.add_section()
    for condition, group in by_condition(changes).items():
        total = amplification(group)
        if total.statements:
            statement = f"{total.statements:,} x {_statement(condition.operation, condition.join_keys, None)}"
            amounts = (_amount(total.opened), _amount(total.rewritten))
            grid.add_row("", "total", statement, *amounts, _ratio(total.ratio), "")
    text: str = rendered(lambda console: console.print(grid, highlight=False, markup=False))
    return text


def _statement(operation: str, keys: Iterable[str], predicate: str | None) -> str:
    named = ", ".join(keys)
    return printable(f"{operation} on {named}" if named else f"{operation} {predicate or ''}".strip())


def _amount(totals: FileTotals) -> str:
    if totals.bytes is not None:
        return bytes_text(totals.bytes)
    return "" if totals.files is None else counted(totals.files, "file")


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:,.1f}x"
