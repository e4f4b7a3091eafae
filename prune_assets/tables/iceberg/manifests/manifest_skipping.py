"""Skip manifests before they are read, by the ranges of partition values in the manifest list.

Bounds [19700, 19702] of `day(ts)` imply that `ts` is in these three days, like single values in `partition_values.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_core.arrow_arrays import valid_flags
from parquet_core.format.compact import MISSING
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes, unknown
from parquet_core.trust.count_rules import ClaimedBounds, consistent_bounds
from prune_assets.tables.iceberg.file_bounds import claimed_bounds
from prune_assets.tables.iceberg.partition_values import buckets, ends_of, preserves_nulls
from prune_assets.tables.iceberg.single_values import as_array, bytes_array, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.manifests.manifest_list import FieldSummary
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot, PartitionField

_CUT_AT = 16


def outcomes_of_manifests(leaf: ColumnLeaf, column: IcebergColumn, snapshot: IcebergSnapshot) -> OutcomeArray:
    """Return the outcomes of a leaf for each manifest, from the manifest list."""
    outcomes = unknown(len(snapshot.summaries))
    for field in snapshot.partition_fields:
        if field.source != column.field_id or field.transform == "void":
            continue
        indexes = [
            i
            for i, (manifest, of) in enumerate(zip(snapshot.files.listed, snapshot.summaries, strict=True))
            if manifest.spec == field.spec and len(of) == len(snapshot.partition_ids[field.spec])
        ]
        if indexes:
            summaries = [snapshot.summaries[i][field.position] for i in indexes]
            outcomes[indexes] &= _outcomes(leaf, column, field, summaries, snapshot)
    return outcomes


def _outcomes(
    leaf: ColumnLeaf,
    column: IcebergColumn,
    field: PartitionField,
    summaries: Sequence[FieldSummary],
    snapshot: IcebergSnapshot,
) -> OutcomeArray:
    low, high = ([getattr(summary, f"{side}_bound") for summary in summaries] for side in ("lower", "upper"))
    outcomes = outcomes_from_bounds(leaf, _bounds(column, field.transform, summaries, low, high))
    if field.transform.startswith("bucket["):
        wanted = buckets(leaf, column, field.transform, snapshot.schema.find_type(column.field_id))
        if wanted is not None:
            denied = [_excludes_buckets(_integer(a), _integer(b), wanted) for a, b in zip(low, high, strict=True)]
            outcomes[np.array(denied, np.bool_)] &= ~np.uint8(Outcomes.TRUE)
    return outcomes


def _integer(value: bytes | None) -> int | None:
    return int.from_bytes(value, "little", signed=True) if value is not None and len(value) == 4 else None


def _excludes_buckets(low: int | None, high: int | None, wanted: set[int]) -> bool:
    return low is not None and high is not None and low <= high and not any(low <= bucket <= high for bucket in wanted)


def _bounds(
    column: IcebergColumn,
    transform: str,
    summaries: Sequence[FieldSummary],
    low: list[bytes | None],
    high: list[bytes | None],
) -> Bounds:
    """Return bounds of the column in each manifest; each manifest counts as one row."""
    lower, upper = bytes_array(low), bytes_array(high)
    rows = np.ones(len(summaries), np.int64)
    no_nulls, no_nans = _absences(summaries, valid_flags(lower) | valid_flags(upper), column)
    if not (transform == "identity" or preserves_nulls(transform)):
        no_nulls[:] = False
    counts = {"rows": rows, "values": rows, "null_count": np.where(no_nulls, 0, MISSING)}
    counts["nan_count"] = np.where(no_nans, 0, MISSING)
    if transform == "identity":
        whole = bytes_array([_round_up(value) for value in high]) if _is_text(column) else upper
        return consistent_bounds(claimed_bounds(column, lower, whole, **counts))
    enclose = ends_of(column, transform)
    ends = map(_ordered, *(_values(column, transform, side) for side in (low, high)))
    firsts, lasts = zip(*ends, strict=True)
    claimed = ClaimedBounds(
        as_array(column, [None if value is None else enclose(value).low for value in firsts]),
        as_array(
            column, [None if value is None else _untruncated_upper(column, enclose(value).high) for value in lasts]
        ),
        bounded=valid_flags(lower) | valid_flags(upper),
        nan_bound=np.zeros(len(rows), np.bool_),
        **counts,
    )
    return consistent_bounds(claimed)


def _is_text(column: IcebergColumn) -> bool:
    return column.type_name in {"string", "binary"}


def _untruncated_upper(column: IcebergColumn, value: Any) -> Any:
    encoded = value.encode() if isinstance(value, str) else value
    return _round_up(encoded) if _is_text(column) else value


def _round_up(upper: bytes | None) -> bytes | None:
    """Return an upper bound that is valid even if it was truncated.

    DuckDB truncates strings to 16 bytes or characters without rounding up (duckdb/duckdb-iceberg#1047).
    """
    if upper is None or _CUT_AT not in {len(upper), len(upper.decode(errors="replace"))}:
        return upper
    head = upper.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


def _absences(
    summaries: Sequence[FieldSummary], bounded: NDArray[np.bool_], column: IcebergColumn
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return flags of manifests without nulls, and of manifests without NaN.

    Iceberg's specification requires bounds unless all values are null or NaN. So a manifest without bounds contains
    nulls or NaN, whatever its flags claim.
    """
    no_nulls = np.array([summary.contains_null is False for summary in summaries], np.bool_)
    no_nans = np.array([summary.contains_nan is False for summary in summaries], np.bool_)
    contradicted = ~bounded & no_nulls & (no_nans | (column.type_name not in {"float", "double"}))
    return no_nulls & ~contradicted, no_nans & ~contradicted


def _ordered(low: Any, high: Any) -> tuple[Any, Any]:
    """Return both bounds of transformed values; None for both if the lower exceeds the upper."""
    return (None, None) if low is not None and high is not None and low > high else (low, high)


def _values(column: IcebergColumn, transform: str, values: list[bytes | None]) -> list[Any]:
    """Return transformed values as numbers, strings or bytes; None if unknown."""
    if transform.startswith("truncate["):
        return numbers_of(column, values)
    return [_integer(value) for value in values]
