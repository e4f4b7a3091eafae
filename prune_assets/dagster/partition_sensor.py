"""A sensor that detects changed partitions of a table and requests their checks."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import dagster as dg

from parquet_core.errors import PruneError, WrongUse
from parquet_core.printable import listed
from prune_assets.dagster.partitions import (
    is_window,
    kind_of,
    kinds_of_partitions,
    multi_partitions,
    time_type,
    value_of,
)
from prune_assets.tables.changed_partitions import fingerprint_of, partition_fingerprints
from prune_assets.tables.changes import table_fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prune_assets.dagster.layout_table import LayoutTable


def partition_sensor(
    self: LayoutTable,
    *,
    checks: Sequence[dg.AssetChecksDefinition] | None = None,
    max_runs: int = 10,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """Return a sensor that checks each partition whose files changed.

    >>> import tempfile
    >>> import dagster as dg, pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable
    >>> days = dg.DailyPartitionsDefinition(start_date="2024-01-01")
    >>> layout = pr.LayoutSpec(partition_by=["day"], sort_by=["id"])
    >>> ids = LayoutTable("ids", tempfile.mkdtemp(), layout=layout, partitions_def=days, partition_expr="day")
    >>> rows = pa.table({"day": ["2024-01-01", "2024-01-02"], "id": [1, 2]})
    >>> pq.write_to_dataset(rows, ids.table, partition_cols=["day"])
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # Dagster calls partitions of checks a preview
    ...     sensor = ids.partition_sensor()
    >>> [request.tags["dagster/partition"] for request in sensor(dg.build_sensor_context()).run_requests]
    ['2024-01-01', '2024-01-02']

    A tick costs one listing, and a read of the Delta log if the table changed; it opens no data file and does not start
    Spark. The cursor has one fingerprint per partition. A partition is therefore checked once per tick, however often
    it changed since the last tick, and again after files were removed or rewritten, or lost rows to a deletion vector.
    A partition without files is not checked.

    `checks`: checks that run by partition, by default `checks(by_partition=True)`. Files whose values match no
    partition of the table are ignored; the tick's log names them.
    `max_runs`: maximum number of runs that a tick requests, one per partition; later ticks request the rest.

    Raises WrongUse if the table has no partitions, or if a check of the asset does not run by partition.
    """
    asset_key, table, partition_expr = self.key, self.table, self.partition_expr
    keys, partitions = _checks_and_partitions(self, [self.checks(by_partition=True)] if checks is None else checks)
    assert partition_expr is not None  # `check_partitions` requires it
    if max_runs < 1:
        raise WrongUse(f"max_runs={max_runs}: how many runs a tick may request, at least 1")
    columns = [partition_expr] if isinstance(partition_expr, str) else list(partition_expr.values())

    @dg.sensor(
        name=name or f"{asset_key.to_python_identifier()}_changed_partitions",
        asset_selection=dg.AssetSelection.assets(asset_key),
        minimum_interval_seconds=minimum_interval_seconds,
        description=f"Requests the checks of each partition of {asset_key.to_user_string()} whose files change.",
    )
    def changed_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        seen: dict[str, Any] = json.loads(context.cursor) if context.cursor else {"table": None, "partitions": {}}
        try:
            whole = table_fingerprint(table)
            if whole == seen["table"]:
                return dg.SensorResult(skip_reason=f"{asset_key.to_user_string()}: no new files", cursor=context.cursor)
            values = partition_fingerprints(table, columns)
            known = PartitionKeys(partitions, partition_expr, kinds_of_partitions(str(table)))
            now, strays = _by_key(values, columns, known)
        except PruneError as error:
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        if strays:
            context.log.warning(
                "%s: no partitions of the asset, so not checked: %s", asset_key.to_user_string(), listed(strays)
            )
        before = {key: tuple(found) for key, found in seen["partitions"].items() if key in now}
        changed = sorted(key for key in now if key not in before or before[key][0] != now[key])
        # The count makes the run key unique if a partition returns to files that it had before.
        counts = {key: seen["partitions"].get(key, ("", 0))[1] + 1 for key in changed[:max_runs]}
        requests = [
            dg.RunRequest(
                run_key=f"{asset_key.to_user_string()}:{key}:{count}:{now[key]}:{whole}",
                # A tag, because `partition_key` is for runs of assets, and this run has only checks.
                tags={"dagster/partition": key},
                asset_selection=[],
                asset_check_keys=keys,
            )
            for key, count in counts.items()
        ]
        kept = before | {key: (now[key], count) for key, count in counts.items()}
        done = len(changed) <= max_runs
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else f"{asset_key.to_user_string()}: no partition changed",
            # Without the table's fingerprint the next tick compares all partitions again and requests the rest.
            cursor=json.dumps({"table": whole if done else None, "partitions": kept}, sort_keys=True),
        )

    return changed_partitions


def _checks_and_partitions(
    table: LayoutTable, checks: Sequence[dg.AssetChecksDefinition]
) -> tuple[list[dg.AssetCheckKey], dg.PartitionsDefinition[Any]]:
    """Return the keys of a table's checks, and its partitions."""
    asset, partitions = table.key, table.partitions_def
    specs = [spec for definition in checks for spec in definition.check_specs if spec.asset_key == asset]
    if not specs:
        raise WrongUse(f"checks: {asset.to_user_string()} has no check in `checks`; add its layout checks")
    for spec in specs:
        if spec.partitions_def is None or spec.partitions_def != partitions:
            raise WrongUse(
                f"checks: {spec.name} of {asset.to_user_string()} does not run by the partitions of the table; "
                "make them by checks(by_partition=True), and use `sensor` for checks of the whole table"
            )
    assert partitions is not None
    return sorted(spec.key for spec in specs), partitions


