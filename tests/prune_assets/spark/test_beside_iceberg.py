"""In a session with Iceberg's extensions, plain and Delta tables work as usual, and Iceberg tables by path."""

from __future__ import annotations

import pytest
import spark_packages

from tests.prune_assets.spark import beside_other_formats as there
from tests.prune_assets.spark.beside_other_formats import check_all_functions

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("iceberg")


@pytest.fixture(scope="module")
def run(place):
    settings = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hadoop",
        "spark.sql.catalog.spark_catalog.warehouse": str(place / "of_session"),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(place / "lake"),
    }
    with spark_packages.process_with(spark_packages.ICEBERG, settings, place / "warehouse") as run:
        run(
            there.run_sql,
            "CREATE TABLE lake.db.t (id BIGINT) USING iceberg",
            "CREATE TABLE lake.one.two.t (id BIGINT) USING iceberg",
            "CREATE TABLE default.of_session (id BIGINT) USING iceberg",
            "INSERT INTO lake.db.t VALUES (1), (2)",
            "INSERT OVERWRITE lake.db.t VALUES (3)",
        )
        yield run


@pytest.mark.parametrize("catalog", ["spark_catalog", "lake"])
@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_all_functions_work_by_path(run, tmp_path, table_format, catalog):
    """This holds for every current catalog."""
    run(there.run_sql, f"USE {catalog}")
    try:
        check_all_functions(run(there.all_functions, str(tmp_path / "t"), table_format))
    finally:
        run(there.run_sql, "USE spark_catalog")


def test_all_functions_work_by_name(run):
    create = f"CREATE TABLE default.plain ({there.COLUMNS}) USING parquet PARTITIONED BY (day)"
    check_all_functions(run(there.all_functions, "default.plain", "parquet", create))


@pytest.mark.parametrize("name", ["lake.db.t", "default.of_session", "lake.one.two.t"])
def test_a_table_of_iceberg_is_written_and_read_by_its_name(run, name):
    """This works for every catalog and every depth of the namespace."""
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    before = [] if name != "lake.db.t" else [("3",)]
    assert run(there.rows_of_read, name) == before
    run(there.append_ids, name, 4, 6)
    try:
        assert run(there.rows_of_read, name) == [*before, ("4",), ("5",)]
    finally:
        run(there.run_sql, f"DELETE FROM {name} WHERE id > 3")


def test_a_metadata_table_is_refused_by_its_name(run):
    for function, refused in run(there.refusals, "lake.db.t.files").items():
        assert refused is not None, function
        assert refused[0] == "UnsupportedFeature", function
        assert refused[1].startswith("lake.db.t.files: the catalog lists it as iceberg, but shows no metadata"), (
            function
        )


def test_a_table_of_iceberg_is_read_by_its_path_and_not_written(run, place):
    """Rows of replaced versions are not returned."""
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    table = place / "lake" / "db" / "t"
    before = sorted(table.rglob("*"))
    assert run(there.rows_of_read, str(table)) == [("3",)]
    said = run(there.refusals, str(table))
    assert {name for name, why in said.items() if why is None} == {"read", "plan", "audit"}
    assert "only its catalog writes an Iceberg table; use the table's name in the session" in said["write"][1]
    assert "only its catalog writes an Iceberg table; use the table's name in the session" in said["optimize"][1]
    assert "is a table of Iceberg" in said["write Delta"][1]
    assert sorted(table.rglob("*")) == before
