"""A few hundred cases of `make fuzz`, cases that failed once, and a test that the machine finds planted errors."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from planner import checks, machine
from planner.checks import Tally, judged
from planner.fixtures import DIRECTORY, load, restored, stored
from planner.forms import FORMS, Leaf, Scope
from planner.ground import laid_out
from planner.predicates import Node, random_predicate, smaller
from planner.spellings import SPELLINGS, random_pair
from planner.tables import Column, File, Table, random_table

from parquet_core.pruning.evidence.many_leaves import outcomes_of_each
from parquet_core.pruning.levels import page_level, statistics_level
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import IsNull
from prune_assets.planner.explain.plan import plan
from tests.peers.parquet_java import filtered_record_count

FIXTURES = sorted(DIRECTORY.glob("*.json"))
OPTIONS = {"timestamps": "INT96", "parquet": {"parquet.block.row.count.limit": 20}}


@pytest.fixture(scope="module")
def numbers():
    """One file by Spark: 100 rows in 5 row groups."""
    values = tuple(None if row % 7 == 0 else row for row in range(100))
    return Table((Column(("i32",), "i32", values),), {}, (File(0, 100, "spark", OPTIONS),))


@pytest.mark.deep
@pytest.mark.spark
def test_plans_hold_against_spark_and_its_peers(spark):
    result = machine.run(spark, seed=5, count=300, seconds=120)
    assert [(number, *finding) for number, finding, _ in result.findings] == []
    assert result.unreadable <= 1
    counts = result.tally.counts
    assert counts["lowered wholly"] > 90, "most of the grammar must reach the metadata, or nothing is tested"
    assert min(counts["compared with parquet-java"], counts["compared with DataFusion"]) > 50
    assert counts["answers held against DuckDB's"] > 20
    assert result.tally.levels["rows skipped"] > 0


@pytest.mark.spark
def test_answers_that_differ_from_duckdbs_are_told(spark, numbers):
    with laid_out(numbers, spark) as ground:
        predicates = [Leaf("i32 < 7"), Leaf("i32 <=> 7"), Node("OR", (Leaf("i32 = 3"), Leaf("i32 IS NULL")))]
        answers, voice = ground.truth(predicates), ground.second_voice()
        assert [voice.answer(predicate) is None for predicate in predicates] == [False, True, False]
        for predicate, right in zip(predicates, answers, strict=True):
            assert judged(ground, predicate, right, Tally(), voice=voice) == []
        wrong = answers[0].copy()
        wrong[1] = 0
        assert "Spark and DuckDB agree" in {
            it.check for it in judged(ground, predicates[0], wrong, Tally(), voice=voice)
        }


@pytest.mark.spark
def test_a_public_plan_that_skips_a_selected_row_is_found_and_one_that_asks_values_is_not(spark):
    texts = tuple(["short", "longer text"][row < 50] for row in range(100))
    options = {"row_group_size": 20, "bloom": [], "dictionary": ["text"], "required": False, "int96": False}
    table = Table((Column(("text",), "str", texts),), {}, (File(0, 100, "pyarrow", options),))
    with laid_out(table, spark) as ground:
        predicate = Leaf("length(text) = 5")
        (answers,) = ground.truth([predicate])
        with patch.object(checks, "REPORTED", 1):
            assert judged(ground, predicate, answers, Tally()) == []
            with patch.object(checks, "plan", lambda *given, **named: plan(*given, **{**named, "where": "text = 'x'"})):
                found = judged(ground, predicate, answers, Tally())
        assert "every selected row is kept" in {finding.check for finding in found}


@pytest.mark.deep
def test_plans_hold_against_the_predicate_row_by_row():
    result = machine.run(None, seed=5, count=500, seconds=120)
    assert [(number, *finding) for number, finding, _ in result.findings] == []
    assert result.unreadable == 0
    assert result.tally.cases - result.tally.counts["without an answer"] > 200
    assert result.tally.counts["compared with DataFusion"] > 100


@pytest.mark.sampled(24)
@pytest.mark.spark
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(spark, path):
    _, case, table = load(path)
    assert machine.findings_of(spark, table, case) == []


@contextmanager
def replaced_evidence(outcomes):
    with (
        patch.object(statistics_level, "outcomes_of_each", outcomes),
        patch.object(page_level, "outcomes_of_each", outcomes),
    ):
        yield


@pytest.mark.deep
@pytest.mark.spark
def test_a_wrong_skip_is_found_and_made_small(spark, numbers, tmp_path):
    def forgetful(parts, bounds):
        answers = outcomes_of_each(parts, bounds)
        answers[[isinstance(leaf, IsNull) for leaf in parts]] = Outcomes.FALSE
        return answers

    predicate = Node("OR", (Leaf("i32 IS NULL"), Leaf("i32 > 97")))
    with replaced_evidence(forgetful):
        found = machine.findings_of(spark, numbers, predicate)
        assert "every selected row is kept" in {finding.check for finding in found}
        path = machine.keep_smallest(spark, numbers, predicate, found[0], tmp_path)
        _, case, table = load(path)
        assert found[0].check in {finding.check for finding in machine.findings_of(spark, table, case)}
    assert (case.sql, table.rows) == ("i32 IS NULL", 1)
    assert machine.findings_of(spark, table, case) == []


@pytest.mark.spark
def test_a_dull_plan_and_a_crash_are_found(spark, numbers):
    def dull(parts, bounds):
        return np.full((len(parts), len(bounds)), Outcomes.UNKNOWN, np.uint8)

    def broken(parts, bounds):
        raise IndexError("of all things")

    with laid_out(numbers, spark) as ground:
        predicate = Leaf("i32 >= 95")
        (answers,) = ground.truth([predicate])
        for wrong, expected in (
            (dull, {"sharper than parquet-java", "sharper than DataFusion"}),
            (broken, {"no crash"}),
        ):
            with replaced_evidence(wrong):
                found = judged(ground, predicate, answers, Tally(), peers=ground.peers())
            assert {finding.check for finding in found} == expected
        assert judged(ground, predicate, answers, Tally(), peers=ground.peers()) == []


@pytest.mark.spark
def test_one_call_gives_what_the_reader_says_step_by_step(spark, numbers):
    with laid_out(numbers, spark) as ground:
        java, _ = ground.peers()
        for where in ("i32 > 45 AND i32 < 50", "i32 IS NULL", "i32 = 44"):
            kept = filtered_record_count(spark, ground.planner.paths[0], java.rows.where(where))
            expected = np.zeros(100, np.bool_)
            for group, ranges in kept.ranges.items():
                for start, stop in ranges:
                    expected[20 * group + start : 20 * group + stop] = True
            assert np.array_equal(java.keeps(where, None), expected)


@pytest.mark.spark
def test_a_predicate_that_raises_spoils_no_other(spark, numbers):
    with laid_out(numbers, spark) as ground:
        texts = ["i32 = 5", "i32 / 0 = 1", "i32 < 1", "no_such_column = 1"]
        one, two, three, four = ground.truth([Leaf(text) for text in texts])
        assert (one.sum() - 2 * (one == 2).sum(), (three == 1).sum()) == (1, 0)
        assert "DIVIDE_BY_ZERO" in two
        assert "UNRESOLVED_COLUMN" in four


def test_a_table_is_the_same_after_it_was_stored():
    for seed in range(30):
        table = random_table(random.Random(seed))
        again = restored(json.loads(json.dumps(stored(table))))
        assert repr(again) == repr(table)  # which tells -0.0 from 0.0, and NaN from nothing


def test_a_number_always_draws_the_same():
    assert repr(machine.draw(3, 4)) == repr(machine.draw(3, 4)) != repr(machine.draw(3, 5))


def test_every_form_and_spelling_is_drawn():
    chance = random.Random(1)
    drawn, paired = set(), set()

    def noting(form):
        return replace(form, make=lambda *arguments: drawn.add(form.make.__name__) or form.make(*arguments))

    with patch("planner.forms.FORMS", [noting(form) for form in FORMS]):
        for _ in range(90):
            scope = Scope(random_table(chance).columns)
            paired |= {random_pair(chance, scope).name for _ in range(60)}
            for _ in range(40):
                random_predicate(chance, scope)
    assert drawn == {form.make.__name__ for form in FORMS}
    assert paired == {make.__name__ for make, _, _ in SPELLINGS}


def test_smaller_predicates_end():
    chance = random.Random(2)
    scope = Scope(random_table(chance).columns)
    for _ in range(50):
        predicate = random_predicate(chance, scope, 3)
        for less in smaller(predicate):
            assert len(less.sql) < len(predicate.sql)
