"""Conditions under which a file without a column has only nulls in it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.spark_rules.columns_in_files import reads_as_null
from parquet_core.spark_rules.spark_schema import without_spark_comparisons


def leaf(*path, **changes):
    return replace(LeafColumn(path, 0, Physical.INT64, pa.int64(), SortOrder.SIGNED), **changes)


def lacks(column, *leaves):
    return reads_as_null(column, Provenance(leaves, (), {}, ""))


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (("b",), [("a",)]),
        (("b",), [("b.c",), ("a", "b")]),
        (("s", "y"), [("a",)]),
        (("s", "y"), [("s", "x")]),
        (("s", "y"), [("S", "x")]),
        (("s", "in", "y"), [("s", "x")]),
    ],
)
def test_what_a_file_has_no_name_for_is_null(path, there):
    assert lacks(leaf(*path), *(leaf(*each) for each in there))


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (("b",), [("b",)]),
        (("b",), [("B",)]),
        (("\u017f",), [("S",)]),
        (("stra\u00dfe",), [("STRASSE",)]),
        (("b",), [("b", "x")]),
        (("s", "y"), [("s",)]),
        (("s", "y"), [("S",)]),
        (("s", "y"), [("S", "Y")]),
        (("s", "y"), [("s", "y", "z")]),
    ],
)
def test_what_may_be_the_column_is_not(path, there):
    assert not lacks(leaf(*path), *(leaf(*each) for each in there))


def test_columns_that_do_not_prune_and_those_with_a_default_are_left_open():
    assert not lacks(leaf("b", unsupported="lists and maps are not supported"), leaf("a"))
    assert not lacks(leaf("b", may_be_filled=True), leaf("a"))


def test_a_list_is_no_struct_that_lacks_a_field():
    element = leaf("s", "list", "element", max_repetition_level=1, unsupported="lists and maps are not supported")
    assert not lacks(leaf("s", "y"), element)
    assert lacks(leaf("s", "y"), element, leaf("s", "x"))


@pytest.mark.parametrize("key", ["EXISTS_DEFAULT", "parquet.field.id"])
def test_what_spark_notes_of_a_column_may_fill_it(key):
    fields = [{"name": "a", "type": "long", "metadata": {key: "42"}}, {"name": "b", "type": "long", "metadata": {}}]
    judged = without_spark_comparisons([leaf("a"), leaf("a", "x"), leaf("b")], json.dumps({"fields": fields}))
    assert [column.may_be_filled for column in judged] == [True, True, False]
    assert all(column.may_be_filled for column in without_spark_comparisons([leaf("a"), leaf("b")], "{"))
    assert not without_spark_comparisons([leaf("a")], None)[0].may_be_filled


def test_files_that_lack_a_column_have_as_many_nulls_as_rows(tmp_path):
    pq.write_table(pa.table({"a": [1, None], "f": [1.0, 2.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"z": [1, 2, 3]}), tmp_path / "1.parquet", row_group_size=2)
    pq.write_table(pa.table({"A": [1, 2, 3], "f": ["x", "y", "z"]}), tmp_path / "2.parquet")
    index = read_dataset(tmp_path)
    by_name = {column.name: index.footers.bounds(column) for column in index.groups.columns}
    assert by_name["a"].null_count.to_pylist() == [1, 2, 1, None]
    assert by_name["a"].lower.to_pylist() == [1, None, None, None]
    assert by_name["f"].null_count.to_pylist() == [0, 2, 1, None]
    assert by_name["f"].nan_count.to_pylist()[1:] == [0, 0, None]
    assert np.array_equal(by_name["a"].row_count, [2, 2, 1, 3])
