"""Conditions printed by Spark and parsed again, compared with the original predicates."""

from __future__ import annotations

import random

import pytest
from printed_plans import COLUMNS, drawn_predicate, make_table, printed_plan, read_back

from prune_assets.advisor.workload.not_understood import NotUnderstood

pytestmark = pytest.mark.spark
ZONE = "Europe/Berlin"


def differences(spark, table, cases):
    """Of (predicate, text read back, whether all of it): how many rows that one selects and the other does not."""
    counts = []
    for index, (predicate, where, _) in enumerate(cases):
        back = where or "true"
        counts.append(f"count_if(({predicate}) AND NOT coalesce({back}, false)) AS lost{index}")
        counts.append(f"count_if(({back}) AND NOT coalesce({predicate}, false)) AS more{index}")
    return spark.read.parquet(str(table)).selectExpr(*counts).first()


def check(spark, table, predicates):
    cases = []
    frame = spark.read.parquet(str(table))
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    for predicate in predicates:
        try:
            found = read_back(printed_plan(frame.where(predicate)), ZONE)
        except NotUnderstood:
            continue
        if found is not None:
            cases.append((predicate, found.where, not found.not_understood))
    # A text means the same in every session.
    result = differences(spark, table, cases)
    for index, (predicate, back, whole) in enumerate(cases):
        assert result[f"lost{index}"] == 0, (predicate, back)
        assert not whole or result[f"more{index}"] == 0, (predicate, back)
    return cases


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("awkward") / "plain"
    make_table(spark, path)
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_drawn_predicates_are_read_back_or_left_out(spark, table, seed):
    draw = random.Random(seed)
    cases = check(spark, table, [drawn_predicate(draw) for _ in range(100)])
    assert len(cases) > 50
    assert sum(whole for _, _, whole in cases) > 15


@pytest.mark.deep
def test_partition_columns_have_no_type_and_are_read_back(spark, tmp_path):
    make_table(spark, tmp_path / "parts", partitions=["k", "day"])
    draw = random.Random(7)
    predicates = ["k = 7", "k IN (1, 2)", "k > 9 AND day = DATE '2024-01-05'", "day >= DATE '2024-01-20'", "k <=> 3"]
    cases = check(spark, tmp_path / "parts", [*predicates, *(drawn_predicate(draw, 1) for _ in range(20))])
    assert [whole for _, _, whole in cases[: len(predicates)]] == [True] * len(predicates)
    assert cases[0][1] == "k = '7'"


def test_every_column_of_the_table_is_asked_for():
    draw = random.Random(0)
    asked = " ".join(drawn_predicate(draw) for _ in range(500))
    assert all(name in asked for name in COLUMNS)
