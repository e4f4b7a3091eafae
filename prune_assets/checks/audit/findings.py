"""Findings of an audit.

A finding names a claim, the value that disproves the claim, and the predicates that lose rows because of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.layout.spec import Finding, Severity
from prune_assets.checks.audit.report import NOT_RELIED_ON
from prune_assets.report.quantities import value_text

if TYPE_CHECKING:
    from prune_assets.checks.audit.claim_checks import CheckedClaims, Miscount, Outside

WRITE_AGAIN = "write the file again"
REWRITE = f"{WRITE_AGAIN}, with another writer or a newer version of it; no filter on this column is safe before that"


@dataclass(slots=True)
class Findings:
    """Collected findings.

    The most severe finding of each code and key is kept; the others of this code and key are counted.
    """

    claims: Counter[str] = field(default_factory=Counter)
    _found: dict[tuple[str, str], tuple[Finding, int]] = field(default_factory=dict)

    def add(self, finding: Finding, key: str) -> None:
        """Add a finding; `key`: groups findings, for example a column in a file."""
        previous, others = self._found.get((finding.code, key), (finding, -1))
        graver = finding.severity.rank > previous.severity.rank
        self._found[finding.code, key] = (finding if graver else previous, others + 1)

    def all(self) -> tuple[Finding, ...]:
        """Return the findings, most severe first."""
        findings = [_counted(finding, others) for finding, others in self._found.values()]
        return tuple(sorted(findings, key=lambda finding: (-finding.severity.rank, finding.code, finding.location)))


def _counted(finding: Finding, others: int) -> Finding:
    if not others:
        return finding
    location = f"{finding.location} (and {others:,} more)"
    return Finding(finding.code, finding.severity, location, finding.message, finding.remedy)


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """Source of a claim: a column of a container.

    `prefix`: prefix of its codes, as in `row_group_bounds`.
    `claimed_by`: who makes the claim, in messages, such as "the page".
    `container`: the file, or one of its row groups or pages.
    """

    prefix: str
    claimed_by: str
    container: str
    column: str
    remedy: str = REWRITE

    @property
    def location(self) -> str:
        """The location for findings.

        >>> ClaimSource("page", "the page", "a.parquet, row group 0, page 2", "id").location
        'a.parquet, row group 0, page 2, column id'
        """
        return f"{self.container}, column {self.column}"


def outside(source: ClaimSource, side: str, wrong: Outside, *, as_text: bool) -> Finding:
    """Report a value outside its bound."""
    value, bound, name = _literal(wrong.value, as_text=as_text), _literal(wrong.bound, as_text=as_text), source.column
    beyond = f"{name} {'<' if side == 'min' else '>'} {bound}"
    message = (
        f"{source.claimed_by} claims {side} {bound}, row {wrong.row:,} holds {value}: "
        f"`{name} = {value}` and `{beyond}` lose it{_more_text(wrong.containers)}"
    )
    return Finding(f"{source.prefix}_bounds", Severity.ERROR, source.location, message, source.remedy)


def miscount(source: ClaimSource, wrong: Miscount) -> Finding:
    """Report a wrong count."""
    test = "IS NULL" if wrong.what == "null" else "= double('NaN')"
    if wrong.loses_rows and wrong.claimed:
        test = "IS NOT NULL" if wrong.what == "null" else "<> double('NaN')"
    lost = f"`{source.column} {test}` loses rows" if wrong.loses_rows else "counts answered from it are wrong"
    message = (
        f"{source.claimed_by} counts {wrong.claimed:,} {wrong.what}, there are {wrong.actual:,}: "
        f"{lost}{_more_text(wrong.containers)}"
    )
    severity = Severity.ERROR if wrong.loses_rows else Severity.WARN
    return Finding(f"{source.prefix}_{wrong.what.lower()}_count", severity, source.location, message, source.remedy)


def _more_text(containers: int) -> str:
    return f"; and in {containers - 1:,} more of its pages" if containers > 1 else ""


def absent_value(source: ClaimSource, value: pa.Scalar, *, as_text: bool) -> Finding:
    """Report a value that a bloom filter or dictionary denies."""
    literal = _literal(value, as_text=as_text)
    message = f"{source.claimed_by} denies {literal}, which a row holds: `{source.column} = {literal}` loses it"
    return Finding(source.prefix, Severity.ERROR, source.location, message, REWRITE)


def not_relied_on(claim: str, location: str, reason: str, *, wrong: str = "") -> Finding:
    """Report a claim that plans do not trust.

    `wrong`: the value that disproves the claim, "" if none was found.
    """
    message = f"not relied on: {reason}" + (f"; it is wrong: {wrong}" if wrong else "")
    remedy = "no plan here relies on it, but other engines may; write the file again" if wrong else ""
    return Finding(f"{NOT_RELIED_ON}{claim}", Severity.WARN if wrong else Severity.INFO, location, message, remedy)


def findings_of_claims(
    source: ClaimSource, checked: CheckedClaims, *, as_text: bool, whole: bool, extremes_alone: bool = False
) -> list[Finding]:
    """Report all disproved claims about containers."""
    return [
        *(outside(_at(source, wrong.container), side, wrong, as_text=as_text) for side, wrong in checked.outside()),
        *(
            miscount(_at(source, wrong.container), wrong)
            for wrong in checked.miscounts(whole=whole, extremes_alone=extremes_alone)
        ),
    ]


def _at(source: ClaimSource, container: int) -> ClaimSource:
    return replace(source, container=f"{source.container}, page {container}") if source.prefix == "page" else source


def _literal(value: pa.Scalar, *, as_text: bool) -> str:
    """Format a value as a SQL literal, shortened."""
    arrow_type, shown = value.type, value_text(value)
    if pa.types.is_date(arrow_type):
        return f"DATE '{shown}'"
    if pa.types.is_timestamp(arrow_type):
        return f"TIMESTAMP '{shown}'"
    if not pa.types.is_binary(arrow_type):
        return shown
    quoted = shown.replace("'", "\\'")
    return f"'{quoted}'" if as_text else f"X'{value.as_py()[:20].hex()}'"
