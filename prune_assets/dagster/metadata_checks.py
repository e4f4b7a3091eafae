"""Asset checks that read data and compare it with the metadata's claims."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.layout.spec import Severity
from parquet_core.quantities import refuse_no_share
from prune_assets.checks.audit.entry import METADATA_CONSISTENCY
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.checks import MAX_SHOWN, empty_results, finding_record, nothing_to_check, unreadable_result
from prune_assets.errors import NoRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.checks.audit.report import AuditReport
    from prune_assets.dagster.layout_table import LayoutTable


def statistics_truth_check(
    self: "LayoutTable",
    *,
    sample: float = 0.1,
    columns: "Sequence[str] | None" = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    name: str = METADATA_CONSISTENCY.name,
    when_empty: WhenEmpty = "pass",
) -> dg.AssetChecksDefinition:
    """Return a check that fails if metadata contradict the data, so that engines could lose rows.

    >>> from prune_assets.dagster import LayoutTable
    >>> check = LayoutTable("orders", "lake/orders").statistics_truth_check(sample=0.05)
    >>> [key.name for key in check.check_keys]
    ['metadata_consistency']

    The check reads values as `prune_assets.audit` does, and does not start Spark. Wrong claims that no engine relies on
    are shown but do not fail the check; a wrong count that loses no rows fails it with WARN, which never blocks. If the
    table cannot be read, the check fails with the reason.

    `sample`: share of row groups to read, above 0 and up to 1; each run reads the same row groups.
    `columns`: columns to read, all by default.
    `blocking`, `severity`, `when_empty`: as in `checks`.

    Raises WrongUse if `sample` is not a share.
    """
    asset_key = self.key
    refuse_no_share("sample", sample, "the row groups", example=0.1)
    check_when_empty(when_empty)
    description = f"{METADATA_CONSISTENCY.description.removesuffix('.')}, in {sample:.0%} of the row groups."

    @dg.multi_asset_check(
        name=f"{asset_key.to_python_identifier()}_{name}",
        specs=[dg.AssetCheckSpec(name, asset=asset_key, blocking=blocking, description=description)],
        can_subset=True,  # lets the check return no result
    )
    def truth_check() -> Iterator[dg.AssetCheckResult]:
        try:
            report = METADATA_CONSISTENCY.run(str(self.table), sample=sample, columns=columns, allow=self.allow)
        except PruneError as error:
            yield unreadable_result(name, asset_key, severity, error)
            return
        if not report.row_groups:
            yield from empty_results(name, asset_key, severity, when_empty, NoRows(nothing_to_check(self.table, None)))
            return
        yield dg.AssetCheckResult(check_name=name, asset_key=asset_key, **_verdict(report, severity))

    return truth_check


def _verdict(report: "AuditReport", severity: dg.AssetCheckSeverity) -> dict[str, Any]:
    from prune_assets.checks.audit.report import NOT_RELIED_ON

    relied_on = [finding for finding in report.findings if not finding.code.startswith(NOT_RELIED_ON)]
    worst = next(iter(relied_on), None)
    only_warned = worst is not None and worst.severity is not Severity.ERROR
    return {
        "passed": worst is None,
        "severity": dg.AssetCheckSeverity.WARN if only_warned else severity,
        "description": None if worst is None else f"{worst.location}: {worst.message}",
        "metadata": _metadata(report),
    }


def _metadata(report: "AuditReport") -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "prune/claims": sum(report.claims.values()),
        "prune/audited_rows": report.rows,
        "prune/audited_row_groups": report.audited_row_groups,
        "prune/row_groups": report.row_groups,
        "prune/skipped_columns": len(report.skipped),
        "prune/wrong_claims": sum(finding.severity is Severity.ERROR for finding in report.findings),
    }
    if report.findings:
        shown = report.findings[:MAX_SHOWN]
        metadata["findings"] = dg.MetadataValue.table([finding_record(finding) for finding in shown])
    return metadata
