"""Advice compared with layouts that are written to disk: compared figures, and no leftovers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import put

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.advisor import verify
from prune_assets.advisor.queries import costs_of
from prune_assets.advisor.trial_write import write_without_spark
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table
from prune_assets.tables.parquet import PARQUET

ROWS = 200_000
QUERIES = ["shop = 7", "shop = 400", "kind = 'k3' AND shop < 20"]


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A table in the order of `id`."""
    rng = np.random.default_rng(3)
    kinds = np.array([f"k{i}" for i in range(5)], object)[rng.integers(0, 5, ROWS)]
    rows = pa.table({"id": np.arange(ROWS), "shop": rng.integers(0, 500, ROWS), "kind": kinds})
    sizes = pr.LayoutSpec(page_rows=20_000, row_group_rows=50_000)
    return put(rows, tmp_path_factory.mktemp("shops") / "t", sizes)


@pytest.fixture(scope="module")
def advice(shops):
    return pr.advise(shops, workload=QUERIES)


def beside(table):
    return sorted(path.name for path in Path(table).parent.iterdir())


@pytest.fixture(scope="module")
def on_all(shops, advice):
    return advice.verify(workload=QUERIES)


@pytest.mark.parametrize("on_sample", [False, True])
def test_the_first_three_layouts_are_written_planned_and_removed(shops, advice, on_all, on_sample):
    found = advice.verify(workload=QUERIES, on_sample=True) if on_sample else on_all
    assert [one.title for one in found.verified] == [one.title for one in advice.ranking[:3]]
    for one in found.verified:
        assert (one.writer, one.rows) == ("pyarrow", ROWS)
        assert [query.where for query in one.queries] == QUERIES
        assert all(0 < query.planned < query.planned_whole for query in one.queries)
        # Bytes of rows in another order are not predicted: `id` takes more than today.
        assert one.median_error < 2.5
    assert beside(shops) == ["t"]


def test_what_is_planned_differs_where_the_prediction_is_wrong(shops, advice, monkeypatch):
    real = verify.simulate

    def wrong(workspace, layout):
        found = real(workspace, layout)
        return found._replace(read=found.whole)

    monkeypatch.setattr(verify, "simulate", wrong)
    verified = advice.verify(workload=QUERIES)
    found = verified.verified[0]
    assert found.predicted == pytest.approx(1)
    assert found.planned < 0.3
    assert found.within_five == 0
    assert "most: predicted +" in str(verified)


def test_the_folder_is_removed_after_a_failure(shops, advice, monkeypatch):
    seen = []

    def fails(rows, directory, *_, **__):
        directory.mkdir()
        seen.extend(beside(shops))
        raise UnsupportedFeature("no")

    monkeypatch.setattr(verify, "write_without_spark", fails)
    with pytest.raises(UnsupportedFeature):
        advice.verify(workload=QUERIES)
    assert any(name.startswith(".t-verify-") for name in seen)
    assert beside(shops) == ["t"]


def test_of_a_large_table_a_sample_is_written(shops, advice, monkeypatch):
    monkeypatch.setattr(verify, "_MOST_WITHOUT_SPARK", 1_000)
    with pytest.raises(WrongUse, match="verify on a sample"):
        advice.verify(workload=QUERIES)
    monkeypatch.setattr(verify, "_MOST_SAMPLED", 50_000)
    found = advice.verify(workload=QUERIES, on_sample=True).verified[0]
    assert 40_000 <= found.rows <= 60_000


def test_it_is_kept_in_every_form_of_the_advice(advice, on_all):
    found = on_all
    (first, *_), html = json.loads(found.to_json())["verified"], found.to_html()
    assert first["queries"][0]["planned"] == found.verified[0].queries[0].planned
    assert "Predicted and planned" in html
    assert "Predicted and planned" not in advice.to_html()
    assert "verified by writing 200,000 rows with pyarrow" in str(found)


@pytest.mark.parametrize(("group_rows", "codec"), [(ROWS, "zstd"), (30_000, "snappy")])
def test_a_dictionary_that_does_not_pay_is_not_predicted(tmp_path, group_rows, codec):
    """Arrow writes a dictionary for every column; Spark only if the first page has enough repeated values."""
    rows = pa.table({"id": np.arange(ROWS), "shop": np.random.default_rng(5).integers(0, 500, ROWS)})
    pq.write_table(rows, tmp_path / "t.parquet", write_page_index=True, row_group_size=group_rows, compression=codec)
    queries = ["id < 10000", "shop = 7"]
    advice = pr.advise(str(tmp_path / "t.parquet"), workload=queries)
    for one in advice.verify(workload=queries).verified:
        assert one.predicted == pytest.approx(one.planned, abs=0.05)


