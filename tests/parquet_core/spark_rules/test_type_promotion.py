"""File types that can be read as the table's type, and the conversion of their values."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.format.leaf_type import sort_order
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical
from parquet_core.spark_rules.type_promotion import as_read, as_stored, is_read_as
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import bounds_as_read
from tests.parquet_core.written_statistics import written


def leaf(kind, physical=Physical.INT32, **changes):
    return LeafColumn(("a",), 0, physical, kind, sort_order(kind, physical), max_definition_level=1, **changes)


LONG, DOUBLE = leaf(pa.int64(), Physical.INT64), leaf(pa.float64(), Physical.DOUBLE)
SMALL, SHORT, INT, UINT = leaf(pa.int8()), leaf(pa.int16()), leaf(pa.int32()), leaf(pa.uint32())
FLOAT = leaf(pa.float32(), Physical.FLOAT)


def decimal(precision, scale, physical=Physical.INT32):
    return leaf(pa.decimal128(precision, scale), physical)


@pytest.mark.parametrize(
    ("stored", "column"),
    [
        (INT, LONG),
        (SMALL, SHORT),
        (UINT, LONG),
        (INT, DOUBLE),
        (FLOAT, DOUBLE),
        (decimal(4, 2), decimal(15, 2, Physical.INT64)),
        (decimal(4, 2), decimal(6, 4)),
        (decimal(4, 2, Physical.FIXED_LEN_BYTE_ARRAY), decimal(4, 2)),
        (INT, decimal(12, 2, Physical.INT64)),
        (LONG, decimal(20, 0, Physical.FIXED_LEN_BYTE_ARRAY)),
    ],
)
def test_what_is_read_without_a_loss_is_so_one_way_only(stored, column):
    assert is_read_as(stored, column)
    assert stored.type == column.type or not is_read_as(column, stored)


@pytest.mark.parametrize(
    ("stored", "column"),
    [
        (LONG, DOUBLE),
        (UINT, DOUBLE),
        (UINT, INT),
        (INT, leaf(pa.date32())),
        (leaf(pa.date32()), INT),
        (INT, decimal(9, 0)),
        (INT, decimal(11, 2, Physical.INT64)),
        (LONG, decimal(18, 0, Physical.INT64)),
        (UINT, decimal(20, 0, Physical.FIXED_LEN_BYTE_ARRAY)),
        (decimal(4, 2), decimal(5, 4)),
        (decimal(9, 2, Physical.BYTE_ARRAY), decimal(9, 2)),
        (INT, leaf(pa.int64(), Physical.INT64, max_repetition_level=1)),
        (leaf(pa.int32(), unsupported="not yet"), LONG),
        (leaf(None), LONG),
    ],
)
def test_what_is_not(stored, column):
    assert not is_read_as(stored, column)


@pytest.mark.parametrize(
    ("values", "stored", "left"),
    [
        (pa.array([7, 300, 1 << 31, -(1 << 31)]), SMALL, [7, 300, -(1 << 31)]),
        (pa.array([7, -1, 1 << 31, 1 << 32]), UINT, [7, 1 << 31]),
        (pa.array([7.0, 0.5, 1e300, float("inf"), float("nan"), -0.0]), INT, [7, 0]),
        (pa.array([0.5, 0.1, 1e300, -0.0]), FLOAT, [0.5, -0.0]),
        (
            pa.array([Decimal("1.50"), Decimal("1.51"), Decimal("-9.90")]),
            decimal(2, 1),
            [Decimal("1.5"), Decimal("-9.9")],
        ),
        (pa.array([Decimal("1.50"), Decimal("7.00"), Decimal("-3.00")]), INT, [7, -3]),
        (pa.array([Decimal("1.50"), Decimal("99.00")]), decimal(2, 1), None),
    ],
)
def test_literals_become_what_a_file_can_hold(values, stored, left):
    found = as_stored(values, stored)
    assert (found if found is None else found.to_pylist()) == left


def test_nan_and_infinity_stay_in_floats():
    found = as_stored(pa.array([float("nan"), float("-inf")]), FLOAT)
    assert found.type == pa.float32()
    assert str(found.to_pylist()) == "[nan, -inf]"


def test_bounds_of_each_file_are_decoded_by_its_own_type():
    kinds = [leaf(pa.int8()), LONG, leaf(pa.bool_(), Physical.BOOLEAN), INT]
    trusts = [trust(LONG, Provenance((kind,), (1,), {}, "")) for kind in kinds]
    entries = [
        {"rows": 3, "nulls": 1, "min": (5).to_bytes(4, "little"), "max": (7).to_bytes(4, "little")},
        {"rows": 3, "nulls": 0, "min": (1 << 40).to_bytes(8, "little"), "max": (1 << 41).to_bytes(8, "little")},
        {"rows": 3, "nulls": 0, "min": b"\0", "max": b"\1"},
        {"rows": 3, "nulls": 2, "min": (8).to_bytes(4, "little"), "max": (9).to_bytes(4, "little")},
        {"rows": 3, "nulls": 2, "min": (300).to_bytes(4, "little"), "max": (301).to_bytes(4, "little")},
    ]
    found = bounds_as_read(LONG, written(entries), trusts, np.array([3, 1, 2, 0, 0]))
    assert found.lower.type == pa.int64()
    assert found.lower.to_pylist() == [5, 1 << 40, None, 8, None]
    assert found.upper.to_pylist() == [7, 1 << 41, None, 9, None]
    assert found.null_count.to_pylist() == [1, 0, None, 2, 2]


def test_zeros_keep_the_signs_that_widen_them():
    trusts = [trust(DOUBLE, Provenance((FLOAT,), (1,), {}, ""))]
    zero = np.float32(0).tobytes()
    found = bounds_as_read(
        DOUBLE, written([{"rows": 1, "nulls": 0, "min": zero, "max": zero}]), trusts, np.zeros(1, np.int64)
    )
    assert [str(side[0].as_py()) for side in (found.lower, found.upper)] == ["-0.0", "0.0"]
    assert found.nan_count.to_pylist() == [None]
    assert as_read(pa.array([1, 2], pa.int32()), DOUBLE).to_pylist() == [1.0, 2.0]


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize(
    ("entry", "levels", "believed"),
    [
        ({"nulls": 10}, {}, True),
        ({"nulls": 3}, {}, False),
        ({}, {}, False),
        ({"nulls": 10, "min": b"\1\0\0\0", "max": b"\2\0\0\0"}, {}, False),
        ({"nulls": 10}, {"max_definition_level": 0}, False),
        ({"nulls": 10}, {"max_repetition_level": 1}, False),
    ],
)
def test_nulls_alone_are_believed_of_any_type_unless_something_contradicts_them(entry, levels, believed, pages):
    """A required column has none, bounds are of some value, and of a list other things are counted."""
    stored = replace(leaf(pa.string(), Physical.BYTE_ARRAY), **levels)
    judged = trust(LONG, Provenance((stored,), (1,), {}, "parquet-mr version 1.17.0 (build 1)"))
    null_page = {"all_null": entry.get("nulls") == 10} if pages else {}
    statistics = written([{"rows": 10, **entry, **null_page}], pages=pages)
    found = bounds_as_read(LONG, statistics, [judged], np.zeros(1, np.int64))
    assert found.null_count.to_pylist() == [10 if believed else None]
    assert (found.lower.to_pylist(), found.upper.to_pylist()) == ([None], [None])
