"""Misleading dictionaries, bloom filters and page indexes (cases 26-41)."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import BINARY, I32, I64, LIST, TRUE

from prune_assets.planner.explain.plan import plan
from tests.numbered_cases import cases
from tests.numbered_cases.cases import check, drop, edit_column_index, edit_footer, put, value_of

pytestmark = [pytest.mark.spark, pytest.mark.deep]

PAGED = {"write_page_index": True, "max_rows_per_page": 2, "write_batch_size": 1, "use_dictionary": False}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


def write(path, values, kind=None, **options):
    pq.write_table(pa.table({"a": pa.array(values, kind)}), path, **options)


def edit_meta(path, change):
    edit_footer(path, lambda footer: [change(value_of(chunk, cases.META)) for chunk in cases.chunks_of(footer, 0)])


def test_case_26_empty_filters_of_flags_are_not_probed(spark, tmp_path):
    options = {"parquet.bloom.filter.enabled": "true"}
    spark.range(4).selectExpr("id % 2 = 0 AS a", "id").coalesce(1).write.options(**options).parquet(str(tmp_path / "t"))
    made = plan(tmp_path / "t", where="a = TRUE AND id >= 0")
    flags = next(column for column in made.index.groups.columns if column.name == "a")
    assert made.index.footers.chunks(flags).bloom_filter[0, 0] > 0
    assert made.report.kept.rows == 4


@pytest.mark.parametrize("length", [20, 33, 100])
def test_case_27_a_filter_of_another_length_is_not_probed(path, length):
    write(path, list(range(0, 200, 2)), use_dictionary=False, bloom_filter_options={"a": {"ndv": 100}})
    assert plan(path, where="a = 51").report.kept.rows == 0
    edit_meta(path, lambda meta: put(meta, 15, I32, length))
    for number in (51, 50):
        assert plan(path, where=f"a = {number}").report.kept.rows == 100


def test_case_28_values_are_hashed_as_they_are_stored(spark, path):
    days = [dt.date(2000, 1, 1) + dt.timedelta(2 * i) for i in range(50)]
    table = pa.table(
        {
            "small": pa.array(range(0, 100, 2), pa.int16()),
            "day": days,
            "price": pa.array([Decimal(2 * i).scaleb(-2) for i in range(50)], pa.decimal128(9, 2)),
            "wide": pa.array([Decimal(-2 * i).scaleb(-2) for i in range(50)], pa.decimal128(30, 2)),
        }
    )
    filters = {name: {"ndv": 50} for name in table.column_names}
    for stored_as_integer in (True, False):
        options = {"bloom_filter_options": filters, "store_decimal_as_integer": stored_as_integer}
        pq.write_table(table, path, use_dictionary=False, **options)
        for present, absent in (
            ("small = 8", "small = 9"),
            ("day = DATE '2000-01-03'", "day = DATE '2000-01-02'"),
            ("price = 0.08", "price = 0.07"),
            ("wide = -0.08", "wide = -0.07"),
        ):
            assert check(spark, path, present) == (1, 50)
            assert check(spark, path, absent) == (0, 0)


def test_case_29_an_absent_filter_denies_nothing(spark, tmp_path):
    (tmp_path / "t").mkdir()
    for i, filters in enumerate(({"a": {"ndv": 9}}, None)):
        write(tmp_path / f"t/{i}.parquet", [0, 2, 4], use_dictionary=False, bloom_filter_options=filters)
    assert check(spark, tmp_path / "t", "a = 3") == (0, 3)
    assert check(spark, tmp_path / "t", "a = 2") == (2, 6)


def test_case_30_a_dictionary_that_was_given_up_is_not_complete(spark, path):
    words = [f"{i % 50:09}" for i in range(5_000)] + ["000000007x"]
    write(path, words + [f"{i:09}" for i in range(5_000)], dictionary_pagesize_limit=300, data_page_size=1_000)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert {"RLE_DICTIONARY", "PLAIN"} <= set(chunk.encodings)
    assert check(spark, path, "a = '000000007x'")[0] == 1
    edit_meta(path, lambda meta: drop(meta, 13))
    assert check(spark, path, "a = '000000007x'")[0] == 1


def test_case_31_offsets_of_dictionaries_are_traps(spark, path):
    write(path, [5, 7], use_dictionary=False)
    edit_meta(path, lambda meta: put(meta, 11, I64, 0))
    assert check(spark, path, "a = 5") == (1, 2)
    assert check(spark, path, "a = 6")[0] == 0
    write(path, [5, 7])
    edit_meta(path, lambda meta: put(meta, 9, I64, value_of(meta, 11)))
    edit_meta(path, lambda meta: drop(meta, 11))
    made = plan(path, where="a = 5")
    assert made.report.kept.rows == 2, "the dictionary lies where the data page is said to be"


def test_case_32_pages_of_lists_count_levels(spark, path):
    lists = [[None, None, None], [1], [2]]
    table = pa.table({"a": [1, 2, 3], "l": pa.array(lists, pa.list_(pa.int64()))})
    pq.write_table(table, path, write_page_index=True, max_rows_per_page=1, write_batch_size=1)
    assert check(spark, path, "l IS NULL")[1] == 3
    assert check(spark, path, "a = 2") == (1, 1)
    assert check(spark, path, "size(l) = 3 AND a < 3") == (1, 2)


def test_case_33_nulls_come_from_every_level_of_a_struct(spark, path):
    points = [None, {"x": None}, {"x": 1}, {"x": 2}, None, None]
    write(path, points, pa.struct({"x": pa.int64()}), **PAGED)
    assert check(spark, path, "a.x IS NULL") == (4, 4)
    assert check(spark, path, "a.x IS NOT NULL") == (2, 2)
    assert check(spark, path, "a.x <> 1")[0] == 1


@pytest.mark.parametrize("lie", ["null page without nulls", "lists of unequal length", "null count beyond its page"])
def test_case_34_a_column_index_that_contradicts_itself_is_passed_over(path, lie):
    write(path, [1, 2, 8, 9], **PAGED)

    def change(index):
        if lie == "null page without nulls":
            put(index, 1, LIST, (TRUE, [1, 2]))
        elif lie == "lists of unequal length":
            put(index, 2, LIST, (BINARY, value_of(index, 2)[1][:1]))
        else:
            put(index, 5, LIST, (I64, [0, 77]))

    assert plan(path, where="a = 8").report.kept.rows == 2
    edit_column_index(path, change)
    assert plan(path, where="a = 2").report.kept.rows == 4


def test_case_35_the_claimed_order_of_pages_is_not_believed(spark, path):
    write(path, [5, 5, 1, 1, 9, 9, 3, 3], **PAGED)
    for order in (1, 2):
        edit_column_index(path, lambda index, claimed=order: put(index, 4, I32, claimed))
        made = plan(path, where="a = 1")
        assert made.report.kept.rows == 8, "of order and bounds one is wrong: neither is believed"
        assert "claims a boundary order" in made.files[0].row_groups[0].reason
    edit_column_index(path, lambda index: put(index, 4, I32, 0))
    assert check(spark, path, "a IN (1, 9)") == (4, 4)


def test_case_36_null_pages_have_no_bounds(spark, path):
    write(path, ["", "", None, None, "z", "z"], **PAGED)
    assert check(spark, path, "a = ''") == (2, 2)
    assert check(spark, path, "a >= ''") == (4, 4)
    assert check(spark, path, "a IS NULL") == (2, 2)
    write(path, [0, 0, None, None, 7, 7], **PAGED)
    assert check(spark, path, "a < 5") == (2, 2)


def test_case_37_pages_of_two_columns_meet_by_their_rows(spark, path):
    table = pa.table({"a": range(1_000), "s": [f"{i:0300}" for i in range(1_000)]})
    options = PAGED | {"max_rows_per_page": 100_000, "data_page_size": 700}
    pq.write_table(table, path, **options)
    selected, kept = check(spark, path, f"a >= 995 AND s >= '{996:0300}'")
    assert selected == 4
    assert kept < 200
    assert check(spark, path, f"a = 999 OR s = '{3:0300}'")[0] == 2


def test_case_38_one_row_group_may_lack_what_the_next_has(spark, tmp_path):
    rows = spark.range(8).selectExpr("if(id = 1, double('NaN'), double(id)) AS a").coalesce(1)
    options = {"parquet.block.row.count.limit": 4, "parquet.page.row.count.limit": 2}
    options |= {"parquet.page.size.row.check.min": 1, "parquet.enable.dictionary": False}
    rows.write.options(**options).parquet(str(tmp_path / "t"))
    made = plan(tmp_path / "t", where="a < 100")
    (column,) = made.index.groups.columns
    assert (made.index.footers.chunks(column).column_index[:, 0] > 0).tolist() == [False, True]
    assert check(spark, tmp_path / "t", "a = 5") == (1, 6), "four rows of which nothing is known, and a page"
    assert check(spark, tmp_path / "t", "a > 6") == (2, 6)


def test_case_39_evidence_of_one_row_group_meets_at_the_leaf_and_no_other(spark, path):
    table = pa.table({"a": [1, 2, 11, 12], "b": [0, 4, 2, 6]})
    pq.write_table(table, path, row_group_size=2, use_dictionary=False, bloom_filter_options={"b": {"ndv": 9}})
    assert check(spark, path, "a = 11 OR b = 3") == (1, 2), "bounds deny an arm in one group, the filter the other"
    assert check(spark, path, "a = 11 OR b = 4") == (2, 4)
    assert check(spark, path, "a = 50 OR b = 5") == (0, 0)


def test_case_40_chunk_and_page_bounds_are_each_right(spark, path):
    write(path, ["p" * 70 + letter for letter in "aabbzz"], **PAGED)
    edit_footer(path, lambda _: None)
    for letter in "abz":
        assert check(spark, path, f"a = '{'p' * 70 + letter}'")[0] == 2
    assert check(spark, path, f"a > '{'p' * 70}zz'")[0] == 0
    assert check(spark, path, f"a > '{'p' * 69}q'") == (0, 0)


def test_case_41_a_claim_to_be_sorted_proves_nothing(spark, path):
    write(path, [9, 1, 5, 3], sorting_columns=[pq.SortingColumn(0)], **PAGED)
    for number in (1, 3, 5, 9):
        assert check(spark, path, f"a = {number}")[0] == 1
    write(path, [2.0, math.nan, 1.0], sorting_columns=[pq.SortingColumn(0, descending=True)], **PAGED)
    assert check(spark, path, "a > 1.5")[0] == 2
