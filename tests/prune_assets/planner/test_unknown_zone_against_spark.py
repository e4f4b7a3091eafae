"""A plan without a time zone against Spark's own answer in many zones, and how much it skips all the same."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_soundness_against_spark import answers_of_spark, named_rows

from prune_assets.planner.explain.plan import plan

ZONES = (
    *("UTC", "Asia/Kolkata", "America/New_York", "Pacific/Kiritimati", "Pacific/Apia", "Africa/Monrovia"),
    *("Asia/Manila", "Antarctica/Troll", "+18:00", "-18:00", "-17:59:59", "EST"),
)
# An ordinary day, clocks that change, the date line crossed, and local mean times.
DAYS = ("2024-01-10", "2024-03-10", "2011-12-30", "1972-01-07", "1880-06-01")
ONE_DAY = (
    "{c} >= TIMESTAMP '{d}' AND {c} < TIMESTAMP '{e}'",
    "{c} >= TIMESTAMP '{d}' AND {c} < TIMESTAMP '{d}' + INTERVAL 1 DAY",
    "{c} >= TIMESTAMP '{d} 00:00:00Z' AND {c} < TIMESTAMP '{e} 00:00:00Z'",
    "{c} >= '{d}' AND {c} < '{e}'",
    "{c} >= DATE '{d}' AND {c} < DATE '{e}'",
    "{c} BETWEEN TIMESTAMP '{d}' AND TIMESTAMP '{d} 23:59:59'",
    "{c} IN (TIMESTAMP '{d}', TIMESTAMP '{d} 12:00:00')",
    "{c} <=> TIMESTAMP '{d} 12:00:00'",
    "date_trunc('DAY', {c}) = TIMESTAMP '{d}'",
    "date_trunc('HOUR', {c}) = TIMESTAMP '{d} 10:00:00'",
    "to_date({c}) = DATE '{d}'",
    "CAST({c} AS DATE) IN ('{d}')",
    "NOT ({c} < TIMESTAMP '{d}' OR {c} >= TIMESTAMP '{e}')",
)
OTHERS = (
    "{c} <> TIMESTAMP '{d} 12:00:00'",
    "NOT ({c} <=> TIMESTAMP '{d} 12:00:00')",
    "{c} < TIMESTAMP '{d}' OR {c} > TIMESTAMP '{e} 12:00:00Z'",
    "to_date({c}) <> DATE '{d}'",
    "{c} NOT IN (TIMESTAMP '{d}', TIMESTAMP '{d} 12:00:00')",
    "{c} > TIMESTAMP '{d} 12:00:00Z' - INTERVAL 1 MONTH AND date_trunc('MONTH', {c}) < TIMESTAMP '{d}'",
    "CAST({c} AS TIMESTAMP) >= TIMESTAMP '{d} 12:00:00'",
    "day = TIMESTAMP '{d}' OR day > TIMESTAMP '{e} 00:00:00Z'",
    "year({c}) = {y} AND {c} IS NOT NULL",
)


def filled(predicates, column, day):
    following = (datetime.fromisoformat(day) + timedelta(days=1)).date()
    return [text.format(c=column, d=day, e=following, y=day[:4]) for text in predicates]


def write_days(directory, middle, days, writer, *, step=timedelta(minutes=30)):
    """Write a file a day around one, in row groups of six hours; the first row of each is null."""
    directory.mkdir()
    for i in range(days):
        start = datetime.fromisoformat(middle) + timedelta(days=i - days // 2)
        times = [None, *(start + step * n for n in range(1, timedelta(days=1) // step))]
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "ntz": pa.array(times, pa.timestamp("us")),
                "day": pa.array([start.date()] * len(times)),
            }
        )
        path = directory / f"{i:02}.parquet"
        if writer == "pandas":
            frame = pd.DataFrame({name: table[name].to_pandas() for name in ("ts", "ntz")}).assign(day=start.date())
            frame.to_parquet(path, row_group_size=12, coerce_timestamps="us")
        else:
            pq.write_table(table, path, row_group_size=12)


@pytest.mark.spark
@pytest.mark.sampled(6)
@pytest.mark.parametrize(("day", "writer"), list(zip(DAYS, ("pandas", "pyarrow") * 3, strict=False)))
def test_no_row_that_spark_selects_in_a_zone_is_skipped_without_one(spark, tmp_path, day, writer):
    write_days(tmp_path / "t", day, 7, writer)
    texts = [text for column in ("ts", "ntz") for text in filled((*ONE_DAY, *OTHERS), column, day)]
    made = [plan(tmp_path / "t", where=text) for text in texts]
    kept = [named_rows(each.index, each.evaluation.access.ranges) for each in made]
    matches = [named_rows(each.index, each.evaluation.access.matches) for each in made]
    found = [set() for _ in texts]
    try:
        for zone in ZONES:
            spark.conf.set("spark.sql.session.timeZone", zone)
            truth = answers_of_spark(spark, tmp_path / "t", texts)
            for i, text in enumerate(texts):
                selected = {place for place, answers in truth.items() if answers[i] is True}
                assert selected <= kept[i], (zone, text)
                assert matches[i] <= selected, (zone, text)
                found[i] |= selected
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    if day > "1900":  # of older times no bounds are believed
        assert sum(len(rows) < len(truth) for rows in kept) > len(texts) // 2
        assert any(matches)
    assert all(found)


@pytest.mark.parametrize("writer", ["pandas", "pyarrow"])
@pytest.mark.parametrize("column", ["ts", "ntz"])
def test_one_day_of_thirty_takes_few_files_without_a_zone(tmp_path, column, writer):
    write_days(tmp_path / "t", "2024-01-16", 30, writer)
    for text in filled(ONE_DAY, column, "2024-01-16"):
        made = plan(tmp_path / "t", where=text)
        names = [int(file.path.rpartition("/")[2][:2]) for file in made.surviving_files]
        assert set(range(14, 17)) >= set(names), text
        assert 15 in names, text
