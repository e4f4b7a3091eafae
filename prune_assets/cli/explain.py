"""`prune explain`: show the plan of a predicate, level by level.

`--min-skipped` makes it a gate for CI.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from prune_assets.cli.quantities import file_option, share
from prune_assets.cli.row_selection import listed_names, semantics_of, version_options
from prune_assets.report.output import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from prune_assets.report.skip_report import SkipReport


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option("--where", required=True, metavar="SQL", help="The predicate, in Spark SQL.")
@click.option(
    "--columns",
    metavar="A,B",
    help="Columns that the query reads, in addition to columns of the predicate; by default all.",
)
@version_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema skip-report/1.")
@file_option("--html", "html_file", "Write one self-contained page and print its path.")
@click.option(
    "--min-skipped",
    callback=share,
    metavar="PART",
    help="Exit with 1 if Spark with this plan skips less than this share of the bytes, e.g. 0.9. If that share is "
    "not predicted, the best possible share counts.",
)
@click.option(
    "--time-zone",
    envvar="PRUNE_TIME_ZONE",
    metavar="ZONE",
    help="Session time zone, e.g. UTC; by default PRUNE_TIME_ZONE, or the zone in spark-defaults.conf of "
    "SPARK_CONF_DIR. Without a zone, data is skipped only if no time zone selects it.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="The version of Spark that reads the table, e.g. spark-3.5; by default the installed version.",
)
@click.option("--case-sensitive", is_flag=True, help="Match column names as with spark.sql.caseSensitive=true.")
@click.option("--no-ansi", is_flag=True, help="Evaluate casts and errors as with spark.sql.ansi.enabled=false.")
def explain(
    *,
    table: str,
    where: str,
    columns: str | None,
    version: int | None,
    timestamp: str | None,
    as_json: bool,
    html_file: Path | None,
    min_skipped: float | None,
    time_zone: str | None,
    engine: str | None,
    case_sensitive: bool,
    no_ansi: bool,
) -> None:
    """Show how much of TABLE a predicate skips, by which level and why.

    This reads metadata only and starts no Spark. For example:

    \b
      prune explain lake/orders --where "day = DATE '2024-03-01' AND id IN (1, 7)"
      prune explain lake/orders --where "day = DATE '2024-03-01'" --min-skipped 0.9
      prune explain lake/orders --where "at >= TIMESTAMP '2024-03-01 00:00:00'" --time-zone Europe/Berlin
    """
    if as_json and html_file is not None:
        raise click.UsageError("--json and --html cannot be combined; pass one of them")
    if html_file is not None and not html_file.absolute().parent.is_dir():
        raise click.UsageError(f"--html {html_file}: the directory {html_file.absolute().parent} does not exist")

    from prune_assets.planner.explain.plan import plan
    from prune_assets.planner.spark_reader.spark_profile import version_of_engine
    from prune_assets.report.skip_report import Caveat, Reading
    from prune_assets.report.wording import engine_of

    semantics = semantics_of(time_zone, None if engine is None else version_of_engine(engine))
    semantics = replace(semantics, case_sensitive=case_sensitive, ansi=semantics.ansi and not no_ansi)
    made = plan(
        table,
        where=where,
        columns=listed_names("--columns", columns),
        semantics=semantics,
        version=version,
        timestamp=timestamp,
    )
    report = made.report
    if as_json:
        click.echo(report.to_json())
    elif html_file is not None:
        write_whole(html_file, report.to_html())
        click.echo(str(html_file))
    else:
        click.echo(_console_text(report))
    if min_skipped is not None:
        _gate(report, min_skipped)
    with_plan = engine_of(Reading.WITH_PLAN, report)
    if with_plan is not None and with_plan.caveat is Caveat.FAILS:
        sys.exit(1)


def _console_text(report: SkipReport) -> str:
    from prune_assets.report.console import WIDTH, print_report
    from prune_assets.report.output import rendered

    return rendered(lambda console: print_report(report, console), width_in_pipes=WIDTH)


def _gate(report: SkipReport, min_skipped: float) -> None:
    from parquet_core.quantities import bytes_text
    from prune_assets.report.wording import below_required, skipped_with_plan

    below = below_required(report, min_skipped)
    if report.skipped_fraction is None:
        click.echo(f"--min-skipped {min_skipped:g}: met, no data needs to be read", err=True)
    elif below is not None:
        sizes = f"{bytes_text(skipped_with_plan(report))} of {bytes_text(report.total.bytes)}"
        click.echo(f"--min-skipped {min_skipped:g}: {below} ({sizes})", err=True)
        sys.exit(1)
