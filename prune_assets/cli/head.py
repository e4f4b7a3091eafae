"""`prune head`: show the first rows that a predicate selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prune_assets.cli.row_selection import RowSelection, listed_names, row_options, showing_reads

if TYPE_CHECKING:
    import pyarrow as pa


@click.command()
@click.argument("table", type=click.Path(readable=False))
@row_options
@click.option("--columns", metavar="A,B", help="Columns to show; by default all.")
@click.option(
    "-n", "--limit", default=10, type=click.IntRange(min=0), show_default=True, help="The maximum number of rows."
)
@click.option(
    "--order-by",
    metavar="KEYS",
    help="Show the first rows in this order, as in SQL: 'day DESC, id'. Only row groups that may hold them are read.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an object for each row on a line of its own.")
def head(
    *,
    table: str,
    selection: RowSelection,
    stats: bool,
    columns: str | None,
    limit: int,
    order_by: str | None,
    as_json: bool,
) -> None:
    """Show the first rows of TABLE that a predicate selects.

    This starts no Spark, and reads only the pages that may hold such rows. For example:

    \b
      prune head lake/orders
      prune head lake/orders --where "id = 7" --columns id,status
      prune head lake/orders --order-by "total DESC" -n 3
    """
    from prune_assets.reading.read_arrow import columns_left_out, read_arrow

    with showing_reads(always=stats) as read_stats:
        found = read_arrow(
            table,
            columns=listed_names("--columns", columns),
            order_by=listed_names("--order-by", order_by) or (),
            skip_unsupported=True,
            limit=limit,
            stats=read_stats,
            **selection._asdict(),
        )
    for name, why in columns_left_out(found.schema).items():
        click.echo(f"column {name!r} is left out: {why}", err=True)
    _print(found, selection.semantics.time_zone, as_json=as_json)


def _print(found: pa.Table, time_zone: str | None, *, as_json: bool) -> None:
    from prune_assets.report.output import json_text, rendered
    from prune_assets.report.rows import print_rows, rows_as_json

    if as_json:
        for row in rows_as_json(found, time_zone):
            click.echo(json_text(row))
    else:
        click.echo(rendered(lambda console: print_rows(found, time_zone, console)))
