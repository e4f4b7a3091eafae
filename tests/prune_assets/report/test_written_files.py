"""Files that commands write are replaced atomically; errors use the path that the user gave."""

from __future__ import annotations

import pytest

from parquet_core.errors import WrongUse
from prune_assets.report.output import write_whole


def test_a_file_is_written(tmp_path):
    write_whole(tmp_path / "a", "x")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "x")]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(WrongUse, match=f"^{tmp_path}/no/a: the directory {tmp_path}/no does not exist; create it"):
        write_whole(tmp_path / "no" / "a", "x")


def test_what_cannot_be_replaced_is_named_by_the_file(tmp_path):
    """The error does not name the hidden temporary file, which is removed."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="directory") as raised:
        write_whole(tmp_path / "a", "x")
    assert raised.value.filename == str(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
