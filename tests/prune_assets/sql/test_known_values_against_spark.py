"""Results computed from constants, known column values and nulls, compared with Spark's results."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.sql.lower import lower
from prune_assets.sql.simplify.propagate_constants import may_be_refined
from tests.prune_assets.sql.interpreter import outcomes_of
from tests.prune_assets.sql.random_expressions import random_comparison_of_two, random_remainder_condition
from tests.prune_assets.sql.random_known_values import random_known_value
from tests.prune_assets.sql.spark_rows import ansi, disagreements, in_spark, lowered_completely, random_rows
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS

pytestmark = pytest.mark.spark

DAYS = [
    *("0001-01-01", "1582-10-15", "1899-12-31", "1970-01-01", "2024-02-29", "2024-03-31", "2024-04-01", "2023-06-30"),
    *("2024-07-01", "2024-09-30", "2024-10-01", "2024-12-31", "2023-12-31", "2000-05-07", "2100-08-15", "9999-11-30"),
]
FIELDS = ["month", "quarter", "day", "dayofmonth", "dayofyear", "dayofweek", "weekday", "year"]
PARTS = ["month", "mon", "qtr", "d", "doy", "dow", "dayofweek", "year"]
REMAINDERS = ["5", "-5", "7Y", "300S", "123456789012L", "5.5BD", "-0.07", "12345678901234567890.123", "2.50"]
SOME_TEXTS = ["'Ab c '", "' x'", "''", "'é'", "'ab'", "'12'"]
OF_CONSTANTS = [
    *(f"{field}(date '{day}')" for day in DAYS for field in FIELDS),
    *(f"extract({part} from date '{day}')" for day in DAYS for part in PARTS),
    *(f"month(timestamp_ntz '{day} 23:59:59.999')" for day in DAYS),
    *(f"{one} % {other}" for one in REMAINDERS for other in REMAINDERS),
    *(f"mod({one}, 3)" for one in REMAINDERS),
    *(f"{call}({text})" for call in ("upper", "lower", "trim", "ltrim", "rtrim", "length") for text in SOME_TEXTS),
    *(f"concat({one}, {other})" for one in SOME_TEXTS for other in SOME_TEXTS),
    *(f"cast({value} as string)" for value in ("5", "-7Y", "true", "false", *(f"date '{day}'" for day in DAYS))),
    *("month(null)", "cast(null as string)", "length(null)", "5 % null", "month('2024-05-06')"),
]


@pytest.fixture(scope="module")
def rows():
    return random_rows()


@pytest.fixture(scope="module")
def table(spark, rows):
    return in_spark(spark, rows)


def test_functions_of_constants_have_spark_s_value(spark):
    with ansi(spark, on=True) as semantics:
        answers = spark.sql(f"select {', '.join(f'({each}) as c{i}' for i, each in enumerate(OF_CONSTANTS))}").collect()
        refused = []
        for each, answer in zip(OF_CONSTANTS, answers[0], strict=True):
            same = lower(f"{each} <=> {as_literal(answer)}", FIXTURE_COLUMNS, semantics=semantics).predicate
            if any(isinstance(leaf, Unsupported) for leaf in leaves(same)):
                refused.append(each)
            else:
                assert outcomes_of(same, {}) == {True}, (each, answer)
    assert len(refused) < 0.1 * len(OF_CONSTANTS), refused


def as_literal(answer):
    match answer:
        case None:
            return "null"
        case str():
            return f"'{answer}'"
        case Decimal():
            return f"{answer:f}BD"
        case _:
            return str(answer)


@pytest.mark.deep
@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_conditions_on_remainders_mean_the_same_on_every_row(spark, table, rows, on):
    draw = random.Random(f"remainders {on}")
    with ansi(spark, on) as semantics:
        predicates = lowered_completely([random_remainder_condition(draw) for _ in range(500)], semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 100
    assert wrong == []


@pytest.mark.deep
@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_what_is_said_of_columns_whose_value_is_known_is_so(spark, table, rows, on):
    draw = random.Random(f"known {on}")
    texts = [random_known_value(draw, draw.choice(rows)) for _ in range(500)]
    with ansi(spark, on) as semantics:
        predicates = {sql: lower(sql, FIXTURE_COLUMNS, semantics=semantics).predicate for sql in dict.fromkeys(texts)}
        answers = table.selectExpr(*(f"({sql}) as p{i}" for i, sql in enumerate(predicates))).collect()
    said = {sql: [outcomes_of(predicate, row) for row in rows] for sql, predicate in predicates.items()}
    wrong = [
        (sql, rows[number], outcomes, answers[number][i])
        for i, (sql, found) in enumerate(said.items())
        for number, outcomes in enumerate(found)
        if answers[number][i] not in outcomes
    ]
    known_not_to_hold = [
        sql
        for i, (sql, found) in enumerate(said.items())
        if any(True not in outcomes and answers[number][i] is False for number, outcomes in enumerate(found))
    ]
    assert wrong == []
    refused = [sql for sql, predicate in predicates.items() if any(map(may_be_refined, leaves(predicate)))]
    assert len(refused) > 200
    assert len(known_not_to_hold) > 200


@pytest.mark.deep
def test_what_is_said_to_be_null_is_so_and_does_not_raise(spark, table, rows):
    from pyspark.errors import AnalysisException

    draw = random.Random("null with")
    queries = {}
    with ansi(spark, on=True) as semantics:
        for sql in [*REFUSED_OF_TWO, *(random_comparison_of_two(draw) for _ in range(300))]:
            predicate = lower(sql, FIXTURE_COLUMNS, semantics=semantics).predicate
            null = [number for number, row in enumerate(rows) if outcomes_of(predicate, row) == {None}]
            try:
                table.selectExpr(f"({sql})").schema  # noqa: B018  (analysis is what raises)
            except AnalysisException:
                continue
            if null and isinstance(predicate, Unsupported):
                queries[sql] = f"CASE WHEN row_number IN ({', '.join(map(str, null))}) THEN ({sql}) END"
        answers = table.selectExpr(*(f"{query} as p{i}" for i, query in enumerate(queries.values()))).collect()
    assert len(queries) > 100
    assert [sql for i, sql in enumerate(queries) if any(answer[i] is not None for answer in answers)] == []


REFUSED_OF_TWO = [
    *("cast(u64 as int) = y", "y = cast(u64 as int) + 1", "s = x", "x * y = u64", "1 / x + y > 3", "u64 % 3E-25BD < y"),
    *("concat(s, 'a') = upper(s)", "x % 3 = 2", "date_add(day, x) > to_date(ntz)", "i8 - i64 = i16 + x"),
]
