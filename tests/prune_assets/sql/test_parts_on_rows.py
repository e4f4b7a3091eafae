"""Conditions that bounds cannot decide, evaluated on every row without a session: Spark's rows, or a refusal."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.semantics_of_session import semantics_of
from tests.fuzz.planner.truth import settings
from tests.peers.plain_rows import plain_rows

ANSWERED = [
    "month(day) = 3",
    "NOT month(day) = 3",
    "month(day) <> 3 OR day IS NULL",
    "month(day) IN (1, 2) AND n > 3",
    "month(day) NOT IN (1, 2)",
    "dayofweek(day) BETWEEN 2 AND 4",
    "NOT (dayofweek(day) BETWEEN 2 AND 4)",
    "weekday(day) >= 5",
    "dayofyear(day) < 40.5",
    "quarter(day) = 4",
    "n % 7 = 0",
    "n % -3 <> 1",
    "(n % 5) IN (1, -1)",
    "lower(name) = 'ab'",
    "NOT upper(name) = 'AB'",
    "length(name) > 2",
    "trim(name) = 'ab'",
    "month(at) = 1",
    "hour(at) = 23 AND minute(at) > 58",
    "hour(moment) BETWEEN 1 AND 3",
    "NOT (minute(moment) = 30)",
    "extract(MINUTE FROM moment) = 30",
    "extract(HOUR FROM moment) < 2",
    "dayofweek(moment) = 1",
    "(k * 3 + 1) % 5 = 2",
    "(k - 70) * 3 % 5 = -2",
    "(k % 1000 * 7 + 1) % 13 <> 5",
    "k % 7 % 3 = 1 OR k % 7 IS NULL",
    "nullif(k * 3 % 5, 0) = 1",
    "coalesce(k, 3) % 5 = 3",
    "CASE WHEN k % 3 = 0 THEN 1 ELSE k END = 1",
    "(k * 2.5) % 4 = 1.0",
    "coalesce(month(day), 1) = 1",
    "(month(day) = 12) IS NULL",
    "month(add_months(day, 1)) = 5 AND day < DATE '2000-01-01'",
    "dayofweek(to_date(moment)) = 1",
    "(n % 7 = 0) = false",
    "FALSE = (month(day) IN (1, 2) AND n > 3)",
    "(lower(name) = 'ab') = true",
]
REFUSED = [
    "n % k = 1",
    "soundex(name) = 'A100'",
    "lower(name) = 3",
    "n % 0 = 1",
    "month(name) = 3",
    "lower(text) = 'é'",
]
# Some values of n overflow.
REFUSED += ["upper(name) IN ('AB', 'E')", "(n * 3 + 1) % 5 = 2", "NOT ((n + 1) % 5 = 2)"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    first = dt.date(1890, 1, 1)
    days = [first + dt.timedelta(i * 997) for i in range(60)]
    rows = pa.table(
        {
            "day": [*days, None, dt.date(1, 1, 1), dt.date(9999, 12, 31)],
            "at": pa.array([*(dt.datetime.combine(d, dt.time(23, 59)) for d in days), None, None, None]),
            # Across both changes of the clocks in Berlin, and long ago.
            "moment": pa.array(
                [
                    *((1_711_846_800 + 1_507 * i) * 1_000_000 - 7 for i in range(30)),
                    *((1_729_987_200 + 1_507 * i) * 1_000_000 for i in range(30)),
                    *(None, -3_000_000_000_000_000, -1),
                ],
                pa.timestamp("us", "UTC"),
            ),
            "n": pa.array([*range(-30, 30), None, -(2**63), 2**63 - 1], pa.int64()),
            "k": pa.array([*range(60), None, 1, 2], pa.int64()),
            "name": ["ab", "AB", "e", "E", " ab ", "", "aB", "\t", "x" * 5, None] * 6 + [None, "ab\0", "ab"],
            "text": ["é", None, "ab"] * 21,
            "bytes": [b"ab", None, b""] * 21,
        }
    )
    pq.write_table(rows, place / "a.parquet", row_group_size=10, write_page_index=True)
    return str(place)


def _plain(row):
    return plain_rows([row])[0]


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", ANSWERED)
def test_rows_are_those_of_spark(spark, table, where):
    with settings(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        wanted = spark.read.parquet(table).where(where).toArrow()
        for source in ({"semantics": semantics_of(spark)}, {"session": spark}):
            found = pr.read_arrow(table, where=where, **source)
            assert sorted(map(_plain, found.to_pylist())) == sorted(map(_plain, wanted.to_pylist()))
        assert pr.count(table, where=f"NOT ({where})", semantics=semantics_of(spark)) == (
            spark.read.parquet(table).where(f"NOT ({where})").count()
        )


@pytest.mark.parametrize("where", REFUSED)
def test_what_is_not_known_is_refused_by_name(table, where):
    with pytest.raises(UnsupportedFeature, match=r"let Spark evaluate it, by pr\.read$"):
        pr.read_arrow(table, where=where)


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ("lenght(name) = 2", "; did you mean length()?, or let Spark"),
        (
            "name ILIKE 'a%'",
            "; list the spellings, as in s IN ('Ab', 'ab'), or keep a column in one case, or let Spark",
        ),
        ("day > text", "; store both in one type, or let Spark"),
        ("n % 0 = 1", "; let Spark"),
        ("month(name) = 3", "; let Spark"),
        ("dayname(day) = 'Mon'", "; let Spark"),
        ("length(bytes) = 2", "; let Spark"),
        ("hour(moment) = 3", "; pass session=, semantics= or --time-zone, or let Spark"),
        ("NOT extract(MINUTE FROM moment) = 3", "; pass session=, semantics= or --time-zone, or let Spark"),
    ],
)
def test_a_remedy_that_only_helps_to_skip_is_left_out(table, where, remedy):
    with pytest.raises(UnsupportedFeature) as raised:
        pr.read_arrow(table, where=where)
    assert str(raised.value).endswith(f"{remedy} evaluate it, by pr.read")


@pytest.mark.spark
@pytest.mark.parametrize("where", ["hour(at) = 23", "soundex(name) = 'A100'", "date_format(day, 'EEEE') = 'Friday'"])
def test_a_session_is_asked(spark, table, where):
    wanted = spark.read.parquet(table).where(where).count()
    assert pr.count(table, where=where, session=spark) == wanted


@pytest.mark.spark
def test_a_part_that_raises_is_refused(spark, table):
    with pytest.raises(UnsupportedFeature, match=r"let Spark evaluate it, by pr\.read$"):
        pr.read_arrow(table, where="cast(name AS INT) = 3", session=spark)
