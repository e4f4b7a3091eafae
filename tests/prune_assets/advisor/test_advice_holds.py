"""Predictions for tables modelled on public data sets, compared with plans of the written layouts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from simulations import workspace_of

import prune_assets as pr
from prune_assets.advisor.automatic import why_not
from prune_assets.advisor.queries import costs_of
from prune_assets.advisor.simulate import simulate
from prune_assets.advisor.trial_write import with_dictionary, write_without_spark
from prune_assets.planner.plan_read import plan_opened
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table

ROWS = 150_000
SAMPLED = 50_000
# Arrow writes the files here, and does not truncate string bounds.
UNCUT = 1 << 20


def source_of(rows, folder):
    """Write rows into five row groups of three pages."""
    folder.mkdir()
    rows_of_page = len(rows) // 15
    sizes = {"row_group_size": 3 * rows_of_page, "max_rows_per_page": rows_of_page}
    pq.write_table(rows, folder / "t.parquet", write_page_index=True, **sizes)
    return str(folder)


def predicted(source, wheres, layout, sampled=SAMPLED):
    return simulate(workspace_of(source, wheres, sampled), replace(layout, column_index_truncate_length=UNCUT)).read


def written(rows, source, place, layout):
    """Write rows in a layout; the path of the new table."""
    table = open_table(source, semantics=semantics_for(None))
    per_row = sum(cost.data for cost in costs_of(table.read_all()).values())
    write_without_spark(rows, place, layout, table=table, bytes_per_row=per_row)
    return str(place)


def planned(source, wheres):
    table = open_table(source, semantics=semantics_for(None))
    plans = [plan_opened(table, where=where, session=None, depth="pages") for where in wheres]
    return np.array([plan.kept.bytes.sum() for plan in plans], float)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A sorted key with a small dictionary in each row group, and a random column."""
    rows = tickets_of(ROWS)
    return rows, source_of(rows, tmp_path_factory.mktemp("tickets") / "t")


def tickets_of(count):
    rng = np.random.default_rng(1)
    tickets, keys = np.arange(count) // 10, rng.integers(0, count // 10, count)
    return pa.table({"ticket": tickets, "k": keys, "v": rng.integers(0, 1 << 50, count)})


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    """Measurements in the order of arrival: few values of temperature, floats among them, and many devices."""
    rng = np.random.default_rng(2)
    device = rng.integers(0, 300, ROWS)
    rows = pa.table(
        {
            "at": np.arange(ROWS),
            "device": np.char.add("dev-", np.char.zfill(device.astype(str), 5)),
            "temp": np.round(20 + 4 * np.sin(np.arange(ROWS) / 9_000) + rng.normal(0, 2, ROWS), 1),
            "v": rng.integers(0, 1 << 50, ROWS),
        }
    )
    return rows, source_of(rows, tmp_path_factory.mktemp("devices") / "t")


def test_a_key_that_loses_its_dictionary_is_predicted_dearer(tmp_path):
    rows = tickets_of(2 * ROWS)
    source = source_of(rows, tmp_path / "t")
    wheres = [*(f"ticket = {it}" for it in (4_000, 11_111, 22_222)), "k = 5"]
    layout = pr.LayoutSpec(sort_by=["k"], row_group_rows=60_000)
    really = planned(written(rows, source, tmp_path / "w", layout), wheres)
    assert really[:3].min() > 4 * planned(source, wheres)[:3].max()
    assert np.abs(predicted(source, wheres, layout, 2 * SAMPLED) / really - 1).max() < 0.15


