from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.peers.parquet_java import Switches, filtered_record_count, pushed_filters

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(tmp_path):
    words = pa.array([str(i % 7) for i in range(1000)])
    path = tmp_path / "a.parquet"
    pages = {"row_group_size": 250, "max_rows_per_page": 50, "write_batch_size": 1, "write_page_index": True}
    pq.write_table(pa.table({"a": pa.array(range(1000)), "s": words}), path, **pages)
    return path


def test_row_groups_and_pages_are_those_of_the_reader(spark, numbers):
    df = spark.read.parquet(str(numbers)).where("a > 310 AND a < 400 AND (s = '1' OR a = 5)")
    assert str(pushed_filters(df)[0]) == "IsNotNull(a)"
    kept = filtered_record_count(spark, numbers, df)
    assert kept.ranges == {1: [(50, 150)]}
    assert (kept.row_groups, kept.rows) == (1, 100)


def test_each_level_can_be_switched_off(spark, numbers):
    df = spark.read.parquet(str(numbers)).where("s = '12'")
    assert filtered_record_count(spark, numbers, df).rows == 0
    without_dictionary = filtered_record_count(spark, numbers, df, Switches(dictionary=False))
    assert without_dictionary.rows == 1000
    df = spark.read.parquet(str(numbers)).where("a = 310")
    assert filtered_record_count(spark, numbers, df, Switches(column_index=False)).ranges == {1: [(0, 250)]}
    nothing = Switches(stats=False, dictionary=False, bloom=False, column_index=False)
    assert filtered_record_count(spark, numbers, df, nothing).rows == 1000


def test_what_is_not_pushed_keeps_everything(spark, numbers):
    df = spark.read.parquet(str(numbers)).where("upper(s) = 'X' OR a = 1")
    assert filtered_record_count(spark, numbers, df).row_groups == 4
