"""If a file is replaced during planning or reading, the result has the rows of one version, or an error reports it."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import StaleListing, StaleTable
from parquet_core.storage import local

ROWS = 20_000
WHERE = "name = 'n7' AND id IN (102, 107, 112)"
# Everything that a query fetches of a file, in the order in which it does.
PURPOSES = ("footer", "index", "bloom", "dictionary", "rows")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))


def write(path, shift, rows=ROWS):
    path.write_bytes(file_of(shift, rows))


@cache
def file_of(shift, rows):
    """Return a file of one `shift`; files of two shifts have the same size, and other rows match WHERE."""
    file = pa.BufferOutputStream()
    ids = pa.array(range(rows), pa.int64())
    names = pa.array([f"n{(i + shift) % 10}" for i in range(rows)])
    pq.write_table(
        pa.table({"id": ids, "name": names}),
        file,
        write_page_index=True,
        compression="none",
        data_page_size=4_000,
        row_group_size=5_000,
        use_dictionary=["name"],
        bloom_filter_options={"id": True},
    )
    return file.getvalue().to_pybytes()


def ids(table):
    return pr.read_arrow(table, where=WHERE, columns=["id"]).column("id").to_pylist()


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t").mkdir()
    write(tmp_path / "t/0.parquet", 0)
    return tmp_path / "t"


@pytest.fixture
def replaces(monkeypatch, table):
    """A function that replaces the file just before bytes of a purpose are read, `times` times."""

    def at(purpose, times=1, rows=ROWS):
        write(table.parent / "other.parquet", 5, rows)
        left = [times]

        def hooked(real):
            def read(*given, **options):
                if options["purpose"] == purpose and left[0]:
                    left[0] -= 1
                    (table.parent / "copy").write_bytes((table.parent / "other.parquet").read_bytes())
                    (table.parent / "copy").replace(table / "0.parquet")
                return real(*given, **options)

            return read

        for name in ("read_files", "read_at_once"):
            monkeypatch.setattr(local, name, hooked(getattr(local, name)))
        return left

    return at


BEFORE, AFTER = [107], [102, 112]


def test_the_two_files_differ_in_their_rows_alone(table, tmp_path):
    (tmp_path / "other").mkdir()
    write(tmp_path / "other/0.parquet", 5)
    assert (tmp_path / "other/0.parquet").stat().st_size == (table / "0.parquet").stat().st_size
    assert (ids(table), ids(tmp_path / "other")) == (BEFORE, AFTER)


@pytest.mark.parametrize("rows", [ROWS, ROWS // 3], ids=["same size", "shorter"])
@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_query_answers_from_one_version_of_a_file(table, replaces, purpose, rows):
    left = replaces(purpose, rows=rows)
    if purpose == "rows":
        with pytest.raises(StaleTable, match=r"0\.parquet: changed since it was planned; read again"):
            ids(table)
    else:
        assert ids(table) == AFTER
    assert left == [0], "the file was replaced"
    assert ids(table) == AFTER


@pytest.mark.parametrize("purpose", PURPOSES[:-1])
def test_a_file_that_is_replaced_again_and_again_is_no_damage(table, replaces, purpose):
    replaces(purpose, times=100)
    with pytest.raises(StaleListing, match=r"0\.parquet: .*; list the table again"):
        pr.plan(table, where=WHERE)


def test_a_count_is_of_the_file_that_was_planned(tmp_path, table, replaces):
    pq.write_table(pa.table({"x": [1, 7, 9]}), table / "0.parquet")
    replaces("rows")
    pq.write_table(pa.table({"x": [1, 8, 9]}), tmp_path / "other.parquet")
    with pytest.raises(StaleTable, match="changed since it was planned"):
        pr.count(table, where="x = 7")


def test_a_file_that_was_cut_off_when_it_was_listed_is_listed_again(table, monkeypatch):
    """The writer had written half of the file at the time of the listing, and has finished since."""
    whole = (table / "0.parquet").read_bytes()
    (table / "0.parquet").write_bytes(whole[:8])
    real = local.walk

    def listed(root):
        walked = real(root)
        if walked.files[root][0].size == 8:
            (table / "0.parquet").write_bytes(whole)
        return walked

    monkeypatch.setattr(local, "walk", listed)
    assert ids(table) == BEFORE
