"""Rows for the columns of the SQL fixtures, including edge cases, and Spark's answers for predicates on them."""

from __future__ import annotations

import math
import random
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal

import numpy as np

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.lower import lower
from tests.prune_assets.sql.interpreter import may_raise, outcomes_of
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS, FIXTURE_TYPES, SPARK_SCHEMA

PREDICATES_PER_QUERY = 100
ROWS = 60
FLOATS = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.0**53, 2.0**53 + 2, 2.0**63, 1.7976931348623157e308),
    *(0.1, 0.10000000149011612, 1.5, -1.5, 16777216.0, 16777217.0, 1e300, 1.1754943508222875e-38, 2.5, 3.0, 5.0),
]
MOMENTS = [
    *("0001-01-05 00:00:00", "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
    *("2023-12-31 23:59:59.999999", "2024-01-01 00:00:00", "2024-01-01 05:00:00", "2024-02-29 12:00:00"),
    *("2024-03-10 07:30:00", "2024-11-03 05:30:00", "2024-11-03 06:30:00", "9999-12-28 00:00:00"),
]
EDGES = {
    "x": [-(2**31), -(2**31) + 1, -6, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 2**31 - 1],
    "i8": [-128, -127, -1, 0, 1, 2, 99, 126, 127],
    "i16": [-(2**15), 0, 5, 2**15 - 1],
    "i64": [-(2**63), -(2**63) + 1, -1, 0, 1, 2, 5, 2**63 - 1],
    "u8": [0, 1, 255],
    "u16": [0, 65534, 65535],
    "u32": [0, 2**32 - 1],
    "u64": [Decimal(0), Decimal(1), Decimal(2**63), Decimal(2**64 - 1)],
    "d": [Decimal(hundredths).scaleb(-2) for hundredths in (-99999, -6, -5, 0, 5, 6, 7, 30, 100, 150, 250, 500, 99999)],
    "money": [Decimal(hundredths).scaleb(-2) for hundredths in (-999999999999999, 2399, 2400, 2401)],
    "wide": [
        *(Decimal(0), Decimal(1), Decimal("1.5"), Decimal("-1e-10"), Decimal("9" * 28 + "." + "9" * 10)),
        *(Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("1234567890123456789012345678.9012345675")),
        *(Decimal("123456789012345678901234.5678901235"), Decimal("-1234567890123456789012345.6789012345")),
        *(Decimal("9223372036854775807.5"), Decimal("-2.5"), Decimal(128), Decimal("0.005")),
    ],
    "s": [
        "",
        "a",
        "ab",
        "abc",
        "b",
        "it's",
        "é",
        "A0",
        "a\nb",
        "a\\n",
        "a\\nb",
        "\0",
        "\uffff",
        "😀",
        "zz",
        "a;b",
        "--",
        *(
            "ab\n",
            "ab\r\n",
            "ab\r",
            "ab\u2028",
            "xab",
            "ba",
            "a%b",
            "a_c\\d12",
            "abab",
            "abcd",
            "a\\",
            "\n",
            "é😀",
            "😀é",
        ),
        *("100%", "a" * 5_000 + "b", "b" * 70, "cd", "ce", "it'sab"),
    ],
    "f": FLOATS,
    "g": [float(np.float32(value)) for value in FLOATS if not 1e39 < abs(value) < math.inf]
    + [3.4028234663852886e38, -3.4028234663852886e38, 1.401298464324817e-45, 0.20000000298023224],
    "b": [True, False],
    "bin": [b"", b"\0", b"a", b"ab", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\x0a\xbc"],
    "st": [
        *({"a": 5, "in": None}, {"a": None, "in": {"f": None, "b": None}}, {"a": 0, "in": {"f": math.nan, "b": True}}),
        *({"a": 1, "in": {"f": -0.0, "b": False}}, {"a": 5, "in": {"f": 1.5, "b": None}}),
    ],
    "ts": [datetime.fromisoformat(f"{time}+00:00") for time in MOMENTS],
    "ntz": [datetime.fromisoformat(time) for time in MOMENTS],
    "day": [
        date.fromisoformat(day)
        for day in (
            *("0001-01-01", "1582-10-04", "1582-10-15", "1969-12-31", "1970-01-01", "1993-12-31", "1994-01-01"),
            *("1994-01-02", "1994-02-28", "1994-09-02", "1994-11-28", "1995-01-01", "1995-02-28", "9999-12-31"),
        )
    ],
}


def random_rows():
    """Return the rows, each odd value in one of them."""
    draw = random.Random(20_261_121)
    small = list(range(-3, 8))
    columns = {name: [None, *EDGES.get(name, small)] for name in FIXTURE_TYPES}
    return [
        {name: values[i] if i < len(values) else draw.choice(values) for name, values in columns.items()}
        for i in range(ROWS)
    ]


def in_spark(spark, rows):
    data = [(*row.values(), None, None, None, number) for number, row in enumerate(rows)]
    return spark.createDataFrame(data, f"{SPARK_SCHEMA}, row_number int").coalesce(1).cache()


@contextmanager
def ansi(spark, on):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    try:
        yield semantics_of(spark)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def lowered_completely(texts, semantics, *, but=()):
    """Return the lowered predicates by text, without those that have Unsupported parts.

    Unsupported parts whose reason begins with `but` are allowed.
    """
    found = {sql: lower(sql, FIXTURE_COLUMNS, semantics=semantics).predicate for sql in dict.fromkeys(texts)}
    return {
        sql: predicate
        for sql, predicate in found.items()
        if not any(isinstance(leaf, Unsupported) and not leaf.reason.startswith(but) for leaf in leaves(predicate))
    }


def disagreements(table, rows, predicates):
    """Return where Spark answers otherwise; a row on which a part of a predicate may raise is not asked about."""
    wrong = []
    texts = list(predicates)
    for start in range(0, len(texts), PREDICATES_PER_QUERY):
        chunk = texts[start : start + PREDICATES_PER_QUERY]
        certain = [[number for number, row in enumerate(rows) if not may_raise(predicates[sql], row)] for sql in chunk]
        queries = [asked(sql, numbers, rows) for sql, numbers in zip(chunk, certain, strict=True)]
        answers = table.selectExpr(*(f"{query} as p{i}" for i, query in enumerate(queries))).collect()
        wrong += [
            (sql, rows[number], outcomes_of(predicates[sql], rows[number]), answers[number][i])
            for i, (sql, numbers) in enumerate(zip(chunk, certain, strict=True))
            for number in numbers
            if {answers[number][i]} != outcomes_of(predicates[sql], rows[number])
        ]
    return wrong


def asked(sql, numbers, rows):
    if len(numbers) == len(rows):
        return f"({sql}\n)"
    left_out = set(range(len(rows))) - set(numbers)
    return f"CASE WHEN row_number NOT IN ({', '.join(map(str, sorted(left_out)))}) THEN ({sql}\n) END"
