"""The fleet page: all tables ranked by needless bytes of queries, and the trend after an optimize."""

from __future__ import annotations

import time

import dagster as dg
import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets as pr
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, ScanTotals, Workload
from prune_assets.dagster import LayoutTable, build_fleet_asset

LAYOUT = pr.LayoutSpec(sort_by=["id"], row_group_rows=100)


def kept(place, name="ids", *, files=4, overlapping=True, **options):
    """A table of files that overlap on the key, or of one that is sorted."""
    (place / name).mkdir()
    for i in range(files):
        ids = range(i, 4_000, files) if overlapping else range(i * 1_000, (i + 1) * 1_000)
        table = pa.table({"id": pa.array(ids, pa.int64())})
        pq.write_table(table, place / name / f"{i}.parquet", row_group_size=100, write_page_index=True)
    return LayoutTable(name, place / name, layout=LAYOUT, predicates={"few": "id < 10"}, **options)


def page(tables, instance=None):
    """The metadata of the page, and its rows by table."""
    result = dg.materialize([build_fleet_asset(tables)], instance=instance)
    metadata = result.asset_materializations_for_node("fleet")[0].metadata
    return metadata, {record.data["table"]: record.data for record in metadata["prune/fleet"].records}


def test_the_fleet_is_ranked_by_what_layouts_cost(tmp_path):
    tables = [
        kept(tmp_path, "sorted", files=1, overlapping=False),
        kept(tmp_path, "overlapping"),
        LayoutTable("gone", tmp_path / "gone", layout=LAYOUT),
    ]
    metadata, by_table = page(tables)
    rows = list(by_table.values())
    assert [row["table"] for row in rows] == ["gone", "overlapping", "sorted"]
    assert str(tmp_path / "gone") in rows[0]["problem"]
    assert rows[1]["needless bytes"] > 0 == rows[2]["needless bytes"]
    assert (rows[1]["files to rewrite"], rows[2]["files to rewrite"]) == (4, 0)
    assert metadata["prune/needless_bytes"].value == rows[1]["needless bytes"]
    assert (metadata["prune/tables"].value, metadata["prune/unreadable_tables"].value) == (3, 1)


def test_the_fleet_shows_the_rows_that_are_deleted_and_still_read(tmp_path):
    place = str(tmp_path / "deleted")
    rows = pa.table({"id": range(10)})
    write_table(place, rows, properties={"delta.enableDeletionVectors": "true"})
    delete_rows(place, dict.fromkeys(deltalog.open_snapshot(place).paths(), range(3)))
    metadata, rows = page([kept(tmp_path, "plain"), LayoutTable("deleted", place, layout=LAYOUT)])
    figures = ("deleted rows", "share deleted", "most delete files")
    assert [rows["deleted"][figure] for figure in figures] == [3, 0.3, 1]
    assert [rows["plain"][figure] for figure in figures] == [0, 0.0, 0]
    assert metadata["prune/deleted_rows"].value == 3


def test_the_fleet_shows_what_merges_open_for_what_they_rewrite(tmp_path):
    place = str(tmp_path / "merged")
    for first in range(0, 50, 10):
        write_table(place, pa.table({"id": range(first, first + 10)}), mode="append")
    merge = deltalake.DeltaTable(place).merge(pa.table({"id": [7]}), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().execute()
    _, rows = page([kept(tmp_path, "plain"), LayoutTable("merged", place, layout=LAYOUT)])
    assert rows["plain"]["opened per rewritten byte"] == 0
    assert 4 < rows["merged"]["opened per rewritten byte"] < 6


def ran(table, *, read, rows, selected):
    """Return a query shape with bytes read, rows read and rows selected on a table."""
    totals = ScanTotals(bytes_read=read, rows_read=rows, rows_selected=selected)
    return QueryShape(str(table), "id < ?", ("id",), 3.0, (RanPredicate("id < 10", 3.0),), totals)


def test_what_real_queries_read_without_need_ranks_before_what_predicates_would(tmp_path):
    """By its predicate the second table wastes nothing, but its queries selected a hundredth of the rows they read."""
    few = ran(tmp_path / "overlapping", read=1_000, rows=100, selected=90)
    many = ran(tmp_path / "sorted", read=1_000_000, rows=100, selected=1)
    workload = Workload((few, many))
    tables = [
        kept(tmp_path, "overlapping", workload=workload),
        kept(tmp_path, "sorted", files=1, overlapping=False, workload=workload),
        kept(tmp_path, "unasked", files=1, overlapping=False, workload=workload),
    ]
    metadata, rows = page(tables)
    assert [(name, row["needless bytes"]) for name, row in rows.items()] == [
        ("sorted", 990_000),
        ("overlapping", 100),
        ("unasked", 0),
    ]
    assert [row["queries"] for row in rows.values()] == [3, 3, 0]
    assert metadata["prune/needless_bytes"].value == 990_100
    assert metadata["prune/workload_bytes"].value == sum(row["workload bytes"] for row in rows.values()) > 0
    assert rows["unasked"]["trend"] == ""


def test_the_trend_shows_what_an_optimize_brought(tmp_path):
    instance, ids = dg.DagsterInstance.ephemeral(str(tmp_path)), np.arange(4_000)
    table = LayoutTable("ids", tmp_path / "ids", layout=LAYOUT, workload=["id BETWEEN 2000 AND 2050"])

    def put(rows):
        (tmp_path / "ids").mkdir(exist_ok=True)
        pq.write_table(
            pa.table({"id": rows}), tmp_path / "ids" / "0.parquet", row_group_size=100, write_page_index=True
        )

    put(np.random.default_rng(1).permutation(ids))
    first = page([table], instance)[1]["ids"]
    assert first["trend"] in {"▆", "▇", "█"}
    assert first["optimize brought"] == ""
    put(ids)
    assert page([table], instance)[1]["ids"]["optimize brought"] == "", "nobody says that it was optimized"
    put(np.random.default_rng(1).permutation(ids))
    page([table], instance)
    time.sleep(0.01)
    put(ids)
    instance.report_runless_asset_event(dg.AssetObservation("ids", metadata={"prune/files_rewritten": 1}))
    last = page([table], instance)[1]["ids"]
    assert last["share read"] < 0.1 < first["share read"]
    assert (len(last["trend"]), last["trend"][-1]) == (4, "▁")
    assert last["optimize brought"].startswith(f"{first['share read']:.1%} -> {last['share read']:.1%} of the bytes, 2")


def test_a_workload_of_a_folder_is_loaded_once_for_all_tables(tmp_path, monkeypatch):
    from prune_assets.advisor.workload import load

    (tmp_path / "ran").mkdir()
    calls, real = [], load.load_workload
    monkeypatch.setattr(load, "load_workload", lambda *args, **more: calls.append(args) or real(*args, **more))
    workload = tmp_path / "ran" / "day.json"
    from prune_assets.advisor.workload.json_form import to_json

    workload.write_text(to_json(Workload((ran(tmp_path / "a", read=100, rows=10, selected=5),))))
    tables = [kept(tmp_path, name, workload=tmp_path / "ran") for name in ("a", "b")]
    assert [row["needless bytes"] for row in page(tables)[1].values()] == [50, 0]
    assert len(calls) == 1


@pytest.mark.parametrize("workload", ["nowhere.json", "nowhere"])
def test_a_workload_that_is_not_there_is_the_problem(tmp_path, workload):
    rows = page([kept(tmp_path, workload=tmp_path / workload)])[1]
    assert "nowhere" in rows["ids"]["problem"]
