"""Findings of several columns with the same fault, made one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.printable import listed_with_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.layout.spec import Finding

_SHOWN = 5


def by_fault(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each fault, with the columns that have it.

    >>> from parquet_core.layout.spec import Finding, Severity
    >>> found = [Finding("a", Severity.WARN, f"0.parquet, column {c}", "no bounds", "write", (c,)) for c in "xyz"]
    >>> by_fault(found)
    [Finding(code='a', severity=<Severity.WARN: 'warn'>, location='0.parquet, 3 columns', \
message='no bounds (3 columns: x, y, z)', remedy='write', columns=('x', 'y', 'z'))]
    """
    faults: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        own = None if len(finding.columns) == 1 else number
        faults.setdefault((own, finding.code, finding.severity, finding.message, finding.remedy), []).append(finding)
    return [_merged(group) for group in faults.values()]


def _merged(group: list[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    columns = tuple(finding.columns[0] for finding in group)
    before, _, after = first.location.rpartition(f"column {columns[0]}")
    named = f"{len(columns):,} columns: {listed_with_count(columns, _SHOWN)}"
    location = f"{before}{len(columns):,} columns{after}"
    return replace(first, location=location, message=f"{first.message} ({named})", columns=columns)
