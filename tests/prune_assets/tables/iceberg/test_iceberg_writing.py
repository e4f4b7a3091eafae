"""`pr.write` through the session's Iceberg catalog: one snapshot a write, with the layout, proven."""

from __future__ import annotations

import re

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from tests.prune_assets.tables.iceberg import iceberg_writes as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LAYOUT = pr.LayoutSpec(
    sort_by=["u", "k DESC"], bloom={"id": 0.01, "k": 0.01}, page_rows=1000, partition_by=["day"], files=2
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield run


def write(run, name, layout, **options):
    return run(there.write, name, layout, options)


@pytest.fixture(scope="module")
def table(run):
    """A table of one write."""
    written = write(run, "lake.db.t", LAYOUT, format="iceberg")
    assert written.rows == 10_000, written
    return "lake.db.t", written


def test_a_new_table_has_the_layout_for_all_who_write_to_it(run, table):
    name, written = table
    facts = run(there.facts, name)
    assert facts["snapshots"] == [written.version]
    assert {path for path, _, _ in facts["files"]} == set(written.files)
    assert sum(rows for _, rows, _ in facts["files"]) == written.rows
    assert {order for _, _, order in facts["files"]} == {1}
    wanted = {
        "sort-order": "u ASC NULLS FIRST, k DESC NULLS LAST",
        "write.distribution-mode": "range",
        "write.parquet.page-row-limit": "1000",
        "write.parquet.bloom-filter-enabled.column.k": "true",
        "write.parquet.row-group-size-bytes": str(32 << 20),
        "write.target-file-size-bytes": str(128 << 20),
    }
    assert facts["properties"].items() >= wanted.items()
    assert run(there.findings, name, LAYOUT) == []


def test_the_same_layout_again_changes_no_property(run):
    write(run, "lake.db.again", LAYOUT, format="iceberg")
    before = run(there.facts, "lake.db.again")
    write(run, "lake.db.again", LAYOUT, rows=(10_000, 20_000, "true"))
    after = run(there.facts, "lake.db.again")
    assert after["metadata files"] == before["metadata files"] + 1
    assert len(after["snapshots"]) == 2
    assert run(there.keys, "lake.db.again") == list(range(20_000))


@pytest.mark.parametrize(
    ("name", "options", "ids"),
    [
        ("append", {"mode": "append"}, [*range(100), *range(50, 150)]),
        ("overwrite", {"mode": "overwrite"}, list(range(50, 150))),
        ("partitions", {"mode": "replace_partitions", "where_rows": "id % 3 = 1"}, None),
        ("where", {"mode": "overwrite", "where": "day = DATE '2024-01-02'", "where_rows": "id % 3 = 1"}, None),
    ],
)
def test_each_mode_is_one_snapshot(run, name, options, ids):
    table, rows = f"lake.db.mode_{name}", options.pop("where_rows", "true")
    write(run, table, LAYOUT, rows=(0, 100, "true"), format="iceberg")
    second = write(run, table, LAYOUT, rows=(50, 150, rows), **options)
    rest = [i for i in range(100) if i % 3 != 1] + [i for i in range(50, 150) if i % 3 == 1]
    assert run(there.keys, table) == sorted(rest if ids is None else ids)
    assert run(there.facts, table)["snapshots"][-1] == second.version
    assert len(run(there.facts, table)["snapshots"]) == 2
    assert bool(second.removed) == (name != "append")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "error"}, "WrongUse: lake.db.t: this table of Iceberg exists already; pass the mode append"),
        (
            {"mode": "overwrite", "where": "day = DATE '2024-01-02'"},
            "WrongUse: lake.db.t: where does not select all rows of the data; filter its rows out",
        ),
        (
            {"mode": "overwrite", "where": "id < 10", "rows": (0, 10, "true")},
            "WrongUse: lake.db.t: where selects parts of files, or Iceberg cannot",
        ),
        (
            {"layout": pr.LayoutSpec(row_group_rows=9)},
            "LayoutError: row_group_rows: in Iceberg's writer, row groups are",
        ),
        (
            {"layout": pr.LayoutSpec(dictionary={"k": False})},
            "LayoutError: dictionary: in Iceberg's writer, a table has",
        ),
        (
            {"layout": pr.LayoutSpec(statistics_truncate_length=9)},
            "LayoutError: statistics_truncate_length: in Iceberg's writer, the bounds",
        ),
        (
            {"layout": pr.LayoutSpec(partition_by=["days(ts)"])},
            "LayoutError: partition_by = days(ts): lake.db.t is partitioned by day, and a write cannot change it",
        ),
        ({"layout": pr.LayoutSpec(sort_by=["nope"])}, "LayoutError: sort_by: no column 'nope'"),
        (
            {"options": {"fanout-enabled": "true"}},
            "LayoutError: options['fanout-enabled']: the layout sets it to false",
        ),
        ({"format": "delta"}, "WrongUse: format='delta': lake.db.t is a table of iceberg in its catalog"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_changes_nothing(run, table, options, message):
    layout = options.pop("layout", LAYOUT)
    before = run(there.facts, table[0])
    assert ": ".join(write(run, table[0], layout, **options)).startswith(message)
    assert run(there.facts, table[0]) == before


def test_partitions_by_transforms(run):
    """Empty texts and nulls are two partitions; a curve has no sort order."""
    layout = pr.LayoutSpec(zorder_by=["u", "id"], partition_by=["day(ts)", "bucket(2, id)", "truncate(2, s)"], files=2)
    written = write(run, "lake.db.parted", layout, format="iceberg")
    assert written.rows == 10_000
    assert all(re.search(r"ts_day=2023-11-\d\d/id_bucket=[01]/s_trunc=w\d/", path) for path in written.files)
    again = write(run, "lake.db.parted", layout, rows=(0, 10, "true"))
    assert again.rows == 10
    assert "sort-order" not in run(there.facts, "lake.db.parted")["properties"]
    nulls = pr.LayoutSpec(sort_by=["id"], partition_by=["s"], files=1)
    run(there.run_sql, "CREATE TABLE lake.db.texts (id BIGINT, s STRING) USING iceberg PARTITIONED BY (s)")
    assert run(there.write_texts, "lake.db.texts", nulls) == (30, 3)


def test_a_layout_without_filters_takes_back_those_of_the_one_before(run):
    write(run, "lake.db.less", LAYOUT, format="iceberg")
    write(run, "lake.db.less", pr.LayoutSpec(sort_by=["id"]))
    properties = run(there.facts, "lake.db.less")["properties"]
    assert properties["sort-order"] == "id ASC NULLS FIRST"
    assert not [name for name in properties if ".column." in name or name == "parquet.enable.dictionary"]


def test_a_failed_first_write_leaves_no_table(run):
    assert "no" in run(there.fail_while_writing, "lake.db.failed", pr.LayoutSpec(sort_by=["s"], files=1))
    assert not run(there.exists, "lake.db.failed")


def test_rows_that_others_added_meanwhile_are_not_replaced_unseen(run):
    write(run, "lake.db.raced", LAYOUT, format="iceberg")
    error, message = run(there.append_between, "lake.db.raced", LAYOUT, there.append_one)
    assert (error, message.startswith("lake.db.raced: another commit came first")) == ("CommitConflict", True)
    assert 20_000 in run(there.keys, "lake.db.raced")


def test_a_proof_that_fails_names_the_way_back(run):
    layout = pr.LayoutSpec(sort_by=["u"], files=1)
    first = write(run, "lake.db.broken", layout, format="iceberg")
    error, message = run(there.write_with_wrong_order, "lake.db.broken", layout)
    assert error == "UnprovenWrite"
    assert "rows are not sorted by u" in message
    back = message.partition("previous snapshot with ")[2]
    assert back == f"CALL `lake`.system.rollback_to_snapshot('`lake`.`db`.`broken`', {first.version})"
    run(there.run_sql, back)
    assert run(there.keys, "lake.db.broken") == list(range(10_000))


def test_a_path_is_refused_and_a_name_of_no_catalog_too(run, tmp_path):
    layout = pr.LayoutSpec(sort_by=["u"])
    for path in (str(tmp_path / "new"), "./new"):
        error, message = write(run, path, layout, format="iceberg")
        assert (error, "only its catalog writes an Iceberg table" in message) == ("UnsupportedFeature", True)
    assert write(run, "lake.db.new", layout)[0] == "TableNotFound"
