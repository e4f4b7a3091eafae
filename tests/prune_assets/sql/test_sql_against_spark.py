"""Spark's own parser and its own answers, compared with what is made of the same text here."""

from __future__ import annotations

import math
import random
import re
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from bracketed import bracketed
from fixture_lines import fixture_lines
from interpreter import may_raise, outcomes_of
from random_expressions import random_comparison_of_two, random_expression_condition, random_remainder_condition
from random_known_values import random_known_value
from random_predicates import LITERALS, random_predicate
from table_columns import FIXTURE_COLUMNS, FIXTURE_TYPES, SPARK_SCHEMA

from parquet_core.errors import PredicateSyntaxError
from parquet_core.predicate import Unsupported, leaves
from prune_assets.semantics import SparkSemantics
from prune_assets.sql.chains import UNCERTAIN
from prune_assets.sql.dialect import SparkPredicates
from prune_assets.sql.floats import float_of_text
from prune_assets.sql.lowering import lower
from prune_assets.sql.nodes import SparkLiteral
from prune_assets.sql.rewrites.fold_constants import fold_constants
from prune_assets.sql.rewrites.put_known_values import may_be_refined
from prune_assets.sql.timestamps import Moment
from prune_assets.sql.values import Kind

pytestmark = pytest.mark.spark

EPOCH = date(1970, 1, 1).toordinal()
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


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(20_261_121)
    small = list(range(-3, 8))
    columns = {name: [None, *EDGES.get(name, small)] for name in FIXTURE_TYPES}
    return [
        {name: values[i] if i < len(values) else draw.choice(values) for name, values in columns.items()}
        for i in range(ROWS)
    ]


@pytest.fixture(scope="module")
def table(spark, rows):
    data = [(*row.values(), None, None, None, number) for number, row in enumerate(rows)]
    return spark.createDataFrame(data, f"{SPARK_SCHEMA}, row_number int").coalesce(1).cache()


@pytest.fixture(scope="module")
def parse(spark):
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    parser = spark._jsparkSession.sessionState().sqlParser()

    def trees(sql):
        """Return Spark's tree as text, as read and canonical; None when Spark refuses the text or reads an alias."""
        try:
            parsed = parser.parseExpression(sql)
        except (PySparkException, Py4JJavaError):
            return None
        kind, text = parsed.getClass().getSimpleName(), parsed.toString()
        if kind == "UnresolvedStar" or (kind == "Alias" and "semistructuredextract" not in text):
            return None
        return {
            re.sub(r"#\d+L?|(?<=posparameter\()\d+", "", tree) for tree in (text, parsed.canonicalized().toString())
        }

    return trees


@contextmanager
def ansi(spark, on):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    try:
        yield SparkSemantics.of(spark)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def is_accepted(sql):
    try:
        SparkPredicates().parse(sql)
    except PredicateSyntaxError:
        return False
    return True


LOWERED = ("lowered.txt", "patterns.txt", "partly.txt")
ALL_TEXTS = [line.predicate for name in (*LOWERED, "grammar.txt") for line in fixture_lines(name)]


def test_the_parsers_accept_the_same(parse):
    expected = {line.predicate: line.expected for line in fixture_lines("grammar.txt")}
    expected |= {line.predicate: "accepted" for name in LOWERED for line in fixture_lines(name)}
    verdicts = {True: {True: "accepted", False: "refused"}, False: {False: "rejected", True: "lenient"}}
    found = {sql: verdicts[parse(sql) is not None][is_accepted(sql)] for sql in expected}
    assert found == expected


def test_what_is_a_syntax_error_here_is_one_in_spark(parse):
    errors = [line for line in fixture_lines("errors.txt") if line.expected.startswith("PredicateSyntaxError")]
    assert [line.predicate for line in errors if parse(line.predicate) is not None] == []


def test_operators_bind_as_in_spark(parse):
    texts = [sql for sql in ALL_TEXTS if is_accepted(sql)]
    texts += [random_predicate(random.Random(seed)) for seed in range(200)]
    # Spark balances long chains of AND and OR, which only the canonical tree forgets.
    assert [(sql, bracketed(sql)) for sql in texts if not parse(sql) & parse(bracketed(sql))] == []


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("a = b = c", "a = (b = c)"),
        ("a - b - c = 1", "a - (b - c) = 1"),
        ("not a and b", "not (a and b)"),
        ("a or b and c", "(a or b) and c"),
        ("a between b and c = d", "(a between b and c) = d"),
    ],
)
def test_another_reading_would_be_noticed(parse, sql, other):
    assert not parse(sql) & parse(other)


