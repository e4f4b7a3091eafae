"""`pr.optimize` of a table in the session's Iceberg catalog: calls its procedures where needed, and verifies."""

from __future__ import annotations

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from tests.prune_assets.tables.iceberg import iceberg_writes as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LAYOUT = pr.LayoutSpec(sort_by=["u"], bloom={"id": 0.01}, partition_by=["day", "bucket(2, id)"], files=1)
# Iceberg ends a file by its size in memory, where the current page is still uncompressed.
WORDS = pr.LayoutSpec(sort_by=["s"], files=1, target_file_bytes=20_000, page_rows=200)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield run


def overlapping(run, name):
    """Make a table of two writes that overlap in each of its six partitions."""
    for first in (0, 1000):
        written = run(there.write, name, LAYOUT, {"rows": (first, first + 1000, "true"), "format": "iceberg"})
        assert written.rows == 1000, written
    return name


def test_a_dry_run_says_what_iceberg_would_be_told_and_changes_nothing(run):
    name = overlapping(run, "lake.db.dry")
    before = run(there.facts, name)
    result = run(there.optimize, name, LAYOUT, {"dry_run": True})
    assert len(result["picked"]) == 12
    (call,) = result["statements"]
    assert call.startswith(
        "CALL `lake`.system.rewrite_data_files(table => '`lake`.`db`.`dry`', strategy => 'sort', "
        "sort_order => '`u` ASC NULLS FIRST', where => '("
    )
    assert call.count(" OR ") == 5
    assert "`day` = DATE \\'2024-01-01\\' AND `lake`.system.bucket(2, `id`) = 0 AND u BETWEEN " in call
    assert run(there.facts, name) == before


def test_what_overlaps_is_sorted_into_one_and_left_alone_then(run):
    name = overlapping(run, "lake.db.overlapping")
    rows = run(there.hashed, name)
    assert "overlap.files" in {code for code, _ in run(there.all_findings, name, LAYOUT)}
    done = run(there.optimize, name, LAYOUT, {"predicates": ["u = 7"]})
    assert (done["reasons"]["overlaps"], done["new_files"], done["depth_after"], done["left"]) == (12, 6, 1.0, 0)
    assert run(there.hashed, name) == rows
    assert run(there.all_findings, name, LAYOUT) == []
    again = run(there.optimize, name, LAYOUT)
    assert (again["picked"], again["version"]) == ([], done["version"])


def test_one_partition_alone(run):
    name = overlapping(run, "lake.db.where")
    before = set(run(there.files, name))
    done = run(there.optimize, name, LAYOUT, {"where": "day = DATE '2024-01-02'"})
    gone = before - set(run(there.files, name))
    assert len(gone) == len(done["picked"]) == 4
    assert all("day=2024-01-02" in path for path in gone)
    refused = run(there.optimize, name, LAYOUT, {"where": "u = 7"})
    assert refused[0] == "WrongUse"


def test_files_outside_of_the_range_that_needs_it_stay(run):
    """The key has signs that SQL escapes; one file has it null alone."""
    name = "lake.db.words"
    ranges = [run(there.write_words, name, WORDS, (first, first + 4000)) for first in (0, 4000, 8000)]
    run(there.write_words, name, WORDS, (4100, 4200))
    nulls = [run(there.write_words, name, WORDS, (0, 9), "CAST(NULL AS STRING)") for _ in range(2)]
    rows = run(there.hashed, name)
    done = run(there.optimize, name, WORDS)
    left = set(run(there.files, name))
    assert set(ranges[0] + ranges[2]) <= left
    assert not set(ranges[1] + nulls[0] + nulls[1]) & left
    assert done["left"] == 0
    assert run(there.hashed, name) == rows


def test_deletes_and_manifests_are_tidied(run):
    name = "lake.db.deleted"
    layout = pr.LayoutSpec(sort_by=["id"])
    run(
        there.run_sql,
        f"CREATE TABLE {name} (id BIGINT) USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read')",
    )
    for i in range(6):
        run(there.run_sql, f"INSERT INTO {name} SELECT id FROM range({i * 100}, {i * 100 + 100})")
    run(there.run_sql, f"DELETE FROM {name} WHERE id % 10 = 0", f"DELETE FROM {name} WHERE id % 10 = 1")
    before = run(there.files, name)
    assert len(run(there.files, name, 1)) > 1
    done = run(there.optimize, name, layout)
    assert done["reasons"]["deleted rows"] == len(before)
    assert any("rewrite_manifests" in statement for statement in done["statements"])
    assert len(run(there.files, name, 1)) <= 1
    assert run(there.keys, name) == [i for i in range(600) if i % 10 > 1]
    assert run(there.optimize, name, layout)["statements"] == ()


def test_a_z_order_is_rewritten_and_a_hilbert_curve_refused(run):
    name = "lake.db.curve"
    layout = pr.LayoutSpec(zorder_by=["u", "id"], files=1)
    for first in (0, 1000, 2000):
        run(there.write, name, layout, {"rows": (first, first + 1000, "true"), "format": "iceberg"})
    done = run(there.optimize, name, layout)
    assert (len(done["picked"]), done["new_files"], done["left"]) == (3, 1, 0)
    assert "sort_order => 'zorder(u, id)'" in done["statements"][0]
    error, message = run(there.optimize, name, pr.LayoutSpec(hilbert_by=["u", "id"]))
    assert (error, message.startswith("hilbert_by: Iceberg rewrites files only along a Z-order")) == (
        "LayoutError",
        True,
    )


def test_other_partitions_than_those_of_the_table_are_refused(run):
    name = overlapping(run, "lake.db.partitions")
    error, message = run(there.optimize, name, pr.LayoutSpec(sort_by=["u"], partition_by=["days(ts)"]))
    assert error == "LayoutError"
    assert message.startswith(f"partition_by = days(ts): {name} is partitioned by day, bucket(2, id), and optimize")
    remedies = {
        layout: run(there.remedies, name, pr.LayoutSpec(sort_by=["u"], partition_by=layout))
        for layout in (("day", "bucket(2, id)"), ("s",))
    }
    assert all("prune optimize" in each for each in remedies["day", "bucket(2, id)"])
    assert all("prune write" in each for each in remedies[("s",)])
