"""An asset whose changes are merged into its table, and a check of what a MERGE opens."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from functools import wraps
from typing import TYPE_CHECKING, Any, Unpack

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.quantities import named, share_of
from prune_assets.dagster.asset_options import AssetOptions, asset_with
from prune_assets.dagster.metadata import layout_metadata, merge_metadata, place_metadata
from prune_assets.report.quantities import share_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prune_assets.dagster.layout_table import LayoutTable
    from prune_assets.merging.report import MergeReport

UPSERT = ("MATCHED UPDATE", "NOT MATCHED INSERT")


def merge_asset(
    self: "LayoutTable", *, on: str, when: "Sequence[str]" = UPSERT, **options: Unpack[AssetOptions]
) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Make an asset of a function that returns changes, which are merged into the table.

    >>> import dagster as dg
    >>> from prune_assets.dagster import LayoutTable, SparkSessionResource
    >>> orders = LayoutTable("orders", "/lake/orders", format="delta")
    >>> @orders.merge_asset(on="t.id = s.id", group_name="sales")
    ... def changed_orders(spark: SparkSessionResource):
    ...     return spark.session.read.parquet("landing/orders")
    >>> defs = dg.Definitions([changed_orders], resources={"spark": SparkSessionResource()})
    >>> defs.resolve_assets_def("orders").group_names_by_key[orders.key]
    'sales'

    The function returns a DataFrame, an Arrow table, or the name or path of a table. `pr.merge` runs the MERGE with the
    condition that follows from the keys of the changes. The materialization has the number of files that the MERGE
    opened, and the number that it would have opened without the condition. The MERGE runs in the session of the
    DataFrame, or in the active session if the changes are not a DataFrame.

    `on`, `when`: as in `prune_assets.merge`; rows of the table are `t`, changes are `s`.
    All other options are passed to Dagster's `asset`.
    """
    defaults = {
        "kinds": {self.format or "delta", "spark"},
        "metadata": layout_metadata(self.layout, self.table, format=self.format or "delta"),
    }
    make = asset_with(options, defaults, key=self.key, partitions_def=self.partitions_def)
    table, clauses = str(self.table), list(when)

    def made(function: "Callable[..., Any]") -> dg.AssetsDefinition:
        @wraps(function)
        def merged(*args: Any, **kwargs: Any) -> dg.MaterializeResult[Any]:
            from prune_assets.merging.run_merge import merge

            changes = function(*args, **kwargs)
            result = merge(table, changes, on=on, when=clauses)
            return dg.MaterializeResult(metadata={**place_metadata(table), **merge_metadata(result.report, result)})

        merged.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
        return make(merged)

    return made


def merge_check(
    self: "LayoutTable",
    source: "str | Path",
    *,
    on: str,
    when: "Sequence[str]" = UPSERT,
    max_opened: float | str = 0.05,
    name: str = "merge_opens_little",
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN,
) -> dg.AssetChecksDefinition:
    """Return a check that fails if a MERGE of `source` opens more than a share of the table.

    >>> from prune_assets.dagster import LayoutTable
    >>> orders = LayoutTable("orders", "/lake/orders", format="delta")
    >>> [key.name for key in orders.merge_check("/landing/orders", on="t.id = s.id", max_opened=0.01).check_keys]
    ['merge_opens_little']

    The check plans as `prune_assets.plan_merge` does, and starts no Spark. It also fails, with the reason, while files
    overlap on the key, or if no condition on the key can restrict the table.

    `source`: path or name of a table with the changes.
    `max_opened`: share of the bytes, 0.05 or "5%", that the MERGE opens with the condition of `plan_merge`.
    """
    most = named("max_opened", share_of, max_opened)
    table, changes, clauses = str(self.table), str(source), list(when)

    @dg.asset_check(name=name, asset=self.key, blocking=blocking, description=f"A MERGE opens at most {most:.0%}: {on}")
    def check_merge() -> dg.AssetCheckResult:
        from prune_assets.merging.plan_merge import plan_merge

        try:
            report = plan_merge(table, changes, on=on, when=clauses).report
        except PruneError as error:
            return dg.AssetCheckResult(passed=False, severity=severity, description=str(error))
        passed = report.with_condition.bytes <= most * report.total.bytes
        return dg.AssetCheckResult(
            passed=passed,
            severity=severity,
            description=None if passed else _problem(report),
            metadata=merge_metadata(report),
        )

    return check_merge


def _problem(report: "MergeReport") -> str:
    opened = share_text(report.with_condition.bytes, report.total.bytes)
    reasons = "; ".join(map(str, report.obstacles))
    return f"the MERGE opens {opened} of the table{f': {reasons}' if reasons else ''}"
