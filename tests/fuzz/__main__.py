"""Test with random inputs: `make fuzz`, or one part of it, as in `make fuzz ARGS="planner --seed 2"`.

- `metadata` damages bytes of metadata, `log` files of Delta logs, `files` whole Parquet files.
- `contradictions` plants contradictions in metadata.
- `planner` compares plans with Spark's own answers and with the skips of other readers.
- `ordinary` compares all public functions with Spark on common queries.
- `joins` compares reads with the keys of a join with Spark's joins.
- `iceberg` compares reads of Iceberg tables with Spark and Iceberg.
- `merges` compares MERGEs as written with the same MERGEs with the condition of `plan_merge`, on Delta and Iceberg.
- `writers` compares answers on files from old and new releases of other libraries with their rows. It downloads the
  libraries, so it runs only if it is named.
- `kills` kills writers of tables at random moments.

Exits with 1 for any finding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import click
from campaign import FREE_BYTES, RATIO, SECONDS, SMALL, Result, ground_of, run
from rich.console import Console
from rich.table import Table


def _limits(count: int, what: str, seconds: float) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Return the options of a run by numbered cases; `what`: what `count` is of."""
    options = (
        click.option("--count", default=count, show_default=True, help=what),
        click.option("--seconds", default=seconds, show_default=True, help="Stop after so long, whatever the count."),
        click.option("--seed", default=1, show_default=True, help="Another seed draws other cases."),
        click.option("--first", default=0, show_default=True, help="Number of the first case, to run one again."),
    )
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Without a subcommand run all but `writers`, which downloads gigabytes; a finding does not stop the others."""
    if context.invoked_subcommand is None:
        commands = (metadata, log, files, contradictions, planner, ordinary, joins, iceberg, merges, kills)
        sound = [context.invoke(command) for command in commands]
        sys.exit(0 if all(sound) else 1)


def _exit_unless(context: click.Context, sound: bool) -> bool:  # noqa: FBT001 - an answer, not an option
    if context.parent is None or context.parent.invoked_subcommand is not None:
        sys.exit(0 if sound else 1)
    return sound


@main.command()
@_limits(200_000, "Mutations, over all targets.", 1800.0)
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written.")
@click.pass_context
def metadata(
    context: click.Context, *, count: int, seconds: float, seed: int, first: int, jobs: int, keep: Path
) -> bool:
    """Damage real metadata; only errors that name the place and honest answers may come of it."""
    result = run(seed=seed, count=count, seconds=seconds, jobs=jobs, first=first)
    allowed = f"Allowed: {SECONDS:.0f} s; {RATIO} x the input and {FREE_BYTES >> 10} KiB."
    _show(result, f"{result.cases():,} mutations in both forms, seed {seed}", allowed, keep)
    return _exit_unless(context, not result.violations and result.cases() > 0)


@main.command()
@_limits(50_000, "Damaged logs, of every kind.", 1800.0)
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written.")
@click.pass_context
def log(context: click.Context, *, count: int, seconds: float, seed: int, first: int, jobs: int, keep: Path) -> bool:
    """Damage Delta logs; only errors that name the log and honest snapshots may come of it."""
    limits = ground_of("log")
    result = run(seed=seed, count=count, seconds=seconds, jobs=jobs, first=first, ground="log")
    allowed = f"Allowed: {limits.seconds:.0f} s; {RATIO} x the input and {limits.free >> 20} MiB."
    _show(result, f"{result.cases():,} damaged logs, seed {seed}", allowed, keep)
    return _exit_unless(context, not result.violations and result.cases() > 0)


@main.command()
@_limits(100_000, "Damaged files, of every kind.", 3600.0)
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written.")
@click.pass_context
def files(context: click.Context, *, count: int, seconds: float, seed: int, first: int, jobs: int, keep: Path) -> bool:
    """Damage whole Parquet files; plan, inspect and check may answer or raise our errors, quickly and in little."""
    limits = ground_of("files")
    result = run(seed=seed, count=count, seconds=seconds, jobs=jobs, first=first, ground="files")
    allowed = f"Allowed: {limits.seconds:.0f} s of the processor; {limits.free >> 20} MiB."
    _show(result, f"{result.cases():,} damaged files, seed {seed}", allowed, keep)
    return _exit_unless(context, not result.violations and result.cases() > 0)


def _show(result: Result, title: str, allowed: str, keep: Path) -> None:
    """Print what came of a campaign, and write its findings down."""
    console = Console()
    title = f"{title}, {result.seconds:.0f} s"
    table = Table("target", "mutations", "errors", "honest answers", "slowest", "peak allocation", title=title)
    for name, tally in result.tallies.items():
        counts = (f"{number:,}" for number in (tally.cases, tally.errors, tally.answers))
        table.add_row(name, *counts, f"{1000 * tally.slowest:.0f} ms", f"{tally.ratio:.0f} x input")
    console.print(table)
    console.print(f"{allowed} A ratio counts {SMALL >> 10} KiB of input at least.")
    for violation in result.violations:
        what = f"case {violation.number}, {violation.target}: {violation.what}"
        console.print(f"error: {what}; {violation.keep(keep)} holds its bytes", style="red", markup=False)


@main.command()
@_limits(5_000, "Files, each with a dozen predicates.", 900.0)
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written.")
@click.pass_context
def contradictions(context: click.Context, *, count: int, seconds: float, seed: int, first: int, keep: Path) -> bool:
    """Plant contradictions in files; no plan may lose a row, or take one for selected that is not."""
    from planted import run as plant_and_judge

    result, console = plant_and_judge(seed=seed, count=count, seconds=seconds, first=first, keep=keep), Console()
    console.print(
        f"{result.files:,} files with contradictions, {result.refused:,} of them refused, {result.cases:,} plans "
        f"of the others, seed {seed}, {result.seconds:.0f} s"
    )
    for number, (planted, wrong), path in result.findings:
        console.print(f"error: file {number}: {planted}: {wrong}; {path} holds it", style="red", markup=False)
    return _exit_unless(context, not result.findings and result.cases > 0)


@main.command()
@_limits(50_000, "Predicates, over all tables.", 3600.0)
@click.option("--keep", default=".fuzz", show_default=True, type=Path, help="Where findings are written, made small.")
@click.option("--spark/--no-spark", default=True, help="Without it answers are interpreted, ten times as fast.")
@click.pass_context
def planner(
    context: click.Context, *, count: int, seconds: float, seed: int, first: int, keep: Path, spark: bool
) -> bool:
    """Hold plans against Spark's answers and against what parquet-java and DataFusion skip."""
    # Each half imports only what it needs.
    from planner.machine import run as run_planner
    from planner.session import own_session
    from planner.summary import show, told

    progress = Console(stderr=True)
    with own_session(spark=spark) as session:
        result = run_planner(
            session,
            seed=seed,
            count=count,
            seconds=seconds,
            first=first,
            keep=keep,
            progress=lambda result, number: progress.print(told(result, seed, number), markup=False, highlight=False),
        )
    show(result, seed, Console())
    return _exit_unless(context, not result.findings and result.tally.cases > 0)


