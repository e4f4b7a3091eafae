from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prune_assets.advisor.workload import gather
from prune_assets.advisor.workload.constants import constants_of, shape_of
from prune_assets.advisor.workload.costs import costs_of, needless_bytes
from prune_assets.advisor.workload.gather import MOST_TEXT, Gathered
from prune_assets.advisor.workload.json_form import from_json, to_json
from prune_assets.advisor.workload.load import merged
from prune_assets.advisor.workload.query_shapes import (
    ALL_COLUMNS,
    MOST_PREDICATES,
    QueryShape,
    RanPredicate,
    ScanTotals,
    Workload,
)
from prune_assets.advisor.workload.ran_scan import RanScan
from prune_assets.advisor.workload.redact import redacted


def scan(where, **fields):
    return RanScan("/lake/t", "", where, ("id",), (), "app", 1000, ScanTotals(1, 100, 10, 5, 0.5))._replace(**fields)


def gathered(*scans):
    made = Gathered()
    for one in scans:
        made.add(one)
    return made


@pytest.mark.parametrize(
    ("where", "shape"),
    [
        ("id = 7", "id = ?"),
        ("id > -7 AND x - 7 = 1", "id > ? AND x - ? = ?"),
        ("day >= DATE '2024-01-01'", "day >= ?"),
        ("at < TIMESTAMP '2024-01-01 00:00:00Z' OR b = X'00'", "at < ? OR b = ?"),
        ("user IN ('a', 'b') AND k IN (1, 2, 3)", "user IN (?) AND k IN (?)"),
        ("id IN (" + ", ".join(map(str, range(500))) + ")", "id IN (?)"),
        ("substr(user, 1, 2) = 'a'", "substr(user, ?, ?) = ?"),
        ("`odd 7 name` = 7", "`odd 7 name` = ?"),
        ("", ""),
    ],
)
def test_a_shape_has_no_constants(where, shape):
    assert shape_of(where) == shape


def test_scans_that_differ_in_constants_alone_are_one_shape():
    found = gathered(
        scan("id = 1"), scan("id = 2"), scan("id = 1", application="other", name="cat.t"), scan("id > 1", runs=5.0)
    ).workload()
    assert found.shapes == (
        QueryShape(
            "/lake/t",
            "id = ?",
            ("id",),
            3.0,
            (RanPredicate("id = 1", 2.0), RanPredicate("id = 2", 1.0)),
            ScanTotals(3, 300, 30, 15, 1.5),
            (),
            ("app", "other"),
            ("cat.t",),
        ),
        QueryShape(
            "/lake/t",
            "id > ?",
            ("id",),
            5.0,
            (RanPredicate("id > 1", 5.0),),
            ScanTotals(1, 100, 10, 5, 0.5),
            (),
            ("app",),
        ),
    )


def test_a_shape_is_a_filter_whatever_columns_and_joins_its_queries_have():
    scans = [
        scan("sat = 1", columns=("a", "sat")),
        scan("sat = 2", columns=("b", "sat"), joined_on=("sat",)),
        scan("sat = 1", columns=("b", "sat"), runs=2.0),
    ]
    for found in (gathered(*scans).workload(), merged([gathered(one).workload() for one in scans])):
        (shape,) = found.shapes
        assert (shape.shape, shape.runs, shape.columns, shape.joined_on) == (
            "sat = ?",
            4.0,
            ("a", "b", "sat"),
            ("sat",),
        )
        assert shape.predicates == (
            RanPredicate("sat = 1", 1.0, ("a", "sat")),
            RanPredicate("sat = 1", 2.0, ("b", "sat")),
            RanPredicate("sat = 2", 1.0, ("b", "sat")),
        )
        assert from_json(to_json(found)) == found
        assert [one.columns for one in redacted(found).shapes[0].predicates] == [one[2] for one in shape.predicates]


@pytest.mark.parametrize(
    "wheres",
    [
        ["a = 1 AND b > 2", "b > 3 AND a = 4", "4 < b AND (a = 1)"],
        ["day BETWEEN 1 AND 2", "day >= 1 AND day <= 2", "(day <= 3 AND day >= 2)"],
        ["a != 1", "NOT (a = 2)", "a <> 3"],
        ["a IN (1, 2)", "a IN (3)"],
        ["Sat = 1", "`sat` = 2"],
    ],
)
def test_filters_that_mean_the_same_are_one_shape_in_any_order(wheres):
    scans = [scan(where) for where in wheres]
    (shape,) = gathered(*scans).workload().shapes
    assert shape.runs == len(wheres)
    assert {one.where for one in shape.predicates} == {*wheres}
    assert gathered(*reversed(scans)).workload().shapes == (shape,)


