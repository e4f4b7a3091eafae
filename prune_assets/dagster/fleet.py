"""One page about all tables: wasted bytes, and the effect of the last optimize."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.layout.spec import Severity
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.asset_options import AssetOptions, asset_with
from prune_assets.dagster.optimizing import forecast, layout_now
from prune_assets.dagster.workload import load_materialized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.reads import WorkloadReads
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.dagster.layout_table import LayoutTable
    from prune_assets.writing.result import OptimizeResult

_SUMS = ("needless bytes", "workload bytes", "bytes to rewrite", "layout errors", "deleted rows")
_LEVELS = "▁▂▃▄▅▆▇█"
# Maximum number of earlier pages in the trend, and of a table's observations that are searched for its last optimize.
_PAGES, _EVENTS = 12, 20


class _EarlierPage(NamedTuple):
    """An earlier page of the fleet asset.

    `at`: time of the page (seconds since 1970).
    `shares`: per table, the share of its bytes that the workload would have read.
    """

    at: float
    shares: dict[str, float]


def build_fleet_asset(
    tables: "Sequence[LayoutTable]", *, key: AssetName = "fleet", **options: Unpack[AssetOptions]
) -> dg.AssetsDefinition:
    """Build an asset that ranks tables by the cost of their layout, from metadata alone.

    >>> from prune_assets.dagster import LayoutTable, build_fleet_asset
    >>> orders = LayoutTable("orders", "lake/orders", predicates={"one_day": "day = DATE '2024-01-01'"})
    >>> build_fleet_asset([orders], group_name="upkeep").key.to_user_string()
    'fleet'

    Its page has one table row per table: wasted bytes, files that need an optimize, their overlap depth, errors of
    the layout, deleted rows that readers still read, and the bytes that the last 30 MERGEs opened for each byte that
    they rewrote; the costliest table comes first. Tables that cannot be read come before all others, with the reason.

    With a `workload`, wasted bytes are the bytes that real queries read without selecting a row, according to Spark's
    event logs. Without a workload, they are the bytes that the predicates keep now, minus the bytes that they would
    keep after an optimize.

    With a workload the page also shows how many bytes its queries would read from the current files (`workload bytes`,
    and their share), the trend of that share over the last pages, and the effect of the last optimize. Dagster plots
    the sums.

    All other options are passed to Dagster's `asset`.
    """
    defaults: dict[str, Any] = {
        "deps": [kept.key for kept in tables],
        "description": "All tables, ranked by what their layout costs.",
    }

    @asset_with(options, defaults, key=asset_key_of(key))
    def fleet(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        loaded: dict[Any, Workload | Sequence[str]] = {}
        rows = [_row(kept, loaded) for kept in tables]
        before = _earlier(context)
        rows = [row | _history(context.instance, kept.key, row, before) for kept, row in zip(tables, rows, strict=True)]
        rows.sort(key=lambda row: (not row["problem"], -row["needless bytes"], -row["bytes to rewrite"]))
        sums = {key: sum(row[key] for row in rows) for key in _SUMS}
        return dg.MaterializeResult(
            metadata={
                "prune/tables": len(rows),
                "prune/fleet": dg.MetadataValue.table([dg.TableRecord(row) for row in rows]),
                "prune/unreadable_tables": sum(bool(row["problem"]) for row in rows),
                **{f"prune/{key.replace(' ', '_')}": value for key, value in sums.items()},
            }
        )

    return fleet


def _row(kept: "LayoutTable", loaded: "dict[Any, Workload | Sequence[str]]") -> dict[str, Any]:
    """Return the page's row of a table.

    `problem` holds the reason if the table cannot be read.
    """
    from prune_assets.checks.health.health import check_deletes, last_merges
    from prune_assets.checks.layout_proof import check

    row: dict[str, Any] = {
        "table": kept.key.to_user_string(),
        "needless bytes": 0,
        "queries": 0.0,
        "workload bytes": 0,
        "share read": 0.0,
        "trend": "",
        "optimize brought": "",
        "files": 0,
        "files to rewrite": 0,
        "bytes to rewrite": 0,
        "overlap": "",
        "layout errors": 0,
        "deleted rows": 0,
        "share deleted": 0.0,
        "most delete files": 0,
        "opened per rewritten byte": 0.0,
        "problem": "",
    }
    try:
        optimize = forecast(kept)
        findings = check(str(kept.table), layout=layout_now(kept), rows=False)
        reads = _reads(kept, loaded)
        debt, _ = check_deletes(kept.table)
        merges = last_merges(kept.table)
    except PruneError as error:
        return row | {"problem": str(error)}
    row |= {
        "needless bytes": _needless(optimize, reads),
        "files": optimize.considered,
        "files to rewrite": len(optimize.picked),
        "bytes to rewrite": optimize.picked_bytes,
        "overlap": "" if optimize.depth_before is None else f"{optimize.depth_before:.2f}",
        "layout errors": sum(finding.severity is Severity.ERROR for finding in findings),
    }
    if reads is not None:
        share = reads.today / max(reads.whole, 1)
        row |= {"queries": float(reads.runs), "workload bytes": reads.today, "share read": share}
    if debt is not None:
        most = int(debt.all_delete_files.max(initial=0))
        row |= {"deleted rows": debt.deleted_rows, "share deleted": debt.share, "most delete files": most}
    if merges is not None and merges.ratio is not None:
        row["opened per rewritten byte"] = merges.ratio
    return row


def _reads(kept: "LayoutTable", loaded: "dict[Any, Workload | Sequence[str]]") -> "WorkloadReads | None":
    """Return the bytes that the table's workload reads; None without a workload.

    `loaded`: workloads read so far, so that a workload of several tables is read once.
    """
    if kept.workload is None:
        return None
    from prune_assets.advisor.reads import workload_reads

    name = str(kept.workload)
    source = (name, kept.latest, str(kept.table) if name.endswith(".sql") else "")
    if source not in loaded:
        loaded[source] = load_materialized(kept)
    return workload_reads(kept.table, loaded[source])


def _needless(optimize: "OptimizeResult", reads: "WorkloadReads | None") -> int:
    if reads is not None and reads.needless is not None:
        return reads.needless
    return sum(max(0, one.before - one.predicted) for one in optimize.predicates if one.predicted is not None)


def _earlier(context: dg.AssetExecutionContext) -> list[_EarlierPage]:
    """Return the last pages, oldest first."""
    found = []
    for record in context.instance.fetch_materializations(context.asset_key, limit=_PAGES).records[::-1]:
        page = record.asset_materialization and record.asset_materialization.metadata.get("prune/fleet")
        rows = [it.data for it in page.records] if isinstance(page, dg.TableMetadataValue) else []
        shares = {str(row["table"]): float(row["share read"] or 0) for row in rows if row.get("queries")}
        found.append(_EarlierPage(record.timestamp, shares))
    return found


def _history(
    instance: dg.DagsterInstance, key: dg.AssetKey, row: dict[str, Any], before: "Sequence[_EarlierPage]"
) -> dict[str, str]:
    """Return the trend of the share of bytes that queries read, and the effect of the last optimize.

    `before`: earlier pages, oldest first.

    The result has one string for each column of the page.
    """
    if not row["queries"]:
        return {}
    table, now = row["table"], row["share read"]
    shares = [*(then.shares[table] for then in before if table in then.shares), now]
    trend = "".join(_LEVELS[min(int(share * len(_LEVELS)), len(_LEVELS) - 1)] for share in shares)
    at = _optimized(instance, key)
    was = [then.shares[table] for then in before if at is not None and then.at < at and table in then.shares]
    if at is None or not was:
        return {"trend": trend}
    day = dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%d")
    return {"trend": trend, "optimize brought": f"{was[-1]:.1%} -> {now:.1%} of the bytes, {day}"}


def _optimized(instance: dg.DagsterInstance, key: dg.AssetKey) -> float | None:
    """Return the time when `optimize_job` last rewrote files of a table.

    None if no event records it.
    """
    for record in instance.fetch_observations(key, limit=_EVENTS).records:
        rewritten = record.asset_observation and record.asset_observation.metadata.get("prune/files_rewritten")
        if rewritten and rewritten.value:
            return record.timestamp
    return None
