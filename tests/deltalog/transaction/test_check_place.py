"""A new table among plain Parquet files would hide their rows and vacuum would delete them: it is refused."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltalog.errors import RefusedCommit
from deltalog.transaction.check_place import check_place

ROWS = pa.table({"id": [1, 2, 3]})
CUT_OFF = f"write-{'0f' * 16}"


def put(path, data=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        pq.write_table(data, path)


@pytest.mark.parametrize("name", ["a.parquet", "day=2024-01-01/part-00000-1.c000.snappy.parquet", "000000_0"])
def test_plain_files_are_not_written_beside(tmp_path, name):
    place = tmp_path / "t"
    put(place / name)
    with pytest.raises(RefusedCommit) as caught:
        check_place(str(place))
    message = str(caught.value)
    assert message.startswith(f"{place}: holds 1 Parquet file that no Delta log references (such as {name});")
    assert f"`prune write {place} NEW --layout LAYOUT --format delta`" in message
    assert "CONVERT TO DELTA" in message
    assert [path.name for path in place.rglob("*") if path.is_file()] == [name.rpartition("/")[2]]


def test_a_log_without_a_commit_does_not_make_them_its_own(tmp_path):
    put(tmp_path / "a.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(RefusedCommit, match="holds 1 Parquet file "):
        check_place(str(tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        f"{CUT_OFF}/day=2024-01-01/part-0.parquet",
        f"{CUT_OFF}/_temporary/0/part-0.parquet",
        f"day=2024-01-01/{CUT_OFF}.parquet",
        "_hidden/a.parquet",
        ".a.parquet",
    ],
)
def test_what_a_write_that_was_cut_off_left_and_hidden_files_are_passed_over(tmp_path, name):
    put(tmp_path / name)
    check_place(str(tmp_path))


@pytest.mark.parametrize("name", ["layout.yaml", "README", "empty"])
def test_other_files_are_passed_over(tmp_path, name):
    put(tmp_path / name, b"" if name == "empty" else b"sort_by: [id]")
    check_place(str(tmp_path))
