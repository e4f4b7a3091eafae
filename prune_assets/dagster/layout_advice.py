"""Layout advice for real queries: an asset and a check."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import dagster as dg

from parquet_core.errors import PruneError, WrongUse
from parquet_core.quantities import bytes_text, refuse_no_share
from prune_assets.dagster.asset_options import AssetOptions, Dependency, asset_with, dependency
from prune_assets.dagster.checks import unreadable_result
from prune_assets.dagster.workload import load_materialized
from prune_assets.report.markdown import as_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prune_assets.advisor.result import LayoutAdvice
    from prune_assets.dagster.layout_table import LayoutTable

_CHECK = "layout_fits_queries"
_BAR = 24


def advice(
    self: "LayoutTable",
    *,
    reports: "Path | str | None" = None,
    key_prefix: "str | Sequence[str]" = "layout_advice",
    **options: Unpack[AssetOptions],
) -> dg.AssetsDefinition:
    """Make an asset that advises the table's layout for its workload.

    >>> from prune_assets.dagster import LayoutTable
    >>> orders = LayoutTable("orders", "lake/orders", workload="lake/workloads", latest=28)
    >>> orders.advice().key.to_user_string()
    'layout_advice/orders'

    The page of the asset ranks layouts by the bytes that the queries would read, next to the bytes of today's files,
    and contains the `layout.yaml` to apply. The asset reads metadata and a sample of the rows, changes nothing, and
    does not start Spark. Run it on a schedule, for example weekly.

    `reports`: a folder that gets the advice as an HTML page. `deps`: dependencies in addition to the table's asset,
    such as the workload's asset. All other options are passed to Dagster's `asset`.

    Raises WrongUse if the table has no workload.
    """
    _require_workload(self)
    deps = [dependency(each) for each in options.get("deps") or ()]
    defaults: dict[str, Any] = {
        "group_name": "layout_advice",
        "description": f"The layout of {self.key.to_user_string()} that suits its queries.",
        "deps": [self.key],
    }

    @asset_with({**options, "deps": deps}, defaults, key=self.key.with_prefix(key_prefix))
    def layout_advice(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        advised = _advice(self, deps)
        context.log.info(str(advised))
        return dg.MaterializeResult(metadata=_metadata(advised) | _page(advised, reports, self.key))

    return layout_advice


def advice_check(
    self: "LayoutTable",
    *,
    max_share: float = 0.5,
    additional_deps: "Iterable[Dependency]" = (),
    name: str = _CHECK,
) -> dg.AssetChecksDefinition:
    """Return a check that warns if another layout would save the workload many bytes.

    >>> from prune_assets.dagster import LayoutTable
    >>> check = LayoutTable("orders", "lake/orders", workload="lake/workloads").advice_check()
    >>> [key.name for key in check.check_keys]
    ['layout_fits_queries']

    `max_share`: the check warns if the advised layout reads less than this share of today's bytes. The check never
    blocks.
    `additional_deps`: dependencies in addition to the table's asset, such as the workload's asset.

    Raises WrongUse if the table has no workload or `max_share` is not a share.
    """
    _require_workload(self)
    refuse_no_share("max_share", max_share, "today's bytes", example=0.5)
    deps = [dependency(each) for each in additional_deps]

    @dg.asset_check(
        asset=self.key,
        name=name,
        additional_deps=deps,
        description=f"No other layout makes the queries read less than {max_share:.0%} of today's bytes.",
    )
    def layout_advice_check() -> dg.AssetCheckResult:
        try:
            advice = _advice(self, deps)
        except PruneError as error:
            return unreadable_result(name, self.key, dg.AssetCheckSeverity.WARN, error)
        saves = advice.advised is not None and advice.advised.bytes < max_share * advice.today
        return dg.AssetCheckResult(
            passed=not saves,
            severity=dg.AssetCheckSeverity.WARN,
            description=advice.verdict,
            metadata=_metadata(advice),
        )

    return layout_advice_check


def _require_workload(table: "LayoutTable") -> None:
    if table.workload is None:
        raise WrongUse(f"{table.key.to_user_string()}: advice needs a workload; give LayoutTable(.., workload=..)")


def _advice(table: "LayoutTable", deps: "Sequence[dg.AssetDep]") -> "LayoutAdvice":
    from prune_assets.advisor.advise import advise

    return advise(table.table, workload=load_materialized(table, deps))


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
    """Return a Markdown table of layouts.

    Each row has a bar whose length shows the bytes that the queries would read.
    """
    lines = ["| layout | one run of the workload reads, of the columns that its queries read | |", "|---|---|---|"]
    for title, size, note in advice.bars():
        bar = "█" * max(round(_BAR * size / max(advice.whole, 1)), 1)
        lines.append(f"| {as_code(title)}{note} | {bytes_text(size)} | {bar} |")
    return "\n".join(lines)


def _page(advice: "LayoutAdvice", reports: "Path | str | None", key: dg.AssetKey) -> dict[str, Any]:
    if reports is None:
        return {}
    from prune_assets.report.output import write_whole

    Path(reports).mkdir(parents=True, exist_ok=True)
    path = Path(reports) / f"{'_'.join(key.path)}.html"
    write_whole(path, advice.to_html())
    return {"prune/page": dg.MetadataValue.path(str(path))}
