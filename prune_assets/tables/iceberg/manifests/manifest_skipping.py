"""The list of manifests as evidence: the range of partition values in each manifest, before one of them is read.

Bounds of `day(ts)` in [19700, 19702] say that `ts` lies in those three days, as `partition_values.py` has it of one
value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, from_numpy
from parquet_core.evidence.min_max import outcomes_from_bounds
from parquet_core.outcomes import Outcomes, unknown
from parquet_core.trust.bounds import Bounds
from prune_assets.tables.iceberg.file_bounds import enclosing
from prune_assets.tables.iceberg.partition_values import buckets, ends_of, tells_nulls
from prune_assets.tables.iceberg.single_values import as_array, decoded, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.manifest import PartitionFieldSummary

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot, PartitionField


def outcomes_of_manifests(leaf: ColumnLeaf, column: IcebergColumn, snapshot: IcebergSnapshot) -> OutcomeArray:
    """Return which outcomes the list of manifests leaves possible for a leaf in the files of each manifest."""
    outcomes = unknown(len(snapshot.summaries))
    for field in snapshot.partition_fields:
        if field.source != column.field_id or field.transform == "void":
            continue
        at = [
            i
            for i, (one, of) in enumerate(zip(snapshot.files.listed, snapshot.summaries, strict=True))
            if one.spec == field.spec and len(of) == snapshot.widths[field.spec]
        ]
        if at:
            some = [snapshot.summaries[i][field.position] for i in at]
            outcomes[at] &= _outcomes(leaf, column, field, some, snapshot)
    return outcomes


def _outcomes(
    leaf: ColumnLeaf,
    column: IcebergColumn,
    field: PartitionField,
    summaries: Sequence[PartitionFieldSummary],
    snapshot: IcebergSnapshot,
) -> OutcomeArray:
    low, high = ([getattr(one, f"{side}_bound") for one in summaries] for side in ("lower", "upper"))
    outcomes = outcomes_from_bounds(leaf, _bounds(column, field.transform, summaries, low, high))
    if field.transform.startswith("bucket["):
        wanted = buckets(leaf, column, field.transform, snapshot.schema.find_type(column.field_id))
        if wanted is not None:
            denied = [_denies(_number(a), _number(b), wanted) for a, b in zip(low, high, strict=True)]
            outcomes[np.array(denied, np.bool_)] &= ~np.uint8(Outcomes.TRUE)
    return outcomes


def _number(value: bytes | None) -> int | None:
    return int.from_bytes(value, "little", signed=True) if value is not None and len(value) == 4 else None


def _denies(low: int | None, high: int | None, wanted: set[int]) -> bool:
    return low is not None and high is not None and low <= high and not any(low <= one <= high for one in wanted)


def _bounds(
    column: IcebergColumn,
    transform: str,
    summaries: Sequence[PartitionFieldSummary],
    low: list[bytes | None],
    high: list[bytes | None],
) -> Bounds:
    """Return bounds of the column in each manifest, as if it were a file of one row; what is not said is not known."""
    if transform == "identity":
        lower, upper = enclosing(decoded(column, low), -0.0), enclosing(decoded(column, high), 0.0)
    else:
        enclose = ends_of(column, transform)
        lower = as_array(column, [None if n is None else enclose(n).low for n in _values(column, transform, low)])
        upper = as_array(column, [None if n is None else enclose(n).high for n in _values(column, transform, high)])
    nothing = pa.nulls(1, lower.type)[0]
    wrong = filled(pc.greater(lower, upper), False)  # noqa: FBT003 - in place of nulls
    rows = np.ones(len(summaries), np.int64)
    no_nulls = np.array([one.contains_null is False for one in summaries], np.bool_)
    no_nans = np.array([one.contains_nan is False for one in summaries], np.bool_)
    if not (transform == "identity" or tells_nulls(transform)):
        no_nulls[:] = False
    return Bounds(
        lower=pc.if_else(wrong, nothing, lower),
        upper=pc.if_else(wrong, nothing, upper),
        null_count=from_numpy(np.zeros(len(rows), np.int64), valid=no_nulls),
        row_count=rows,
        nan_count=from_numpy(np.zeros(len(rows), np.int64), valid=no_nans),
    )


def _values(column: IcebergColumn, transform: str, values: list[bytes | None]) -> list[Any]:
    """Return transformed values as numbers, texts or bytes; None for what is not known."""
    if transform.startswith("truncate["):
        return numbers_of(column, values)
    return [_number(value) for value in values]
