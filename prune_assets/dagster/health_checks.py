"""Asset checks of a table's health: the Delta log, the files' metadata, and deleted rows."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from typing import TYPE_CHECKING, Any

import dagster as dg

from prune_assets.checks.health.deletes import DELETES_ARE_APPLIED
from prune_assets.checks.health.health import OF_FILES, OF_LOG, check_deletes, check_files, check_log
from prune_assets.dagster.checks import check_result, results_of, specs_of, unreadable_result
from prune_assets.tables.examination import MAX_COMMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.layout.entry import Check
    from parquet_core.layout.spec import Finding
    from prune_assets.dagster.layout_table import LayoutTable


def log_health_check(
    self: "LayoutTable",
    *,
    max_commits: int = MAX_COMMITS,
    max_small_files: int | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    """Return checks of a Delta log: checkpoints, small files, files without statistics, MERGEs that open many files.

    >>> from prune_assets.dagster import LayoutTable
    >>> check = LayoutTable("orders", "lake/orders").log_health_check(max_commits=50)
    >>> [spec.name for spec in check.check_specs]
    ['log_is_healthy', 'merges_open_few_files']

    The checks read only the log and do not start Spark. They fail if the table is not a Delta table or cannot be read.

    `max_commits`: commits that a reader may have to replay on top of a checkpoint.
    `max_small_files`: allowed number of files smaller than 32 MiB. By default, more than 1,000 small files fail the
    check, and small files whose merge would save 10 files cause a warning.
    `blocking`, `severity`: as in `checks`.
    """

    def find() -> "list[Finding]":
        return check_log(str(self.table), max_commits=max_commits, max_small_files=max_small_files, allow=self.allow)

    return _build(OF_LOG, self.key, find, blocking=blocking, severity=severity)


def file_health_check(
    self: "LayoutTable",
    *,
    columns: "Sequence[str]" = (),
    max_small_files: int | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    """Return a check of the metadata that predicates skip by: statistics, INT96, bloom filters, small files.

    >>> from prune_assets.dagster import LayoutTable
    >>> check = LayoutTable("orders", "lake/orders").file_health_check(columns=["day", "id"])
    >>> [key.name for key in check.check_keys]
    ['files_are_healthy']

    The check does not depend on the layout. It reads the footers and a few bloom filters, and does not start Spark. It
    finds statistics that are missing or cannot be trusted, INT96 timestamps, bloom filters with many false positives,
    and too many small files.
    `columns`: columns to check; all by default.
    `max_small_files`: allowed number of files smaller than 32 MiB. By default, more than 1,000 small files fail the
    check, and small files whose merge would save 10 files cause a warning.
    `blocking`, `severity`: as in `checks`.
    """

    def find() -> "list[Finding]":
        return check_files(str(self.table), columns=columns, max_small_files=max_small_files, allow=self.allow)

    return _build(OF_FILES, self.key, find, blocking=blocking, severity=severity)


def delete_debt_check(
    self: "LayoutTable",
    *,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    """Return a check of deleted rows that readers still read: deletion vectors, position and equality deletes.

    >>> from prune_assets.dagster import LayoutTable
    >>> [key.name for key in LayoutTable("orders", "lake/orders").delete_debt_check().check_keys]
    ['deletes_are_applied']

    The check reads only the log of a Delta table or the manifests of an Iceberg table, and does not start Spark. It
    warns if more than 5% of the rows are deleted, a data file has 10 delete files, or any data file has equality
    deletes; it fails if more than 30% are deleted or a data file has 100 delete files. Its metadata contain the counts:
    `prune/deleted_rows`, `prune/deleted_share` and others. Plain Parquet has no deletes and passes.
    `blocking`, `severity`: as in `checks`.
    """
    key, name = self.key, DELETES_ARE_APPLIED.name

    @dg.asset_check(name=name, asset=key, blocking=blocking, description=DELETES_ARE_APPLIED.description)
    def debt_check() -> dg.AssetCheckResult:
        try:
            debt, findings = check_deletes(str(self.table), allow=self.allow)
        except Exception as error:  # noqa: BLE001 - any error fails the check
            return unreadable_result(name, key, severity, error)
        figures = {} if debt is None else {f"prune/{figure}": value for figure, value in debt.figures().items()}
        return check_result(name, key, severity, findings, figures=figures)

    return debt_check


def _build(
    checks: "Sequence[Check[Any]]",
    asset_key: dg.AssetKey,
    find: "Callable[[], list[Finding]]",
    *,
    blocking: bool,
    severity: dg.AssetCheckSeverity,
) -> dg.AssetChecksDefinition:
    named = {check.name: check for check in checks}

    @dg.multi_asset_check(
        name=f"{asset_key.to_python_identifier()}_{checks[0].name}",
        specs=specs_of(checks, asset_key, blocking=blocking),
    )
    # Dagster requires a single result for one check and a tuple for several, and refuses an annotation of both.
    def health_checks():  # type: ignore[no-untyped-def]  # noqa: ANN202 - see above
        results = tuple(results_of(named, find, among=checks, asset_key=asset_key, severity=severity))
        return results if len(results) > 1 else results[0]

    return health_checks
