"""Columns of classic Spark and of Connect, and the same predicates as text, on the table of 1,000 rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal


def kinds(fn):
    """Return Columns, the number of the 1,000 rows that may be kept for each, and the conditions as text."""
    return [
        (fn.col("x") > 905, 100, "x > 905"),
        (fn.col("i64") == 5, 100, "i64 = 5"),
        (fn.col("x").isin(1, 2, 950), 200, "x in (1, 2, 950)"),
        (fn.col("x").between(150, 160), 100, "x between 150 and 160"),
        (fn.expr("x BETWEEN 150 AND 160"), 100, "x between 150 and 160"),
        (fn.col("s") == "it's 0123\\", 100, r"s = 'it\'s 0123\\'"),
        (fn.col("g") >= 499.5, 100, "g >= 499.5D"),
        (fn.col("d") < Decimal("0.50"), 100, "d < 0.50"),
        (fn.col("day") == dt.date(2000, 1, 5), 100, "day = date '2000-01-05'"),
        (fn.col("flag"), 500, "flag"),
        (~fn.col("flag"), 500, "not flag"),
        (fn.col("bin") == fn.lit(bytearray(b"\x00\x05")), 100, "bin = X'0005'"),
        (fn.col("st.a") < 7, 100, "st.a < 7"),
        (fn.col("st")["o.d"] == "0999", 100, "st.`o.d` = '0999'"),
        (fn.col("`we.ird`") == 1, 100, "`we.ird` = 1"),
        (fn.col("x").eqNullSafe(5), 100, "x <=> 5"),
        (fn.col("holes").isNull(), 500, "holes is null"),
        (fn.col("holes").isNotNull(), 500, "holes is not null"),
        (fn.expr("x > 905 -- the end"), 100, "x > 905"),
        ((fn.col("x") > 905) | (fn.col("x") < 5), 200, "x > 905 or x < 5"),
        ((fn.col("x") > 5) & (fn.col("s") < "it's 0005"), 100, 'x > 5 and s < "it\'s 0005"'),
    ]


def clock_kinds(fn):
    """Return Columns that depend on the current time, and their text.

    They match no day of the table, which ends in 2002.
    """
    return [
        (fn.col("day") > fn.current_date() - 7, "day > current_date() - 7"),
        (fn.col("day") >= fn.date_sub(fn.current_date(), 7), "day >= date_sub(current_date(), 7)"),
        (fn.col("day") >= fn.now() - fn.expr("INTERVAL 1 DAY"), "day >= now() - INTERVAL 1 DAY"),
        (fn.col("day") >= fn.trunc(fn.current_timestamp(), "year"), "day >= trunc(current_timestamp(), 'year')"),
    ]
