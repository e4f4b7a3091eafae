"""Pipes, sockets and devices are refused by name without waiting; patterns are matched in linear time."""

from __future__ import annotations

import fnmatch
import os
import socket
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.errors import StorageFailure, UnsupportedFeature
from parquet_core.storage import DataFile, Ranges, Traffic, find_file, gather, list_data_files, look_up, read_range
from parquet_core.storage.globs import pattern_of


@pytest.fixture(params=["pipe", "socket", "device"])
def irregular(request, tmp_path):
    path = tmp_path / "a.parquet"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to("/dev/zero")
    return path


def ask_for(path):
    """Return all functions that access a path: as a table, a pattern, a file in a log, and a log file."""
    return [
        lambda: list_data_files(path),
        lambda: list_data_files(f"{path.parent}/*.parquet"),
        lambda: look_up([str(path)]),
        lambda: find_file(str(path)),
    ]


@pytest.mark.parametrize("way", range(4))
def test_what_is_no_regular_file_is_named(irregular, way):
    with pytest.raises(StorageFailure, match="is a pipe, a socket or a device; only regular files are read"):
        ask_for(irregular)[way]()


def test_in_a_directory_it_is_an_empty_file(irregular):
    pq.write_table(pa.table({"x": [1]}), irregular.parent / "b.parquet")
    assert [file.path for file in list_data_files(irregular.parent)] == [str(irregular.parent / "b.parquet")]


def read_alone(file):
    return read_range(file, 0, 10, purpose="footer", traffic=Traffic())


def read_with_others(file):
    ranges = Ranges(np.array([0]), np.array([0]), np.array([10]))
    return gather([file], ranges, counts=[1], purpose="footer", traffic=Traffic())


@pytest.mark.parametrize("read", [read_alone, read_with_others])
def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(StorageFailure):
        read(DataFile(str(tmp_path / "a"), 100, 0))


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 100 + "b", "{*a,*aa,*}" * 6 + "b", "*" * 5_000 + "b", "[" * 5_000, "*[ab]" * 60 + "c", "*?" * 120],
)
def test_a_pattern_is_matched_soon(pattern):
    start = time.process_time()
    made = pattern_of(pattern)
    assert made.fullmatch("a" * 250) is None or pattern.endswith("?")
    assert time.process_time() - start < 2


def test_braces_that_multiply_are_refused():
    with pytest.raises(UnsupportedFeature, match="too many paths"):
        pattern_of("{a,b}" * 40)


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "[!a]"]), max_size=9).map("".join),
    st.text("abc", max_size=12),
)
def test_patterns_match_what_those_of_a_shell_do(pattern, name):
    assert (pattern_of(pattern).fullmatch(name) is not None) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("name", "matches"), [("xae", True), ("xbce", True), ("xbd99e", True), ("xbe", False), ("xce", False)]
)
def test_braces_inside_of_braces(name, matches):
    assert (pattern_of("x{a,b{c,d*}}e").fullmatch(name) is not None) == matches