def test_queries_that_get_twice_as_dear_are_named(tickets):
    source = tickets[1]
    often = [f"k BETWEEN {it} AND {it + 150}" for it in range(0, 15_000, 500)]
    advice = pr.advise(source, workload=[*often, "ticket = 2000"], sample_rows=SAMPLED)
    layout = pr.LayoutSpec(sort_by=["k"])
    assert "k" in {*advice.advised.layout.sort_columns, *advice.advised.layout.curve_by}, layout
    (dear,) = advice.dearer
    assert dear.where == "ticket = 2000"
    assert dear.advised > 2 * dear.today
    assert "more than twice as expensive" in advice.verdict
    assert "ticket = 2000" in advice.verdict
    assert "ticket = 2000" in advice.layout_yaml().splitlines()[0]
    assert json.loads(advice.to_json())["dearer"][0]["where"] == "ticket = 2000"
    assert pr.LayoutAdvice.from_json(advice.to_json()).dearer == advice.dearer
    assert "ticket = 2000" in why_not(advice)


def test_a_range_that_dictionaries_rule_out_reads_nothing_in_any_layout(devices, tmp_path):
    rows, source = devices
    beyond = f"temp > {np.max(rows['temp'].to_numpy()) + 0.5}"
    wheres = [beyond, "device = 'dev-00017'", "at < 5"]
    assert planned(source, wheres)[0] == 0
    for layout in (pr.LayoutSpec(sort_by=["device"]), pr.LayoutSpec(hilbert_by=["device", "at"])):
        place = tmp_path / "".join((*layout.sort_by, *layout.hilbert_by))
        assert planned(written(rows, source, place, layout), wheres)[0] == 0
        assert predicted(source, wheres, layout)[0] == 0
        assert predicted(source, wheres, layout, ROWS)[0] == 0


@pytest.mark.parametrize("share", [0.9, 0.5, 0.33])
def test_lookups_in_a_sampled_table_are_predicted_as_those_in_a_whole_one(devices, tmp_path, share):
    rows, source = devices
    wheres = [f"device = 'dev-{it:05}'" for it in (17, 150, 299)]
    layout = pr.LayoutSpec(sort_by=["device"], page_rows=5_000, row_group_rows=30_000)
    really = planned(written(rows, source, tmp_path / "w", layout), wheres)
    whole = rows.nbytes / 3
    error = np.abs(predicted(source, wheres, layout, round(share * ROWS)) - really) / whole
    assert error.max() < 0.05, error


