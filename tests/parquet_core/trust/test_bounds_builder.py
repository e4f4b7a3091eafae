"""Bounds that are built block by block equal bounds that are built at once."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.format.comparable_values import bounds_type
from parquet_core.format.leaf_type import Physical, SortOrder
from parquet_core.format.schema import LeafColumn
from parquet_core.trust.bounds import Bounds, BoundsBuilder

VALUES = {
    pa.int64(): [3, None, -(2**63), 0, 7],
    pa.int8(): [3, None, -128, 0, 7],
    pa.uint64(): [3, None, 2**64 - 1, 0, 7],
    pa.float64(): [-0.0, None, 1.5, 0.0, -7.25],
    pa.date32(): [3, None, -9, 0, 7],
    pa.timestamp("us"): [3, None, -9, 0, 7],
    pa.bool_(): [True, None, False, True, False],
    pa.string(): [b"a", None, b"", b"xyz", b"\xff"],
    pa.decimal128(20, 2): [Decimal("1.25"), None, Decimal("-3.50"), Decimal("0.00"), Decimal("99.99")],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("cuts", [[0, 5], [0, 1, 2, 5], [0, 2, 3, 4, 5]])
def test_blocks_make_the_whole(kind, cuts):
    column = LeafColumn(("a",), 0, Physical.INT64, kind, SortOrder.SIGNED)
    numbers = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    lower = pa.array(
        VALUES[kind], pa.int32() if kind == pa.date32() else pa.int64() if numbers else bounds_type(column)
    )
    lower = lower.view(kind) if numbers else lower
    whole = Bounds(
        lower=lower,
        upper=lower.take(pa.array([4, 3, 2, 1, 0])),
        null_count=pa.array([0, 1, None, 3, 4], pa.int64()),
        row_count=np.arange(5),
        nan_count=pa.array([None] * 5, pa.int64()),
        min_exact=pa.array([True, None, False, True, None]),
        max_exact=pa.array([False] * 5),
    )
    filled = BoundsBuilder(column, whole.row_count)
    for low, high in pairwise(cuts):
        filled.put(low, whole.take(np.arange(low, high)))
    found = filled.bounds()
    for name in ("lower", "upper", "null_count", "nan_count", "min_exact", "max_exact"):
        assert getattr(found, name).equals(getattr(whole, name)), name
        assert str(getattr(found, name)) == str(getattr(whole, name)), "the sign of a zero counts too"
