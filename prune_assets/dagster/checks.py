"""Asset checks that prove a layout from the bytes of the written files."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError, WrongUse
from parquet_core.layout.bloom_filters import BLOOM_FILTERS_PRESENT
from parquet_core.layout.checks import CHECKS
from parquet_core.layout.entry import Check, by_check
from parquet_core.layout.spec import Severity
from parquet_core.printable import one_line
from prune_assets.checks.layout_proof import prefix_of_names
from prune_assets.checks.remedies import remedy_in
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.partitions import (
    CheckedPartitions,
    kinds_of_partitions,
    partition_predicate,
)
from prune_assets.errors import NoRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import Finding
    from prune_assets.dagster.layout_table import LayoutTable

MAX_SHOWN = 100


def checks(
    self: "LayoutTable",
    *,
    by_partition: bool = False,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    prefix: str = "",
    when_empty: WhenEmpty = "pass",
) -> dg.AssetChecksDefinition:
    """Return the checks of the table's layout.

    They read the table's files and do not start Spark.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable
    >>> ids = LayoutTable("ids", "lake/ids", layout=pr.LayoutSpec(sort_by=["id"]))
    >>> for key in sorted(ids.checks().check_keys):
    ...     print(key.name)
    bloom_filters_present
    column_index_present
    files_do_not_overlap
    sizes_within_limits
    sorted_order

    Each check can run alone; checks that run together share one pass over the footers. A finding of severity error
    fails its check with `severity`; a warning fails it with WARN, which never blocks. If the table cannot be read,
    every check fails with the reason.

    `by_partition`: True for checks that run by partition and check only the files of the run's partitions. Dagster
    warns that partitioned checks are a preview.
    `blocking`: True if a failed check stops downstream assets from running.
    `prefix`: prefix of the check names, for a second layout of the same asset: by_day makes by_day_sorted_order.
    `when_empty`: result if there are no files to check, for example in a partition without rows. "pass" passes, with a
    description that says so; "skip" returns no result, so a blocking check blocks nothing; "fail" fails with
    `severity`.

    Raises WrongUse for `by_partition` of a table without partitions, and for an unknown `when_empty`.
    """
    prefix = prefix_of_names(prefix)
    check_when_empty(when_empty)

    @dg.multi_asset_check(
        name=f"{self.key.to_python_identifier()}_{prefix}layout",
        specs=check_specs(self, by_partition=by_partition, blocking=blocking, prefix=prefix),
        can_subset=True,
    )
    def layout_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {key.name.removeprefix(prefix) for key in context.selected_asset_check_keys}

        def where() -> str | None:
            if not by_partition or self.partitions_def is None or self.partition_expr is None:
                return None
            chosen = CheckedPartitions.of(self.partitions_def, context)
            return partition_predicate(chosen, self.partition_expr, kinds_of_partitions(str(self.table)))

        options: Any = {"severity": severity, "prefix": prefix, "when_empty": when_empty}
        yield from layout_results(self, where=where, selected=selected, **options)

    return layout_checks


def check_specs(
    self: "LayoutTable", *, by_partition: bool = False, blocking: bool = False, prefix: str = ""
) -> list[dg.AssetCheckSpec]:
    """Return the specs of the layout's checks, for an asset that yields their results itself.

    >>> from prune_assets.dagster import LayoutTable
    >>> [spec.name for spec in LayoutTable("ids", "lake/ids").check_specs()][:2]
    ['column_index_present', 'bloom_filters_present']

    The arguments are those of `checks`.
    """
    if by_partition and self.partitions_def is None:
        raise WrongUse(f"{self.key.to_user_string()}: by_partition=True needs partitions_def and partition_expr")
    options: dict[str, Any] = {"partitions_def": self.partitions_def} if by_partition else {}
    return specs_of(CHECKS, self.key, prefix=prefix_of_names(prefix), blocking=blocking, **options)


def specs_of(
    checks: "Iterable[Check[Any]]", asset_key: dg.AssetKey, *, prefix: str = "", **options: Any
) -> list[dg.AssetCheckSpec]:
    """Return Dagster's specs of registry checks."""
    return [
        dg.AssetCheckSpec(f"{prefix}{check.name}", asset=asset_key, description=check.description, **options)
        for check in checks
    ]


