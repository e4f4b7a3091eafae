from __future__ import annotations

from dataclasses import replace

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable, SparkSessionResource
from prune_assets.dagster.optimizing import forecast, layout_now

LAYOUT = pr.LayoutSpec(sort_by=["id"], row_group_rows=100)


def kept(place, name="ids", *, files=4, overlapping=True):
    """A table of files that overlap on the key, or of one that is sorted."""
    (place / name).mkdir()
    for i in range(files):
        ids = range(i, 4_000, files) if overlapping else range(i * 1_000, (i + 1) * 1_000)
        table = pa.table({"id": pa.array(ids, pa.int64())})
        pq.write_table(table, place / name / f"{i}.parquet", row_group_size=100, write_page_index=True)
    return LayoutTable(name, place / name, layout=LAYOUT, predicates={"few": "id < 10"})


def tick(sensor, cursor=None):
    return sensor(dg.build_sensor_context(cursor=cursor))


def test_a_table_whose_files_overlap_is_optimized_once(tmp_path):
    table = kept(tmp_path)
    sensor = table.drift_sensor()
    first = tick(sensor)
    assert first.run_requests[0].tags["prune/drift"].startswith("4 of 4 files")
    second = tick(sensor, first.cursor)
    assert (second.run_requests, second.skip_reason.skip_message) == ([], "ids: not changed")


def test_a_table_that_is_in_order_is_left_alone(tmp_path):
    table = kept(tmp_path, files=1, overlapping=False)
    found = tick(table.drift_sensor())
    assert found.run_requests == []
    assert "0 of 1 file" in found.skip_reason.skip_message


def test_a_table_that_is_gone_is_named_and_looked_for_again(tmp_path):
    table = LayoutTable("ids", tmp_path / "gone", layout=LAYOUT)
    found = tick(table.drift_sensor(), "before")
    assert str(tmp_path / "gone") in found.skip_reason.skip_message
    assert found.cursor == "before"


def test_a_share_that_is_none_is_refused(tmp_path):
    table = LayoutTable("ids", tmp_path, layout=LAYOUT)
    with pytest.raises(WrongUse, match="min_files_share=10"):
        table.drift_sensor(min_files_share=10)


@pytest.mark.spark
def test_the_job_optimizes_and_says_so_on_the_page_of_the_asset(spark, tmp_path):
    table = kept(tmp_path)
    job = dg.Definitions(jobs=[table.optimize_job()], resources={"spark": SparkSessionResource()}).resolve_job_def(
        "optimize_ids"
    )
    instance = dg.DagsterInstance.ephemeral(str(tmp_path))
    assert job.execute_in_process(instance=instance).success
    (record,) = instance.fetch_observations(dg.AssetKey("ids"), limit=1).records
    metadata = record.asset_observation.metadata
    assert metadata["prune/files_rewritten"].value == 4
    assert metadata["prune/overlap"].value == 1.0
    assert metadata["prune/predicates"].records[0].data["predicate"] == "id < 10"
    assert len(pr.optimize(table.table, layout=LAYOUT, dry_run=True).picked) == 0


def shops(place, **options):
    """Create a table sorted by `id` whose queries select shops, with an automatic layout by default."""
    rng = np.random.default_rng(3)
    rows = {"id": np.arange(200_000), "shop": rng.integers(0, 500, 200_000)}
    (place / "shops").mkdir()
    path = place / "shops" / "0.parquet"
    pq.write_table(pa.table(rows), path, write_page_index=True, max_rows_per_page=2_000, row_group_size=50_000)
    declared = pr.LayoutSpec(sort_by=["id"])
    asked = {"workload": ["shop = 7", "shop = 400"], "budget": 1 << 30, "automatic": True}
    return LayoutTable("shops", place / "shops", layout=declared, **asked | options)


@pytest.mark.parametrize("lacking", [{"workload": None}, {"budget": None}, {"optimize_where": "day = 1"}])
def test_automatic_needs_a_workload_a_budget_and_the_whole_table(tmp_path, lacking):
    with pytest.raises(WrongUse, match="shops: automatic=True follows a workload within a budget"):
        shops(tmp_path, **lacking)


def optimized(kept, instance):
    """The observation of a run of the job."""
    jobs = [kept.optimize_job()]
    job = dg.Definitions(jobs=jobs, resources={"spark": SparkSessionResource()}).resolve_job_def("optimize_shops")
    assert job.execute_in_process(instance=instance).success
    return instance.fetch_observations(kept.key, limit=1).records[0].asset_observation.metadata


@pytest.mark.spark
def test_only_a_table_that_says_so_gets_the_advised_layout(spark, tmp_path):
    instance = dg.DagsterInstance.ephemeral(str(tmp_path))
    by_hand = shops(tmp_path, automatic=False)
    assert "prune/advice" not in optimized(by_hand, instance)
    assert not pr.optimize(by_hand.table, layout=by_hand.layout, dry_run=True).picked

    automatic = replace(by_hand, automatic=True)
    first = optimized(automatic, instance)
    assert first["prune/workload_now"].value < 0.5 * first["prune/workload_before"].value
    assert layout_now(automatic).sort_by == ("shop",)
    assert not forecast(automatic).picked, "the drift sensor leaves the new layout as it is"
    second = optimized(replace(automatic, workload=["id < 2000"]), instance)
    assert "the layout was changed on" in second["prune/advice"].value
    assert second["prune/files_rewritten"].value == 0
