"""Values in newer versions of the format: decoded if Arrow supports them, otherwise refused in one line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from newer_format import change_metadata, drop_paths, encode_pages, extend_footer, retype_pages
from slow_thrift import BINARY, I32, LIST

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.storage import find_file
from parquet_core.values import open_values

ROWS = pa.table(
    {
        "x": [float(i) for i in range(400)],
        "s": [{"a": i, "b": f"b{i:03}"} for i in range(400)],
        "l": [[i, i] for i in range(400)],
    }
)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "0.parquet"
    pq.write_table(ROWS, found, row_group_size=100, use_dictionary=False)
    return found


def rows(path, columns=("x", "s", "l")):
    with open_values(find_file(str(path))) as values:
        return pa.Table.from_batches(values.batches(values.row_groups, columns))


@pytest.mark.parametrize("columns", [[0], [2, 3], [0, 1, 2, 3]])
def test_arrow_decodes_chunks_without_a_path(path, columns):
    drop_paths(path, columns)
    with pytest.raises(OSError, match="deserialize thrift"):
        pq.read_table(path)
    assert rows(path) == ROWS


def test_arrow_decodes_chunks_with_an_empty_path(path):
    change_metadata(path, 1, 3, LIST, (BINARY, []))
    assert rows(path) == ROWS


def test_a_footer_that_arrow_does_not_read_for_another_reason_is_still_refused(path):
    drop_paths(path, [0])
    change_metadata(path, 1, 5, BINARY, b"no number")
    with pytest.raises((MalformedFile, UnsupportedFeature)):
        rows(path)


def test_an_extension_of_the_footer_is_passed_over(path):
    extend_footer(path, b"another footer" * 100)
    assert rows(path) == ROWS


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(("encoding", "name"), [(10, r"encoding 10 \(ALP\)"), (11, "encoding 11"), (40, "encoding 40")])
def test_an_encoding_to_come_is_named_where_its_values_are_read(tmp_path, encoding, name, version):
    path = tmp_path / "0.parquet"
    pq.write_table(ROWS, path, row_group_size=100, use_dictionary=False, data_page_version=version)
    encode_pages(path, 0, encoding)
    with pytest.raises(UnsupportedFeature, match=f"row group 0, column x: {name} is not supported") as raised:
        rows(path)
    assert "\n" not in str(raised.value)
    assert rows(path, ["s", "l"]) == ROWS.select(["s", "l"])


def test_pages_of_a_type_to_come_are_named_where_they_hold_the_values(path):
    retype_pages(path, 0, 4)
    with pytest.raises(UnsupportedFeature, match="column x: page type 4 is not supported"):
        rows(path)
    assert rows(path, ["l"]) == ROWS.select(["l"])


def test_a_codec_to_come_is_named(path):
    change_metadata(path, 0, 4, I32, 8)
    with pytest.raises(UnsupportedFeature, match="column x: compression codec 8 is not read"):
        rows(path)
    assert rows(path, ["s"]) == ROWS.select(["s"])
