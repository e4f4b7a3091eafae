from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.sql.syntax import cursor, lexer, parsed
from prune_assets.sql.syntax.parsed import parse_predicate

PREDICATES = [
    "year(day) = 2024 and x > 5 and s like 'a%'",
    "x in (1, 2, 3) or (s = 'b' and day < date '2024-02-01')",
    "x between 2 and 9 and ms < timestamp '2024-01-01 00:00:01Z'",
    # Conditions that are evaluated on values, and one with a suggested rewrite.
    "x % 3 = 1 and day > date '2024-01-05'",
    "not (x % 3 = 1) and month(day) = 1",
    "x = 1 and (x % 2 = 1) is true",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "a.parquet"
    rows = 40
    data = {
        "x": pa.array(range(rows), pa.int32()),
        "s": pa.array(["a" if i % 2 else "b" for i in range(rows)]),
        "day": pa.array([19_723 + i for i in range(rows)], pa.int32()).cast(pa.date32()),
        "ms": pa.array([1_704_067_200_000 + i for i in range(rows)], pa.timestamp("ms", "UTC")),
    }
    pq.write_table(pa.table(data), path, row_group_size=10)
    return str(path)


@pytest.fixture
def counted(monkeypatch):
    """How often each text is cut into tokens and parsed."""
    found = {"tokenize": Counter(), "parse": Counter()}
    tokenize, parse = parsed.tokenize, parsed.parse

    def counting_tokenize(sql):
        found["tokenize"][sql] += 1
        return tokenize(sql)

    def counting_parse(sql, tokens):
        found["parse"][sql] += 1
        return parse(sql, tokens)

    for module in (parsed, lexer):
        monkeypatch.setattr(module, "tokenize", counting_tokenize)
    monkeypatch.setattr(parsed, "parse", counting_parse)
    return found


@pytest.mark.parametrize("where", PREDICATES)
def test_a_plan_and_its_report_parse_the_text_once(table, counted, where):
    plan = pr.plan(table, where=where)
    report = plan.report
    assert report.to_json()
    assert report.to_html()
    assert str(report)
    assert plan.report.engines
    assert plan.spark.filters is not None
    assert [*plan.derived_filters, *plan.warnings, *plan.files]
    for counts in counted.values():
        assert counts == {where: 1}


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("a = 1 and (b % 2 = 1)", "(b % 2 = 1)"),
        ("a = 1 and not (b % 2 = 1)", "not (b % 2 = 1)"),
        ("s not like 'a' or x = 1", "s not like 'a'"),
        ("case when x = 1 then 2 end = 2", "x = 1"),
        ("x in (1, 2 + 3)", "2 + 3"),
    ],
)
def test_a_part_has_its_text_and_tokens(sql, part):
    whole = parse_predicate(sql)
    found = whole.part(next(node for node in whole.tree.walk() if whole.text(node) == part))
    assert type(found.tree) is type(parse_predicate(part).tree)
    assert [token.text for token in found.tokens_of_tree()] == [token.text for token in parse_predicate(part).tokens]


def test_conjuncts_have_the_texts_of_the_operands():
    whole = parse_predicate("a = 1 AND (b = 2 AND c = 3 OR d) and e")
    assert [part.text(part.tree) for part in whole.conjuncts()] == ["a = 1", "(b = 2 AND c = 3 OR d)", "e"]
    assert cursor.text_of(whole.tree, whole.sql, whole.tokens) == whole.sql
