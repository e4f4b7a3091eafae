from __future__ import annotations

import pytest

import prune_assets as pr
from prune_assets.reading import comparison
from prune_assets.reading.comparison import ROUNDS, compare
from prune_assets.spark.scan_metrics import VECTORED

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("t") / "t"
    rows = spark.range(40_000).selectExpr("id", "id % 1000 AS k", "CAST(hash(id) AS STRING) AS s")
    pr.write(rows, place, layout=pr.LayoutSpec(sort_by=["id"], files=4, row_group_rows=1_000))
    return place


@pytest.fixture
def readings(monkeypatch):
    """The order in which ways are read, by the rows that came out of their scans."""
    real, made = comparison._read_once, []

    def read_once(way):
        reading, seconds = real(way)
        made.append(reading.scanned_rows)
        return reading, seconds

    monkeypatch.setattr(comparison, "_read_once", read_once)
    return made


def test_no_time_is_told_where_both_read_as_much(spark, table, readings):
    where = "id >= 1000"
    found = compare(spark, pr.plan(table, where=where, session=spark), table=str(table), where=where)
    assert found.equal
    assert found.without.read_bytes > 0 < found.with_plan.read_bytes
    assert (found.without.seconds, found.with_plan.seconds) == (None, None)
    assert readings == [39_000, 39_000]


def test_times_are_taken_in_turns_where_one_reads_less(spark, table, readings):
    """After a reading that counts and one that warms up, each round goes the other way round."""
    where, before = "id + 1 < 900", spark.conf.get(VECTORED, None)
    found = compare(spark, pr.plan(table, where=where, session=spark), table=str(table), where=where)
    alone, planned = 40_000, 1_000
    assert readings[:4] == [alone, planned] * 2
    assert readings[4:] == [planned, alone, alone, planned, planned, alone][: 2 * ROUNDS]
    assert found.without.seconds > 0 < found.with_plan.seconds
    assert found.without.read_bytes > 2 * found.with_plan.read_bytes
    assert spark.conf.get(VECTORED, None) == before
