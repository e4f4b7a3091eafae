"""What a check says of itself: its name, what it proves, and the codes of the findings that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from parquet_core.layout.spec import Finding

Run = TypeVar("Run")


class Code(NamedTuple):
    """The meaning of a code of findings, and a general remedy.

    `remedy`: empty for a note, and for a remedy that a layer above has.
    """

    means: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check(Generic[Run]):
    """A check: an entry of a registry, from which tools and the page of codes take its texts.

    `codes`: the codes of its findings; each belongs to one check. `run`: makes the findings; the checks of a registry
    take the same arguments. `reads`: the costliest thing that it reads.
    """

    name: str
    description: str
    codes: Mapping[str, Code]
    run: Run
    reads: Literal["log", "footers", "values"] = "footers"


def by_check(findings: Sequence[Finding], checks: Collection[Check[Any]]) -> dict[str, list[Finding]]:
    """Divide findings among checks, by their codes; one whose code none of them has belongs to each.

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
