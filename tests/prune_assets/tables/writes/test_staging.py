from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import MalformedFile, WrongUse
from parquet_core.storage import list_data_files
from prune_assets.tables.writes.staging import prove, staging_directory


def put(path, rows=3):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": range(rows)}), path)
    return path


def test_what_is_staged_is_hidden_from_readers(tmp_path):
    put(tmp_path / "t" / "old.parquet")
    with staging_directory(tmp_path / "t") as stage:
        put(stage / "new.parquet")
        assert [file.path for file in list_data_files(tmp_path / "t")] == [str(tmp_path / "t" / "old.parquet")]
    assert not stage.exists()


def test_directories_made_for_nothing_are_removed(tmp_path):
    with pytest.raises(ZeroDivisionError), staging_directory(tmp_path / "a" / "b") as stage:  # noqa: PT012 - one block is tested
        put(stage / "new.parquet")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_was_there_stays_when_it_is_empty(tmp_path):
    (tmp_path / "t").mkdir()
    with staging_directory(tmp_path / "t"):
        pass
    assert (tmp_path / "t").is_dir()


def test_a_file_is_not_a_table(tmp_path):
    (tmp_path / "t").write_text("")
    with pytest.raises(WrongUse, match="is a file"), staging_directory(tmp_path / "t"):
        pass


def test_prove_counts_rows_and_sorts_by_name(tmp_path):
    put(tmp_path / "b.parquet", 2)
    put(tmp_path / "a.parquet", 1)
    assert [(file.path.name, file.rows, file.row_groups) for file in prove(tmp_path, rows=3)] == [
        ("a.parquet", 1, 1),
        ("b.parquet", 2, 1),
    ]


def test_prove_refuses_missing_rows(tmp_path):
    put(tmp_path / "a.parquet", 1)
    with pytest.raises(
        MalformedFile, match="Spark reports 2 rows written, but the files hold 1; nothing was committed"
    ):
        prove(tmp_path, rows=2)


def test_prove_refuses_a_file_that_is_cut_off(tmp_path):
    path = put(tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(MalformedFile, match="footer cannot be read"):
        prove(tmp_path, rows=3)