@main.command()
@_limits(2_000, "Queries, over all tables.", 1800.0)
@click.pass_context
def ordinary(context: click.Context, *, count: int, seconds: float, seed: int, first: int) -> bool:
    """Hold read, plan and explain against Spark on random queries of the shapes that people write."""
    from planner.session import own_session
    from workload.generator import run as run_ordinary
    from workload.summary import show, told
    from workload.tables import own_ground

    progress = Console(stderr=True)
    with own_session() as session, own_ground(session) as ground:
        result = run_ordinary(
            ground,
            seed=seed,
            count=count,
            seconds=seconds,
            first=first,
            progress=lambda result, number: progress.print(told(result, number), markup=False, highlight=False),
        )
    show(result, seed, Console())
    return _exit_unless(context, not result.findings and result.cases > 0)


@main.command()
@_limits(2_000, "Joins, over all tables.", 1800.0)
@click.option("--spark/--no-spark", default=True, help="Without it joins are evaluated in Python.")
@click.pass_context
def joins(context: click.Context, *, count: int, seconds: float, seed: int, first: int, spark: bool) -> bool:
    """Compare reads with the keys of a join with Spark's joins of whole tables."""
    from joins.machine import run as run_joins
    from joins.summary import show, told
    from planner.session import own_session

    progress = Console(stderr=True)
    with own_session(spark=spark) as session:
        result = run_joins(
            session,
            seed=seed,
            count=count,
            seconds=seconds,
            first=first,
            progress=lambda result, number: progress.print(told(result, seed, number), markup=False, highlight=False),
        )
    show(result, seed, Console())
    return _exit_unless(context, not result.findings and result.cases > 0)


@main.command()
@_limits(2_000, "Predicates, over all tables.", 3600.0)
@click.pass_context
def iceberg(context: click.Context, *, count: int, seconds: float, seed: int, first: int) -> bool:
    """Hold reads and plans of Iceberg's tables against Spark's answers, and against what Iceberg and pyiceberg keep."""
    import tempfile

    import pytest
    from iceberg.machine import run as run_iceberg
    from iceberg.summary import show
    from spark_packages import iceberg_lake

    try:
        with tempfile.TemporaryDirectory() as lake, iceberg_lake(Path(lake)) as run_there:
            result = run_there(run_iceberg, lake, seed, count, seconds, first)
    except pytest.skip.Exception as why:
        Console().print(f"iceberg: left out: {why}", style="yellow")
        return _exit_unless(context, True)  # noqa: FBT003 - an answer
    show(result, seed, Console())
    return _exit_unless(context, not result.findings and result.tally.cases > 0)


