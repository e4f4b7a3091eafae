"""`prune history` of tables of Iceberg, by path and by name."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

from prune_assets.cli import main

pytest.importorskip("pyiceberg")
from tests.prune_assets.tables.iceberg.iceberg_tables import catalog_in, configure, folder


@pytest.fixture
def orders(tmp_path, monkeypatch):
    """A table of two snapshots, in a catalog that pyiceberg is configured for."""
    configure(monkeypatch, "tests", tmp_path)
    table = catalog_in(tmp_path).create_table("db.orders", schema=pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3]}))
    return table


def history(*arguments):
    return CliRunner().invoke(main, ["history", *map(str, arguments)])


@pytest.mark.parametrize("name", ["iceberg:tests.db.orders", "tests.db.orders", "path"])
def test_lists_the_snapshots_newest_first(name, orders):
    lines = history(folder(orders) if name == "path" else name).output.splitlines()
    ids = [str(snapshot.snapshot_id) for snapshot in reversed(orders.metadata.snapshots)]
    assert [line.split()[0] for line in lines if "append" in line] == ids
    assert "added-records=1" in "".join(lines)


def test_as_json(orders):
    output = json.loads(history("tests.db.orders", "--json", "--limit", "1").output)
    (version,) = output["versions"]
    assert version["version"] == orders.metadata.current_snapshot_id
    assert version["timestamp"] == orders.metadata.snapshots[-1].timestamp_ms
    assert version["info"]["operation"] == "append"


def test_a_name_that_no_catalog_has_is_one_line(orders):
    done = history("tests.db.nothing")
    assert done.exit_code == 2
    assert "nothing" in done.stderr
    assert "no such file" not in done.stderr
    assert done.stderr.count("\n") == 1
