from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog.log.paths import canonical_path, canonical_paths, is_absolute, resolve


@given(st.lists(st.text(alphabet="abé%20F:/+\U0001f600", max_size=12)))
def test_many_paths_are_read_as_one_is(paths):
    assert canonical_paths(pa.array(paths, pa.string())).to_pylist() == [canonical_path(path) for path in paths]


def test_paths_are_decoded_exactly_once():
    paths = ["p=a%2520b/x", "a+b", "100%", "%C3%A9", "%e9", "a%2", "FILE:/x%20y", "file://host/x"]
    assert canonical_paths(pa.array(paths, pa.string())).to_pylist() == [
        "p=a%20b/x",
        "a+b",
        "100%",
        "é",
        "\ufffd",
        "a%2",
        "/x y",
        "/x",
    ]


def test_a_slice_of_paths_is_decoded_as_such():
    paths = pa.array(["%20", "a%20b", "c"])[1:]
    assert canonical_paths(paths).to_pylist() == ["a b", "c"]


@pytest.mark.parametrize("path", ["/a", "s3://b/a", "abfss://c@h/a", "hdfs:/a"])
def test_what_is_absolute_stays_where_it_is(path):
    assert is_absolute(path)
    assert resolve("/table", path) == path
