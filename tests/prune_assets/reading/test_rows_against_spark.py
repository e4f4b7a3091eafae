"""Conditions without ranges, evaluated on rows: the result equals Spark's, or an error names an undecidable row."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.semantics_of_session import semantics_of
from tests.fuzz.planner.truth import settings

_US = 1_000_000
_DAY = 86_400 * _US
# Around changes of clocks in Berlin, New York, Lord Howe and Santiago (at midnight), and ends of months.
_AROUND = [
    dt.datetime(*parts, tzinfo=dt.UTC)
    for parts in (
        (2024, 3, 31, 1),
        (2024, 10, 27, 1),
        (2024, 3, 10, 7),
        (2024, 4, 6, 15),
        (2024, 9, 8, 4),
        (2023, 1, 31),
    )
]
ANSWERED = [
    "x % 100000 = 7",
    "x % 100000 <> 7",
    "x % -7 = -3",
    "x % 7 IN (1, -1, 3)",
    "NOT (x % 7 = 1 OR x % 5 = 2)",
    "x % 7 BETWEEN -2 AND 1",
    "x % 7 = n % 5",
    "x % 7 <=> n % 5",
    "NOT (x % 7 <=> n % 5)",
    "(x % 7 = n % 5) IS NULL",
    "CASE WHEN x % 7 = n % 5 THEN n > 3 ELSE day > DATE '2024-06-01' END",
    "price % 1.5 = 0.5",
    "s IS NULL",
    "s IS NOT NULL AND n > 3",
    "s.inner IS NULL",
    "s.inner IS NOT NULL",
    "s.a IS NULL",
    "l IS NULL",
    "m IS NOT NULL",
    "to_date(at) <> day",
    "to_date(at) = day",
    "to_date(at) <=> day",
    "CAST(at AS DATE) >= day OR x % 3 = 1",
    "day < at",
    "local < at",
    "local >= day",
    "received > at + INTERVAL 2 DAYS",
    "received > at + INTERVAL 2 HOURS",
    "received - INTERVAL 1 DAY <= at",
    "received > add_months(at, 1)",
    "received > at + INTERVAL 1 MONTH",
    "received BETWEEN at AND at + INTERVAL 30 HOURS",
    "local > local + INTERVAL -1 MONTH",
    "at + INTERVAL 1 MONTH > TIMESTAMP '2024-03-31 02:30:00'",
    "at + INTERVAL 1 DAY <= TIMESTAMP '2024-03-31 03:15:00'",
    "at - INTERVAL 3 DAYS < TIMESTAMP '2024-10-27 02:30:00'",
    "hour(at) = hour(received)",
    "hour(at) = 2 AND minute(at) >= 30",
    "month(at) <> month(day)",
    "year(at) > year(day)",
    "dayofweek(at) = dayofweek(day)",
    "month(local) = 3 OR n = 2",
    "date_trunc('month', at) <= day",
    "date_trunc('day', at) = date_trunc('day', received)",
    "last_day(day) = day",
    "last_day(day) <> to_date(received)",
    "n + 1 > m1",
    "n * 2 < x",
    "abs(m1) = n",
    "-n < m1",
    "d / 3 < f",
    "price * 2 > n",
    "price + 0.5 <> n + 1",
    "CAST(f AS DOUBLE) = d",
    "flag = (n > 3)",
    "floor(d) = n",
    "unix_seconds(at) % 60 = 0",
    "datediff(day, DATE '2024-01-01') % 7 = 1",
    "x % (n + 9) = 1",
    "x + n > 5",
    "n - m1 <> 0",
    "price + n > 3",
    "datediff(to_date(received), day) > 1",
    "unix_seconds(received) - unix_seconds(at) >= 86400",
]
# Without ansi.enabled Spark casts the whole number to FLOAT, which rounds.
WITH_ANSI = ["f * 2 > d", "f + 1 >= d", "f < n + 1"]
EDGES = [
    "x + 1 > n",
    "x + 1 > n OR n = 3",
    "-x < n",
    "abs(x) > n",
    "n * 3 > m1",
    "x * 2 % 7 = 1",
    "x % 7 = n / 0",
    "CAST(d AS INT) = n",
    "CAST(x AS INT) < m1",
    "price * 99999 > n",
    "day + 3 > to_date(at)",
    "to_date(at) < day",
    "received > at + INTERVAL 2 DAYS",
    "received > at + INTERVAL 1 MONTH",
    "hour(at) = 3",
    "month(at) = 2",
    "x % n = 1",
    "x + n > 5",
    "NOT (x + n > 5)",
    "NOT (n > 3 AND x + n > 5)",
    "CASE WHEN n > 3 AND x + n > 5 THEN 1 ELSE 0 END = 0",
    "floor(d) < n",
    "f * 3 > d",
    "unix_micros(at) % 7 = 3",
]


def _times(chance, count):
    near = [
        int(chance.choice(_AROUND).timestamp()) * _US + chance.randrange(-2 * _DAY, 2 * _DAY, 450 * _US)
        for _ in range(count)
    ]
    return pa.array([None if chance.random() < 0.1 else time for time in near], pa.int64())


def _rows(chance, count=400):
    def some(*values):
        return [chance.choice((*values, None)) for _ in range(count)]

    at = _times(chance, count)
    times = at.to_pylist()
    delays = some(0, 1, _DAY, 2 * _DAY, 2 * _DAY + 1, 7_200 * _US, 31 * _DAY)
    received = [None if None in pair else sum(pair) for pair in zip(times, delays, strict=True)]
    days = [None if time is None else time // _DAY + chance.randrange(-1, 2) for time in times]
    structs = [{"a": a, "inner": inner} for a in (None, 1) for inner in (None, {"b": None}, {"b": 1})]
    return {
        "id": pa.array(range(count), pa.int64()),
        "x": pa.array(some(*range(-20, 20), *(chance.randrange(-(10**12), 10**12) for _ in range(60))), pa.int64()),
        "n": pa.array(some(*range(-5, 9)), pa.int32()),
        "m1": pa.array(some(*range(-9, 9)), pa.int16()),
        "s": pa.array(some(*structs)),
        "l": pa.array(some([], [1, None])),
        "m": pa.array(some([("a", 1)], []), pa.map_(pa.string(), pa.int32())),
        "at": at.cast(pa.timestamp("us", "UTC")),
        "received": pa.array(received, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "local": _times(chance, count).cast(pa.timestamp("us")),
        "day": pa.array(days, pa.int32()).cast(pa.date32()),
        "price": pa.array(some(*map(Decimal, ("0.50", "2.00", "-1.50", "3.25", "7.00"))), pa.decimal128(9, 2)),
        "f": pa.array(some(0.0, -0.0, 1.5, 2.0, float("nan"), float("inf"), -3.25), pa.float32()),
        "d": pa.array(some(0.0, -0.0, 3.0, 2.5, float("nan"), float("-inf"), -6.5), pa.float64()),
        "flag": pa.array(some(*(n > 3 for n in (3, 4)))),
    }


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    place = tmp_path_factory.mktemp("ordinary")
    rows = _rows(random.Random(7))
    rows["d"] = pa.array(
        [None if value is not None and abs(value) == float("inf") else value for value in rows["d"].to_pylist()]
    )
    pq.write_table(pa.table(rows), place / "a.parquet", row_group_size=90)
    return str(place)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    place = tmp_path_factory.mktemp("edges")
    rows = _rows(random.Random(8), 60)
    ends = {
        "x": [2**63 - 1, -(2**63)],
        "n": [2**31 - 1, -(2**31)],
        "at": [-(2**62), 2**62, 0],
        "day": [2_932_896, -719_162],
    }
    for name, values in ends.items():
        kind = rows[name].type
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = rows[name].cast(whole).to_pylist()
        column[5 : 5 + len(values)] = values
        rows[name] = pa.array(column, whole).cast(kind)
    pq.write_table(pa.table(rows), place / "a.parquet")
    return str(place)


def _answer(table, where, semantics):
    """Return the ids of the selected rows in order, or the message of a refusal."""
    try:
        return sorted(pr.read_arrow(table, where=where, columns=["id"], semantics=semantics)["id"].to_pylist())
    except UnsupportedFeature as error:
        return str(error)


_SETTINGS = [
    ("UTC", "true"),
    ("Europe/Berlin", "true"),
    ("America/Santiago", "false"),
    ("Australia/Lord_Howe", "false"),
]
_OF_TIMES = re.compile(r"\b(at|received|local|day)\b")


def _depending_on(zone, conditions):
    """Return the conditions to test in a zone: those without times mean the same in each, and two zones test them."""
    return [where for where in conditions if zone in {"UTC", "America/Santiago"} or _OF_TIMES.search(where)]


@pytest.mark.spark
@pytest.mark.parametrize(("zone", "ansi"), _SETTINGS)
def test_every_row_is_that_of_spark(spark, ordinary, zone, ansi):
    with settings(spark, {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi}):
        frame, own = spark.read.parquet(ordinary), semantics_of(spark)
        conditions = _depending_on(zone, ANSWERED + (WITH_ANSI if ansi == "true" else []))
        columns = [f"({where}) AS p{i}" for i, where in enumerate(conditions)]
        truths = frame.selectExpr("id", *columns).toArrow().to_pylist()
        wrong = []
        for (i, where), negated in itertools.product(enumerate(conditions), (False, True)):
            wanted = sorted(row["id"] for row in truths if row[f"p{i}"] is not None and row[f"p{i}"] != negated)
            found = _answer(ordinary, f"NOT ({where})" if negated else where, own)
            wrong += [(where, negated, found)] if found != wanted else []
        assert not wrong, list(map(str, wrong))


@pytest.mark.spark
@pytest.mark.parametrize(("zone", "ansi"), _SETTINGS)
def test_a_row_that_raises_or_is_unknown_is_refused(spark, edges, zone, ansi):
    from pyspark.errors import PySparkException

    refused, conditions = set(), _depending_on(zone, EDGES)
    with settings(spark, {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi}):
        own = semantics_of(spark)
        for where in conditions:
            try:
                wanted = sorted(spark.read.parquet(edges).where(where).toArrow()["id"].to_pylist())
            except PySparkException:
                wanted = None
            found = _answer(edges, where, own)
            if isinstance(found, str):
                refused.add(where)
            else:
                assert found == wanted, where
    assert {"x + 1 > n", "x + 1 > n OR n = 3", "x % n = 1", "NOT (x + n > 5)"} & {*conditions} <= refused
