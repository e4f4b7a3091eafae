"""In a session with Delta's extension and catalog, all functions work, and both sides read each other's tables."""

from __future__ import annotations

import pytest
import spark_packages

from tests.prune_assets.spark import beside_other_formats as there
from tests.prune_assets.spark.beside_other_formats import check_all_functions, check_same

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # The number of tasks with which VACUUM lists files; the default is 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
CREATED = f"CREATE TABLE {{name}} ({there.COLUMNS}) USING {{format}} PARTITIONED BY (day)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("warehouse")
    with spark_packages.process_with(spark_packages.DELTA, SETTINGS, place) as run:
        yield run


@pytest.fixture(scope="module")
def table(run):
    """A table that was created by Delta and written by this package, by its name."""
    run(there.run_sql, CREATED.format(name="shared", format="delta"))
    run(there.written, "shared")
    return "shared"


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_all_functions_work_by_path(run, tmp_path, table_format):
    check_all_functions(run(there.all_functions, str(tmp_path / "t"), table_format))


@pytest.mark.parametrize(("table_format", "name"), [("parquet", "default.plain"), ("delta", "spark_catalog.default.d")])
def test_all_functions_work_by_name(run, table_format, name):
    create = CREATED.format(name=name, format=table_format)
    check_all_functions(run(there.all_functions, name, table_format, create))


def test_delta_reads_every_version_of_this_package(run, tmp_path):
    found = run(there.versions, str(tmp_path / "t"))
    assert [len(ours) for ours, _ in found] == [500, 1000, 820, 820, 820, 820, 819, 819]
    check_same(found)


CHANGES = [
    (
        "INSERT INTO {table} SELECT id + 1000, user, word, day FROM {table} WHERE id < 50",
        "UPDATE {table} SET word = 'w1x' WHERE user = 5",
        "DELETE FROM {table} WHERE id % 10 = 7",
        (
            "MERGE INTO {table} t USING (SELECT * FROM {table} WHERE id < 20) s ON t.id = s.id + 5 "
            "WHEN MATCHED THEN UPDATE SET user = 1 WHEN NOT MATCHED THEN INSERT *"
        ),
    ),
    (
        "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {table} WHERE id % 10 = 3 AND day > DATE '2024-01-02'",
        "UPDATE {table} SET user = 6 WHERE id = 5",
    ),
    ("OPTIMIZE {table} ZORDER BY (id)",),
    ("DELETE FROM {table} WHERE user = 21", "REORG TABLE {table} APPLY (PURGE)", "VACUUM {table} RETAIN 0 HOURS"),
]
# The files keep the old names.
RENAMES = [
    (
        (
            "ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
            "'delta.minReaderVersion' = '3', 'delta.minWriterVersion' = '7')"
        ),
        "ALTER TABLE {table} RENAME COLUMN word TO said",
    ),
    (
        "ALTER TABLE {table} ADD COLUMN word STRING",
        "UPDATE {table} SET word = 'w15' WHERE user < 9",
        "ALTER TABLE {table} DROP COLUMN said",
    ),
]


@pytest.mark.parametrize("steps", [CHANGES, RENAMES], ids=["rows", "columns"])
def test_delta_goes_on_writing_what_this_package_wrote(run, table, steps):
    for statements, pairs in zip(steps, run(there.read_between, table, steps), strict=True):
        for ours, theirs in pairs:
            assert ours == theirs, statements[-1]
            assert ours, statements[-1]
    check_same(run(there.written_after, table))
