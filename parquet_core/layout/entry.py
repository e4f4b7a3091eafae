"""Registered checks, and grouping of findings by check and fault."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from parquet_core.printable import listed_with_count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parquet_core.layout.spec import Finding

Run = TypeVar("Run")


class Code(NamedTuple):
    """Meaning of a finding code, and a general remedy.

    `remedy`: "" if none is needed, or if a layer above provides the remedy.
    """

    means: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check(Generic[Run]):
    """A check in a registry.

    Tools and the documentation of finding codes list the texts of registered checks.

    `codes`: codes of its findings; each code belongs to one check.
    `run`: returns the findings; all checks of a registry take the same arguments.
    `reads`: the most expensive source that the check reads.
    """

    name: str
    description: str
    codes: Mapping[str, Code]
    run: Run
    reads: Literal["log", "footers", "values"] = "footers"


def by_check(findings: Sequence[Finding], checks: Collection[Check[Any]]) -> dict[str, list[Finding]]:
    """Group findings by the check that owns their code.

    A finding with an unknown code belongs to every check.

    >>> from parquet_core.layout.checks import CHECKS
    >>> from parquet_core.layout.spec import Finding, Severity
    >>> found = [Finding(code, Severity.ERROR, "t", "") for code in ("clustering.ineffective", "of.tomorrow")]
    >>> for name, of_check in list(by_check(found, CHECKS).items())[-2:]:
    ...     print(name, [finding.code for finding in of_check])
    sorted_order ['clustering.ineffective', 'of.tomorrow']
    sizes_within_limits ['of.tomorrow']
    """
    owner = {code: check.name for check in checks for code in check.codes}
    return {
        check.name: [finding for finding in findings if owner.get(finding.code, check.name) == check.name]
        for check in checks
    }


_SHOWN = 5


def by_fault(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings that differ only in their column.

    A merged finding names all columns.

    >>> from parquet_core.layout.spec import Finding, Severity
    >>> found = [Finding("a", Severity.WARN, f"0.parquet, column {c}", "no bounds", "write", (c,)) for c in "xyz"]
    >>> by_fault(found)
    [Finding(code='a', severity=<Severity.WARN: 'warn'>, location='0.parquet, 3 columns', \
message='no bounds (3 columns: x, y, z)', remedy='write', columns=('x', 'y', 'z'))]
    """
    faults: dict[tuple[object, ...], list[Finding]] = {}
    for index, finding in enumerate(findings):
        own = None if len(finding.columns) == 1 else index
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
