"""`prune count`: count the rows that a predicate selects."""

from __future__ import annotations

import click

from prune_assets.cli.row_selection import RowSelection, row_options, showing_reads


@click.command()
@click.argument("table", type=click.Path(readable=False))
@row_options
@click.option("--json", "as_json", is_flag=True, help='Print JSON: {"rows": N}.')
def count(*, table: str, selection: RowSelection, stats: bool, as_json: bool) -> None:
    """Count the rows of TABLE that a predicate selects.

    This starts no Spark, and reads no value of row groups that are proven to match as a whole. For example:

    \b
      prune count lake/orders
      prune count lake/orders --where "day >= DATE '2024-03-01' AND status = 'open'"
    """
    from prune_assets.reading.aggregates import count as count_rows
    from prune_assets.report.output import json_text

    with showing_reads(always=stats) as read_stats:
        rows = count_rows(table, stats=read_stats, **selection._asdict())
    click.echo(json_text({"rows": rows}) if as_json else f"{rows:,}")
