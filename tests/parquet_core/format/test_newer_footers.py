"""Footers in newer versions of the format are read or refused by name, and never reported as damaged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from newer_format import (
    ENCODING_STATS,
    change_element,
    change_metadata,
    drop_paths,
    end_in,
    extend_footer,
    metadata_of,
    set_logical_type,
)
from slow_thrift import BINARY, I32, I64, LIST, STRUCT

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import MalformedFile, UnsupportedFeature
from tests.numbered_cases.cases import (
    ROW_GROUPS,
    edit_column_index,
    edit_footer,
    put,
    value_of,
)

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
    pq.write_table(ROWS, found, row_group_size=100, write_page_index=True, store_schema=False)
    return found


def facts(path):
    """Return all decoded facts of every column: bounds of chunks and pages."""
    index = read_dataset(str(path))
    groups = np.arange(len(index))
    found = {}
    for column in index.groups.columns:
        bounds, pages = index.footers.bounds(column), index.page_indexes.read(column, groups)
        found[column.path] = [
            (of.lower.to_pylist(), of.upper.to_pylist(), of.null_count.to_pylist()) for of in (bounds, pages.bounds)
        ]
    return found


@pytest.mark.parametrize("columns", [[0], [1], [3], [0, 1, 2, 3]])
def test_a_chunk_without_a_path_is_the_column_at_its_position(path, columns):
    expected = facts(path)
    drop_paths(path, columns)
    assert facts(path) == expected
    assert expected[("x",)][0][0] == [-0.0, 100.0, 200.0, 300.0]


def test_an_empty_path_is_none(path):
    expected = facts(path)
    change_metadata(path, 0, 3, LIST, (BINARY, []))
    assert facts(path) == expected


def test_another_path_is_still_refused(path):
    change_metadata(path, 0, 3, LIST, (BINARY, [b"y"]))
    with pytest.raises(MalformedFile, match="is not the column"):
        facts(path)


def test_without_paths_there_are_as_many_chunks_as_columns(path):
    drop_paths(path, [0, 1, 2, 3])
    edit_footer(path, lambda footer: value_of(value_of(footer, ROW_GROUPS)[1][0], 1)[1].pop())
    with pytest.raises(MalformedFile, match="does not hold the 4 columns of the schema"):
        facts(path)


def test_a_chunk_without_a_path_that_has_another_type_is_refused(path):
    drop_paths(path, [0])
    change_metadata(path, 0, 1, I32, 1)
    with pytest.raises(MalformedFile, match="is not the column"):
        facts(path)


def test_an_extension_of_the_footer_is_passed_over(path):
    expected = facts(path)
    extend_footer(path, bytes(range(256)) * 500)
    assert facts(path) == expected


@pytest.mark.parametrize("magic", [b"PAR3", b"PARX", b"PAR2", b"PAR\0", b"PER\0"])
def test_a_footer_of_a_newer_form_is_named(path, magic):
    end_in(path, magic)
    with pytest.raises(UnsupportedFeature, match=f"form {magic.decode()!r}, newer than PAR1".replace("\\", r"\\")) as e:
        read_dataset(str(path))
    assert "damaged" not in str(e.value)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("end", [b"PAR!", b"par1", b"\xff\xd9\0\0"])
def test_the_end_of_something_else_is_none(path, end):
    end_in(path, end)
    with pytest.raises(MalformedFile, match="does not end in PAR1"):
        read_dataset(str(path))


def test_other_columns_are_known_beside_a_type_that_is_not(path):
    expected = facts(path)
    set_logical_type(path, 25)
    found = facts(path)
    assert found.pop(("x",))[0][:2] == ([None] * 4, [None] * 4)
    expected.pop(("x",))
    assert found == expected
    (column, *_) = read_dataset(str(path)).groups.columns
    assert column.unsupported == "type of logical type 25 is not supported by this version"


def test_a_physical_type_to_come_is_named(path):
    change_element(path, 1, I32, 8)
    with pytest.raises(UnsupportedFeature, match="column 'x' has physical type 8, which is not supported") as e:
        read_dataset(str(path))
    assert "damaged" not in str(e.value)


def test_an_order_that_is_not_known_takes_the_bounds_of_its_columns_alone(path):
    expected = facts(path)
    edit_footer(path, lambda footer: put(footer, 7, LIST, (STRUCT, [[[m, STRUCT, []]] for m in (9, 1, 1, 1)])))
    found = facts(path)
    assert found.pop(("x",)) == [([None] * 4, [None] * 4, nulls) for _, _, nulls in expected.pop(("x",))]
    assert found == expected


def test_an_order_that_is_no_empty_struct_is_passed_over(path):
    order = [9, STRUCT, [[1, I64, 5], [2, LIST, (STRUCT, [[[1, BINARY, b"collation"]]])]]]
    edit_footer(path, lambda footer: put(footer, 7, LIST, (STRUCT, [[order], *[[[1, STRUCT, []]]] * 3])))
    assert facts(path)[("s", "a")][0][0] == [0, 100, 200, 300]


def test_a_boundary_order_that_is_not_known_claims_nothing(path):
    expected = facts(path)
    edit_column_index(path, lambda index: put(index, 4, I32, 3))
    assert facts(path) == expected


def test_encodings_to_come_leave_statistics(path):
    expected = facts(path)
    change_metadata(path, 0, 2, LIST, (I32, [3, 10, 70]))
    assert facts(path) == expected


@pytest.mark.parametrize(
    ("pages", "complete"),
    [
        ([(2, 0, 1), (0, 8, 1)], 1),
        ([(2, 0, 1), (0, 8, 1), (0, 10, 1)], 0),
        ([(2, 0, 1), (0, 8, 1), (4, 10, 1)], -1),
    ],
)
def test_a_dictionary_is_not_complete_beside_pages_of_a_type_to_come(path, pages, complete):
    entries = [[[1, I32, kind], [2, I32, encoding], [3, I32, count]] for kind, encoding, count in pages]
    edit_footer(
        path, lambda footer: [put(each, ENCODING_STATS, LIST, (STRUCT, entries)) for each in metadata_of(footer, 0)]
    )
    index = read_dataset(str(path))
    assert index.footers.chunks(index.groups.columns[0]).dictionary_only.tolist() == [complete] * 4
