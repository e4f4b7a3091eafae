"""Types and values of expressions, compared with Spark's own."""

from __future__ import annotations

import random
from decimal import Context, Decimal

import pytest
from pyspark.errors import ArithmeticException

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Constant
from prune_assets.sql.binding.bind import Binder, BindingContext
from prune_assets.sql.binding.scope import bind_names
from prune_assets.sql.functions.terms import Chain
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.syntax.parsed import parse_predicate
from prune_assets.sql.types.spark_types import ordinal_of_float
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.zones import Clocks
from tests.prune_assets.sql.random_expressions import COLUMNS, CONSTANTS, TYPES, expression
from tests.prune_assets.sql.spark_rows import EDGES, ansi
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS, FIXTURE_TYPES, SPARK_SCHEMA

pytestmark = pytest.mark.spark

RAISES = "raises"
WIDE = Context(prec=60)
NO_ORDINAL = {"s", "day", "bin", "b", "st"}
SIMPLE = [name for name in FIXTURE_TYPES if name in EDGES and name not in NO_ORDINAL]
EACH = [
    *(
        "-{0}",
        "abs({0})",
        "floor({0})",
        "ceil({0})",
        "round({0})",
        "round({0}, 1)",
        "round({0}, -1)",
        "{0} / 3",
        "7 / {0}",
    ),
    *("{0} + 1", "{0} - 1.5", "5 - {0}", "{0} * 3", "{0} * -2", "{0} * 0.1", "{0} / -7", "{0} / 0.3", "1.5 - {0}"),
    *("{0} + 0.1D", "{0} * 1e-3", "0.3D - {0}", "{0} / 0.1D", "1e0 / {0}", "{0} + 1F", "{0} * 0.7F", "{0} div 7"),
    *("cast({0} as decimal(38,6)) * 99999", "cast({0} as decimal(38,0)) + 1", "2.5 - cast({0} as decimal(38,6))"),
    *("cast({0} as decimal(38,2)) / 3", "-7 / cast({0} as decimal(38,0))", "cast({0} as decimal(36,3)) * -1000.001"),
    *("-100 div {0}", "{0} div -1", "{0} + 9223372036854775807", "{0} / 1e300", "{0} + 12.345", "{0} * 123.4567"),
]


def asked(*, ansi: bool = True) -> BindingContext:
    unknown = Constant(Outcomes.UNKNOWN)
    semantics = SparkSemantics(ansi=ansi)
    return BindingContext(
        semantics,
        Clocks.of(semantics),
        lambda _: unknown,
        lambda *_: unknown,
        lambda _: unknown,
    )


def term(sql, *, on=True):
    """Return the bound operand of an expression; None if it is unsupported."""
    try:
        tree = bind_names(parse_predicate(sql), FIXTURE_COLUMNS, SparkSemantics(ansi=on)).tree
        return Binder(asked(ansi=on)).operand(tree)
    except Refusal:
        return None


def ordinal(value, type_):
    """Return the ordinal of what Spark answers; None for null."""
    if value is None:
        return None
    match type_.kind:
        case ValueKind.DECIMAL:
            return int(Decimal(value).scaleb(type_.scale, context=WIDE))
        case ValueKind.DOUBLE:
            return ordinal_of_float(value, type_.bits)
        case _:
            return int(value)


def forwards(chain, start):
    """Return the ordinal of a chain's result for one of the column; None for NULL, and where nothing is promised."""
    at = start
    for function in chain.functions:
        if at is None:
            return None
        if at in function.uncertain:
            return "uncertain"
        if at in function.raises:
            return RAISES
        if at in function.nulls:
            at = None
            continue
        at = function.value(at)
        if not function.result.least <= at <= function.result.greatest:
            if not function.overflows_to_null:
                return RAISES
            at = None
    return at


@pytest.mark.sampled(2)
@pytest.mark.parametrize("on", [True, False], ids=["ansi", "not ansi"])
def test_types_are_spark_s(spark, on):
    draw = random.Random(11)
    texts = [expression(draw, draw.choice(COLUMNS), draw.randint(1, 2)) for _ in range(1_500)]
    texts += [f"({column} {sign} {number})" for column in SIMPLE for sign in "+-*/" for number in CONSTANTS]
    texts += [f"coalesce({column}, {number})" for column in SIMPLE for number in CONSTANTS]
    texts += [f"cast({column} as {kind})" for column in SIMPLE for kind in TYPES]
    ours = {sql: str(found.type) for sql in dict.fromkeys(texts) if (found := term(sql, on=on)) is not None}
    empty = spark.createDataFrame([], SPARK_SCHEMA)
    with ansi(spark, on):
        spark_s = [kind for _, kind in empty.selectExpr(*(f"{sql} as p{i}" for i, sql in enumerate(ours))).dtypes]
    assert len(ours) > 1_500
    assert [(sql, ours[sql], kind) for sql, kind in zip(ours, spark_s, strict=True) if ours[sql] != kind] == []


