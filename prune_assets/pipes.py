"""Report to Dagster from an external process, such as a spark-submit job.

The reports cover written tables, proven layouts and skipped data.
Such a process needs only `dagster-pipes` in addition to this package, not Dagster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from parquet_core.errors import PruneError
from parquet_core.layout.checks import CHECKS
from parquet_core.layout.entry import by_check
from parquet_core.layout.spec import Severity
from parquet_core.printable import redacted
from prune_assets.checks.layout_proof import check, prefix_of_names
from prune_assets.checks.remedies import remedy_in
from prune_assets.report.figures import figures_of
from prune_assets.report.markdown import picture, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagster_pipes import PipesContext

    from parquet_core.layout.spec import Finding
    from prune_assets.report.skip_report import SkipReport
    from prune_assets.tables.writes.write_result import WriteResult
    from prune_assets.writing.layout_file import LayoutSource

_MOST_FINDINGS = 100


def report_write(pipes: PipesContext, result: WriteResult, *, asset_key: str | Sequence[str] | None = None) -> None:
    """Report a materialization: a table that `write` wrote.

    With `pipes` an open PipesContext and `df` a DataFrame:

    >>> import prune_assets as pr
    >>> from prune_assets.pipes import report_write
    >>> report_write(pipes, pr.write(df, "lake/ids", layout=pr.LayoutSpec(sort_by=["id"])))  # doctest: +SKIP

    `asset_key`: required if the process runs for several assets; "sales/orders", or its parts.
    """
    metadata: dict[str, Any] = {
        "dagster/row_count": result.rows,
        "dagster/uri": redacted(result.table),
        **result.figures(prefix="prune/"),
    }
    version = {} if result.version is None else {"data_version": str(result.version)}
    pipes.report_asset_materialization(metadata=metadata, asset_key=_key_text(asset_key), **version)


def report_layout(
    pipes: PipesContext,
    table: str,
    layout: LayoutSource,
    *,
    where: str | None = None,
    severity: Literal["ERROR", "WARN"] = "ERROR",
    prefix: str = "",
    asset_key: str | Sequence[str] | None = None,
) -> bool:
    """Prove the layout of a table and report its checks.

    Return True if all passed.
    With `pipes` an open PipesContext:

    >>> import prune_assets as pr
    >>> from prune_assets.pipes import report_layout
    >>> report_layout(pipes, "lake/ids", pr.LayoutSpec(sort_by=["id"]))  # doctest: +SKIP
    True

    The asset must declare the check specs of its LayoutTable, `check_specs=orders.check_specs()`. If the table cannot
    be read, every check fails with the reason.

    `layout`, `where`: as in `check`.
    `severity`: severity of a check that fails with an error; warnings fail it with WARN.
    `prefix`: as in `check_specs`.
    """
    prefix, key = prefix_of_names(prefix), _key_text(asset_key)
    try:
        findings = check(table, layout=layout, where=where)
    except PruneError as error:
        problem: dict[str, Any] = {"passed": False, "severity": severity, "metadata": {"error": str(error)}}
        for each in CHECKS:
            pipes.report_asset_check(f"{prefix}{each.name}", asset_key=key, **problem)
        return False
    passed = True
    for name, of_check in by_check(findings, CHECKS).items():
        passed &= _report_check(pipes, f"{prefix}{name}", of_check, severity, key)
    return passed


def _report_check(
    pipes: PipesContext,
    name: str,
    findings: Sequence[Finding],
    severity: Literal["ERROR", "WARN"],
    asset_key: str | None,
) -> bool:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    worst = [*errors, *(finding for finding in findings if finding.severity is Severity.WARN)]
    metadata: dict[str, Any] = {"errors": len(errors), "warnings": len(worst) - len(errors)}
    if worst:
        metadata["remedy"] = remedy_in("dagster", worst[0])
        shown = [f"{finding.code}: {finding.location}: {finding.message}" for finding in worst[:_MOST_FINDINGS]]
        metadata["findings"] = {"raw_value": shown, "type": "json"}
    found = severity if errors or not worst else "WARN"
    pipes.report_asset_check(name, passed=not worst, severity=found, metadata=metadata, asset_key=asset_key)
    return not worst


def report_skip(pipes: PipesContext, report: SkipReport, *, asset_key: str | Sequence[str] | None = None) -> None:
    """Report a materialization: the data that a plan skips.

    The metadata are a summary, a picture and numbers that Dagster plots.

    With `pipes` an open PipesContext:

    >>> import prune_assets as pr
    >>> from prune_assets.pipes import report_skip
    >>> report_skip(pipes, pr.plan("lake/ids", where="id < 100").report)  # doctest: +SKIP
    """
    metadata: dict[str, Any] = {
        "prune/summary": {"raw_value": summary(report), "type": "md"},
        "prune/picture": {"raw_value": picture(report), "type": "md"},
        "prune/predicate": report.predicate,
        **figures_of(report, prefix="prune/"),
    }
    pipes.report_asset_materialization(metadata=metadata, asset_key=_key_text(asset_key))


def _key_text(asset_key: str | Sequence[str] | None) -> str | None:
    """Return the asset key in the form of Pipes.

    Slashes join its parts; slashes within a part are escaped.
    """
    if asset_key is None or isinstance(asset_key, str):
        return asset_key
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in asset_key)
