"""`prune advise`: advise the layout of a table that reads the fewest bytes for a workload."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from parquet_core.errors import WrongUse
from parquet_core.printable import printable
from prune_assets.cli.notes import without_notes
from prune_assets.cli.quantities import READ_PATH, budget_option, file_option
from prune_assets.cli.row_selection import semantics_of
from prune_assets.report.output import refuse_without_folder, write_whole
from prune_assets.spark.progress import showing_progress, start_session

if TYPE_CHECKING:
    from pathlib import Path

    from prune_assets.advisor.result import LayoutAdvice


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option(
    "--predicate", "predicates", multiple=True, metavar="SQL", help="A predicate of a query that runs; may be repeated."
)
@file_option(
    "--workload",
    "workload_file",
    "Queries that ran: JSON of prune workload or a folder of such files, a file of SQL, or a Spark event log.",
    type=READ_PATH,
)
@file_option("--layout", "own_layout", "A layout of your own, a YAML file: simulate it too.", type=READ_PATH)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema layout-advice/1.")
@file_option("--save-layout", "layout_file", "Write the advised layout, a YAML file for --layout of other commands.")
@file_option("--html", "html_file", "Also write one self-contained page.")
@file_option("--save", "saved_file", "Write the JSON into this file, for --promised of a later run.")
@file_option("--promised", "promised", "Compare applied advice, a file of --save, with this workload.")
@click.option("--verify", is_flag=True, help="Write the first three layouts temporarily next to the table, and plan.")
@click.option("--on-sample", is_flag=True, help="With --verify: write a sample of the rows, at most two million.")
@click.option("--with-spark", is_flag=True, help="With --verify: write by Spark, and count the rows that it scans.")
@click.option(
    "--apply", is_flag=True, help="Advise what optimize can do, rewrite the table through Spark, and plan again."
)
@budget_option("With --apply: rewrite files of at most this size, e.g. 200GiB.")
@click.option(
    "--time-zone", envvar="PRUNE_TIME_ZONE", metavar="ZONE", help="Session time zone of the queries, e.g. UTC."
)
def advise(
    *,
    table: str,
    predicates: tuple[str, ...],
    workload_file: Path | None,
    own_layout: Path | None,
    as_json: bool,
    layout_file: Path | None,
    html_file: Path | None,
    saved_file: Path | None,
    promised: Path | None,
    verify: bool,
    on_sample: bool,
    with_spark: bool,
    apply: bool,
    budget: int | None,
    time_zone: str | None,
) -> None:
    """Advise the layout of TABLE that reads the fewest bytes for the predicates that run on it.

    Candidates are simulated on a sample of the rows. Without --apply nothing is written to the table, and Spark is not
    needed. --verify writes into a hidden folder beside the table, which it removes again. For example:

    \b
      prune advise lake/orders --predicate "day = DATE '2024-03-01'" --predicate "customer = 7"
      prune advise lake/orders --predicate "customer = 7" --save-layout layout.yaml
      prune advise lake/orders --workload workload.json --layout mine.yaml
      prune advise lake/orders --workload workload.json --verify --on-sample
      prune advise lake/orders --workload workload.json --apply --budget 200GiB
    """
    import prune_assets as pr

    if (workload_file is None) == (not predicates):
        raise WrongUse("give the workload: either --predicate SQL, once or several times, or --workload FILE")
    if (on_sample or with_spark) and not verify:
        raise WrongUse("--on-sample and --with-spark change --verify: give --verify too")
    if budget is not None and not apply:
        raise WrongUse("--budget limits what --apply rewrites: give --apply too")
    for path in filter(None, (layout_file, saved_file, html_file)):
        refuse_without_folder(path)
    from prune_assets.advisor.workload.load import load_workload
    from prune_assets.advisor.workload.query_shapes import Workload

    ran = load_workload(predicates if workload_file is None else workload_file, table=table)
    for reason, count in ran.not_understood.items() if isinstance(ran, Workload) else ():
        click.echo(f"note: left out, {count:,} x {printable(reason)}", err=True)
    printed: tuple[str, ...] = ()
    if promised is not None:
        if not isinstance(ran, Workload):
            raise WrongUse(
                "--promised: a predicate has no measured reads; give the queries that ran since with --workload"
            )
        outcome = pr.LayoutAdvice.read(promised).outcome(ran)
        printed = outcome.notes
        click.echo(f"{without_notes(outcome)}\n", err=as_json)
    advice = pr.advise(table, workload=ran, semantics=semantics_of(time_zone), in_place=apply, layout=own_layout)
    if verify:
        spark = start_session() if with_spark else None
        with showing_progress(spark) if spark is not None else nullcontext():
            advice = advice.verify(workload=ran, session=spark, on_sample=on_sample)
    _write_files(advice, layout_file, saved_file, html_file)
    shown = without_notes(advice, printed=printed)
    click.echo(advice.to_json() if as_json else str(shown))
    if apply and advice.advised is not None:
        spark = start_session(table)
        with showing_progress(spark):
            done = advice.apply(workload=ran, session=spark, budget=budget)
        click.echo(f"\n{done.optimized}\n{done}", err=as_json)


def _write_files(advice: LayoutAdvice, layout: Path | None, saved: Path | None, html: Path | None) -> None:
    if layout is not None and advice.advised is not None:
        write_whole(layout, advice.layout_yaml())
    if saved is not None:
        write_whole(saved, advice.to_json())
    if html is not None:
        write_whole(html, advice.to_html())