@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_literals_and_sums_have_spark_s_value(spark, on):
    literals = sorted({literal for values in LITERALS.values() for literal in values} | set(NASTY_LITERALS))
    found = {literal: described(fold_constants(SparkPredicates().parse(literal)[0])) for literal in literals}
    # Which instants are meant is held to Spark by itself.
    found = {literal: value for literal, value in found.items() if not isinstance(value[1], Moment)}
    literals = list(found)
    with ansi(spark, on):
        plan = spark.sql("select " + ", ".join(f"{literal} as c{i}" for i, literal in enumerate(literals)))
        answers = plan.collect()[0]
        types = [field.dataType.simpleString() for field in plan.schema]
    assert len(literals) > 150
    assert found == {
        literal: (spark_kind(kind), comparable(answer))
        for literal, kind, answer in zip(literals, types, answers, strict=True)
    }


def comparable(answer):
    """NaN is not itself, and bytes come in several kinds."""
    return repr(answer) if isinstance(answer, float) else bytes(answer) if isinstance(answer, bytearray) else answer


NASTY_LITERALS = [
    *[
        "1e0",
        "1.E5",
        ".5e-3",
        "5.D",
        "-1.5e-3",
        "- 2e1",
        "1e-400",
        "1e-400D",
        "1e-46F",
        "7.1e-46F",
        "1.00000005960464478F",
    ],
    *["1.000000059604644776F", "16777217F"],
    *["x'0'", "X'0a0B'", "x''", 'X"1"', "double('nAn')", "float('-INF')", "double('+infinity')"],
    *["'it\\'s'", "'a''b'", "'a'/**/'b'", "r'a''b'", "'a'r'b'", "'a'\"b\"", '"a""b"', 'r"\\n"', "''''", "'a''' 'b'"],
    *["'\\n\\t\\0\\b\\r\\Z\\%\\_\\a\\'\\\"\\\\x'", "'\\uD83D\\uDE00'", "'\\101\\377\\400\\08'", "'\\x41'", "'\\u00'"],
    *["'\\U0001F600'", "'a\nb'", "'--'", "'/*'", "'`'", "1Y", "1S", "1L", "1l", "1bd", "1e2BD", "1e-2BD", "0.00"],
    *["00.50", "007", "5.", ".5", "-1.5", "-128Y", "- 128Y", "-9223372036854775808", "- 9223372036854775808"],
    *["9223372036854775808", "99999999999999999999999999999999999999", "1.0000000000000000000000000000000000000"],
    *[
        "-(2147483648)",
        "- -1",
        "+1",
        "+-1",
        "1 + 1",
        "1Y + 1Y",
        "1Y + 0.5",
        "3Y - 0.25",
        "1 + 1L",
        "1S - 2",
        "1 + 1.5",
        "1.5 - 2",
        "0.1 + 1L",
    ],
    *["0.06 - 0.01", "1 - (2 - 3)", "1 - 2 - 3", "0.5BD + 5", "(1 + 1) + 0.5", "-(1.50)", "- - 0.5", "1Y - 2S"],
    *["date '2024-02-29' + interval 1 year", "date '2024-02-29' - interval '12' month", "date'1994-1-1'"],
    *["date '1994-01-31' + interval '1' month", "interval '1' month + date '1994-01-31'", "date ' 1994-01-01 '"],
    *["date '1994-03-31' - interval '-1' month", "date '1994-03-31' + interval - '1' month"],
    *["date '1994-03-31' + interval ' 1 ' day", "date '1994-03-31' + interval '+1' day", "date r'1994-01-01'"],
    *["date '1994-03-31' + interval 2 weeks", "date '1994-03-31' - interval '90' day + interval 1 month"],
    *["date '9999-12-31' - interval 9998 years", "date '0001-01-31' + interval 1 months", "true", "false", "null"],
]


def spark_kind(kind):
    kinds = {"void": "null", "string": "string", "date": "date", "binary": "binary", "boolean": "boolean"}
    return kinds.get(kind, kind)


def described(node):
    """Return type and value as Spark reports them; digits beside Spark's for sums are checked by value alone."""
    assert isinstance(node, SparkLiteral)
    value = node.spark_value
    match value.kind:
        case Kind.INTEGER:
            return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[value.bits], value.value
        case Kind.DECIMAL:
            exact = Decimal((value.number < 0, tuple(map(int, str(abs(value.number)))), -value.scale))
            return f"decimal({value.digits},{value.scale})", exact
        case Kind.DOUBLE:
            return {32: "float", 64: "double"}[value.bits], comparable(value.value)
        case Kind.DATE:
            return "date", date.fromordinal(value.number + EPOCH)
        case kind:
            return str(kind), value.value


