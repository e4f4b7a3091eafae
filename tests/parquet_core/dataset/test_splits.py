from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.dataset.opening import read_dataset
from parquet_core.dataset.splits import midpoints, row_groups_within


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two files of several row groups; the second has its columns the other way round, and one more."""
    directory = tmp_path_factory.mktemp("splits")
    numbers = pa.table({"x": range(1_000), "s": [f"{i:040}" for i in range(1_000)]})
    pq.write_table(numbers, directory / "a.parquet", row_group_size=100)
    wider = numbers.append_column("z", pa.array([str(i * i) for i in range(1_000)]))
    pq.write_table(wider.select(["s", "z", "x"]), directory / "b.parquet", row_group_size=300)
    return directory


def middles(path):
    """The rule as parquet-java has it, one row group after the other."""
    found = []
    metadata = pq.read_metadata(path)
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        first = group.column(0)
        start = min(o for o in (first.dictionary_page_offset, first.data_page_offset) if o is not None)
        size = sum(group.column(c).total_compressed_size for c in range(group.num_columns))
        found.append(start + size // 2)
    return found


def test_the_middle_is_that_of_parquet_java(table):
    assert midpoints(read_dataset(table)).tolist() == [*middles(table / "a.parquet"), *middles(table / "b.parquet")]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), max_size=6))
def test_every_row_group_belongs_to_one_split(table, cuts):
    index = read_dataset(table)
    middle = midpoints(index)
    for number, file in enumerate(index.files):
        edges = sorted({0, file.size, *(int(cut * file.size) for cut in cuts)})
        pairs = pairwise(edges)
        found = [row_groups_within(index, middle, number, start, stop - start) for start, stop in pairs]
        assert np.sort(np.concatenate(found)).tolist() == np.flatnonzero(index.file == number).tolist()
