"""Tables in the session's catalogs: Iceberg reads only the files that the plan keeps, and returns the same rows."""

from __future__ import annotations

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from tests.prune_assets.tables.iceberg import spark_with_iceberg as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = "SELECT id, concat('s', id % 50) AS s, id % 3 AS part FROM range({}, {})"
PREDICATES = [
    "true",
    "id = 205",
    "id BETWEEN 190 AND 210",
    "s = 's7' AND id > 100",
    "part = 1 AND id < 50 OR id = 399",
    "id % 100 = 5",
    "s IS NULL",
    "s LIKE 's1%' AND NOT id > 250",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield run


def made(run, name, version=2, by="", more=()):
    """Four commits of a hundred rows each, statements after the second one."""
    run(
        there.run_sql,
        f"CREATE TABLE lake.db.{name} (id BIGINT, s STRING, part BIGINT) USING iceberg {by} "
        f"TBLPROPERTIES ('format-version'='{version}', {there.MODES})",
        *(f"INSERT INTO lake.db.{name} {ROWS.format(i * 100, i * 100 + 100)}" for i in range(2)),
        *(statement.format(f"lake.db.{name}") for statement in more),
    )
    columns = run(there.columns_of, f"lake.db.{name}")
    rest = ", NULL" * (len(columns) - 3)
    run(
        there.run_sql,
        *(
            f"INSERT INTO lake.db.{name} SELECT *{rest} FROM ({ROWS.format(i * 100, i * 100 + 100)})"
            for i in range(2, 4)
        ),
    )
    return f"lake.db.{name}"


@pytest.fixture(scope="module")
def selected(run):
    name = made(run, "selected")
    run(there.run_sql, f"ALTER TABLE {name} CREATE TAG x")
    return name


def check(results):
    for where, ours, theirs, _, surviving, total in results:
        assert ours == theirs, where
        assert surviving <= total
    assert any(ours for _, ours, *_ in results)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_are_those_of_iceberg(run, version):
    name = made(run, f"plain{version}", version, "PARTITIONED BY (part)")
    results = run(there.by_name, name, PREDICATES)
    check(results)
    by_predicate = {where: each for where, *each in results}
    assert by_predicate["id = 205"][3:] == [3, 12]
    assert by_predicate["true"][2] == {"SparkBatchQueryScan"}


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_of_positions_are_iceberg_s(run, version):
    """Deletion vectors in version 3."""
    name = made(run, f"deleted{version}", version, more=["DELETE FROM {} WHERE id IN (5, 105, 107)"])
    check(run(there.by_name, name, PREDICATES))


def test_equality_deletes_are_iceberg_s(run):
    name = made(run, "equality")
    run(there.with_equality_deletes, name, "s", ["s5", "s49"])
    results = run(there.by_name, name, [*PREDICATES, "s IN ('s5', 's6')"])
    check(results)
    by_predicate = {where: each for where, *each in results}
    assert by_predicate["id = 205"][0] == []
    assert len(by_predicate["true"][0]) == 384


def test_schema_and_spec_may_evolve(run):
    more = [
        "ALTER TABLE {} ADD COLUMN more STRING",
        "ALTER TABLE {} RENAME COLUMN s TO text",
        "ALTER TABLE {} RENAME COLUMN text TO s",
        "ALTER TABLE {} ADD PARTITION FIELD bucket(4, id)",
        "DELETE FROM {} WHERE id = 7",
    ]
    name = made(run, "evolved", more=more)
    check(run(there.by_name, name, [*PREDICATES, "more IS NULL AND id < 20"]))
    # The snapshot is older than the schema now.
    run(there.run_sql, f"ALTER TABLE {name} RENAME COLUMN s TO t", f"ALTER TABLE {name} ADD COLUMN last INT")
    check(run(there.by_name, name, ["t = 's7'", "id = 205", "last IS NULL AND id < 5", "true"]))


def test_exactly_the_kept_files_are_staged(run):
    """The string ranges of the files overlap, so bounds exclude none of them."""
    name = "lake.db.staged"
    run(
        there.run_sql,
        f"CREATE TABLE {name} (id BIGINT, s STRING) USING iceberg",
        *(
            f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, concat('s', id % 10 * 10 + {i}) FROM range(100, 200)"
            for i in range(4)
        ),
    )
    (result,) = run(there.by_name, name, ["s = 's52'"])
    where, ours, theirs, scans, surviving, total = result
    assert (ours, len(ours), surviving, total) == (theirs, 10, 1, 4), where
    assert scans == {"SparkStagedScan"}


def test_a_version_is_read_as_it_was(run):
    name = made(run, "versions", more=["ALTER TABLE {} ADD COLUMN more STRING", "DELETE FROM {} WHERE id < 20"])
    for version in run(there.snapshots, name):
        ours, theirs, alike = run(there.rows_of_version, name, version)
        assert ours == theirs
        assert alike


def test_what_is_committed_later_is_not_read(run):
    name = made(run, "later")
    assert run(there.kept_while_written, name, "id >= 0") == 400


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ("branch_main", "give version= with the snapshot that {}.refs has for main"),
        ("tag_x", "give version= with the snapshot that {}.refs has for x"),
        ("snapshot_id_5", "give version=5"),
        ("at_timestamp_1700000000000", "give timestamp= with the time that 1700000000000 ms are"),
    ],
)
def test_names_of_snapshots_are_refused_by_what_asks_for_them_here(run, selected, part, instead):
    """For a missing snapshot, Spark's own exception used to be raised."""
    expected = f"UnsupportedFeature: {selected}.{part}: names a snapshot of a table; name {selected} and "
    assert run(there.said, f"{selected}.{part}") == expected + instead.format(selected)
    assert "whose main branch is written" in run(there.said_to_write, f"{selected}.{part}")


def test_a_table_may_be_called_as_a_branch_is(run):
    run(there.run_sql, "CREATE TABLE lake.db.branch_x (id BIGINT) USING iceberg")
    assert run(there.said, "lake.db.branch_x") is None
