"""Predicates as PySpark Columns: some can be written as SQL text too, some cannot."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from pyspark.sql import functions as fn


def _is_air(mode):
    return mode == "AIR"


COLUMNS = (
    (
        "between dates of Python",
        "lineitem_sorted",
        lambda: fn.col("l_shipdate").between(dt.date(1994, 1, 1), dt.date(1994, 1, 31)),
    ),
    ("isin of keys", "lineitem_arrow", lambda: fn.col("l_orderkey").isin(1, 5, 4199, 5988)),
    ("isin of a list of 40", "lineitem_polars", lambda: fn.col("l_orderkey").isin(list(range(0, 400, 10)))),
    ("not isin", "lineitem_by_mode", lambda: ~fn.col("l_shipmode").isin("AIR", "RAIL")),
    ("a year and a month", "lineitem_sorted", lambda: (fn.year("l_shipdate") == 1994) & (fn.month("l_shipdate") == 1)),
    ("a decimal of Python", "lineitem_arrow", lambda: fn.col("l_extendedprice") > Decimal("104000.50")),
    ("a lower case mode", "lineitem_by_mode", lambda: fn.lower(fn.col("l_shipmode")) == "air"),
    ("a beginning", "lineitem_by_mode", lambda: fn.col("l_shipmode").startswith("RE")),
    ("a piece", "lineitem_arrow", lambda: fn.col("l_comment").contains("express")),
    ("like", "part_sorted", lambda: fn.col("p_brand").like("Brand#1%") & (fn.col("p_size") == 3)),
    ("rlike", "part_arrow", lambda: fn.col("p_type").rlike("^SMALL.*TIN$")),
    ("a UDF", "lineitem_by_mode", lambda: fn.udf(_is_air, "boolean")(fn.col("l_shipmode"))),
    (
        "a UDF beside a range",
        "lineitem_sorted",
        lambda: (fn.col("l_shipdate") < dt.date(1992, 3, 1)) & fn.udf(_is_air, "boolean")(fn.col("l_shipmode")),
    ),
    (
        "chance beside a range",
        "lineitem_sorted",
        lambda: (fn.col("l_shipdate") < dt.date(1992, 3, 1)) & (fn.rand(7) >= 0.0),
    ),
    ("chance alone", "lineitem_arrow", lambda: fn.rand(7) < 2.0),
    ("null", "customer_arrow", lambda: fn.col("c_phone").isNull()),
    ("null-safe", "customer_arrow", lambda: fn.col("c_acctbal").eqNullSafe(None)),
    (
        "when",
        "part_sorted",
        lambda: fn.when(fn.col("p_size") > 25, "large").otherwise("small") == "small",
    ),
    ("a field", "events_arrow", lambda: fn.col("actor.id") == 252),
    ("a field by its method", "events_sorted", lambda: fn.col("repo").getField("id") == 100),
    ("a key of a map", "events_arrow", lambda: fn.col("attrs")["source"] == "web"),
    ("an element", "events_by_day", lambda: (fn.get("labels", fn.lit(0)) == "bug") & (fn.col("day") == "2024-03-05")),
    ("a lambda", "events_arrow", lambda: fn.exists("labels", lambda label: label == "docs")),
    (
        "times of Python",
        "events_arrow",
        lambda: fn.col("created_at") >= dt.datetime(2024, 3, 10, 12, tzinfo=dt.UTC),
    ),
    ("the last week", "recent_by_day", lambda: fn.col("day") > fn.current_date() - fn.expr("INTERVAL 7 DAYS")),
    ("the last week by function", "recent_arrow", lambda: fn.col("day") >= fn.date_sub(fn.current_date(), 7)),
    ("the last hours", "recent_arrow", lambda: fn.col("at") > fn.current_timestamp() - fn.expr("INTERVAL 30 HOURS")),
    ("a day of a time", "logs_sorted", lambda: fn.to_date("ts") == dt.date(2024, 5, 31)),
    (
        "an hour truncated",
        "logs_sorted",
        lambda: fn.date_trunc("hour", "ts") == dt.datetime(2024, 5, 31, 10, tzinfo=dt.UTC),
    ),
    ("a partition and a column", "logs_hourly", lambda: (fn.col("dt") == "2024-05-31") & (fn.col("status") >= 500)),
    ("a partition of text", "readings_by_device", lambda: fn.col("device") == "sensor 07"),
    ("NaN", "readings_arrow", lambda: fn.isnan("temperature")),
    ("the file", "readings_by_device", lambda: fn.col("_metadata.file_name").isNotNull() & (fn.col("battery") == 7)),
    ("the name of the file", "lineitem_spark", lambda: fn.input_file_name() != ""),
    ("a cast", "changes_drift", lambda: fn.col("lsn").cast("string").startswith("10639")),
    ("or", "flights_spark", lambda: (fn.col("origin") == "JFK") | (fn.col("dest") == "JFK")),
    ("not", "flights_by_month", lambda: ~(fn.col("month") < 12) & ~fn.col("cancelled")),
    ("arithmetic", "taxi_arrow", lambda: fn.col("fare_amount") + fn.col("tip_amount") > 90),
    ("no row", "taxi_duckdb", lambda: fn.lit(False)),  # noqa: FBT003 - a value, not an option
)
