"""A sensor that detects changed tables and requests their checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from parquet_core.errors import PruneError, WrongUse
from prune_assets.tables.changes import poll, polled_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.dagster.layout_table import LayoutTable


def sensor(
    self: LayoutTable,
    *,
    checks: Sequence[dg.AssetChecksDefinition] | None = None,
    mode: Literal["run", "report"] = "run",
    observe: bool = False,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """Return a sensor that checks the table if its files or version changed.

    >>> from prune_assets.dagster import LayoutTable
    >>> LayoutTable("orders", "lake/orders").sensor().name
    'orders_changed'

    `checks`: checks of the table, by default `checks()`. All other arguments as in `build_new_files_sensor`.
    """
    return build_new_files_sensor(
        [self],
        checks=[self.checks()] if checks is None else checks,
        mode=mode,
        observe=observe,
        name=name or f"{self.key.to_python_identifier()}_changed",
        minimum_interval_seconds=minimum_interval_seconds,
    )


def build_new_files_sensor(
    tables: Sequence[LayoutTable],
    *,
    checks: Sequence[dg.AssetChecksDefinition],
    name: str = "new_files",
    mode: Literal["run", "report"] = "run",
    observe: bool = False,
    minimum_interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """Build a sensor that checks each table whose files or version changed.

    >>> import tempfile
    >>> import dagster as dg, pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable, build_new_files_sensor
    >>> ids = LayoutTable("ids", tempfile.mkdtemp(), layout=pr.LayoutSpec(sort_by=["id"]))
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{ids.table}/part-0.parquet")
    >>> sensor = build_new_files_sensor([ids], checks=[ids.checks()])
    >>> (request,) = sensor(dg.build_sensor_context()).run_requests
    >>> len(request.asset_check_keys)
    5

    The cursor has, per table, a fingerprint (the version of a Delta table; path, size, modification time and ETag of
    every data file of plain Parquet) and the number of changes seen. A tick therefore costs one listing and does not
    start Spark, and files that reappear count as a change. A table is checked once per tick, however often it changed
    since the last tick. If a table cannot be listed, the skip reason names it.

    `mode`: "run" requests one run for each table that changed; "report" evaluates the checks in the tick and reports
    their results without a run. "report" suits checks that take seconds: Dagster ends a tick after a minute
    (DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS).
    `observe`: True to report the fingerprint of a changed table to Dagster as its data version, for tables that no
    asset of this Dagster writes.

    Raises WrongUse for a table without a check in `checks`, and for checks that run by partition.
    """
    if mode not in {"run", "report"}:
        raise WrongUse(f"mode={mode!r}: choose 'run' or 'report'")
    places = {each.key: each.table for each in tables}
    check_keys = {
        asset: sorted(key for definition in checks for key in definition.check_keys if key.asset_key == asset)
        for asset in places
    }
    for asset, keys in check_keys.items():
        if not keys:
            raise WrongUse(f"tables: {asset.to_user_string()} has no check in `checks`; add its layout checks")
    _refuse_partitions(checks)

    @dg.sensor(
        name=name,
        # Not a selection of the checks, because the UI would show the Python repr of that selection.
        asset_selection=dg.AssetSelection.assets(*places),
        minimum_interval_seconds=minimum_interval_seconds,
        description="Requests the layout checks of a table when its files change.",
    )
    def new_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        seen = polled_states(context.cursor)
        requests: list[dg.RunRequest] = []
        events: list[dg.AssetCheckEvaluation | dg.AssetObservation] = []
        reasons = []
        for asset, table in places.items():
            label = asset.to_user_string()
            try:
                now = poll(table, seen.get(label))
            except PruneError as error:
                reasons.append(str(error))
                continue
            if now == seen.get(label):
                reasons.append(f"{label}: no new files")
                continue
            seen[label] = now
            if observe:
                events.append(dg.AssetObservation(asset, tags={"dagster/data_version": now.fingerprint}))
            if mode == "report":
                events += _evaluations(asset, checks)
                continue
            # The change count makes the run key unique if a table returns to files that it had before.
            run_key = f"{label}:{now.changes}:{now.fingerprint}"
            requests.append(dg.RunRequest(run_key=run_key, asset_selection=[], asset_check_keys=check_keys[asset]))
        return dg.SensorResult(
            run_requests=requests,
            asset_events=events,
            skip_reason=None if requests or events else "; ".join(reasons),
            cursor=json.dumps({label: found.state for label, found in seen.items()}, sort_keys=True),
        )

    return new_files


def _refuse_partitions(checks: Sequence[dg.AssetChecksDefinition]) -> None:
    for spec in (spec for definition in checks for spec in definition.check_specs):
        if spec.partitions_def is not None:
            raise WrongUse(
                f"checks: {spec.name} of {spec.asset_key.to_user_string()} runs by partition; use "
                "LayoutTable.partition_sensor for it, or checks without by_partition, with a prefix"
            )


def _evaluations(asset: dg.AssetKey, checks: Sequence[dg.AssetChecksDefinition]) -> list[dg.AssetCheckEvaluation]:
    """Evaluate the checks of an asset in this process."""
    evaluations = []
    for definition in checks:
        specs = {spec.key: spec for spec in definition.check_specs if spec.asset_key == asset}
        if not specs:
            continue
        results: Any = definition(dg.build_asset_check_context())
        # A definition with a single check returns its result directly.
        for result in [results] if isinstance(results, dg.AssetCheckResult) else results:
            key = dg.AssetCheckKey(asset, str(result.check_name))
            evaluations.append(
                dg.AssetCheckEvaluation(
                    asset_key=asset,
                    check_name=key.name,
                    passed=result.passed,
                    metadata=result.metadata,
                    severity=result.severity,
                    description=result.description,
                    blocking=specs[key].blocking,
                )
            )
    return evaluations
