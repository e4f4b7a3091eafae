"""An operator that proves the layout of a table, and fails if there are findings."""

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


class CheckLayoutOperator(TableOperator):
    """Prove from the written bytes that a table has its layout.

    Fail or warn, with a line for each finding.

    >>> from prune_assets.airflow import CheckLayoutOperator
    >>> check = CheckLayoutOperator(task_id="check_orders", table="lake/orders", layout="layouts/orders.yaml")
    >>> check.severity
    'error'

    The operator reads the footers and the data that prove the order, does not start Spark, and writes nothing.
    `layout`: as in WriteTableOperator; without it the health of the table is checked.
    `severity`: "error" fails the task for a finding of that severity, "warn" only logs it; an unreadable table or
    layout always fails the task.
    `where`: check only files that may have matching rows, for example the files of one day.
    `rows`, `allow`: as in `prune_assets.check`.
    `when_empty`: "pass", "skip" or "fail" if the table has no files, or no file may have rows that match `where`.

    The XCom `findings` lists the findings in the form of a data quality service: `rule`, `result` (fail, warn or pass)
    and `detail`, most severe first, at most 100.
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
    when_empty_line = "no file can hold matching rows, so no file was checked"

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
        """Check, push the findings, and return their number for each severity."""
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
    """Return a finding as one line: rule, location, problem and remedy."""
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
