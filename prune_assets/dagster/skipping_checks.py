"""Asset checks of the share that real queries skip.

A decaying layout then fails a check before costs grow.
"""
# No `from __future__ import annotations`: Dagster compares the annotation of `context` itself, not its source text.

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.quantities import named, share_of
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.checks import empty_results, nothing_to_check
from prune_assets.dagster.metadata import skip_metadata
from prune_assets.errors import NoRows, PredicateSyntaxError
from prune_assets.report.wording import shortfall
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def build_skipping_checks(
    asset_key: AssetName,
    table: "str | Path",
    predicates: "Mapping[str, str]",
    *,
    min_skipped: float | str = 0.9,
    columns: "Sequence[str] | None" = None,
    time_zone: str | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    when_empty: WhenEmpty = "pass",
) -> dg.AssetChecksDefinition:
    """Build one check per predicate that fails if Spark skips less than `min_skipped` of the bytes.

    >>> from prune_assets.dagster import build_skipping_checks
    >>> checks = build_skipping_checks(
    ...     "orders", "lake/orders", {"one_day": "day = DATE '2024-03-01'", "one_order": "id = 17"}, min_skipped=0.95
    ... )
    >>> sorted(key.name for key in checks.check_keys)
    ['skips_one_day', 'skips_one_order']

    The checks plan as `prune_assets.plan` does and do not start Spark. Dagster plots their numbers: the skipped share
    falls as overlapping files accumulate. A check fails with the reason if its predicate no longer fits the table, for
    example because a column was dropped, or if the table cannot be read.

    `predicates`: Spark SQL by name. `min_skipped`: a share of the bytes of the columns that are read, 0.9 or "90%". It
    is compared with the predicted skip of Spark with the plan; without a prediction, with the best possible skip.
    `columns`: columns that the queries read in addition to the predicate's columns; all by default.
    `time_zone`: session time zone of the queries, for timestamps. `blocking`, `severity`, `when_empty`: as in
    `build_layout_checks`; a table is empty if it has no files.

    Raises PredicateSyntaxError for invalid SQL, and WrongUse if `min_skipped` is not a share.
    """
    asset_key = asset_key_of(asset_key)
    least = named("min_skipped", share_of, min_skipped)
    check_when_empty(when_empty)
    for name, where in predicates.items():
        parse_named(f"skips_{name}", where)

    @dg.multi_asset_check(
        name=f"{asset_key.to_python_identifier()}_skipping",
        specs=[
            dg.AssetCheckSpec(
                f"skips_{name}", asset=asset_key, blocking=blocking, description=f"{least:.0%} skipped: {where}"
            )
            for name, where in predicates.items()
        ],
        can_subset=True,
    )
    def skipping_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {key.name for key in context.selected_asset_check_keys}
        for name, where in predicates.items():
            if f"skips_{name}" not in selected:
                continue
            try:
                verdict = _verdict(table, where, columns, time_zone, min_skipped=least)
            except NoRows as error:
                yield from empty_results(f"skips_{name}", asset_key, severity, when_empty, error)
                continue
            yield dg.AssetCheckResult(check_name=f"skips_{name}", asset_key=asset_key, severity=severity, **verdict)

    return skipping_checks


def parse_named(name: str, where: str) -> None:
    """Raise PredicateSyntaxError with the predicate's name if it is not valid SQL."""
    try:
        parse_predicate(where)
    except PredicateSyntaxError as error:
        raise PredicateSyntaxError(f"{name}: {error}") from None


def _verdict(
    table: "str | Path", where: str, columns: "Sequence[str] | None", time_zone: str | None, *, min_skipped: float
) -> dict[str, Any]:
    """Plan a predicate and return the fields of its check result.

    The fields are whether it skips enough, the reason if not, and the figures. Raises NoRows.
    """
    from prune_assets.planner.explain.plan import plan
    from prune_assets.spark.spark_versions import installed_version
    from prune_assets.sql.semantics import SparkSemantics

    semantics = SparkSemantics.of(installed_version(), time_zone=time_zone)
    try:
        report = plan(str(table), where=where, columns=columns, semantics=semantics).report
    except PruneError as error:
        return {"passed": False, "description": str(error)}
    if not report.total.files:
        raise NoRows(nothing_to_check(table, None))
    problem = shortfall(report, min_skipped)
    return {"passed": problem is None, "description": problem, "metadata": skip_metadata(report)}
