from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from parquet_core.errors import WrongUse
from prune_assets.sql.types.zones import DAY, HOUR, UncertainTime, check_zone_name, zone_named

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001


def micros(text):
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def days(text):
    return (date.fromisoformat(text) - EPOCH.date()).days


@pytest.mark.parametrize("name", ["UTC", "Z", "GMT+1", "UTC-01:30", "+05:45", "-18:00", "Europe/Paris", "Etc/GMT-14"])
def test_names_that_spark_knows_too(name):
    assert zone_named(name).name == name


@pytest.mark.parametrize("name", ["", "PST", "EST", "europe/paris", "+18:01", "+1", "Europe/Pariss", "../UTC"])
def test_names_that_are_none_or_not_surely(name):
    assert zone_named(name) is None
    with pytest.raises(WrongUse, match="is not known: "):
        check_zone_name(name)


def test_a_time_that_comes_twice_is_the_earlier_one_unless_the_offset_is_kept():
    paris = zone_named("Europe/Paris")
    assert paris.instant(micros("2024-10-27 02:30:00")) == micros("2024-10-27 00:30:00")
    assert paris.instant(micros("2024-10-27 02:30:00"), keep=HOUR) == micros("2024-10-27 01:30:00")


def test_a_time_that_clocks_leap_over_moves_on():
    assert zone_named("Europe/Paris").instant(micros("2024-03-31 02:30:00")) == micros("2024-03-31 01:30:00")


def test_a_day_without_midnight_begins_later():
    assert zone_named("America/Sao_Paulo").start_of_day(days("2017-10-15")) == micros("2017-10-15 03:00:00")
    apia = zone_named("Pacific/Apia")
    assert (
        apia.start_of_day(days("2011-12-30")) == apia.start_of_day(days("2011-12-31")) == micros("2011-12-30 10:00:00")
    )


def test_rules_of_long_ago_are_not_taken_for_spark_s():
    with pytest.raises(UncertainTime):
        zone_named("Europe/Paris").offset(micros("1980-12-31 00:00:00"))
    assert zone_named("UTC").offset(-(1 << 62)) == 0


def test_rules_go_on_beyond_the_calendar_of_python():
    paris = zone_named("Europe/Paris")
    summer, cycle = micros("2024-07-01 00:00:00"), 146_097 * DAY
    assert paris.offset(summer + 400 * cycle) == paris.offset(summer) == 2 * HOUR


def test_every_change_is_found():
    paris = zone_named("Europe/Paris")
    in_2024 = [change for change in paris.changes() if micros("2024-01-01") <= change.instant < micros("2025-01-01")]
    assert in_2024 == [
        (micros("2024-03-31 01:00:00"), HOUR, 2 * HOUR),
        (micros("2024-10-27 01:00:00"), 2 * HOUR, HOUR),
    ]
    assert zone_named("UTC").changes() == ()
