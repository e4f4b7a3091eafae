from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from tests.prune_assets.sql.fixture_lines import fixture_lines
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS, leaf

NOW = int(dt.datetime(2024, 2, 11, 3, 30, 1, tzinfo=dt.UTC).timestamp()) * 1_000_000 + 5
NEW_YORK = SparkSemantics(time_zone="America/New_York")


def lowered(sql, *, semantics=NEW_YORK, columns=FIXTURE_COLUMNS, now=NOW, is_builtin=None):
    return lower(sql, columns, semantics=semantics, now=now, is_builtin=is_builtin)


@pytest.mark.parametrize("line", fixture_lines("clock.txt"), ids=lambda line: line.predicate)
def test_what_the_clock_says_is_put_in_its_place(line):
    found = lowered(line.predicate)
    assert found.sql == line.predicate
    assert found.frozen_sql == line.expected, line.why
    assert (found.frozen is None) == (line.predicate == line.expected)
    assert found.now == (None if found.frozen is None else NOW)
    assert found.predicate == lowered(line.expected).predicate


@pytest.mark.parametrize(
    ("sql", "normalized"),
    [
        ("day > current_date() - 7", "day > DATE '2024-02-03'"),
        ("day >= date_sub(current_date(), 7)", "day >= DATE '2024-02-03'"),
        ("day >= add_months(trunc(current_date, 'MM'), -1)", "day >= DATE '2024-01-01'"),
        ("year(day) = year(current_date())", "day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"),
        ("ts >= now() - interval 1 day", "ts >= TIMESTAMP '2024-02-10 03:30:01.000005Z'"),
        ("ts >= date_trunc('day', now())", "ts >= TIMESTAMP '2024-02-10 05:00:00Z'"),
        ("day in (current_date(), current_date() - 1)", "day IN (DATE '2024-02-09', DATE '2024-02-10')"),
        (
            "ts < now() and ts > current_timestamp - interval 1 second",
            "ts < TIMESTAMP '2024-02-11 03:30:01.000005Z' AND ts > TIMESTAMP '2024-02-11 03:30:00.000005Z'",
        ),
    ],
)
def test_clocks_are_pruned_on_as_literals_are(sql, normalized):
    assert lowered(sql).normalized == normalized


def test_an_instant_is_known_without_a_zone_and_a_day_is_one_of_three():
    without = SparkSemantics()
    found = lowered("ts >= current_timestamp() - interval 3 hours", semantics=without)
    assert found.normalized == "ts >= TIMESTAMP '2024-02-11 00:30:01.000005Z'"
    for sql in ("day < current_date()", "day < current_date", "ntz < localtimestamp()"):
        parts = [leaf for leaf in leaves(lowered(sql, semantics=without).predicate) if isinstance(leaf, Unsupported)]
        assert [part.reason for part in parts] == ["it depends on the time zone, which is not known"]
    found = lowered("day >= current_date() - 7", semantics=without)
    instant = "CAST(TIMESTAMP_LTZ '2024-02-11 03:30:01.000005Z' AS DATE)"
    assert found.frozen_sql == f"day >= {instant} - 7", "the same in every zone"
    assert found.normalized == (
        f"day >= DATE '2024-02-03' AND (day NOT IN (DATE '2024-02-03', DATE '2024-02-04') OR day >= {instant} - 7)"
    )


def test_a_column_of_the_name_is_meant_before_the_clock():
    columns = [leaf("current_date", type=pa.date32()), leaf("day", type=pa.date32())]
    found = lowered("current_date > '2024-01-01' and day < current_date()", columns=columns)
    assert found.frozen_sql == "current_date > '2024-01-01' and day < DATE '2024-02-10'"


def test_a_function_of_the_session_s_own_is_left_alone():
    found = lowered("day < current_date() and ts < now()", is_builtin=lambda name: name != "current_date")
    assert found.frozen_sql == "day < current_date() and ts < TIMESTAMP_LTZ '2024-02-11 03:30:01.000005Z'"
    (part,) = [leaf for leaf in leaves(found.predicate) if isinstance(leaf, Unsupported)]
    assert part.sql == "day < current_date()"


def test_extract_is_no_function_of_the_session_s_own():
    found = lowered("extract(year from day) = 2024", is_builtin={"extract"}.__contains__)
    assert found.normalized == "day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"
    found = lowered("day > dateadd(DAY, -7, current_date())", is_builtin={"current_date"}.__contains__)
    assert found.normalized == "day > DATE '2024-02-03'"


def test_the_time_is_that_of_the_call_by_default():
    before = dt.datetime.now(dt.UTC)
    found = lowered("ts < now()", now=None)
    value = found.predicate.value.as_py()
    assert before <= value <= dt.datetime.now(dt.UTC)
