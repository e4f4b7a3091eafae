"""Layout advice for real queries: an asset and a check."""
# No `from __future__ import annotations`: Dagster compares the annotation of `context` itself, not its source text.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.quantities import bytes_text, refuse_no_share
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.assets import built_asset
from prune_assets.dagster.checks import unreadable_result
from prune_assets.dagster.workload import load_materialized
from prune_assets.report.markdown import as_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.result import LayoutAdvice
    from prune_assets.advisor.workload.load import WorkloadSource
    from prune_assets.advisor.workload.query_shapes import Workload

_CHECK = "layout_fits_queries"
_BAR = 24


def build_layout_advice_asset(
    table_asset: AssetName,
    *,
    table: "Path | str",
    workload: "Workload | Sequence[str] | str | Path",
    latest: int | None = None,
    pages: "Path | str | None" = None,
    more_deps: "Sequence[AssetName]" = (),
    key_prefix: "str | Sequence[str]" = "layout_advice",
    **asset_options: Any,
) -> dg.AssetsDefinition:
    """Build an asset that advises a table's layout for the queries that ran on it.

    >>> from prune_assets.dagster import build_layout_advice_asset
    >>> advice = build_layout_advice_asset("orders", table="lake/orders", workload="lake/workloads", latest=28)
    >>> advice.key.to_user_string()
    'layout_advice/orders'

    Its page ranks layouts by the bytes that the queries would read, next to the bytes of today's files, and contains
    the `layout.yaml` to apply. It reads metadata and a sample of the rows, changes nothing, and does not start Spark.
    Run it on a schedule, for example weekly.

    `workload`: the folder that `build_workload_asset` fills, a JSON file of `prune workload`, event logs, or a list of
    predicates; `latest`: number of most recent files to use from a folder with a file for each day. `pages`: a folder
    that gets the advice as an HTML page. `more_deps`: dependencies in addition to the table's asset, such as the
    workload's asset. All other options are passed to Dagster's `asset`.
    """
    key, deps = asset_key_of(table_asset), [asset_key_of(dep) for dep in more_deps]
    defaults: dict[str, Any] = {
        "group_name": "layout_advice",
        "description": f"The layout of {key.to_user_string()} that suits its queries.",
    }

    @built_asset(defaults | asset_options, key=key.with_prefix(key_prefix), deps=[key, *deps])
    def layout_advice(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        advice = _advice(table, workload, latest, deps)
        context.log.info(str(advice))
        return dg.MaterializeResult(metadata=_metadata(advice) | _page(advice, pages, key))

    return layout_advice


def build_layout_advice_check(
    asset_key: AssetName,
    table: "str | Path",
    *,
    workload: "Workload | Sequence[str] | str | Path",
    latest: int | None = None,
    max_share: float = 0.5,
    more_deps: "Sequence[AssetName]" = (),
    name: str = _CHECK,
) -> dg.AssetChecksDefinition:
    """Build a check that warns if another layout would save the queries many bytes.

    >>> from prune_assets.dagster import build_layout_advice_check
    >>> check = build_layout_advice_check("orders", "lake/orders", workload="lake/workloads")
    >>> [key.name for key in check.check_keys]
    ['layout_fits_queries']

    `max_share`: the check warns if the advised layout reads less than this share of today's bytes. It never blocks. All
    other arguments as in `build_layout_advice_asset`.

    Raises WrongUse if `max_share` is not a share.
    """
    refuse_no_share("max_share", max_share, "today's bytes", example=0.5)
    asset_key, deps = asset_key_of(asset_key), [asset_key_of(dep) for dep in more_deps]

    @dg.asset_check(
        asset=asset_key,
        name=name,
        additional_deps=deps,
        description=f"No other layout makes the queries read less than {max_share:.0%} of today's bytes.",
    )
    def layout_advice_check() -> dg.AssetCheckResult:
        try:
            advice = _advice(table, workload, latest, deps)
        except PruneError as error:
            return unreadable_result(name, asset_key, dg.AssetCheckSeverity.WARN, error)
        saves = advice.advised is not None and advice.advised.bytes < max_share * advice.today
        return dg.AssetCheckResult(
            passed=not saves,
            severity=dg.AssetCheckSeverity.WARN,
            description=advice.verdict,
            metadata=_metadata(advice),
        )

    return layout_advice_check


def _advice(
    table: "Path | str", workload: "WorkloadSource", latest: int | None, deps: "Sequence[dg.AssetKey]"
) -> "LayoutAdvice":
    from prune_assets.advisor.advise import advise

    return advise(table, workload=load_materialized(workload, table, latest, deps))


def _metadata(advice: "LayoutAdvice") -> dict[str, Any]:
    advised = advice.advised
    shown = {
        "prune/advice": advice.verdict,
        "prune/today_bytes": advice.today,
        "prune/advised_bytes": advice.today if advised is None else advised.bytes,
        "prune/lower_bound_bytes": advice.lower_bound,
        "prune/ranking": dg.MetadataValue.md(_ranking(advice)),
    }
    if advised is not None:
        shown["prune/layout"] = dg.MetadataValue.json(asdict(advised.layout))
        shown["prune/layout_yaml"] = dg.MetadataValue.md(f"```yaml\n{advice.layout_yaml()}```")
    return shown


def _ranking(advice: "LayoutAdvice") -> str:
    """Return a Markdown table with a bar for each layout.

    Its length shows the bytes that the queries read.
    """
    lines = ["| layout | one run of the workload reads, of the columns that its queries read | |", "|---|---|---|"]
    for title, size, note in advice.bars():
        bar = "█" * max(round(_BAR * size / max(advice.whole, 1)), 1)
        lines.append(f"| {as_code(title)}{note} | {bytes_text(size)} | {bar} |")
    return "\n".join(lines)


def _page(advice: "LayoutAdvice", pages: "Path | str | None", key: dg.AssetKey) -> dict[str, Any]:
    if pages is None:
        return {}
    from prune_assets.report.output import write_whole

    Path(pages).mkdir(parents=True, exist_ok=True)
    path = Path(pages) / f"{'_'.join(key.path)}.html"
    write_whole(path, advice.to_html())
    return {"prune/page": dg.MetadataValue.path(str(path))}
