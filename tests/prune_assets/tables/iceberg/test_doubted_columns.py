"""Columns by which Iceberg skips rows that Spark selects, as NaN is greater than all: by name they are read."""

from __future__ import annotations

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from tests.prune_assets.tables.iceberg import spark_with_iceberg as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

NAN = "double('NaN')"
FILES = [["1", "2", NAN], [NAN], ["6", "7"], ["-0.0D"], ["0.0D"], ["1", "NULL"], ["-0.0D", "0.0D"], ["-1", "-2"]]
OF_FLOATS = [
    "x > 5",
    "x >= 5",
    "NOT x < 5",
    f"x BETWEEN 5 AND {NAN}",
    "x > 5 AND k >= 0",
    "k < 15 AND x > 5",
    "coalesce(x > 5, false)",
    "x = 0",
    "x = -0.0D",
    "x >= 0",
    "x IN (0, 7)",
    "x <=> 0.0D",
    "x != 0",
    "x < 0.0D",
    "k % 3 = x",
]
# Which neither NaN nor a zero is in the way of: Iceberg skips by them.
TRUSTED = ["x < 5", "x = 6", "x BETWEEN 1 AND 6", "x IN (1, 7)", "x IS NULL", "NOT x > 5 AND k > 0", "x < 2 OR x = 7"]
UUIDS = [f"{head}-0000-0000-8000-000000000001" for head in ("00000000", "7fffffff", "80000000", "ffffffff")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield run


@pytest.fixture(scope="module", params=["DOUBLE", "FLOAT", "DOUBLE in partitions"])
def floats(run, request):
    type_name, _, partitioned = request.param.partition(" ")
    name = f"lake.db.{request.param.lower().replace(' ', '_')}"
    by = "PARTITIONED BY (x)" if partitioned else ""
    rows = [[f"({10 * i + j}, cast({x} AS {type_name}))" for j, x in enumerate(file)] for i, file in enumerate(FILES)]
    statements = [f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(file)}" for file in rows]
    run(there.run_sql, f"CREATE TABLE {name} (k BIGINT, x {type_name}) USING iceberg {by}", *statements)
    return name


def check(results, *, unlike=()):
    """Hold rows by name against Spark's; of the predicates `unlike` Iceberg itself loses some, or nothing is shown."""
    for where, right, ours, _ in results:
        assert ours == right, where
    assert {where for where, right, _, theirs in results if theirs != right} >= set(unlike)


def test_rows_of_floats_are_spark_s(run, floats):
    results = run(there.held_against_spark, floats, OF_FLOATS)
    check(results, unlike=["x > 5", "x = 0", "x >= 0", "k < 15 AND x > 5"])


def test_a_condition_as_a_column_selects_what_its_text_does(run, floats):
    check(run(there.held_against_spark, floats, OF_FLOATS, {"as_columns": True}))


def test_rows_of_a_version_are_spark_s(run, floats):
    """Files of an older snapshot are not staged: what Iceberg may not see is held back."""
    (first, *_, before, _) = run(there.snapshots, floats)
    for version in (first, before):
        check(run(there.held_against_spark, floats, OF_FLOATS, {"version": version}))


def test_rows_of_too_many_files_are_spark_s(run, floats):
    check(run(there.held_against_spark, floats, OF_FLOATS, {"most_tasks": 0}))


def test_iceberg_skips_by_what_selects_neither_nan_nor_zero(run, floats):
    check(run(there.held_against_spark, floats, TRUSTED))
    assert run(there.doubted, floats, [*TRUSTED, "x > 5", "x = 0 AND k = 1", "length(x) > k"]) == [[]] * 7 + [["x"]] * 3


def test_a_default_is_not_taken_for_nulls(run):
    run(there.run_sql, "CREATE TABLE lake.db.filled (k BIGINT) USING iceberg TBLPROPERTIES ('format-version'='3')")
    run(there.run_sql, "INSERT INTO lake.db.filled VALUES (1), (2)")
    run(there.with_initial_default, "lake.db.filled", "a", 5)
    run(there.run_sql, "INSERT INTO lake.db.filled VALUES (3, 7), (4, 5)")
    results = run(
        there.held_against_spark, "lake.db.filled", ["a = 5", "a IS NOT NULL", "a > 4 AND k = 1", "a IS NULL"]
    )
    check(results, unlike=["a = 5"])


def test_uuids_are_compared_as_texts(run):
    run(there.make_with_uuids, "lake.db.uuids", UUIDS)
    wheres = [f"u {op} '{value}'" for op in ("=", "<", ">", "<=", ">=") for value in UUIDS]
    check(run(there.held_against_spark, "lake.db.uuids", wheres), unlike=[f"u > '{UUIDS[0]}'"])
