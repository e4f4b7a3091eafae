"""MERGEs of a workload count as queries on their join keys."""

from __future__ import annotations

import datetime as dt

import deltalake
import numpy as np
import pyarrow as pa
import pytest

import prune_assets as pr
from prune_assets.advisor.merge_keys import with_merge_keys
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, Workload
from prune_assets.tables.opening import open_as_written

ROWS, FILES = 60_000, 6


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """A Delta table whose orders are in the order of `day`; a MERGE of 3 orders has written one file of them."""
    place = tmp_path_factory.mktemp("orders") / "t"
    rng = np.random.default_rng(3)
    order = rng.permutation(ROWS)
    for part in np.array_split(np.arange(ROWS), FILES):
        rows = {"order_id": order[part], "day": part // 1_000, "note": rng.random(len(part))}
        deltalake.write_deltalake(place, pa.table(rows), mode="append")
    source = pa.table({"order_id": order[:3], "note": [0.0] * 3})
    merge = deltalake.DeltaTable(place).merge(source, "t.order_id = s.order_id", source_alias="s", target_alias="t")
    merge.when_matched_update(updates={"note": "s.note"}).execute()
    return place, set(order[: ROWS // FILES].tolist())


def merged(place, where="", **fields):
    predicates = (RanPredicate(where, 10.0),)
    columns = ("order_id", "day", "note")
    return QueryShape(
        str(place), where, columns, 10.0, predicates, joined_on=("order_id",), statement="MERGE", **fields
    )


def keys_of(shape):
    """The sampled keys of each predicate."""
    return [
        {int(key) for key in ran.where.partition("order_id IN (")[2].rstrip(")").split(", ")}
        for ran in shape.predicates
    ]


def test_a_table_that_is_merged_by_a_key_is_advised_to_be_sorted_by_it(orders):
    place, _ = orders
    advice = pr.advise(place, workload=Workload((merged(place),)))
    assert advice.advised.layout.sort_by == ("order_id",)
    assert advice.advised.bytes < 0.5 * advice.today
    assert any(note.startswith("MERGEs on order_id count as queries on sampled keys") for note in advice.notes)


def test_keys_are_from_the_files_that_the_merges_wrote(orders):
    place, written = orders
    (shape,), keys = with_merge_keys(open_as_written(place), [merged(place, "day > 1 OR day = 0")], Workload(()))
    assert (keys, sum(ran.runs for ran in shape.predicates)) == (("order_id",), 10)
    assert all(ran.where.startswith("(day > 1 OR day = 0) AND order_id IN (") for ran in shape.predicates)
    # As many as the MERGE had in its source.
    assert [len(sampled) for sampled in keys_of(shape)] == [3] * 5
    assert all(sampled <= written for sampled in keys_of(shape))


def test_keys_of_the_whole_table_where_the_log_has_no_merge_on_them(orders):
    place, _ = orders
    by_day = QueryShape(str(place), "", ("day",), 1.0, (RanPredicate(""),), joined_on=("day",), statement="MERGE")
    (shape,), keys = with_merge_keys(open_as_written(place), [by_day], Workload(()))
    assert keys == ("day",)
    assert all(ran.where.startswith("day IN (") for ran in shape.predicates)
    sampled = {int(key) for ran in shape.predicates for key in ran.where[len("day IN (") : -1].split(", ")}
    assert max(sampled) >= ROWS // FILES // 1_000


def test_merges_of_the_log_count_in_the_time_of_the_workload(orders):
    place, _ = orders
    table = open_as_written(place)
    query = QueryShape(str(place), "day = ?", ("day",), 1.0, (RanPredicate("day = 3"),))
    now = dt.datetime.now(dt.UTC)
    during = Workload((query,), since=(now - dt.timedelta(hours=1)).isoformat(), until=now.isoformat())
    shapes, keys = with_merge_keys(table, [query], during)
    assert (shapes[0], keys, shapes[1].statement, shapes[1].runs) == (query, ("order_id",), "MERGE", 1)
    before = Workload((query,), since="2020-01-01T00:00:00+00:00", until="2020-01-02T00:00:00+00:00")
    for other in (before, Workload((query,)), ["day = 3"]):
        assert with_merge_keys(table, [query], other) == ([query], ())


def test_columns_that_the_table_lacks_are_no_keys(orders):
    place, _ = orders
    gone = QueryShape(str(place), "", ("gone",), 1.0, (RanPredicate(""),), joined_on=("gone",), statement="MERGE")
    assert with_merge_keys(open_as_written(place), [gone], Workload(())) == ([gone], ())
