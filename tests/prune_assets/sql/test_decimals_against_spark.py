"""Comparisons of decimals that together need more digits than Spark has, which rounds one of them, as Spark answers."""

from __future__ import annotations

import random
from contextlib import contextmanager
from decimal import Context, Decimal

import pyarrow as pa
import pytest

from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.lower import lower
from tests.prune_assets.sql.interpreter import may_raise, outcomes_of
from tests.prune_assets.sql.table_columns import leaf

pytestmark = pytest.mark.spark

WIDE = Context(prec=80)
ANSI = "spark.sql.ansi.enabled"
MINIMUM = "spark.sql.legacy.literal.pickMinimumPrecision"
RETAIN = "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate"
# With ansi.enabled some of these comparisons raise.
RETAINED = {RETAIN: "true", ANSI: "false"}
DECIMALS = {
    f"d{digits}_{scale}": (digits, scale)
    for digits, scale in ((38, 38), (38, 30), (38, 10), (38, 0), (30, 25), (20, 4), (18, 18), (4, 2))
}
INTEGERS = {"i8": ("tinyint", 8), "x": ("int", 32), "i64": ("bigint", 64)}
COLUMNS = [
    *(leaf(name, type=pa.decimal128(*type_)) for name, type_ in DECIMALS.items()),
    *(leaf(name, type=getattr(pa, f"int{bits}")()) for name, (_, bits) in INTEGERS.items()),
]
SCHEMA = ", ".join(
    [f"{name} decimal({digits},{scale})" for name, (digits, scale) in DECIMALS.items()]
    + [f"{name} {kind}" for name, (kind, _) in INTEGERS.items()]
)
ROWS = 48
# Numbers of fractional digits to which Spark rounds.
SCALES = (0, 6, 8, 10, 17, 18, 28, 29, 35, 37)
INTEGER_LITERALS = ["0", "1", "-1", "5", "5Y", "1L", "-7S", "12345", "2147483647", "9223372036854775807", "0L"]
DECIMAL_LITERALS = [
    *("0.5", "-0.5", "1.0", "0.000000000000000027", "-0.000000000000000000000000000001", "12345678901234567890"),
    *("0.00000000000000000000000000000000000001", "99999999999999999999999999999999999999", "1234567890123456.75"),
    *(
        "0.99999999999999999999999999999999999999",
        "5.000000000000000000000000000001",
        "5.00000000000000000000000000000",
    ),
    *("9999999999999999999999999999.9999999999", "-1e-37BD", "5e-29BD", "0.00000000005", "4.4", "1e20BD"),
]
CONDITIONS = [
    *("{column} {op} {literal}", "{literal} {op} {column}", "{column} <=> {literal}", "NOT ({column} {op} {literal})"),
    *("{column} IN ({literal}, {other})", "{column} IN ({literal})", "{column} NOT IN ({literal}, {other}, NULL)"),
    *("{column} BETWEEN {literal} AND {other}", "coalesce({column}, {literal}) {op} {other}"),
    *("CASE WHEN i8 > 0 THEN {column} ELSE {literal} END {op} {other}", "nullif({column}, {literal}) IS NULL"),
    *("{column} = {literal} AND {second} {op} {column}", "if(x > 0, {literal}, {other}) {op} {column}"),
    *("-{column} {op} {literal}", "{column} IN (- {literal}, {other}, {third})", "{column} {op} {literal} + {other}"),
]


@contextmanager
def settings(spark, chosen):
    before = {key: spark.conf.get(key) for key in (ANSI, MINIMUM, RETAIN)}
    for key, value in chosen.items():
        spark.conf.set(key, value)
    try:
        yield semantics_of(spark)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def fitting(number, digits, scale):
    """Return the nearest value of a decimal type, None where it does not fit."""
    found = number.quantize(Decimal(1).scaleb(-scale), context=WIDE)
    return found if len(found.as_tuple().digits) <= digits else None


def odd_value(draw, digits, scale):
    """Return a value at a rounding border: half a unit of some digit away from a literal, or one unit more or less."""
    near = Decimal(draw.choice([0, 1, -1, 5, -7, 12345, 10**20, 10**28])) + Decimal(draw.choice(["0", "0.5", "4.4"]))
    half = Decimal(draw.choice([-5, 0, 5])).scaleb(-draw.choice(SCALES) - 1)
    step = Decimal(draw.choice([-1, 0, 1])).scaleb(-scale)
    ends = [Decimal(f"{sign}{'9' * digits}").scaleb(-scale, context=WIDE) for sign in "+-"]
    found = fitting(WIDE.add(WIDE.add(near, half), step), digits, scale)
    return draw.choice(ends) if found is None else found


@pytest.fixture(scope="module")
def rows():
    draw = random.Random("odd decimals")

    def value(name):
        if draw.random() < 0.05:
            return None
        if name in DECIMALS:
            return odd_value(draw, *DECIMALS[name])
        end = 1 << INTEGERS[name][1] - 1
        return draw.choice([0, 1, -1, 5, -7, -end, end - 1])

    return [{name: value(name) for name in (*DECIMALS, *INTEGERS)} for _ in range(ROWS)]


@pytest.fixture(scope="module")
def table(spark, rows):
    data = [(*row.values(), number) for number, row in enumerate(rows)]
    return spark.createDataFrame(data, f"{SCHEMA}, row_number int").coalesce(1).cache()


def random_condition(draw):
    literals = [draw.choice(draw.choice([INTEGER_LITERALS, DECIMAL_LITERALS, DECIMAL_LITERALS])) for _ in range(3)]
    names = [draw.choice([*DECIMALS] * 3 + [*INTEGERS]) for _ in range(2)]
    return draw.choice(CONDITIONS).format(
        **dict(zip(("literal", "other", "third"), literals, strict=True)),
        **dict(zip(("column", "second"), names, strict=True)),
        op=draw.choice(["=", "<>", "<", "<=", ">", ">="]),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chosen", [{}, {ANSI: "false"}, {MINIMUM: "false"}, RETAINED], ids=str)
def test_decimals_are_rounded_as_spark_does(spark, table, rows, chosen):
    draw = random.Random("decimals")
    texts = list(dict.fromkeys(random_condition(draw) for _ in range(300)))
    with settings(spark, chosen) as semantics:
        trees = {sql: lower(sql, COLUMNS, semantics=semantics).predicate for sql in texts}
        # Texts that may raise are evaluated only on rows for which they certainly do not raise.
        certain = {
            sql: [number for number, row in enumerate(rows) if not may_raise(tree, row)] for sql, tree in trees.items()
        }
        queries = [
            f"CASE WHEN row_number IN ({', '.join(map(str, numbers))}) THEN ({sql}) END" if numbers else "NULL"
            for sql, numbers in certain.items()
        ]
        answers = table.selectExpr(*(f"{query} as p{i}" for i, query in enumerate(queries))).collect()
    wrong = [
        (sql, rows[number], outcomes_of(trees[sql], rows[number]), answers[number][i])
        for i, (sql, numbers) in enumerate(certain.items())
        for number in numbers
        if answers[number][i] not in outcomes_of(trees[sql], rows[number])
    ]
    wholly = [sql for sql, tree in trees.items() if not any(isinstance(part, Unsupported) for part in leaves(tree))]
    assert wrong == []
    assert len(wholly) > (0.4 if chosen is RETAINED else 0.85) * len(texts)
