"""An asset that collects the queries of Spark's event logs, day by day."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import dagster as dg

from parquet_core.errors import WrongUse
from parquet_core.quantities import bytes_text
from parquet_core.storage import is_remote
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.asset_options import AssetOptions, asset_with
from prune_assets.report.markdown import as_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.workload.costs import TableCost
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.dagster.layout_table import LayoutTable

MOST_TABLES = 20


def build_workload_asset(
    key: AssetName,
    event_logs: "Path | str | Sequence[Path | str]",
    *,
    workloads: "Path | str",
    price_per_tib: float | None = None,
    partitions_def: "dg.TimeWindowPartitionsDefinition | None" = None,
    app: "str | Sequence[str] | None" = None,
    user: "str | Sequence[str] | None" = None,
    **options: Unpack[AssetOptions],
) -> dg.AssetsDefinition:
    """Build an asset that reads Spark's event logs and ranks tables by wasted bytes.

    >>> import dagster as dg
    >>> from prune_assets.dagster import build_workload_asset
    >>> days = dg.DailyPartitionsDefinition("2024-01-01")
    >>> asset = build_workload_asset("queries", "/logs/spark", workloads="lake/workloads", partitions_def=days)
    >>> asset.key.to_user_string()
    'queries'

    Wasted bytes (`needless_bytes`) are bytes that queries read without selecting a row.

    `event_logs`, `app`, `user`: as in `prune_assets.Workload.read`.
    `workloads`: a local folder for the result as JSON, one file per partition, for `LayoutTable(workload=..)`.
    `partitions_def`: days or hours; a run then selects the queries that began in its partition.
    `price_per_tib`: price of reading one TiB, to show the daily cost.

    The asset does not start Spark. All other options are passed to Dagster's `asset`.
    """
    defaults: dict[str, Any] = {
        "kinds": {"spark"},
        "description": "The data that queries in Spark's event logs read, and the part of it that selected no row.",
    }

    @asset_with(options, defaults, key=asset_key_of(key), partitions_def=partitions_def)
    def workload_asset(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        from prune_assets.advisor.workload.json_form import to_json
        from prune_assets.advisor.workload.query_shapes import Workload
        from prune_assets.report.output import write_whole

        window = context.partition_time_window if context.has_partition_key else None
        found = Workload.read(
            event_logs, since=window and window.start, until=window and window.end, app=app, user=user
        )
        for problem in found.problems:
            context.log.warning(problem)
        Path(workloads).mkdir(parents=True, exist_ok=True)
        path = Path(workloads) / f"{context.partition_key if window else 'workload'}.json"
        write_whole(path, to_json(found, price_per_tib=price_per_tib) + "\n")
        return dg.MaterializeResult(metadata=_metadata(found, path, price_per_tib))

    return workload_asset


def load_materialized(table: "LayoutTable", deps: "Sequence[dg.AssetDep]" = ()) -> "Workload | Sequence[str]":
    """Load the workload of a table; empty if it declares none.

    `deps`: assets that the error message names, because one of them fills the workload's folder. Raises WrongUse if the
    folder is missing or empty.
    """
    from prune_assets.advisor.workload.load import load_workload

    workload = () if table.workload is None else table.workload
    if isinstance(workload, str | os.PathLike) and not is_remote(str(workload)) and _is_empty(Path(workload)):
        filling = (
            " or ".join(dep.asset_key.to_user_string() for dep in deps)
            or "the asset of build_workload_asset that fills it"
        )
        raise WrongUse(f"{workload}: no workload yet; materialize {filling}")
    return load_workload(workload, table=str(table.table), latest=table.latest)


def _is_empty(path: Path) -> bool:
    return next(path.iterdir(), None) is None if path.is_dir() else not path.exists()


def _metadata(found: "Workload", path: Path, price_per_tib: float | None) -> dict[str, Any]:
    from prune_assets.advisor.workload.costs import costs_of

    costs = costs_of(found, price_per_tib=price_per_tib)
    return {
        "prune/queries": float(sum(cost.runs for cost in costs)),
        "prune/bytes_read": sum(cost.totals.bytes_read or 0 for cost in costs),
        "prune/needless_bytes": sum(cost.needless_bytes or 0 for cost in costs),
        "prune/not_understood": sum(found.not_understood.values()),
        "prune/tables": dg.MetadataValue.md(_table(costs, has_price=price_per_tib is not None)),
        "prune/workload": dg.MetadataValue.path(str(path)),
    }


def _table(costs: "list[TableCost]", *, has_price: bool) -> str:
    """Return a Markdown table of tables, in the order of `costs` (most wasted bytes first)."""
    titles = ["table", "queries", "bytes of files opened", "without need", *(["price a day"] if has_price else [])]
    rows = [
        [
            as_code(cost.table),
            f"{cost.runs:,.10g}",
            _bytes(cost.totals.bytes_read),
            _bytes(cost.needless_bytes),
            *([f"{cost.price_a_day or 0:,.2f}"] if has_price else []),
        ]
        for cost in costs[:MOST_TABLES]
    ]
    lines = [titles, ["---"] * len(titles), *rows]
    more = f"\n\n{len(costs) - MOST_TABLES:,} more tables" if len(costs) > MOST_TABLES else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + more


def _bytes(count: int | None) -> str:
    return "" if count is None else bytes_text(count)
