"""`prune audit`: verify the metadata of a table against its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from parquet_core.layout.spec import Severity
from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.checks.remedies import finding_json
from prune_assets.cli.check import exit_on, fail_on_option, findings_text
from prune_assets.cli.quantities import share
from prune_assets.report.output import json_text
from prune_assets.report.quantities import count_text, seconds_text

if TYPE_CHECKING:
    from prune_assets.checks.audit.report import AuditReport


@click.command()
@click.argument("table", type=click.Path(readable=False))
@click.option(
    "--sample", callback=share, default="1", show_default=True, help="The share of row groups to read, from 0 to 1."
)
@click.option(
    "--files", type=int, help="The number of files to read, spread over the table, instead of a share of row groups."
)
@click.option("--columns", metavar="A,B", help="The columns to verify; by default all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema audit/1.")
@fail_on_option
def audit(*, table: str, sample: float, files: int | None, columns: str | None, as_json: bool, fail_on: str) -> None:
    """Verify the metadata of TABLE against its data: bounds, counts, bloom filters, the Delta log.

    Where metadata is wrong, every engine that skips by it loses rows and reports no error. For example:

    \b
      prune audit lake/orders --sample 0.1
      prune audit lake/orders --columns day,id --json
    """
    from prune_assets.checks.audit.run import audit as audit_table

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    report = audit_table(table, sample=sample, files=files, columns=names)
    click.echo(_json_of(report) if as_json else audit_text(report))
    exit_on(report.findings, fail_on)


def _json_of(report: AuditReport) -> str:
    findings = tuple(map(finding_json, report.findings))
    return json_text(msgspec.structs.asdict(report) | {"findings": findings})


def audit_text(report: AuditReport) -> str:
    """Render a report: findings, most severe first, and the verified metadata."""
    is_correct = all(finding.severity is Severity.INFO for finding in report.findings)
    lines = [f"{printable(report.table)}: all verified metadata is correct"] if is_correct else []
    lines += [findings_text(report.table, report.findings)] if report.findings else []
    lines += ["", f"read: {_read(report)}", f"verified: {_claims(report)}"]
    lines += [f"skipped: {printable(name)}: {printable(why)}" for name, why in report.skipped.items()]
    return "\n".join(lines)


def _read(report: AuditReport) -> str:
    groups = f"{count_text(report.audited_row_groups)} of {counted(report.row_groups, 'row group')}"
    files = f"{count_text(report.audited_files)} of {counted(report.files, 'file')}"
    volume = f"{counted(report.rows, 'row')}, {bytes_text(report.read_bytes)} in {seconds_text(report.seconds)}"
    return f"{groups} in {files}, {volume}"


def _claims(report: AuditReport) -> str:
    counted = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in report.claims.items() if count]
    return ", ".join(counted) or "nothing: the files have no metadata to verify"
