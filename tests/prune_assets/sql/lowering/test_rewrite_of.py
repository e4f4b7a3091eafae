"""Rewrites shown with remedies, and proof that the exact ones are exact."""

from __future__ import annotations

from datetime import date

import pytest

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS

# Rewrites are needed only if lowering fails; these are tested on all predicates.
EXACT = [
    ("CAST(x AS STRING) = '5'", "x = 5"),
    ("cast( i64 as string ) <> '-9223372036854775808'", "i64 <> -9223372036854775808"),
    ("CAST(`order by` AS STRING) <=> '0'", "`order by` <=> 0"),
    ("CAST(st.a AS STRING) = '5'", "st.a = 5"),
    ("CAST(day AS STRING) = '1994-01-01'", "day = DATE '1994-01-01'"),
    ("day = '1994-1-1'", "day = DATE '1994-01-01'"),
    ("'1994-9-02' > day", "day < DATE '1994-09-02'"),
]
INEXACT = [("s = 5", "s = '5'"), ("-3 <=> s", "s <=> '-3'")]
NONE = [
    ("CAST(x AS STRING) = '05'", "no integer is written so"),
    ("CAST(x AS STRING) = '2147483648'", "no int is as large"),
    ("CAST(x AS STRING) < '5'", "strings are in another order"),
    ("CAST(s AS STRING) = '5'", "it is a string already"),
    ("CAST(nosuch AS STRING) = '5' OR TRUE", None),
    ("day = '1994-13-1'", "there is no such day"),
    ("s < 5", "strings are in another order than numbers"),
    ("upper(s) = 'ABC'", "nothing but a normalised column would do"),
    ("x IN (SELECT 1)", "a subquery is not run"),
]


def unsupported(sql):
    lowered = lower(sql, FIXTURE_COLUMNS, semantics=SparkSemantics())
    return [leaf for leaf in leaves(lowered.predicate) if isinstance(leaf, Unsupported)]


@pytest.mark.parametrize(
    ("sql", "rewritten", "exact"), [(*pair, True) for pair in EXACT] + [(*pair, False) for pair in INEXACT]
)
def test_rewrites(sql, rewritten, exact):
    parts = unsupported(sql)
    if not parts:
        pytest.skip("metadata answers it as it is")
    (part,) = parts
    assert (part.rewrite, part.exact) == (rewritten, exact)
    assert unsupported(rewritten) == [], "metadata answer what is proposed"


@pytest.mark.parametrize(("sql", "why"), [case for case in NONE if case[1]], ids=[why for _, why in NONE if why])
def test_what_is_not_rewritten(sql, why):
    assert [part.rewrite for part in unsupported(sql)] in ([], [""]), why


ROWS = [
    (None, None, None, None),
    *(
        (x, i, s, d)
        for x, i, s, d in zip(
            [5, 0, -5, 2, 3, -(2**31), 2**31 - 1],
            [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 2**53 - 1, -2, -1],
            ["5", "05", "5.0", "-3", "x", "", "1994-1-1"],
            [
                date(1, 1, 1),
                date(1994, 1, 1),
                date(1994, 9, 1),
                date(1994, 9, 2),
                date(1994, 9, 3),
                date(9999, 12, 31),
                date(1970, 1, 1),
            ],
            strict=True,
        )
    ),
]


@pytest.mark.spark
def test_exact_rewrites_give_sparks_own_answers(spark):
    table = spark.createDataFrame(ROWS, "x int, i64 bigint, s string, day date").coalesce(1)
    pairs = [pair for pair in EXACT if "order by" not in pair[0] and "st.a" not in pair[0]]
    answers = table.selectExpr(*(f"({sql}) <=> ({rewritten}) AS c{i}" for i, (sql, rewritten) in enumerate(pairs)))
    wrong = [pairs[i] for row in answers.collect() for i, same in enumerate(row) if not same]
    assert wrong == []