def _by_key(
    values: Mapping[tuple[str | None, ...], str], columns: Sequence[str], known: PartitionKeys
) -> tuple[dict[str, str], list[str]]:
    """Return the fingerprint of each partition of the asset, and partition values that match no partition.

    `values`: fingerprint of the files with the same partition values.
    """
    parts_by_key: dict[str, list[str]] = {}
    strays = []
    for of_files, fingerprint in sorted(values.items(), key=lambda each: str(each[0])):
        keys = known.of(dict(zip(columns, of_files, strict=True)))
        if not keys:
            strays.append("/".join("null" if value is None else value for value in of_files))
        for key in keys:
            parts_by_key.setdefault(key, []).append(fingerprint)
    return {key: fingerprint_of(parts) for key, parts in parts_by_key.items()}, strays


class PartitionKeys:
    """Partition keys by the values of partition columns.

    `columns`: as in `partition_predicate`; `kinds`: Spark's type names by column of the table.
    """

    def __init__(
        self, partitions: dg.PartitionsDefinition[Any], columns: str | Mapping[str, str], kinds: Mapping[str, str]
    ) -> None:
        if isinstance(columns, str):
            self._dimensions = {"": _Dimension(partitions, columns, kind_of(kinds, columns))}
        else:
            dimension = multi_partitions(partitions).get_partitions_def_for_dimension
            self._dimensions = {
                name: _Dimension(dimension(name), column, kind_of(kinds, column)) for name, column in columns.items()
            }

    def of(self, values: Mapping[str, str | None]) -> list[str]:
        """Return the keys of the partitions whose predicates select files with these partition values.

        `values`: strings by column, from the log or from directory names; None is null.
        """
        keys = [dimension.keys_of(values[dimension.column]) for dimension in self._dimensions.values()]
        if "" in self._dimensions:
            return keys[0]
        return [str(dg.MultiPartitionKey(dict(zip(self._dimensions, each, strict=True)))) for each in product(*keys)]


@dataclass(frozen=True)
class _Dimension:
    """Partitions of one dimension, and the column that holds their values."""

    partitions: dg.PartitionsDefinition[Any]
    column: str
    kind: str

    def keys_of(self, text: str | None) -> list[str]:
        """Return the keys of the partitions that contain a value."""
        if text is None:
            return []
        if isinstance(self.partitions, dg.TimeWindowPartitionsDefinition):
            if is_window(self.partitions, {self.column: self.kind}, self.column):
                return self._windows_with(self.partitions, text)
            if self.partitions.has_partition_key(text):
                return [text]  # avoids listing all keys
        value = value_of(self.column, self.kind, text)
        return [] if value is None else self._keys_by_value.get(value.as_py(), [])

    @cached_property
    def _keys_by_value(self) -> dict[Any, list[str]]:
        """Keys by the value that their predicate selects.

        `01` and `1` select the same number.
        """
        found = defaultdict(list)
        for key in self.partitions.get_partition_keys():
            value = value_of(self.column, self.kind, key)
            if value is not None:
                found[value.as_py()].append(key)
        return found

    def _windows_with(self, partitions: dg.TimeWindowPartitionsDefinition, text: str) -> list[str]:
        """Return the keys of the time windows that contain a date or time."""
        of_type = time_type(self.column, self.kind)
        try:
            value, instants = of_type.instants_of(datetime.fromisoformat(text), ZoneInfo(partitions.timezone))
        except ValueError:
            return []
        times = {instant.timestamp() for instant in instants}
        keys = {partitions.get_partition_key_for_timestamp(time) for time in times}
        return sorted(
            key
            for key in keys
            if partitions.has_partition_key(key)
            and value in of_type.values_of(partitions.time_window_for_partition_key(key))
        )
