"""Asset checks of the share of bytes that real queries skip.

A decaying layout then fails a check before costs grow.
"""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError, WrongUse
from parquet_core.quantities import named, share_of
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.checks import empty_results, nothing_to_check
from prune_assets.dagster.metadata import skip_metadata
from prune_assets.errors import NoRows, PredicateSyntaxError
from prune_assets.report.wording import shortfall
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.dagster.layout_table import LayoutTable


def skipping_checks(
    self: "LayoutTable",
    *,
    min_skipped: float | str = 0.9,
    columns: "Sequence[str] | None" = None,
    time_zone: str | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    when_empty: WhenEmpty = "pass",
) -> dg.AssetChecksDefinition:
    """Return one check per predicate that fails if Spark skips less than `min_skipped` of the bytes.

    >>> from prune_assets.dagster import LayoutTable
    >>> predicates = {"one_day": "day = DATE '2024-03-01'", "one_order": "id = 17"}
    >>> orders = LayoutTable("orders", "lake/orders", predicates=predicates)
    >>> sorted(key.name for key in orders.skipping_checks(min_skipped=0.95).check_keys)
    ['skips_one_day', 'skips_one_order']

    The checks plan as `prune_assets.plan` does and do not start Spark. Dagster plots the skipped share, which falls as
    overlapping files accumulate. A check fails with the reason if its predicate no longer fits the table, for example
    because a column was dropped, or if the table cannot be read.

    `min_skipped`: minimum share of the read columns' bytes that Spark must skip with the plan, such as 0.9 or "90%". If
    no prediction for Spark exists, the best possible share is used instead.
    `columns`: columns that the queries read in addition to the predicate's columns; all by default.
    `time_zone`: session time zone of the queries, for timestamps.
    `blocking`, `severity`, `when_empty`: as in `checks`; a table is empty if it has no files.

    Raises WrongUse if the table has no predicates or `min_skipped` is not a share.
    """
    asset_key, predicates = self.key, self.predicates
    if not predicates:
        raise WrongUse(
            f"{asset_key.to_user_string()}: no predicates; give LayoutTable(.., predicates={{'one': 'id = 1'}})"
        )
    least = named("min_skipped", share_of, min_skipped)
    check_when_empty(when_empty)

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
    def check_skipping(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {key.name for key in context.selected_asset_check_keys}
        for name, where in predicates.items():
            if f"skips_{name}" not in selected:
                continue
            try:
                verdict = _verdict(self, where, columns, time_zone, min_skipped=least)
            except NoRows as error:
                yield from empty_results(f"skips_{name}", asset_key, severity, when_empty, error)
                continue
            yield dg.AssetCheckResult(check_name=f"skips_{name}", asset_key=asset_key, severity=severity, **verdict)

    return check_skipping


def parse_named(name: str, where: str) -> None:
    """Raise PredicateSyntaxError, with the predicate's name, if the predicate is not valid SQL."""
    try:
        parse_predicate(where)
    except PredicateSyntaxError as error:
        raise PredicateSyntaxError(f"{name}: {error}") from None


def _verdict(
    table: "LayoutTable", where: str, columns: "Sequence[str] | None", time_zone: str | None, *, min_skipped: float
) -> dict[str, Any]:
    """Plan a predicate and return whether it skips enough, why not, and the figures.

    Raises NoRows if the table has no files.
    """
    from prune_assets.planner.explain.plan import plan
    from prune_assets.spark.spark_versions import installed_version
    from prune_assets.sql.semantics import SparkSemantics

    semantics = SparkSemantics.of(installed_version(), time_zone=time_zone)
    try:
        report = plan(str(table.table), where=where, columns=columns, allow=table.allow, semantics=semantics).report
    except PruneError as error:
        return {"passed": False, "description": str(error)}
    if not report.total.files:
        raise NoRows(nothing_to_check(table.table, None))
    problem = shortfall(report, min_skipped)
    return {"passed": problem is None, "description": problem, "metadata": skip_metadata(report)}
