"""`prune optimize`: rewrite the files of a table that need it, through Spark."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from prune_assets.cli.quantities import budget_option, layout_option
from prune_assets.report.output import json_text
from prune_assets.spark.progress import showing_progress, start_session
from prune_assets.writing.layout_file import load_layout, naming_layout_file

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "table-optimize/1"


@click.command()
@click.argument("table", type=click.Path(readable=False))
@layout_option("The layout that the files should have, a YAML file.", required=True)
@click.option("--where", metavar="SQL", help="The partitions to optimize, as a condition; by default all.")
@click.option("--dry-run", is_flag=True, help="Only show which files would be rewritten, and why; starts no Spark.")
@click.option(
    "--rows",
    is_flag=True,
    help="Also read the sort key, and rewrite files whose rows are not in order (order.rows of prune check).",
)
@click.option(
    "--full",
    is_flag=True,
    help="Rewrite every file, one whole partition at a time: for a table that gets another layout.",
)
@budget_option("Rewrite at most this many bytes of files, e.g. 200GiB; later runs rewrite the rest.")
@click.option(
    "--predicate",
    "predicates",
    multiple=True,
    metavar="SQL",
    help="Also show the bytes that this predicate keeps, as prune explain does, before and after; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema table-optimize/1.")
def optimize(
    *,
    table: str,
    layout_file: Path,
    where: str | None,
    dry_run: bool,
    rows: bool,
    full: bool,
    budget: int | None,
    predicates: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rewrite the files of TABLE that break its layout or are too small.

    These are files that overlap on the sort key, are small, lack a bloom filter or a page index, have deleted rows, or
    whose bounds show that their rows are not in order; --rows reads the rows where bounds leave that open. Other files
    stay as they are. The exit code is 1 where files remain that still need a rewrite. For example:

    \b
      prune optimize lake/orders --layout layout.yaml --where "day >= DATE '2024-01-01'" --dry-run
    """
    import prune_assets as pr
    from prune_assets.tables.catalogs.resolve import needs_session

    optimize_table = partial(
        pr.optimize,
        table=table,
        layout=load_layout(layout_file),
        where=where,
        predicates=predicates,
        rows=rows,
        budget=budget,
        full=full,
    )
    with naming_layout_file(layout_file):
        # Before Spark starts, the metadata show whether there is anything to do. This is not tried with --rows, which
        # takes longer, or with a condition, which may depend on the time zone of the session.
        asks_more = rows or where is not None or predicates or needs_session(table)
        done = optimize_table(dry_run=True) if dry_run or not asks_more else None
        if done is None or (done.picked and not dry_run):
            spark = start_session(table)
            with showing_progress(spark):
                done = optimize_table(session=spark)
    done = replace(done, dry_run=dry_run)
    if as_json:
        click.echo(json_text({"schema": SCHEMA} | done.as_json()))
    else:
        click.echo(done)
    if done.left:
        sys.exit(1)
