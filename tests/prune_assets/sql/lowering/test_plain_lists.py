"""A long IN list is one token; it has the same meaning as a list that is parsed value by value, but is much faster."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass, replace
from itertools import cycle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.errors import PredicateSyntaxError, PredicateTypeError
from prune_assets.planner.spark_reader.as_spark_filters import as_spark_filters
from prune_assets.planner.spark_reader.spark_filters import Values
from prune_assets.planner.spark_reader.spark_profile import NEWEST
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.syntax.lexer import SHORTEST_LIST, TokenKind, tokenize
from prune_assets.sql.syntax.parsed import parse_predicate
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS, FIXTURE_TYPES

SEMANTICS = SparkSemantics(time_zone="UTC")
DRAW = random.Random(5)
COUNT = SHORTEST_LIST
LISTS = {
    "small": [DRAW.randrange(-300, 300) for _ in range(COUNT)],
    "ints": [DRAW.randrange(-(2**31), 2**31) for _ in range(COUNT)],
    "longs": [DRAW.randrange(-(10**17), 10**17) for _ in range(COUNT)],
    "one": [7] * COUNT,
    "outside": [10**17 + i for i in range(COUNT)],
    "suffixed": [f"{DRAW.randrange(1000)}L" for _ in range(COUNT)],
    "strings": [f"'a{DRAW.randrange(1000)}'" for _ in range(COUNT)],
    "same string": ["'ü,x'"] * COUNT,
    "days": [f"'2024-01-{DRAW.randrange(1, 29):02}'" for _ in range(COUNT)],
    "digits": [f"'{DRAW.randrange(1000)}'" for _ in range(COUNT)],
}
OPERANDS = [*(f"`{name.replace('`', '``')}`" for name in FIXTURE_TYPES if name != "st"), "x + 1", "cast(x AS STRING)"]
OPERANDS += ["substring(s, 1, 2)", "year(day)", "CASE WHEN b THEN x END", "5"]


def both_ways(column: str, values: list[object], negation: str = "") -> tuple[str, str]:
    """Return the condition as one token has its list, and with a comment that cuts it into many."""
    listed = ", ".join(map(str, values))
    cut = listed.replace(", ", ",/**/ ", 1)
    return f"{column} {negation} IN ({listed})", f"{column} {negation} IN ({cut})"


def outcome(sql: str, semantics: SparkSemantics) -> object:
    """Return the lowered predicate and the pushed-down filters of Spark, or the reason for refusal."""
    try:
        lowered = lower(sql, FIXTURE_COLUMNS, semantics=semantics)
    except PredicateTypeError as refusal:
        return str(refusal)
    filters = as_spark_filters(lowered.parsed, semantics=semantics, profile=NEWEST)
    return as_plain(lowered.predicate), as_plain(filters)


def as_plain(part: object) -> object:
    """Return a tree as tuples and lists of Python values; string lists are sorted, because their order may differ."""
    match part:
        case pa.Array():
            return str(part.type), sorted(part.to_pylist()) if pa.types.is_string(part.type) else part.to_pylist()
        case pa.Scalar():
            return str(part.type), part.value if pa.types.is_temporal(part.type) else str(part)
        case Values():
            return as_plain(part.array)
        case tuple():
            return [as_plain(child) for child in part]
        case _ if is_dataclass(part):
            return type(part).__name__, [as_plain(getattr(part, it.name)) for it in fields(part) if it.compare]
        case _:
            return part


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("values", LISTS.values(), ids=LISTS)
def test_it_means_what_its_values_mean_one_by_one(values, ansi):
    semantics = replace(SEMANTICS, ansi=ansi)
    for operand, negation in zip(OPERANDS, cycle(["", "NOT"]), strict=False):
        at_once, one_by_one = both_ways(operand, values, negation)
        assert TokenKind.LIST in {token.kind for token in tokenize(at_once)}
        assert TokenKind.LIST not in {token.kind for token in tokenize(one_by_one)}
        found, expected = (outcome(sql, semantics) for sql in (at_once, one_by_one))
        assert found == expected, operand


@pytest.mark.parametrize(
    "values",
    [
        [*LISTS["ints"], "NULL"],
        [*LISTS["ints"], "1.5"],
        [*LISTS["ints"], "'5'"],
        [*LISTS["ints"], "2e3"],
        [*LISTS["ints"], "5 - 1"],
        [*LISTS["ints"], "12345678901234567890"],
        [*LISTS["strings"], r"'\x41'"],
        [*LISTS["strings"], "'it''s'"],
        [*LISTS["strings"], "'\ud800'"],
        [*LISTS["strings"], '"s"'],
        LISTS["ints"][1:],
    ],
    ids=repr,
)
def test_what_is_no_long_list_of_plain_values_is_read_one_by_one(values):
    assert TokenKind.LIST not in {token.kind for token in tokenize(both_ways("x", values)[0])}


def test_its_text_is_as_short_as_that_of_any_part():
    sql = "x\n IN (\n 1 ,\t\n" + ", ".join(["2"] * COUNT) + ")  AND s IN ('a  b',\n" + ", ".join(["'c'"] * COUNT) + ")"
    parsed = parse_predicate(sql)
    first, second = (part.text(part.tree) for part in parsed.conjuncts())
    assert first == "x IN ( 1 , " + ", ".join(["2"] * COUNT) + ")"
    assert second == "s IN ('a  b', " + ", ".join(["'c'"] * COUNT) + ")"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    directory = tmp_path_factory.mktemp("listed")
    for number in range(3):
        rows = range(number * 1000, number * 1000 + 1000)
        values = pa.table(
            {
                "k": [None if i % 97 == 0 else i for i in rows],
                "s": [None if i % 89 == 0 else f"u{i:05}" for i in rows],
                "x": pa.array([i % 100 - 50 for i in rows], pa.int8()),
                "f": [i / 4 for i in rows],
            }
        )
        pq.write_table(values, directory / f"{number}.parquet", row_group_size=250, write_page_index=True)
    return str(directory)


NEAR = ", ".join(str(i * 3) for i in range(2 * COUNT))
TEXTS = ", ".join(f"'u{i * 3:05}'" for i in range(2 * COUNT))
PREDICATES = [
    f"k IN ({NEAR})",
    f"k NOT IN ({NEAR})",
    f"s IN ({TEXTS})",
    f"s NOT IN ({TEXTS})",
    f"x IN ({NEAR})",
    f"f IN ({NEAR}) AND k > 700",
    f"k IN ({NEAR}) AND k > 700 AND s <> 'u00900'",
    f"k < 300 OR s IN ({TEXTS})",
    f"cast(k AS STRING) IN ({TEXTS})",
]


@pytest.mark.spark
@pytest.mark.parametrize("where", PREDICATES, ids=lambda where: where[:24])
def test_spark_reads_the_same_rows(spark, table, where):
    expected = sorted(spark.read.parquet(table).where(where).collect(), key=str)
    assert sorted(pr.read(table, where=where, session=spark).collect(), key=str) == expected


def test_row_groups_without_a_listed_value_are_skipped(table):
    report = pr.plan(table, where=f"k IN ({NEAR})").report
    assert (report.kept.row_groups, report.total.row_groups) == (7, 12), "values up to 1,533"
    assert pr.plan(table, where=f"s IN ({TEXTS})").report.kept.row_groups == 7


def test_no_step_is_taken_for_each_value(table, monkeypatch):
    """No token and no node is created for a value of a plain list, from the text to the report."""
    monkeypatch.setattr("prune_assets.sql.syntax.nodes.ListTest.listed", lambda _: pytest.fail("a node for each value"))
    for where in (f"k IN ({NEAR})", f"s NOT IN ({TEXTS})", f"k IN ({NEAR}) AND x > 0", f"x = 1 OR s IN ({TEXTS})"):
        assert len(tokenize(where)) < 12
        made = pr.plan(table, where=where)
        assert made.report.files
        assert made.warnings == ()


@pytest.mark.parametrize("signs", ["- " * 5_000, "+ " * 5_000, "-(+" * 1_000 + "2" + ")" * 1_000 + " - "])
def test_any_number_of_signs_before_a_number_is_a_number(table, signs):
    assert pr.plan(table, where=f"k < {signs}1").report.kept.row_groups <= 1


def test_too_many_conditions_are_refused_with_what_to_write_instead():
    with pytest.raises(PredicateSyntaxError, match=r"20,002 conditions by AND and OR.* as one IN \(\.\.\.\)"):
        parse_predicate(" OR ".join(f"x = {i}" for i in range(20_002)))


def test_a_predicate_of_too_many_words_is_refused_before_all_of_it_is_read(monkeypatch):
    monkeypatch.setattr("prune_assets.sql.syntax.lexer.MAX_TOKENS", 100)
    with pytest.raises(PredicateSyntaxError, match="has more than 100 tokens"):
        parse_predicate("x + " * 50 + "1 > 0 AND 'a")