@main.command()
@_limits(2_000, "MERGEs that are run both ways, on Delta; a quarter as many on Iceberg.", 7200.0)
@click.option("--only", type=click.Choice(["delta", "iceberg"]), help="Format of the tables, by default both.")
@click.option("--joins", is_flag=True, help="Join target and source in place of the MERGEs: ten times as fast.")
@click.pass_context
def merges(
    context: click.Context, *, count: int, seconds: float, seed: int, first: int, only: str | None, joins: bool
) -> bool:
    """Run MERGEs as written and with the condition of plan_merge; both must leave the same table."""
    import tempfile

    import pytest
    from merges.grounds import DELTA_SETTINGS, SETTINGS
    from merges.machine import run as run_merges
    from merges.machine import run_joins
    from merges.summary import show
    from spark_packages import DELTA, iceberg_lake, process_with

    sound = True
    for table_format, part in (("delta", 0.8), ("iceberg", 0.2)):
        if only not in {None, table_format}:
            continue
        pairs, limit = (count, seconds) if only else (count if table_format == "delta" else count // 4, part * seconds)
        try:
            with tempfile.TemporaryDirectory() as place:
                started = (
                    process_with(DELTA, {**SETTINGS, **DELTA_SETTINGS}, f"{place}/warehouse")
                    if table_format == "delta"
                    else iceberg_lake(Path(place), more=SETTINGS)
                )
                with started as run_there:
                    judged = run_joins if joins else run_merges
                    result = run_there(judged, table_format, place, seed, pairs, limit, first)
        except pytest.skip.Exception as why:
            Console().print(f"{table_format}: left out: {why}", style="yellow")
            continue
        show(table_format, result, seed, Console())
        sound &= not result.findings and result.cases > 0
    return _exit_unless(context, sound)


@main.command()
@_limits(30, "Tables that each release writes.", 5400.0)
@click.option("--only", default="", help="Releases whose name starts so, such as `pyarrow 3` or `polars`.")
@click.option("--keep", default=".fuzz/wrong", show_default=True, type=Path, help="Where wrong files are left.")
@click.option("--spark/--no-spark", default=False, help="Compare with Spark's answers too, without its push-down.")
@click.pass_context
def writers(
    context: click.Context, *, count: int, seconds: float, seed: int, first: int, only: str, keep: Path, spark: bool
) -> bool:
    """Compare plans, counts and reads of files that old and new releases of many writers wrote with their rows."""
    from planner.session import own_session
    from writers.machine import run as run_writers
    from writers.releases import RELEASES
    from writers.summary import show

    progress = Console(stderr=True)
    with own_session(spark=spark) as session:
        result = run_writers(
            [release for release in RELEASES if release.name.startswith(only)],
            seed=seed,
            count=count,
            seconds=seconds,
            first=first,
            keep=keep,
            spark=session,
            progress=lambda result, release: progress.print(
                f"{release.name}: {result.tally.cases:,} conditions, {result.wrong.total():,} wrong answers, "
                f"{result.seconds:.0f} s",
                markup=False,
                highlight=False,
            ),
        )
    show(result, seed, Console())
    return _exit_unless(context, not result.findings and result.tally.cases > 0)


@main.command()
@click.option("--count", default=100, show_default=True, help="Kills, of plain tables, Delta and Delta in S3 each.")
@click.option("--seed", default=1, show_default=True, help="Another one makes other writes and instants.")
@click.pass_context
def kills(context: click.Context, *, count: int, seed: int) -> bool:
    """Kill writers of tables; readers must see a table as it was before a write or after it."""
    from kills import FORMATS, place_of
    from kills import run as run_kills

    console, sound = Console(), True
    for layout in FORMATS:
        with place_of(layout) as table:
            if table is None:
                console.print(f"{layout}: left out, there is no hadoop-aws here", style="yellow")
                continue
            result = run_kills(table, layout, kills=count, seed=seed)
        console.print(
            f"{layout}: {result.kills:,} kills, seed {seed}: {result.old:,} writes not there, {result.new:,} there, "
            f"{result.between:,} fell between two writes"
        )
        for finding in result.findings:
            console.print(f"error: {finding}", style="red", markup=False)
        sound &= not result.findings
    return _exit_unless(context, sound)


if __name__ == "__main__":
    main()
