"""An operator that proves the layout of a table, and fails with what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator
from prune_assets.airflow.task_errors import TableTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from parquet_core.layout.spec import Finding
    from prune_assets.airflow.arguments import ArgumentCheck
    from prune_assets.writing.layout_file import LayoutSource

MAX_SHOWN = 100


class LayoutCheckOperator(TableOperator):
    """Prove from the written bytes that a table has its layout; fail, or warn, with a line for each finding.

    >>> from prune_assets.airflow import LayoutCheckOperator
    >>> check = LayoutCheckOperator(task_id="check_orders", table="lake/orders", layout="layouts/orders.yaml")
    >>> check.severity
    'error'

    It reads the footers and what proves the order, starts no Spark, and writes nothing. `layout`: as of
    SortedWriteOperator; without it the health of the table is checked. `severity`: "error" fails the task for a finding
    of that severity, "warn" only logs it; a table or a layout that cannot be read fails the task either way. `where`:
    look only at the files that may have such rows, those of a day say. `rows`, `allow`: as of `prune_assets.check`.
    `when_empty`: "pass", "skip" or "fail" where no file has such rows, or the table has no files.

    The XCom `findings` has what was found as a data quality service lists it: `rule`, `result` (fail, warn or pass) and
    `detail`, the worst first and at most 100.
    """

    template_fields: Sequence[str] = ("table", "layout", "severity", "where", "allow")
    template_fields_renderers: ClassVar[dict[str, str]] = {"layout": "json"}
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "layout": arguments.optional(arguments.layout),
        "severity": arguments.one_of("error", "warn"),
        "where": arguments.optional(arguments.text),
        "rows": arguments.boolean,
        "allow": arguments.texts,
    }
    when_empty_line = "no file has such rows, so no file was checked"

    def __init__(
        self,
        *,
        layout: LayoutSource | None = None,
        severity: Literal["error", "warn"] = "error",
        where: str | None = None,
        rows: bool = True,
        allow: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.layout = layout
        self.severity = severity
        self.where = where
        self.rows = rows
        self.allow = allow
        self.check_arguments()

    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Check, push the findings, and return how many there are of each severity."""
        from parquet_core.layout.spec import Severity
        from parquet_core.printable import redacted
        from parquet_core.quantities import counted
        from prune_assets.checks.layout_proof import prove

        found, files = prove(str(self.table), layout=self.layout, where=self.where, rows=self.rows, allow=self.allow)
        worst = sorted(found, key=lambda finding: -finding.severity.rank)
        context["ti"].xcom_push(key="findings", value=[_as_result(finding) for finding in worst[:MAX_SHOWN]])
        of = {severity: [finding for finding in worst if finding.severity is severity] for severity in Severity}
        errors, warnings = of[Severity.ERROR], of[Severity.WARN]
        self._log([*errors, *warnings])
        what = "health" if self.layout is None else "layout"
        counts = f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}"
        summary = f"{redacted(str(self.table))}: {counts} of its {what}"
        if errors and self.severity == "error":
            raise TableTaskError(f"{summary}; the first: {line(errors[0])}")
        self.log.info(summary)
        figures = {"table": redacted(str(self.table)), "errors": len(errors), "warnings": len(warnings)}
        return figures if files else figures | {"empty": True}

    def _log(self, findings: Sequence[Finding]) -> None:
        for finding in findings[:MAX_SHOWN]:
            log = self.log.error if finding.severity == self.severity == "error" else self.log.warning
            log(line(finding))
        if len(findings) > MAX_SHOWN:
            self.log.warning("and %s more", f"{len(findings) - MAX_SHOWN:,}")


_RESULTS = {"error": "fail", "warn": "warn", "info": "pass"}


def line(finding: Finding) -> str:
    """Return a finding as one line: rule, place, what is wrong, and what would mend it."""
    from parquet_core.printable import one_line
    from prune_assets.checks.remedies import remedy_in

    remedy = f"; remedy: {remedy_in('airflow', finding)}" if finding.remedy else ""
    return one_line(f"{finding.code}: {finding.location}: {finding.message}{remedy}")


def _as_result(finding: Finding) -> dict[str, str]:
    from prune_assets.checks.remedies import remedy_in

    remedy = f"; {remedy_in('airflow', finding)}" if finding.remedy else ""
    return {
        "rule": finding.code,
        "result": _RESULTS[finding.severity],
        "detail": f"{finding.location}: {finding.message}{remedy}",
    }
