"""Real files of other writers: claims hold, and untrusted metadata is unknown."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import PruneError, UnsupportedFeature
from parquet_core.format.page_index import BoundaryOrder, boundary_order
from parquet_core.format.schema import Physical
from parquet_core.pruning import prune
from parquet_core.pruning.evidence.bloom import outcomes_from_filters
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.levels import BLOOM_FILTERS, STATISTICS
from parquet_core.pruning.outcomes import may_match
from parquet_core.pruning.predicate import Compare, IsNull, Not, Op


@pytest.fixture
def open_index(parquet_testing):
    return lambda name: read_dataset(str(parquet_testing / "data" / name))


def leaf(index, name):
    return next(column for column in index.groups.columns if column.name == name)


def values_of(path, group, column):
    with pq.ParquetFile(path) as file:
        read = file.read_row_group(group, columns=[column.path[0]]).column(0).combine_chunks()
    for name in column.path[1:]:
        read = pc.struct_field(read, name)
    return [value.encode() if isinstance(value, str) else value for value in read.to_pylist()]


def test_every_claim_about_every_file_holds(parquet_testing):
    """Bounds and null counts of row groups and pages, against the values that pyarrow reads."""
    claims, files = 0, 0
    for path in sorted((parquet_testing / "data").glob("*.parquet")):
        index = read_dataset(str(path))
        files += 1
        for column in index.groups.columns:
            if column.unsupported:
                continue
            for position in range(len(index)):
                try:
                    values = values_of(path, position, column)
                except (OSError, pa.ArrowException, OverflowError):
                    continue  # a codec or an encoding that pyarrow lacks, a time that Python's calendar lacks
                pages = index.page_indexes.read(column, np.array([position]))
                edges = [*pages.first_row.tolist(), len(values)]
                claims += holds(index.footers.bounds(column), position, values)
                for i, (start, stop) in enumerate(pairwise(edges)):
                    claims += holds(pages.bounds, i, values[start:stop])
    assert files > 50
    assert claims > 5_000


def holds(bounds, i, values):
    low, high, nulls = (array[i].as_py() for array in (bounds.lower, bounds.upper, bounds.null_count))
    nans = bounds.nan_count[i].as_py()
    plain = [value for value in values if value is not None]
    numbers = [value for value in plain if value == value]  # noqa: PLR0124  (NaN is what is not itself)
    assert low is None or all(low <= value for value in numbers)
    assert high is None or all(value <= high for value in numbers)
    assert nulls is None or nulls == len(values) - len(plain)
    assert nans is None or nans == len(plain) - len(numbers)
    return sum(claim is not None for claim in (low, high, nulls, nans))


def test_bad_files_end_in_a_named_error_or_unknown(parquet_testing):
    unnamed = []
    for path in sorted((parquet_testing / "bad_data").glob("*.parquet")):
        try:
            index = read_dataset(str(path))
            for column in index.groups.columns:
                index.page_indexes.read(column, np.flatnonzero(index.groups.row_count > 0))
        except PruneError as error:
            unnamed += [] if str(path) in str(error) else [str(error)]
    assert unnamed == []


def test_encrypted_footers_are_refused(parquet_testing):
    path = parquet_testing / "data" / "encrypt_columns_and_footer.parquet.encrypted"
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        read_dataset(str(path))


def test_encrypted_columns_under_a_plaintext_footer_are_unknown(parquet_testing):
    path = parquet_testing / "data" / "encrypt_columns_plaintext_footer.parquet.encrypted"
    index = read_dataset(str(path))
    chunks = [chunk_at(index.footers.chunks(column), 0) for column in index.groups.columns]
    assert any(chunk.encrypted for chunk in chunks)
    for column, chunk in zip(index.groups.columns, chunks, strict=True):
        if chunk.encrypted and not column.unsupported:
            assert index.footers.bounds(column).lower.null_count == len(index)


def test_null_pages(open_index):
    index = open_index("int32_with_null_pages.parquet")
    column = index.groups.columns[0]
    pages = index.page_indexes.read(column, np.array([0])).bounds
    assert pages.null_count.to_pylist() == [8, 55, 100, 52, 16, 12, 5, 7, 8, 12]
    is_null = IsNull(column.path)
    assert may_match(outcomes_from_bounds(is_null, pages)).all()
    assert prune(Not(is_null), index).access.ranges.of(0).tolist() == [[0, 200], [300, 1000]]


def test_tiny_pages(open_index):
    index = open_index("alltypes_tiny_pages.parquet")
    found = {
        column.name: index.page_indexes.read(column, np.array([0])).bounds
        for column in index.groups.columns
        if not column.unsupported and column.physical is not Physical.INT96
    }
    assert {name: len(found[name]) for name in ("id", "tinyint_col", "bigint_col", "date_string_col")} == {
        "id": 325,
        "tinyint_col": 325,
        "bigint_col": 528,
        "date_string_col": 974,
    }
    orders = {name: boundary_order(bounds.lower, bounds.upper) for name, bounds in found.items()}
    written = {name: index.page_indexes.read(leaf(index, name), np.array([0])).boundary_order[0] for name in found}
    assert orders["id"] == BoundaryOrder.UNORDERED
    assert orders == written


def test_a_filter_without_length(open_index):
    index = open_index("data_index_bloom_encoding_stats.parquet")
    column = index.groups.columns[0]
    filters = index.bloom_filters.read(column, np.array([0]))
    for value, found in (("Hello", True), ("Hello_Not_Exists", False)):
        answer = outcomes_from_filters(Compare(column.path, Op.EQ, pa.scalar(value)), column, filters)
        assert may_match(answer).tolist() == [found]


def test_without_column_orders_only_the_filter_is_believed(open_index):
    index = open_index("data_index_bloom_encoding_with_length.parquet")
    column = index.groups.columns[0]
    assert index.footers.bounds(column).lower.null_count == len(index)
    absent = prune(Compare(column.path, Op.EQ, pa.scalar("Hello_Not_Exists")), index)
    assert absent.after(STATISTICS).remaining.tolist() == [True]
    assert absent.after(BLOOM_FILTERS).remaining.tolist() == [False]


@pytest.mark.parametrize("name", ["byte_array_decimal", "fixed_length_decimal", "int32_decimal", "int64_decimal"])
def test_deprecated_bounds_of_decimals_are_ignored(open_index, name):
    index = open_index(f"{name}.parquet")
    bounds = index.footers.bounds(index.groups.columns[0])
    assert bounds.lower.null_count == bounds.upper.null_count == len(index)


def test_cut_bounds_enclose_and_are_no_values(open_index):
    index = open_index("binary_truncated_min_max.parquet")
    column = leaf(index, "utf8_full_truncation")
    bounds = index.footers.bounds(column)
    assert (bounds.lower[0].as_py(), bounds.upper[0].as_py()) == (b"Al", b"Kf")
    assert may_match(outcomes_from_bounds(Compare(column.path, Op.EQ, pa.scalar("Kevin Bacon")), bounds)).all()


def test_int96_has_no_bounds(open_index):
    index = open_index("int96_from_spark.parquet")
    (column,) = index.groups.columns
    bounds = index.footers.bounds(column)
    assert bounds.lower.null_count == bounds.upper.null_count == len(index)
    assert bounds.null_count.to_pylist() == [1]


def test_types_that_are_not_pruned_on_say_why(open_index):
    for name in ("unknown-logical-type.parquet", "float16_nonzeros_and_nans.parquet"):
        index = open_index(name)
        assert any(column.unsupported for column in index.groups.columns), name
