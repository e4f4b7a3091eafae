"""Compare Spark's parser and Spark's answers with the results for the same text in prune-assets."""

from __future__ import annotations

import random
import re
from datetime import date
from decimal import Decimal
from functools import cache

import pytest

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.lowering.column_values import UNCERTAIN
from prune_assets.sql.syntax import grammar, nodes
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.types.floats import float_of_text
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import Moment
from tests.prune_assets.sql.bracketed import bracketed
from tests.prune_assets.sql.fixture_lines import fixture_lines
from tests.prune_assets.sql.interpreter import outcomes_of
from tests.prune_assets.sql.random_expressions import random_expression_condition
from tests.prune_assets.sql.random_predicates import LITERALS, random_predicate
from tests.prune_assets.sql.spark_rows import ansi, asked, disagreements, in_spark, lowered_completely, random_rows

pytestmark = pytest.mark.spark

EPOCH = date(1970, 1, 1).toordinal()


@pytest.fixture(scope="module")
def rows():
    return random_rows()


@pytest.fixture(scope="module")
def table(spark, rows):
    return in_spark(spark, rows)


@pytest.fixture(scope="module")
def parse(spark):
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    parser = spark._jsparkSession.sessionState().sqlParser()

    @cache
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


def is_accepted(sql):
    try:
        grammar.parse(sql, tokenize(sql))
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
    found = {literal: described(fold_constants(grammar.parse(literal, tokenize(literal)))) for literal in literals}
    # Instants are compared with Spark in a test of their own.
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
    """Return a comparable value: NaN becomes equal to itself, and byte types become one."""
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
    """Return type and value as Spark reports them.

    Values with more digits than Spark's result of a sum are compared by value only.
    """
    assert isinstance(node, nodes.Literal)
    value = node.value
    match value.kind:
        case ValueKind.INTEGER:
            return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[value.bits], value.value
        case ValueKind.DECIMAL:
            exact = Decimal((value.number < 0, tuple(map(int, str(abs(value.number)))), -value.scale))
            return f"decimal({value.digits},{value.scale})", exact
        case ValueKind.DOUBLE:
            return {32: "float", 64: "double"}[value.bits], comparable(value.value)
        case ValueKind.DATE:
            return "date", date.fromordinal(value.number + EPOCH)
        case kind:
            return str(kind), value.value


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


@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_fixtures_mean_the_same_on_every_row(spark, table, rows, on):
    with ansi(spark, on) as semantics:
        texts = [line.predicate for name in LOWERED for line in fixture_lines(name)]
        predicates = lowered_completely(texts, semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 310
    assert wrong == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_random_predicates_mean_the_same_on_every_row(spark, table, rows, on):
    draw = random.Random(7 + on)
    with ansi(spark, on) as semantics:
        predicates = lowered_completely([random_predicate(draw) for _ in range(400)], semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 250
    assert wrong == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [23, 24])
def test_conditions_on_expressions_mean_the_same_on_every_row(spark, table, rows, seed):
    draw = random.Random(seed)
    with ansi(spark, on=True) as semantics:
        texts = [random_expression_condition(draw) for _ in range(350)]
        predicates = lowered_completely(texts, semantics)
        wrong = disagreements(table, rows, predicates)
    assert len(predicates) > 200
    assert wrong == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_without_ansi_what_is_known_of_a_row_is_so(spark, table, rows, seed):
    """Expressions that overflow, which Spark wraps around or makes NULL, are undecided; all others are decided."""
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