def layout_results(
    table: "LayoutTable",
    *,
    where: "Callable[[], str | None]" = lambda: None,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    prefix: str = "",
    selected: "Collection[str] | None" = None,
    session: "SparkSession | None" = None,
    when_empty: WhenEmpty = "pass",
) -> Iterator[dg.AssetCheckResult]:
    """Check a layout and yield the results.

    `where`: returns the condition on partitions, None for the whole table.
    `selected`: names of the checks to report, all by default.
    `session`: Spark session that resolves catalog names of tables.
    """
    from prune_assets.checks.layout_proof import prove

    def find() -> "Sequence[Finding]":
        condition = where()
        proof = prove(
            str(table.table),
            layout=table.layout,
            where=condition,
            rows=rows,
            allow=table.allow,
            session=session,
        )
        if not proof.files:
            raise NoRows(nothing_to_check(table.table, condition))
        return proof.findings

    chosen = [each for each in CHECKS if selected is None or each.name in selected]
    rows = any(each.reads == "values" for each in chosen)
    yield from results_of(
        {f"{prefix}{each.name}": each for each in chosen},
        find,
        among=CHECKS,
        asset_key=table.key,
        severity=severity,
        when_empty=when_empty,
        unasked={}
        if table.layout.bloom
        else {BLOOM_FILTERS_PRESENT.name: "none asked for: `bloom` of the layout is empty"},
    )


def results_of(
    named: "Mapping[str, Check[Any]]",
    find: "Callable[[], Sequence[Finding]]",
    *,
    among: "Collection[Check[Any]]",
    asset_key: dg.AssetKey,
    severity: dg.AssetCheckSeverity,
    when_empty: WhenEmpty = "pass",
    unasked: "Mapping[str, str] | None" = None,
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of checks, keyed by their names in Dagster.

    `among`: all checks that `find` evaluates; each finding is reported by the check that defines its code.
    `unasked`: checks that do not apply to the table, with the reason.
    `when_empty`: result if `find` raises NoRows.
    """
    try:
        findings = by_check(find(), among)
    except NoRows as error:
        yield from (result for name in named for result in empty_results(name, asset_key, severity, when_empty, error))
        return
    except Exception as error:  # noqa: BLE001 - any error fails the check, not the step
        yield from (unreadable_result(name, asset_key, severity, error) for name in named)
        return
    for name, check in named.items():
        yield check_result(name, asset_key, severity, findings[check.name], unasked=(unasked or {}).get(check.name))


def check_result(
    name: str,
    asset_key: dg.AssetKey,
    severity: dg.AssetCheckSeverity,
    findings: "Sequence[Finding]",
    *,
    unasked: str | None = None,
    figures: "Mapping[str, Any] | None" = None,
) -> dg.AssetCheckResult:
    """Return the result of a check: errors fail it with `severity`, warnings with WARN.

    `figures`: additional metadata, by name.
    """
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    warnings = [finding for finding in findings if finding.severity is Severity.WARN]
    worst = [*errors, *warnings]
    metadata: dict[str, Any] = {"errors": len(errors), "warnings": len(warnings)} | dict(figures or {})
    if findings:
        shown = sorted(findings, key=lambda finding: finding not in worst)[:MAX_SHOWN]
        metadata["findings"] = dg.MetadataValue.table([finding_record(finding) for finding in shown])
    if worst:
        metadata["remedy"] = remedy_in("dagster", worst[0])
    return dg.AssetCheckResult(
        check_name=name,
        asset_key=asset_key,
        passed=not worst,
        severity=dg.AssetCheckSeverity.WARN if warnings and not errors else severity,
        description=f"{worst[0].location}: {worst[0].message}" if worst else unasked,
        metadata=metadata,
    )


def finding_record(finding: "Finding") -> dg.TableRecord:
    """Return a finding as a table row for Dagster's UI."""
    return dg.TableRecord(
        {
            "severity": finding.severity.value,
            "code": finding.code,
            "location": finding.location,
            "message": finding.message,
            "remedy": remedy_in("dagster", finding),
        }
    )


def nothing_to_check(table: "str | Path", where: str | None) -> str:
    """Return the message for a table without files, or without files that match a condition."""
    which = "the table has no files" if where is None else f"no file has rows where {where}"
    return f"{table}: {which}, so no file was checked"


def empty_results(
    name: str, asset_key: dg.AssetKey, severity: dg.AssetCheckSeverity, when_empty: WhenEmpty, error: NoRows
) -> Iterator[dg.AssetCheckResult]:
    """Yield the result of a check without data; nothing if `when_empty` is "skip"."""
    if when_empty == "skip":
        return
    yield dg.AssetCheckResult(
        check_name=name,
        asset_key=asset_key,
        passed=when_empty == "pass",
        severity=severity,
        description=str(error),
        metadata={"empty": True},
    )


def _line(error: Exception) -> str:
    return str(error) if isinstance(error, PruneError) else one_line(f"{type(error).__name__}: {error}")


def unreadable_result(
    name: str, asset_key: dg.AssetKey, severity: dg.AssetCheckSeverity, error: Exception
) -> dg.AssetCheckResult:
    """Return the failed result of a check that could not read the table."""
    return dg.AssetCheckResult(
        check_name=name,
        asset_key=asset_key,
        passed=False,
        severity=severity,
        description=_line(error),
        metadata={"error": _line(error), "error_type": type(error).__name__},
    )
