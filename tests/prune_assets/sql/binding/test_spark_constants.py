"""Constants that only Spark computes become literals in the plan and in the filters for Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from prune_assets.spark.scan_metrics import scan_metrics

pytestmark = pytest.mark.spark

FOLDED = [
    ("d >= to_date('01/06/1994', 'dd/MM/yyyy')", "d >= DATE '1994-06-01'"),
    ("d BETWEEN '1994-2-01' AND (cast('1994-2-01' AS DATE) + INTERVAL 60 days)", None),
    ("d = make_date(1994, 6, 1 + 1)", "d = DATE '1994-06-02'"),
    ("d > next_day(DATE '1994-06-01', 'MON') AND d < '1994-06-20'", "d > DATE '1994-06-06' AND d < '1994-06-20'"),
    ("month = date_format(DATE '1994-06-05', 'yyyy-MM')", "month = '1994-06'"),
    ("month = '1994' || '-' || '06'", "month = '1994-06'"),
    ("x IN (greatest(1, 3), length('it''s a \\\\ text'))", None),
    ("x = cast(pow(2, 4) AS INT) /* sixteen */ AND d > '1994-01-10'", None),
]
LEFT = [
    "x < rand() * 0 + 5",
    "x = element_at(array(1, 2), 9)",
    "month <> current_user()",
    "month <> concat('$', '{x}')",
    "d = to_date('no date', 'dd/MM/yyyy')",
    "x = (SELECT 7)",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("constants")
    days = pa.array(range(8766, 9131), pa.int32()).cast(pa.date32())  # 1994
    months = [str(day)[:7] for day in days.to_pylist()]
    rows = pa.table({"d": days, "month": months, "x": pa.array(range(len(days)), pa.int32())})
    pq.write_table(rows, place / "t.parquet", row_group_size=30, use_dictionary=False)
    return str(place)


@pytest.mark.parametrize(("where", "frozen"), FOLDED)
def test_a_constant_prunes_as_a_literal(spark, table, where, frozen):
    made = plan(table, where=where, session=spark)
    if frozen is not None:
        assert made.lowered.frozen == frozen
    assert made.report.unsupported == ()
    assert made.report.kept.rows < 300
    found = pr.read(table, where=where, session=spark, plan=made)
    whole = spark.read.parquet(table).where(where)
    assert sorted(map(repr, found.collect())) == sorted(map(repr, whole.collect()))
    alone, _, _ = made.report.engines
    assert alone.kept.rows == sum(scan.rows for scan in scan_metrics(whole))


@pytest.mark.parametrize("where", LEFT)
def test_what_is_no_lasting_constant_is_left_to_spark(spark, table, where):
    assert plan(table, where=where, session=spark).lowered.frozen is None
