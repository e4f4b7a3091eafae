from __future__ import annotations

import pytest

from parquet_core.errors import LayoutError
from parquet_core.layout.sort_key import SortKey, parse_sort_key
from parquet_core.layout.spec import LayoutSpec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day", SortKey("day")),
        ("day ASC", SortKey("day")),
        ("day desc", SortKey("day", descending=True, nulls_last=True)),
        ("day Desc Nulls First", SortKey("day", descending=True)),
        ("day NULLS LAST", SortKey("day", nulls_last=True)),
        ("order day", SortKey("order day")),
        ("`a``b desc` DESC", SortKey("a`b desc", descending=True, nulls_last=True)),
        ("desc", SortKey("desc")),
    ],
)
def test_a_key_is_read_as_sql_has_it(text, expected):
    assert parse_sort_key(text) == expected


@pytest.mark.parametrize("text", ["a NULLS", "a ASC DESC", "a NULLS FIRST DESC", "a DESC NULLS", "a FIRST", ""])
def test_words_in_another_order_are_refused(text):
    with pytest.raises(LayoutError, match="write COLUMN"):
        LayoutSpec(sort_by=[text])


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"zorder_by": ["a", "b"], "sort_by": ["a"]}, "sort_by and zorder_by: rows have one order"),
        ({"zorder_by": ["a"]}, "zorder_by = .*a curve runs through 2 to 5 columns; use sort_by for one"),
        ({"hilbert_by": list("abcdef")}, "hilbert_by = .*2 to 5 columns"),
        (
            {"hilbert_by": ["a", "b"], "partition_by": ["b"]},
            "hilbert_by: leave b out, because the table is partitioned",
        ),
        ({"sort_by": ["a", "b", "a DESC"]}, r"sort_by = \['a', 'b', 'a'\]: a is listed twice"),
        ({"partition_by": ["a", "a"]}, "a is listed twice"),
        (
            {"sort_by": ["b DESC"], "partition_by": ["b"]},
            "sort_by: leave b out, because the table is partitioned",
        ),
        ({"bloom": {"A": 0.1}, "dictionary": {"a": True}}, "no bloom filter of a chunk that is dictionary-encoded"),
        ({"dictionary": {"a": 1}}, "dictionary = .*true or false"),
        ({"compression_level": 23}, "compression_level = 23: for zstd, a whole number from 1 to 22"),
        ({"compression": "snappy", "compression_level": 3}, "for snappy, no level can be set"),
        ({"target_file_bytes": 0}, "target_file_bytes = 0"),
        ({"statistics_truncate_length": 0}, "statistics_truncate_length = 0"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(layout, message):
    with pytest.raises(LayoutError, match=message):
        LayoutSpec(**layout)
