"""Without a time zone, a predicate has the possible outcomes of all zones."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pytest

from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.outcomes import Outcomes, unknown
from parquet_core.pruning.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning.trees import constant_answers, fold
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.zones import HOUR, MOST_OFFSET, SECOND, most_shift
from tests.prune_assets.sql.table_columns import leaf

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
EVERY_TIME = (-(1 << 80), 1 << 80)
COLUMNS = [
    leaf("ts", type=pa.timestamp("us", "UTC")),
    leaf("ntz", type=pa.timestamp("us")),
    leaf("day", type=pa.date32()),
]
ZONES = (
    *("UTC", "Asia/Kolkata", "America/New_York", "Pacific/Kiritimati", "Pacific/Apia", "Africa/Monrovia"),
    *(
        "Asia/Manila",
        "+18:00",
        "-18:00",
        "+14:00",
        "-12:00",
        "Antarctica/Troll",
        "Australia/Lord_Howe",
        "America/Havana",
    ),
)
# Clocks change on them, or local mean time was kept.
DAYS = ("2024-01-10", "2024-03-10", "2024-11-03", "2011-12-30", "1995-01-01", "1972-01-07", "1880-06-01", "1844-12-31")
NOW = 1_707_622_201_000_005


def random_literal(draw, middle):
    near = middle + timedelta(minutes=30 * draw.randint(-60, 60))
    steps = ["", "", " + INTERVAL 1 DAY", " - INTERVAL 7 DAYS", " + INTERVAL 5 HOURS", " - INTERVAL 1 MONTH"]
    step = draw.choice(steps)
    return draw.choice(
        [
            f"TIMESTAMP '{near}'{step}",
            f"TIMESTAMP '{near}'",
            f"TIMESTAMP '{near}Z'{step}",
            f"TIMESTAMP_NTZ '{near}'{step}",
            f"DATE '{near.date()}'",
            f"'{near}'",
            f"date_trunc('{draw.choice(['MONTH', 'DAY', 'HOUR'])}', TIMESTAMP '{near}')",
        ]
    )


def random_condition(draw, middle):
    column = draw.choice(["ts", "ts", "ntz", "day"])
    one, other = (random_literal(draw, middle) for _ in range(2))
    form = draw.randint(0, 11)
    if form == 0:
        return f"{column} BETWEEN {one} AND {other}"
    if form == 1:
        return f"{column} IN ({one}, {other})"
    if form == 2:
        return f"{column} <=> {one}"
    if form in {3, 4}:
        unit = draw.choice(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"])
        return f"date_trunc('{unit}', {column}) {draw.choice(['=', '<', '>='])} {one}"
    if form in {5, 6}:
        return f"to_date({column}) {draw.choice(['=', '<', '>=', '<>'])} DATE '{middle.date()}'"
    if form == 7:
        return f"CAST({column} AS TIMESTAMP) {draw.choice(['=', '<', '>='])} {one}"
    if form == 8:
        return f"year({column}) {draw.choice(['=', '<='])} {middle.year}"
    if form == 9:
        return f"coalesce({column}, {one}) < {other}"
    return f"{column} {draw.choice(['=', '<', '<=', '>', '>=', '<>'])} {one}"


def random_predicate(draw, middle):
    first, second = (random_condition(draw, middle) for _ in range(2))
    return draw.choice([first, first, f"NOT ({first})", f"{first} AND {second}", f"NOT ({first} OR {second})"])


def outcomes(sql, semantics, row):
    """Return the possible outcomes of a predicate for a row in microseconds and days."""
    predicate = lower(sql, COLUMNS, semantics=semantics, now=NOW).predicate
    known = {column.path: pa.array([row[column.name]], column.type) for column in COLUMNS}
    answers = []
    for part in leaves(predicate):
        if isinstance(part, Constant):
            answers.append(constant_answers(part, 1))
        else:
            answers.append(outcomes_of_values(part, known[part.column]) if isinstance(part, ColumnLeaf) else unknown(1))
    return Outcomes(int(fold(predicate, answers)[0]))


@pytest.mark.parametrize("day", DAYS)
def test_what_is_so_in_a_zone_may_be_so_without_one(day):
    draw, middle = random.Random(f"unknown zone {day}"), datetime.fromisoformat(day)
    compared = narrow = 0
    for _ in range(15):
        sql = random_predicate(draw, middle)
        at = (middle - EPOCH) // timedelta(microseconds=1) + draw.randint(-200, 200) * HOUR // 2
        row = {"ts": at, "ntz": at, "day": at // (24 * HOUR)}
        possible = outcomes(sql, SparkSemantics(), row)
        narrow += possible in {Outcomes.TRUE, Outcomes.FALSE}
        for zone in draw.sample(ZONES, 5):
            known = outcomes(sql, SparkSemantics(time_zone=zone, zone_span=EVERY_TIME), row)
            if known in {Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL}:
                compared += 1
                assert known & possible, (sql, zone, row, known, possible)
    assert compared > 30
    assert narrow > 3, "some rows are told in every zone"


def test_no_zone_of_the_database_is_further_off_than_is_said():
    """Offsets are sampled every 20 days, so longer periods are covered."""
    for name in available_timezones():
        zone = ZoneInfo(name)
        early = [datetime(year, 1, 1, tzinfo=zone).utcoffset() for year in range(1800, 2012, 4)]
        late = [(datetime(2012, 1, 8, tzinfo=zone) + timedelta(days=20 * i)).utcoffset() for i in range(20 * 18)]
        assert max(abs(offset) for offset in early + late) < timedelta(hours=MOST_OFFSET // HOUR), name
        assert max(late) - min(late) <= timedelta(hours=most_shift(1_326_000_000 * SECOND) // HOUR), name
