"""`prune check`: prove from the written bytes that a table has its layout."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from parquet_core.errors import PruneError
from parquet_core.layout.spec import Finding, Severity
from parquet_core.printable import printable, redacted
from parquet_core.quantities import counted
from prune_assets.checks.remedies import finding_json, remedy_in_shell
from prune_assets.cli.quantities import layout_option
from prune_assets.report.output import json_text, rendered
from prune_assets.writing.layout_file import load_layout, naming_layout_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

SCHEMA = "layout-check/1"
_STYLES = {Severity.INFO: "bold", Severity.WARN: "bold yellow", Severity.ERROR: "bold red"}


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON form: all findings, most severe first."""

    schema: str = SCHEMA
    table: str
    layout: str | None
    findings: tuple[dict[str, object], ...]


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["warn", "error"]),
    default="error",
    show_default=True,
    help="Exit with 1 on findings of this severity or higher.",
)


@click.command()
@click.argument("table", type=click.Path(readable=False))
@layout_option("The required layout, a YAML file; without it, the health of the table is checked.")
@click.option(
    "--where",
    metavar="SQL",
    help="Check only files that may hold matching rows, by partition values or the Delta log.",
)
@click.option("--verbose", is_flag=True, help="Also print the figures of checks that pass.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema layout-check/1.")
@fail_on_option
def check(
    *, table: str, layout_file: Path | None, where: str | None, verbose: bool, as_json: bool, fail_on: str
) -> None:
    """Check that the files of TABLE are sorted, paged and indexed as its layout says.

    Without a layout, check the health of TABLE: small files, statistics, page indexes, INT96 and nanoseconds, the
    clustering that its metadata suggest, and the log of a Delta table.

    This reads the files and starts no Spark. If a write of TABLE was interrupted, check finishes it first, as
    `prune doctor TABLE` does. For example:

    \b
      prune check lake/orders
      prune check lake/orders --layout layout.yaml
      prune check lake/orders --layout layout.yaml --where "day = DATE '2024-03-01'" --fail-on warn
    """
    from prune_assets.checks.layout_proof import check as check_layout

    spec = None if layout_file is None else load_layout(layout_file)
    _finish_writes(table)
    with naming_layout_file(layout_file):
        found = check_layout(table, layout=spec, where=where)
    named = None if layout_file is None else str(layout_file)
    findings = [
        replace(finding, remedy=remedy_in_shell(finding, table, named))
        for finding in sorted(found, key=lambda finding: (-finding.severity.rank, finding.location))
    ]
    if as_json:
        result = CheckResult(table=redacted(table), layout=named, findings=tuple(map(finding_json, findings)))
        click.echo(json_text(result))
    else:
        click.echo(check_text(table, layout_file, findings, verbose=verbose))
    exit_on(findings, fail_on)


def exit_on(findings: Sequence[Finding], fail_on: str) -> None:
    """Exit with 1 if there is a finding of severity `fail_on` or higher."""
    if any(finding.severity.rank >= Severity(fail_on).rank for finding in findings):
        sys.exit(1)


def _finish_writes(table: str) -> None:
    """Finish interrupted writes of a local table.

    Failures are ignored, since the table is readable in any case.
    """
    from parquet_core.storage import is_remote, local_path
    from prune_assets.cli.doctor import recovered_text
    from prune_assets.tables.writes.commit import recover

    if is_remote(table) or not (directory := Path(local_path(table))).is_dir():
        return
    with suppress(PruneError):
        if done := recover(directory):
            click.echo(recovered_text(redacted(table), done), err=True)


def check_text(table: str, layout: Path | None, findings: Sequence[Finding], *, verbose: bool) -> str:
    """Render findings, one line per fault; `verbose`: include the figures of passed checks."""
    faults = [finding for finding in findings if finding.severity is not Severity.INFO]
    shown = findings if verbose else faults
    parts = [findings_text(redacted(table), shown)] if shown else []
    if not faults:
        fine = "healthy" if layout is None else "the files match the layout"
        parts.insert(0, f"{printable(redacted(table))}: {fine}, no warnings and no errors")
    if hidden := 0 if verbose else len(findings) - len(faults):
        parts.append(f"{counted(hidden, 'note')} not shown: pass --verbose")
    return "\n\n".join(parts) if faults else "\n".join(parts)


def findings_text(table: str, findings: Sequence[Finding]) -> str:
    """Render findings as a table for each severity.

    `findings` must be ordered by severity. The text has colours for a terminal.
    """
    from rich.console import Group

    return rendered(lambda console: console.print(Group(*_parts(table, findings)), highlight=False))


def _parts(table: str, findings: Sequence[Finding]) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = [Text(printable(table), style="bold")]
    for severity, group in groupby(findings, key=lambda finding: finding.severity):
        parts += _severity(severity, list(group))
    return parts


def _severity(severity: Severity, findings: Sequence[Finding]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title, ratio in (("code", 2), ("where", 3), ("what", 6)):
        grid.add_column(title, overflow="fold", ratio=ratio)
    for finding in findings:
        message = Text(printable(finding.message))
        if finding.remedy:
            message.append(f"\nremedy: {printable(finding.remedy)}", style="dim")
        grid.add_row(Text(printable(finding.code)), Text(printable(finding.location)), message)
    return [Text(f"\n{severity.value} ({len(findings):,})", style=_STYLES[severity]), grid]