def lowered_completely(texts, semantics, *, but=None):
    """Return the predicates of which no part is Unsupported, or for the reason `but` alone, by text."""
    found = {sql: lower(sql, FIXTURE_COLUMNS, semantics=semantics).predicate for sql in dict.fromkeys(texts)}
    return {
        sql: predicate
        for sql, predicate in found.items()
        if not any(isinstance(leaf, Unsupported) and leaf.reason != but for leaf in leaves(predicate))
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


def test_strings_are_the_floats_that_spark_casts_them_to(spark):
    draw = random.Random(3)
    texts = ["1.5", "-0.0", "5.", ".5", "+7", "1e3", "nan", "+Infinity", "-INF", "1e999", "-1e300", "1e39", "1e-400"]
    texts += ["16777217", "16777219", "1.00000005960464478", "1.4e-45", "7.0064923216240853e-46"]
    texts += ["7.0064923216240854e-46", "3.40282356779733661637539395458142568e38", "3.4028235677973366164e38"]
    texts += [f"{draw.uniform(-10, 10)}e{draw.randint(-46, 39)}" for _ in range(200)]
    shown = spark.createDataFrame([(text,) for text in texts], "t string")
    for text, *numbers in shown.selectExpr("t", "cast(t AS float)", "cast(t AS double)").collect():
        ours = [float_of_text(text, 32), float_of_text(text, 64)]
        assert [comparable(number) for number in ours] == [comparable(number) for number in numbers], text


def asked(sql, numbers, rows):
    if len(numbers) == len(rows):
        return f"({sql}\n)"
    left_out = set(range(len(rows))) - set(numbers)
    return f"CASE WHEN row_number NOT IN ({', '.join(map(str, sorted(left_out)))}) THEN ({sql}\n) END"


@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_fixtures_mean_the_same_on_every_row(spark, table, rows, on):
    with ansi(spark, on) as semantics:
        texts = [line.predicate for name in LOWERED for line in fixture_lines(name)]
        predicates = lowered_completely(texts, semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 310
    assert wrong == []


@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_random_predicates_mean_the_same_on_every_row(spark, table, rows, on):
    draw = random.Random(7 + on)
    with ansi(spark, on) as semantics:
        predicates = lowered_completely([random_predicate(draw) for _ in range(400)], semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 250
    assert wrong == []


def test_conditions_on_expressions_mean_the_same_on_every_row(spark, table, rows):
    draw = random.Random(23)
    with ansi(spark, on=True) as semantics:
        texts = [random_expression_condition(draw) for _ in range(700)]
        predicates = lowered_completely(texts, semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 400
    assert wrong == []


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


@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_conditions_on_remainders_mean_the_same_on_every_row(spark, table, rows, on):
    draw = random.Random(f"remainders {on}")
    with ansi(spark, on) as semantics:
        predicates = lowered_completely([random_remainder_condition(draw) for _ in range(500)], semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 100
    assert wrong == []


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


@pytest.mark.parametrize("seed", range(2))
def test_without_ansi_what_is_known_of_a_row_is_so(spark, table, rows, seed):
    """What overflows, which Spark wraps around or makes NULL, is left open, and nothing else is."""
    draw = random.Random(f"not ansi {seed}")
    with ansi(spark, on=False) as semantics:
        texts = [random_expression_condition(draw) for _ in range(500)]
        predicates = lowered_completely(texts, semantics, but=UNCERTAIN)
        known = {sql: [outcomes_of(tree, row) for row in rows] for sql, tree in predicates.items()}
        certain = [[number for number, found in enumerate(each) if len(found) == 1] for each in known.values()]
        queries = [asked(sql, numbers, rows) for sql, numbers in zip(known, certain, strict=True)]
        answers = table.selectExpr(*(f"{query} as p{i}" for i, query in enumerate(queries))).collect()
    wrong = [
        (sql, rows[number], answers[number][i])
        for i, (sql, outcomes) in enumerate(known.items())
        for number in certain[i]
        if {answers[number][i]} != outcomes[number]
    ]
    assert len(known) > 250
    assert sum(map(len, certain)) > 0.8 * len(known) * len(rows)
    assert wrong == []


def test_what_clashes_here_is_refused_by_spark(spark, table):
    from pyspark.errors import AnalysisException

    clashes = [line for line in fixture_lines("errors.txt") if line.expected.startswith("PredicateTypeError")]
    with ansi(spark, on=True):
        for line in clashes:
            with pytest.raises(AnalysisException):
                table.where(line.predicate).schema  # noqa: B018  (analysis is what raises)
