"""A condition is lowered for all values at once, or refused after a limited number of values."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from call_counts import calls

import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning.outcomes import Outcomes
from prune_assets.sql.binding.scope import bind_names
from prune_assets.sql.evaluate_on_values import evaluate_on_values
from prune_assets.sql.lowering.conditions import Conditions
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.syntax.parsed import parse_predicate

MAX = 2**63 - 1


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array(range(2_000), pa.int64()), "s": [f"k{i}" for i in range(2_000)]}), path)
    return path


@pytest.fixture
def lowered(monkeypatch):
    """Records the conditions that are lowered with constants, and those that are lowered unchanged."""
    lowered, whole, with_constants = [], Conditions.lower_tree, Conditions.lower_with_constants

    def lower_tree(self, root):
        lowered.append("as they are")
        return whole(self, root)

    def lower_with_constants(self, node, known):
        lowered.append("with constants")
        return with_constants(self, node, known)

    monkeypatch.setattr(Conditions, "lower_tree", lower_tree)
    monkeypatch.setattr(Conditions, "lower_with_constants", lower_with_constants)
    return lowered


def evaluated(table, sql, values):
    columns = {column.name: column for column in read_dataset(str(table)).groups.columns}
    column = columns["s" if "(s)" in sql else "a"]
    array = pa.array(values, column.type)
    return evaluate_on_values(
        bind_names(parse_predicate(sql), [column], SparkSemantics()), [column], SparkSemantics(), [array]
    )


@pytest.mark.parametrize(
    ("sql", "selects"),
    [
        ("(a * 3 + 1) % 5 = 2", lambda a: (a * 3 + 1) % 5 == 2),
        ("NOT ((a * 3 + 1) % 5 = 2)", lambda a: (a * 3 + 1) % 5 != 2),
        ("(a % 1000 * 7 + 1) % 13 >= 5", lambda a: (a % 1000 * 7 + 1) % 13 >= 5),
        ("abs(a - 1000) % 7 IN (1, 2)", lambda a: abs(a - 1000) % 7 in {1, 2}),
        ("CASE WHEN a % 3 = 0 THEN 1 ELSE 2 END = 1", lambda a: a % 3 == 0),
    ],
)
def test_many_values_are_lowered_once(table, lowered, sql, selects):
    values = list(range(3_000))
    outcomes = evaluated(table, sql, values)
    assert outcomes == [Outcomes.TRUE if selects(value) else Outcomes.FALSE for value in values]
    assert len(lowered) < 10


def test_a_value_that_overflows_may_be_null_and_no_other(table):
    assert evaluated(table, "(a * 3 + 1) % 5 = 2", [MAX, 2, 3, None, -MAX]) == [
        Outcomes.UNKNOWN,
        Outcomes.TRUE,
        Outcomes.FALSE,
        Outcomes.NULL,
        Outcomes.UNKNOWN,
    ]


@pytest.mark.parametrize("sql", ["reverse(s) = '5k'", "a" + " + 1" * 300 + " > 5", "a" + " * 3" * 50 + " % 7 = 1"])
def test_a_part_is_refused_after_a_few_unknown_values(table, lowered, sql):
    values = list(map(str, range(1_500))) if "(s)" in sql else list(range(1_500))
    with pytest.raises(Refusal, match="only a Spark session"):
        evaluated(table, sql, values)
    assert len(lowered) < 600


def test_an_unknown_value_does_not_refuse_the_others(table):
    assert evaluated(table, "upper(s) = 'K5'", ["é", "k5", "k6"]) == [
        Outcomes.UNKNOWN,
        Outcomes.TRUE,
        Outcomes.FALSE,
    ]


@pytest.mark.parametrize(
    "repeated",
    [
        lambda count: "a" + " + 1" * count + " > 5",
        lambda count: "a" + " * 1" * count + " > 5",
        lambda count: "s" + " || 'x'" * count + " > 'k'",
        lambda count: "- " * count + "a > 5",
        lambda count: "abs(" * count + "a" + ")" * count + " = 5",
        lambda count: "upper(" * count + "s" + ")" * count + " = 'K5'",
        lambda count: "a" + " % 7" * count + " = 5",
        lambda count: "a" + " * 2" * count + " < 9999999999999999999999",
        lambda count: "CASE WHEN a = 1 THEN 1 ELSE " * count + "a" + " END" * count + " = 5",
        lambda count: "NOT (" * count + "a > 5" + ")" * count,
    ],
    ids=["sum", "product", "texts", "signs", "calls", "calls on texts", "remainders", "orders", "cases", "negations"],
)
def test_deep_operands_take_as_many_calls_for_each_level(table, repeated):
    def plan(count):
        pr.plan(table, where=repeated(count))

    plan(10)
    assert calls(lambda: plan(800)) < 5 * calls(lambda: plan(200))


def test_a_sum_of_many_terms_keeps_the_rows(table):
    (part,) = pr.plan(table, where="a" + " + 1" * 6_000 + " > 5").report.unsupported
    assert "nested deeper than 40 levels" in part.reason
