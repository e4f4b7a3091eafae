"""Tables that a REST catalog of Iceberg has, by `iceberg:catalog.database.table` and pyiceberg's configuration."""

from __future__ import annotations

import json

import iceberg_rest
import pyarrow as pa
import pytest

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.utils.config import Config

from prune_assets.cli import main

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a catalog with a table of two snapshots."""
    with iceberg_rest.rest_catalog(tmp_path_factory.mktemp("rest")) as address:
        catalog = RestCatalog("rest", uri=address)
        catalog.create_namespace("db")
        rows = pa.table({"id": pa.array(range(1000), pa.int64())})
        table = catalog.create_table("db.t", schema=rows.schema)
        table.append(rows)
        table.append(rows.slice(0, 10))
        yield address


@pytest.fixture
def prune(monkeypatch, capsys):
    """Runs a command and returns its stdout, or its stderr if it fails."""

    def run(address, *arguments, code=0):
        for variable, value in iceberg_rest.environment("rest", address).items():
            monkeypatch.setenv(variable, value)
        # It reads them once, when it is imported.
        monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
        monkeypatch.setattr("sys.argv", ["prune", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.err
        return printed.out if code == 0 else printed.err

    return run


@pytest.mark.parametrize("name", ["iceberg:rest.db.t", "rest.db.t"])
def test_commands_find_a_table_of_a_rest_catalog(prune, address, name):
    """The plain name works too; a session writes by that name."""
    assert prune(address, "count", name).strip() == "1,010"
    assert prune(address, "count", name, "--where", "id < 5").strip() == "10"
    assert json.loads(prune(address, "inspect", name, "--json"))["kind"] == "iceberg"
    assert "healthy" in prune(address, "check", name)
    report = json.loads(prune(address, "explain", name, "--where", "id > 500", "--json"))
    assert (report["table"], report["kept"]["files"], report["total"]["files"]) == (name, 1, 2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "set PYICEBERG_CATALOG__LAKE__URI"),
        ({"TYPE": "rest"}, "URI missing"),
        ({"TYPE": "rust"}, "'rust' is not a valid CatalogType"),
        ({"URI": "nonsense"}, "nonsense"),
        ({"TYPE": "glue"}, "region"),
    ],
)
def test_a_catalog_without_configuration_is_wrong_use(prune, address, clean_environment, settings, said):
    for name, value in settings.items():
        clean_environment.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    line = prune(address, "count", "iceberg:lake.db.t", code=2)
    assert line.startswith("error: iceberg:lake.db.t: the catalog is not configured (")
    assert said in line


def test_what_the_catalog_lacks_and_a_server_that_is_not_there_are_named(prune, address):
    assert "iceberg:rest.db.no: the catalog has no such table" in prune(address, "count", "rest.db.no", code=2)
    gone = "http://127.0.0.1:1"
    assert "iceberg:rest.db.t: the catalog does not answer" in prune(gone, "count", "rest.db.t", code=3)
    assert "without a Spark session" in prune(address, "count", "other.db.t", code=2)