def test_a_partitioned_table_with_nulls_is_written_as_its_partitions(tmp_path):
    rng = np.random.default_rng(4)
    days = pa.array(rng.integers(0, 3, ROWS).astype(np.int32)).cast(pa.date32())
    place = pa.array([None, "a:b", "c"]).take(pa.array(rng.integers(0, 3, ROWS)))
    rows = pa.table({"day": days, "place": place, "shop": rng.integers(0, 500, ROWS)})
    pq.write_table(rows, tmp_path / "one.parquet")
    table = open_table(str(tmp_path / "one.parquet"), semantics=semantics_for(None))
    layout = pr.LayoutSpec(partition_by=["day", "place"], sort_by=["shop DESC"], page_rows=1_000)
    write_without_spark(rows, tmp_path / "t", layout, table=table, bytes_per_row=4.0)
    written = pr.read_arrow(str(tmp_path / "t"), columns=["day", "place", "shop"])
    key = [("day", "ascending"), ("place", "ascending"), ("shop", "ascending")]
    assert written.sort_by(key) == rows.sort_by(key)
    assert (tmp_path / "t" / "day=1970-01-02" / "place=a%3Ab").is_dir()
    assert not [it for it in pr.check(str(tmp_path / "t"), layout=layout) if it.severity == pr.Severity.ERROR]


def test_bloom_filters_are_written(tmp_path):
    rng = np.random.default_rng(4)
    rows = pa.table({"user": rng.integers(0, 10**12, 100_000), "shop": rng.integers(0, 500, 100_000)})
    pq.write_table(rows, tmp_path / "one.parquet")
    table = open_table(str(tmp_path / "one.parquet"), semantics=semantics_for(None))
    layout = pr.LayoutSpec(sort_by=["shop"], bloom={"user": 0.01}, row_group_rows=10_000)
    write_without_spark(rows, tmp_path / "t", layout, table=table, bytes_per_row=16.0)
    plan = pr.plan(str(tmp_path / "t"), where=f"user = {rows['user'][5].as_py()}")
    assert plan.kept.rows.sum() <= 20_000


def test_of_a_delta_table_the_rows_that_are_left_are_written(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"id": np.arange(50_000), "shop": np.random.default_rng(4).integers(0, 500, 50_000)})
    deltalake.write_deltalake(str(tmp_path / "t"), rows)
    deltalake.DeltaTable(str(tmp_path / "t")).delete("id < 10000")
    advice = pr.advise(str(tmp_path / "t"), workload=["shop = 7"])
    for on_sample in (False, True):
        found = advice.verify(workload=["shop = 7"], on_sample=on_sample)
        assert {one.rows for one in found.verified} == {40_000}
        assert found.verified[0].within_five == 1


def test_a_table_in_a_store_is_verified_on_a_sample_alone(advice):
    with pytest.raises(WrongUse, match="verify on a sample"), verify._folder_beside(_Remote(), on_sample=False):
        pass


class _Remote:
    given = "s3://lake/orders"
    format = PARQUET


@pytest.mark.deep
@pytest.mark.spark
def test_spark_writes_the_layouts_and_scans_what_is_planned(shops, advice, spark):
    found = advice.verify(workload=QUERIES, session=spark)
    for one in found.verified:
        assert one.writer == "Spark"
        # Spark draws a curve from a sample of its own, which differs from run to run; a sort key has no such sample.
        assert one.within_five == 1 or one.title.startswith(("z-order", "Hilbert"))
        assert all(2 * query.planned < query.planned_whole for query in one.queries)
        assert [query.rows_scanned for query in one.queries] == [query.rows_planned for query in one.queries]
    assert "Spark scanned" in str(found)
    assert beside(shops) == ["t"]


def test_a_dictionary_that_was_full_is_known_by_the_values_beside_it(tmp_path):
    """A full dictionary is not recognized by size: 131,072 ascending numbers take no more bytes than 30,000 others."""
    rows = pa.table({"ticket": np.arange(1_000_000) // 4})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=len(rows), compression="zstd")
    index = open_table(str(tmp_path / "t.parquet"), semantics=semantics_for(None)).read_all()
    (chunk,) = (index.footers.chunks(column) for column in index.groups.columns)
    size = int(chunk.data_page_offset[0] - chunk.dictionary_page_offset[0])
    assert 0 < size < 8 * len(rows) / 20
    assert costs_of(index)["ticket",].dictionary == 0


@pytest.mark.parametrize("partition_first", [True, False])
@pytest.mark.parametrize("table_format", ["delta", "hive"])
def test_a_partitioned_table_is_verified(tmp_path, table_format, partition_first):
    rng = np.random.default_rng(4)
    columns = {"shop": rng.integers(0, 500, 60_000), "id": np.arange(60_000)}
    day = {"day": np.arange(60_000) // 20_000}
    rows = pa.table(day | columns if partition_first else columns | day)
    if table_format == "delta":
        pytest.importorskip("deltalake").write_deltalake(str(tmp_path / "t"), rows, partition_by=["day"])
    else:
        pq.write_to_dataset(rows, tmp_path / "t", partition_cols=["day"])
    queries = ["shop = 7 AND day = 1"]
    advice = pr.advise(str(tmp_path / "t"), workload=queries)
    assert any(each.layout.partition_by for each in advice.ranking[:3])
    for on_sample in (False, True):
        verified = advice.verify(workload=queries, on_sample=on_sample).verified
        assert {each.rows for each in verified} == {60_000}