def test_no_day_of_a_sampled_table_in_order_is_predicted_at_nothing(tmp_path):
    rows = pa.table({"day": np.arange(ROWS) * 73 // ROWS, "v": np.random.default_rng(3).integers(0, 1 << 50, ROWS)})
    source = source_of(rows, tmp_path / "t")
    wheres = [f"day = {it}" for it in range(73)]
    for sampled in (SAMPLED, 20_000):
        for layout in (pr.LayoutSpec(page_rows=2_000), pr.LayoutSpec(sort_by=["day"], page_rows=2_000)):
            assert predicted(source, wheres, layout, sampled).min() > 0


def test_the_column_that_a_sampled_table_is_in_order_of_is_predicted_in_another_order(tmp_path):
    """Sampled rows that are neighbours would have some days whole and others not at all."""
    rng = np.random.default_rng(8)
    rows = pa.table({"day": np.arange(ROWS) * 90 // ROWS, "f": rng.permutation(ROWS), "v": rng.random(ROWS)})
    source = source_of(rows, tmp_path / "t")
    wheres = [f"day = {it} AND f >= 0" for it in range(90)]
    layout = pr.LayoutSpec(hilbert_by=["f", "day"], page_rows=2_000)
    really = planned(written(rows, source, tmp_path / "w", layout), wheres)
    assert np.abs(predicted(source, wheres, layout) - really).max() / rows.nbytes < 0.05


def test_seconds_that_repeat_among_neighbours_are_predicted_without_a_dictionary(tmp_path):
    """The rows of a second are adjacent, so a sample of blocks of rows would overestimate repetitions."""
    rng = np.random.default_rng(9)
    at = np.sort(rng.integers(0, ROWS * 1.2, ROWS)) * 1_000_000
    level = rng.choice(["INFO", "WARN"], ROWS, p=[0.9, 0.1])
    rows = pa.table({"at": pa.array(at, pa.timestamp("us")), "level": level})
    source = source_of(rows, tmp_path / "t")
    wheres = [f"at < TIMESTAMP_NTZ '1970-01-01 {hour:02}:00:00' AND level > ''" for hour in (2, 9, 20)]
    layout = pr.LayoutSpec(hilbert_by=["level", "at"], page_rows=2_000, row_group_rows=50_000)
    really = planned(written(rows, source, tmp_path / "w", layout), wheres)
    assert np.abs(predicted(source, wheres, layout) / really - 1).max() < 0.1


@pytest.mark.parametrize("template", ["k BETWEEN {0} AND {0} + 150", "k = {0}", "ticket = {0} OR k = {0}"])
def test_an_applied_layout_is_advised_to_stay(tickets, tmp_path, template):
    rows, source = tickets
    wheres = [template.format(it) for it in range(250, 15_000, 1_250)]
    first = pr.advise(source, workload=wheres, sample_rows=SAMPLED)
    assert first.advised is not None
    applied = written(rows, source, tmp_path / "w", first.advised.layout)
    again = pr.advise(applied, workload=wheres, sample_rows=SAMPLED)
    assert again.advised is None, again.verdict
    assert again.verdict.startswith("do nothing")


def test_columns_that_follow_the_order_are_predicted_to_shrink(tmp_path):
    """Each place is in one zone: sorted by place, zone takes next to nothing, though no query filters on it."""
    rng = np.random.default_rng(4)
    place = rng.integers(0, 2_000, ROWS)
    rows = pa.table({"place": place, "zone": place * 7_919 % 10_007, "v": rng.integers(0, 1 << 50, ROWS)})
    source = source_of(rows, tmp_path / "t")
    layout = pr.LayoutSpec(sort_by=["place"])
    wheres = ["v > 0 AND place >= 0"]
    really = planned(written(rows, source, tmp_path / "w", layout), wheres)
    assert really[0] < 0.8 * planned(source, wheres)[0]
    assert abs(predicted(source, wheres, layout)[0] / really[0] - 1) < 0.1


def test_queries_that_a_layout_of_ones_own_makes_dearer_are_named(tickets):
    advice = pr.advise(tickets[1], workload=["ticket = 2000", "k = 5"], layout={"sort_by": ["k"]}, sample_rows=SAMPLED)
    assert [one.where for one in advice.own_dearer] == ["ticket = 2000"]
    assert "more than twice as expensive in your layout: " in str(advice)
    assert pr.LayoutAdvice.from_json(advice.to_json()).own_dearer == advice.own_dearer


def test_no_query_reads_less_than_its_lower_bound(tickets):
    advice = pr.advise(tickets[1], workload=["ticket < 40", "k = 5", "k < 100"], sample_rows=SAMPLED)
    assert all(one.lower_bound <= min(one.today, one.advised) for one in advice.queries)


def test_a_bloom_filter_that_the_advised_layout_lacks_is_noted(tickets, tmp_path):
    rows, source = tickets
    place = written(rows, source, tmp_path / "w", pr.LayoutSpec(bloom={"v": 0.01}))
    advice = pr.advise(place, workload=["k = 5", "k BETWEEN 7 AND 9"])
    assert advice.advised is not None
    assert [note for note in advice.notes if "bloom filters on v" in note and "bloom: {v: 0.01}" in note]


@pytest.mark.parametrize("codec", ["snappy", "zstd"])
def test_another_codec_is_noted_and_is_no_layout(tmp_path, codec):
    rows = pa.table({"a": np.arange(ROWS), "b": np.random.default_rng(5).integers(0, 1_000, ROWS) * 1_000_003})
    coded = ["b"] if codec == "zstd" else False
    pq.write_table(rows, tmp_path / "t.parquet", compression=codec, use_dictionary=coded, write_page_index=True)
    advice = pr.advise(str(tmp_path / "t.parquet"), workload=["b >= 0"])
    assert advice.advised is None
    assert [note for note in advice.notes if f"compressed with {codec}" in note] == list(advice.notes)
    assert len(advice.notes) == (codec != "zstd")


def test_leaves_of_structs_and_lists_keep_dictionaries_in_trial_writes():
    rows = {"s": [{"os": "x" * 10, "v": i} for i in range(2_000)], "l": [["a" * 5] * 3] * 2_000, "n": range(2_000)}
    assert with_dictionary(pa.table(rows), pr.LayoutSpec(), 2_000) == ["s.os", "l.list.element"]


def test_keys_state_the_order_of_equal_ones_that_queries_need(tmp_path):
    rng, count = np.random.default_rng(11), 2 * ROWS
    service = np.char.add("svc-", np.char.zfill((40 * rng.random(count) ** 2).astype(int).astype(str), 3))
    rows = pa.table({"ts": np.arange(count), "service": service, "v": rng.integers(0, 1 << 50, count)})
    source = source_of(rows, tmp_path / "t")
    wheres = [f"service = 'svc-{i:03}' AND ts BETWEEN {i * 7_000} AND {i * 7_000 + 2_000}" for i in range(0, 30, 2)]
    advised = pr.advise(source, workload=wheres).advised.layout
    assert {"service", "ts"} <= {*advised.sort_columns, *advised.curve_by}, advised


def test_encodings_that_a_rewrite_mends_are_not_kept(tmp_path):
    """Arrow keeps a dictionary of the time in each row group, which a plan reads for each page."""
    rng = np.random.default_rng(12)
    rows = pa.table({"at": np.sort(rng.integers(0, 1 << 40, ROWS)), "v": rng.integers(0, 50, ROWS)})
    pq.write_table(
        rows, tmp_path / "t.parquet", compression="zstd", write_page_index=True, max_rows_per_page=2_000,
        row_group_size=100_000, dictionary_pagesize_limit=4 << 20,
    )  # fmt: skip
    at = rows["at"].to_pylist()
    wheres = [f"at BETWEEN {at[i]} AND {at[i + 500]}" for i in range(0, ROWS - 1_000, 20_000)]
    advice = pr.advise(str(tmp_path / "t.parquet"), workload=wheres)
    assert advice.advised is not None, advice.verdict
    assert advice.advised.bytes < 0.2 * advice.today


def test_a_last_row_group_of_few_rows_does_not_decide_on_dictionaries(tmp_path):
    rng = np.random.default_rng(6)
    texts = np.array([f"https://shop.example/{value:032x}" for value in rng.integers(0, 1 << 60, 15_000)])
    rows = pa.table({"text": texts[rng.integers(0, 15_000, ROWS + 60)], "k": rng.integers(0, 1_000, ROWS + 60)})
    source, layout = source_of(rows, tmp_path / "source"), pr.LayoutSpec(row_group_rows=100_000, page_rows=20_000)
    queries = ["text LIKE '%a%' OR k < 3"]
    (then,) = planned(written(rows, source, tmp_path / "then", layout), queries)
    (expected,) = predicted(source, queries, layout)
    assert expected == pytest.approx(then, rel=0.15)


@pytest.mark.parametrize("values", [0, 1, 3])
def test_a_column_with_hardly_any_value_is_advised_on(tmp_path, values):
    count = 30_000
    err = np.zeros(count, np.int64)
    rows = pa.table({"id": range(count), "err": pa.array(err, mask=np.arange(count) >= values)})
    source = source_of(rows, tmp_path / "source")
    for sampled in (4_000, count):
        advice = pr.advise(source, workload=["err = 0", "id = 5", "err IS NOT NULL"], sample_rows=sampled)
        assert advice.ranking
