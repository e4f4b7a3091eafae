"""`prune doctor`: examine this installation, or finish an interrupted write of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from parquet_core.printable import printable, redacted
from prune_assets.extras import install_command
from prune_assets.report.output import json_text, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from prune_assets.cli.installation import Diagnosis
    from prune_assets.tables.writes.commit import Recovered


TABLE_SCHEMA = "table-doctor/1"
_NOT_COMPILED = "plain Python, several times slower: install a C compiler, then reinstall prune-assets"


class TableResult(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON form of a repaired table: see `Recovered`.

    `trials`: abandoned folders of `prune advise --verify`.
    """

    schema: str = TABLE_SCHEMA
    table: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    leftovers: tuple[str, ...]
    trials: tuple[str, ...]


@click.command()
@click.argument("table", required=False, type=click.Path(readable=False))
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON of schema doctor/1; with TABLE, of schema table-doctor/1."
)
@click.option("--start-spark", is_flag=True, help="Also start a Spark session and show whether that works.")
def doctor(*, table: str | None, as_json: bool, start_spark: bool) -> None:
    """Show the versions of Java, Spark and libraries in use, and missing parts.

    With TABLE, finish an interrupted write of a plain Parquet table (after a killed process or a loss of power). A
    write that was committed is completed; the files of one that was not are deleted. Copies that an interrupted
    `prune advise --verify` left next to a table are deleted too. While a writer runs, this changes nothing.

    \b
      $ prune doctor lake/lineitem
      lake/lineitem: finished an interrupted write: 3 files added, 2 removed
      $ prune doctor lake/lineitem
      lake/lineitem: no interrupted write
    """
    if table is not None:
        _mend(table, as_json=as_json, start_spark=start_spark)
        return
    from prune_assets.cli.installation import examine

    examination = examine(start_spark=start_spark)
    text = (
        json_text(examination, enc_hook=lambda path: redacted(str(path))) if as_json else examination_text(examination)
    )
    click.echo(text)
    if examination.problems:
        sys.exit(1)


def _mend(table: str, *, as_json: bool, start_spark: bool) -> None:
    from parquet_core.storage import local_path
    from prune_assets.advisor.trial_folder import remove_abandoned
    from prune_assets.tables.writes.commit import recover

    if start_spark:
        raise click.UsageError("--start-spark tests this machine, not a table; leave out --start-spark or TABLE")
    path = Path(local_path(table)).absolute()
    done = recover(Path(local_path(table)))
    trials = remove_abandoned(path.parent, path.name)
    if as_json:
        result = TableResult(
            table=redacted(table), added=done.added, removed=done.removed, leftovers=done.leftovers, trials=trials
        )
        click.echo(json_text(result))
    else:
        click.echo(recovered_text(redacted(table), done, trials))


def recovered_text(table: str, done: Recovered, trials: Sequence[str] = ()) -> str:
    """Render the repairs of a table as one line."""
    actions = []
    if done.added or done.removed:
        added = f"{len(done.added):,} {'file' if len(done.added) == 1 else 'files'} added"
        actions.append(f"finished an interrupted write: {added}, {len(done.removed):,} removed")
    if done.leftovers:
        actions.append(f"deleted files of a write that was not committed: {', '.join(map(_name, done.leftovers))}")
    if trials:
        actions.append(f"deleted copies of an interrupted verification: {', '.join(map(_name, trials))}")
    return f"{printable(table)}: {'; '.join(actions) or 'no interrupted write'}"


def _name(path: str) -> str:
    return printable(Path(path).name)


def examination_text(examination: Diagnosis) -> str:
    """Render a diagnosis as aligned lines.

    Problems and their remedies come last. The text has colours for a terminal.
    """
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _lines(examination):
        grid.add_row(Text(name), Text(printable(redacted(value))))

    def show(console: Console) -> None:
        console.print(grid)
        for problem in examination.problems:
            console.print(Text(f"problem: {printable(problem.what)}", style="red"), soft_wrap=True)
            console.print(Text(f"  remedy: {printable(problem.remedy)}"), soft_wrap=True)
        if not examination.problems:
            console.print(Text("nothing is missing", style="green"))

    return rendered(show)


def _lines(examination: Diagnosis) -> Iterator[tuple[str, str]]:
    yield "prune-assets", f"{examination.version} on Python {examination.python}, {examination.platform}"
    if (on := examination.runs_on) is not None:
        yield "platform", f"{on.name}{'' if on.version is None else f' {on.version}'}, detected by {on.marker}"
    yield "Java", _java(examination)
    for candidate in examination.candidates:
        home = "" if candidate.home is None else f"{candidate.home}: "
        verdict = "usable" if candidate.usable else "no"
        yield f"  {candidate.source}", f"{verdict}; {home if candidate.usable else ''}{candidate.why}"
    for name, version in examination.libraries.items():
        yield name, version or _not_installed(name)
    yield "metadata core", "compiled" if examination.compiled else _NOT_COMPILED
    yield "local files", "compiled" if examination.compiled_storage else _NOT_COMPILED
    if examination.aws_profile is not None:
        how = (
            "read through boto3"
            if examination.aws_profile.read
            else "not read: install boto3, or set AWS_ACCESS_KEY_ID"
        )
        yield "AWS_PROFILE", f"{examination.aws_profile.name}, {how}"
    if examination.spark is not None:
        yield "Spark session", examination.spark.error or f"started, version {examination.spark.version}"
    yield "cache", f"{examination.cache.path}{'' if examination.cache.writable else ' (cannot be written)'}"


def _not_installed(name: str) -> str:
    from prune_assets.cli.installation import OPTIONAL

    return f"not installed, optional: {install_command(OPTIONAL[name])}" if name in OPTIONAL else "not installed"


def _java(examination: Diagnosis) -> str:
    if examination.java is None and examination.remote:
        return "none; not needed: SPARK_REMOTE names a server"
    if examination.java is None:
        return "none" if examination.libraries.get("pyspark") else "none; not needed without pyspark"
    java = examination.java
    through = "" if java.home == java.runtime else f", through {java.home} (it lacks a module that Spark needs)"
    return f"{java.version} from {java.source}: {java.runtime}{through}"
