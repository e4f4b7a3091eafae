"""Writers whose bounds prove that there is no NaN."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_core.format.provenance import TYPE_ORDER, Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.trust.trust_policy import trust

MR = "parquet-mr version 1.17.0 (build 0)"
SPARK = {"org.apache.spark.version": "4.3.0"}
COLUMN = LeafColumn(("a",), 0, Physical.DOUBLE, pa.float64(), SortOrder.FLOATING, 1, 0)


@pytest.mark.parametrize(
    ("created_by", "keys", "order", "proven", "why"),
    [
        (MR, SPARK, TYPE_ORDER, True, "Spark's writer puts NaN into the maximum"),
        (MR, {}, TYPE_ORDER, False, "a tool may have copied the row groups of another writer"),
        (MR, SPARK | {"original.created.by": "x"}, TYPE_ORDER, False, "a tool did"),
        ("parquet-mr version 1.18.0 (build 0)", SPARK, TYPE_ORDER, False, "since then NaN is left out, and counted"),
        ("parquet-mr version 1.9.0 (build 0)", SPARK, TYPE_ORDER, False, "it compared otherwise"),
        ("parquet-cpp-arrow version 26.0.1", SPARK, TYPE_ORDER, False, "it leaves NaN out"),
        (MR, SPARK, 2, False, "another order leaves NaN out"),
    ],
)
def test_who_puts_nan_among_the_bounds(created_by, keys, order, proven, why):
    assert trust(COLUMN, Provenance((COLUMN,), (order,), keys, created_by)).nan_in_bounds is proven, why