@pytest.fixture(scope="module")
def chains():
    draw = random.Random(5)
    texts = [form.format(column) for column in SIMPLE for form in EACH]
    texts += [f"{how}({column} as {kind})" for column in SIMPLE for kind in TYPES for how in ("cast", "try_cast")]
    texts += [expression(draw, draw.choice(SIMPLE), draw.randint(2, 3)) for _ in range(300)]
    found = {sql: term(sql) for sql in dict.fromkeys(texts)}
    return {sql: one.single for sql, one in found.items() if one is not None and isinstance(one.single, Chain)}


@pytest.fixture(scope="module")
def values(spark):
    """One row a value, all columns side by side."""
    longest = max(len(EDGES[name]) for name in SIMPLE)
    extra = {"f": [0.5, -0.5, 2.5e9, 9.3e18, -9.3e18, 127.9, -128.9, 1e-310], "g": [0.5, -2.5, 3e9, 9.3e18, -129.0]}
    columns = {name: [*EDGES[name], *extra.get(name, [])] for name in SIMPLE}
    longest = max(map(len, columns.values()))
    data = [(*(columns[name][i % len(columns[name])] for name in SIMPLE), i) for i in range(longest)]
    schema = ", ".join(f"{name} {FIXTURE_TYPES[name][0]}" for name in SIMPLE)
    return data, spark.createDataFrame(data, f"{schema}, row_number int").coalesce(1).cache()


def is_answered(table, column):
    try:
        table.selectExpr(column).collect()
    except ArithmeticException:
        return False
    return True


@pytest.mark.deep
def test_values_are_spark_s(chains, values):
    data, table = values
    ours = {}
    for sql, chain in chains.items():
        place = SIMPLE.index(chain.column.path[0])
        first = chain.functions[0] if chain.functions else None
        starts = [ordinal(row[place], _start(chain)) for row in data]
        ours[sql] = [forwards(chain, start) for start in starts] if first else starts
    texts, wrong = list(ours), []
    for start in range(0, len(texts), 150):
        part = texts[start : start + 150]
        certain = {sql: [i for i, at in enumerate(ours[sql]) if not isinstance(at, str)] for sql in part}
        shown = [
            f"CASE WHEN row_number IN ({', '.join(map(str, certain[sql] or [-1]))}) THEN {sql} END as p{i}"
            for i, sql in enumerate(part)
        ]
        try:
            answers = table.selectExpr(*shown).collect()
        except ArithmeticException:
            # Of `(x * 10) * -2147483648` Spark folds the constants, and nothing is left to compare.
            folded = [i for i, each in enumerate(shown) if not is_answered(table, each)]
            assert len(folded) < 3
            shown = [f"NULL AS p{i}" if i in folded else each for i, each in enumerate(shown)]
            certain |= {part[i]: [] for i in folded}
            answers = table.selectExpr(*shown).collect()
        wrong += [
            (sql, data[i][SIMPLE.index(chains[sql].column.path[0])], ours[sql][i], answers[i][number])
            for number, sql in enumerate(part)
            for i in certain[sql]
            if ordinal(answers[i][number], chains[sql].type) != ours[sql][i]
        ]
    assert len(texts) > 600
    assert wrong == []


def _start(chain):
    from prune_assets.sql.types.spark_types import type_of_column

    return type_of_column(chain.column.type)


@pytest.mark.parametrize(
    "sql",
    [
        *("x + 1", "-x", "x * 2", "abs(x)", "x - 5", "-2147483648 - x", "i64 div 0", "i64 + 1"),
        *("cast(wide as decimal(38,6)) * 99999", "cast(wide as decimal(38,6)) * -99999"),
        *("cast(x as tinyint)", "i8 * 2Y", "cast(f as int)", "cast(d as tinyint)", "cast(i64 as decimal(10,0))"),
        *(
            "cast(f as bigint)",
            "cast(wide as decimal(38,18))",
            "round(i8, -1)",
            "d / 0",
            "f / 0",
            "floor(f)",
            "ceil(f)",
        ),
    ],
)
def test_what_raises_here_raises_in_spark(values, sql):
    from pyspark.errors import PySparkException

    data, table = values
    chain = term(sql).single
    place = SIMPLE.index(chain.column.path[0])
    at = next(i for i, row in enumerate(data) if forwards(chain, ordinal(row[place], _start(chain))) == RAISES)
    with pytest.raises(PySparkException):
        table.where(f"row_number = {at}").selectExpr(sql).collect()
