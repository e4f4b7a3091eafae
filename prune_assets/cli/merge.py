"""`prune merge`: show the files that a MERGE opens, and the statement that opens fewer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prune_assets.cli.quantities import share
from prune_assets.cli.row_selection import semantics_of

if TYPE_CHECKING:
    from typing import TextIO


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--spark", "with_spark", is_flag=True, help="Read the source with Spark, which a query needs.")
@click.option("--statement", "only_statement", is_flag=True, help="Print only the statement to run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema merge-report/1.")
@click.option(
    "--max-opened",
    callback=share,
    metavar="PART",
    help="Exit with 1 if the MERGE opens more than this share of the target's bytes with the condition, e.g. 0.05.",
)
@click.option(
    "--time-zone",
    envvar="PRUNE_TIME_ZONE",
    metavar="ZONE",
    help="Session time zone, e.g. UTC; by default PRUNE_TIME_ZONE, or the zone in spark-defaults.conf of "
    "SPARK_CONF_DIR.",
)
def merge(
    *,
    file: TextIO,
    with_spark: bool,
    only_statement: bool,
    as_json: bool,
    max_opened: float | None,
    time_zone: str | None,
) -> None:
    """Show the files of its target that the MERGE in FILE opens, and why not fewer.

    The keys of its source are compared with the metadata of the target. The statement to run has a condition that
    follows from the keys, with which the engine skips files. Nothing is changed. FILE is - for standard input. For
    example:

    \b
      prune merge upsert.sql
      prune merge upsert.sql --statement > upsert_pruned.sql
      prune merge upsert.sql --max-opened 0.05
    """
    if as_json and only_statement:
        raise click.UsageError("--json and --statement cannot be combined; pass one of them")

    from prune_assets.merging.plan_merge import plan_merge_sql
    from prune_assets.report.quantities import share_text
    from prune_assets.spark.progress import start_session

    sql = file.read()
    session = start_session() if with_spark else None
    report = plan_merge_sql(sql, session=session, semantics=None if with_spark else semantics_of(time_zone)).report
    if as_json:
        click.echo(report.to_json())
    else:
        click.echo(report.statement.strip() if only_statement else str(report))
    if max_opened is not None and report.with_condition.bytes > max_opened * report.total.bytes:
        opened = share_text(report.with_condition.bytes, report.total.bytes)
        click.echo(f"--max-opened {max_opened:g}: the MERGE opens {opened} of the target", err=True)
        sys.exit(1)
