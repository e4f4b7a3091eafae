"""Directories are listed alike with the compiled calls and without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parquet_core.errors import PruneError
from parquet_core.storage import list_data_files, local

pytestmark = pytest.mark.skipif(local.system_calls is None, reason="there was no compiler, or no POSIX")


@pytest.fixture(params=["compiled", "python"])
def form(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(local, "system_calls", None)
    return request.param


def in_both_forms(do, monkeypatch):
    """Return what is made with the compiled calls and without them: the values, or the error."""
    answers = []
    for calls in (local.system_calls, None):
        monkeypatch.setattr(local, "system_calls", calls)
        try:
            answers.append(do())
        except PruneError as error:
            answers.append((type(error), str(error)))
    return answers


def tree(root, count=3):
    names = [*(f"part-{i}.parquet" for i in range(count)), "é.parquet", "_SUCCESS", ".crc", "x._COPYING_", "_day=1/a"]
    for name in names:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
    (root / "empty").mkdir()
    (root / "nothing.parquet").touch()
    # A name that is no text.
    (root / os.fsdecode(b"\xff.parquet")).write_bytes(b"1")


@pytest.mark.parametrize("count", [0, 3, 300])
def test_a_directory_is_listed_alike(tmp_path, monkeypatch, count):
    tree(tmp_path, count)
    (tmp_path / "linked.parquet").symlink_to(tmp_path / "é.parquet")
    (tmp_path / "_day=1" / "up").symlink_to(tmp_path / "empty")
    compiled, plain = in_both_forms(lambda: list_data_files(tmp_path), monkeypatch)
    assert compiled == plain
    assert len(compiled) == count + 4
    assert {type(file) for file in compiled} == {type(plain[0])}


@pytest.mark.parametrize("target", ["nowhere", "loop"])
def test_a_link_that_leads_nowhere_is_the_same_error(tmp_path, monkeypatch, target):
    tree(tmp_path)
    (tmp_path / "loop").symlink_to(target)
    compiled, plain = in_both_forms(lambda: list_data_files(tmp_path), monkeypatch)
    assert compiled == plain
    assert str(tmp_path / "loop") in plain[1]


def test_a_directory_is_listed_from_its_beginning_each_time(tmp_path, form):
    tree(tmp_path)
    assert list_data_files(tmp_path) == list_data_files(tmp_path)


def test_no_descriptor_is_left_open(tmp_path, form):
    tree(tmp_path)
    (tmp_path / "z").symlink_to("nowhere")
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(PruneError):
        list_data_files(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before
