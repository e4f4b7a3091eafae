from __future__ import annotations

from pathlib import Path

import pytest

from parquet_core.errors import WrongUse
from prune_assets.tables.catalogs.names import PREFIXES, is_name, may_be_of_session
from prune_assets.tables.catalogs.resolve import CATALOGS, catalog_entry
from prune_assets.tables.uri import table_uri


def test_each_catalog_has_its_prefix():
    assert set(CATALOGS) == PREFIXES


@pytest.mark.parametrize(
    ("table", "named", "by_session"),
    [
        ("lake.db.orders", True, True),
        ("lake.`my-db`.orders", True, True),
        ("iceberg:lake.db.orders", True, False),
        ("orders", False, False),
        ("orders.parquet", False, False),
        ("orders-2024.01", False, False),
        ("s3://lake/db.orders", False, False),
        ("./db.orders", False, False),
        (Path("db.orders"), False, False),
    ],
)
def test_a_name_is_no_path(table, named, by_session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (is_name(table), may_be_of_session(table)) == (named, by_session)
    assert (table_uri(table) == table) == (named or "://" in str(table))


def test_what_is_there_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "db.orders").mkdir()
    assert not is_name("db.orders")
    assert table_uri("db.orders") == f"file://{tmp_path}/db.orders"


@pytest.mark.parametrize("table", [None, 5, {"a": 1}])
def test_what_is_neither_a_path_nor_a_name_is_refused(table):
    with pytest.raises(WrongUse, match=r"is not a table: give the path or name of a table"):
        catalog_entry(table)
