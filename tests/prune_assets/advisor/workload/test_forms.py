"""A workload as JSON, without its constants, and as people write it down."""

from __future__ import annotations

import json

import pytest
from log_lines import LOGS

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.advisor.workload.json_form import from_json, to_json
from prune_assets.advisor.workload.redact import redacted
from prune_assets.errors import PredicateSyntaxError


@pytest.fixture(scope="module")
def ran():
    return pr.Workload.read(LOGS / "spark-4.3.zstd")


def test_json_says_what_it_is_and_comes_back(ran):
    text = to_json(ran, price_per_tib=5.0)
    document = json.loads(text)
    assert document["schema"] == "workload/1"
    assert document["tables"][0]["table"] == "/tables/orders"
    assert document["tables"][0]["price_a_day"] > 0
    assert {"table", "shape", "columns", "runs", "predicates", "totals", "needless_bytes"} <= {*document["shapes"][0]}
    assert from_json(text) == ran


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema":"workload/9","shapes":[]}', '{"schema":1,"shapes":[{}]}'])
def test_another_document_is_refused(text):
    with pytest.raises(WrongUse, match=r"^w\.json: "):
        from_json(text, source="w.json")


def test_ranks_keep_what_is_equal_and_in_order():
    where = [
        "user = 'Bob' AND id > 70",
        "user = 'Ann' AND id > -5",
        "user = 'Bob' AND id > 1000",
        "day = DATE '2024-03-01' AND id IN (70, 7) AND b = X'FF'",
        "at > TIMESTAMP '2024-01-01 00:00:00Z'",
    ]
    found = redacted(pr.Workload.of("t", where))
    assert sorted(one.where for shape in found.shapes for one in shape.predicates) == [
        "at > TIMESTAMP '2000-01-02 00:00:00Z'",
        "day = DATE '2000-01-02' AND id IN (3, 2) AND b = X'00000001'",
        "user = 'r1' AND id > 1",
        "user = 'r2' AND id > 3",
        "user = 'r2' AND id > 4",
    ]


def test_no_constant_is_left(ran):
    text = to_json(redacted(ran))
    assert "New" in to_json(ran)
    assert not any(constant in text for constant in ("New", "abc", "2024-01", "100.50"))
    assert [shape.shape for shape in redacted(ran).shapes] == [shape.shape for shape in ran.shapes]


def test_predicates_with_weights():
    found = pr.Workload.of("lake/t", ["id = 1", "id = 2", "year(day) = 2024 AND s.a IS NULL"], weights=[3, 1, 2])
    assert [(shape.shape, shape.columns, shape.runs) for shape in found.shapes] == [
        ("id = ?", ("id",), 4.0),
        ("year(day) = ? AND s.a IS NULL", ("day", "s.a"), 2.0),
    ]
    with pytest.raises(WrongUse, match="1 weights for 2 predicates"):
        pr.Workload.of("lake/t", ["a = 1", "b = 1"], weights=[1])
    with pytest.raises(PredicateSyntaxError):
        pr.Workload.of("lake/t", ["a = 'open"])
