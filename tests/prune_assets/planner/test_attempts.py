"""A table that is overwritten during planning is planned again."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.dataset import opening
from parquet_core.errors import PruneError, StaleListing
from prune_assets.tables.parquet import table as module


def put(directory, name, numbers):
    pq.write_table(pa.table({"x": numbers}), f"{directory}/{name}.parquet")


class Overwritten:
    """Overwrites a table after each listing, at most `times` times."""

    def __init__(self, table, times):
        self.table, self.times, self.listings = table, times, 0

    def __call__(self, *named, **options):
        listed = opening.list_dataset(*named, **options)
        self.listings += 1
        if self.listings <= self.times:
            self.overwrite()
        return listed

    def overwrite(self):
        for file in Path(self.table).glob("*.parquet"):
            file.unlink()
        put(self.table, f"of-{self.listings}", [10 * self.listings])


class OverwrittenInMemory(Overwritten):
    """The same in a store that fsspec knows."""

    def overwrite(self):
        store = fsspec.filesystem("memory")
        for name in store.glob("/t/*.parquet"):
            store.rm(name)
        store_table(f"/t/of-{self.listings}.parquet", [10 * self.listings])


def store_table(path, numbers):
    with fsspec.filesystem("memory").open(path, "wb") as file:
        pq.write_table(pa.table({"x": numbers}), file)


@pytest.fixture(params=["local", "memory"])
def overwritten(request, tmp_path, monkeypatch):
    """Creates a table that is overwritten `times` times during reads."""

    def make(times):
        if request.param == "local":
            table, kind = str(tmp_path), Overwritten
            for i in range(3):
                put(table, f"old-{i}", [i])
        else:
            table, kind = "memory://t", OverwrittenInMemory
            for i in range(3):
                store_table(f"/t/old-{i}.parquet", [i])
        found = kind(table, times)
        monkeypatch.setattr(module, "list_dataset", found)
        return found

    yield make
    if request.param == "memory":
        fsspec.filesystem("memory").rm("/t", recursive=True)


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_listing_that_goes_stale_is_made_again(overwritten, times):
    table = overwritten(times)
    planned = pr.plan(table.table, where="x >= 0")
    assert table.listings == times + 1
    names = [file.path.rpartition("/")[2] for file in planned.files]
    assert names == ([f"of-{times}.parquet"] if times else [f"old-{i}.parquet" for i in range(3)])


def test_a_table_that_never_holds_still_is_given_up(overwritten):
    table = overwritten(9)
    with pytest.raises(StaleListing, match="list the table again"):
        pr.plan(table.table, where="x >= 0")
    assert table.listings == 3


def test_what_is_wrong_with_a_table_that_holds_still_is_said_at_once(tmp_path, monkeypatch):
    put(tmp_path, "a", [1])
    (tmp_path / "b.parquet").write_bytes(b"no Parquet at all")
    listed = Overwritten(str(tmp_path), 0)
    monkeypatch.setattr(module, "list_dataset", listed)
    with pytest.raises(PruneError, match=r"b\.parquet"):
        pr.plan(str(tmp_path), where="x = 1")
    assert listed.listings == 1
