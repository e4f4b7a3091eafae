"""`ReadStats`: bytes and requests of reads without Spark, compared with the predictions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.cache_directory import _decoded
from prune_assets.report.skip_report import Reading

ROWS, FILES = 50_000, 4


@pytest.fixture
def table(monkeypatch, tmp_path):
    """Sorted files with many pages, whose metadata nothing keeps yet."""
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    _decoded.cache_clear()
    for i in range(FILES):
        rows = range(i * ROWS, (i + 1) * ROWS)
        columns = pa.table({"id": rows, "text": [f"some text that compresses little {n * n}" for n in rows]})
        path = tmp_path / "t" / f"part-{i}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(columns, path, write_page_index=True, max_rows_per_page=1000, use_dictionary=False)
    return str(tmp_path / "t")


def test_the_reads_that_it_is_passed_to_are_counted_and_no_others(table):
    pr.count(table, where="id = 7")
    stats = pr.ReadStats()
    assert (stats.files, stats.requests, stats.bytes_read, stats.bytes_expected) == (0, 0, 0, 0)
    pr.read_arrow(table, where="id BETWEEN 60100 AND 60200", stats=stats)
    fetched = stats.requests, stats.bytes_read
    pr.read_arrow(table)
    assert (stats.requests, stats.bytes_read) == fetched
    assert (stats.files, stats.files_kept) == (FILES, 1)


def test_bytes_are_those_of_the_pages_that_hold_the_rows(table):
    stats = pr.ReadStats()
    pr.read_arrow(table, where="id BETWEEN 60100 AND 60200", stats=stats)
    page = stats.bytes_total / (FILES * ROWS / 1000)
    assert 0.8 * page < stats.bytes_expected < 1.2 * page
    assert 0.8 * page < stats.bytes_read < 2 * page
    assert stats.metadata_bytes > 0


def test_a_whole_read_fetches_all_bytes_and_a_count_of_it_none(table):
    whole = pr.ReadStats()
    pr.read_arrow(table, stats=whole)
    assert whole.bytes_read >= whole.bytes_expected == whole.bytes_total
    counted = pr.ReadStats()
    assert pr.count(table, where="id >= 0", stats=counted) == FILES * ROWS
    assert counted.bytes_read == 0 < counted.bytes_total


def test_two_reads_of_one_plan_share_its_metadata(table):
    one = pr.ReadStats()
    pr.read_arrow(table, order_by="id", limit=1, columns=["id"], stats=one)
    both = pr.ReadStats()
    pr.min_max(table, "id", stats=both)
    assert both.files == one.files == FILES
    assert both.metadata_bytes < 1.5 * one.metadata_bytes
    assert both.bytes_read > one.bytes_read


def test_a_stream_counts_until_its_end(table):
    stats = pr.ReadStats()
    batches = pr.read_batches(table, where="id < 10", stats=stats)
    before = stats.bytes_read
    assert sum(batch.num_rows for batch in batches) == 10
    assert stats.bytes_read > before


def test_a_count_with_a_limit_stops_reading(table):
    every = pr.ReadStats()
    assert pr.count(table, where="text LIKE '%9'", stats=every) > 5
    limited = pr.ReadStats()
    assert pr.count(table, where="text LIKE '%9'", limit=5, stats=limited) == 5
    assert [pr.count(table, where="text LIKE '%9'", limit=limit) for limit in (0, 1)] == [0, 1]
    assert limited.bytes_read < every.bytes_read
    with pytest.raises(pr.PruneError, match="limit=-1: give a whole number of rows, 0 or more"):
        pr.count(table, limit=-1)


def test_a_report_after_a_read_in_arrow_has_its_figures(table):
    where = "id BETWEEN 60100 AND 60200"
    plan, stats = pr.plan(table, where=where), pr.ReadStats()
    predicted = plan.report
    assert pr.read_arrow(table, where=where, stats=stats).num_rows == 101
    report = plan.report_after(stats)
    assert (report.engines[:-1], plan.report) == (predicted.engines, predicted)
    actual = report.engines[-1]
    assert (actual.name, actual.reading, actual.estimated) == ("Arrow, as it ran", Reading.AS_IT_RAN, False)
    assert (actual.kept.files, actual.kept.rows, actual.kept.bytes) == (1, 1000, stats.bytes_read)


def test_statistics_of_other_reads_are_refused(table):
    plan, stats = pr.plan(table, where="id = 7"), pr.ReadStats()
    with pytest.raises(pr.PruneError, match="not of reads of this table, version and predicate"):
        plan.report_after(stats)
    pr.read_arrow(table, where="id = 7", stats=stats)
    assert plan.report_after(stats).engines[-1].kept.rows == 1000
    pr.count(table, where="id = 8", stats=stats)
    with pytest.raises(pr.PruneError, match="not of reads of this table, version and predicate"):
        plan.report_after(stats)
