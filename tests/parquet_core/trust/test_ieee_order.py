"""Bounds by the IEEE 754 total order, as parquet-java 1.18 writes them: NaN is counted, zeros have a sign."""

from __future__ import annotations

import math
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import BINARY, I64, LIST, STRUCT

import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from prune_assets.reading.arrow_scan import scan_of
from tests.numbered_cases.cases import (
    COLUMN_ORDERS,
    META,
    STATISTICS,
    chunks_of,
    drop,
    edit_footer,
    put,
    value_of,
)

NAN, INF = math.nan, math.inf
DOUBLE = pa.float64()
NEGATIVE_NAN = struct.unpack("<d", bytes.fromhex("000000000000f8ff"))[0]
# Values of each row group, and the bounds that the order gives them.
GROUPS = [
    ([1.0, 2.0, 3.0, None], 1.0, 3.0),
    ([1.0, NAN, 2.0, None], 1.0, 2.0),
    ([NEGATIVE_NAN, 5.0, 6.0, None], 5.0, 6.0),
    ([NAN, NEGATIVE_NAN, NAN, None], NEGATIVE_NAN, NAN),
    ([1.0, NAN, NAN, None], 1.0, 1.0),
    ([-0.0, -0.0, -0.0, None], -0.0, -0.0),
    ([0.0, 0.0, 0.0, None], 0.0, 0.0),
    ([-INF, 0.0, INF, None], -INF, INF),
    ([None, None, None, None], None, None),
]
LITERALS = {
    "1": 1.0,
    "2.5": 2.5,
    "0.0D": 0.0,
    "-0.0D": -0.0,
    "double('NaN')": NAN,
    "double('Infinity')": INF,
    "double('-Infinity')": -INF,
    "100": 100.0,
}


def key(value):
    """Order numbers as SQL does: NaN is equal to NaN and above all others, and both zeros are one."""
    return (1, 0.0) if math.isnan(value) else (0, value + 0.0)


OPERATORS = {
    "=": lambda a, b: key(a) == key(b),
    "<>": lambda a, b: key(a) != key(b),
    "<": lambda a, b: key(a) < key(b),
    "<=": lambda a, b: key(a) <= key(b),
    ">": lambda a, b: key(a) > key(b),
    ">=": lambda a, b: key(a) >= key(b),
}


def ieee(path, *, counted, kind=DOUBLE):
    """Write the groups with bounds by the order, NaN counted or not."""
    values = [value for group, _, _ in GROUPS for value in group]
    rows = pa.table({"x": pa.array(values, kind, from_pandas=False), "id": range(len(values))})
    pq.write_table(rows, path, row_group_size=4, use_dictionary=False)
    form = "<d" if kind == DOUBLE else "<f"

    def change(footer):
        put(footer, COLUMN_ORDERS, LIST, (STRUCT, [[[2, STRUCT, []]], [[1, STRUCT, []]]]))
        for chunk, (group, low, high) in zip(chunks_of(footer, 0), GROUPS, strict=True):
            statistics = value_of(value_of(chunk, META), STATISTICS)
            drop(statistics, 1, 2, 5, 6, 7, 8)
            if low is not None:
                put(statistics, 5, BINARY, struct.pack(form, high))
                put(statistics, 6, BINARY, struct.pack(form, low))
            if counted:
                put(statistics, 9, I64, sum(value is not None and math.isnan(value) for value in group))

    edit_footer(path, change)
    return str(path)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("counted", [True, False])
def test_no_row_is_lost_and_all_is_skipped_that_bounds_exclude(tmp_path, counted, kind):
    table = ieee(tmp_path / "0.parquet", counted=counted, kind=kind)
    for name, literal in LITERALS.items():
        for operator, holds in OPERATORS.items():
            where = f"x {operator} {name}"
            matches = [sum(v is not None and holds(v, literal) for v in group) for group, _, _ in GROUPS]
            planned = pr.plan(table, where=where)
            kept = [group.verdict != "skip" for group in planned.files[0].row_groups]
            assert all(keeps or not count for keeps, count in zip(kept, matches, strict=True)), where
            scan = scan_of(planned, ())
            assert scan.count(scan.kept()) == sum(matches), where
            if counted and literal not in {2.5, 1.0, 100.0}:
                assert kept == [count > 0 for count in matches], where


def test_bounds_are_trusted_and_widened_to_both_zeros(tmp_path):
    index = read_dataset(ieee(tmp_path / "0.parquet", counted=True))
    bounds = index.footers.bounds(index.groups.columns[0])
    assert bounds.nan_count.to_pylist() == [0, 1, 1, 3, 2, 0, 0, 0, 0]
    assert [str(value) for value in bounds.lower.to_pylist()] == [
        *("1.0", "1.0", "5.0", "None", "1.0", "-0.0", "-0.0", "-inf", "None")
    ]
    assert [str(value) for value in bounds.upper.to_pylist()] == [
        *("3.0", "2.0", "6.0", "None", "1.0", "0.0", "0.0", "inf", "None")
    ]


def test_without_a_count_of_nan_what_may_be_nan_is_kept(tmp_path):
    table = ieee(tmp_path / "0.parquet", counted=False)
    (file,) = pr.plan(table, where="x > 1e300").files
    assert [group.verdict != "skip" for group in file.row_groups] == [True] * 8 + [False]
    table = ieee(tmp_path / "0.parquet", counted=True)
    (file,) = pr.plan(table, where="x > 1e300").files
    assert [group.verdict != "skip" for group in file.row_groups] == [
        *(False, True, True, True, True, False, False, True, False)
    ]


@pytest.mark.spark
def test_spark_loses_rows_by_such_bounds_only_where_both_are_one_value(spark, tmp_path):
    table = ieee(tmp_path / "0.parquet", counted=True)
    made = pr.plan(table, where="x > 5", session=spark)
    assert [warning.why for warning in made.report.warnings] == [
        "x: bounds leave out NaN, which SQL sorts above all numbers"
    ]
    right = [5, 8, 10, 12, 13, 14, 17, 18, 30]
    alone = [row["id"] for row in spark.read.parquet(table).where("x > 5").collect()]
    assert sorted(alone) == [row for row in right if row not in {17, 18}]
    assert sorted(row["id"] for row in pr.read(table, where="x > 5", session=spark).collect()) == right
    assert pr.plan(table, where="x > 5 AND id < 16", session=spark).report.warnings == ()
