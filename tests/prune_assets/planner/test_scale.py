"""The work of a plan must not depend on the number of containers; calls are counted instead of timed."""

from __future__ import annotations

import sys

import pytest

from benchmarks.synthetic_index import synthetic_index
from parquet_core.pruning import prune
from parquet_core.pruning.levels import page_level
from prune_assets.planner.explain.plan import Plan
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.parquet import ParquetTable

SHARED, DIFFERENT = (20, 20, 20), (10, 12, 15)
ROWS = 60
PREDICATES = ["b > 300 OR c < 300 OR a = 77", "a between 200 and 2000 AND NOT (b > 300 AND c IN (7, 50, 900))"]


def lowered(sql, index):
    return lower(sql, index.groups.columns, semantics=SparkSemantics()).predicate


def calls(files, pages, sql):
    """Calls of Python functions, and of C functions, that one evaluation makes."""
    index = synthetic_index(files, pages, rows=ROWS)
    predicate = lowered(sql, index)
    prune(predicate, index)
    counted, evaluation = count_calls(lambda: prune(predicate, index))
    assert evaluation.pages.of_pages is not None, "the pages must have had a say"
    return counted


def count_calls(make):
    counted = 0

    def count(_frame, event, _argument):
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        made = make()
    finally:
        sys.setprofile(None)
    return counted, made


def planned(files, sql):
    index = synthetic_index(files, (2, 2), rows=ROWS)
    semantics = SparkSemantics()
    predicate = lower(sql, index.groups.columns, semantics=semantics)
    evaluation = prune(predicate.predicate, index)
    return Plan(
        ParquetTable("/t", None, index, semantics),
        semantics,
        predicate,
        predicate,
        tuple(index.groups.columns),
        index,
        evaluation,
        0.1,
        0,
        {},
    )


@pytest.mark.parametrize("sql", PREDICATES)
@pytest.mark.parametrize("pages", [SHARED, DIFFERENT], ids=["shared borders", "different borders"])
def test_no_call_is_made_per_container(pages, sql):
    few, many = calls(30, pages, sql), calls(900, pages, sql)
    assert many <= few * 1.05


@pytest.mark.parametrize("sql", PREDICATES)
@pytest.mark.parametrize("pages", [SHARED, DIFFERENT], ids=["shared borders", "different borders"])
def test_blocks_of_row_groups_change_no_answer(pages, sql, monkeypatch):
    index = synthetic_index(40, pages, rows=ROWS)
    predicate = lowered(sql, index)
    whole = prune(predicate, index)
    monkeypatch.setattr(page_level, "MAX_SEGMENTS", 50)
    cut = prune(predicate, index)
    assert cut.pages.of_pages.outcomes.tolist() == whole.pages.of_pages.outcomes.tolist()
    for name in ("row_group", "start", "stop"):
        assert getattr(cut.access.ranges, name).tolist() == getattr(whole.access.ranges, name).tolist()
        assert getattr(cut.access.matches, name).tolist() == getattr(whole.access.matches, name).tolist()


@pytest.mark.parametrize("sql", ["a > 5000", "b < 30", "a >= 0 AND b <> 7"])
def test_a_report_makes_a_few_calls_a_file_at_most(sql):
    made = {files: planned(files, sql) for files in (2_000, 6_000)}
    planned(100, sql).report.to_html()  # the first plan imports and compiles everything that later plans reuse
    counted = {}
    for files, each in made.items():
        counted[files], texts = count_calls(
            lambda each=each: (each.report.to_json(), each.report.to_html(), repr(each))
        )
        assert [len(text) < limit for text, limit in zip(texts, (2_000_000, 800_000, 300), strict=True)] == [True] * 3
    assert counted[6_000] - counted[2_000] <= 10 * 4_000


@pytest.mark.deep
def test_thousands_of_terms_and_levels_cost_no_stack():
    index = synthetic_index(3, SHARED, rows=ROWS)
    long = " OR ".join(f"(a > {i} AND b < {i * 7 % 600})" for i in range(1_000))
    deep = "".join(f"(a <> {i} {'AND' if i % 2 else 'OR'} " for i in range(2_500)) + "b = 1" + ")" * 2_500
    for sql in (long, deep, "(" * 9_000 + "a = 5" + ")" * 9_000):
        assert prune(lowered(sql, index), index).access.verdict.shape == (3,)
