"""Advised layouts, supported tables, and messages for tables without advice."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import dated, in_order, put, uniform

import prune_assets as pr
from parquet_core.errors import PruneError, WrongUse
from parquet_core.quantities import bytes_text
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, Workload

ROWS, IDS = 200_000, 100_000
SIZES = {"page_rows": 1_000, "row_group_rows": 25_000}


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A table in the order of `id`, and its rows."""
    rng = np.random.default_rng(3)
    data = {"id": np.arange(IDS), "shop": rng.integers(0, 500, IDS), "kind": rng.integers(0, 5, IDS)}
    rows = pa.table(data | {"amount": rng.random(IDS)})
    return put(rows, tmp_path_factory.mktemp("shops") / "t", pr.LayoutSpec(**SIZES)), rows


def test_the_column_that_is_filtered_on_is_the_sort_key(shops):
    advice = pr.advise(shops[0], workload=["shop = 7", "shop = 400"])
    assert advice.advised.layout.sort_by == ("shop",)
    assert advice.advised.bytes < 0.2 * advice.today
    assert advice.lower_bound <= advice.advised.bytes
    assert advice.runs_to_pay == -(-advice.rewrite_bytes // (advice.today - advice.advised.bytes))


def test_a_table_that_lies_well_stays_as_it_is(shops):
    advice = pr.advise(shops[0], workload=["id < 2000", "id BETWEEN 50000 AND 52000"])
    assert advice.advised is None
    assert advice.verdict.startswith("do nothing")
    assert advice.layout_yaml() == ""


def test_a_condition_that_prunes_in_no_layout_is_named_with_its_reason(shops):
    advice = pr.advise(shops[0], workload=["shop = 7 AND yeer(kind) = 2022", "month(shop) = 3", "kind % 2 = 1"])
    (misspelt, no_date) = advice.unsupported
    assert misspelt.sql == "yeer(kind) = 2022"
    assert "yeer() is not a built-in function of Spark" in misspelt.reason
    assert f"does not prune: month(shop) = 3: {no_date.because}" in str(advice)
    assert "Does not prune: <code>yeer(kind) = 2022</code>" in advice.to_html()
    assert pr.LayoutAdvice.from_json(advice.to_json()).unsupported == advice.unsupported


def test_where_nothing_is_read_nothing_is_advised(shops):
    advice = pr.advise(shops[0], workload=["shop = 500"])
    assert (advice.today, advice.advised) == (0, None)
    assert advice.verdict.startswith("do nothing")


def test_the_weights_of_a_workload_decide(shops):
    def of(shop_runs, id_runs):
        predicates = RanPredicate("shop = 7", shop_runs), RanPredicate("id < 2000", id_runs)
        shapes = tuple(QueryShape(str(shops[0]), it.where, ("amount",), it.runs, (it,)) for it in predicates)
        return pr.advise(shops[0], workload=Workload(shapes))

    layout = of(10, 1).advised.layout
    assert "shop" in {*layout.sort_by, *layout.hilbert_by}
    assert of(1, 1_000).advised is None


def test_what_gets_twice_as_dear_is_said(shops):
    advice = pr.advise(shops[0], workload=["shop = 7", "shop = 8", "shop = 9", "id < 1000"])
    by_shop = next(it for it in advice.ranking if it.layout.sort_by == ("shop",))
    assert by_shop.twice_as_dear == 0.25
    if advice.advised is by_shop:
        assert "25% of the runs read at least twice" in str(advice)


def test_a_curve_that_needs_fine_pages_is_found(tmp_path):
    """Among 10 pages a sort key reads 0.325 of the table, a curve 0.35; among 40, 0.27 and less than 0.2."""
    rng = np.random.default_rng(8)
    rows = pa.table({name: rng.integers(0, 10_000, ROWS) for name in ("a", "b")} | {"v": rng.random(ROWS)})
    table = put(rows, tmp_path / "t", pr.LayoutSpec(page_rows=20_000))
    advice = pr.advise(table, workload=["a = 100", "a = 4000", "a = 7000", "b = 5000"])
    assert set(advice.advised.layout.curve_by) == {"a", "b"}
    assert all(one.bytes >= advice.advised.bytes for one in advice.ranking)


def test_an_order_that_stays_names_what_changes(tmp_path):
    """Rows in order in pages as large as row groups: smaller ones are what helps."""
    rows = pa.table({"id": np.arange(ROWS), "v": np.random.default_rng(4).random(ROWS)})
    (tmp_path / "t").mkdir()
    pq.write_table(rows, tmp_path / "t" / "0.parquet", row_group_size=ROWS)
    advice = pr.advise(tmp_path / "t", workload=["id < 100"])
    kept = next(it for it in advice.ranking if not it.layout.sort_by and not it.layout.curve_by)
    size = bytes_text(kept.layout.row_group_bytes)
    assert kept.title == f"rows in the same order, pages of {kept.layout.page_rows:,} rows, row groups of {size}"
    assert "one run of the workload reads, of the columns that its queries read\n" in str(advice)


def test_the_layout_is_one_that_loads(shops, tmp_path):
    advice = pr.advise(shops[0], workload=["shop = 7", "kind = 3 AND amount > 0.9"])
    (tmp_path / "layout.yaml").write_text(advice.layout_yaml())
    assert pr.load_layout(tmp_path / "layout.yaml") == advice.advised.layout
    keys = [line for line in advice.layout_yaml().splitlines() if not line.startswith("#")]
    assert all("  # " in line for line in keys)


def test_json_has_a_version_and_html_loads_nothing(shops):
    advice = pr.advise(shops[0], workload=["shop = 7"])
    assert json.loads(advice.to_json())["schema"] == "layout-advice/1"
    assert "http" not in advice.to_html().replace("http-equiv", "")
    assert advice.advised.title in advice.to_html()


@pytest.mark.deep
@pytest.mark.parametrize("kind", [uniform, dated])
def test_the_advised_layout_is_nearly_the_best_of_all_sort_keys(kind, tmp_path):
    rows, wheres = kind(200_000, np.random.default_rng(5))
    source = put(rows, tmp_path / "source", pr.LayoutSpec(page_rows=20_000, row_group_rows=100_000))
    advice = pr.advise(source, workload=wheres)
    filtered = {name for one in advice.ranking for name in (*one.layout.sort_columns, *one.layout.curve_by)}

    def read(layout, name):
        sizes = {"page_rows": advice.advised.layout.page_rows, "row_group_rows": 100_000}
        order = {key: getattr(layout, key) for key in ("sort_by", "zorder_by", "hilbert_by")}
        table = put(in_order(rows, layout), tmp_path / name, pr.LayoutSpec(**sizes, **order))
        return sum(int(pr.plan(table, where=where).kept.bytes.sum()) for where in wheres)

    names = [name for name in rows.column_names if name in filtered]
    keys = [[a] if a == b else [a, b] for a in names for b in names]
    best = min(read(pr.LayoutSpec(sort_by=key), "-".join(key)) for key in keys)
    assert read(advice.advised.layout, "advised") <= 1.1 * best


BAD = {
    "gone": (["nothing_like_it = 1"], "no predicate of the workload applies to it"),
    "no SQL": (["shop ="], "no predicate of the workload applies to it"),
    "none": ([], "has no predicates"),
    "one text": ("shop = 1", "give a Workload or a list"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_workload_that_fits_nothing_is_an_error_of_one_line(name, shops):
    workload, message = BAD[name]
    with pytest.raises(WrongUse, match=message) as raised:
        pr.advise(shops[0], workload=workload)
    assert "\n" not in str(raised.value)


def test_predicates_that_do_not_fit_are_left_out_and_counted(shops):
    advice = pr.advise(shops[0], workload=["shop = 7", "nothing_like_it = 1", "nothing_like_it = 1"])
    assert list(advice.skipped.values()) == [2]
    assert "left out 2 predicates" in str(advice)


def test_a_workload_of_another_table_is_refused(shops):
    shapes = [QueryShape(name, "x = ?", (), 1.0, (RanPredicate("x = 1"),)) for name in ("lake.a", "lake.b")]
    with pytest.raises(WrongUse, match=r"queries on lake\.a, lake\.b; advise one of these, or give .* --predicate"):
        pr.advise(shops[0], workload=Workload(tuple(shapes)))


def test_a_table_without_rows_is_an_error(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(PruneError, match="no rows"):
        pr.advise(str(tmp_path), workload=["a = 1"])


def test_predicates_that_bounds_do_not_answer_and_constants_outside_of_the_data_are_answered(shops):
    advice = pr.advise(shops[0], workload=["sqrt(amount) > 0.5", "shop = -5", "true"])
    assert next(query.advised for query in advice.queries) == advice.queries[0].whole
    assert advice.advised is None


@pytest.mark.deep
def test_a_table_of_two_thousand_columns_is_advised(tmp_path):
    rng = np.random.default_rng(1)
    data = {f"c{i}": rng.integers(0, 100, 2_000) for i in range(2_000)}
    pq.write_table(pa.table(data), tmp_path / "t.parquet", row_group_size=500)
    advice = pr.advise(str(tmp_path), workload=["c7 = 5", "c1999 < 3"])
    assert {name for one in advice.ranking for name in one.layout.sort_columns} <= {"c7", "c1999"}


def test_a_partitioned_table_keeps_its_partitions_and_nested_columns_are_no_keys(tmp_path):
    rng = np.random.default_rng(4)
    place = pa.StructArray.from_arrays([pa.array(rng.integers(0, 100, ROWS))], ["zip"])
    data = {"year": rng.integers(2020, 2023, ROWS), "shop": rng.integers(0, 500, ROWS), "place": place}
    pq.write_to_dataset(pa.table(data), tmp_path / "t", partition_cols=["year"], max_rows_per_group=20_000)
    advice = pr.advise(str(tmp_path / "t"), workload=["shop = 7 AND place.zip < 90", "year = 2021 AND shop < 20"])
    assert advice.advised.layout.partition_by == ("year",)
    assert advice.advised.layout.sort_by == ("shop",)
    assert advice.queries[1].advised < 0.1 * advice.queries[1].whole


def test_a_delta_table_is_advised_without_its_deleted_rows(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    rng = np.random.default_rng(4)
    rows = pa.table({"id": np.arange(50_000), "shop": rng.integers(0, 500, 50_000)})
    deltalake.write_deltalake(str(tmp_path), rows)
    deltalake.DeltaTable(str(tmp_path)).delete("id < 10000")
    advice = pr.advise(str(tmp_path), workload=["shop = 7"])
    assert advice.rows == advice.sampled_rows == 40_000


def test_a_column_of_few_values_and_much_data_may_be_a_directory(shops, monkeypatch):
    monkeypatch.setattr("prune_assets.advisor.candidates.LEAST_PARTITION_BYTES", 1)
    advice = pr.advise(shops[0], workload=["kind = 3", "kind = 4 AND shop = 7"])
    with_directories = [it for it in advice.ranking if it.layout.partition_by == ("kind",)]
    assert with_directories
    monkeypatch.undo()
    advice = pr.advise(shops[0], workload=["kind = 3", "kind = 4 AND shop = 7"])
    assert not any(it.layout.partition_by for it in advice.ranking)


def test_a_copy_is_advised_by_what_ran_on_the_original(shops):
    ran = QueryShape(f"s3://lake/{shops[0].rpartition('/')[2]}", "shop = ?", (), 1.0, (RanPredicate("shop = 7"),))
    assert pr.advise(shops[0], workload=Workload((ran,))).queries[0].where == "shop = 7"


def test_directories_that_no_query_filters_on_have_another_reason(tmp_path):
    rng = np.random.default_rng(5)
    rows = pa.table({"id": rng.permutation(IDS), "kind": rng.integers(0, 3, IDS)})
    pq.write_to_dataset(rows, tmp_path / "t", partition_cols=["kind"])
    advised = [pr.advise(tmp_path / "t", workload=[where]) for where in ("id = 7", "id < 900 AND kind = 1")]
    assert [advice.reasons["partition_by"] for advice in advised] == [
        "the table has these directories; no query filters on them",
        "queries filter on these few values, so they skip whole directories",
    ]
