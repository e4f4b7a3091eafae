"""Texts that date_format() makes of dates: they prune as the dates do, and years that are too far are kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.pruning.access_plan import Verdict

IN_UTC = pr.SparkSemantics(time_zone="UTC")
DAY = 86_400_000_000
# Years before Christ, in the Julian calendar, around its end, today, and with five digits.
YEARS = (-800, -1, 0, 1, 900, 1_500, 1_582, 1_583, 1_969, 2_024, 9_999, 10_000, 12_024, 99_999)
CONDITIONS = [
    "date_format({c}, 'yyyy-MM-dd') = '2024-03-05'",
    "date_format({c}, 'yyyy-MM-dd') <> '2024-03-05'",
    "date_format({c}, 'yyyy') <= '2024'",
    "date_format({c}, 'yyyy') > '1999'",
    "NOT date_format({c}, 'yyyyMM') < '202403'",
    "date_format({c}, 'yyyy/MM') IN ('2024/03', '1969/03')",
    "date_format({c}, 'yyyy-MM') BETWEEN '1900-01' AND '2100-12'",
    "'9999-01-01' <= date_format({c}, 'yyyy-MM-dd')",
]


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """A row group for each year, of the fifth of March, and one of nulls."""
    at = tmp_path_factory.mktemp("far") / "t.parquet"
    days = [(np.datetime64(f"{year:05}-03-05" if year >= 0 else f"{year:06}-03-05", "D")).astype(int) for year in YEARS]
    times = pa.array([*(int(day) * DAY + DAY // 2 for day in days), None], pa.int64())
    table = pa.table(
        {
            "id": range(len(days) + 1),
            "ts": times.cast(pa.timestamp("us", "UTC")),
            "ntz": times.cast(pa.timestamp("us")),
            "day": pa.array([*map(int, days), None], pa.int32()).cast(pa.date32()),
        }
    )
    pq.write_table(table, at, row_group_size=1, use_dictionary=False)
    return str(at)


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
@pytest.mark.parametrize("column", ["ts", "ntz", "day"])
def test_no_year_that_spark_selects_is_skipped(spark, far, column, policy):
    spark.conf.set("spark.sql.legacy.timeParserPolicy", policy)
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    try:
        for form in CONDITIONS:
            where = form.format(c=column)
            selected = {row.id for row in spark.read.parquet(far).where(where).select("id").collect()}
            access = pr.plan(far, where=where, session=spark).evaluation.access
            kept = set(np.flatnonzero(access.verdict != Verdict.SKIP).tolist())
            proven = set(np.flatnonzero(access.matches.row_totals(len(YEARS) + 1)).tolist())
            assert proven <= selected <= kept, where
            assert len(YEARS) not in kept, where
    finally:
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")


@pytest.mark.parametrize(
    ("condition", "year"),
    [("date_format(day, 'yyyy-MM-dd') = '2024-03-05'", 2_024), ("date_format(ts, 'yyyy') = '1969'", 1_969)],
)
def test_of_ordinary_years_one_is_kept(far, condition, year):
    where = f"{condition} AND id BETWEEN {YEARS.index(1_969)} AND {YEARS.index(9_999)}"
    verdict = pr.plan(far, where=where, semantics=IN_UTC).evaluation.access.verdict
    assert np.flatnonzero(verdict != Verdict.SKIP).tolist() == [YEARS.index(year)]
    assert pr.count(far, where=where, semantics=IN_UTC) == 1


@pytest.mark.parametrize("text", ["2024-02-30", "2024-2-03", "2024-03", "2024-03-05 ", "x", "0999-01-01", "٢٠٢٤-03-05"])
def test_a_text_of_no_day_is_left_alone(far, text):
    found = pr.plan(far, where=f"date_format(day, 'yyyy-MM-dd') < '{text}'")
    assert found.evaluation.access.verdict.tolist().count(Verdict.SKIP) <= 1
    assert "date_format() prunes only if" in " ".join(str(found.report).split())


def test_rows_of_many_times_are_told_by_their_days_and_advised_for(tmp_path):
    """More times than are tested one by one, in an order that skips nothing."""
    times = np.random.default_rng(1).integers(0, 10**13, 60_000) + 1_700_000_000_000_000
    at = pa.array(times, pa.timestamp("us", "UTC"))
    for i in range(4):
        pq.write_table(
            pa.table({"at": at[i::4], "noise": np.random.default_rng(i).random(15_000)}), tmp_path / f"{i}.parquet"
        )
    where, same = "date_format(at, 'yyyy-MM-dd') >= '2023-12-05'", "at >= TIMESTAMP '2023-12-05 00:00:00Z'"
    assert pr.count(tmp_path, where=where, semantics=IN_UTC) == pr.count(tmp_path, where=same, semantics=IN_UTC)
    report = pr.plan(tmp_path, where="date_format(at, 'yyyy-MM-dd') = '2023-12-05'", semantics=IN_UTC).report
    assert report.unsupported == ()
    assert "would help: sort by at" in str(report)
    assert "1583" not in str(report).partition("Levels that skipped nothing")[2].partition("Condition by condition")[0]