def test_one_that_reads_all_columns_makes_them_all():
    (shape,) = gathered(scan("k = 1", columns=ALL_COLUMNS), scan("k = 1", columns=())).workload().shapes
    assert shape.columns == ALL_COLUMNS
    assert {one.columns for one in shape.predicates} == {ALL_COLUMNS, ()}


def test_a_workload_that_was_written_without_columns_of_predicates_is_read():
    document = json.loads(to_json(gathered(scan("k = 1")).workload()))
    for predicate in document["shapes"][0]["predicates"]:
        del predicate["columns"]
    for name in ("own_queries", "other_applications"):
        del document[name]
    assert from_json(json.dumps(document)) == gathered(scan("k = 1")).workload()


def test_what_was_left_out_of_a_filter_is_kept_by_a_merge():
    day = gathered(scan("k = 1", left_out=("a subquery",))).workload()
    assert merged([day, day]).shapes[0].left_out == ("a subquery",)


def test_constants_that_are_kept_are_an_even_sample_with_their_own_counts():
    scans = [scan(f"id = {number}") for number in range(5000) for _ in range(2)]
    (shape,) = gathered(*scans).workload().shapes
    numbers = [int(one.where.removeprefix("id = ")) for one in shape.predicates]
    assert len(numbers) == MOST_PREDICATES
    assert {one.runs for one in shape.predicates} == {2.0}
    assert shape.runs == 10_000
    assert 2000 < sum(numbers) / len(numbers) < 3000
    # The result does not depend on their order.
    assert gathered(*reversed(scans)).workload().shapes == (shape,)


def test_long_predicates_take_no_more_memory_than_a_limit():
    made = gathered(*(scan(f"user IN ('{'x' * 9000}', '{number}')") for number in range(200)))
    (shape,) = made.workload().shapes
    assert 0 < sum(len(one.where) for one in shape.predicates) <= MOST_TEXT


def test_shapes_have_a_limit_that_is_shown(monkeypatch):
    monkeypatch.setattr(gather, "MOST_SHAPES", 2)
    made = gathered(scan("a = 1"), scan("b = 1"), scan("c = 1"), scan("a = 2"))
    assert len(made.shapes) == 2
    assert made.workload().not_understood == {"more shapes than are kept": 1}


@pytest.mark.parametrize(
    ("totals", "lost"),
    [
        (ScanTotals(1, 1000, 100, 25), 750),
        (ScanTotals(1, 1000, 0, 0), 1000),
        (ScanTotals(1, 1000, 100, 200), 0),
        (ScanTotals(1, 1000, None, None), None),
        (ScanTotals(), None),
    ],
)
def test_needless_bytes(totals, lost):
    assert needless_bytes(totals) == lost


def test_tables_are_ranked_by_what_they_read_without_need():
    shapes = [
        QueryShape(table, "", (), 1.0, (), totals)
        for table, totals in (
            ("a", ScanTotals(1, 1 << 40, 100, 100)),
            ("b", ScanTotals(1, 1 << 39, 100, 50)),
            ("b", ScanTotals()),
        )
    ]
    days = {"since": "2024-01-01T00:00:00+00:00", "until": "2024-01-05T00:00:00+00:00"}
    found = costs_of(Workload(tuple(shapes), **days), price_per_tib=8.0)
    assert [(one.table, one.needless_bytes, one.bytes_a_day, one.price_a_day) for one in found] == [
        ("b", 1 << 38, 1 << 37, 1.0),
        ("a", 0, 1 << 38, 2.0),
    ]


@given(
    st.lists(st.sampled_from(["id", "=", "7", "'a'", "(", ")", ",", "IN", "DATE", "-", "AND", " ", "x'00'"])).map(
        " ".join
    )
)
def test_constants_do_not_overlap(text):
    found = [*constants_of(text)]
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert "7" not in shape_of(text)
